// The loop: batches, steps, and the best so far.
//
//     Corpus corpus;
//     MINIGPT_TRY(make_corpus(text, config.val, &corpus));
//     std::unique_ptr<Trainer> trainer;
//     MINIGPT_TRY(Trainer::create(config, corpus, compute, &trainer));
//     while (!trainer->is_done())
//         MINIGPT_TRY(trainer->step());
//     trainer->use_best();
//     trainer->network().logits_after(logits, ids, n_ids);
//
// The same configuration and text give the same numbers, bit for bit, for any Compute.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "networks/adamw.h"
#include "networks/config.h"
#include "networks/corpus.h"
#include "networks/network.h"

namespace minigpt::networks {

// What an evaluation found after some iterations. Losses in nats a token.
struct Evaluation {
    uint64_t iteration;
    double train;  // the mean of the batches since the last evaluation
    double val;    // of the held-back text, or train where there is none
};

// How far a run is. With Trainer::arrays() this is all that a run changes: put into a new trainer
// of the same configuration and corpus, it goes on to the same bits.
struct Progress {
    uint64_t iteration = 0;
    double last_loss = 0, loss_sum = 0;  // the sum since the last evaluation
    uint64_t n_losses = 0;               // in that sum
    double best_loss = 0;                // the least of the evaluations; infinite before the first
    std::vector<Evaluation> evaluations;
};

class Trainer {
public:
    // corpus and compute must outlive it. Errors: as check(config); bad_text if the text, or what
    // is held back of it, has not as many tokens as one sequence needs; out_of_memory.
    static Status create(const TrainConfig& config, const Corpus& corpus, const Compute& compute,
                         std::unique_ptr<Trainer>* trainer);

    const TrainConfig& config() const { return config_; }
    const Corpus& corpus() const { return corpus_; }
    Network& network() { return *network_; }
    const Network& network() const { return *network_; }
    size_t iteration() const { return progress_.iteration; }
    bool is_done() const { return progress_.iteration >= config_.n_iters; }

    const Progress& progress() const { return progress_; }
    Progress& progress() { return progress_; }
    // The weights, the best weights, and AdamW's two means. [network().parameters().size()] each
    std::array<float*, 4> arrays();
    std::array<const float*, 4> arrays() const;

    // One iteration, and an evaluation if it is due. Errors: bad_argument if the loss or gradient
    // is not finite any more: the weights are as before the step.
    Status step();

    double last_loss() const { return progress_.last_loss; }  // the latest batch's
    const std::vector<Evaluation>& evaluations() const { return progress_.evaluations; }
    // Whether the latest evaluation was the best, of which the weights are kept.
    bool is_best() const;
    // Whether there was one yet whose loss was a finite number: before, best() are zeros.
    bool has_best() const;
    double best_loss() const { return progress_.best_loss; }
    const float* best() const { return best_.data(); }  // [network().parameters().size()]

    // Puts the best weights in place of the latest, if has_best().
    void use_best();

    // The mean loss over windows of the held-back text (of all the text, where nothing is), one
    // after the other, or n_windows of them evenly spread if there are more.
    double validate(size_t n_windows);

private:
    Trainer(const TrainConfig& config, const Corpus& corpus, const Compute& compute);

    void evaluate();
    size_t least_start() const;

    TrainConfig config_;
    const Corpus& corpus_;
    std::unique_ptr<Network> network_;
    AdamW optimizer_;
    Progress progress_;
    Floats best_;  // weights
};

}  // namespace minigpt::networks
