// The training loop: batches, steps, and the best weights so far.
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

// The results of an evaluation. Losses are in nats a token.
struct Evaluation {
    uint64_t iteration;
    double train;  // the mean of the batches since the last evaluation
    double val;    // of the held-back text, or the same as train if there is none
};

// The progress of a run. Together with Trainer::arrays() this is all the state that a run changes.
// A new trainer of the same configuration and corpus that gets this state continues to the same
// bits.
struct Progress {
    uint64_t iteration = 0;
    double last_loss = 0, loss_sum = 0;  // loss_sum: since the last evaluation
    uint64_t n_losses = 0;               // in that sum
    double best_loss = 0;                // the lowest of all evaluations; infinite before the first
    std::vector<Evaluation> evaluations;
};

class Trainer {
public:
    // corpus and compute must outlive it. Errors: as check(config); bad_text if the text, or its
    // held-back part, has fewer tokens than one sequence needs; out_of_memory.
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
    // The weights, the best weights, and AdamW's two means; each [network().parameters().size()].
    std::array<float*, 4> arrays();
    std::array<const float*, 4> arrays() const;

    // Runs one iteration, and an evaluation if it is due. Errors: bad_argument if the loss or the
    // gradient is not finite; then the weights are those from before the step.
    Status step();

    double last_loss() const { return progress_.last_loss; }  // of the latest batch
    const std::vector<Evaluation>& evaluations() const { return progress_.evaluations; }
    // Whether the latest evaluation was the best; then its weights are kept.
    bool is_best() const;
    // Whether some evaluation had a finite loss. Before that, best() is zeros.
    bool has_best() const;
    double best_loss() const { return progress_.best_loss; }
    const float* best() const { return best_.data(); }  // [network().parameters().size()]

    // Puts the best weights in place of the latest, if has_best().
    void use_best();

    // The mean loss over windows of the held-back text, or of all text if none is held back.
    // Windows follow each other; if there are more than n_windows, n_windows of them are evenly
    // spread.
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
