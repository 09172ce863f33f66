// A model's vocabulary: from the files that it comes in to build_tokenizer's arrays.
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
    // Listed as added to the vocabulary: `text` is the token's own bytes, not their byte-encoder
    // spelling, and plain text never becomes it.
    bool added = false;
};

struct RawMerge {
    std::string left, right;  // in byte-encoder spelling
    size_t line = 0;          // where it stands, for messages
};

struct RawVocabulary {
    std::string source;  // the files' names
    std::vector<RawToken> tokens;
    std::string merges_source;  // empty: there are no merges, not even an empty list
    std::vector<RawMerge> merges;
    // Named where the tokenizer splits no text before it merges, which byte-level BPE must.
    std::string unsplit;
    // There is no list of tokens: ids follow from the merges as GPT-2's do, 256 bytes in the
    // byte-encoder's order, a token for each merge, <|endoftext|>.
    bool only_merges = false;
};

// Tables that own what a TokenizerSpec points to. Kind none: the model has ids only.
struct Vocabulary {
    TokenizerKind kind = TokenizerKind::none;
    std::string source;
    std::vector<std::string> files;  // the paths of what it was read from, or may have been
    bool only_merges = false;        // as RawVocabulary's
    std::string bytes;
    std::vector<uint64_t> offsets;  // [n_tokens + 1]
    std::vector<Merge> merges;
    std::vector<int32_t> specials;
    int32_t end_of_text = -1;  // the id of <|endoftext|>

    size_t n_tokens() const { return offsets.empty() ? 0 : offsets.size() - 1; }

    // eos: the token that the configuration names, if it is a special one; else <|endoftext|>.
    TokenizerSpec spec(std::optional<uint64_t> eos) const;
};

// GPT-2's byte-encoder: every byte has a printable character. false where the text has a
// character that stands for no byte.
bool decode_bytes(const std::string& text, std::string* bytes);
std::string encode_byte(unsigned char byte);

// <unk>, [PAD], <|endoftext|>: a token that no text is spelled with, by its looks.
bool looks_special(const std::string& text);

// Checks that ids are 0 ... n - 1, each once, and resolves merges. Tokens of one character and no
// merges make a character vocabulary, else it is byte-level BPE.
//
// Errors (bad_file): a hole, an id or a text twice, a merge of what is no token (with its line), a
// token that no merge makes, though it is not added and does not look special.
Status finish_vocabulary(RawVocabulary raw, Vocabulary* vocabulary);

// Texts to RawVocabulary; vocabulary_text.cpp.
Status parse_vocab_json(const std::string& text, bool added, RawVocabulary* raw);
Status parse_merges(const std::string& text, RawVocabulary* raw);
// only_added: leaves the vocabulary and the merges aside. A setting that would give other ids than
// GPT-2's tokenizer is refused (not_supported).
Status parse_tokenizer_json(const std::string& text, bool only_added, RawVocabulary* raw);
// {'stoi': {character: id}, 'itos': {id: character} or [character]}, either or both; kind none
// where there is neither. Errors (bad_file): ids that disagree, what is no text.
Status read_pickled_vocabulary(const Pickle& pickle, PickleValue root, const std::string& source,
                               Vocabulary* vocabulary);
// A meta.pkl, as nanoGPT's character data sets have it.
Status parse_meta_pickle(const std::string& bytes, const std::string& source,
                         Vocabulary* vocabulary);
// Whether a JSON text is a tokenizer.json, and not a vocab.json: its first value is no number.
bool is_tokenizer_json(const std::string& text);

// GPT-2's own 50,257 tokens, from the merges linked into the program.
Status gpt2_vocabulary(Vocabulary* vocabulary);
// Whether these are the first of GPT-2's merges, and not all.
bool is_cut_gpt2(const std::vector<RawMerge>& merges);

// The files in a folder that a vocabulary may be read from.
std::vector<std::string> vocabulary_files(const std::string& folder);

// The vocabulary that lies in a folder: vocab.json or encoder.json with merges.txt or vocab.bpe and
// added_tokens.json, else tokenizer.json, else merges alone, else meta.pkl. Kind none where there
// is nothing. Errors name the file.
Status find_vocabulary(const std::string& folder, Vocabulary* vocabulary);

// The vocabulary that a user names: a folder, or one of those files. Nothing there is an error.
Status load_vocabulary(const std::string& path, Vocabulary* vocabulary);

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

// Whether a file's content is llm.c's vocabulary.
bool is_llmc_tokenizer(const std::string& bytes);

// Reads a vocabulary file. Its merges are recovered.
//
// Errors: bad_file: a file that is cut off or too long, and what recover_vocabulary refuses;
// not_supported: another version. Each begins with `name`.
Status load_llmc_tokenizer(const std::string& name, const std::string& bytes,
                           Vocabulary* vocabulary);

}  // namespace minigpt::convert
