// A strict reader of JSON (RFC 8259). It builds no tree: the caller reads the values in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "minigpt/status.h"

namespace minigpt::convert {

// A cursor over a JSON text, which must outlive it. Each call reads one whole value.
//
//     Json json(text, n_bytes);
//     MINIGPT_TRY(json.object([&](const std::string& key) {
//         return key == "n_embd" ? json.u64(&n_embd) : json.skip();
//     }));
//     MINIGPT_TRY(json.end());
//
// Errors, with the byte offset: text outside the grammar, invalid UTF-8, halves of surrogate pairs,
// a name twice in one object, nesting deeper than kMaxDepth. Numbers are exact or refused: 1024.0
// is not a whole number, and 2^64 is not a u64.
class Json {
public:
    enum class Type { object, array, string, number, boolean, null };
    static constexpr size_t kMaxDepth = 64;

    Json(const char* text, size_t n_bytes) : text_(text), n_bytes_(n_bytes) {}

    // The kind of the next value; nothing is read.
    Status peek(Type* type);

    // Calls on_member with each name; it must read that member's value.
    Status object(const std::function<Status(const std::string&)>& on_member);
    // Calls on_element with 0, 1, ...; it must read that element.
    Status array(const std::function<Status(size_t)>& on_element);
    Status string(std::string* value);  // UTF-8, escapes resolved; may contain NUL
    Status u64(uint64_t* value);
    Status number(double* value);
    Status boolean(bool* value);
    Status null();
    Status skip();
    // Checks that only white space is left.
    Status end();

private:
    void skip_space();
    Status expect(Type type);
    Status literal(const char* word);
    Status number_text(std::string* digits);
    Status escape(std::string* value);
    Status hex4(uint32_t* code);
    Status utf8(std::string* value);
    Status enter();
    Status error(const char* what) const;
    bool take(char c);

    const char* text_;
    size_t n_bytes_;
    size_t at_ = 0;
    size_t depth_ = 0;
};

}  // namespace minigpt::convert
