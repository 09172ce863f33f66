// Attention over a cache: equal to its definition, to itself row by row, on any threads and table.
#include "ops/attention.h"

#include <cmath>

#include "base/half.h"
#include "ops/numbers.h"
#include "tests/element_types.h"
#include "tests/ops/support.h"

using namespace minigpt;
using test::Numbers;

namespace {

struct Sequence {
    ElementType type;
    size_t n_head, head_dim, n_ctx;
    test::Memory k, v;
    Sequence(size_t n_head_, size_t head_dim_, size_t n_ctx_, ElementType type_ = ElementType::f32)
        : type(type_),
          n_head(n_head_),
          head_dim(head_dim_),
          n_ctx(n_ctx_),
          k(k_cache_bytes(type_, n_head_, head_dim_, n_ctx_)),
          v(v_cache_bytes(type_, n_head_, head_dim_, n_ctx_)) {}
    KvCache cache() { return {k.floats(), v.floats(), type, n_head, head_dim, n_ctx}; }
};

const std::vector<ElementType> kCacheTypes = {ElementType::f32, ElementType::f16, ElementType::q8};

// Rows of q, k, v side by side, as a model has them.
struct Rows {
    size_t n, width;
    std::vector<float> qkv;
    Rows(size_t n_, size_t width_, Numbers& numbers)
        : n(n_), width(width_), qkv(test::random_floats(n_ * 3 * width_, numbers)) {}
    const float* q() const { return qkv.data(); }
    const float* k() const { return qkv.data() + width; }
    const float* v() const { return qkv.data() + 2 * width; }
    size_t ld() const { return 3 * width; }
};

constexpr float kScale = 0.125f;

// x [n], each rounded to an integer times the scale: of q8.
void round_to(float* x, size_t n, float scale) {
    for (size_t i = 0; i < n; ++i) {
        float q = scale == 0 ? 0 : std::nearbyint(x[i] * (1.0f / scale));
        x[i] = std::max(-127.0f, std::min(127.0f, q));
    }
}

float largest(const float* x, size_t n) {
    float most = 0;
    for (size_t i = 0; i < n; ++i)
        most = std::max(most, std::fabs(x[i]));
    return most;
}

// What a cache of `type` keeps of rows' keys and values, and what the probability of a position's
// head is multiplied with: [n, n_head].
std::vector<float> round_rows(Rows& rows, size_t n_head, ElementType type) {
    const size_t head_dim = rows.width / n_head;
    std::vector<float> scales(rows.n * n_head, 1.0f);
    for (size_t i = 0; i < rows.n && type == ElementType::f16; ++i) {
        for (size_t e = rows.width; e < 3 * rows.width; ++e) {
            float& x = rows.qkv[i * rows.ld() + e];
            x = f16_to_float(float_to_f16(x));
        }
    }
    for (size_t head = 0; head < rows.n * n_head && type == ElementType::q8; ++head) {
        size_t at = head / n_head * rows.ld() + rows.width + head % n_head * head_dim;
        for (size_t e0 = 0; e0 < head_dim; e0 += 32) {
            float* k = &rows.qkv[at + e0];
            size_t n = std::min<size_t>(32, head_dim - e0);
            float scale = f16_to_float(float_to_f16(largest(k, n) / 127.0f));
            round_to(k, n, scale);
            for (size_t e = 0; e < n; ++e)
                k[e] *= scale;
        }
        float* v = &rows.qkv[at + rows.width];
        scales[head] = largest(v, head_dim) / 127.0f;
        round_to(v, head_dim, scales[head]);
    }
    return scales;
}

// The definition, in the design's order of sums and a table's multiply-adds: scores, softmax of the
// visible, values.
std::vector<float> definition(const KernelTable& table, Rows rows, size_t n_head,
                              ElementType type = ElementType::f32) {
    const size_t head_dim = rows.width / n_head;
    std::vector<float> out(rows.n * rows.width), p(rows.n);
    std::vector<float> scales = round_rows(rows, n_head, type);
    for (size_t i = 0; i < rows.n; ++i) {
        for (size_t h = 0; h < n_head; ++h) {
            for (size_t j = 0; j <= i; ++j) {
                p[j] = 0;
                for (size_t e = 0; e < head_dim; ++e) {
                    p[j] = test::multiply_add(table, rows.q()[i * rows.ld() + h * head_dim + e],
                                              rows.k()[j * rows.ld() + h * head_dim + e], p[j]);
                }
            }
            test::row_reference(table).softmax(p.data(), p.data(), i + 1, kScale);
            for (size_t j = 0; j <= i; ++j)
                p[j] *= scales[j * n_head + h];
            for (size_t e = 0; e < head_dim; ++e) {
                float acc = 0;
                for (size_t j = 0; j <= i; ++j) {
                    acc = test::multiply_add(table, p[j],
                                             rows.v()[j * rows.ld() + h * head_dim + e], acc);
                }
                out[i * rows.width + h * head_dim + e] = acc;
            }
        }
    }
    return out;
}

// The rows in calls of the given lengths; the first n_prefix are another cache's.
std::vector<float> in_calls(const Compute& compute, const Rows& rows, Sequence& s,
                            const std::vector<size_t>& lengths, Sequence* prefix = nullptr,
                            size_t n_prefix = 0) {
    test::Memory scratch(attention_scratch_bytes(compute, n_prefix + s.n_ctx, s.head_dim));
    std::vector<float> out(rows.n * rows.width, NAN);
    KvCache cache = s.cache();
    if (prefix != nullptr) {
        cache.n_prefix = n_prefix / kPrefixUnit * kPrefixUnit;
        cache.prefix_k = prefix->k.floats();
        cache.prefix_v = prefix->v.floats();
        cache.prefix_ctx = prefix->n_ctx;
        kv_copy(cache, prefix->cache(), cache.n_prefix, n_prefix - cache.n_prefix);
    }
    size_t n_past = n_prefix;
    for (size_t n : lengths) {
        AttentionRun run = {cache, n_past, n, n_past};
        kv_append(compute, &run, 1, rows.k(), rows.v(), rows.ld());
        attention(compute, out.data(), rows.width, rows.q(), rows.ld(), &run, 1, kScale,
                  scratch.data());
        n_past += n;
    }
    REQUIRE(n_past == rows.n);
    return out;
}

}  // namespace

TEST_CASE("attention: the bits of its definition, for any split, threads and table") {
    Numbers numbers(31);
    struct Shape {
        size_t n_head, head_dim;
    };
    for (Shape shape : {Shape{2, 16}, Shape{3, 7}, Shape{1, 64}, Shape{2, 33}}) {
        for (ElementType type : test::computed(kCacheTypes)) {
            CAPTURE(std::string(name_of(type)));
            const size_t n = 75;
            Rows rows(n, shape.n_head * shape.head_dim, numbers);
            std::vector<float> wants[2];
            test::for_each_compute([&](const Compute& compute) {
                std::vector<float>& want = wants[compute.bit_exact()];
                if (want.empty())
                    want = definition(kernels_of(compute), rows, shape.n_head, type);
                std::vector<size_t> ones(n, 1);
                for (const std::vector<size_t>& split :
                     {std::vector<size_t>{n}, ones, {1, 5, 6, 7, 24, 25, 7}, {16, 16, 16, 27}}) {
                    for (size_t n_ctx : {n, size_t{80}, size_t{200}}) {
                        Sequence s(shape.n_head, shape.head_dim, n_ctx, type);
                        std::vector<float> got = in_calls(compute, rows, s, split);
                        CHECK(test::first_difference(got.data(), want.data(), got.size()) ==
                              got.size());
                    }
                }
            });
        }
    }
}

TEST_CASE("attention: with a prefix in another cache it is the same bits as with all in one") {
    Numbers numbers(34);
    const size_t n_head = 2, head_dim = 40, n = 130;
    Rows rows(n, n_head * head_dim, numbers);
    for (ElementType type : test::computed(kCacheTypes)) {
        CAPTURE(std::string(name_of(type)));
        std::vector<float> wants[2];
        test::for_each_compute([&](const Compute& compute) {
            std::vector<float>& want = wants[compute.bit_exact()];
            if (want.empty())
                want = definition(kernels_of(compute), rows, n_head, type);
            Sequence prefix(n_head, head_dim, 150, type);
            in_calls(compute, rows, prefix, {n});
            for (size_t n_prefix : {1, 31, 32, 33, 95, 96, 128}) {
                CAPTURE(n_prefix);
                for (size_t first : {size_t{1}, size_t{2}, n - n_prefix}) {
                    size_t n_ctx = n - n_prefix / kPrefixUnit * kPrefixUnit;
                    Sequence s(n_head, head_dim, n_ctx, type);
                    std::vector<size_t> calls = {first, n - n_prefix - first};
                    std::vector<float> got = in_calls(compute, rows, s, calls, &prefix, n_prefix);
                    size_t at = n_prefix * rows.width;
                    CHECK(test::first_difference(&got[at], &want[at], got.size() - at) ==
                          got.size() - at);
                }
            }
        });
    }
}

TEST_CASE(
    "attention: of numbers that f16 and q8 cannot hold, a cache keeps the nearest they have") {
    const size_t head_dim = 32;
    const float past_f16[] = {1e38f, -1e38f, 65519.0f, -65519.0f, 65520.0f, -65520.0f, 1e-30f};
    for (ElementType type : test::computed({ElementType::f16, ElementType::q8})) {
        for (float x : past_f16) {
            CAPTURE(x);
            CAPTURE(std::string(name_of(type)));
            // Position 0 has x in every other channel, and zeros.
            std::vector<float> kv(head_dim), k(head_dim);
            for (size_t e = 0; e < head_dim; e += 2)
                kv[e] = x;
            Sequence s(1, head_dim, 16, type);
            const Compute compute;
            AttentionRun run = {s.cache(), 0, 1, 0};
            kv_append(compute, &run, 1, kv.data(), kv.data(), head_dim);
            CachePanels keys = cached_keys(s.cache(), 0, 0);
            CachePanels values = cached_values(s.cache(), 0, 0);
            read_output(k.data(), 1, {keys.b, type, head_dim, 16}, 0, 0, head_dim);
            const float magnitude = std::fabs(x), sign = x < 0 ? -1.0f : 1.0f;
            // f16: the largest there is. q8's keys: 127 times f16's largest scale, or its smallest.
            float key = f16_to_float(float_to_f16(std::min(magnitude, 65504.0f)));
            if (type == ElementType::q8) {
                float scale = f16_to_float(float_to_f16(std::min(magnitude / 127, 65504.0f)));
                scale = std::max(scale, 0x1p-24f);
                key = scale * std::min(127.0f, std::nearbyint(magnitude * (1 / scale)));
            }
            // q8's values have an f32 scale, and none under 2^-80.
            float value = key;
            if (type == ElementType::q8)
                value = magnitude < 0x1p-80f ? 0 : 127 * (magnitude / 127);
            for (size_t e = 0; e < head_dim; e++) {
                float v;
                read_output(&v, 1, {values.b, type, 16, head_dim}, e, 0, 1);
                v *= values.scales == nullptr ? 1 : values.scales[0];
                CHECK(k[e] == (e % 2 == 0 ? sign * key : 0));
                CHECK(v == (e % 2 == 0 ? sign * value : 0));
            }
            CHECK((std::isfinite(key) && std::isfinite(value)));
            // And what attention makes of it: a single key has all of the weight.
            test::Memory scratch(attention_scratch_bytes(compute, 16, head_dim));
            std::vector<float> out(head_dim), q(head_dim, 1e-6f);
            attention(compute, out.data(), head_dim, q.data(), head_dim, &run, 1, 1.0f,
                      scratch.data());
            for (size_t e = 0; e < head_dim; e++)
                CHECK(out[e] == (e % 2 == 0 ? sign * value : 0));
        }
    }
}

TEST_CASE("attention: many sequences in one call are each alone") {
    Numbers numbers(32);
    const size_t n_head = 2, width = 32;
    const size_t lengths[] = {1, 30, 0, 7};
    std::vector<std::unique_ptr<Rows>> inputs;
    for (size_t n : lengths)
        inputs.emplace_back(new Rows(n, width, numbers));
    test::for_each_compute([&](const Compute& compute) {
        std::vector<std::unique_ptr<Sequence>> sequences;
        std::vector<AttentionRun> runs;
        std::vector<float> qkv, want;
        size_t first = 0;
        for (const auto& rows : inputs) {
            // Caches of different sizes, too.
            sequences.emplace_back(new Sequence(n_head, width / n_head, 30 + first));
            runs.push_back({sequences.back()->cache(), first, rows->n, 0});
            qkv.insert(qkv.end(), rows->qkv.begin(), rows->qkv.end());
            std::vector<float> alone = definition(kernels_of(compute), *rows, n_head);
            want.insert(want.end(), alone.begin(), alone.end());
            first += rows->n;
        }
        test::Memory scratch(attention_scratch_bytes(compute, 200, width / n_head));
        std::vector<float> out(want.size(), NAN);
        kv_append(compute, runs.data(), runs.size(), qkv.data() + width, qkv.data() + 2 * width,
                  3 * width);
        attention(compute, out.data(), width, qkv.data(), 3 * width, runs.data(), runs.size(),
                  kScale, scratch.data());
        CHECK(test::first_difference(out.data(), want.data(), out.size()) == out.size());
    });
}

TEST_CASE("attention: a rewound cache's old positions are never read") {
    Numbers numbers(33);
    const size_t n_head = 2, width = 40;
    Rows rows(40, width, numbers);
    test::for_each_compute([&](const Compute& compute) {
        for (ElementType type : test::computed(kCacheTypes)) {
            std::vector<float> want = definition(kernels_of(compute), rows, n_head, type);
            Sequence s(n_head, width / n_head, 64, type);
            test::Memory scratch(attention_scratch_bytes(compute, 64, s.head_dim));
            std::vector<float> nan(64 * width, NAN), out(40 * width, NAN);
            AttentionRun all = {s.cache(), 0, 64, 0};
            kv_append(compute, &all, 1, nan.data(), nan.data(), width);
            AttentionRun run = {s.cache(), 0, 40, 0};
            kv_append(compute, &run, 1, rows.k(), rows.v(), rows.ld());
            attention(compute, out.data(), width, rows.q(), rows.ld(), &run, 1, kScale,
                      scratch.data());
            CHECK(test::first_difference(out.data(), want.data(), out.size()) == out.size());
        }
    });
}
