// Hugging Face's config.json.
#pragma once

#include <string>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// Reads a GPT2Config. Switches that are absent have its defaults; a size that is absent, a field
// of another type, two fields that contradict, another model_type, an unknown activation and
// cross attention are refused by name (bad_file, not_supported).
Status parse_hf_config(const std::string& json, SourceConfig* config);

// Reads a folder's config.json, and adds it to the checkpoint's files. Errors name it.
Status read_hf_config(const std::string& folder, Checkpoint* checkpoint);

// transformers' names of the two GELUs; nothing for others.
std::optional<Activation> activation_of_name(const std::string& name);

}  // namespace minigpt::convert
