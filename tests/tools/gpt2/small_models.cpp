#include "tests/tools/gpt2/small_models.h"

#include <doctest/doctest.h>

#include <vector>

#include "minigpt/tokenizer.h"
#include "tests/model/random_model.h"

namespace minigpt::test {
namespace {

struct Words {
    std::vector<std::string> tokens;
    std::vector<Merge> merges;
    std::vector<int32_t> specials;
    TokenizerKind kind = TokenizerKind::none;
};

Words words_of(Vocabulary vocabulary) {
    Words words;
    if (vocabulary == Vocabulary::bytes) {
        words.kind = TokenizerKind::bpe;
        for (int byte = 0; byte < 256; byte++)
            words.tokens.push_back(std::string(1, static_cast<char>(byte)));
        for (const char* token : {"he", "ll", "<|endoftext|>"})
            words.tokens.push_back(token);
        words.merges = {{'h', 'e', 256}, {'l', 'l', 257}};
        words.specials = {kEos};
    } else if (vocabulary == Vocabulary::letters) {
        words.kind = TokenizerKind::chars;
        for (char c = 'a'; c <= 'z'; c++)
            words.tokens.push_back(std::string(1, c));
        words.tokens.push_back(" ");
        words.tokens.push_back("\n");
    }
    return words;
}

// 8-byte aligned; *n_bytes of it count.
std::vector<uint64_t> build(const Words& words, size_t* n_bytes) {
    std::vector<uint64_t> offsets(1, 0);
    std::string bytes;
    for (const std::string& token : words.tokens) {
        bytes += token;
        offsets.push_back(bytes.size());
    }
    TokenizerSpec spec;
    spec.kind = words.kind;
    spec.n_tokens = words.tokens.size();
    spec.offsets = offsets.data();
    spec.bytes = bytes.data();
    spec.merges = words.merges.data();
    spec.n_merges = words.merges.size();
    spec.specials = words.specials.data();
    spec.n_specials = words.specials.size();
    spec.eos = words.specials.empty() ? -1 : words.specials[0];
    Status status = tokenizer_bytes(spec, n_bytes);
    CAPTURE(status.message());
    REQUIRE(status.ok());
    std::vector<uint64_t> tables((*n_bytes + 7) / 8);
    REQUIRE(build_tokenizer(spec, tables.data(), *n_bytes).ok());
    return tables;
}

}  // namespace

void write_small_model(const std::string& path, Vocabulary vocabulary) {
    Words words = words_of(vocabulary);
    Config config;
    config.n_vocab =
        words.kind == TokenizerKind::none ? 28 : static_cast<uint32_t>(words.tokens.size());
    config.n_rows = config.n_vocab + (words.kind == TokenizerKind::none ? 4 : 0);
    config.n_ctx = kContext;
    config.n_embd = 24;
    config.n_head = 2;
    config.n_layer = 2;
    config.n_ff = 40;
    config.tied = words.kind != TokenizerKind::none;

    WriterOptions options;
    std::vector<uint64_t> tables;
    if (words.kind != TokenizerKind::none) {
        tables = build(words, &options.tokenizer_bytes);
        options.tokenizer = tables.data();
    }
    options.source_format = "a test";
    options.source_name = "small\nmodel";
    options.converter = "tests";
    Arrays arrays = random_arrays(config, 7);
    Writer writer;
    REQUIRE(writer.open(path.c_str(), config, options).ok());
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        REQUIRE(writer.add(spec.name, view_of(spec, arrays.at(spec.name))).ok());
    }
    REQUIRE(writer.finish().ok());
}

}  // namespace minigpt::test
