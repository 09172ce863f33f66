// Checkpoints in several files, under an index that says which file has which tensor.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// The weight_map of a *.index.json: tensor and file names, by tensor. Files lie in the index's
// own folder: a path is refused (bad_file).
using WeightMap = std::vector<std::pair<std::string, std::string>>;
Status read_weight_map(const std::string& path, WeightMap* map);

// Calls add_file with the path of each part that the index `path` names; it adds the part's
// tensors to the checkpoint. Each tensor must be in the part where the index places it.
//
// Errors: io; bad_file: a part that is missing, a tensor that is missing in its part or left over
// there; what add_file finds.
Status add_shards(const std::string& path, Checkpoint* checkpoint,
                  const std::function<Status(const std::string&)>& add_file);

}  // namespace minigpt::convert
