// A line that shows the progress of a long job.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace minigpt::tools {

// Rewrites one line of stderr a few times a second. The destructor removes the line. If stderr is
// not a terminal, it writes nothing.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // Progress in bytes.
    void show(uint64_t done, uint64_t total);
    // Progress in steps of a named job.
    void show(const std::string& job, uint64_t done, uint64_t total);
    bool is_terminal() const { return is_terminal_; }

private:
    template <typename Text>
    void show_line(Text&& text);  // text(seconds since this object was made)

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
