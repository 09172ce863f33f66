// Checkpoints in several files. An index says which file has which tensor.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// The weight_map of a *.index.json: from tensor names to file names. Files lie in the index's own
// folder; names with a path are refused (bad_file).
using WeightMap = std::vector<std::pair<std::string, std::string>>;
Status read_weight_map(const std::string& path, WeightMap* map);

// Calls add_file with the path of each part that the index `path` names. add_file adds the part's
// tensors to the checkpoint. Each tensor must be in the part that the index states.
//
// Errors: io; bad_file: a missing part, a tensor that is missing from its part or left over there;
// errors of add_file.
Status add_shards(const std::string& path, Checkpoint* checkpoint,
                  const std::function<Status(const std::string&)>& add_file);

}  // namespace minigpt::convert
