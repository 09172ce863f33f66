// A reader of JSON for tests: the whole text becomes a tree. Throws std::runtime_error on what is
// not JSON, so a program that prints a broken object fails its test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace minigpt::test {

struct Json {
    enum class Kind { null, boolean, number, string, array, object };

    Kind kind = Kind::null;
    std::string text;  // a string's UTF-8, a number's digits as they stand, "true" or "false"
    std::vector<Json> elements;
    std::map<std::string, Json> members;

    static Json parse(const std::string& text);
    static Json read(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        if (!in)
            throw std::runtime_error("cannot open " + path);
        return parse(std::string(std::istreambuf_iterator<char>(in), {}));
    }

    bool has(const std::string& name) const { return members.count(name) != 0; }
    bool is_null() const { return kind == Kind::null; }
    size_t size() const { return elements.size(); }
    const Json& operator[](const std::string& name) const {
        auto found = members.find(name);
        if (found == members.end())
            throw std::runtime_error("no member " + name);
        return found->second;
    }
    const Json& operator[](const char* name) const { return (*this)[std::string(name)]; }
    const Json& operator[](size_t i) const { return elements.at(i); }
    double number() const { return strtod(text.c_str(), nullptr); }
    int64_t integer() const { return strtoll(text.c_str(), nullptr, 10); }
    bool boolean() const { return text == "true"; }

    template <class T>
    std::vector<T> numbers() const {
        std::vector<T> out;
        for (const Json& e : elements) {
            if (e.kind != Kind::number)
                throw std::runtime_error("not a number: " + e.text);
            out.push_back(static_cast<T>(e.number()));
        }
        return out;
    }
};

class JsonReader {
public:
    explicit JsonReader(const std::string& text) : s_(text) {}

    Json document() {
        Json value = this->value();
        space();
        if (i_ != s_.size())
            fail("more after the value");
        return value;
    }

private:
    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(std::string("JSON: ") + what + " at byte " + std::to_string(i_));
    }
    void space() {
        while (i_ < s_.size() &&
               (s_[i_] == ' ' || s_[i_] == '\n' || s_[i_] == '\t' || s_[i_] == '\r'))
            i_++;
    }
    char peek() const { return i_ < s_.size() ? s_[i_] : '\0'; }
    bool take(char c) {
        space();
        bool is = peek() == c;
        i_ += is;
        return is;
    }
    void need(char c) {
        if (!take(c))
            fail("a character is missing");
    }

    Json value() {
        space();
        Json v;
        if (peek() == '{') {
            v.kind = Json::Kind::object;
            object(&v);
        } else if (peek() == '[') {
            v.kind = Json::Kind::array;
            array(&v);
        } else if (peek() == '"') {
            v.kind = Json::Kind::string;
            v.text = string();
        } else if (s_.compare(i_, 4, "null") == 0) {
            i_ += 4;
        } else if (s_.compare(i_, 4, "true") == 0 || s_.compare(i_, 5, "false") == 0) {
            v.kind = Json::Kind::boolean;
            v.text = peek() == 't' ? "true" : "false";
            i_ += v.text.size();
        } else {
            v.kind = Json::Kind::number;
            v.text = number();
        }
        return v;
    }
    void object(Json* v) {
        need('{');
        if (take('}'))
            return;
        do {
            space();
            std::string name = string();
            need(':');
            if (!v->members.emplace(name, value()).second)
                fail("a name twice");
        } while (take(','));
        need('}');
    }
    void array(Json* v) {
        need('[');
        if (take(']'))
            return;
        do {
            v->elements.push_back(value());
        } while (take(','));
        need(']');
    }
    std::string number() {
        char* end = nullptr;
        strtod(s_.c_str() + i_, &end);
        std::string digits = s_.substr(i_, static_cast<size_t>(end - (s_.c_str() + i_)));
        if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string::npos)
            fail("no value");
        i_ += digits.size();
        return digits;
    }
    unsigned hex4() {
        std::string digits = s_.substr(i_, 4);
        if (digits.size() != 4 ||
            digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
            fail("not four hexadecimal digits");
        i_ += 4;
        return static_cast<unsigned>(strtoul(digits.c_str(), nullptr, 16));
    }
    static void append(unsigned c, std::string* out) {
        auto add = [&](unsigned byte) { *out += static_cast<char>(byte); };
        if (c < 0x80) {
            add(c);
        } else if (c < 0x800) {
            add(0xc0 | c >> 6), add(0x80 | (c & 63));
        } else if (c < 0x10000) {
            add(0xe0 | c >> 12), add(0x80 | (c >> 6 & 63)), add(0x80 | (c & 63));
        } else {
            add(0xf0 | c >> 18), add(0x80 | (c >> 12 & 63)), add(0x80 | (c >> 6 & 63));
            add(0x80 | (c & 63));
        }
    }
    std::string string() {
        need('"');
        std::string out;
        while (peek() != '"') {
            if (i_ >= s_.size() || static_cast<unsigned char>(s_[i_]) < 0x20)
                fail("an open string");
            char c = s_[i_++];
            if (c != '\\') {
                out += c;
                continue;
            }
            c = peek();
            i_++;
            const char kNames[] = "\"\\/bfnrt", kValues[] = "\"\\/\b\f\n\r\t";
            const char* found = c == '\0' ? nullptr : strchr_(kNames, c);
            if (found != nullptr) {
                out += kValues[found - kNames];
            } else if (c == 'u') {
                unsigned code = hex4();
                if (code >= 0xd800 && code < 0xdc00 && s_.compare(i_, 2, "\\u") == 0) {
                    i_ += 2;
                    code = 0x10000 + ((code - 0xd800) << 10) + (hex4() - 0xdc00);
                }
                append(code, &out);
            } else {
                fail("an unknown escape");
            }
        }
        i_++;
        return out;
    }
    static const char* strchr_(const char* text, char c) {
        for (; *text != '\0'; text++) {
            if (*text == c)
                return text;
        }
        return nullptr;
    }

    const std::string& s_;
    size_t i_ = 0;
};

inline Json Json::parse(const std::string& text) {
    return JsonReader(text).document();
}

}  // namespace minigpt::test
