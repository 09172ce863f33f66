// Vocabularies that are listed without their merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {

// A byte-level BPE vocabulary from its tokens alone, as llm.c's tokenizer files and ggml's models
// have them. Merges were made one after the other, a token each, so ids in order give the ranks,
// and the token's bytes under the merges before it are the two parts that its own merge joins.
//
//   source   for messages
//   tokens   by id, the tokens' own bytes
//   special  a token that no text becomes, such as <|endoftext|>. So are, without being named,
//            tokens like <this> or [this] that do not come out as two parts
//
// Tokens that do not have all 256 bytes and are one character each are a character vocabulary.
//
// Errors: bad_file with the id: a token that is empty, there twice, of over 256 bytes, or not two
// parts.
Status recover_vocabulary(const std::string& source, const std::vector<std::string>& tokens,
                          std::optional<uint64_t> special, Vocabulary* vocabulary);

}  // namespace minigpt::convert
