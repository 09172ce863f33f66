// The trained networks in float64, as plainly as they can be written: loss as a function of the
// parameters. What gradients are checked against.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "networks/network.h"

namespace minigpt::test {

// Numbers by tensor name, row-major.
using Numbers64 = std::map<std::string, std::vector<double>>;

Numbers64 widened(const networks::Parameters& parameters);

// The mean loss of a batch, without dropout.
double reference_loss(const Numbers64& weights, const networks::TrainConfig& config, size_t n_vocab,
                      const networks::Batch& batch);

}  // namespace minigpt::test
