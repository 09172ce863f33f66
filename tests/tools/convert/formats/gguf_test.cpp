// GGUF files give the bits that Hugging Face's give, quantized ones what their blocks stand for.
#include "convert/formats/gguf.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "tests/tools/convert/formats/gguf_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

void check_gguf_refused(const GgufMaker& maker, const std::vector<std::string>& words) {
    std::string file = maker.file();
    check_few_allocations(kMostAllocations, [&] { check_torch_refused(file, words); });
}

GgufMaker with_key(const std::string& name, const std::string& value) {
    GgufMaker maker = gguf_of(text_model());
    maker.key(name) = value;
    return maker;
}

// The file's matrices in blocks of a type, and the model that they stand for.
GgufMaker quantized(uint32_t type, HfModel* model) {
    *model = text_model();
    GgufMaker maker = gguf_of(*model);
    for (SavedTensor& t : model->tensors) {
        if (t.shape.size() == 1)
            continue;
        bool turned = t.name.compare(0, 2, "h.") == 0;
        size_t i = static_cast<size_t>(&t - model->tensors.data());
        SavedTensor rows = turned ? transposed(t) : t;
        maker.tensors[i].type = type;
        maker.tensors[i].data = quantize(type, &rows);
        t = turned ? transposed(rows) : rows;
    }
    return maker;
}

}  // namespace

TEST_CASE("convert gguf: every plain type, head, version and alignment gives the same file") {
    for (const char* dtype : {"F32", "F16", "BF16"}) {
        for (bool tied : {true, false}) {
            CAPTURE(dtype);
            HfModel model = text_model(dtype, tied);
            GgufMaker maker = gguf_of(model);
            convert::Report report = check_as_hf(maker.file(), model);
            CHECK(report.source_format == "GGUF");
            CHECK(report.plan.config.n_vocab == 261);
            CHECK(report.plan.config.tied == tied);
            maker.version = 2;
            maker.alignment = 256;
            maker.key("general.alignment") = gguf::u32(256);
            check_as_hf(maker.file(), model);
        }
    }
}

TEST_CASE("convert gguf: quantized types become what their blocks stand for, as f32") {
    for (uint32_t type : {2u, 3u, 6u, 7u, 8u}) {
        CAPTURE(type);
        HfModel model;
        GgufMaker maker = quantized(type, &model);
        convert::Report report = check_as_hf(maker.file(), model);
        CHECK(report.type == ElementType::f32);
        CHECK(report.advice.find("--type q8") != std::string::npos);
        // The quantizer is one: no number moves by more than a step of its block.
        HfModel exact = text_model();
        double worst = 0;
        for (size_t i = 0; i < model.tensors.size(); i++) {
            for (size_t at = 0; at < model.tensors[i].data.size(); at += 4) {
                float a, b;
                memcpy(&a, &model.tensors[i].data[at], 4);
                memcpy(&b, &exact.tensors[i].data[at], 4);
                worst = std::max<double>(worst, std::fabs(a - b));
            }
        }
        CHECK(worst < (type == 8 ? 0.005 : type >= 6 ? 0.07 : 0.14));
        CHECK(worst > 0);
    }
}

TEST_CASE("convert gguf: blocks of every code and every kind of scale") {
    for (unsigned d : {0x0000u, 0x8000u, 0x0001u, 0x83ffu, 0x0400u, 0x3c00u, 0xbc01u, 0x7bffu}) {
        CHECK(static_cast<double>(convert::value_of_half(static_cast<uint16_t>(d))) ==
              half_value(d));
        for (unsigned first = 0; first < 256; first += 16) {
            std::string block = le16(d), bytes;
            for (unsigned j = 0; j < 16; j++)
                bytes += static_cast<char>(first + j);
            // Q8_0: the bytes are the codes; Q4_0: each half of a byte.
            std::string q8 = block + bytes + bytes, q4 = block + bytes;
            float numbers[32];
            const unsigned char* p = reinterpret_cast<const unsigned char*>(q8.data());
            convert::gguf_type(8)->unpack(p, numbers);
            for (unsigned j = 0; j < 32; j++) {
                int code = static_cast<signed char>(first + j % 16);
                CHECK(static_cast<double>(numbers[j]) == half_value(d) * code);
            }
            p = reinterpret_cast<const unsigned char*>(q4.data());
            convert::gguf_type(2)->unpack(p, numbers);
            for (unsigned j = 0; j < 32; j++) {
                unsigned byte = first + j % 16;
                int code = static_cast<int>(j < 16 ? byte & 15 : byte >> 4) - 8;
                CHECK(static_cast<double>(numbers[j]) == half_value(d) * code);
            }
        }
    }
    CHECK(std::isnan(convert::value_of_half(0x7e00)));
    CHECK(convert::value_of_half(0xfc00) == -INFINITY);
    // Q5_1's fifth bits: number j has bit j.
    std::string block = le16(0x3c00) + le16(0) + le32(0x80010002) + std::string(16, '\0');
    float numbers[32];
    convert::gguf_type(7)->unpack(reinterpret_cast<const unsigned char*>(block.data()), numbers);
    for (unsigned j = 0; j < 32; j++)
        CHECK(numbers[j] == (j == 1 || j == 16 || j == 31 ? 16 : 0));
}

TEST_CASE("convert gguf: an output that is the token table's copy is tied, another is not") {
    HfModel model = text_model();
    GgufMaker maker = gguf_of(model);
    GgufTensor head = maker.tensor("token_embd.weight");
    head.name = "output.weight";
    maker.tensors.push_back(head);
    convert::Report report = check_as_hf(maker.file(), model);
    CHECK(report.plan.config.tied);
    CHECK(report.plan.tied_copy.has_value());
    maker.tensors.back().data[77] ^= 1;
    TempFolder folder, out;
    write_file(folder / "model", maker.file());
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    REQUIRE(done.status.ok());
    CHECK(!done.report.plan.config.tied);
}

TEST_CASE("convert gguf: rows at the end that stand for no token are padding") {
    HfModel model = text_model();
    for (int kind : {0, 1}) {
        GgufMaker maker = gguf_of(model);
        std::vector<std::string> tokens = text_tokens();
        std::vector<int32_t> types(tokens.size(), 1);
        types.back() = 3;
        for (int id = 261; id < 264; id++) {
            tokens.push_back(kind == 0 ? "[PAD" + std::to_string(id) + "]" : "any");
            types.push_back(kind == 0 ? 4 : 5);
        }
        maker.key("tokenizer.ggml.tokens") = gguf::strings(tokens);
        maker.key("tokenizer.ggml.token_type") = gguf::i32s(types);
        CHECK(check_as_hf(maker.file(), model).plan.config.n_vocab == 261);
    }
    // Without types, what no merge makes is special, too.
    GgufMaker maker = gguf_of(model);
    maker.remove_key("tokenizer.ggml.token_type");
    maker.remove_key("tokenizer.ggml.eos_token_id");
    check_as_hf(maker.file(), model);
    // Without tokens, what lies beside is the vocabulary.
    for (const char* name : {"tokens", "merges", "token_type", "model"}) {
        if (std::string(name) != "token_type")
            maker.remove_key(std::string("tokenizer.ggml.") + name);
    }
    check_as_hf(maker.file(), model, model.files);
}

TEST_CASE("convert gguf: what is not GPT-2, or not read, is refused by name") {
    check_gguf_refused(with_key("general.architecture", gguf::string("llama")),
                       {"general.architecture", "\"llama\"", "\"gpt2\""});
    GgufMaker maker = gguf_of(text_model());
    maker.remove_key("general.architecture");
    check_gguf_refused(maker, {"general.architecture"});
    check_gguf_refused(with_key("tokenizer.ggml.model", gguf::string("bert")), {"\"bert\""});
    check_gguf_refused(with_key("tokenizer.ggml.pre", gguf::string("llama-bpe")), {"llama-bpe"});
    check_gguf_refused(with_key("split.count", gguf::u32(3)), {"split.count", "3"});
    check_gguf_refused(with_key("gpt2.attention.head_count_kv", gguf::u32(1)), {"head_count_kv"});
    for (auto [version, word] : {std::pair<uint32_t, const char*>{1, "version 1"},
                                 {4, "version 4"},
                                 {0, "version 0"},
                                 {0x03000000, "big-endian"}}) {
        maker = gguf_of(text_model());
        maker.version = version;
        check_gguf_refused(maker, {word});
    }
    for (auto [type, name, n_bytes] : {std::tuple<uint32_t, const char*, size_t>{14, "Q6_K", 210},
                                       {12, "Q4_K", 144},
                                       {20, "IQ4_NL", 8 * 18}}) {
        maker = gguf_of(text_model());
        GgufTensor& t = maker.tensor("blk.1.ffn_down.weight");
        t.type = type;
        t.data.assign(32 * n_bytes, 'x');
        check_gguf_refused(
            maker, {"blk.1.ffn_down.weight", name, "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, BF16"});
    }
    for (uint32_t type : {4u, 5u, 99u, 0xffffffffu}) {
        maker = gguf_of(text_model());
        maker.tensor("token_embd.weight").type = type;
        check_gguf_refused(maker, {"token_embd.weight", "unknown type " + std::to_string(type)});
    }
    maker = gguf_of(text_model());
    maker.tensor("position_embd.weight").type = 26;
    check_gguf_refused(maker, {"position_embd.weight", "I32"});
}

TEST_CASE("convert gguf: sizes and offsets that lie are refused") {
    auto spoilt = [](const std::string& name, auto&& spoil) {
        GgufMaker maker = gguf_of(text_model());
        spoil(&maker.tensor(name));
        return maker;
    };
    using T = GgufTensor*;
    const char* qkv = "blk.0.attn_qkv.weight";
    check_gguf_refused(spoilt(qkv, [](T t) { t->shift = 32; }), {qkv, "hole"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->shift = -32; }), {"overlapping"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->shift = 1; }), {qkv});
    check_gguf_refused(spoilt(qkv, [](T t) { t->shift = INT64_MIN; }), {"hole"});
    check_gguf_refused(spoilt(qkv,
                              [](T t) {
                                  t->dims = {uint64_t{1} << 32, uint64_t{1} << 32};
                              }),
                       {qkv, "multiplies past"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->dims = {UINT64_MAX, 1}; }), {qkv});
    check_gguf_refused(spoilt(qkv, [](T t) { t->dims = {uint64_t{1} << 40, 1}; }), {qkv, "bytes"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->dims = {0, 96}; }), {qkv, "shape is [96, 0]"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->dims = {1, 1, 1, 1, 1}; }), {qkv, "5 dimensions"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->dims = {96, 32}; }), {qkv, "[32, 96]", "[96, 32]"});
    check_gguf_refused(spoilt(qkv,
                              [](T t) {
                                  t->dims = {16, 192};
                                  t->type = 8;
                              }),
                       {qkv, "no whole blocks of Q8_0"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->name = "blk.1.attn_qkv.weight"; }), {"twice"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->name = "blk.00.attn_qkv.weight"; }),
                       {"attn.c_attn.weight", "missing", "blk.00"});
    check_gguf_refused(spoilt(qkv, [](T t) { t->name = std::string("a\nb\xff"); }), {"UTF-8"});
    GgufMaker maker = gguf_of(text_model());
    check_torch_refused(maker.file() + std::string(32, '\0'),
                        {"32 bytes of data beyond its tensors"});
    for (uint64_t alignment : {0, 3, 24, 1 << 21}) {
        check_gguf_refused(with_key("general.alignment", gguf::u32(alignment)),
                           {"general.alignment", std::to_string(alignment)});
    }
    // Counts near 2^64, in the head, of a text and of lists.
    for (uint64_t count : {UINT64_MAX, UINT64_MAX / 8, uint64_t{1} << 40, uint64_t{1} << 20}) {
        std::string file = maker.file();
        for (size_t at : {8, 16}) {
            std::string bad = file;
            memcpy(&bad[at], &count, sizeof count);
            check_torch_refused(bad, {"expected at most 65536 and 131072"});
        }
        check_gguf_refused(with_key("x", le32(8) + le64(count)), {"x: "});
        check_gguf_refused(with_key("general.architecture", le32(8) + le64(count)), {"general"});
        for (uint32_t kind : {0, 4, 8, 9, 12})
            check_gguf_refused(with_key("x", le32(9) + le32(kind) + le64(count)), {"x: "});
        check_gguf_refused(with_key("tokenizer.ggml.tokens", le32(9) + le32(8) + le64(count)),
                           {"tokenizer.ggml.tokens"});
    }
}

TEST_CASE("convert gguf: keys that are not what they must be are refused") {
    GgufMaker maker = gguf_of(text_model());
    maker.keys.emplace_back("general.name", gguf::u32(1));
    check_gguf_refused(maker, {"general.name", "twice"});
    check_gguf_refused(with_key("gpt2.block_count", gguf::string("2")), {"block_count", "a text"});
    check_gguf_refused(with_key("gpt2.block_count", gguf::i32s({2, 2})), {"a list of integers"});
    check_gguf_refused(with_key("gpt2.block_count", le32(5) + le32(0xffffffff)), {"is -1"});
    check_gguf_refused(with_key("gpt2.block_count", gguf::u32(3)), {"layer 2 is missing, of 3"});
    check_gguf_refused(with_key("gpt2.block_count", gguf::u32(1)), {"left over"});
    check_gguf_refused(with_key("gpt2.embedding_length", gguf::u32(0)), {"n_embd"});
    check_gguf_refused(with_key("gpt2.attention.head_count", gguf::u32(5)), {"n_head"});
    check_gguf_refused(with_key("x", le32(13) + le32(0)), {"unknown kind of value 13"});
    check_gguf_refused(with_key("x", le32(9) + le32(13) + le64(0)), {"unknown kind of value 13"});
    check_gguf_refused(with_key("tokenizer.ggml.tokens", gguf::i32s({1})), {"a list of integers"});
    check_gguf_refused(with_key("tokenizer.ggml.tokens", gguf::strings({"a\xff"})), {"UTF-8"});
    check_gguf_refused(with_key("tokenizer.ggml.token_type", gguf::i32s({1})),
                       {"found 1, expected 261"});
    std::vector<std::string> many(300, "x");
    check_gguf_refused(with_key("tokenizer.ggml.tokens", gguf::strings(many)),
                       {"found 261, expected 300"});
    for (const char* merge : {"", "ab", "a ", " b", "a b c", "a  b"}) {
        check_gguf_refused(with_key("tokenizer.ggml.merges", gguf::strings({"h e", merge})),
                           {"tokenizer.ggml.merges", "1: "});
    }
    maker = with_key("gpt2.attention.layer_norm_epsilon", gguf::f32(-1));
    check_gguf_refused(maker, {"epsilon"});
    // An integer of another width, or signed, is as good.
    HfModel model = text_model();
    maker = gguf_of(model);
    maker.key("gpt2.block_count") = le32(10) + le64(2);
    maker.key("gpt2.context_length") = le32(5) + le32(6);
    maker.key("gpt2.embedding_length") = le32(0) + std::string(1, 32);
    check_as_hf(maker.file(), model);
}

TEST_CASE("convert gguf: lists nested deep end in an error, not in the stack") {
    std::string deep;
    for (int i = 0; i < 100000; i++)
        deep += le32(9) + le64(1);
    check_gguf_refused(with_key("x", le32(9) + deep + le32(4) + le64(0)), {"x: ", "deeper than 8"});
}

TEST_CASE("convert gguf: a file cut anywhere is refused") {
    // The last tensor's padding may be missing.
    GgufMaker maker = gguf_of(text_model());
    size_t n_padding = (32 - maker.tensors.back().data.size() % 32) % 32;
    check_all_cut(maker.file(), n_padding);
}

TEST_CASE("convert gguf: the checkpoints that others made hold their truth's tokens") {
    for (const char* name : {"gguf-f16", "gguf-q8_0"}) {
        std::string folder = std::string("tests/data/checkpoints/") + name;
        TempFolder out;
        Converted done = convert_to(folder, out / "m.mgpt");
        CAPTURE(std::string(done.status.message()));
        REQUIRE(done.status.ok());
        CHECK(done.report.plan.tensors.size() == 28);
        CHECK(done.report.n_tokens == 512);
        bool is_half = done.report.type == ElementType::f16;
        CHECK(is_half == (std::string(name) == "gguf-f16"));
    }
}
