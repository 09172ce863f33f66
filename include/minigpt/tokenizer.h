// Text to token ids and back: GPT-2's byte-level BPE, and character vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "minigpt/status.h"

namespace minigpt {

class Model;

enum class TokenizerKind : uint32_t { none = 0, bpe = 1, chars = 2 };

// Two neighbouring tokens that become one. Of all pairs in a word the one of lowest rank (its
// index in the list) is merged first, all its occurrences from left to right.
struct Merge {
    int32_t left, right, merged;
};

// A vocabulary in a caller's arrays.
struct TokenizerSpec {
    TokenizerKind kind = TokenizerKind::none;
    size_t n_tokens = 0;  // = Config::n_vocab
    const uint64_t* offsets =
        nullptr;                  // [n_tokens + 1]: token i is bytes[offsets[i] ... offsets[i + 1])
    const char* bytes = nullptr;  // the tokens' own bytes, not their byte-encoder spelling
    const Merge* merges = nullptr;  // [n_merges], by rank; bpe only
    size_t n_merges = 0;
    const int32_t* specials = nullptr;  // [n_specials]: tokens that plain text never becomes
    size_t n_specials = 0;
    int32_t eos = -1;  // <|endoftext|>; -1: none
};

// Turns a vocabulary into the tables that a weight file carries and Tokenizer reads in place.
// out: 8-byte aligned, tokenizer_bytes() long. Allocates scratch.
//
// Errors, with the token's id: bad_argument (a byte of a BPE vocabulary without a token, two
// tokens of one spelling, an empty token, a merge of ids outside, listed twice, or whose bytes do
// not join, a character token that is not one UTF-8 character, an eos or special token outside, a
// special token of over 1024 bytes), out_of_memory, not_supported (tokens made to collide).
// Kind none takes no bytes and nothing is written.
Status tokenizer_bytes(const TokenizerSpec& spec, size_t* bytes);
Status build_tokenizer(const TokenizerSpec& spec, void* out, size_t bytes);

// What becomes of tokens like <|endoftext|> that stand in a text.
enum class SpecialTokens : uint32_t {
    as_text,  // they are plain text
    parse,    // they become those tokens
};

// A vocabulary, read in place. Cheap to open and to copy; safe from any thread.
class Tokenizer {
public:
    Tokenizer() = default;

    // kind() is none where the model has no vocabulary. Errors: bad_file.
    Status open(const Model& model);
    // Tables made by build_tokenizer, 8-byte aligned. They must stay. Of 0 bytes: kind none.
    // Errors: bad_file, bad_argument.
    Status open(const void* tables, size_t bytes);

    TokenizerKind kind() const { return kind_; }
    size_t n_tokens() const { return n_tokens_; }
    int32_t eos() const { return eos_; }  // -1: none
    bool is_special(int32_t id) const;

    // The token's bytes, in place (not NUL-terminated); empty for an id outside.
    std::string_view token(int32_t id) const;

    // How many merges there are (0 but in bpe), and all of them, by rank.
    //
    //   merges  [n_merges()]  out
    //
    // Errors: bad_file (tables with a rank outside or twice, or an id outside).
    size_t n_merges() const;
    Status merges(Merge* merges) const;

    // The id whose bytes are these, special or not; -1: none.
    int32_t find(std::string_view bytes) const;

    // Any bytes, valid UTF-8 or not, NUL included; joining the tokens' bytes gives them back. To
    // GPT-2's pattern a byte that is no part of a UTF-8 character is a character of its own,
    // neither letter, number nor white space.
    //
    //   ids    [capacity]  out; as many as the text has bytes always suffice
    //   n_ids  out
    //
    // n log n in the longest word. A word past 256 bytes allocates 40 bytes a byte while it is
    // encoded; nothing else allocates. Errors: not_supported (no vocabulary), bad_text (a character
    // that a character vocabulary lacks, with its byte offset), bad_argument (capacity, a null
    // pointer), out_of_memory, bad_file (tables that lead outside themselves). On error *n_ids is 0
    // and ids are unspecified.
    Status encode(std::string_view text, int32_t* ids, size_t capacity, size_t* n_ids,
                  SpecialTokens special = SpecialTokens::as_text) const;

private:
    // Pointers into the tables; see models/FORMAT.md.
    TokenizerKind kind_ = TokenizerKind::none;
    size_t n_tokens_ = 0;
    int32_t eos_ = -1;
    const unsigned char* tables_ = nullptr;
};

// Joins the bytes of tokens into whole UTF-8 characters: a character that is split over tokens
// comes out with its last byte; bytes that cannot begin or go on a character come out as they
// are. Loses and changes nothing. Holds at most 3 bytes.
class Utf8Stream {
public:
    // out: [bytes.size() + 3]. Returns how many bytes were written.
    size_t push(std::string_view bytes, char* out);
    // What is held back, whole or not. out: [3].
    size_t flush(char* out);

private:
    char held_[3];
    unsigned char n_held_ = 0;
};

}  // namespace minigpt
