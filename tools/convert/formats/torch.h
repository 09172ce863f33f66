// PyTorch's checkpoints: one file, or several under an index; Hugging Face's, nanoGPT's, minGPT's
// and others'.
#pragma once

#include <memory>
#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

Status open_torch(const std::string& path, const OpenOptions& options,
                  std::unique_ptr<Checkpoint>* checkpoint);
Status open_torch_index(const std::string& path, const OpenOptions& options,
                        std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
