// Finding stop texts in a stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/block.h"
#include "minigpt/status.h"

namespace minigpt {

// Holds back what may yet become a stop text, and cuts the stream before one that is complete.
// Of several the first to be complete counts, of those the one that began first. Each byte costs
// a constant number of steps for each stop text, on average (Knuth, Morris, Pratt 1977, "Fast
// Pattern Matching in Strings").
class StopMatcher {
public:
    // stops [n_stops]: must stay. longest_push: bytes that a push will bring at most.
    // Errors: bad_argument (an empty text, a null pointer).
    Status plan(const std::string_view* stops, size_t n_stops, size_t longest_push);
    // Places what plan() counted. Without memory it only counts; with it, start() comes next.
    void place(Layouter* layouter);
    void start();
    // What a push and a flush give at most.
    size_t most_held() const { return most_held_; }

    void restart();

    // Returns whether a stop text is complete. Then, and only then, some of the stream never
    // comes out: the stop text itself and what follows it.
    //
    //   text  out: what is certain now, valid until the next call
    bool push(std::string_view bytes, std::string_view* text);

    // What is held back.
    std::string_view flush();

private:
    size_t step(size_t stop, size_t matched, char byte) const;
    void drop_released();

    const std::string_view* stops_ = nullptr;
    size_t n_stops_ = 0;
    uint64_t n_bytes_ = 0;  // of all stop texts
    size_t most_held_ = 0;  // bytes
    size_t* begins_;        // [n_stops + 1]: where each text's borders begin
    size_t* borders_;       // of each prefix: its longest proper prefix that is its suffix too
    size_t* matched_;       // [n_stops]: how much of each text the stream ends with
    char* held_;            // [most_held]
    size_t n_held_ = 0;
    size_t n_released_ = 0;  // of the held: already out
};

}  // namespace minigpt
