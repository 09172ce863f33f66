// The formats' readers, and what they share.
#pragma once

#include <memory>
#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// Opens the file `path`. Errors: those of open_checkpoint().
using Reader = Status(const std::string& path, const OpenOptions& options,
                      std::unique_ptr<Checkpoint>* checkpoint);

Reader open_safetensors;
Reader open_safetensors_index;  // with all its files
Reader open_torch;
Reader open_torch_index;
Reader open_npz;
Reader open_gguf;
Reader open_ggml;  // the vocabulary's merges follow from its tokens
Reader open_llmc;
// PREFIX.index with all its shards. What an optimizer or a trainer keeps is left aside, with a
// note. read() holds each tensor against its checksum.
Reader open_tensorflow;
// The weights are hashed against their checksums when the first of them is read.
Reader open_mgpt;

// Reads a GPT2Config, Hugging Face's config.json. Switches that are absent have its defaults; a
// size that is absent, a field of another type, two fields that contradict, another model_type, an
// unknown activation and cross attention are refused by name (bad_file, not_supported).
Status parse_hf_config(const std::string& json, SourceConfig* config);

// Reads a folder's config.json, and adds it to the checkpoint's files. Errors name it.
Status read_hf_config(const std::string& folder, Checkpoint* checkpoint);

// transformers' names of the two GELUs; nothing for others.
std::optional<Activation> activation_of_name(const std::string& name);

// What a checkpoint does not say, its tensors show. Sets the sizes that are unset from the shapes
// of the token table, the position table and layer 0's mlp.c_fc, and from the number of layers.
// Errors: bad_file where there is no token table.
Status infer_sizes(Checkpoint* checkpoint);

// Whether a head that is there is a copy of the token table, to the bit; sets config.tied.
// Nothing is done where it is set. Reads both. Errors: as read().
Status infer_tied(Checkpoint* checkpoint);

// Whether two tensors are the same to the bit. Holds both.
Status same_numbers(Checkpoint* checkpoint, size_t a, size_t b, bool* same);

}  // namespace minigpt::convert
