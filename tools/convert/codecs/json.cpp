#include "convert/codecs/json.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/utf8.h"

namespace minigpt::convert {

using namespace tools;
namespace {

const char* name_of(Json::Type type) {
    switch (type) {
        case Json::Type::object:
            return "an object";
        case Json::Type::array:
            return "an array";
        case Json::Type::string:
            return "a string";
        case Json::Type::number:
            return "a number";
        case Json::Type::boolean:
            return "true or false";
        case Json::Type::null:
            return "null";
    }
    return "?";
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

Status Json::error(const char* what) const {
    return Status::error(Code::bad_file, "%s at byte %zu", what, at_);
}

void Json::skip_space() {
    while (at_ < n_bytes_ && memchr(" \t\n\r", text_[at_], 4) != nullptr)
        at_++;
}

bool Json::take(char c) {
    if (at_ >= n_bytes_ || text_[at_] != c)
        return false;
    at_++;
    return true;
}

Status Json::peek(Type* type) {
    skip_space();
    if (at_ == n_bytes_)
        return error("the JSON text ends early");
    char c = text_[at_];
    if (c == '{')
        *type = Type::object;
    else if (c == '[')
        *type = Type::array;
    else if (c == '"')
        *type = Type::string;
    else if (c == '-' || is_digit(c))
        *type = Type::number;
    else if (c == 't' || c == 'f')
        *type = Type::boolean;
    else if (c == 'n')
        *type = Type::null;
    else
        return error("no JSON value");
    return Status();
}

Status Json::expect(Type type) {
    Type found;
    MINIGPT_TRY(peek(&found));
    if (found == type)
        return Status();
    return Status::error(Code::bad_file, "found %s; expected %s at byte %zu", name_of(found),
                         name_of(type), at_);
}

Status Json::enter() {
    if (depth_ == kMaxDepth)
        return error("nested deeper than 64");
    depth_++;
    at_++;  // the bracket
    skip_space();
    return Status();
}

Status Json::object(const std::function<Status(const std::string&)>& on_member) {
    MINIGPT_TRY(expect(Type::object));
    MINIGPT_TRY(enter());
    std::vector<std::string> names;
    while (!take('}')) {
        if (!names.empty()) {
            if (!take(','))
                return error("expected , or }");
            skip_space();
        }
        if (at_ == n_bytes_ || text_[at_] != '"')
            return error("expected a name in quotes");
        names.emplace_back();
        MINIGPT_TRY(string(&names.back()));
        skip_space();
        if (!take(':'))
            return error("expected :");
        MINIGPT_TRY(on_member(names.back()));
        skip_space();
    }
    depth_--;
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end())
        return Status();
    return Status::error(Code::bad_file,
                         "the name \"%.80s\" stands twice in the object before "
                         "byte %zu",
                         twice->c_str(), at_);
}

Status Json::array(const std::function<Status(size_t)>& on_element) {
    MINIGPT_TRY(expect(Type::array));
    MINIGPT_TRY(enter());
    for (size_t i = 0; !take(']'); i++) {
        if (i > 0 && !take(','))
            return error("expected , or ]");
        MINIGPT_TRY(on_element(i));
        skip_space();
    }
    depth_--;
    return Status();
}

Status Json::hex4(uint32_t* code) {
    *code = 0;
    for (int i = 0; i < 4; i++, at_++) {
        char c = at_ < n_bytes_ ? text_[at_] : '\0';
        uint32_t digit = is_digit(c)            ? static_cast<uint32_t>(c - '0')
                         : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return error("expected four hexadecimal digits");
        *code = *code << 4 | digit;
    }
    return Status();
}

Status Json::escape(std::string* value) {
    at_++;  // the backslash
    if (at_ == n_bytes_)
        return error("the JSON text ends early");
    char c = text_[at_++];
    constexpr char kFrom[] = "\"\\/bfnrt";
    constexpr char kTo[] = "\"\\/\b\f\n\r\t";
    if (const char* found = strchr(kFrom, c); c != '\0' && found != nullptr) {
        value->push_back(kTo[found - kFrom]);
        return Status();
    }
    if (c != 'u')
        return error("unknown escape");
    uint32_t code;
    MINIGPT_TRY(hex4(&code));
    if (code >= 0xdc00 && code <= 0xdfff)
        return error("half a surrogate pair");
    if (code >= 0xd800 && code <= 0xdbff) {
        uint32_t low;
        if (!take('\\') || !take('u'))
            return error("half a surrogate pair");
        MINIGPT_TRY(hex4(&low));
        if (low < 0xdc00 || low > 0xdfff)
            return error("half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    append_utf8(code, value);
    return Status();
}

Status Json::utf8(std::string* value) {
    size_t begin = at_;
    auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    while (at_ < n_bytes_ && plain(text_[at_]))
        at_++;
    value->append(text_ + begin, at_ - begin);
    if (at_ > begin)
        return Status();
    Utf8Piece piece = utf8_piece({text_, n_bytes_}, at_);
    if (!piece.is_valid)
        return error("invalid UTF-8");
    value->append(text_ + at_, piece.n_bytes);
    at_ += piece.n_bytes;
    return Status();
}

Status Json::string(std::string* value) {
    MINIGPT_TRY(expect(Type::string));
    at_++;
    value->clear();
    while (!take('"')) {
        if (at_ == n_bytes_)
            return error("the JSON text ends early");
        unsigned char c = static_cast<unsigned char>(text_[at_]);
        if (c < 0x20)
            return error("a control character in a string");
        MINIGPT_TRY(c == '\\' ? escape(value) : utf8(value));
    }
    return Status();
}

Status Json::number_text(std::string* digits) {
    MINIGPT_TRY(expect(Type::number));
    size_t begin = at_;
    auto run = [&] {
        size_t from = at_;
        while (at_ < n_bytes_ && is_digit(text_[at_]))
            at_++;
        return at_ > from;
    };
    take('-');
    if (!take('0') && !run())
        return error("expected a digit");
    if (at_ < n_bytes_ && is_digit(text_[at_]))
        return error("a number with a leading zero");
    if (take('.') && !run())
        return error("expected a digit");
    if (take('e') || take('E')) {
        if (!take('+'))
            take('-');
        if (!run())
            return error("expected a digit");
    }
    digits->assign(text_ + begin, at_ - begin);
    return Status();
}

Status Json::u64(uint64_t* value) {
    std::string digits;
    MINIGPT_TRY(number_text(&digits));
    uint64_t n = 0;
    for (char c : digits) {
        uint64_t digit = static_cast<uint64_t>(c - '0');
        if (!is_digit(c) || n > (UINT64_MAX - digit) / 10) {
            return Status::error(Code::bad_file,
                                 "found %.40s; expected a whole number below 2^64, before byte %zu",
                                 digits.c_str(), at_);
        }
        n = n * 10 + digit;
    }
    *value = n;
    return Status();
}

Status Json::number(double* value) {
    std::string digits;
    MINIGPT_TRY(number_text(&digits));
    *value = strtod(digits.c_str(), nullptr);
    return Status();
}

Status Json::literal(const char* word) {
    size_t n = strlen(word);
    if (n_bytes_ - at_ < n || memcmp(text_ + at_, word, n) != 0)
        return error("no JSON value");
    at_ += n;
    return Status();
}

Status Json::boolean(bool* value) {
    MINIGPT_TRY(expect(Type::boolean));
    *value = text_[at_] == 't';
    return literal(*value ? "true" : "false");
}

Status Json::null() {
    MINIGPT_TRY(expect(Type::null));
    return literal("null");
}

Status Json::skip() {
    Type type;
    MINIGPT_TRY(peek(&type));
    std::string text;
    bool value;
    switch (type) {
        case Type::object:
            return object([this](const std::string&) { return skip(); });
        case Type::array:
            return array([this](size_t) { return skip(); });
        case Type::string:
            return string(&text);
        case Type::number:
            return number_text(&text);
        case Type::boolean:
            return boolean(&value);
        case Type::null:
            return null();
    }
    return Status();
}

Status Json::end() {
    skip_space();
    return at_ == n_bytes_ ? Status() : error("something follows the JSON value");
}

}  // namespace minigpt::convert
