#include "common/output.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace minigpt::cli {
namespace {

[[noreturn]] void failed() {
    refuse("standard output: %s", strerror(errno));
}

// The length of the UTF-8 character at `at`, 0 if there is none. Table 3-7 of the Unicode
// Standard: no overlong forms, no surrogates, nothing past U+10FFFF.
size_t utf8_length(const std::string& bytes, size_t at) {
    auto byte = [&](size_t i) -> unsigned {
        return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
    };
    auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    unsigned first = byte(0), second = byte(1);
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4 || !continues(1))
        return 0;
    if (first < 0xe0)
        return 2;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f))
        return 0;
    if (!continues(2))
        return 0;
    if (first < 0xf0)
        return 3;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0;
    return continues(3) ? 4 : 0;
}

}  // namespace

void Output::write(const char* bytes, size_t n_bytes) {
    if (n_bytes == 0)
        return;
    if (fwrite(bytes, 1, n_bytes, stdout) != n_bytes)
        failed();
    last_ = bytes[n_bytes - 1];
}

void Output::flush() {
    if (fflush(stdout) != 0)
        failed();
}

std::string json_string(const std::string& bytes) {
    std::string out = "\"";
    for (size_t i = 0; i < bytes.size();) {
        size_t length = utf8_length(bytes, i);
        unsigned char c = static_cast<unsigned char>(bytes[i]);
        if (length == 0) {
            out += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += bytes[i];
        } else if (c == '\n') {
            out += "\\n";
        } else if (c < 0x20 || c == 0x7f) {
            out += format("\\u%04x", c);
        } else {
            out.append(bytes, i, length);
        }
        i += length == 0 ? 1 : length;
    }
    return out += '"';
}

std::string json_number(float number) {
    return std::isfinite(number) ? format("%.9g", static_cast<double>(number)) : "null";
}

std::string json_number(double number) {
    return std::isfinite(number) ? format("%.12g", number) : "null";
}

std::string shortest(float number) {
    int digits = 1;
    std::string text;
    do {
        text = format("%.*g", digits, static_cast<double>(number));
    } while (++digits <= 9 && strtof(text.c_str(), nullptr) != number);
    return text;
}

std::string json_ids(const std::vector<int32_t>& ids) {
    std::string out = "[";
    for (size_t i = 0; i < ids.size(); i++) {
        if (i > 0)
            out += ',';
        out += std::to_string(ids[i]);
    }
    return out += ']';
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

std::string grouped(uint64_t number) {
    std::string out = std::to_string(number);
    for (size_t i = out.size(); i > 3; i -= 3)
        out.insert(i - 3, ",");
    return out;
}

}  // namespace minigpt::cli
