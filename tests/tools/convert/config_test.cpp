// What config.json may say.
#include <doctest/doctest.h>

#include "convert/formats/readers.h"
#include "tests/tools/convert/maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

void check_field(const std::string& field, const std::string& json,
                 const std::vector<std::string>& words) {
    CAPTURE(field);
    CAPTURE(json);
    HfModel model = small_model();
    model.set(field, json);
    check_refused(model, words);
}

Config converted_config(const HfModel& model) {
    TempFolder folder, out;
    model.write(folder.path());
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    Model opened;
    REQUIRE(opened.open((out / "m.mgpt").c_str()).ok());
    return opened.config();
}

}  // namespace

TEST_CASE("convert config: absent switches have GPT2Config's defaults") {
    HfModel model = small_model();
    model.fields = {{"vocab_size", "20"},
                    {"n_positions", "6"},
                    {"n_embd", "8"},
                    {"n_head", "2"},
                    {"n_layer", "2"}};
    Config c = converted_config(model);
    CHECK(c.layer_norm_epsilon == 1e-5f);
    CHECK(c.activation == Activation::gelu_tanh);
    CHECK(c.tied);
    CHECK(c.scale_attn_weights);
    CHECK(!c.scale_attn_by_inverse_layer_idx);
    CHECK(c.n_ff == 32);
}

TEST_CASE("convert config: every setting that changes the math arrives") {
    HfModel model = small_model();
    model.set("layer_norm_epsilon", "1e-06");
    model.set("scale_attn_weights", "false");
    model.set("scale_attn_by_inverse_layer_idx", "true");
    model.set("activation_function", "\"gelu\"");
    model.set("n_inner", "null");
    model.set("n_ctx", "6");
    model.set("eos_token_id", "null");
    model.set("task_specific_params", "{\"text-generation\":{\"do_sample\":true}}");
    Config c = converted_config(model);
    CHECK(c.layer_norm_epsilon == 1e-6f);
    CHECK(!c.scale_attn_weights);
    CHECK(c.scale_attn_by_inverse_layer_idx);
    CHECK(c.activation == Activation::gelu_erf);
    for (const char* tanh : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}) {
        model.set("activation_function", std::string("\"") + tanh + "\"");
        CHECK(converted_config(model).activation == Activation::gelu_tanh);
    }
}

TEST_CASE("convert config: n_inner is the width of the hidden layer") {
    HfModel model = small_model();
    model.set("n_inner", "12");
    for (const char* layer : {"h.0.", "h.1."}) {
        SavedTensor& fc = model.tensor(std::string(layer) + "mlp.c_fc.weight");
        fc = {fc.name, "F32", {8, 12}, random_numbers("F32", 96, 1)};
        SavedTensor& bias = model.tensor(std::string(layer) + "mlp.c_fc.bias");
        bias = {bias.name, "F32", {12}, random_numbers("F32", 12, 2)};
        SavedTensor& proj = model.tensor(std::string(layer) + "mlp.c_proj.weight");
        proj = {proj.name, "F32", {12, 8}, random_numbers("F32", 96, 3)};
    }
    CHECK(converted_config(model).n_ff == 12);
    model.set("n_inner", "");
    check_refused(model, {"h.0.mlp.c_fc.", "[8, 12]", "[8, 32]"});
}

TEST_CASE("convert config: the second names of sizes are understood, contradictions refused") {
    HfModel model = small_model();
    model.set("n_embd", "");
    model.set("hidden_size", "8");
    model.set("n_positions", "");
    model.set("max_position_embeddings", "6");
    CHECK(converted_config(model).n_ctx == 6);
    check_field("n_ctx", "7", {"config.json", "n_ctx", "6", "7"});
    check_field("hidden_size", "9", {"hidden_size", "9", "8"});
}

TEST_CASE("convert config: sizes that are absent, wrong or impossible are refused by name") {
    for (const char* field : {"vocab_size", "n_positions", "n_embd", "n_head", "n_layer"}) {
        check_field(field, "", {"config.json", field, "missing"});
        for (const char* json : {"\"8\"", "8.0", "-8", "null", "true", "[8]", "1e400"}) {
            check_field(field, json, {"config.json", field});
        }
        check_field(field, "0", {field, "found 0"});
        check_field(field, "4294967296", {field, "4294967296"});
        check_field(field, "99999999999999999999", {field, "99999999999999999999"});
    }
    check_field("n_head", "3", {"n_embd", "n_head", "3"});
    check_field("vocab_size", "21", {"wte.weight", "[20, 8]", "[21, 8]"});
    check_field("n_positions", "7", {"wpe.weight", "[6, 8]", "[7, 8]"});
    check_field("n_embd", "10", {"wte.weight", "[20, 8]", "[20, 10]"});
    check_field("n_layer", "3", {"layer 2 is missing, of 3"});
    check_field("n_layer", "1", {"h.1.", "left over"});
    check_field("n_layer", "4294967295", {"n_layer", "4294967295"});
}

TEST_CASE("convert config: what this library does not do is refused by name") {
    for (const char* name : {"relu", "silu", "gelu_10", "quick_gelu", "GELU", ""}) {
        check_field("activation_function", std::string("\"") + name + "\"",
                    {"activation_function", std::string("\"") + name + "\""});
    }
    check_field("activation_function", "1", {"activation_function", "expected a string"});
    check_field("add_cross_attention", "true", {"add_cross_attention"});
    check_field("model_type", "\"gpt_neo\"", {"model_type", "gpt_neo", "gpt2"});
    check_field("layer_norm_epsilon", "0", {"layer_norm_epsilon"});
    check_field("layer_norm_epsilon", "-1e-5", {"layer_norm_epsilon"});
    check_field("layer_norm_epsilon", "1e-60", {"layer_norm_epsilon"});
    check_field("layer_norm_epsilon", "\"1e-5\"", {"layer_norm_epsilon"});
    check_field("scale_attn_weights", "1", {"scale_attn_weights", "true or false"});
    check_field("scale_attn_by_inverse_layer_idx", "\"no\"", {"scale_attn_by_inverse_layer_idx"});
    check_field("tie_word_embeddings", "null", {"tie_word_embeddings"});
    check_field("eos_token_id", "\"x\"", {"eos_token_id"});
    check_field("eos_token_id", "18446744073709551615", {"eos_token_id is 18446744073709551615"});
    check_field("eos_token_id", "2147483648", {"eos_token_id is 2147483648"});
    HfModel model = small_model();
    model.set("tie_word_embeddings", "false");
    check_refused(model, {"lm_head.weight", "missing", "not tied"});
}

TEST_CASE("convert config: a broken or absent config.json is refused") {
    for (const char* text : {"", "{", "[]", "{\"n_embd\":8,\"n_embd\":8}", "null", "{}x"}) {
        HfModel model = small_model();
        model.files["config.json"] = text;
        check_refused(model, {"config.json"});
    }
    HfModel model = small_model();
    model.files["config.json"] = "{\"x\":" + std::string(100000, '[');
    check_refused(model, {"config.json", "nested deeper"});
    TempFolder folder;
    write_file(folder / "model.safetensors", safetensors(small_model().tensors));
    check_refused_folder(folder.path(), {"config.json is missing", "model.safetensors"});
}
