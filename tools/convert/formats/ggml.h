// The GPT-2 files of ggml's first years, before GGUF.
//
//     i32  0x67676d6c, n_vocab, n_ctx, n_embd, n_head, n_layer, type (0 f32, 1 f16)
//     i32  n_tokens; for each i32 length and its bytes
//     tensors to the file's end: i32 n_dims, i32 length of the name, i32 type, i32 dimensions
//          (innermost first), the name, the numbers
#pragma once

#include <memory>
#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// The vocabulary's merges are not in the file: they follow from the tokens.
Status open_ggml(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
