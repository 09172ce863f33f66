// Reads a model's vocabulary from its files into build_tokenizer's arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert/codecs/pickle.h"
#include "minigpt/status.h"
#include "minigpt/tokenizer.h"

namespace minigpt::convert {

// A token as a file lists it.
struct RawToken {
    std::string text;
    uint64_t id = 0;
    // Listed as added to the vocabulary. Then `text` is the token's own bytes, not their
    // byte-encoder spelling, and plain text never becomes this token.
    bool added = false;
};

struct RawMerge {
    std::string left, right;  // in byte-encoder spelling
    size_t line = 0;          // its line in the file, for messages
};

struct RawVocabulary {
    std::string source;  // the files' names
    std::vector<RawToken> tokens;
    std::string merges_source;  // empty: there are no merges, not even an empty list
    std::vector<RawMerge> merges;
    // Set if the tokenizer does not split text before merging, which byte-level BPE must do.
    std::string unsplit;
    // There is no list of tokens. Ids follow from the merges as in GPT-2: 256 bytes in the
    // byte-encoder's order, a token for each merge, <|endoftext|>.
    bool only_merges = false;
};

// Owns the arrays that a TokenizerSpec points to. With kind none, the model has only ids.
struct Vocabulary {
    TokenizerKind kind = TokenizerKind::none;
    std::string source;
    std::vector<std::string> files;  // the paths it was read from, or may have been read from
    bool only_merges = false;        // see RawVocabulary
    std::string bytes;
    std::vector<uint64_t> offsets;  // [n_tokens + 1]
    std::vector<Merge> merges;
    std::vector<int32_t> specials;
    int32_t end_of_text = -1;  // the id of <|endoftext|>

    size_t n_tokens() const { return offsets.empty() ? 0 : offsets.size() - 1; }

    // eos: the configuration's token if it is a special one, else <|endoftext|>.
    TokenizerSpec spec(std::optional<uint64_t> eos) const;
};

// GPT-2's byte-encoder, which spells every byte as a printable character. Returns false if the text
// has a character that stands for no byte.
bool decode_bytes(const std::string& text, std::string* bytes);
std::string encode_byte(unsigned char byte);

// Whether a token looks special, like <unk>, [PAD] or <|endoftext|>: no text is spelled with it.
bool looks_special(const std::string& text);

// Checks that ids are 0 ... n - 1, each once, and resolves merges. If all tokens have one character
// and there are no merges, it is a character vocabulary, else byte-level BPE.
//
// Errors (bad_file): a missing id; an id or a text twice; a merge with a part or a result that is
// no token (with its line); a token that no merge makes, unless it is added or looks special.
Status finish_vocabulary(RawVocabulary raw, Vocabulary* vocabulary);

// Texts to RawVocabulary; vocabulary_text.cpp.
Status parse_vocab_json(const std::string& text, bool added, RawVocabulary* raw);
Status parse_merges(const std::string& text, RawVocabulary* raw);
// only_added: ignores the vocabulary and the merges. A setting that would give other ids than
// GPT-2's tokenizer is refused (not_supported).
Status parse_tokenizer_json(const std::string& text, bool only_added, RawVocabulary* raw);
// Reads {'stoi': {character: id}, 'itos': {id: character} or [character]}, either or both. Kind
// none if there is neither. Errors (bad_file): ids that disagree, values that are not text.
Status read_pickled_vocabulary(const Pickle& pickle, PickleValue root, const std::string& source,
                               Vocabulary* vocabulary);
// Reads a meta.pkl of nanoGPT's character data sets.
Status parse_meta_pickle(const std::string& bytes, const std::string& source,
                         Vocabulary* vocabulary);
// Whether a JSON text is a tokenizer.json and not a vocab.json: its first value is not a number.
bool is_tokenizer_json(const std::string& text);

// GPT-2's own 50,257 tokens, from the merges linked into the program.
Status gpt2_vocabulary(Vocabulary* vocabulary);
// Whether these are the first merges of GPT-2, but not all.
bool is_cut_gpt2(const std::vector<RawMerge>& merges);

// The files in a folder from which a vocabulary may be read.
std::vector<std::string> vocabulary_files(const std::string& folder);

// Reads the vocabulary in a folder. In order of preference: vocab.json or encoder.json with
// merges.txt or vocab.bpe and added_tokens.json; tokenizer.json; merges without a vocabulary;
// meta.pkl. Kind none if there is none of these. Errors name the file.
Status find_vocabulary(const std::string& folder, Vocabulary* vocabulary);

// Reads the vocabulary that the user names: a folder, or one of those files. It must exist.
Status load_vocabulary(const std::string& path, Vocabulary* vocabulary);

// Recovers a byte-level BPE vocabulary from its tokens. llm.c's tokenizer files and ggml's models
// have no merges. Merges were learnt one after the other, each giving a token, so the order of ids
// gives the ranks. Encoding a token's bytes with the merges before it gives two parts: those that
// its own merge joins.
//
//   source   for messages
//   tokens   by id, the tokens' own bytes
//   special  a token that text never becomes, such as <|endoftext|>. Tokens like <this> or [this]
//            that do not come out as two parts are also special, without being named
//
// If some of the 256 bytes have no token and each token is one character, it is a character
// vocabulary.
//
// Errors: bad_file with the id: a token that is empty, listed twice, longer than 256 bytes, or does
// not come out as two parts.
Status recover_vocabulary(const std::string& source, const std::vector<std::string>& tokens,
                          std::optional<uint64_t> special, Vocabulary* vocabulary);

// Whether these are the contents of an llm.c vocabulary file.
bool is_llmc_tokenizer(const std::string& bytes);

// Reads an llm.c vocabulary file and recovers its merges.
//
// Errors: bad_file: a file that is cut off or too long, and the errors of recover_vocabulary;
// not_supported: another version. Each message begins with `name`.
Status load_llmc_tokenizer(const std::string& name, const std::string& bytes,
                           Vocabulary* vocabulary);

}  // namespace minigpt::convert
