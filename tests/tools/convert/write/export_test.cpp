// The way back: a weight file as a Hugging Face folder, and from there to the same weight file.
#include "convert/write/export.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/json.h"
#include "tests/tools/convert/formats/gguf_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace fs = std::filesystem;

namespace {

// From a folder to a weight file, back to `back`, and forth again: both weight files are the same.
void check_round(const std::string& source, const std::string& back) {
    TempFolder out;
    Converted there = convert_to(source, out / "a.mgpt");
    CAPTURE(std::string(there.status.message()));
    REQUIRE(there.status.ok());
    Converted returned = convert_to(out / "a.mgpt", back);
    CAPTURE(std::string(returned.status.message()));
    REQUIRE(returned.status.ok());
    REQUIRE(convert_to(back, out / "b.mgpt").status.ok());
    check_same_models(out / "a.mgpt", out / "b.mgpt");
}

void check_round(const HfModel& model) {
    TempFolder folder, back;
    model.write(folder.path());
    check_round(folder.path(), back / "model.safetensors");
    std::vector<SavedTensor> saved = load_safetensors(back / "model.safetensors");
    CHECK(saved.size() == model.tensors.size());
    for (const SavedTensor& t : model.tensors) {
        std::string name = t.name == "lm_head.weight" ? t.name : "transformer." + t.name;
        auto same = [&](const SavedTensor& s) {
            return s.name == name && s.dtype == t.dtype && s.shape == t.shape && s.data == t.data;
        };
        CAPTURE(name);
        CHECK(std::any_of(saved.begin(), saved.end(), same));
    }
}

std::string refusal(const std::string& source, const std::string& output, bool force = false) {
    Converted done = convert_to(source, output, {}, force);
    CHECK(!done.status.ok());
    return done.status.message();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A weight file of the text model in a folder of its own.
struct Made {
    TempFolder folder;
    std::string mgpt = folder / "m.mgpt";

    explicit Made(const HfModel& model = text_model()) {
        TempFolder hf;
        model.write(hf.path());
        REQUIRE(convert_to(hf.path(), mgpt).status.ok());
    }
};

}  // namespace

TEST_CASE("convert export: every type and head comes back bit for bit") {
    for (const char* dtype : {"F32", "F16", "BF16"}) {
        for (bool tied : {true, false})
            check_round(text_model(dtype, tied));
    }
}

TEST_CASE("convert export: every setting comes back") {
    HfModel model = text_model();
    model.set("activation_function", "\"gelu\"");
    model.set("layer_norm_epsilon", "0.000012345678");
    model.set("scale_attn_weights", "false");
    model.set("scale_attn_by_inverse_layer_idx", "true");
    check_round(model);
    model = small_model();  // no vocabulary, n_ff = 4 n_embd
    check_round(model);
    for (const char* name : {"attn.c_attn.bias", "mlp.c_fc.bias"}) {
        for (const char* layer : {"h.0.", "h.1."})
            model.remove(std::string(layer) + name);
    }
    check_round(model);
}

TEST_CASE("convert export: vocabularies of every kind come back") {
    HfModel model = text_model();
    // Added tokens with a space, with other scripts, of one byte that is no token's.
    model.files["added_tokens.json"] = "{\"two words\": 261, \"\\u00e9\\u0120\": 262}";
    check_round(model);
    model = small_model();
    model.files["vocab.json"] =
        "{\"a\":0,\"\\u00e9\":1,\"\\n\":2,\"\\\"\":3,\"\\\\\":4,\"<pad>\":5,\"\\ud83d\\ude00\":6}";
    check_round(model);
    model.files["added_tokens.json"] = "{\"|end|\": 7, \"b\": 8}";
    check_round(model);
}

TEST_CASE("convert export: GPT-2's own vocabulary is written as OpenAI published it") {
    HfModel model = small_model();
    model.set("vocab_size", "50257");
    model.tensor("wte.weight").shape[0] = 50257;
    model.tensor("wte.weight").data.assign(50257 * 8 * 4, '\0');
    check_round(model);
    Made made(model);
    REQUIRE(convert_to(made.mgpt, made.folder / "hf/").status.ok());
    CHECK(read_file(made.folder / "hf/merges.txt") == read_file("models/gpt2-merges.txt"));
    Json config = Json::read(made.folder / "hf/config.json");
    CHECK(config["eos_token_id"].number() == 50256);
    CHECK(config["vocab_size"].number() == 50257);
    std::string outside = outside_data("vocab/encoder.json");
    if (outside.empty())
        return;
    Json ours = Json::read(made.folder / "hf/vocab.json"), theirs = Json::read(outside);
    REQUIRE(ours.members.size() == theirs.members.size());
    size_t n_different = 0;
    for (const auto& [name, id] : theirs.members)
        n_different += !ours.has(name) || ours[name].number() != id.number();
    CHECK(n_different == 0);
}

TEST_CASE("convert export: other checkpoints go to Hugging Face's files, too") {
    HfModel model = text_model();
    TempFolder folder, out;
    write_file(folder / "m.gguf", gguf_of(model).file());
    REQUIRE(convert_to(folder.path(), out / "x.safetensors").status.ok());
    REQUIRE(convert_to(out / "x.safetensors", out / "x.mgpt").status.ok());
    Made made(model);
    check_same_models(out / "x.mgpt", made.mgpt);
    // A folder is for weight files: otherwise a file's name is likely to be missing.
    CHECK(has(refusal(folder.path(), out.path()), "is a folder"));
    // NaN stops here, too.
    GgufMaker bad = gguf_of(model);
    float nan = NAN;
    memcpy(&bad.tensor("blk.1.ffn_norm.bias").data[12], &nan, 4);
    write_file(folder / "m.gguf", bad.file());
    TempFolder none;
    std::string message = refusal(folder.path(), none / "x.safetensors");
    CHECK(has(message, "h.1.ln_2.bias: NaN or infinity at [3]"));
    CHECK(fs::is_empty(none.path()));
    CHECK(convert_to(folder.path(), none / "x.safetensors", {}, true).status.ok());
}

TEST_CASE("convert export: a weight file gets another type, and goes back to the same numbers") {
    Made made;
    TempFolder out;
    REQUIRE(convert_to(made.mgpt, out / "half.mgpt", ElementType::f16).status.ok());
    Model half;
    REQUIRE(half.open((out / "half.mgpt").c_str()).ok());
    CHECK(half.tensor(0).type == ElementType::f16);
    REQUIRE(convert_to(made.mgpt, out / "same.mgpt").status.ok());
    check_same_models(made.mgpt, out / "same.mgpt");
    CHECK(has(refusal(made.mgpt, made.mgpt), "part of the source"));
    // What was made of a checkpoint may lie beside it.
    TempFolder folder;
    text_model().write(folder.path());
    REQUIRE(convert_to(folder.path(), folder / "m.mgpt").status.ok());
    REQUIRE(convert_to(folder.path(), folder / "m.mgpt").status.ok());
    // A folder with nothing else holds that.
    CHECK(convert_to(made.folder.path(), out / "again.mgpt").status.ok());
}

TEST_CASE("convert export: q8 and q4 go back as the f32 that they stand for") {
    for (ElementType type : {ElementType::q8, ElementType::q4}) {
        CAPTURE(std::string(name_of(type)));
        HfModel model = text_model("F32", false);
        TempFolder hf, out;
        model.write(hf.path());
        REQUIRE(convert_to(hf.path(), out / "q.mgpt", type).status.ok());
        Converted done = convert_to(out / "q.mgpt", out / "back/");
        CAPTURE(std::string(done.status.message()));
        REQUIRE(done.status.ok());
        std::vector<SavedTensor> saved = load_safetensors(out / "back/model.safetensors");
        double worst = 0;
        for (const SavedTensor& t : saved) {
            if (t.dtype != "F32" || t.shape.size() == 1)
                continue;
            const SavedTensor& from = model.tensor(
                t.name == "lm_head.weight" ? t.name : t.name.substr(strlen("transformer.")));
            for (size_t at = 0; at < t.data.size(); at += 4) {
                float a, b;
                memcpy(&a, &t.data[at], 4);
                memcpy(&b, &from.data[at], 4);
                worst = std::max<double>(worst, std::fabs(a - b));
            }
        }
        CHECK(worst > 0);
        CHECK(worst < (type == ElementType::q8 ? 0.0045 : 0.16));
        if (type == ElementType::q4)
            continue;
        // What groups of q8 stand for gives the same groups again.
        REQUIRE(convert_to(out / "back", out / "again.mgpt", type).status.ok());
        check_same_models(out / "q.mgpt", out / "again.mgpt");
    }
}

TEST_CASE("convert export: files of others are left alone") {
    Made made;
    TempFolder out;
    std::string target = out / "model.safetensors";
    REQUIRE(convert_to(made.mgpt, out.path()).status.ok());
    std::string weights = read_file(target);
    CHECK(convert_to(made.mgpt, target).status.ok());  // the same files may be there
    for (const char* name : {"config.json", "vocab.json", "merges.txt"}) {
        std::string good = read_file(out / name);
        write_file(out / name, "other");
        write_file(target, "old");
        std::string message = refusal(made.mgpt, target);
        CHECK(has(message, std::string("holds another ") + name));
        CHECK(has(message, "--force"));
        CHECK(read_file(out / name) == "other");
        CHECK(read_file(target) == "old");
        REQUIRE(convert_to(made.mgpt, target, {}, true).status.ok());
        CHECK(read_file(out / name) == good);
        CHECK(read_file(target) == weights);
    }
    for (const char* name : {"tokenizer.json", "added_tokens.json", "encoder.json", "vocab.bpe"}) {
        write_file(out / name, "{}");
        CHECK(has(refusal(made.mgpt, target, true), std::string("holds ") + name));
        fs::remove(out / name);
    }
    // The source's own files are not replaced, whatever is forced.
    TempFolder folder;
    HfModel model = text_model();
    model.write(folder.path());
    CHECK(has(refusal(folder.path(), folder / "new.safetensors", true), "part of the source"));
    CHECK(has(refusal(folder.path(), folder / "model.safetensors", true), "part of the source"));
}

TEST_CASE("convert export: a place that cannot be written leaves nothing") {
    Made made;
    TempFolder out;
    CHECK(has(refusal(made.mgpt, out / "a/b/"), "cannot be made"));
    CHECK(has(refusal(made.mgpt, out / "a/b/x.safetensors"), "cannot be made"));
    CHECK(fs::is_empty(out.path()));
    REQUIRE(convert_to(made.mgpt, out / "new/").status.ok());
    CHECK(fs::exists(out / "new/model.safetensors"));
    // A weight file that is damaged: found while it is read, after the folder was made.
    std::string bytes = read_file(made.mgpt);
    bytes[bytes.size() - 100] ^= 1;
    write_file(out / "bad.mgpt", bytes);
    CHECK(!std::string(refusal(out / "bad.mgpt", out / "other/")).empty());
    CHECK(!fs::exists(out / "other"));
    Converted typed = convert_to(made.mgpt, out / "t.safetensors", ElementType::f16);
    CHECK(has(typed.status.message(), "--type"));
    fs::create_directory(out / "d.safetensors");
    CHECK(convert_to(made.mgpt, out / "d.safetensors").status.ok());
    CHECK(fs::exists(out / "d.safetensors/model.safetensors"));
}

TEST_CASE("convert export: a weight file cut anywhere is refused") {
    Made made(small_model());
    std::string bytes = read_file(made.mgpt);
    TempFolder folder, out;
    for (size_t n = 0; n < bytes.size(); n += n < 4000 ? 1 : 97) {
        write_file(folder / "m.mgpt", bytes.substr(0, n));
        CAPTURE(n);
        CHECK(!convert_to(folder / "m.mgpt", out / "x.safetensors").status.ok());
    }
    CHECK(fs::is_empty(out.path()));
}

TEST_CASE("convert export: a vocabulary that the files cannot spell is refused") {
    // A special token of one byte that is no UTF-8.
    convert::Vocabulary v;
    v.kind = TokenizerKind::chars;
    v.source = "its tokenizer";
    v.bytes = "a\xff";
    v.offsets = {0, 1, 2};
    v.specials = {1};
    convert::TextFiles files;
    Status status = convert::make_text_files(convert::Plan(), v, v.spec({}), &files);
    CHECK(status.code() == Code::not_supported);
    CHECK(has(status.message(), "cannot spell"));
}

TEST_CASE("convert export: the program says what it wrote") {
    Made made;
    TempFolder out;
    Ran ran = run_program("convert", {made.mgpt, "-o", out / "hf/"});
    CAPTURE(ran.err);
    REQUIRE(ran.exit_status == 0);
    CHECK(has(ran.out, "source:      mgpt, m.mgpt\n"));
    CHECK(has(ran.out, "output:      " + (out / "hf/model.safetensors") + ", "));
    CHECK(has(ran.out, " bytes, config.json, merges.txt, vocab.json\n"));
}

TEST_CASE("convert export: for a weight file, a name without an ending is a folder") {
    Made made;
    TempFolder out;
    std::string of_hf = out / "hf2";
    REQUIRE(convert_to(made.mgpt, of_hf).status.ok());
    CHECK(fs::is_regular_file(of_hf + "/model.safetensors"));
    REQUIRE(convert_to(of_hf, out / "again.mgpt").status.ok());
    check_same_models(made.mgpt, out / "again.mgpt");
    // With --type, and of other sources, it is a weight file; so is what has an ending.
    REQUIRE(convert_to(made.mgpt, out / "q8", ElementType::q8).status.ok());
    REQUIRE(convert_to(of_hf, out / "plain").status.ok());
    REQUIRE(convert_to(made.mgpt, out / "a.b").status.ok());
    for (const char* name : {"q8", "plain", "a.b"})
        CHECK(fs::is_regular_file(out / name));
}
