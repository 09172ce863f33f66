// A line that shows how far a long job is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace minigpt::tools {

// Rewrites one line of stderr, a few times a second, if stderr is a terminal; the line is gone
// when the object is. Otherwise it writes nothing.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // Bytes.
    void show(uint64_t done, uint64_t total);
    // Steps of a job with a name.
    void show(const std::string& job, uint64_t done, uint64_t total);
    bool is_terminal() const { return is_terminal_; }

private:
    template <typename Text>
    void show_line(Text&& text);  // text(seconds since it was made)

    using Clock = std::chrono::steady_clock;

    bool is_terminal_;
    bool is_shown_ = false;
    Clock::time_point start_, last_;
};

// " 45%  223 of 498 MB  512 MB/s  1 s left"
std::string progress_text(uint64_t done, uint64_t total, double seconds);
// "attention:  45%, 12 s left"
std::string progress_text(const std::string& job, uint64_t done, uint64_t total, double seconds);

}  // namespace minigpt::tools
