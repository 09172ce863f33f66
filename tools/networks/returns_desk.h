// Made-up customer-service replies about returned orders. In this text, one word far back decides
// what comes next.
//
//     about the red kettle: it is past the 30-day window, so we cannot take it back.
//     hello anna, it is within the 60-day window, so you can send it to us.
//
// After "window, so " the text continues with "we cannot" or "you can". Both are equally frequent.
// The last 23 characters before them are the same in both cases. The word that decides, "past" or
// "within", begins 27 or 29 characters back. A model that reads less than that can only guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minigpt::networks {

struct Reply {
    static constexpr size_t kUndecided = static_cast<size_t>(-1);

    std::string text;                // one line, without its newline; ASCII
    size_t decided_at = kUndecided;  // index of the character after "window, so "; some replies
                                     // have no window
    bool is_past = false;            // "past", so "we cannot" follows

    bool has_window() const { return decided_at != kUndecided; }
    // The text up to and including "window, so ".
    std::string opening() const { return text.substr(0, decided_at); }
};

// Makes n replies of many kinds and wordings; three of five have a window. Take the replies with a
// window in pairs (the first two, the next two, ...): each pair has one "past" and one "within".
// The same seed gives the same replies on every machine.
std::vector<Reply> returns_desk_replies(uint64_t seed, size_t n);

// The texts of these replies, each ended by a newline: the text to train on.
std::string returns_desk_text(uint64_t seed, size_t n_replies);

// The verdict on a reply that a model or anyone else wrote.
enum class Verdict {
    right,  // "past" and then "we cannot", or "within" and then "you can"
    wrong,  // "past" and then "you can", or "within" and then "we cannot"
    other,  // no such clause, or neither follows it
};

// Judges the first line of `text` at its first "window, so ". The last "past" or "within" before it
// counts.
Verdict judge_reply(const std::string& text);

}  // namespace minigpt::networks
