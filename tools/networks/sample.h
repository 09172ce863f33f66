// Generates text with a network during training.
#pragma once

#include <cstdint>
#include <string>

#include "networks/corpus.h"
#include "networks/network.h"

namespace minigpt::networks {

// Generates n_new tokens after `prompt`, at temperature 1, with one draw of the seed's generator
// each. Ends early before `stop`, if that is not empty, and when is_interrupted() is true. Errors:
// bad_text (a character outside the vocabulary, or an empty prompt).
Status sample_text(Network& network, const Vocabulary& vocabulary, const std::string& prompt,
                   size_t n_new, uint64_t seed, const std::string& stop, std::string* text,
                   bool (*is_interrupted)() = nullptr);

}  // namespace minigpt::networks
