// A text as token ids, divided into a part to train on and a part held back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minigpt/status.h"
#include "minigpt/tokenizer.h"

namespace minigpt::networks {

// A vocabulary that owns its tables. It can be moved cheaply, but not copied.
class Vocabulary {
public:
    Vocabulary() = default;
    Vocabulary(Vocabulary&&) = default;
    Vocabulary& operator=(Vocabulary&&) = default;

    // The vocabulary of a text's characters, in the order of their code points. Errors: bad_text
    // (not UTF-8, with the byte's offset; fewer than two characters).
    Status of_characters(const std::string& text);
    // Takes tables from a weight file. Errors: as Tokenizer::open, not_supported (no tables).
    Status of_tables(const void* tables, size_t bytes);

    const Tokenizer& tokenizer() const { return tokenizer_; }
    size_t n_tokens() const { return tokenizer_.n_tokens(); }
    const void* tables() const { return tables_.data(); }
    size_t bytes() const { return n_bytes_; }

    // Errors: bad_text (a character outside the vocabulary, with its byte's offset).
    Status encode(const std::string& text, std::vector<int32_t>* ids) const;
    std::string decode(const std::vector<int32_t>& ids) const;

private:
    std::vector<uint64_t> tables_;
    size_t n_bytes_ = 0;
    Tokenizer tokenizer_;
};

struct Corpus {
    Vocabulary vocabulary;
    std::vector<int32_t> ids;
    size_t n_train = 0;  // the first ids, to train on; the rest is held back
    size_t n_bytes = 0;  // of the text

    size_t n_val() const { return ids.size() - n_train; }
};

// Makes a corpus with the text's own characters as vocabulary. `val` in [0, 1): the share of its
// tokens that is held back. Errors: as Vocabulary::of_characters.
Status make_corpus(const std::string& text, double val, Corpus* corpus);
// The same with an existing vocabulary. Errors: as Vocabulary::encode.
Status make_corpus(const std::string& text, double val, Vocabulary vocabulary, Corpus* corpus);

}  // namespace minigpt::networks
