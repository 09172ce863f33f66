// Attention over a cache: equal to its definition, to itself row by row, on any threads and table.
#include "ops/attention.h"

#include "base/fma.h"
#include "tests/ops/support.h"

using namespace minigpt;
using test::Numbers;

namespace {

struct Sequence {
    size_t n_head, head_dim, n_ctx;
    test::Memory k, v;
    Sequence(size_t n_head_, size_t head_dim_, size_t n_ctx_)
        : n_head(n_head_),
          head_dim(head_dim_),
          n_ctx(n_ctx_),
          k(k_cache_bytes(ElementType::f32, n_head_, head_dim_, n_ctx_)),
          v(v_cache_bytes(ElementType::f32, n_head_, head_dim_, n_ctx_)) {}
    KvCache cache() { return {k.floats(), v.floats(), ElementType::f32, n_head, head_dim, n_ctx}; }
};

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

// The definition, in the design's order of sums: scores, softmax of the visible, values.
std::vector<float> definition(const Rows& rows, size_t n_head) {
    const size_t head_dim = rows.width / n_head;
    std::vector<float> out(rows.n * rows.width), p(rows.n);
    for (size_t i = 0; i < rows.n; ++i) {
        for (size_t h = 0; h < n_head; ++h) {
            for (size_t j = 0; j <= i; ++j) {
                p[j] = 0;
                for (size_t e = 0; e < head_dim; ++e) {
                    p[j] = fma_exact(rows.q()[i * rows.ld() + h * head_dim + e],
                                     rows.k()[j * rows.ld() + h * head_dim + e], p[j]);
                }
            }
            test::scalar().softmax(p.data(), p.data(), i + 1, kScale);
            for (size_t e = 0; e < head_dim; ++e) {
                float acc = 0;
                for (size_t j = 0; j <= i; ++j) {
                    acc = fma_exact(p[j], rows.v()[j * rows.ld() + h * head_dim + e], acc);
                }
                out[i * rows.width + h * head_dim + e] = acc;
            }
        }
    }
    return out;
}

// The rows in calls of the given lengths.
std::vector<float> in_calls(const Compute& compute, const Rows& rows, size_t n_head,
                            const std::vector<size_t>& lengths, size_t n_ctx) {
    Sequence s(n_head, rows.width / n_head, n_ctx);
    test::Memory scratch(attention_scratch_bytes(compute, n_ctx, s.head_dim));
    std::vector<float> out(rows.n * rows.width, NAN);
    size_t n_past = 0;
    for (size_t n : lengths) {
        AttentionRun run = {s.cache(), n_past, n, n_past};
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
        const size_t n = 75;
        Rows rows(n, shape.n_head * shape.head_dim, numbers);
        std::vector<float> want = definition(rows, shape.n_head);
        test::for_each_compute([&](const Compute& compute) {
            std::vector<size_t> ones(n, 1);
            for (const std::vector<size_t>& split :
                 {std::vector<size_t>{n}, ones, {1, 5, 6, 7, 24, 25, 7}, {16, 16, 16, 27}}) {
                for (size_t n_ctx : {n, size_t{80}, size_t{200}}) {
                    std::vector<float> got = in_calls(compute, rows, shape.n_head, split, n_ctx);
                    CHECK(test::first_difference(got.data(), want.data(), got.size()) ==
                          got.size());
                }
            }
        });
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
            std::vector<float> alone = definition(*rows, n_head);
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
    std::vector<float> want = definition(rows, n_head);
    test::for_each_compute([&](const Compute& compute) {
        Sequence s(n_head, width / n_head, 64);
        test::Memory scratch(attention_scratch_bytes(compute, 64, s.head_dim));
        std::vector<float> nan(64 * width, NAN), out(40 * width, NAN);
        AttentionRun all = {s.cache(), 0, 64, 0};
        kv_append(compute, &all, 1, nan.data(), nan.data(), width);
        AttentionRun run = {s.cache(), 0, 40, 0};
        kv_append(compute, &run, 1, rows.k(), rows.v(), rows.ld());
        attention(compute, out.data(), width, rows.q(), rows.ld(), &run, 1, kScale, scratch.data());
        CHECK(test::first_difference(out.data(), want.data(), out.size()) == out.size());
    });
}
