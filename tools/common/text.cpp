#include "common/text.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/utf8.h"

namespace minigpt::tools {

std::string format_list(const char* pattern, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(nullptr, 0, pattern, args);
    std::string text(length > 0 ? static_cast<size_t>(length) + 1 : 1, '\0');
    vsnprintf(&text[0], text.size(), pattern, again);
    va_end(again);
    text.pop_back();
    return text;
}

std::string format(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    std::string text = format_list(pattern, args);
    va_end(args);
    return text;
}

std::string grouped(uint64_t number) {
    std::string out = std::to_string(number);
    for (size_t i = out.size(); i > 3; i -= 3)
        out.insert(i - 3, ",");
    return out;
}

std::string shortest(float number) {
    int digits = 1;
    std::string text;
    do {
        text = format("%.*g", digits, static_cast<double>(number));
    } while (++digits <= 9 && strtof(text.c_str(), nullptr) != number);
    return text;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size() && i < 8; i++) {
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    return text + (shape.size() > 8 ? ", ...]" : "]");
}

bool ends_with(const std::string& text, const char* ending) {
    size_t n = strlen(ending);
    return text.size() >= n && text.compare(text.size() - n, n, ending) == 0;
}

std::string printable(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        Utf8Piece piece = utf8_piece(text, at);
        unsigned char c = static_cast<unsigned char>(text[at]);
        // U+0080 to U+009F are controls, too: a terminal may take U+009B as Escape and [.
        bool is_c1 = c == 0xc2 && piece.is_valid && static_cast<unsigned char>(text[at + 1]) < 0xa0;
        if (!piece.is_valid || c < 0x20 || c == 0x7f || is_c1) {
            out += '?';
        } else {
            out.append(text, at, piece.n_bytes);
        }
        at += piece.n_bytes;
    }
    return out;
}

std::string shown(const std::string& text) {
    constexpr size_t kMost = 80;
    if (text.size() <= kMost)
        return printable(text);
    size_t n = kMost;
    while (n > kMost - 3 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80)
        n--;  // no part of a character
    return printable(text.substr(0, n)) + "...";
}

std::string shell_word(const std::string& word) {
    const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
        return word;
    std::string out = "'";
    for (char c : word)
        out += c == '\'' ? "'\\''" : std::string(1, c);
    return out += "'";
}

}  // namespace minigpt::tools
