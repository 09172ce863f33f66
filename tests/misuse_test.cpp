// Objects that are used before they are made answer harmlessly.
#include <doctest/doctest.h>

#include <string>

#include "minigpt/minigpt.h"
#include "tests/model/random_model.h"

using namespace minigpt;

TEST_CASE("misuse: a model that is not open has no tensors, no tests and no config") {
    Model model;
    Compute compute;
    CHECK(model.check_weights(compute).code() == Code::bad_argument);
    CHECK(model.check_sections(compute).code() == Code::bad_argument);
    CHECK(model.check_tensor(0, compute).code() == Code::bad_argument);
    CHECK(model.n_tensors() == 0);
    CHECK(model.n_self_tests() == 0);
    for (size_t index : {size_t{0}, size_t{1}, SIZE_MAX}) {
        CHECK(model.tensor(index).data == nullptr);
        CHECK(model.tensor(index).bytes == 0);
        CHECK(model.self_test(index).n_ids == 0);
    }
    size_t n_bytes = 1;
    CHECK(model.tokenizer(&n_bytes) == nullptr);
    CHECK(n_bytes == 0);
    size_t bytes;
    CHECK(session_bytes(model, {}, &bytes).code() == Code::bad_argument);
    CHECK(verify(model, compute).code() == Code::bad_argument);
}

TEST_CASE("misuse: a session, a sampler, a writer and a generator that are not created") {
    Session session;
    bool more;
    Row row = {0};
    CHECK(session.forward(&row, 1, nullptr).code() == Code::bad_argument);
    CHECK(session.begin(&row, 1, nullptr).code() == Code::bad_argument);
    CHECK(session.step(1, &more).code() == Code::bad_argument);
    CHECK(session.rewind(0).code() == Code::bad_argument);
    session.cancel();
    CHECK(session.n_past() == 0);
    CHECK(session.n_ctx() == 0);
    CHECK(session.config().n_vocab == 0);
    Sampler sampler;
    float logits[2] = {0, 1};
    sampler.restart();
    CHECK(sampler.sample(logits, nullptr, 0) == -1);
    Writer writer;
    CHECK(writer.finish().code() == Code::bad_argument);
    CHECK(writer.add("wte.weight", ArrayView::vector(logits, 2)).code() == Code::bad_argument);
    Generator generator;
    Piece piece;
    CHECK(generator.prompt(nullptr, 0).code() == Code::bad_argument);
    CHECK(generator.next(&piece).code() == Code::bad_argument);
}

TEST_CASE("misuse: a writer refuses an empty path and tables that are not there") {
    Config config;
    config.n_vocab = config.n_rows = 16;
    config.n_ctx = config.n_embd = config.n_ff = 16;
    config.n_head = config.n_layer = 1;
    WriterOptions options;
    CHECK(Writer().open("", config, options).code() == Code::bad_argument);
    CHECK(Writer().open(nullptr, config, options).code() == Code::bad_argument);
    options.tokenizer_bytes = 200;
    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, options, &bytes).ok());
    Image image(static_cast<size_t>(bytes));
    CHECK(Writer().open(image.data(), image.size(), config, options).code() == Code::bad_argument);
}

namespace {

// A small open model and a session on it.
struct Small {
    Config config = odd_configs()[0].config;
    WriterOptions options;
    Image image = make();
    Model model;
    Session session;
    Small() {
        REQUIRE(model.open(image.data(), image.size()).ok());
        REQUIRE(session.create(model, {}).ok());
    }
    Image make() {
        options.self_test = true;
        return make_image(config, random_arrays(config, 3), options);
    }
};

void refused(const Status& status, const char* name) {
    CAPTURE(std::string(name));
    CAPTURE(std::string(status.message()));
    CHECK(status.code() == Code::bad_argument);
    CHECK(std::string(status.message()).find(name) == 0);
}

}  // namespace

TEST_CASE("misuse: null pointers are bad_argument in every call on a model and a session") {
    Small small;
    Row row = {0, 0, true};
    bool more;
    size_t bytes;
    refused(small.session.forward(nullptr, 3, nullptr), "rows: nullptr");
    refused(small.session.begin(nullptr, 3, nullptr), "rows: nullptr");
    refused(small.session.forward(&row, 1, nullptr), "row 0 wants logits; logits is null");
    CHECK(small.session.forward(nullptr, 0, nullptr).ok());
    row.logits = false;
    REQUIRE(small.session.begin(&row, 1, nullptr).ok());
    refused(small.session.step(1, nullptr), "more: nullptr");
    CHECK(small.session.step(SIZE_MAX, &more).ok());
    CHECK(small.session.n_past() == 1);
    refused(session_bytes(small.model, {}, nullptr), "bytes: nullptr");
    SessionOptions options;
    Session closed, other;
    options.prefix = &closed;
    refused(other.create(small.model, options), "the prefix's session");
    options.prefix = nullptr;
    options.memory_bytes = 5;  // of no memory
    CHECK(other.create(small.model, options).ok());
    refused(verify_bytes(small.model, Compute(), nullptr), "bytes: nullptr");
    CHECK(verify_bytes(small.model, Compute(), &bytes).ok());
    CHECK(logits_digest(nullptr, 3) == logits_digest(nullptr, 0));
    Model model;
    refused(model.open(nullptr), "path: nullptr");
    refused(model.load(nullptr), "path: nullptr");
    refused(model.open(nullptr, 4096), "image: nullptr");
    CHECK(small.model.tokenizer(nullptr) == nullptr);
    refused(small.model.read_tensor(nullptr, static_cast<float*>(nullptr), 0), "name: nullptr");
}

TEST_CASE("misuse: null pointers are bad_argument in every call on a writer") {
    Small small;
    Writer writer;
    WriterOptions options;
    uint64_t bytes;
    refused(Writer::image_bytes(small.config, options, nullptr), "bytes: nullptr");
    for (auto field :
         {&WriterOptions::source_format, &WriterOptions::source_name, &WriterOptions::converter}) {
        WriterOptions without;
        without.*field = nullptr;
        CHECK(Writer::image_bytes(small.config, without, &bytes).code() == Code::bad_argument);
        CHECK(writer.open("x", small.config, without).code() == Code::bad_argument);
    }
    REQUIRE(Writer::image_bytes(small.config, options, &bytes).ok());
    CHECK(writer.open(nullptr, static_cast<size_t>(bytes), small.config, options).code() ==
          Code::bad_argument);
    Image image(static_cast<size_t>(bytes));
    REQUIRE(writer.open(image.data(), image.size(), small.config, options).ok());
    float x = 0;
    refused(writer.add(nullptr, ArrayView::vector(&x, 1)), "name: nullptr");
    ArrayView none = ArrayView::vector(nullptr, small.config.n_embd);
    refused(writer.add("ln_f.weight", none), "ln_f.weight: an array");
}

TEST_CASE("misuse: null pointers are bad_argument in every op, but of no elements") {
    alignas(64) static char memory[1 << 20];
    float x[64] = {};
    const Operand plain = Operand::plain;
    size_t bytes;
    double number;
    auto product = [&](float* c, const float* a, const float* b, size_t k) {
        return gemm(c, 4, a, 4, plain, b, 4, plain, 4, 4, k, false, memory, sizeof memory);
    };
    refused(product(nullptr, x, x, 4), "c: nullptr");
    refused(product(x, nullptr, x, 4), "a: nullptr");
    refused(product(x, x, nullptr, 4), "b: nullptr");
    refused(product(nullptr, nullptr, nullptr, 0), "c: nullptr");
    CHECK(product(x, nullptr, nullptr, 0).ok());
    CHECK(gemm(nullptr, 4, x, 4, plain, x, 4, plain, 0, 4, 4, false, nullptr, 0).ok());
    refused(gemm(x, 4, x, 4, plain, x, 4, plain, 4, 4, 4, false, nullptr, 9),
            "workspace: nullptr; expected");
    refused(gemm_workspace_bytes(1, 1, 1, nullptr), "bytes: nullptr");
    refused(layernorm(nullptr, x, nullptr, nullptr, 1, 4, 1e-5f), "y: nullptr");
    refused(layernorm(x, nullptr, nullptr, nullptr, 1, 4, 1e-5f), "x: nullptr");
    CHECK(layernorm(nullptr, nullptr, nullptr, nullptr, 0, 4, 1e-5f).ok());
    for (auto f : {exp_each, log_each, tanh_each, erf_each}) {
        refused(f(nullptr, x, 4, nullptr), "y: nullptr");
        refused(f(x, nullptr, 4, nullptr), "x: nullptr");
        CHECK(f(nullptr, nullptr, 0, nullptr).ok());
    }
    for (Activation activation : {Activation::gelu_tanh, Activation::gelu_erf}) {
        refused(gelu(nullptr, x, 4, activation), "y: nullptr");
        refused(gelu(x, nullptr, 4, activation), "x: nullptr");
    }
    refused(masked_softmax(nullptr, x, 2, 2, 2, 0), "probs: nullptr");
    refused(masked_softmax(x, nullptr, 2, 2, 2, 0), "scores: nullptr");
    CHECK(masked_softmax(nullptr, nullptr, 2, 0, 2, 0).ok());
    refused(attention_workspace_bytes(1, 0, 1, 4, nullptr), "bytes: nullptr");
    REQUIRE(attention_workspace_bytes(1, 0, 1, 4, &bytes).ok());
    REQUIRE(bytes <= sizeof memory);
    for (const char* null : {"out", "q", "k", "v"}) {
        auto given = [&](const char* name) { return strcmp(name, null) == 0 ? nullptr : x; };
        Status status = attention(given("out"), given("q"), given("k"), given("v"), 1, 0, 1, 4,
                                  1.0f, nullptr, memory, sizeof memory);
        refused(status, (std::string(null) + ": nullptr").c_str());
    }
    refused(log_prob(nullptr, x, 4, 0), "result: nullptr");
    refused(log_prob(&number, nullptr, 4, 0), "logits: nullptr");
    refused(measure_fma(nullptr), "flops: nullptr");
    refused(measure_read(nullptr, memory, sizeof memory), "rate: nullptr");
    refused(measure_read(&number, nullptr, 4096), "data: nullptr");
    run_units(Compute(), 3, nullptr, nullptr);
}

TEST_CASE("misuse: a value that is none of an enum's is bad_argument, or has no name") {
    Small small;
    alignas(64) static char memory[1 << 16];
    float x[16] = {};
    uint64_t bytes;
    for (uint32_t value : {2u, 5u, 0xffffffffu}) {
        Operand op = static_cast<Operand>(value), plain = Operand::plain;
        refused(gemm(x, 4, x, 4, op, x, 4, plain, 4, 4, 4, false, memory, sizeof memory), "op_a");
        refused(gemm(x, 4, x, 4, plain, x, 4, op, 4, 4, 4, false, memory, sizeof memory), "op_b");
        refused(gelu(x, x, 4, static_cast<Activation>(value)), "activation");
        Config config = small.config;
        config.activation = static_cast<Activation>(value);
        refused(check(config), "activation");
        CHECK(std::string(name_of(config.activation)) == "?");
    }
    for (uint32_t value : {5u, 6u, 0xffffffffu}) {
        ElementType type = static_cast<ElementType>(value);
        CHECK(std::string(name_of(type)) == "?");
        CHECK(bytes_of(type) == 0);
        WriterOptions options;
        options.type = type;
        refused(Writer::image_bytes(small.config, options, &bytes), "type: found");
        Writer writer;
        refused(writer.open("x", small.config, options), "type: found");
        SessionOptions session;
        session.kv = static_cast<KvType>(value);
        size_t size;
        refused(session_bytes(small.model, session, &size), "kv: found");
        Session other;
        refused(other.create(small.model, session), "kv: found");
        REQUIRE(Writer::image_bytes(small.config, {}, &bytes).ok());
        Image image(static_cast<size_t>(bytes));
        REQUIRE(writer.open(image.data(), image.size(), small.config, {}).ok());
        refused(writer.add("ln_f.weight", ArrayView::vector(x, small.config.n_embd, type)),
                "ln_f.weight: an array");
    }
}
