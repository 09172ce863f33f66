#include "common/progress.h"

#include <unistd.h>

#include <cstdio>

namespace minigpt::tools {

ProgressLine::ProgressLine()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

ProgressLine::~ProgressLine() {
    if (is_shown_)
        fputs("\r\033[K", stderr);
}

template <typename Text>
void ProgressLine::show_line(Text&& text) {
    Clock::time_point now = Clock::now();
    if (!is_terminal_ || now - last_ < std::chrono::milliseconds(100))
        return;
    last_ = now;
    is_shown_ = true;
    fprintf(stderr, "\r\033[K%s",
            text(std::chrono::duration<double>(now - start_).count()).c_str());
    fflush(stderr);
}

void ProgressLine::show(uint64_t done, uint64_t total) {
    show_line([&](double seconds) { return progress_text(done, total, seconds); });
}

void ProgressLine::show(const std::string& job, uint64_t done, uint64_t total) {
    show_line([&](double seconds) { return progress_text(job, done, total, seconds); });
}

namespace {

// How long the rest takes at the rate so far; 0 before there is one.
double seconds_left(uint64_t done, uint64_t total, double seconds) {
    return done > 0 ? seconds * static_cast<double>(total - done) / static_cast<double>(done) : 0;
}

double percent(uint64_t done, uint64_t total) {
    return total > 0 ? 100 * static_cast<double>(done) / static_cast<double>(total) : 100;
}

}  // namespace

std::string progress_text(uint64_t done, uint64_t total, double seconds) {
    double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    char text[96];
    snprintf(text, sizeof text, "%3.0f%%  %.0f of %.0f MB  %.0f MB/s  %.0f s left",
             percent(done, total), static_cast<double>(done) / 1e6,
             static_cast<double>(total) / 1e6, rate / 1e6, seconds_left(done, total, seconds));
    return text;
}

std::string progress_text(const std::string& job, uint64_t done, uint64_t total, double seconds) {
    char part[32], left[32] = "";
    snprintf(part, sizeof part, ": %3.0f%%", percent(done, total));
    if (done > 0)
        snprintf(left, sizeof left, ", %.0f s left", seconds_left(done, total, seconds));
    return job + part + left;
}

}  // namespace minigpt::tools
