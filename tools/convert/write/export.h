// Export: writes a model as a Hugging Face folder.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "convert/convert.h"

namespace minigpt::convert {

// Whether -o asks for an export: OUT.safetensors, or, if the source is a weight file, a folder. A
// name is a folder if one exists there, or if it ends in / or has no ending (with --type, that is a
// weight file). `path`: the file to write then.
bool is_export(const Options& options, const std::string& source_format, std::string* path);

// Writes `path`, with config.json and the vocabulary's files beside it. Numbers keep the
// checkpoint's type: f32, f16 or bf16. Matrices are stored as in Conv1D. A missing folder is
// created. All files appear only when the last is complete.
//
// Refused unless options.force: an existing file with one of these names and other contents; NaN
// and infinities. Always refused: other existing files that would be read together with the new
// ones.
Failure export_folder(const Options& options, const std::string& path, Checkpoint* checkpoint,
                      const std::function<void(uint64_t, uint64_t)>& on_progress, Report* report);

// The text files beside the weights in a Hugging Face folder.
using TextFiles = std::map<std::string, std::string>;  // by name

// config.json, and those of vocab.json, merges.txt and added_tokens.json that the vocabulary needs.
// Reading them again gives the same vocabulary.
//
// Errors: not_supported: such files cannot express this vocabulary.
Status make_text_files(const Plan& plan, const Vocabulary& vocabulary, const TokenizerSpec& spec,
                       TextFiles* files);

}  // namespace minigpt::convert
