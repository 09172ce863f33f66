#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "minigpt/generate.h"
#include "minigpt/ops.h"
#include "tests/allocation_trap.h"
#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;
using Ids = std::vector<int32_t>;
using Logits = std::vector<float>;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

int32_t sample(const SamplerOptions& options, const Logits& logits, const Ids& seen = {}) {
    Sampler sampler;
    Status status = sampler.create(options, logits.size());
    REQUIRE_MESSAGE(status.ok(), status.message());
    return sampler.sample(logits.data(), seen.data(), seen.size());
}

// The ids that come out of many draws.
std::set<int32_t> drawn(const SamplerOptions& options, const Logits& logits, const Ids& seen = {}) {
    Sampler sampler;
    REQUIRE(sampler.create(options, logits.size()).ok());
    std::set<int32_t> ids;
    for (int i = 0; i < 3000; i++) {
        ids.insert(sampler.sample(logits.data(), seen.data(), seen.size()));
    }
    return ids;
}

// The probabilities that the filters leave, in double, by sorting: the definition.
std::vector<double> reference(const SamplerOptions& o, const Logits& logits, const Ids& seen) {
    size_t n = logits.size();
    std::vector<double> x(logits.begin(), logits.end());
    for (int32_t id : std::set<int32_t>(seen.begin(), seen.end())) {
        double& v = x[static_cast<size_t>(id)];
        v = v > 0 ? static_cast<float>(v) / o.repeat_penalty
                  : static_cast<float>(v) * o.repeat_penalty;
    }
    std::vector<size_t> order(n);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b]; });
    std::vector<double> p(n, 0.0);
    size_t n_kept = o.top_k > 0 && o.top_k < n ? o.top_k : n;
    double total = 0;
    for (size_t i = 0; i < n_kept; i++) {
        total += p[order[i]] = std::exp((x[order[i]] - x[order[0]]) / o.temperature);
    }
    if (o.top_p < 1) {
        double reached = 0, least = o.top_p * total;
        for (size_t i = 0; i < n_kept; i++) {
            if (reached >= least)
                p[order[i]] = 0;
            reached += p[order[i]];
        }
    }
    total = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < o.min_p)
            p[i] = 0;
        total += p[i];
    }
    for (double& v : p)
        v /= total;
    return p;
}

}  // namespace

TEST_CASE("random: the published numbers of PCG32") {
    Random random(42);
    for (uint32_t expected :
         {0xa15c02b7u, 0x7b47f409u, 0xba1d3330u, 0x83d2f293u, 0xbfa4784bu, 0xcbed606eu}) {
        CHECK(random.next() == expected);
    }
}

TEST_CASE("random: a unit draw is never 1, and seed 0 is no dead one") {
    uint64_t bits = uint64_t{0xa15c02b7 >> 5} << 26 | 0x7b47f409 >> 6;
    CHECK(Random(42).next_unit() == std::ldexp(static_cast<double>(bits), -53));
    Random random(0);
    double sum = 0, most = 0;
    for (int i = 0; i < 100000; i++) {
        double u = random.next_unit();
        REQUIRE(u >= 0);
        REQUIRE(u < 1);
        sum += u;
        most = u > most ? u : most;
    }
    CHECK(std::fabs(sum / 100000 - 0.5) < 0.005);
    CHECK(most > 0.999);
}

TEST_CASE("sampler: temperature 0, top-k 1 and top-p 0 are greedy, ties to the lower id") {
    Logits logits = {1, 3, 2, 3, -1};
    SamplerOptions temperature, top_k, top_p;
    temperature.temperature = 0;
    top_k.top_k = 1;
    top_p.top_p = 0;
    for (SamplerOptions o : {temperature, top_k, top_p}) {
        CHECK(drawn(o, logits) == std::set<int32_t>{1});
        CHECK(sample(o, {kNan, -5, kNan}) == 1);
        CHECK(sample(o, {-kInf, -5, kInf}) == 2);
    }
}

TEST_CASE("sampler: NaN and infinities are no trouble") {
    SamplerOptions plain, both;
    both.top_k = 3;
    both.top_p = 0.9f;
    for (SamplerOptions o : {plain, both}) {
        CHECK(sample(o, {kNan, kNan}) == -1);
        CHECK(sample(o, {kNan, -kInf, -kInf}) == 1);
        CHECK(drawn(o, {kNan, 1, -kInf, kNan, 1}) == std::set<int32_t>{1, 4});
        CHECK(drawn(o, {3, kInf, kNan, kInf, -kInf}) == std::set<int32_t>{1, 3});
        CHECK(drawn(o, {-3e38f, 3e38f}) == std::set<int32_t>{1});
        CHECK(sample(o, {-kInf}) == 0);
        CHECK(sample(o, {kNan}) == -1);
    }
    SamplerOptions cold;
    cold.temperature = std::numeric_limits<float>::denorm_min();
    CHECK(drawn(cold, {1, 2, 2}) == std::set<int32_t>{1, 2});
    SamplerOptions hot;
    hot.temperature = std::numeric_limits<float>::max();
    CHECK(drawn(hot, {1, 2, -500}) == std::set<int32_t>{0, 1, 2});
}

TEST_CASE("sampler: top-k keeps exactly k, ties to the lower id; above n_vocab it is off") {
    Logits logits = {1, 2, 1, 2, 1, 0};
    SamplerOptions o;
    o.top_k = 3;
    CHECK(drawn(o, logits) == std::set<int32_t>{0, 1, 3});
    o.top_k = 2;
    CHECK(drawn(o, logits) == std::set<int32_t>{1, 3});
    for (size_t k : {size_t{0}, size_t{6}, size_t{7}, ~size_t{0}}) {
        o.top_k = k;
        CHECK(drawn(o, logits).size() == 6);
    }
}

TEST_CASE("sampler: top-p keeps the smallest set that reaches p, and at least one") {
    // Probabilities 1/2, 1/4, 1/8, 1/8.
    Logits logits(4);
    for (size_t i = 0; i < 4; i++)
        logits[i] = std::log(std::vector<float>{2, 4, 1, 1}[i]);
    SamplerOptions o;
    struct {
        float p;
        std::set<int32_t> kept;
    } cases[] = {
        {1e-30f, {1}},      {0.49f, {1}},          {0.51f, {0, 1}},
        {0.76f, {0, 1, 2}}, {0.88f, {0, 1, 2, 3}}, {1, {0, 1, 2, 3}},
    };
    for (const auto& c : cases) {
        o.top_p = c.p;
        CHECK(drawn(o, logits) == c.kept);
    }
    // Reached exactly is reached.
    o.top_p = 0.5f;
    CHECK(drawn(o, {0, 0, 0, 0}) == std::set<int32_t>{0, 1});
    o.top_p = 0.25f;
    CHECK(drawn(o, {0, 0, 0, 0}) == std::set<int32_t>{0});
    // The third token has 8e-14: the best falls short of a half by less than a unit of the shares.
    CHECK(drawn({1, 1, 0, 0.5f}, {0, 0, -30.2f}) == std::set<int32_t>{0, 1});
    // Of the two best alone the best has 2/3.
    o.top_k = 2;
    o.top_p = 0.6f;
    CHECK(drawn(o, logits) == std::set<int32_t>{1});
    o.top_p = 0.7f;
    CHECK(drawn(o, logits) == std::set<int32_t>{0, 1});
}

TEST_CASE("sampler: min-p drops what is under its part of the best") {
    Logits logits = {0, std::log(0.5f), std::log(0.2f), std::log(0.1f)};
    SamplerOptions o;
    o.min_p = 0.4f;
    CHECK(drawn(o, logits) == std::set<int32_t>{0, 1});
    o.min_p = 0.15f;
    CHECK(drawn(o, logits) == std::set<int32_t>{0, 1, 2});
    o.min_p = 1;
    CHECK(drawn(o, {2, 2, 1}) == std::set<int32_t>{0, 1});
}

TEST_CASE("sampler: the penalty divides what is positive, multiplies what is not, once an id") {
    SamplerOptions o;
    o.temperature = 0;
    o.repeat_penalty = 2;
    CHECK(sample(o, {4, 3}) == 0);
    CHECK(sample(o, {4, 3}, {0}) == 1);
    CHECK(sample(o, {4, 1.5f}, {0, 0, 0}) == 0);
    CHECK(sample(o, {-1, -1.5f}, {0}) == 1);
    CHECK(sample(o, {-1, -1.5f}, {0, 1}) == 0);
    CHECK(sample(o, {4, 3}, {-1, 2, 1 << 30}) == 0);
    o.repeat_penalty = 0.5f;
    CHECK(sample(o, {4, 3}, {1}) == 1);
}

TEST_CASE("sampler: a penalty makes no number infinite") {
    SamplerOptions greedy, drawn_from, filtered;
    greedy.temperature = 0;
    filtered.top_k = 2;
    filtered.top_p = 0.9f;
    for (SamplerOptions o : {greedy, drawn_from, filtered}) {
        o.repeat_penalty = 2;
        CHECK(drawn(o, {-kInf, -3e38f}, {1}) == std::set<int32_t>{1});
        CHECK(drawn(o, {-kInf, -3e38f, kNan}, {0, 1, 2}) == std::set<int32_t>{1});
        CHECK(drawn(o, {kInf, 3e38f}, {0}) == std::set<int32_t>{0});
        o.repeat_penalty = 0.5f;
        CHECK(drawn(o, {kInf, 3e38f}, {1}) == std::set<int32_t>{0});
        CHECK(drawn(o, {1, 3e38f}, {1}) == std::set<int32_t>{1});
    }
}

TEST_CASE("sampler: rows made to be slow give the tokens that sorting gives") {
    constexpr size_t n = 50257;
    TestRandom random;
    float (*rows[])(size_t i, TestRandom&) = {
        [](size_t, TestRandom&) { return 1.0f; },
        [](size_t i, TestRandom&) { return i % 2 == 0 ? 1.0f : -2.0f; },
        [](size_t i, TestRandom&) { return static_cast<float>(i) * 1e-4f; },
        [](size_t i, TestRandom&) { return static_cast<float>(n - i) * 1e-4f; },
        [](size_t, TestRandom& r) { return static_cast<float>(r.below(10)) - 5; },
        [](size_t i, TestRandom&) { return 1 + static_cast<float>(i) * 1.2e-7f; },
        [](size_t i, TestRandom&) { return i % 3 == 0   ? 0.0f
                                           : i % 3 == 1 ? -0.0f
                                                        : -40.0f; },
    };
    struct {
        size_t top_k;
        float top_p;
    } filters[] = {{0, 0.9f},  {0, 0.1f},  {0, 0.999999f}, {2, 1},
                   {63, 0.5f}, {25000, 1}, {50256, 0.9f}};
    for (auto& row : rows) {
        Logits logits(n);
        for (size_t i = 0; i < n; i++)
            logits[i] = row(i, random);
        std::vector<size_t> order(n);
        for (size_t i = 0; i < n; i++)
            order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return logits[a] > logits[b]; });
        for (const auto& f : filters) {
            std::vector<uint64_t> weights(n);  // of 2^-44
            uint64_t total = 0, reached = 0, kept = 0;
            size_t n_kept = f.top_k == 0 ? n : f.top_k;
            for (size_t i = 0; i < n_kept; i++) {
                float x = logits[order[i]] - logits[order[0]];
                REQUIRE(exp_each(&x, &x, 1).ok());
                total += weights[i] = static_cast<uint64_t>(std::ldexp(double{x}, 44));
            }
            double target = std::ceil(static_cast<double>(total) * double{f.top_p});
            size_t n_best = 0;
            while (static_cast<double>(reached) < target)
                reached += weights[n_best++];
            // The draw walks the kept in the order of their ids.
            std::vector<uint64_t> of_id(n);
            for (size_t i = 0; i < n_best; i++)
                kept += of_id[order[i]] = weights[i];
            SamplerOptions o;
            o.top_k = f.top_k;
            o.top_p = f.top_p;
            o.seed = 11;
            Random draws(o.seed);
            Sampler sampler;
            REQUIRE(sampler.create(o, n).ok());
            for (int i = 0; i < 3; i++) {
                uint64_t left =
                    static_cast<uint64_t>(draws.next_unit() * static_cast<double>(kept));
                size_t id = 0;
                while (left >= of_id[id])
                    left -= of_id[id++];
                REQUIRE(sampler.sample(logits.data(), nullptr, 0) == static_cast<int32_t>(id));
            }
        }
    }
}

TEST_CASE("sampler: draws as the definition in float64 does") {
    TestRandom random;
    int n_compared = 0;
    for (int trial = 0; trial < 6000; trial++) {
        size_t n = std::vector<size_t>{1, 2, 3, 64, 65, 500}[random.below(6)];
        Logits logits(n);
        for (float& x : logits)
            x = static_cast<float>(random.below(2000)) / 100 - 10;
        Ids seen;
        for (uint32_t i = random.below(4); i > 0; i--) {
            seen.push_back(static_cast<int32_t>(random.below(static_cast<uint32_t>(n))));
        }
        SamplerOptions o;
        o.seed = random.next();
        o.temperature = 0.1f + static_cast<float>(random.below(30)) / 10;
        if (random.below(2))
            o.top_k = random.below(40);
        if (random.below(2))
            o.top_p = static_cast<float>(random.below(1001)) / 1000;
        if (random.below(2))
            o.min_p = static_cast<float>(random.below(300)) / 1000;
        if (random.below(2))
            o.repeat_penalty = 0.5f + static_cast<float>(random.below(20)) / 10;
        if (o.top_k == 1 || o.top_p == 0)
            continue;
        std::vector<double> p = reference(o, logits, seen);
        double unit = Random(o.seed).next_unit(), reached = 0;
        size_t expected = 0;
        bool near = false;  // a draw or a filter so close to a limit that rounding decides
        for (size_t i = 0; i < n; i++) {
            if (reached <= unit && p[i] > 0)
                expected = i;
            reached += p[i];
            near |= std::fabs(reached - unit) < 1e-5;
        }
        if (near)
            continue;
        n_compared++;
        CAPTURE(trial);
        REQUIRE(sample(o, logits, seen) == static_cast<int32_t>(expected));
    }
    CHECK(n_compared > 3000);
}

TEST_CASE("sampler: a seed gives the same tokens, on every machine, and again after a restart") {
    Logits logits(1000);
    for (size_t i = 0; i < 1000; i++)
        logits[i] = static_cast<float>(i * 7919 % 1000) / 100;
    SamplerOptions o;
    o.seed = 5;
    o.top_p = 0.95f;
    o.temperature = 0.8f;
    Sampler sampler;
    REQUIRE(sampler.create(o, 1000).ok());
    Ids first, again;
    for (int i = 0; i < 12; i++)
        first.push_back(sampler.sample(logits.data(), nullptr, 0));
    sampler.restart();
    for (int i = 0; i < 12; i++)
        again.push_back(sampler.sample(logits.data(), nullptr, 0));
    CHECK(first == again);
    CHECK(first == Ids{618, 780, 729, 877, 605, 692, 519, 940, 717, 791, 963, 273});
    o.seed = 6;
    REQUIRE(sampler.create(o, 1000).ok());
    again.clear();
    for (int i = 0; i < 12; i++)
        again.push_back(sampler.sample(logits.data(), nullptr, 0));
    CHECK(first != again);
}

TEST_CASE("sampler: options outside their range are refused by name") {
    struct {
        SamplerOptions options;
        std::string message;
    } cases[] = {
        {{0, 1, 0, 1, 0, 0}, "repeat_penalty: 0, expected a finite number over 0"},
        {{-1, 1, 0, 1, 0, 0}, "repeat_penalty: -1, expected a finite number over 0"},
        {{kInf, 1, 0, 1, 0, 0}, "repeat_penalty: inf, expected a finite number over 0"},
        {{kNan, 1, 0, 1, 0, 0}, "repeat_penalty: nan, expected a finite number over 0"},
        {{1, -0.5f, 0, 1, 0, 0}, "temperature: -0.5, expected a finite number, 0 or more"},
        {{1, kNan, 0, 1, 0, 0}, "temperature: nan, expected a finite number, 0 or more"},
        {{1, kInf, 0, 1, 0, 0}, "temperature: inf, expected a finite number, 0 or more"},
        {{1, 1, 0, 1.5f, 0, 0}, "top_p: 1.5, expected 0 to 1"},
        {{1, 1, 0, -0.5f, 0, 0}, "top_p: -0.5, expected 0 to 1"},
        {{1, 1, 0, kNan, 0, 0}, "top_p: nan, expected 0 to 1"},
        {{1, 1, 0, 1, 2, 0}, "min_p: 2, expected 0 to 1"},
        {{1, 1, 0, 1, kNan, 0}, "min_p: nan, expected 0 to 1"},
    };
    for (const auto& c : cases) {
        Status status = check(c.options);
        CHECK(status.code() == Code::bad_argument);
        CHECK(status.message() == c.message);
        Sampler sampler;
        CHECK(sampler.create(c.options, 10).message() == c.message);
    }
    CHECK(check(SamplerOptions()).ok());
    Sampler sampler;
    CHECK(sampler.create(SamplerOptions(), 0).code() == Code::bad_argument);
}

TEST_CASE("sampler: in the caller's memory it is the same and allocates nothing; it can be moved") {
    Logits logits(1000);
    for (size_t i = 0; i < 1000; i++)
        logits[i] = static_cast<float>(i * 7919 % 1000) / 100;
    SamplerOptions o;
    o.top_p = 0.95f;
    o.top_k = 500;
    Sampler own, given;
    REQUIRE(own.create(o, 1000).ok());
    size_t bytes = 0;
    REQUIRE(sampler_bytes(o, 1000, &bytes).ok());
    CHECK(bytes < 1000 * sizeof(float) + 1000 / 8 + 400);
    Buffer<unsigned char> memory;
    REQUIRE(memory.allocate(bytes + 1));
    memory[bytes] = 0x5a;
    size_t before = n_allocations();
    REQUIRE(given.create(o, 1000, memory.data(), bytes).ok());
    Sampler moved = std::move(given);
    CHECK(given.sample(logits.data(), nullptr, 0) == -1);
    given = std::move(moved);
    for (int i = 0; i < 20; i++)
        CHECK(given.sample(logits.data(), nullptr, 0) == own.sample(logits.data(), nullptr, 0));
    if (allocations_are_counted())
        CHECK(n_allocations() == before);
    CHECK(memory[bytes] == 0x5a);
    CHECK(given.create(o, 1000, memory.data(), bytes - 1).code() == Code::out_of_memory);
    CHECK(given.create(o, 1000, memory.data() + 4, bytes).code() == Code::bad_argument);
    CHECK(given.sample(logits.data(), nullptr, 0) == own.sample(logits.data(), nullptr, 0));
    CHECK(sampler_bytes(o, 0, &bytes).code() == Code::bad_argument);
    CHECK(sampler_bytes(o, 1000, nullptr).code() == Code::bad_argument);
    CHECK(given.sample(nullptr, nullptr, 0) == -1);
    CHECK(given.sample(logits.data(), nullptr, 1) == -1);
}
