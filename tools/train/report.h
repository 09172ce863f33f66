// What train says while it runs.
#pragma once

#include <chrono>
#include <string>

#include "networks/trainer.h"

namespace minigpt::train {

// A line on stderr that is rewritten a few times a second, if stderr is a terminal: loss, tokens a
// second, time left. It is gone when the object is, or while others write. If stderr is none, one
// such line on stdout after two seconds, for whoever looks at a log.
class LiveLine {
public:
    LiveLine();
    ~LiveLine() { clear(); }
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;

    void show(const networks::Trainer& trainer);
    void clear();
    // Tokens a second since it was made.
    double rate(const networks::Trainer& trainer) const;

private:
    using Clock = std::chrono::steady_clock;

    bool is_terminal_, is_shown_ = false, has_begun_ = false, has_spoken_ = false;
    uint64_t first_ = 0;  // the iteration at which it began
    Clock::time_point start_, last_;
};

// "iteration 250 of 2000  loss 2.0134  12345 tokens/s  1:05 left"
std::string progress_text(const networks::Trainer& trainer, double rate);
// "iteration 250: training 2.0512, held back 2.0834, the best so far"
std::string evaluation_text(const networks::Trainer& trainer);
// "best, of iteration 500: held back 1.8834"; trainer.has_best().
std::string best_text(const networks::Trainer& trainer);

}  // namespace minigpt::train
