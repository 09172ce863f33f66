// Our own weight file as a source: to be listed, to get another type, to go back to Hugging Face.
#pragma once

#include <memory>
#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// The weights are hashed against their checksums when the first of them is read.
Status open_mgpt(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
