#include "minigpt/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/allocation_trap.h"
#include "tests/element_types.h"
#include "tests/model/sealed.h"
#include "tests/temp_folder.h"

using namespace minigpt;

namespace {

WriterOptions tested(ElementType type = ElementType::f32) {
    WriterOptions options;
    options.type = type;
    options.self_test = true;
    return options;
}

bool has(const Status& status, const char* part) {
    return strstr(status.message(), part) != nullptr;
}

// Where in the file a value of 8 bytes stands in its directories.
size_t find_in_header(const Image& image, uint64_t value) {
    for (size_t at = 128; at + 8 <= image.size(); at += 8) {
        if (memcmp(image.data() + at, &value, 8) == 0)
            return at;
    }
    FAIL("not found");
    return 0;
}

size_t self_test_offset(const Image& image) {
    // Two sections here: the origin, then the self-test.
    uint64_t offset;
    memcpy(&offset, image.data() + 128 + 32 + 8, 8);
    return static_cast<size_t>(offset);
}

void seal_self_test(Image& image) {
    uint64_t bytes;
    memcpy(&bytes, image.data() + 128 + 32 + 16, 8);
    uint64_t hash = hash64(image.data() + self_test_offset(image), static_cast<size_t>(bytes));
    memcpy(image.data() + 128 + 32 + 24, &hash, 8);
    seal(image);
}

}  // namespace

TEST_CASE("verify: what was written is equal, on every table and number of threads") {
    for (const NamedConfig& named : odd_configs()) {
        for (ElementType type :
             test::computed({ElementType::f32, ElementType::f16, ElementType::bf16})) {
            CAPTURE(std::string(named.name));
            Image image = make_image(named.config, random_arrays(named.config, 3), tested(type));
            Model model;
            REQUIRE(model.open(image.data(), image.size()).ok());
            CHECK(model.check_weights(Compute()).ok());
            REQUIRE(model.n_self_tests() == 3);
            CHECK(model.self_test(0).n_ids == 1);
            CHECK(model.self_test(2).n_ids == std::min<size_t>(17, named.config.n_ctx));
            bool present;
            for (size_t i = 0; const char* isa = isa_name(i, &present); i++) {
                for (size_t n_threads : {1, 3}) {
                    if (!present) {
                        MESSAGE("skipped: this CPU has no ", std::string(isa));
                        continue;
                    }
                    Compute compute;
                    REQUIRE(compute.create(n_threads, isa).ok());
                    Status status = verify(model, compute);
                    CAPTURE(std::string(status.message()));
                    CHECK(status.ok());
                }
            }
        }
    }
}

TEST_CASE("verify: the expected argmax and digest are those of a plain session") {
    Config config = odd_configs()[0].config;
    Image image = make_image(config, random_arrays(config, 4), tested());
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    for (size_t i = 0; i < model.n_self_tests(); i++) {
        SelfTest test = model.self_test(i);
        Compute compute;
        REQUIRE(compute.create(1, bit_exact_isa()).ok());
        SessionOptions options;
        options.compute = &compute;
        Session session;
        REQUIRE(session.create(model, options).ok());
        std::vector<float> logits(config.n_vocab);
        for (size_t j = 0; j < test.n_ids; j++) {
            Row row = {test.ids[j], 0, true};
            REQUIRE(session.forward(&row, 1, logits.data()).ok());
        }
        CHECK(test.digest == logits_digest(logits.data(), logits.size()));
        auto highest = std::max_element(logits.begin(), logits.end());
        CHECK(test.argmax == highest - logits.begin());
    }
}

TEST_CASE("verify: into a file, too, and nothing is left beside it") {
    Config config = odd_configs()[0].config;
    Arrays arrays = random_arrays(config, 4);
    TempFolder folder;
    std::string path = folder / "m.mgpt";
    Writer writer;
    REQUIRE(writer.open(path.c_str(), config, tested()).ok());
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        REQUIRE(writer.add(spec.name, view_of(spec, arrays.at(spec.name))).ok());
    }
    CHECK(!writer.has_self_test());
    REQUIRE(writer.finish().ok());
    CHECK(writer.has_self_test());
    Model model;
    REQUIRE(model.open(path.c_str()).ok());
    CHECK(verify(model, Compute()).ok());
    Image image = make_image(config, arrays, tested());
    REQUIRE(image.size() == model.file_bytes());
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    CHECK(bytes == std::string(reinterpret_cast<const char*>(image.data()), image.size()));
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("verify: one flipped bit of a weight is found, by its checksum or by the logits") {
    Config config = odd_configs()[0].config;
    const Image good = make_image(config, random_arrays(config, 5), tested());
    Model opened;
    REQUIRE(opened.open(good.data(), good.size()).ok());
    for (size_t i = 0; i < opened.n_tensors(); i++) {
        TensorInfo t = opened.tensor(i);
        Image image = good;
        size_t at = static_cast<size_t>(static_cast<const unsigned char*>(t.data) - good.data());
        // The first number, its mantissa's upper bits: position 0, head 0, the first column; of
        // the token table a token that a prompt has.
        if (i == 0) {
            size_t id = static_cast<size_t>(opened.self_test(0).ids[0]);
            at += (id / 16 * config.n_embd * 16 + id % 16) * 4;
        }
        image.data()[at + 2] ^= 0x40;
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        Status status = verify(model, Compute());
        CAPTURE(std::string(status.message()));
        CHECK(status.code() == Code::bad_file);
        CHECK(has(status, t.spec.name));

        size_t entry = find_in_header(image, t.checksum);
        uint64_t hash = hash64(
            image.data() + (static_cast<const unsigned char*>(t.data) - good.data()), t.bytes);
        memcpy(image.data() + entry, &hash, 8);
        seal(image);
        Model sealed;
        REQUIRE(sealed.open(image.data(), image.size()).ok());
        REQUIRE(sealed.check_weights(Compute()).ok());
        status = verify(sealed, Compute());
        CAPTURE(std::string(status.message()));
        CHECK(status.code() == Code::bad_file);
        CHECK(has(status, "logits of prompt "));
    }
}

TEST_CASE("verify: a file without a self-test says so, and its tensors are compared before") {
    Config config = odd_configs()[0].config;
    Image image = make_image(config, random_arrays(config, 5));
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    CHECK(model.n_self_tests() == 0);
    Status status = verify(model, Compute());
    CHECK(status.code() == Code::not_supported);
    CHECK(has(status, "no self-test"));
    image.data()[image.size() - 64] ^= 1;
    CHECK(verify(model, Compute()).code() == Code::bad_file);
    Model closed;
    CHECK(verify(closed, Compute()).code() == Code::bad_argument);
}

TEST_CASE("verify: in memory that is handed in, nothing is allocated") {
    Config config = odd_configs()[0].config;
    Image image = make_image(config, random_arrays(config, 5), tested());
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    Compute compute;
    size_t bytes;
    REQUIRE(verify_bytes(model, compute, &bytes).ok());
    Image memory(bytes);
    size_t before = n_allocations();
    Status status = verify(model, compute, memory.data(), memory.size());
    CHECK((!allocations_are_counted() || n_allocations() == before));
    CHECK(status.ok());
    CHECK(verify(model, compute, memory.data(), bytes - 1).code() == Code::out_of_memory);
    CHECK(verify(model, compute, memory.data() + 4, bytes).code() == Code::bad_argument);
}

TEST_CASE("verify: a self-test that lies is refused, or does no harm") {
    Config config = odd_configs()[0].config;
    const Image good = make_image(config, random_arrays(config, 5), tested());
    size_t begin = self_test_offset(good), bytes = 8 + 3 * 16 + 25 * 4;
    std::mt19937 random(5);
    size_t n_refused = 0, n_found = 0;
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t truth = get<uint32_t>(good, begin + at);
        for (uint32_t lie : {uint32_t{0}, uint32_t{1}, uint32_t{16}, uint32_t{0x7fffffff},
                             uint32_t{0xffffffff}, truth + 1, truth - 1, truth ^ 1, config.n_vocab,
                             config.n_vocab - 1, static_cast<uint32_t>(random())}) {
            Image image = good;
            memcpy(image.data() + begin + at, &lie, 4);
            seal_self_test(image);
            Model model;
            CAPTURE(at);
            CAPTURE(lie);
            Status status = model.open(image.data(), image.size());
            if (!status.ok()) {
                CHECK(status.code() == Code::bad_file);
                CHECK(lie != truth);
                n_refused++;
                continue;
            }
            status = verify(model, Compute());
            CHECK(status.code() == (lie == truth ? Code::ok : Code::bad_file));
            n_found += !status.ok();
        }
    }
    CHECK(n_refused > 0);
    CHECK(n_found > 0);
}

TEST_CASE("verify: every NaN has one digest, and a zero's sign counts") {
    uint32_t bits[] = {0x7fc00000, 0xffc00001, 0x7f800001, 0, 0x80000000};
    float x[5];
    memcpy(x, bits, sizeof x);
    CHECK(logits_digest(x, 1) == logits_digest(x + 1, 1));
    CHECK(logits_digest(x, 1) == logits_digest(x + 2, 1));
    CHECK(logits_digest(x, 1) != logits_digest(x + 3, 1));
    CHECK(logits_digest(x + 3, 1) != logits_digest(x + 4, 1));
}

TEST_CASE("verify: a prompt of the self-test is no longer than the context") {
    Config config = odd_configs()[0].config;
    config.n_ctx = 4;
    Image image = make_image(config, random_arrays(config, 5), tested());
    size_t n_ids = self_test_offset(image) + 8 + 16 + 12;  // of the second prompt; 1, 4 and 4
    REQUIRE(get<uint32_t>(image, n_ids) == 4);
    REQUIRE(get<uint32_t>(image, n_ids + 16) == 4);
    put(image, n_ids, uint32_t{5});
    put(image, n_ids + 16, uint32_t{3});
    seal_self_test(image);
    Model model;
    Status status = model.open(image.data(), image.size());
    CHECK(status.code() == Code::bad_file);
    CHECK(has(status, "prompt 2 of the self-test has 5 ids"));
}

TEST_CASE("verify: the highest logit is compared, too") {
    Config config = odd_configs()[0].config;
    const Image good = make_image(config, random_arrays(config, 5), tested());
    for (size_t i = 0; i < 3; i++) {
        Image image = good;
        size_t argmax = self_test_offset(image) + 8 + 16 * i + 8;
        put(image, argmax, get<int32_t>(image, argmax) ^ 1);
        seal_self_test(image);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        Status status = verify(model, Compute());
        CHECK(status.code() == Code::bad_file);
        CHECK(has(status, ("logits of prompt " + std::to_string(i + 1)).c_str()));
    }
}

TEST_CASE("verify: of equal logits the first is the highest, and NaN is not") {
    Config config = odd_configs()[0].config;
    Arrays arrays = random_arrays(config, 5);
    auto highest = [&] {
        WriterOptions options = tested();
        options.allow_non_finite = true;
        Image image = make_image(config, arrays, options);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        CHECK(verify(model, Compute()).ok());
        return model.self_test(0).argmax;
    };
    std::vector<float>& wte = arrays["wte.weight"];
    const int32_t id = highest();
    std::vector<float> twice = wte;
    REQUIRE(static_cast<size_t>(id) + 1 < config.n_vocab);
    for (size_t e = 0; e < config.n_embd; e++)  // the next token has the same row
        wte[static_cast<size_t>(id + 1) * config.n_embd + e] =
            wte[static_cast<size_t>(id) * config.n_embd + e];
    CHECK(highest() == id);
    wte = twice;
    wte[static_cast<size_t>(id) * config.n_embd] = NAN;
    CHECK(highest() != id);
    wte.assign(wte.size(), 0.0f);
    CHECK(highest() == 0);
}
