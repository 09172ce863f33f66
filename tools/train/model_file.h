// A trained GPT as a weight file.
#pragma once

#include <string>

#include "minigpt/writer.h"
#include "networks/corpus.h"
#include "networks/network.h"

namespace minigpt::train {

// Where the weights come from: the network's own, or others in the same places.
//
//   weights  [parameters().size()]
//
// The file has a self-test and replaces `path` when it is complete. `source`: what it says of its
// origin. Errors: not_supported (an mlp), and the Writer's.
Status write_model(const std::string& path, const networks::TrainConfig& config,
                   const networks::Network& network, const float* weights,
                   const networks::Vocabulary& vocabulary, ElementType type,
                   const std::string& source);

}  // namespace minigpt::train
