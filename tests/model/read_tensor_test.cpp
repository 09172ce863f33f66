// read_tensor() is the inverse of Writer::add().
#include <doctest/doctest.h>

#include <algorithm>

#include "minigpt/model.h"
#include "minigpt/writer.h"
#include "tests/allocation_trap.h"
#include "tests/element_types.h"
#include "tests/model/random_model.h"

using namespace minigpt;

namespace {

// Sizes about a panel's 16 outputs and a group's 32 inputs, so that each kind of edge is there.
std::vector<Config> ragged_configs() {
    std::vector<Config> configs;
    for (uint32_t n_embd : {1, 15, 16, 17, 33, 64}) {
        for (uint32_t n_ff : {1, 31, 32, 48}) {
            Config c;
            c.n_vocab = n_embd + 2;
            c.n_rows = c.n_vocab + n_ff % 3;
            c.n_ctx = 3;
            c.n_embd = n_embd;
            c.n_head = c.n_layer = 1;
            c.n_ff = n_ff;
            c.tied = n_ff != 32;
            configs.push_back(c);
        }
    }
    return configs;
}

Image written(const Config& config, const Arrays& arrays, ElementType type) {
    WriterOptions options;
    options.type = type;
    return make_image(config, arrays, options);
}

std::vector<float> read(const Model& model, const TensorSpec& spec) {
    std::vector<float> all(spec.shape[0] * spec.shape[1]);
    Status status = model.read_tensor(spec.name, all.data(), all.size());
    CAPTURE(std::string(status.message()));
    REQUIRE(status.ok());
    return all;
}

}  // namespace

TEST_CASE("read_tensor: gives what was added, as the file's type has it, for every shape") {
    for (const Config& config : ragged_configs()) {
        Arrays arrays = random_arrays(config, 1);
        for (ElementType type : test::computed()) {
            CAPTURE(config.n_embd);
            CAPTURE(config.n_ff);
            CAPTURE(std::string(name_of(type)));
            Image image = written(config, arrays, type);
            Model model;
            REQUIRE(model.open(image.data(), image.size()).ok());
            Arrays again;
            for (size_t i = 0; i < model.n_tensors(); i++) {
                TensorInfo t = model.tensor(i);
                CAPTURE(std::string(t.spec.name));
                std::vector<float>& all = again[t.spec.name];
                all = read(model, t.spec);
                if (t.type == ElementType::f32)
                    CHECK(all == arrays[t.spec.name]);
                size_t n_wrong = 0;
                for (size_t at = 0; at < all.size(); at++) {
                    size_t n_cols = t.spec.shape[1];
                    n_wrong += all[at] != element(t, at / n_cols, at % n_cols);
                }
                CHECK(n_wrong == 0);
            }
            if (bytes_of(type) == 0)
                continue;
            Image same = written(config, again, type);
            CHECK(memcmp(same.data(), image.data(), image.size()) == 0);
        }
    }
}

TEST_CASE("read_tensor: any rows are those of the whole, and nothing is written beside them") {
    Config config = ragged_configs()[20];  // n_embd 64: groups begin inside
    Arrays arrays = random_arrays(config, 2);
    for (ElementType type : test::computed()) {
        Image image = written(config, arrays, type);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        size_t before = n_allocations();
        for (size_t i = 0; i < model.n_tensors(); i++) {
            TensorSpec spec = model.tensor(i).spec;
            size_t n_rows = spec.shape[0], n_cols = spec.shape[1];
            std::vector<float> whole = read(model, spec);
            for (size_t first : {size_t{0}, size_t{1}, n_rows / 2, n_rows - 1, n_rows}) {
                for (size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{33}, Model::kAllRows}) {
                    size_t count = std::min(n, n_rows - first);
                    std::vector<float> some(count * n_cols + 1, -7.0f);
                    Status status = model.read_tensor(spec.name, some.data(), some.size() - 1,
                                                      first, n == Model::kAllRows ? n : count);
                    REQUIRE(status.ok());
                    CHECK(some.back() == -7.0f);
                    CHECK(std::equal(some.begin(), some.end() - 1, &whole[first * n_cols]));
                }
            }
        }
        std::vector<float> table(size_t{config.n_rows} * config.n_embd);
        before = n_allocations();
        bool ok = model.read_tensor("wte.weight", table.data(), table.size()).ok();
        CHECK(n_allocations() == before);
        CHECK(ok);
    }
}

TEST_CASE("read_tensor: f16 and bf16 are their own 16 bits on request, others are not") {
    Config config = ragged_configs()[14];
    Arrays arrays = random_arrays(config, 3);
    for (ElementType type : test::computed()) {
        Image image = written(config, arrays, type);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        for (size_t i = 0; i < model.n_tensors(); i++) {
            TensorInfo t = model.tensor(i);
            size_t n = t.spec.shape[0] * t.spec.shape[1];
            std::vector<uint16_t> bits(n);
            Status status = model.read_tensor(t.spec.name, bits.data(), n);
            CHECK(status.ok() == (bytes_of(t.type) == 2));
            if (!status.ok()) {
                CHECK(status.code() == Code::bad_argument);
                continue;
            }
            std::vector<float> numbers = read(model, t.spec);
            // Added as halves they give the same bytes as added as floats.
            Arrays halves = {{t.spec.name, numbers}};
            uint64_t n_bytes;
            WriterOptions options;
            options.type = type;
            REQUIRE(Writer::image_bytes(config, options, &n_bytes).ok());
            Image a(n_bytes), b(n_bytes);
            Writer from_bits, from_floats;
            REQUIRE(from_bits.open(a.data(), a.size(), config, options).ok());
            REQUIRE(from_floats.open(b.data(), b.size(), config, options).ok());
            ArrayView view =
                ArrayView::matrix(bits.data(), t.spec.shape[0], t.spec.shape[1], t.type);
            REQUIRE(from_bits.add(t.spec.name, view).ok());
            REQUIRE(from_floats.add(t.spec.name, view_of(t.spec, numbers)).ok());
            CHECK(memcmp(a.data(), b.data(), a.size()) == 0);
        }
    }
}

TEST_CASE("read_tensor: what cannot be is refused by name") {
    Config config = ragged_configs()[0];
    Image image = written(config, random_arrays(config, 4), ElementType::f32);
    Model model;
    float x[64];
    auto refused = [&](const Status& status, const char* text) {
        CHECK(status.code() == Code::bad_argument);
        CAPTURE(std::string(status.message()));
        CHECK(strstr(status.message(), text) != nullptr);
    };
    refused(model.read_tensor("wte.weight", x, 64), "not open");
    REQUIRE(model.open(image.data(), image.size()).ok());
    refused(model.read_tensor(nullptr, x, 64), "name: nullptr");
    refused(model.read_tensor("lm_head.weight", x, 64), "lm_head.weight: no tensor");
    refused(model.read_tensor("wte", x, 64), "wte: no tensor");
    refused(model.read_tensor("wte.weight", static_cast<float*>(nullptr), 64), "to: nullptr");
    size_t n = size_t{config.n_rows} * config.n_embd;
    refused(model.read_tensor("wte.weight", x, n - 1), "room for");
    refused(model.read_tensor("wte.weight", x, 64, config.n_rows + 1), "rows from");
    refused(model.read_tensor("wte.weight", x, 64, 1, config.n_rows), "rows from");
    refused(model.read_tensor("wte.weight", x, 64, SIZE_MAX, 1), "rows from");
    refused(model.read_tensor("wte.weight", x, 64, 1, SIZE_MAX - 1), "rows from");
    CHECK(model.read_tensor("wte.weight", x, n).ok());
}
