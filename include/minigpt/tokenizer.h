// Text to token ids and back: GPT-2's byte-level BPE, and character vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "minigpt/status.h"

namespace minigpt {

class Model;

enum class TokenizerKind : uint32_t { none = 0, bpe = 1, chars = 2 };

// Two neighbouring tokens that become one. A merge's rank is its index in the list. The pair with
// the lowest rank in a word is merged first, all its occurrences from left to right.
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

// build_tokenizer turns a vocabulary into the tables that a weight file carries and that Tokenizer
// reads in place. out: 8-byte aligned, tokenizer_bytes() long. Allocates scratch. Kind none takes 0
// bytes and writes nothing.
//
// Errors, with the token's id:
//   bad_argument   in a BPE vocabulary a byte without a token; two tokens with the same bytes; an
//                  empty token; a merge with an id outside the vocabulary, listed twice, or whose
//                  bytes do not join; a character token that is not one UTF-8 character; an eos or
//                  special token outside the vocabulary; a special token of over 1024 bytes
//   out_of_memory
//   not_supported  tokens made to collide in the hash table
Status tokenizer_bytes(const TokenizerSpec& spec, size_t* bytes);
Status build_tokenizer(const TokenizerSpec& spec, void* out, size_t bytes);

// How encode() treats the spelling of special tokens, such as <|endoftext|>, in a text.
enum class SpecialTokens : uint32_t {
    as_text,  // as plain text
    parse,    // as the special tokens
};

// A vocabulary, read in place. Cheap to open and to copy; safe from any thread.
class Tokenizer {
public:
    Tokenizer() = default;

    // kind() is none if the model has no vocabulary. Errors: bad_file.
    Status open(const Model& model);
    // Tables made by build_tokenizer, 8-byte aligned; they must outlive the tokenizer. 0 bytes give
    // kind none. Errors: bad_file, bad_argument.
    Status open(const void* tables, size_t bytes);

    TokenizerKind kind() const { return kind_; }
    size_t n_tokens() const { return n_tokens_; }
    int32_t eos() const { return eos_; }  // -1: none
    bool is_special(int32_t id) const;

    // The token's bytes, in place, not NUL-terminated. Empty for an id outside the vocabulary.
    std::string_view token(int32_t id) const;

    // The number of merges (0 except in bpe), and all merges, by rank.
    //
    //   merges  [n_merges()]  out
    //
    // Errors: bad_file (damaged tables: a rank outside or twice, or an id outside).
    size_t n_merges() const;
    Status merges(Merge* merges) const;

    // The id of the token with these bytes, special or not; -1: none.
    int32_t find(std::string_view bytes) const;

    // Encodes a text as token ids. Joining the tokens' bytes gives the text back. The text may be
    // any bytes: invalid UTF-8 and NUL are allowed. In GPT-2's pattern a byte that is not part of a
    // UTF-8 character counts as one character that is no letter, number or white space.
    //
    //   ids    [capacity]  out; text.size() is always enough
    //   n_ids  out
    //
    // Takes n log n time in the longest word. Allocates only for a word of more than 256 bytes: 40
    // bytes for each of its bytes, while it is encoded.
    //
    // Errors: not_supported (no vocabulary), bad_text (a character that a character vocabulary does
    // not have, with its byte offset), bad_argument (capacity, a null pointer), out_of_memory,
    // bad_file (damaged tables). On error *n_ids is 0 and ids are unspecified.
    Status encode(std::string_view text, int32_t* ids, size_t capacity, size_t* n_ids,
                  SpecialTokens special = SpecialTokens::as_text) const;

private:
    // Pointers into the tables; see models/FORMAT.md.
    TokenizerKind kind_ = TokenizerKind::none;
    size_t n_tokens_ = 0;
    int32_t eos_ = -1;
    const unsigned char* tables_ = nullptr;
};

// Joins the bytes of tokens into whole UTF-8 characters. A character that is split over several
// tokens comes out with its last byte. Bytes that are not UTF-8 come out as they are. No byte is
// lost or changed. Holds at most 3 bytes.
class Utf8Stream {
public:
    // out: [bytes.size() + 3]. Returns how many bytes were written.
    size_t push(std::string_view bytes, char* out);
    // Writes the bytes that are held back, even if they are not a whole character. out: [3].
    // Returns how many.
    size_t flush(char* out);

private:
    char held_[3];
    unsigned char n_held_ = 0;
};

}  // namespace minigpt
