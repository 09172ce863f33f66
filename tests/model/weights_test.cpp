#include "minigpt/writer.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "base/half.h"
#include "base/hash.h"
#include "minigpt/model.h"
#include "tests/model/random_model.h"
#include "tests/quick.h"
#include "tests/temp_folder.h"

using namespace minigpt;

namespace {

bool same_config(const Config& a, const Config& b) {
    return a.n_vocab == b.n_vocab && a.n_rows == b.n_rows && a.n_ctx == b.n_ctx &&
           a.n_embd == b.n_embd && a.n_head == b.n_head && a.n_layer == b.n_layer &&
           a.n_ff == b.n_ff && a.layer_norm_epsilon == b.layer_norm_epsilon &&
           a.activation == b.activation && a.biases == b.biases && a.tied == b.tied &&
           a.scale_attn_weights == b.scale_attn_weights &&
           a.scale_attn_by_inverse_layer_idx == b.scale_attn_by_inverse_layer_idx;
}

float rounded(float x, ElementType type) {
    if (type == ElementType::f16)
        return f16_to_float(float_to_f16(x));
    if (type == ElementType::bf16)
        return bf16_to_float(float_to_bf16(x));
    return x;
}

bool is_grouped(const TensorInfo& t) {
    return t.type == ElementType::q8 || t.type == ElementType::q4;
}

// A file of `type` has its vectors in f32, positions in f16 where others are in groups, and its
// token table never in q4.
ElementType expected_type(const TensorSpec& spec, ElementType type) {
    bool grouped = type == ElementType::q8 || type == ElementType::q4;
    if (spec.n_dims == 1)
        return ElementType::f32;
    if (spec.layout == Layout::rows && grouped)
        return ElementType::f16;
    return spec.is_table && grouped ? ElementType::q8 : type;
}

float quantized(float x, float scale, ElementType type) {
    float least = type == ElementType::q8 ? -127.0f : -8.0f;
    float most = type == ElementType::q8 ? 127.0f : 7.0f;
    return std::max(least, std::min(most, std::nearbyint(x * (1.0f / scale)))) * scale;
}

// The scale of a group's output whose numbers are `all`.
float scale_of(const std::vector<float>& all, ElementType type) {
    float largest = 0;
    for (float x : all)
        largest = std::max(largest, std::fabs(x));
    if (type == ElementType::q8)
        return f16_to_float(float_to_f16(largest / 127.0f));
    float least = INFINITY, best = 0;
    for (int c = 0; c <= 60; c++) {
        for (float sign : {-1.0f, 1.0f}) {
            float steps = 5.5f + 0.05f * static_cast<float>(c);
            float scale = f16_to_float(float_to_f16(largest / (sign * steps))), error = 0;
            for (float x : all) {
                float away = x - quantized(x, scale, type);
                error += away * away;
            }
            if (error < least) {
                least = error;
                best = scale;
            }
        }
    }
    return best;
}

// Whether a tensor of the file is the array `a` in the tensor's type, group by group.
bool is_array(const TensorInfo& t, const std::vector<float>& a) {
    const size_t rows = t.spec.shape[0], columns = t.spec.shape[1];
    bool same = true;
    if (!is_grouped(t)) {
        for (size_t i = 0; i < rows * columns; i++)
            same = same && element(t, i / columns, i % columns) == rounded(a[i], t.type);
        return same;
    }
    for (size_t out = 0; out < t.spec.n_out(); out++) {
        for (size_t first = 0; first < t.spec.n_in(); first += 32) {
            size_t n = std::min<size_t>(32, t.spec.n_in() - first);
            auto row = [&](size_t i) { return t.spec.is_table ? out : first + i; };
            auto column = [&](size_t i) { return t.spec.is_table ? first + i : out; };
            std::vector<float> all(n);
            for (size_t i = 0; i < n; i++)
                all[i] = a[row(i) * columns + column(i)];
            float scale = scale_of(all, t.type);
            for (size_t i = 0; i < n; i++)
                same = same && element(t, row(i), column(i)) == quantized(all[i], scale, t.type);
        }
    }
    return same;
}

// Past n_in and n_out the numbers are zeros, too.
bool padding_is_zero(const TensorInfo& t) {
    bool zero = true;
    for (size_t out = 0; out < (t.spec.n_out() + 15) / 16 * 16; out++) {
        for (size_t k = 0; k < (t.spec.n_in() + 31) / 32 * 32; k++) {
            if (k >= t.spec.n_in() || out >= t.spec.n_out())
                zero = zero && grouped_element(t, k, out) == 0;
        }
    }
    return zero;
}

Status add_changed(const Config& config, const char* name, const ArrayView& array,
                   WriterOptions options = {}) {
    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, options, &bytes).ok());
    Image image(bytes);
    Writer writer;
    REQUIRE(writer.open(image.data(), image.size(), config, options).ok());
    return writer.add(name, array);
}

// The field at a byte of the header that may say something else of the same tensors; nullptr: no
// such field.
const char* harmless(size_t at, size_t n_sections, size_t n_tensors) {
    if (at >= 128) {
        size_t sections_end = 128 + n_sections * 32;
        if (at >= sections_end + n_tensors * 96)
            return "padding";
        size_t in_entry = at < sections_end ? (at - 128) % 32 + 64 : (at - sections_end) % 96;
        // A section of a kind that the reader does not know is passed over.
        if (at < sections_end && in_entry == 64)
            return "kind";
        // One that is longer by a part of its padding has another checksum, too.
        if (at < sections_end && in_entry == 80)
            return "checksum";
        return in_entry >= 88 ? "checksum" : nullptr;
    }
    switch (at) {
        case 32:
            return "n_vocab";
        case 48:
            return "n_head";
        case 60:
            return "layer_norm_epsilon";
        case 64:
            return "activation";
        case 72:
            return "flags";
        default:
            return nullptr;
    }
}

}  // namespace

TEST_CASE("weights: GPT-2's five sizes have the parameters that everyone counts") {
    struct {
        uint32_t n_layer, n_head, n_embd;
        uint64_t parameters;
    } sizes[] = {{6, 12, 768, 81912576},
                 {12, 12, 768, 124439808},
                 {24, 16, 1024, 354823168},
                 {36, 20, 1280, 774030080},
                 {48, 25, 1600, 1557611200}};
    for (auto& size : sizes) {
        Config c;
        c.n_vocab = c.n_rows = 50257;
        c.n_ctx = 1024;
        c.n_embd = size.n_embd;
        c.n_head = size.n_head;
        c.n_layer = size.n_layer;
        c.n_ff = 4 * size.n_embd;
        CHECK(check(c).ok());
        CHECK(parameter_count(c, false) == size.parameters);
        CHECK(tensor_count(c) == 2 + 12 * size.n_layer + 2);
        if (size.n_layer == 12)
            CHECK(parameter_count(c, true) == 163037184);
    }
}

TEST_CASE("weights: tensors have their names once, in order") {
    for (const NamedConfig& named : odd_configs()) {
        CAPTURE(std::string(named.name));
        std::set<std::string> names;
        size_t n = tensor_count(named.config);
        for (size_t i = 0; i < n; i++)
            names.insert(tensor_spec(named.config, i).name);
        CHECK(names.size() == n);
        CHECK(names.count("lm_head.weight") == !named.config.tied);
        CHECK(names.count("h.0.attn.c_attn.bias") == ((named.config.biases & kBiasAttnQkv) != 0));
        CHECK(std::string(tensor_spec(named.config, 0).name) == "wte.weight");
    }
}

TEST_CASE("weights: what is written is read back, in every type and from any strides") {
    for (const NamedConfig& named : odd_configs()) {
        if (named.config.n_embd > if_quick(64, 1000))
            continue;
        for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16,
                                 ElementType::q8, ElementType::q4}) {
            CAPTURE(std::string(named.name));
            CAPTURE(std::string(name_of(type)));
            Arrays arrays = random_arrays(named.config, 1);
            WriterOptions options;
            options.type = type;
            options.source_format = "test";
            options.source_name = "random";
            options.converter = "tests";
            Image image = make_image(named.config, arrays, options);
            Model model;
            Status status = model.open(image.data(), image.size());
            CAPTURE(std::string(status.message()));
            REQUIRE(status.ok());
            CHECK(model.check_weights(Compute()).ok());
            CHECK(std::string(model.source_format()) == "test");
            CHECK(std::string(model.source_name()) == "random");
            CHECK(std::string(model.converter()) == "tests");
            CHECK(same_config(model.config(), named.config));
            REQUIRE(model.n_tensors() == tensor_count(named.config));
            for (size_t i = 0; i < model.n_tensors(); i++) {
                TensorInfo t = model.tensor(i);
                CHECK(reinterpret_cast<uintptr_t>(t.data) % 64 == 0);
                CHECK(t.type == expected_type(t.spec, type));
                CHECK_MESSAGE(is_array(t, arrays[t.spec.name]), std::string(t.spec.name));
                if (t.type == ElementType::q8 || t.type == ElementType::q4)
                    CHECK_MESSAGE(padding_is_zero(t), std::string(t.spec.name));
            }
        }
    }
}

TEST_CASE("weights: a transposed array with exchanged strides gives the same file") {
    Config config = odd_configs()[3].config;
    Arrays arrays = random_arrays(config, 2);
    Image expected = make_image(config, arrays);
    Image image(expected.size());
    Writer writer;
    REQUIRE(writer.open(image.data(), image.size(), config, {}).ok());
    for (size_t i = tensor_count(config); i-- > 0;) {  // in any order
        TensorSpec spec = tensor_spec(config, i);
        const std::vector<float>& a = arrays[spec.name];
        std::vector<float> transposed(a.size());
        size_t n_rows = spec.shape[0], n_cols = spec.shape[1];
        for (size_t r = 0; r < n_rows; r++) {
            for (size_t c = 0; c < n_cols; c++)
                transposed[c * n_rows + r] = a[r * n_cols + c];
        }
        ArrayView view = view_of(spec, transposed);
        view.row_stride = 1;
        view.col_stride = n_rows;
        REQUIRE(writer.add(spec.name, view).ok());
    }
    REQUIRE(writer.finish().ok());
    CHECK(memcmp(image.data(), expected.data(), image.size()) == 0);
}

TEST_CASE("weights: a file and a buffer are the same bytes, mapped or in memory the same model") {
    TempFolder folder;
    Config config = odd_configs()[0].config;
    Arrays arrays = random_arrays(config, 3);
    Image image = make_image(config, arrays);
    std::string path = folder / "model.mgpt";
    Writer writer;
    REQUIRE(writer.open(path.c_str(), config, {}).ok());
    for (auto& [name, a] : arrays) {
        size_t i = 0;
        while (tensor_spec(config, i).name != name)
            i++;
        CHECK(!std::ifstream(path).good());
        REQUIRE(writer.add(name.c_str(), view_of(tensor_spec(config, i), a)).ok());
    }
    REQUIRE(writer.finish().ok());
    std::ifstream in(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    REQUIRE(bytes.size() == image.size());
    CHECK(memcmp(bytes.data(), image.data(), image.size()) == 0);
    Model model;
    CHECK(model.open(path.c_str()).ok());
    CHECK(model.open(path.c_str()).code() == Code::bad_argument);
    CHECK(model.load(path.c_str()).code() == Code::bad_argument);
    Model loaded;
    CHECK(loaded.load((path + "x").c_str()).code() == Code::io);
    REQUIRE(loaded.load(path.c_str()).ok());
    { std::ofstream truncated(path); }
    CHECK(loaded.file_bytes() == image.size());
    CHECK(loaded.check_weights(Compute()).ok());
}

TEST_CASE("weights: the writer names what is wrong") {
    Config config = odd_configs()[0].config;
    Arrays arrays = random_arrays(config, 4);
    std::vector<float>& fc = arrays["h.1.mlp.c_fc.weight"];
    ArrayView view = ArrayView::matrix(fc.data(), config.n_embd, config.n_ff);
    auto says = [](const Status& status, const char* text) {
        CAPTURE(std::string(status.message()));
        CHECK(!status.ok());
        CHECK(strstr(status.message(), text) != nullptr);
    };
    ArrayView turned = ArrayView::matrix(fc.data(), config.n_ff, config.n_embd);
    says(add_changed(config, "h.1.mlp.c_fc.weight", turned),
         "h.1.mlp.c_fc.weight: shape is [128, 32]; expected [32, 128]");
    says(add_changed(config, "h.1.mlp.c_fc.bias", view), "shape is [32, 128]; expected [128]");
    says(add_changed(config, "h.2.mlp.c_fc.weight", view), "h.2.mlp.c_fc.weight: no tensor");
    says(add_changed(config, "lm_head.weight", view), "lm_head.weight: no tensor");
    fc[5 * 128 + 77] = NAN;
    says(add_changed(config, "h.1.mlp.c_fc.weight", view), "weight: NaN at [5, 77]");
    fc[5 * 128 + 77] = -INFINITY;
    says(add_changed(config, "h.1.mlp.c_fc.weight", view), "weight: infinity at [5, 77]");
    fc[5 * 128 + 77] = 70000;
    WriterOptions f16;
    f16.type = ElementType::f16;
    CHECK(add_changed(config, "h.1.mlp.c_fc.weight", view).ok());
    says(add_changed(config, "h.1.mlp.c_fc.weight", view, f16), "70000 at [5, 77] overflows f16");
    std::vector<float>& wte = arrays["wte.weight"];
    wte[20 * 32 + 9] = NAN;
    says(add_changed(config, "wte.weight", ArrayView::matrix(wte.data(), 65, 32)),
         "NaN at [20, 9]");
    std::vector<float>& bias = arrays["ln_f.bias"];
    bias[31] = NAN;
    says(add_changed(config, "ln_f.bias", ArrayView::vector(bias.data(), 32)), "NaN at [31]");
    WriterOptions force;
    force.allow_non_finite = true;
    CHECK(add_changed(config, "ln_f.bias", ArrayView::vector(bias.data(), 32), force).ok());

    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, {}, &bytes).ok());
    Image image(bytes);
    Writer writer;
    says(writer.open(image.data(), image.size() - 1, config, {}), "bytes for the image");
    says(writer.open(image.data() + 1, image.size(), config, {}), "expected a multiple of 64");
    REQUIRE(writer.open(image.data(), image.size(), config, {}).ok());
    fc[5 * 128 + 77] = 1;
    REQUIRE(writer.add("h.1.mlp.c_fc.weight", view).ok());
    says(writer.add("h.1.mlp.c_fc.weight", view), "added twice");
    says(writer.finish(), "wte.weight: missing");
}

TEST_CASE("weights: q8 and q4 name what is wrong, and make NaN of it on request") {
    Config config = odd_configs()[0].config;
    for (ElementType type : {ElementType::q8, ElementType::q4}) {
        Arrays arrays = random_arrays(config, 8);
        std::vector<float>& fc = arrays["h.1.mlp.c_fc.weight"];
        ArrayView view = ArrayView::matrix(fc.data(), config.n_embd, config.n_ff);
        WriterOptions options;
        options.type = type;
        auto says = [&](float x, const char* text) {
            fc[5 * 128 + 77] = x;
            Status status = add_changed(config, "h.1.mlp.c_fc.weight", view, options);
            CAPTURE(std::string(status.message()));
            CHECK(status.code() == Code::bad_file);
            CHECK(strstr(status.message(), text) != nullptr);
        };
        says(NAN, "weight: NaN at [5, 77]; expected finite");
        says(-INFINITY, "weight: infinity at [5, 77]; expected finite");
        says(-1e7f, type == ElementType::q8 ? "weight: -1e+07 at [5, 77] overflows q8"
                                            : "weight: -1e+07 at [5, 77] overflows q4");
        options.allow_non_finite = true;
        Image image = make_image(config, arrays, options);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        for (size_t i = 0; i < model.n_tensors(); i++) {
            TensorInfo t = model.tensor(i);
            if (std::string(t.spec.name) != "h.1.mlp.c_fc.weight")
                continue;
            CHECK(std::isnan(element(t, 5, 77)));
            CHECK(std::isnan(element(t, 6, 77)));
            CHECK(!std::isnan(element(t, 5, 76)));
        }
    }
}

TEST_CASE("weights: the smallest numbers of q8 and q4 are multiples of f16's smallest") {
    Config config = odd_configs()[0].config;
    for (ElementType type : {ElementType::q8, ElementType::q4}) {
        Arrays arrays = random_arrays(config, 9);
        std::vector<float>& fc = arrays["h.0.mlp.c_fc.weight"];
        // The largest of a group is 7 steps at most: then each scale is one step, or minus one.
        constexpr float kStep = 0x1p-24f;
        std::mt19937 random(9);
        for (float& x : fc)
            x = (static_cast<float>(random() >> 8) / 8388608.0f - 1) * 7 * kStep;
        for (size_t i = 0; i < fc.size(); i += 128)
            fc[i] = 0;
        WriterOptions options;
        options.type = type;
        Image image = make_image(config, arrays, options);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        for (size_t i = 0; i < model.n_tensors(); i++) {
            TensorInfo t = model.tensor(i);
            if (std::string(t.spec.name) != "h.0.mlp.c_fc.weight")
                continue;
            size_t n_wrong = 0;
            for (size_t at = 0; at < fc.size(); at++) {
                float found = element(t, at / 128, at % 128);
                n_wrong += found != std::nearbyint(fc[at] / kStep) * kStep;
            }
            CHECK(n_wrong == 0);
        }
    }
}

TEST_CASE("weights: element types that a tensor cannot have are refused") {
    Config config = odd_configs()[0].config;
    WriterOptions options;
    options.type = static_cast<ElementType>(5);
    uint64_t bytes;
    CHECK(Writer::image_bytes(config, options, &bytes).code() == Code::bad_argument);
    for (ElementType type : {ElementType::f32, ElementType::q8, ElementType::q4}) {
        options.type = type;
        Image image = make_image(config, random_arrays(config, 10), options);
        uint32_t header_bytes, n_sections, n_tensors;
        memcpy(&header_bytes, image.data() + 12, 4);
        memcpy(&n_sections, image.data() + 76, 4);
        memcpy(&n_tensors, image.data() + 80, 4);
        for (uint32_t i = 0; i < n_tensors; i++) {
            unsigned char* at = image.data() + 128 + n_sections * 32 + i * 96 + 48;
            uint32_t before, zero[2] = {};
            memcpy(&before, at, 4);
            for (uint32_t other : {0u, 1u, 2u, 3u, 4u, 5u, 0xffffffffu}) {
                bool same_size = before + other == 3 && before * other == 2;  // f16 and bf16
                if (other == before || same_size)
                    continue;
                memcpy(at, &other, 4);
                memcpy(image.data() + 24, zero, 8);
                uint64_t hash = hash64(image.data(), header_bytes);
                memcpy(image.data() + 24, &hash, 8);
                Model model;
                CHECK(model.open(image.data(), image.size()).code() == Code::bad_file);
            }
            memcpy(at, &before, 4);
        }
    }
}

TEST_CASE("weights: subnormal numbers are counted") {
    Config config = odd_configs()[0].config;
    std::vector<float> bias(32, 0.0f);
    bias[3] = 1e-40f;
    bias[4] = -1e-45f;
    bias[5] = 1.1754944e-38f;
    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, {}, &bytes).ok());
    Image image(bytes);
    Writer writer;
    REQUIRE(writer.open(image.data(), image.size(), config, {}).ok());
    REQUIRE(writer.add("ln_f.bias", ArrayView::vector(bias.data(), 32)).ok());
    CHECK(writer.n_subnormal() == 2);
}

TEST_CASE("weights: every shape that cannot be is refused with its field") {
    Config good = odd_configs()[0].config;
    auto refused = [&](const char* field, auto change) {
        Config c = good;
        change(c);
        Status status = check(c);
        CAPTURE(std::string(status.message()));
        CHECK(!status.ok());
        CHECK(strstr(status.message(), field) != nullptr);
    };
    refused("n_vocab", [](Config& c) { c.n_vocab = 0; });
    refused("n_rows", [](Config& c) { c.n_rows = c.n_vocab - 1; });
    refused("n_ctx", [](Config& c) { c.n_ctx = 0xffffffff; });
    refused("n_embd", [](Config& c) { c.n_embd = 33; });
    refused("n_head", [](Config& c) { c.n_head = 0; });
    refused("n_layer", [](Config& c) { c.n_layer = 5000; });
    refused("n_ff", [](Config& c) { c.n_ff = 0x80000000; });
    refused("epsilon", [](Config& c) { c.layer_norm_epsilon = NAN; });
    refused("epsilon", [](Config& c) { c.layer_norm_epsilon = 0; });
    refused("activation", [](Config& c) { c.activation = static_cast<Activation>(7); });
    refused("biases", [](Config& c) { c.biases = 128; });
}

TEST_CASE("weights: a file cut at any byte, or with any byte of its header changed, is refused") {
    Config config = odd_configs()[0].config;
    Image image = make_image(config, random_arrays(config, 5));
    size_t header_bytes = 0;
    memcpy(&header_bytes, image.data() + 12, 4);
    auto opens = [&](const Image& bytes, size_t n) {
        Model model;
        return model.open(bytes.data(), n).ok();
    };
    REQUIRE(opens(image, image.size()));
    size_t step = 1;
    for (size_t n = 0; n < image.size(); n += step) {
        if (n > 2 * header_bytes)
            step = 997;
        if (opens(image, n))
            FAIL("opened with ", n, " bytes");
    }
    std::mt19937 random(6);
    for (size_t at = 0; at < header_bytes; at++) {
        unsigned char before = image.data()[at];
        for (int change : {1 << (random() % 8), 0xff}) {
            image.data()[at] = static_cast<unsigned char>(before ^ change);
            if (opens(image, image.size()))
                FAIL("opened with byte ", at, " changed");
        }
        image.data()[at] = before;
    }
    Image zeros(4096);
    memset(zeros.data(), 0, zeros.size());
    CHECK(!opens(zeros, zeros.size()));
}

TEST_CASE("weights: a header that lies with a right checksum is refused, or does no harm") {
    Config config = odd_configs()[0].config;
    const Image good = make_image(config, random_arrays(config, 8));
    uint32_t header_bytes = 0, n_sections = 0, n_tensors = 0;
    memcpy(&header_bytes, good.data() + 12, 4);
    memcpy(&n_sections, good.data() + 76, 4);
    memcpy(&n_tensors, good.data() + 80, 4);
    std::mt19937 random(9);
    std::set<size_t> opened;
    for (size_t trial = 0; trial < 20000; trial++) {
        Image image = good;
        // Every field of the header and the section, then fields of the directory at random.
        size_t at =
            trial < 2000 ? trial % 160 / 4 * 4 : 128 + random() % (header_bytes - 136) / 4 * 4;
        uint32_t value = 0;
        memcpy(&value, image.data() + at, 4);
        const uint32_t lies[] = {0,          1,         0xffffffff,
                                 0x7fffffff, value + 1, value - 1,
                                 value + 64, value * 2, static_cast<uint32_t>(random())};
        uint32_t lie = lies[random() % 9];
        bool is_own_hash = at == 24 || at == 28;  // is set right below
        if (lie == value || is_own_hash)
            continue;
        memcpy(image.data() + at, &lie, 4);
        memset(image.data() + 24, 0, 8);
        uint32_t covered = 0;
        memcpy(&covered, image.data() + 12, 4);
        if (covered < 128 || covered > image.size())
            continue;
        uint64_t hash = hash64(image.data(), covered);
        memcpy(image.data() + 24, &hash, 8);
        Model model;
        if (!model.open(image.data(), image.size()).ok())
            continue;
        opened.insert(at);
        const char* name = harmless(at, n_sections, n_tensors);
        if (name == nullptr)
            FAIL("opened with ", lie, " for ", value, " at byte ", at);
        // A checksum's lie is found by the check; the others are another model of these weights.
        bool is_hash = strcmp(name, "checksum") == 0;
        CHECK(model.check_weights(Compute()).code() == (is_hash ? Code::bad_file : Code::ok));
        Session session;
        if (!session.create(model, {}).ok())
            continue;
        std::vector<float> logits(model.config().n_vocab);
        Row row = {0, 0, true};
        (void)session.forward(&row, 1, logits.data());
    }
    for (size_t at : {32, 48, 60, 64, 72})
        CHECK(opened.count(at) == 1);
}

TEST_CASE("weights: a changed weight is found by its checksum, with its tensor's name") {
    Config config = odd_configs()[0].config;
    Image image = make_image(config, random_arrays(config, 7));
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    Compute two;
    REQUIRE(two.create(2).ok());
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo t = model.tensor(i);
        size_t at = static_cast<size_t>(static_cast<const unsigned char*>(t.data) - image.data());
        image.data()[at + t.bytes - 1] ^= 0x40;
        Status status = model.check_weights(two);
        CAPTURE(std::string(status.message()));
        CHECK(status.code() == Code::bad_file);
        CHECK(strstr(status.message(), t.spec.name) != nullptr);
        image.data()[at + t.bytes - 1] ^= 0x40;
    }
    CHECK(model.check_weights(two).ok());
}
