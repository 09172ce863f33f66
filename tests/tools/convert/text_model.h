// A model with a vocabulary, to be written in every format; and comparisons of what comes of it.
#pragma once

#include <string>
#include <vector>

#include "tests/tools/convert/formats/torch_maker.h"

namespace minigpt::test {

// Two layers, 2 heads of 16, n_ff 256, n_ctx 6, 264 rows of which 261 are tokens: 256 bytes in
// the byte-encoder's order, four merges, <|endoftext|>. Rows are whole blocks of 32,
// and those of the MLP's projection of 256.
HfModel text_model(const std::string& dtype = "F32", bool tied = true);
std::vector<std::string> text_tokens();  // [261], spelled as vocab.json has them
std::vector<std::string> text_merges();  // "h e", ...
std::string bytes_of_token(const std::string& spelling);

// Two weight files have the same configuration, tensors and tokenizer, to the bit.
void check_same_models(const std::string& path_a, const std::string& path_b);

// Writes `file` beside nothing, converts it, and compares the outcome with the model's as a Hugging
// Face folder; the report. `also`: files to lie beside it.
convert::Report check_as_hf(const std::string& file, const HfModel& model,
                            const std::map<std::string, std::string>& also = {});

// Little-endian numbers.
std::string le16(uint64_t n);
std::string le32(uint64_t n);
std::string le64(uint64_t n);

// The file cut at each byte (at some, where there are very many) is refused; n_sound: how many last
// bytes may be missing.
void check_all_cut(const std::string& file, size_t n_sound = 0);

}  // namespace minigpt::test
