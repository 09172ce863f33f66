// Customer-service replies about returned orders: a text in which one word decides, from far back,
// what comes next.
//
//     about the red kettle: it is past the 30-day window, so we cannot take it back.
//     hello anna, it is within the 60-day window, so you can send it to us.
//
// After "window, so " the text goes on with "we cannot" or "you can". Both are equally frequent,
// the last 23 characters before them are spelled the same whichever comes, and the word that
// decides, "past" or "within", begins 27 or 29 characters back. Whoever reads less than that can
// only guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minigpt::networks {

struct Reply {
    static constexpr size_t kUndecided = static_cast<size_t>(-1);

    std::string text;                // one line, without its newline; ASCII
    size_t decided_at = kUndecided;  // of the character after "window, so "; not all replies have
                                     // a window
    bool is_past = false;            // "past", and so "we cannot"

    bool has_window() const { return decided_at != kUndecided; }
    // All up to and with "window, so ".
    std::string opening() const { return text.substr(0, decided_at); }
};

// n replies of many kinds and wordings, three of five with a window. Of the replies with one, each
// pair (the first two, the next two, ...) has one "past" and one "within". The same seed gives the
// same replies everywhere.
std::vector<Reply> returns_desk_replies(uint64_t seed, size_t n);

// Those replies' texts, each ended by a newline: what a model is trained on.
std::string returns_desk_text(uint64_t seed, size_t n_replies);

// The rule by which a reply, written by whomever, is judged.
enum class Verdict {
    right,  // "past" and then "we cannot", or "within" and then "you can"
    wrong,  // "past" and then "you can", or "within" and then "we cannot"
    other,  // no such clause, or one that goes on with neither
};

// Judges the first line of `text` by its first "window, so ": the last "past" or "within" before
// it counts.
Verdict judge_reply(const std::string& text);

}  // namespace minigpt::networks
