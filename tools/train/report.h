// What train prints while it runs.
#pragma once

#include <chrono>
#include <string>

#include "networks/trainer.h"

namespace minigpt::train {

// A line on stderr with the loss, tokens a second and the time left. It is rewritten a few times a
// second, and removed by the destructor and while other lines are printed. If stderr is not a
// terminal, one such line goes to stdout after two seconds, for readers of a log.
class LiveLine {
public:
    LiveLine();
    ~LiveLine() { clear(); }
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;

    void show(const networks::Trainer& trainer);
    void clear();
    // Tokens a second since this object was made.
    double rate(const networks::Trainer& trainer) const;

private:
    using Clock = std::chrono::steady_clock;

    bool is_terminal_, is_shown_ = false, has_begun_ = false, has_spoken_ = false;
    uint64_t first_ = 0;  // the first iteration of this run
    Clock::time_point start_, last_;
};

// "iteration 250 of 2000  loss 2.0134  12345 tokens/s  1:05 left"
std::string progress_text(const networks::Trainer& trainer, double rate);
// "iteration 250: training 2.0512, held back 2.0834, the best so far"
std::string evaluation_text(const networks::Trainer& trainer);
// "best, of iteration 500: held back 1.8834". Requires trainer.has_best().
std::string best_text(const networks::Trainer& trainer);

}  // namespace minigpt::train
