// --list, and GPT-2's own vocabulary where there is none.
#include "convert/convert.h"

#include <doctest/doctest.h>

#include "tests/tools/convert/formats/gguf_maker.h"
#include "tests/tools/convert/formats/npz_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

std::string list_of(const std::string& source) {
    convert::Options options;
    options.source = source;
    std::string text;
    convert::Failure failure = convert::list(options, &text);
    CAPTURE(std::string(failure.status.message()));
    REQUIRE(failure.status.ok());
    return text;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A model of one layer with so many rows, all numbers zero.
HfModel rows_model(uint64_t n_rows) {
    HfModel model = small_model();
    model.set("vocab_size", std::to_string(n_rows));
    SavedTensor& table = model.tensor("wte.weight");
    table.shape[0] = n_rows;
    table.data.assign(n_rows * 8 * 4, '\0');
    return model;
}

}  // namespace

TEST_CASE("convert list: kind, configuration and every tensor, in every format") {
    HfModel model = text_model("F16");
    TempFolder folder, out;
    model.write(folder.path());
    std::string hf = list_of(folder.path());
    REQUIRE(convert_to(folder.path(), out / "m.mgpt").status.ok());
    write_file(out / "m.gguf", gguf_of(model).file());
    CHECK(has(hf,
              "source:      safetensors, model.safetensors, config.json, vocab.json, "
              "merges.txt\n"));
    CHECK(has(hf, "  h.1.attn.c_attn.weight  F16  [32, 96] "));
    CHECK(has(hf, "vocabulary:  byte-level BPE, 261 tokens"));
    std::string mgpt = list_of(out / "m.mgpt"), gguf = list_of(out / "m.gguf");
    CHECK(has(mgpt, "source:      mgpt, m.mgpt\n"));
    CHECK(has(mgpt, "  h.1.attn.c_attn.weight  f16  [32, 96] "));
    CHECK(has(mgpt, "vocabulary:  byte-level BPE, 261 tokens, one of them special, 4 merges"));
    CHECK(has(gguf, "source:      GGUF, m.gguf\n"));
    CHECK(has(gguf, "  blk.1.attn_qkv.weight     F16  [96, 32]   h.1.attn.c_attn.weight\n"));
    for (const std::string& text : {hf, mgpt, gguf}) {
        CAPTURE(text);
        CHECK(has(text,
                  "model:       2 layers, 2 heads, n_embd 32, n_ff 256, n_ctx 6, "
                  "vocabulary 264, gelu_tanh, epsilon 1e-05, tied head\n"));
        CHECK(has(text, "tensors:     28\n"));
        size_t n_lines = 0;
        for (size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos; at++)
            n_lines++;
        CHECK(n_lines == 28);
    }
}

TEST_CASE("convert list: what cannot be converted is listed, and says why") {
    HfModel model = small_model();
    TempFolder folder;
    write_file(folder / "m.npz", npz_of(model));
    std::string text = list_of(folder.path());
    CHECK(has(text, "no model:    "));
    CHECK(has(text, "n_embd 8"));
    CHECK(has(text, "  wte.weight"));
    model.tensors.push_back({"extra", "I64", {}, "12345678"});
    model.write(folder.path());
    text = list_of(folder / "model.safetensors");
    CHECK(has(text, "extra [] is left over"));
    CHECK(has(text, "  extra   "));
    CHECK(has(text, "  I64  []       ?\n"));
    Ran ran = run_program("convert", {"--list", folder / "model.safetensors"});
    CHECK(ran.exit_status == 0);
    CHECK(ran.out == text);
    CHECK(ran.err.empty());
    CHECK(run_program("convert", {"--list", folder / "nothing"}).exit_status == 1);
    CHECK(run_program("convert", {"--list", folder.path(), "-o", "x"}).exit_status == 2);
    CHECK(run_program("convert", {"--list"}).exit_status == 2);
}

TEST_CASE("convert vocabulary: 50,257 or 50,304 rows without one have GPT-2's own") {
    for (uint64_t n_rows : {50257, 50304}) {
        TempFolder folder, out;
        rows_model(n_rows).write(folder.path());
        Converted done = convert_to(folder.path(), out / "m.mgpt");
        CAPTURE(std::string(done.status.message()));
        REQUIRE(done.status.ok());
        CHECK(done.report.plan.config.n_vocab == 50257);
        CHECK(done.report.plan.config.n_rows == n_rows);
        CHECK(done.report.n_merges == 50000);
        REQUIRE(!done.report.notes.empty());
        CHECK(has(done.report.notes[0], "GPT-2's own vocabulary is taken"));
        Model model;
        REQUIRE(model.open((out / "m.mgpt").c_str()).ok());
        Tokenizer tokenizer;
        REQUIRE(tokenizer.open(model).ok());
        CHECK(tokenizer.eos() == 50256);
        int32_t ids[8];
        size_t n = 0;
        REQUIRE(tokenizer.encode("Hello  world", ids, 8, &n).ok());
        CHECK(std::vector<int32_t>(ids, ids + n) == std::vector<int32_t>{15496, 220, 995});
    }
    for (uint64_t n_rows : {50256, 50258, 50303}) {
        TempFolder folder, out;
        rows_model(n_rows).write(folder.path());
        Converted done = convert_to(folder.path(), out / "m.mgpt");
        REQUIRE(done.status.ok());
        CHECK(done.report.vocabulary_kind == TokenizerKind::none);
        CHECK(done.report.plan.config.n_vocab == n_rows);
    }
}

TEST_CASE("convert: what there is one of is told in the singular") {
    convert::Report report;
    report.plan.config.n_layer = report.plan.config.n_head = 1;
    report.vocabulary_kind = TokenizerKind::bpe;
    report.n_tokens = report.n_merges = report.n_subnormal = 1;
    std::string one = text_of(report, {});
    for (const char* part : {"1 layer, 1 head, ", ", 1 token, 1 merge (", " 1 subnormal weight;"})
        CHECK(has(one, part));
    report.plan.config.n_layer = report.plan.config.n_head = 2;
    report.n_tokens = report.n_merges = report.n_subnormal = 2;
    std::string two = text_of(report, {});
    for (const char* part :
         {"2 layers, 2 heads, ", ", 2 tokens, 2 merges (", " 2 subnormal weights;"})
        CHECK(has(two, part));
}
