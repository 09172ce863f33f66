// The parts of build/bench: models of the published sizes without a download, and each op alone.
#pragma once

#include <cstddef>
#include <string>

#include "minigpt/compute.h"
#include "minigpt/config.h"

namespace minigpt::benchmarks {

// Makes a model with random weights in one of GPT-2's sizes: distil, 124M, 355M, 774M, 1558M, or
// tiny. Its vocabulary has 50,257 tokens, as GPT-2's, of at most two bytes each. The same size and
// type give the same file. Holds the largest array in memory.
void make_model(const std::string& size, ElementType type, const std::string& path);

struct OpsOptions {
    size_t repeats = 5;
    double seconds = 0.05;  // the least time of one repeat
    bool gemm_only = false;
};

// Times each op at the shapes of GPT-2 124M and prints a table: its time, its rate, and the rate as
// a share of the fma peak or of the read bandwidth, measured in the same run.
void run_ops(const OpsOptions& options, const Compute& compute);

}  // namespace minigpt::benchmarks
