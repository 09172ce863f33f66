// GPT-2's tokenizer, made from its merges alone; and small vocabularies for tests.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "minigpt/tokenizer.h"

// A vocabulary that grows token by token, the tables built from it, and the tokenizer on them.
struct Vocabulary {
    minigpt::TokenizerKind kind = minigpt::TokenizerKind::bpe;
    std::string bytes;
    std::vector<uint64_t> offsets = {0};
    std::vector<minigpt::Merge> merges;
    std::vector<int32_t> specials;
    int32_t eos = -1;
    std::unordered_map<std::string, int32_t> ids;
    std::vector<uint64_t> tables;  // uint64_t: 8-byte aligned

    int32_t add(const std::string& token);
    void add_bytes();  // all 256, in the byte-encoder's order
    // Adds the pair's token where it is new.
    int32_t merge(const std::string& left, const std::string& right);
    int32_t add_special(const std::string& token);

    minigpt::TokenizerSpec spec() const;
    minigpt::Status build(minigpt::Tokenizer* tokenizer);
};

// From models/gpt2-merges.txt; built once.
Vocabulary& gpt2_vocabulary();
const minigpt::Tokenizer& gpt2_tokenizer();

std::vector<int32_t> encode(const minigpt::Tokenizer& tokenizer, const std::string& text,
                            minigpt::SpecialTokens special = minigpt::SpecialTokens::as_text);
std::string decode(const minigpt::Tokenizer& tokenizer, const std::vector<int32_t>& ids);

// A file of ../shared/data or $MINIGPT_DATA; false (and says so, once) where there is none.
bool read_outside(const std::string& name, std::string* text);
std::string read_file(const std::string& path);  // "" if there is none

// A small deterministic source of numbers for tests.
struct TestRandom {
    uint64_t state = 1;
    uint32_t next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(state >> 33);
    }
    uint32_t below(uint32_t n) { return next() % n; }
};
