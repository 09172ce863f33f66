// Hugging Face's config.json.
#pragma once

#include <string>

#include "checkpoint.h"

namespace minigpt::convert {

// Reads a GPT2Config. Switches that are absent have its defaults; a size that is absent, a field
// of another type, two fields that contradict, another model_type, an unknown activation and
// cross attention are refused by name (bad_file, not_supported).
Status parse_hf_config(const std::string& json, SourceConfig* config);

}  // namespace minigpt::convert
