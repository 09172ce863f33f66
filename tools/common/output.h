// What goes to stdout, checked; and the pieces of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minigpt::cli {

// Standard output that cannot fail unnoticed: a full disk or a closed pipe throws an Error.
// finish() must be called in the end; what is written after the last flush may be lost without.
class Output {
public:
    void write(const char* bytes, size_t n_bytes);
    void write(const std::string& text) { write(text.data(), text.size()); }
    void flush();
    void finish() { flush(); }
    // Nothing was written, or a newline last.
    bool is_at_line_start() const { return last_ == '\n'; }

private:
    char last_ = '\n';
};

// JSON (RFC 8259), always ASCII or valid UTF-8:
//
// A string in its quotes. Bytes that are not UTF-8 become U+FFFD, one for each byte; what JSON
// needs escaped is.
std::string json_string(const std::string& bytes);
// "%.9g", which gives a float back exactly; null for NaN and the infinities.
std::string json_number(float number);
// "%.12g"; null as above.
std::string json_number(double number);
// The fewest digits that give the float back: 1e-05 for 1e-5f.
std::string shortest(float number);
std::string json_ids(const std::vector<int32_t>& ids);

// A word of a command line as sh takes it: as it is, or in single quotes.
std::string shell_word(const std::string& word);

// 124439808 as 124,439,808.
std::string grouped(uint64_t number);

// The end of a noun that this number counts: "token" + plural(n).
inline const char* plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

}  // namespace minigpt::cli
