// What every call that can fail returns.
#pragma once

namespace minigpt {

enum class Code : unsigned char {
    ok,
    bad_argument,   // a parameter outside its range
    bad_shape,      // a size that does not fit the others
    bad_id,         // a token id outside the vocabulary
    bad_text,       // text that the vocabulary cannot spell
    context_full,   // more positions than n_ctx; nothing was changed
    out_of_memory,  // an allocation failed, or the memory handed in is too small
    io,             // the operating system refused; the message has its reason
    bad_file,       // damaged or invalid contents
    not_supported,  // valid, but this build or library does not do it
};

// A code and, for errors, one line that names the thing, what was found and what was expected.
//
// The message lies inside the object, so making a Status allocates nothing. Longer messages are
// cut. Bytes below 0x20 and 0x7f become '?', so that a name from a hostile file cannot break the
// line. Safe from any thread.
class [[nodiscard]] Status {
public:
    Status() : code_(Code::ok) { message_[0] = '\0'; }

    // printf-like.
    static Status error(Code code, const char* format, ...) __attribute__((format(printf, 2, 3)));

    bool ok() const { return code_ == Code::ok; }
    Code code() const { return code_; }
    const char* message() const { return message_; }

private:
    Code code_;
    char message_[287];
};

}  // namespace minigpt

#define MINIGPT_JOIN_(a, b) a##b
#define MINIGPT_TRY_(expression, status)                             \
    do {                                                             \
        if (::minigpt::Status status = (expression); !status.ok()) { \
            return status;                                           \
        }                                                            \
    } while (0)
#define MINIGPT_NAME_(line) MINIGPT_JOIN_(minigpt_status_, line)

// Returns from the enclosing function when `expression` is an error.
#define MINIGPT_TRY(expression) MINIGPT_TRY_(expression, MINIGPT_NAME_(__LINE__))
