// A trained GPT as a weight file.
#pragma once

#include <string>

#include "minigpt/writer.h"
#include "networks/corpus.h"
#include "networks/network.h"

namespace minigpt::train {

// Writes a weight file with a self-test. It replaces `path` when it is complete.
//
//   weights  [parameters().size()]: the network's own weights, or others in the same layout
//   source   the origin that the file states
//
// Errors: not_supported (an mlp), and the Writer's.
Status write_model(const std::string& path, const networks::TrainConfig& config,
                   const networks::Network& network, const float* weights,
                   const networks::Vocabulary& vocabulary, ElementType type,
                   const std::string& source);

}  // namespace minigpt::train
