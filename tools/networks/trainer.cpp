#include "networks/trainer.h"

#include <cmath>
#include <cstring>

#include "minigpt/generate.h"

namespace minigpt::networks {

Trainer::Trainer(const TrainConfig& config, const Corpus& corpus, const Compute& compute)
    : config_(config),
      corpus_(corpus),
      network_(make_network(config, corpus.vocabulary.n_tokens(), compute)),
      optimizer_(config, network_->parameters(), compute),
      best_(network_->parameters().size()) {
    progress_.best_loss = HUGE_VAL;
}

std::array<float*, 4> Trainer::arrays() {
    return {network_->parameters().weights(), best_.data(), optimizer_.mean().data(),
            optimizer_.square().data()};
}

std::array<const float*, 4> Trainer::arrays() const {
    return {network_->parameters().weights(), best_.data(), optimizer_.mean().data(),
            optimizer_.square().data()};
}

Status Trainer::create(const TrainConfig& config, const Corpus& corpus, const Compute& compute,
                       std::unique_ptr<Trainer>* trainer) {
    MINIGPT_TRY(check(config));
    const bool is_mlp = config.architecture == Architecture::mlp;
    const size_t needed = config.n_ctx + 1 + (is_mlp ? config.window - 1 : 0);
    const struct {
        const char* name;
        size_t n;
    } parts[] = {{"the text to learn from", corpus.n_train},
                 {"the held-back text", corpus.n_val()}};
    for (const auto& part : parts) {
        if (part.n >= needed || (part.n == 0 && corpus.n_train > 0))
            continue;
        return Status::error(Code::bad_text,
                             "%s has %zu tokens; a context of %zu needs %zu: a smaller "
                             "--ctx will do, or more text",
                             part.name, part.n, config.n_ctx, needed);
    }
    try {
        trainer->reset(new Trainer(config, corpus, compute));
    } catch (const std::bad_alloc&) {
        return Status::error(Code::out_of_memory, "a network of this size");
    }
    return Status();
}

// The number of tokens before the first possible start of a sequence.
size_t Trainer::least_start() const {
    return config_.architecture == Architecture::mlp ? config_.window - 1 : 0;
}

Status Trainer::step() {
    // Each iteration has its own generator, so a resumed run needs no state of it.
    Random random(config_.seed + 0x9e3779b97f4a7c15u * (progress_.iteration + 1));
    const size_t least = least_start();
    const uint64_t n_starts = corpus_.n_train - config_.n_ctx - least;
    std::vector<size_t> starts(config_.n_batch);
    for (size_t& start : starts) {
        uint64_t draw = random.next();
        start = least + static_cast<size_t>((draw << 32 | random.next()) % n_starts);
    }
    const Batch batch = {corpus_.ids.data(), starts.data(), config_.n_batch, config_.n_ctx};
    double loss = network_->backward(batch, progress_.iteration);
    double norm = std::isfinite(loss) ? optimizer_.step(progress_.iteration) : loss;
    if (!std::isfinite(norm)) {
        return Status::error(Code::bad_argument,
                             "the loss or its gradient is not finite at iteration %zu: a lower "
                             "learning rate may help",
                             static_cast<size_t>(progress_.iteration));
    }
    progress_.iteration++;
    progress_.last_loss = loss;
    progress_.loss_sum += loss;
    progress_.n_losses++;
    if (progress_.iteration % config_.eval_every == 0 || is_done())
        evaluate();
    return Status();
}

void Trainer::evaluate() {
    double train = progress_.loss_sum / static_cast<double>(progress_.n_losses);
    progress_.loss_sum = 0, progress_.n_losses = 0;
    double val = corpus_.n_val() == 0 ? train : validate(config_.eval_windows);
    progress_.evaluations.push_back({progress_.iteration, train, val});
    if (val < progress_.best_loss) {
        progress_.best_loss = val;
        memcpy(best_.data(), network_->parameters().weights(), best_.size() * sizeof(float));
    }
}

bool Trainer::is_best() const {
    return has_best() && progress_.evaluations.back().iteration == progress_.iteration &&
           progress_.evaluations.back().val <= progress_.best_loss;
}

bool Trainer::has_best() const {
    return !progress_.evaluations.empty() && std::isfinite(progress_.best_loss);
}

void Trainer::use_best() {
    if (has_best())
        memcpy(network_->parameters().weights(), best_.data(), best_.size() * sizeof(float));
}

double Trainer::validate(size_t n_windows) {
    const bool all = corpus_.n_val() == 0;
    const size_t least = least_start() + (all ? 0 : corpus_.n_train);
    const size_t n_whole = (corpus_.ids.size() - least - 1) / config_.n_ctx;
    const size_t n = n_windows < n_whole ? n_windows : n_whole;
    double sum = 0;
    std::vector<size_t> starts;
    for (size_t i = 0; i < n; ++i) {
        starts.push_back(least + i * n_whole / n * config_.n_ctx);
        if (starts.size() < config_.n_batch && i + 1 < n)
            continue;
        sum += network_->loss({corpus_.ids.data(), starts.data(), starts.size(), config_.n_ctx});
        starts.clear();
    }
    return sum / static_cast<double>(n * config_.n_ctx);
}

}  // namespace minigpt::networks
