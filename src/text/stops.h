// Finds stop texts in a stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/block.h"
#include "minigpt/status.h"

namespace minigpt {

// Holds back bytes that may still become a stop text, and ends the stream before a complete one.
// The stop text that is complete first counts; among those complete at once, the one that began
// first. Each byte costs a constant number of steps for each stop text, on average (Knuth, Morris,
// Pratt 1977, "Fast Pattern Matching in Strings").
class StopMatcher {
public:
    // stops [n_stops]: must outlive this. longest_push: the most bytes that a push will bring.
    // Errors: bad_argument (an empty text, a null pointer).
    Status plan(const std::string_view* stops, size_t n_stops, size_t longest_push);
    // Places the arrays that plan() counted. Without memory it only counts; with memory, call
    // start() next.
    void place(Layouter* layouter);
    void start();
    // The most bytes that a push and a flush return.
    size_t most_held() const { return most_held_; }

    void restart();

    // Returns whether a stop text is complete. If so, the stop text and everything after it never
    // come out. Otherwise the whole stream comes out in the end.
    //
    //   text  out: the bytes that are certain now, valid until the next call
    bool push(std::string_view bytes, std::string_view* text);

    // Returns the bytes that are held back.
    std::string_view flush();

private:
    size_t step(size_t stop, size_t matched, char byte) const;
    void drop_released();

    const std::string_view* stops_ = nullptr;
    size_t n_stops_ = 0;
    uint64_t n_bytes_ = 0;  // of all stop texts
    size_t most_held_ = 0;  // bytes
    size_t* begins_;        // [n_stops + 1]: where each text's borders begin
    size_t* borders_;       // for each prefix, its longest proper prefix that is also its suffix
    size_t* matched_;       // [n_stops]: how much of each text the stream ends with
    char* held_;            // [most_held]
    size_t n_held_ = 0;
    size_t n_released_ = 0;  // of the held bytes: already out
};

}  // namespace minigpt
