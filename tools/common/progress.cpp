#include "common/progress.h"

#include <unistd.h>

#include <cstdio>

namespace minigpt::convert {

ProgressLine::ProgressLine()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

ProgressLine::~ProgressLine() {
    if (is_shown_)
        fputs("\r\033[K", stderr);
}

void ProgressLine::show(uint64_t done, uint64_t total) {
    Clock::time_point now = Clock::now();
    if (!is_terminal_ || now - last_ < std::chrono::milliseconds(100))
        return;
    last_ = now;
    is_shown_ = true;
    double seconds = std::chrono::duration<double>(now - start_).count();
    fprintf(stderr, "\r\033[K%s", progress_text(done, total, seconds).c_str());
    fflush(stderr);
}

std::string progress_text(uint64_t done, uint64_t total, double seconds) {
    double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
    double part = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    char text[96];
    snprintf(text, sizeof text, "%3.0f%%  %.0f of %.0f MB  %.0f MB/s  %.0f s left", part * 100,
             static_cast<double>(done) / 1e6, static_cast<double>(total) / 1e6, rate / 1e6, left);
    return text;
}

}  // namespace minigpt::convert
