// A small network, and runs of it that take no time.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "networks/trainer.h"

namespace minigpt::test {

inline const std::string kVerse =
    "the cat sat on the mat and the dog sat on the log\n"
    "the rat sat on the hat and the frog sat on the bog\n";

inline std::string repeated(const std::string& text, size_t n) {
    std::string all;
    while (n-- > 0)
        all += text;
    return all;
}

inline networks::TrainConfig small_config() {
    networks::TrainConfig c;
    c.n_layer = 2, c.n_head = 2, c.n_embd = 32, c.n_ctx = 24, c.n_batch = 6;
    c.n_iters = 40, c.eval_every = 15, c.lr = 5e-3f, c.dropout = 0.1f;
    return c;
}

inline std::unique_ptr<networks::Trainer> made(const networks::TrainConfig& config,
                                               const networks::Corpus& corpus,
                                               const Compute& compute) {
    std::unique_ptr<networks::Trainer> trainer;
    Status status = networks::Trainer::create(config, corpus, compute, &trainer);
    CAPTURE(std::string(status.message()));
    REQUIRE(status.ok());
    return trainer;
}

inline void run(networks::Trainer* trainer, size_t until) {
    while (trainer->iteration() < until)
        REQUIRE(trainer->step().ok());
}

}  // namespace minigpt::test
