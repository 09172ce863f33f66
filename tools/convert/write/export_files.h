// The texts that lie beside the weights in a Hugging Face folder.
#pragma once

#include <map>
#include <string>

#include "convert/plan.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {

using TextFiles = std::map<std::string, std::string>;  // by name

// config.json, and vocab.json, merges.txt, added_tokens.json as far as the vocabulary has them.
// What comes of reading them again is the same vocabulary.
//
// Errors: not_supported: a vocabulary that such files cannot spell.
Status make_text_files(const Plan& plan, const Vocabulary& vocabulary, const TokenizerSpec& spec,
                       TextFiles* files);

}  // namespace minigpt::convert
