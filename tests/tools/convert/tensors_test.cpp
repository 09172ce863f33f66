// Every tensor is taken, none is left over, and the bits arrive.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/tools/convert/maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

const std::map<std::string, ElementType> kTypes = {
    {"F32", ElementType::f32}, {"F16", ElementType::f16}, {"BF16", ElementType::bf16}};

// Converts and compares; returns the report.
convert::Report check_converts(const HfModel& model, const std::vector<SavedTensor>& expected,
                               const std::string& prefix = "") {
    TempFolder folder, out;
    model.write(folder.path());
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    Model opened;
    REQUIRE(opened.open((out / "m.mgpt").c_str()).ok());
    CHECK(opened.check_weights(Compute()).ok());
    check_same_bits(opened, expected, prefix);
    CHECK(opened.n_tensors() == done.report.plan.tensors.size());
    CHECK(opened.file_bytes() == done.report.n_output_bytes);
    return done.report;
}

SavedTensor mask(const std::string& name, uint64_t n, const std::string& dtype = "U8") {
    return {name, dtype, {1, 1, n, n}, std::string(n * n * (dtype == "F32" ? 4 : 1), '\0')};
}

void put(SavedTensor* t, size_t index, float value) {
    memcpy(&t->data[index * 4], &value, 4);
}

}  // namespace

TEST_CASE("convert tensors: every type and head arrives bit for bit, in its own type") {
    for (const auto& [name, type] : kTypes) {
        const std::string& dtype = name;  // what a lambda can capture
        for (bool tied : {true, false}) {
            CAPTURE(dtype);
            HfModel model = small_model(dtype, tied);
            convert::Report report = check_converts(model, model.tensors);
            CHECK(report.type == type);
            CHECK(report.plan.config.tied == tied);
        }
    }
}

TEST_CASE("convert tensors: --type rounds, and mixed matrices become f32") {
    TempFolder folder, out;
    HfModel model = small_model("F16");
    model.write(folder.path());
    REQUIRE(convert_to(folder.path(), out / "m.mgpt", ElementType::f32).status.ok());
    Model wide;
    REQUIRE(wide.open((out / "m.mgpt").c_str()).ok());
    CHECK(wide.tensor(0).type == ElementType::f32);
    check_same_bits(wide, model.tensors);

    SavedTensor& mixed = model.tensor("h.1.mlp.c_fc.weight");
    mixed.dtype = "F32";
    mixed.data = random_numbers("F32", 8 * 32, 77);
    CHECK(check_converts(model, model.tensors).type == ElementType::f32);

    for (ElementType type : {ElementType::q8, ElementType::q4}) {
        REQUIRE(convert_to(folder.path(), out / "q.mgpt", type).status.ok());
        Model grouped;
        REQUIRE(grouped.open((out / "q.mgpt").c_str()).ok());
        CHECK(grouped.tensor(0).type == ElementType::q8);
        CHECK(grouped.tensor(1).type == ElementType::f16);
        CHECK(grouped.tensor(4).type == type);
    }
}

TEST_CASE("convert tensors: the matrices alone decide on the type; f32 positions stay f32") {
    for (const auto& [dtype, type] : kTypes) {
        HfModel model = small_model(dtype);
        for (SavedTensor& t : model.tensors) {
            bool is_matrix = t.shape.size() == 2 && t.name != "wpe.weight";
            if (is_matrix)
                continue;
            t.data = random_numbers("F32", t.data.size() / (t.dtype == "F32" ? 4 : 2), 9);
            t.dtype = "F32";
        }
        CHECK(check_converts(model, model.tensors).type == type);
        TempFolder folder, out;
        model.write(folder.path());
        REQUIRE(convert_to(folder.path(), out / "m.mgpt").status.ok());
        Converted again = convert_to(out / "m.mgpt", out / "again.mgpt");
        REQUIRE(again.status.ok());
        CHECK(again.report.type == type);
        Model opened;
        REQUIRE(opened.open((out / "again.mgpt").c_str()).ok());
        CHECK(opened.tensor(1).type == ElementType::f32);
        check_same_bits(opened, model.tensors);
        // What is asked for is what is made.
        REQUIRE(convert_to(folder.path(), out / "f16.mgpt", ElementType::f16).status.ok());
        Model half;
        REQUIRE(half.open((out / "f16.mgpt").c_str()).ok());
        CHECK(half.tensor(1).type == ElementType::f16);
    }
}

TEST_CASE("convert tensors: the transformer. prefix, buffers and a tied copy are understood") {
    HfModel model = small_model();
    std::vector<SavedTensor> expected = model.tensors;
    for (SavedTensor& t : model.tensors)
        t.name = "transformer." + t.name;
    expected = model.tensors;
    SavedTensor head = model.tensors[0];
    head.name = "lm_head.weight";
    model.tensors.push_back(head);
    model.tensors.push_back(mask("transformer.h.0.attn.bias", 6));
    model.tensors.push_back(mask("transformer.h.1.attn.bias", 6, "BOOL"));
    model.tensors.push_back({"transformer.h.0.attn.masked_bias", "F32", {}, "1234"});
    convert::Report report = check_converts(model, expected, "transformer.");
    CHECK(report.plan.n_ignored == 3);
    CHECK(report.plan.tied_copy.has_value());
    CHECK(report.plan.config.tied);

    model.tensor("lm_head.weight").data[5] ^= 1;
    check_refused(model, {"lm_head.weight", "wte.weight", "tie_word_embeddings"});
    model.tensor("lm_head.weight").shape = {19, 8};
    model.tensor("lm_head.weight").data.resize(19 * 8 * 4);
    check_refused(model, {"lm_head.weight", "[19, 8]", "[20, 8]"});
}

TEST_CASE("convert tensors: a tied head of another type than the table is no copy") {
    HfModel model = small_model();
    model.tensors.push_back({"lm_head.weight", "F16", {20, 8}, random_numbers("F16", 160, 1)});
    check_refused(model, {"lm_head.weight is F16 [20, 8]", "wte.weight is F32 [20, 8]", "tied"});
}

TEST_CASE("convert tensors: matrices or positions of several types become f32, exactly") {
    const std::vector<std::string> dtypes = {"F32", "F16", "BF16"};
    for (const std::string& others : dtypes) {
        for (const std::string& own : dtypes) {
            for (const char* name : {"wpe.weight", "wte.weight", "h.1.mlp.c_fc.weight"}) {
                HfModel model = small_model(others);
                SavedTensor& t = model.tensor(name);
                t.data = random_numbers(own, t.shape[0] * t.shape[1], 5);
                t.dtype = own;
                bool is_kept = own == others || (own == "F32" && t.name == "wpe.weight");
                CAPTURE(others);
                CAPTURE(own);
                CAPTURE(t.name);
                ElementType type = check_converts(model, model.tensors).type;
                CHECK(type == (is_kept ? kTypes.at(others) : ElementType::f32));
            }
        }
    }
}

TEST_CASE("convert tensors: a buffer of another shape is not ignored") {
    HfModel model = small_model();
    model.tensors.push_back(mask("h.0.attn.bias", 5));
    check_refused(model, {"h.0.attn.bias", "[1, 1, 5, 5]", "[1, 1, 6, 6]"});
    model.tensors.back() = {"h.0.attn.masked_bias", "F32", {2}, "12345678"};
    check_refused(model, {"h.0.attn.masked_bias", "[2]"});
}

TEST_CASE("convert tensors: each weight that is missing is named") {
    for (const SavedTensor& t : small_model("F32", false).tensors) {
        HfModel model = small_model("F32", false);
        model.remove(t.name);
        CAPTURE(t.name);
        check_refused(model, {t.name, "missing"});
    }
}

TEST_CASE("convert tensors: a kind of bias that no layer has is a model without it") {
    const std::map<std::string, uint32_t> kinds = {
        {"ln_1", kBiasLn1}, {"attn.c_attn", kBiasAttnQkv}, {"attn.c_proj", kBiasAttnProj},
        {"ln_2", kBiasLn2}, {"mlp.c_fc", kBiasFc},         {"mlp.c_proj", kBiasMlpProj}};
    HfModel bare = small_model();
    for (const auto& [kind, bit] : kinds) {
        HfModel model = small_model();
        for (const char* layer : {"h.0.", "h.1."}) {
            model.remove(layer + kind + ".bias");
            bare.remove(layer + kind + ".bias");
        }
        convert::Report report = check_converts(model, model.tensors);
        CHECK(report.plan.config.biases == (kBiasAll & ~bit));
        REQUIRE(report.notes.size() == 1);
        CHECK(report.notes[0].find(kind + ".bias") != std::string::npos);
    }
    // The norms are of one make, whichever of a layer's has a bias.
    for (const char* norm : {"ln_1", "ln_2"}) {
        HfModel one = bare;
        for (const std::string layer : {"h.0.", "h.1."})
            one.tensors.push_back(
                {layer + norm + ".bias", "F32", {8}, random_numbers("F32", 8, 3)});
        CHECK(check_converts(one, one.tensors).plan.config.biases != 0);
        one.remove("ln_f.bias");
        check_refused(one, {"ln_f.bias is missing"});
    }
    bare.remove("ln_f.bias");
    CHECK(check_converts(bare, bare.tensors).plan.config.biases == 0);
}

TEST_CASE("convert tensors: what is left over, there twice or of another shape is named") {
    HfModel model = small_model();
    model.tensors.push_back({"h.2.ln_1.weight", "F32", {8}, random_numbers("F32", 8, 1)});
    check_refused(model, {"h.2.ln_1.weight", "left over", "2 layers"});
    for (const char* name : {"score.weight", "h.0.attn.c_attn.weights", "h.01.ln_1.weight",
                             "h.0.crossattention.c_attn.weight", "xtransformer.wte.weight", ""}) {
        model.tensors.back().name = name;
        check_refused(model, {name, "left over"});
    }
    model.tensors.back().name = "transformer.ln_f.weight";
    check_refused(model, {"ln_f.weight and transformer.ln_f.weight", "the same tensor"});
    model.tensors.back().name = "ln_f.weight";
    check_refused(model, {"ln_f.weight", "twice"});

    for (const SavedTensor& t : small_model("F32", false).tensors) {
        HfModel spoilt = small_model("F32", false);
        SavedTensor& s = spoilt.tensor(t.name);
        CAPTURE(t.name);
        s.shape[0]++;
        s.data.resize(s.data.size() / t.shape[0] * s.shape[0]);
        check_refused(spoilt, {t.name, "shape is [" + std::to_string(s.shape[0]), "expected"});
        s.shape = {1, t.shape[0], t.shape.size() > 1 ? t.shape[1] : 1};
        s.data = t.data;
        check_refused(spoilt, {t.name, "shape is [1, ", "expected"});
        if (t.shape.size() < 2 || t.shape[0] == t.shape[1])
            continue;
        s.shape = {t.shape[1], t.shape[0]};
        check_refused(spoilt, {t.name, "shape is", "expected"});
    }
}

TEST_CASE("convert tensors: a type that no weight has is refused by name") {
    for (const char* dtype : {"F64", "I32", "U8", "F8_E4M3"}) {
        HfModel model = small_model();
        SavedTensor& t = model.tensor("wpe.weight");
        t.dtype = dtype;
        size_t size = dtype[1] == '6' ? 8 : dtype[1] == '3' ? 4 : 1;
        t.data.assign(6 * 8 * size, '\0');
        check_refused(model, {"wpe.weight", dtype, "F32, F16 or BF16"});
    }
}

TEST_CASE("convert tensors: weights that are not finite are refused with their place") {
    HfModel model = small_model();
    put(&model.tensor("h.1.mlp.c_fc.weight"), 3 * 32 + 5, NAN);
    check_refused(model, {"h.1.mlp.c_fc.weight", "NaN", "[3, 5]"});
    put(&model.tensor("h.1.mlp.c_fc.weight"), 3 * 32 + 5, -INFINITY);
    check_refused(model, {"h.1.mlp.c_fc.weight", "infinity", "[3, 5]"});
    TempFolder folder, out;
    model.write(folder.path());
    CHECK(convert_to(folder.path(), out / "m.mgpt", {}, true).status.ok());
    model = small_model();
    put(&model.tensor("ln_f.bias"), 7, INFINITY);
    check_refused(model, {"ln_f.bias", "[7]"});
    model = small_model();
    put(&model.tensor("wte.weight"), 19 * 8 + 1, 1e6f);
    model.write(folder.path());
    Status status = convert_to(folder.path(), out / "half.mgpt", ElementType::f16).status;
    CHECK(std::string(status.message()).find("wte.weight") != std::string::npos);
    CHECK(std::string(status.message()).find("[19, 1]") != std::string::npos);
}
