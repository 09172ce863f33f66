#include "train/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common/file.h"

namespace minigpt::train {

LiveLine::LiveLine()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

void LiveLine::clear() {
    if (is_shown_)
        fputs("\r\033[K", stderr);
    is_shown_ = false;
}

double LiveLine::rate(const networks::Trainer& trainer) const {
    double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    size_t n = trainer.config().n_batch * trainer.config().n_ctx;
    double tokens = static_cast<double>(trainer.iteration() - first_) * static_cast<double>(n);
    return seconds > 0 ? tokens / seconds : 0;
}

void LiveLine::show(const networks::Trainer& trainer) {
    Clock::time_point now = Clock::now();
    if (!has_begun_) {
        has_begun_ = true;
        start_ = now;
        first_ = trainer.iteration();
    }
    if (!is_terminal_ && !has_spoken_ && now - start_ >= std::chrono::seconds(2)) {
        has_spoken_ = true;
        printf("%s\n", progress_text(trainer, rate(trainer)).c_str());
        fflush(stdout);
    }
    if (!is_terminal_ || now - last_ < std::chrono::milliseconds(200))
        return;
    last_ = now;
    is_shown_ = true;
    fprintf(stderr, "\r\033[K%s", progress_text(trainer, rate(trainer)).c_str());
    fflush(stderr);
}

std::string progress_text(const networks::Trainer& trainer, double rate) {
    const networks::TrainConfig& c = trainer.config();
    double left = static_cast<double>((c.n_iters - trainer.iteration()) * c.n_batch * c.n_ctx);
    unsigned long long seconds = rate > 0 ? static_cast<unsigned long long>(left / rate) : 0;
    char text[160];
    snprintf(text, sizeof text, "iteration %zu of %zu  loss %.4f  %.0f tokens/s  %llu:%02llu left",
             trainer.iteration(), c.n_iters, trainer.last_loss(), rate, seconds / 60, seconds % 60);
    return text;
}

std::string evaluation_text(const networks::Trainer& trainer) {
    const networks::Evaluation& e = trainer.evaluations().back();
    char text[160];
    int n = snprintf(text, sizeof text, "iteration %llu: training %.4f",
                     static_cast<unsigned long long>(e.iteration), e.train);
    if (trainer.corpus().n_val() > 0) {
        snprintf(text + n, sizeof text - static_cast<size_t>(n), ", held back %.4f%s", e.val,
                 trainer.is_best() ? ", the best so far" : "");
    }
    return text;
}

std::string best_text(const networks::Trainer& trainer) {
    const std::vector<networks::Evaluation>& all = trainer.evaluations();
    auto best = std::find_if(all.begin(), all.end(), [&](const networks::Evaluation& e) {
        return e.val <= trainer.best_loss();
    });
    char text[160];
    snprintf(text, sizeof text, "best, of iteration %llu: %s %.4f",
             static_cast<unsigned long long>(best == all.end() ? 0 : best->iteration),
             trainer.corpus().n_val() > 0 ? "held back" : "training", trainer.best_loss());
    return text;
}

}  // namespace minigpt::train
