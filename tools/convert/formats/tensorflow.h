// TensorFlow's checkpoints, as OpenAI published GPT-2.
//
//     PREFIX.index                  a table (tensorflow_table.h) from names to places
//     PREFIX.data-00000-of-00002    the numbers, little-endian
//     hparams.json                  n_vocab, n_ctx, n_embd, n_head, n_layer
//     checkpoint                    names the latest PREFIX in the folder
#pragma once

#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// Opens PREFIX.index with all its shards. What an optimizer or a trainer keeps is left aside, with
// a note. read() holds each tensor against its checksum.
Status open_tensorflow(const std::string& path, const OpenOptions& options,
                       std::unique_ptr<Checkpoint>* checkpoint);

// The name of the index file that a folder's `checkpoint` gives as the latest; empty where it does
// not say. Errors: io, bad_file.
Status latest_tensorflow(const std::string& folder, std::string* name);

// hparams.json. Errors (bad_file): a size that is absent, zero or no number.
Status parse_hparams(const std::string& json, SourceConfig* config);

}  // namespace minigpt::convert
