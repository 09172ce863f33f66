// Finding stop texts in a stream of bytes.
#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "minigpt/status.h"

namespace minigpt {

// Holds back what may yet become a stop text, and cuts the stream before one that is complete.
// Of several the first to be complete counts, of those the one that began first. Each byte costs
// a constant number of steps for each stop text, on average (Knuth, Morris, Pratt 1977, "Fast
// Pattern Matching in Strings").
class StopMatcher {
public:
    // stops [n_stops]: must stay. longest_push: bytes that a push will bring at most.
    // Errors: bad_argument (an empty text), out_of_memory.
    Status create(const char* const* stops, size_t n_stops, size_t longest_push);

    void restart();

    // Returns whether a stop text is complete. Then, and only then, some of the stream never
    // comes out: the stop text itself and what follows it.
    //
    //   text, n_text  out: what is certain now, valid until the next call
    bool push(const char* bytes, size_t n_bytes, const char** text, size_t* n_text);

    // What is held back.
    void flush(const char** text, size_t* n_text);

private:
    size_t step(size_t stop, size_t matched, char byte) const;
    void drop_released();

    const char* const* stops_ = nullptr;
    size_t n_stops_ = 0;
    Buffer<size_t> begins_;   // [n_stops + 1]: where each text's borders begin
    Buffer<size_t> borders_;  // of each prefix: its longest proper prefix that is its suffix too
    Buffer<size_t> matched_;  // [n_stops]: how much of each text the stream ends with
    Buffer<char> held_;
    size_t n_held_ = 0;
    size_t n_released_ = 0;  // of the held: already out
};

}  // namespace minigpt
