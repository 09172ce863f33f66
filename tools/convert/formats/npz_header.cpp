// The dictionary at the head of a .npy array: Python's notation, of which NumPy writes very little.
#include <cstring>

#include "common/file.h"
#include "convert/formats/npz.h"

namespace minigpt::convert {
namespace {

constexpr size_t kMaxDims = 32;  // NumPy's own

class Parser {
public:
    explicit Parser(const std::string& text) : text_(text) {}

    Status dictionary(NpyHeader* header);

private:
    void skip_space() {
        while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != '\0')
            at_++;
    }
    bool take(const char* word) {
        skip_space();
        size_t n = strlen(word);
        if (text_.compare(at_, n, word) != 0)
            return false;
        at_ += n;
        return true;
    }
    Status error(const char* expected) const {
        return Status::error(Code::bad_file, "its header has no %s at byte %zu", expected, at_);
    }
    Status text(std::string* value);
    Status boolean(bool* value);
    Status shape(std::vector<uint64_t>* shape);
    Status member(const std::string& name, NpyHeader* header);

    const std::string& text_;
    size_t at_ = 0;
};

Status Parser::text(std::string* value) {
    skip_space();
    char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
        return error("text in quotes");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos)
        return error("whole text");
    value->assign(text_, at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (value->size() <= 32 && value->find('\\') == std::string::npos)
        return Status();
    return Status::error(Code::bad_file, "its header has the text \"%s\"", shown(*value).c_str());
}

Status Parser::boolean(bool* value) {
    *value = take("True");
    return *value || take("False") ? Status() : error("True or False");
}

// (), (3,), (3, 4): numbers may end in L, as Python 2 wrote them.
Status Parser::shape(std::vector<uint64_t>* shape) {
    if (!take("("))
        return error("(");
    for (bool comma = true; !take(")"); comma = take(",")) {
        if (!comma)
            return error(", or )");
        size_t n_digits = strspn(text_.c_str() + at_, "0123456789");
        if (n_digits == 0 || n_digits > 18 || (n_digits > 1 && text_[at_] == '0'))
            return error("dimension");
        if (shape->size() == kMaxDims)
            return Status::error(Code::bad_file, "over %zu dimensions", kMaxDims);
        shape->push_back(std::stoull(text_.substr(at_, n_digits)));
        at_ += n_digits;
        take("L");
    }
    // (3) is a number in Python.
    if (shape->size() == 1 && text_[text_.find_last_not_of(" )", at_ - 1)] != ',')
        return error(", after one dimension");
    return Status();
}

Status Parser::member(const std::string& name, NpyHeader* header) {
    if (name == "descr") {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[')
            return Status::error(Code::not_supported, "descr: structured types are not read");
        return text(&header->descr);
    }
    if (name == "fortran_order")
        return boolean(&header->is_fortran);
    if (name == "shape")
        return shape(&header->shape);
    return Status::error(Code::bad_file, "its header has the unknown field \"%s\"",
                         shown(name).c_str());
}

Status Parser::dictionary(NpyHeader* header) {
    std::string names[3];
    size_t n = 0;
    if (!take("{"))
        return error("{");
    while (!take("}")) {
        if (n > 0 && !take(","))
            return error(", or }");
        if (take("}"))
            break;
        if (n == 3)
            return error("}");
        MINIGPT_TRY(text(&names[n]));
        for (size_t i = 0; i < n; i++) {
            if (names[i] == names[n])
                return Status::error(Code::bad_file, "its header has %s twice",
                                     shown(names[n]).c_str());
        }
        if (!take(":"))
            return error(":");
        MINIGPT_TRY(member(names[n], header));
        n++;
    }
    if (n < 3)
        return Status::error(Code::bad_file, "its header lacks descr, fortran_order or shape");
    skip_space();
    return at_ == text_.size() ? Status() : error("end");
}

// "<f4": byte order, kind, bytes of an item.
Status take_descr(NpyHeader* header) {
    const std::string& d = header->descr;
    std::string name = shown(d);
    size_t n_digits = d.size() < 3 ? 0 : strspn(d.c_str() + 2, "0123456789");
    bool known = n_digits > 0 && n_digits <= 9 && n_digits + 2 == d.size() &&
                 strchr("<>|=", d[0]) != nullptr && strchr("biufcmMSUVO", d[1]) != nullptr;
    if (!known)
        return Status::error(Code::bad_file, "descr: unknown type '%s'", name.c_str());
    header->item_bytes = std::stoull(d.substr(2)) * (d[1] == 'U' ? 4 : 1);
    if (d[1] == 'O')
        return Status::error(Code::not_supported, "descr: '%s': Python objects are not read",
                             name.c_str());
    if (d[0] == '>' && header->item_bytes > 1)
        return Status::error(Code::not_supported, "descr: '%s': big-endian numbers are not read",
                             name.c_str());
    if (d[1] == 'V') {
        return Status::error(Code::not_supported,
                             "descr: '%s': numbers of a type that NumPy does not have, such as "
                             "bfloat16; save them as float32",
                             name.c_str());
    }
    return Status();
}

}  // namespace

Status parse_npy_header(const std::string& text, NpyHeader* header) {
    MINIGPT_TRY(Parser(text).dictionary(header));
    return take_descr(header);
}

}  // namespace minigpt::convert
