// Models of the published sizes, made up: a benchmark does not ask what the weights say.
#include <cstring>
#include <vector>

#include "bench/bench.h"
#include "common/error.h"
#include "minigpt/tokenizer.h"
#include "minigpt/writer.h"

namespace minigpt::benchmarks {
namespace {

struct Size {
    const char* name;
    uint32_t n_layer, n_embd, n_head;
};

// Radford et al. 2019, table 2, and Hugging Face's distilgpt2; tiny is for tests.
const Size kSizes[] = {
    {"tiny", 1, 32, 2},     {"distil", 6, 768, 12}, {"124M", 12, 768, 12},
    {"355M", 24, 1024, 16}, {"774M", 36, 1280, 20}, {"1558M", 48, 1600, 25},
};

constexpr uint32_t kTokens = 50257;

Config config_of(const std::string& size) {
    std::string known;
    for (const Size& each : kSizes) {
        if (size == each.name) {
            Config config;
            config.n_vocab = config.n_rows = kTokens;
            config.n_ctx = 1024;
            config.n_embd = each.n_embd;
            config.n_head = each.n_head;
            config.n_layer = each.n_layer;
            config.n_ff = 4 * each.n_embd;
            return config;
        }
        known += std::string(known.empty() ? "" : ", ") + each.name;
    }
    tools::misuse("%s: no such size, expected one of %s", size.c_str(), known.c_str());
}

// 256 bytes, pairs of them in order, <|endoftext|>.
std::vector<uint64_t> make_tokenizer(size_t* n_bytes) {
    const std::string eos = "<|endoftext|>";
    std::string bytes;
    std::vector<uint64_t> offsets = {0};
    std::vector<Merge> merges;
    for (int32_t i = 0; i < static_cast<int32_t>(kTokens); i++) {
        if (i < 256) {
            bytes += static_cast<char>(i);
        } else if (i + 1 == static_cast<int32_t>(kTokens)) {
            bytes += eos;
        } else {
            int32_t left = (i - 256) / 256, right = (i - 256) % 256;
            bytes += static_cast<char>(left);
            bytes += static_cast<char>(right);
            merges.push_back({left, right, i});
        }
        offsets.push_back(bytes.size());
    }
    int32_t last = static_cast<int32_t>(kTokens) - 1;
    TokenizerSpec spec;
    spec.kind = TokenizerKind::bpe;
    spec.n_tokens = kTokens;
    spec.offsets = offsets.data();
    spec.bytes = bytes.data();
    spec.merges = merges.data();
    spec.n_merges = merges.size();
    spec.specials = &last;
    spec.n_specials = 1;
    spec.eos = last;
    tools::require(tokenizer_bytes(spec, n_bytes), "vocabulary");
    std::vector<uint64_t> tables((*n_bytes + 7) / 8);
    tools::require(build_tokenizer(spec, tables.data(), *n_bytes), "vocabulary");
    return tables;
}

// xorshift32, Marsaglia 2003: uniform in [-1, 1).
struct Noise {
    uint32_t state = 2463534242u;
    float next() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    }
};

// GPT-2 starts from a standard deviation of 0.02; gains are 1.
void fill(std::vector<float>* x, const TensorSpec& spec, Noise* noise) {
    bool is_gain = spec.n_dims == 1 && strstr(spec.name, ".weight") != nullptr;
    x->resize(spec.shape[0] * spec.shape[1]);
    for (float& each : *x)
        each = noise->next() * 0.035f + (is_gain ? 1 : 0);
}

}  // namespace

void make_model(const std::string& size, ElementType type, const std::string& path) {
    Config config = config_of(size);
    WriterOptions options;
    std::vector<uint64_t> tables = make_tokenizer(&options.tokenizer_bytes);
    options.type = type;
    options.tokenizer = tables.data();
    options.source_format = "random";
    options.source_name = size.c_str();
    options.converter = "bench make-model";
    Writer writer;
    tools::require(writer.open(path.c_str(), config, options), path);
    Noise noise;
    std::vector<float> array;
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        fill(&array, spec, &noise);
        ArrayView view = spec.n_dims == 1
                             ? ArrayView::vector(array.data(), spec.shape[0])
                             : ArrayView::matrix(array.data(), spec.shape[0], spec.shape[1]);
        tools::require(writer.add(spec.name, view), path);
    }
    tools::require(writer.finish(), path);
}

}  // namespace minigpt::benchmarks
