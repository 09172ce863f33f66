// The model that the command line names, opened and checked, and what subcommands do with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpt2/input.h"
#include "gpt2/options.h"
#include "minigpt/compute.h"
#include "minigpt/model.h"
#include "minigpt/tokenizer.h"

namespace minigpt::gpt2 {

struct Loaded {
    // Opens the model and its vocabulary. Compares the model with its checksums unless --no-check
    // is given. Throws Error.
    explicit Loaded(const Options& options);

    Compute compute;
    Model model;
    Tokenizer tokenizer;
    std::string name;  // its path, or words for the bundled model
};

// The prompt's ids, each checked against the vocabulary. Text is refused if the model has no
// vocabulary.
std::vector<int32_t> to_ids(const Input& input, const Options& options, const Loaded& loaded);

// The ids that the model computes. An empty prompt becomes <|endoftext|>, or is refused if the
// vocabulary has none. A prompt longer than n_ctx is refused.
void make_runnable(std::vector<int32_t>* ids, const Input& input, const Loaded& loaded);

// The session that the flags ask for, with one sequence.
SessionOptions session_options(const Options& options, const Loaded& loaded);

// Runs ids [n_ids] from an empty session. Calls take(i, logits) for i = first ... n_ids - 1; logits
// [n_vocab] are those after ids[i]. n_ids <= n_ctx, first < n_ids. Holds at most 4 MB of logits, or
// one row.
using TakeLogits = std::function<void(size_t i, const float* logits)>;
void run_ids(Session& session, const Options& options, const int32_t* ids, size_t n_ids,
             size_t first, const TakeLogits& take);

}  // namespace minigpt::gpt2
