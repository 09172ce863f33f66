// ggml's older files give the bits that Hugging Face's give, and their vocabulary its merges.
#include "convert/formats/readers.h"

#include <doctest/doctest.h>

#include <cstring>

#include "convert/vocabulary/vocabulary.h"
#include "tests/tools/convert/text_model.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// A file, to be changed before it is written.
struct GgmlMaker {
    std::vector<uint32_t> sizes;  // n_vocab, n_ctx, n_embd, n_head, n_layer, type
    std::vector<std::string> tokens;
    struct Tensor {
        std::string name;
        std::vector<uint64_t> dims;  // innermost first
        uint32_t type;
        std::string data;
    };
    std::vector<Tensor> tensors;

    Tensor& tensor(const std::string& name) {
        for (Tensor& t : tensors) {
            if (t.name == name)
                return t;
        }
        FAIL("no tensor " << name);
        return tensors[0];
    }
    std::string file() const {
        std::string bytes = "lmgg";
        for (uint32_t n : sizes)
            bytes += le32(n);
        bytes += le32(tokens.size());
        for (const std::string& token : tokens)
            bytes += le32(token.size()) + token;
        for (const Tensor& t : tensors) {
            bytes += le32(t.dims.size()) + le32(t.name.size()) + le32(t.type);
            for (uint64_t dim : t.dims)
                bytes += le32(dim);
            bytes += t.name + t.data;
        }
        return bytes;
    }
};

std::string ggml_name(std::string name) {
    bool is_norm = name.find("ln_") != std::string::npos;
    const std::pair<const char*, const char*> kNames[] = {
        {"h.", "h"},      {".weight", is_norm ? "/g" : "/w"},
        {".bias", "/b"},  {"wte/w", "wte"},
        {"wpe/w", "wpe"}, {"lm_head/w", "lm_head"}};
    for (const auto& [ours, theirs] : kNames) {
        size_t at = name.find(ours);
        if (at != std::string::npos)
            name.replace(at, strlen(ours), theirs);
    }
    for (char& c : name)
        c = c == '.' ? '/' : c;
    return "model/" + name;
}

// linear: all four matrices of a layer are turned, not only mlp/c_proj.
GgmlMaker ggml_of(const HfModel& model, bool linear = false) {
    const Config& c = model.config;
    GgmlMaker out;
    out.sizes = {c.n_rows, c.n_ctx, c.n_embd, c.n_head, c.n_layer, 1};
    for (const std::string& token : text_tokens())
        out.tokens.push_back(bytes_of_token(token));
    for (const SavedTensor& t : model.tensors) {
        bool in_layer = t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0;
        bool turned = in_layer && (linear || t.name.find("mlp.c_proj") != std::string::npos);
        SavedTensor saved = turned ? transposed(t) : t;
        std::vector<uint64_t> dims(saved.shape.rbegin(), saved.shape.rend());
        out.tensors.push_back({ggml_name(t.name), dims, t.dtype == "F16" ? 1u : 0u, saved.data});
    }
    return out;
}

Status recover(const std::vector<std::string>& tokens, std::optional<uint64_t> special = {}) {
    convert::Vocabulary vocabulary;
    return convert::recover_vocabulary("tokens", tokens, special, &vocabulary);
}

std::vector<std::string> with_bytes(const std::vector<std::string>& more) {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; b++)
        tokens.push_back(std::string(1, static_cast<char>(b)));
    tokens.insert(tokens.end(), more.begin(), more.end());
    return tokens;
}

}  // namespace

TEST_CASE("convert ggml: both orientations, types and heads give the same file") {
    for (const char* dtype : {"F32", "F16"}) {
        for (bool linear : {false, true}) {
            for (bool tied : {true, false}) {
                CAPTURE(dtype);
                CAPTURE(linear);
                HfModel model = text_model(dtype, tied);
                convert::Report report = check_as_hf(ggml_of(model, linear).file(), model);
                CHECK(report.source_format == "ggml");
                CHECK(report.plan.config.n_vocab == 261);
                CHECK(report.plan.config.tied == tied);
                CHECK(report.n_merges == 4);
            }
        }
    }
    HfModel model = text_model();
    GgmlMaker maker = ggml_of(model);
    maker.tensors.push_back(maker.tensor("model/wte"));
    maker.tensors.back().name = "model/lm_head";
    CHECK(check_as_hf(maker.file(), model).plan.config.tied);
}

TEST_CASE("convert ggml: a file that lies is refused") {
    auto spoilt = [](auto&& spoil) {
        GgmlMaker maker = ggml_of(text_model());
        spoil(&maker);
        return maker.file();
    };
    using M = GgmlMaker*;
    const char* qkv = "model/h0/attn/c_attn/w";
    for (size_t i = 0; i < 6; i++) {
        for (uint32_t bad : {0x80000000u, 0xffffffffu, 0x7fffffffu, 2u}) {
            if (i == 4 && bad == 2)
                continue;  // two layers are right
            if (i == 3 && bad == 2)
                continue;  // as are two heads
            check_torch_refused(spoilt([&](M m) { m->sizes[i] = bad; }), {});
        }
        if (i < 5)
            check_torch_refused(spoilt([&](M m) { m->sizes[i] = 0; }),
                                {"expected a number from 1"});
    }
    check_torch_refused(spoilt([](M m) { m->sizes[5] = 2002; }), {"quantized", "type is 2"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).type = 2; }), {qkv, "type is 2"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).type = 0xffffffff; }),
                        {qkv, "type is -1"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).dims = {1, 2, 3}; }), {"3 dimensions"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).dims = {}; }), {"0 dimensions"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).dims = {0, 9}; }), {qkv, "positive"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).dims = {0xffffffff, 9}; }), {"positive"});
    check_torch_refused(spoilt([&](M m) {
                            m->tensor(qkv).dims = {0x7fffffff, 0x7fffffff};
                        }),
                        {qkv, "the file has"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).dims = {95, 32}; }), {"model.pt"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).name = ""; }), {"a name of 0"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).name = std::string(200, 'x'); }),
                        {"a name of 200"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).name = "model/h1/attn/c_attn/w"; }),
                        {"twice"});
    check_torch_refused(spoilt([&](M m) { m->tensor(qkv).name = "model/h00/attn/c_attn/w"; }),
                        {"h.0.attn.c_attn.weight", "missing"});
    check_torch_refused(spoilt([](M m) { m->tokens.resize(300); }), {"300 tokens"});
    check_torch_refused(spoilt([](M m) { m->tokens[3] = std::string(70000, 'x'); }), {"token 3"});
    std::string file = ggml_of(text_model()).file();
    for (uint32_t count : {0xffffffffu, 0x7fffffffu, 0x10000u}) {
        for (size_t at : {28, 32}) {  // the tokens' count, the first one's length
            std::string bad = file;
            memcpy(&bad[at], &count, sizeof count);
            check_torch_refused(bad, {"model.pt"});
        }
    }
    check_all_cut(file);
}

TEST_CASE("convert recover: merges follow from GPT-2's own tokens") {
    convert::Vocabulary own, recovered;
    REQUIRE(convert::gpt2_vocabulary(&own).ok());
    REQUIRE(own.n_tokens() == 50257);
    std::vector<std::string> tokens;
    for (size_t i = 0; i < own.n_tokens(); i++) {
        size_t begin = static_cast<size_t>(own.offsets[i]);
        tokens.push_back(own.bytes.substr(begin, static_cast<size_t>(own.offsets[i + 1]) - begin));
    }
    for (std::optional<uint64_t> special :
         {std::optional<uint64_t>(), std::optional<uint64_t>(50256)}) {
        REQUIRE(convert::recover_vocabulary("tokens", tokens, special, &recovered).ok());
        CHECK(recovered.bytes == own.bytes);
        CHECK(recovered.specials == own.specials);
        CHECK(recovered.end_of_text == 50256);
        REQUIRE(recovered.merges.size() == own.merges.size());
        size_t n_different = 0;
        for (size_t i = 0; i < own.merges.size(); i++) {
            n_different += own.merges[i].left != recovered.merges[i].left ||
                           own.merges[i].right != recovered.merges[i].right ||
                           own.merges[i].merged != recovered.merges[i].merged;
        }
        CHECK(n_different == 0);
    }
}

TEST_CASE("convert recover: what no merge makes is refused by its id") {
    auto check = [](const std::vector<std::string>& tokens, const std::string& words,
                    std::optional<uint64_t> special = {}) {
        std::string message = recover(tokens, special).message();
        CAPTURE(message);
        CHECK(message.find(words) != std::string::npos);
    };
    CHECK(recover(with_bytes({"ab", "abc", "abcab", "<|x|>", "[UNK]"})).ok());
    check(with_bytes({"abc"}), "token 256, \"abc\", is 3 parts");
    check(with_bytes({"ab", "abcd"}), "token 257, \"abcd\", is 3 parts");
    check(with_bytes({"ab", "bc", "xabc", "abc"}), "token 258, \"xabc\", is 3 parts");
    // `bc` comes first, so `abc` is a bc; then `abcd` is (a bc) d.
    CHECK(recover(with_bytes({"bc", "abc", "abcd"})).ok());
    check(with_bytes({"ab", "ab"}), "token 257, \"ab\", is token 256, too");
    check(with_bytes({"ab", ""}), "token 257 is empty");
    check(with_bytes({std::string(257, 'a')}), "token 256, \"aaa");
    check(with_bytes({"endoftext"}), "token 256");
    CHECK(recover(with_bytes({"endoftext"}), 256).ok());
    // Not all bytes: characters.
    CHECK(recover({"a", "b", "\xc3\xa9", "<pad>"}).ok());
    check({"a", "bc"}, "\"bc\" is not one character");
    check({"a", "\xff"}, "token 1");
}
