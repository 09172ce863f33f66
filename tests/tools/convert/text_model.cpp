#include "tests/tools/convert/text_model.h"

#include <cstring>
#include <filesystem>

#include "convert/vocabulary/vocabulary.h"

namespace minigpt::test {
namespace {

std::string little_endian(uint64_t n, size_t n_bytes) {
    return std::string(reinterpret_cast<const char*>(&n), n_bytes);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "\"";
}

bool is_printable(int b) {
    return (b > 32 && b < 127) || (b > 160 && b != 173);
}

}  // namespace

std::string le16(uint64_t n) {
    return little_endian(n, 2);
}
std::string le32(uint64_t n) {
    return little_endian(n, 4);
}
std::string le64(uint64_t n) {
    return little_endian(n, 8);
}

std::vector<std::string> text_tokens() {
    std::vector<std::string> tokens;
    for (bool printable : {true, false}) {
        for (int b = 0; b < 256; b++) {
            if (is_printable(b) == printable)
                tokens.push_back(convert::encode_byte(static_cast<unsigned char>(b)));
        }
    }
    for (const char* merged : {"he", "ll", "hell", "hello", "<|endoftext|>"})
        tokens.push_back(merged);
    return tokens;
}

std::vector<std::string> text_merges() {
    return {"h e", "l l", "he ll", "hell o"};
}

std::string bytes_of_token(const std::string& spelling) {
    std::string bytes;
    REQUIRE(convert::decode_bytes(spelling, &bytes));
    return bytes;
}

HfModel text_model(const std::string& dtype, bool tied) {
    HfModel model;
    Config& c = model.config;
    c.n_rows = 264;
    c.n_vocab = 261;
    c.n_ctx = 6;
    c.n_embd = 32;
    c.n_head = 2;
    c.n_layer = 2;
    c.n_ff = 256;
    c.tied = tied;
    for (size_t i = 0; i < tensor_count(c); i++) {
        TensorSpec spec = tensor_spec(c, i);
        size_t n = spec.shape[0] * spec.shape[1];
        std::string type = spec.n_dims == 1 ? "F32" : dtype;
        model.tensors.push_back({spec.name,
                                 type,
                                 {spec.shape, spec.shape + spec.n_dims},
                                 random_numbers(type, n, static_cast<unsigned>(i))});
    }
    model.fields = {{"model_type", "\"gpt2\""},
                    {"vocab_size", "264"},
                    {"n_positions", "6"},
                    {"n_embd", "32"},
                    {"n_head", "2"},
                    {"n_layer", "2"},
                    {"n_inner", "256"},
                    {"tie_word_embeddings", tied ? "true" : "false"}};
    std::string vocab, merges = "#version: 0.2\n";
    size_t id = 0;
    for (const std::string& token : text_tokens())
        vocab += (vocab.empty() ? "{" : ",") + quoted(token) + ":" + std::to_string(id++);
    for (const std::string& merge : text_merges())
        merges += merge + "\n";
    model.files = {{"vocab.json", vocab + "}"}, {"merges.txt", merges}};
    return model;
}

void check_same_models(const std::string& path_a, const std::string& path_b) {
    Model a, b;
    REQUIRE(a.open(path_a.c_str()).ok());
    REQUIRE(b.open(path_b.c_str()).ok());
    Compute compute;
    CHECK(a.check_weights(compute).ok());
    CHECK(b.check_weights(compute).ok());
    const Config &x = a.config(), &y = b.config();
    CHECK(x.n_vocab == y.n_vocab);
    CHECK(x.n_rows == y.n_rows);
    CHECK(x.n_head == y.n_head);
    CHECK(x.n_ff == y.n_ff);
    CHECK(x.layer_norm_epsilon == y.layer_norm_epsilon);
    CHECK(x.activation == y.activation);
    CHECK(x.biases == y.biases);
    CHECK(x.tied == y.tied);
    CHECK(x.scale_attn_weights == y.scale_attn_weights);
    CHECK(x.scale_attn_by_inverse_layer_idx == y.scale_attn_by_inverse_layer_idx);
    size_t n_a, n_b;
    const void *tables_a = a.tokenizer(&n_a), *tables_b = b.tokenizer(&n_b);
    REQUIRE(n_a == n_b);
    CHECK((n_a == 0 || memcmp(tables_a, tables_b, n_a) == 0));
    REQUIRE(a.n_tensors() == b.n_tensors());
    for (size_t i = 0; i < a.n_tensors(); i++) {
        TensorInfo s = a.tensor(i), t = b.tensor(i);
        CAPTURE(std::string(s.spec.name));
        CHECK(std::string(s.spec.name) == t.spec.name);
        CHECK(s.type == t.type);
        REQUIRE(s.bytes == t.bytes);
        CHECK(memcmp(s.data, t.data, s.bytes) == 0);
    }
}

convert::Report check_as_hf(const std::string& file, const HfModel& model,
                            const std::map<std::string, std::string>& also) {
    TempFolder folder, hf, out;
    write_file(folder / "model", file);
    for (const auto& [name, bytes] : also)
        write_file(folder / name, bytes);
    model.write(hf.path());
    Converted expected = convert_to(hf.path(), out / "hf.mgpt");
    CAPTURE(std::string(expected.status.message()));
    REQUIRE(expected.status.ok());
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    check_same_models(out / "m.mgpt", out / "hf.mgpt");
    return done.report;
}

void check_all_cut(const std::string& file, size_t n_sound) {
    TempFolder folder, out;
    size_t n = file.size() - n_sound;
    write_file(folder / "model", file);
    for (size_t at = n; at-- > 0;) {
        if (at > 8000 && at + 300 < n && at % 211 != 0)
            continue;
        std::filesystem::resize_file(folder / "model", at);
        CAPTURE(at);
        check_few_allocations(kMostAllocations, [&] {
            CHECK(!convert_to(folder.path(), out / "m.mgpt").status.ok());
        });
    }
    CHECK(std::filesystem::is_empty(out.path()));
}

}  // namespace minigpt::test
