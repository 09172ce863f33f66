// The readers of all formats, and functions that they share.
#pragma once

#include <memory>
#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// Opens the file `path`. Errors: those of open_checkpoint().
using Reader = Status(const std::string& path, const OpenOptions& options,
                      std::unique_ptr<Checkpoint>* checkpoint);

Reader open_safetensors;
Reader open_safetensors_index;  // the index and all its files
Reader open_torch;
Reader open_torch_index;
Reader open_npz;
Reader open_gguf;
Reader open_ggml;  // merges are recovered from the tokens
Reader open_llmc;
// PREFIX.index with all its shards. Tensors of an optimizer or a trainer are ignored, with a note.
// read() compares each tensor with its checksum.
Reader open_tensorflow;
// The weights are compared with their checksums when the first of them is read.
Reader open_mgpt;

// Reads a GPT2Config, Hugging Face's config.json. Missing switches get its defaults. Refused, with
// the name (bad_file, not_supported): a missing size, a field of another type, two fields that
// contradict, another model_type, an unknown activation, cross attention.
Status parse_hf_config(const std::string& json, SourceConfig* config);

// Reads a folder's config.json, and adds it to the checkpoint's files. Errors name it.
Status read_hf_config(const std::string& folder, Checkpoint* checkpoint);

// Accepts transformers' names of the two GELUs; nothing for others.
std::optional<Activation> activation_of_name(const std::string& name);

// Infers sizes that the checkpoint does not state. Uses the shapes of the token table, the position
// table and layer 0's mlp.c_fc, and the number of layers. Errors: bad_file if there is no token
// table.
Status infer_sizes(Checkpoint* checkpoint);

// Sets config.tied, if unset: compares a separate head with the token table, to the bit. Reads
// both. Errors: as read().
Status infer_tied(Checkpoint* checkpoint);

// Compares two tensors to the bit. Holds both in memory.
Status same_numbers(Checkpoint* checkpoint, size_t a, size_t b, bool* same);

}  // namespace minigpt::convert
