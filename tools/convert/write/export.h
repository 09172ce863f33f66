// The way back: a model as a Hugging Face folder.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "convert/convert.h"

namespace minigpt::convert {

// Whether -o asks for that: OUT.safetensors; where the source is a weight file a folder, too: one
// that is there, or a name that ends in / or has no ending (with --type, that is a weight file).
// `path`: the file to write then.
bool is_export(const Options& options, const std::string& source_format, std::string* path);

// Writes `path`, and config.json and the vocabulary's files beside it. Numbers are written as the
// checkpoint has them, f32, f16 or bf16; matrices as Conv1D has them. A folder that is not there
// is made. All appear only when the last is complete.
//
// Refused: files there of these names with another content, unless options.force; files there
// that would be read with the new ones; NaN and infinities, unless options.force.
Failure export_folder(const Options& options, const std::string& path, Checkpoint* checkpoint,
                      const std::function<void(uint64_t, uint64_t)>& on_progress, Report* report);

// The texts that lie beside the weights in a Hugging Face folder.
using TextFiles = std::map<std::string, std::string>;  // by name

// config.json, and vocab.json, merges.txt, added_tokens.json as far as the vocabulary has them.
// What comes of reading them again is the same vocabulary.
//
// Errors: not_supported: a vocabulary that such files cannot spell.
Status make_text_files(const Plan& plan, const Vocabulary& vocabulary, const TokenizerSpec& spec,
                       TextFiles* files);

}  // namespace minigpt::convert
