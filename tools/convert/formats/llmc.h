// llm.c's files (train_gpt2.py's writers).
//
// A model:
//
//     i32[256]  20240326, version (1 f32, 3 f32, 5 bf16), n_ctx, n_vocab, n_layer, n_head, n_embd,
//               n_rows (3 and 5; in 1 the table has n_vocab), zeros
//     numbers   wte, wpe, then each kind of a layer's tensors for all layers together, then ln_f;
//               matrices [n_out, n_in]
//
// A vocabulary, gpt2_tokenizer.bin:
//
//     u32[256]  20240328, version (1, 2), n_tokens, the id of <|endoftext|> (2; in 1 50256), zeros
//     tokens    u8 length, bytes
#pragma once

#include <string>

#include "convert/checkpoint.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {

// Opens a model file, whose length must be the one that its header gives.
Status open_llmc(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint);

// Whether a file's content is llm.c's vocabulary.
bool is_llmc_tokenizer(const std::string& bytes);

// Reads a vocabulary file. Its merges are recovered (vocabulary_recover.h).
//
// Errors: bad_file: a file that is cut off or too long, and what recover_vocabulary refuses;
// not_supported: another version. Each begins with `name`.
Status load_llmc_tokenizer(const std::string& name, const std::string& bytes,
                           Vocabulary* vocabulary);

}  // namespace minigpt::convert
