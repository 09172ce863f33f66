// Text from a network that is being trained.
#pragma once

#include <cstdint>
#include <string>

#include "networks/corpus.h"
#include "networks/network.h"

namespace minigpt::networks {

// n_new tokens after `prompt`, at temperature 1, one draw of the seed's generator each; ends early
// before `stop`, if that is not empty, and as soon as is_interrupted() says so. Errors: bad_text (a
// character that the vocabulary lacks, or an empty prompt).
Status sample_text(Network& network, const Vocabulary& vocabulary, const std::string& prompt,
                   size_t n_new, uint64_t seed, const std::string& stop, std::string* text,
                   bool (*is_interrupted)() = nullptr);

}  // namespace minigpt::networks
