#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <numeric>

#include "minigpt/model.h"
#include "tests/allocation_trap.h"
#include "tests/element_types.h"
#include "tests/model/random_model.h"
#include "tests/quick.h"
#include "tests/threads.h"

using namespace minigpt;

namespace {

std::vector<int32_t> random_ids(const Config& config, size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids)
        id = static_cast<int32_t>(random() % config.n_vocab);
    return ids;
}

std::vector<Row> rows_of(const std::vector<int32_t>& ids, uint32_t seq = 0) {
    std::vector<Row> rows;
    for (int32_t id : ids)
        rows.push_back({id, seq, true});
    return rows;
}

// The logits of every row, computed in calls of the given sizes.
std::vector<float> run(Session& session, const std::vector<Row>& rows,
                       const std::vector<size_t>& calls) {
    size_t n_vocab = session.config().n_vocab;
    std::vector<float> logits(rows.size() * n_vocab);
    size_t at = 0;
    for (size_t n : calls) {
        Status status = session.forward(rows.data() + at, n, logits.data() + at * n_vocab);
        CAPTURE(std::string(status.message()));
        REQUIRE(status.ok());
        at += n;
    }
    REQUIRE(at == rows.size());
    return logits;
}

// The same in one call, on a table of kernels.
std::vector<float> run_on(const char* isa, const Model& model, const std::vector<Row>& rows) {
    Compute compute;
    REQUIRE(compute.create(1, isa).ok());
    SessionOptions options;
    options.compute = &compute;
    Session session;
    REQUIRE(session.create(model, options).ok());
    return run(session, rows, {rows.size()});
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One of the tables whose bits are equal, and those whose bits are their own.
std::vector<const char*> arithmetics() {
    std::vector<const char*> names = {bit_exact_isa()};
    bool present;
    for (size_t i = 0; const char* isa = isa_name(i, &present); i++) {
        Compute compute;
        if (present && compute.create(1, isa).ok() && !compute.bit_exact())
            names.push_back(isa);
    }
    return names;
}

std::vector<size_t> ones(size_t n) {
    return std::vector<size_t>(n, 1);
}

struct Loaded {
    explicit Loaded(const Config& config, unsigned seed = 1, ElementType type = ElementType::f32)
        : arrays(random_arrays(config, seed)), image(make(config, type)) {
        REQUIRE(model.open(image.data(), image.size()).ok());
    }
    Image make(const Config& config, ElementType type) {
        WriterOptions options;
        options.type = type;
        return make_image(config, arrays, options);
    }
    Arrays arrays;
    Image image;
    Model model;
};

}  // namespace

TEST_CASE("session: logits agree with float64, for every field that changes the math") {
    for (const NamedConfig& named : odd_configs()) {
        CAPTURE(std::string(named.name));
        Loaded loaded(named.config);
        std::vector<int32_t> ids = random_ids(named.config, named.config.n_ctx, 2);
        auto expected = reference_logits(named.config, loaded.arrays, ids);
        for (const char* isa : arithmetics()) {
            CAPTURE(std::string(isa));
            std::vector<float> logits = run_on(isa, loaded.model, rows_of(ids));
            for (size_t i = 0; i < ids.size(); i++) {
                CAPTURE(i);
                CHECK(relative_error(&logits[i * named.config.n_vocab], expected[i]) < 2e-5);
            }
        }
    }
}

// A reduced type's weights are exact in f32, so only q4, which rounds activations to 8 bits, is
// further from float64 than f32 is: each activation by 1/254 of its group's largest, of which a
// logit's sum over 60 to 200 gathers a few hundredths.
TEST_CASE("session: logits of reduced weights agree with float64 of the same weights") {
    for (const NamedConfig& named : odd_configs()) {
        for (ElementType type : test::computed()) {
            CAPTURE(std::string(named.name));
            CAPTURE(std::string(name_of(type)));
            Loaded loaded(named.config, 18, type);
            Arrays stored;
            for (size_t i = 0; i < loaded.model.n_tensors(); i++) {
                TensorInfo t = loaded.model.tensor(i);
                for (size_t j = 0; j < t.spec.shape[0] * t.spec.shape[1]; j++) {
                    stored[t.spec.name].push_back(
                        element(t, j / t.spec.shape[1], j % t.spec.shape[1]));
                }
            }
            std::vector<int32_t> ids = random_ids(named.config, named.config.n_ctx, 19);
            auto expected = reference_logits(named.config, stored, ids);
            double bound = type == ElementType::q4 ? 0.05 : 2e-5;
            for (const char* isa : arithmetics()) {
                CAPTURE(std::string(isa));
                std::vector<float> logits = run_on(isa, loaded.model, rows_of(ids));
                for (size_t i = 0; i < ids.size(); i++) {
                    CAPTURE(i);
                    CHECK(relative_error(&logits[i * named.config.n_vocab], expected[i]) < bound);
                }
            }
        }
    }
}

TEST_CASE("session: prefill of n, any split, n decodes and any max_rows are the same bits") {
    for (const NamedConfig& named : odd_configs()) {
        for (ElementType type : test::computed()) {
            CAPTURE(std::string(named.name));
            CAPTURE(std::string(name_of(type)));
            Loaded loaded(named.config, 3, type);
            size_t n = named.config.n_ctx;
            std::vector<Row> rows = rows_of(random_ids(named.config, n, 4));
            Session whole;
            REQUIRE(whole.create(loaded.model, {}).ok());
            std::vector<float> expected = run(whole, rows, {n});
            Session decodes;
            REQUIRE(decodes.create(loaded.model, {}).ok());
            CHECK(same_bits(run(decodes, rows, ones(n)), expected));
            for (size_t first : {size_t{1}, size_t{3}, size_t{15}, size_t{16}, size_t{17}}) {
                if (first >= n)
                    continue;
                REQUIRE(decodes.rewind(0).ok());
                CHECK(same_bits(run(decodes, rows, {first, n - first}), expected));
            }
            for (size_t max_rows : {1, 2, 5, 16, 31}) {
                SessionOptions options;
                options.max_rows = max_rows;
                Session turns;
                REQUIRE(turns.create(loaded.model, options).ok());
                CHECK(same_bits(run(turns, rows, {n}), expected));
            }
        }
    }
}

TEST_CASE("session: an f16 or q8 cache gives the same bits however it is filled, near f32's") {
    std::vector<NamedConfig> configs = odd_configs();
    for (size_t c = 0; c < 2 * configs.size(); c++) {
        const NamedConfig& named = configs[c / 2];
        const KvType kv = c % 2 == 0 ? KvType::f16 : KvType::q8;
        if (test::computed({c % 2 == 0 ? ElementType::f16 : ElementType::q8}).empty())
            continue;
        CAPTURE(std::string(named.name));
        CAPTURE(static_cast<int>(kv));
        Loaded loaded(named.config, 20);
        size_t n = named.config.n_ctx;
        std::vector<int32_t> ids = random_ids(named.config, n, 21);
        std::vector<Row> rows = rows_of(ids);
        SessionOptions options;
        options.kv = kv;
        Compute scalar;
        REQUIRE(scalar.create(1, "scalar").ok());
        options.compute = &scalar;
        Session reference;
        REQUIRE(reference.create(loaded.model, options).ok());
        std::vector<float> expected = run(reference, rows, {n});
        auto truth = reference_logits(named.config, loaded.arrays, ids);
        for (size_t i = 0; i < n; i++)
            CHECK(relative_error(&expected[i * named.config.n_vocab], truth[i]) <
                  (kv == KvType::f16 ? 4e-3 : 3e-2));
        for (size_t n_threads : {1, 3}) {
            Compute compute;
            REQUIRE(compute.create(n_threads, bit_exact_isa()).ok());
            options.compute = &compute;
            options.max_rows = n_threads == 1 ? 256 : 7;
            Session session;
            REQUIRE(session.create(loaded.model, options).ok());
            CHECK(same_bits(run(session, rows, {n}), expected));
            REQUIRE(session.rewind(0).ok());
            CHECK(same_bits(run(session, rows, ones(n)), expected));
        }
        size_t bytes, f32_bytes;
        options.compute = &scalar;
        REQUIRE(session_bytes(loaded.model, options, &bytes).ok());
        options.kv = KvType::f32;
        REQUIRE(session_bytes(loaded.model, options, &f32_bytes).ok());
        // A group of q8 is 32 channels or positions, used or not.
        CHECK((bytes < f32_bytes || n < 32));
    }
}

TEST_CASE("session: every table and every number of threads give the same bits") {
    size_t n_tables = 0;
    std::vector<NamedConfig> configs = odd_configs();
    const std::vector<ElementType> types = test::computed();
    for (size_t c = 0; c < configs.size() * types.size(); c++) {
        const NamedConfig& named = configs[c / types.size()];
        ElementType type = types[c % types.size()];
        // A quick run has f32 of each model, and of each other type some models.
        size_t other = c / types.size() % types.size();
        if (is_quick() && type != ElementType::f32 && type != types[other])
            continue;
        CAPTURE(std::string(named.name));
        CAPTURE(std::string(name_of(type)));
        Loaded loaded(named.config, 5, type);
        size_t n = named.config.n_ctx;
        std::vector<Row> rows = rows_of(random_ids(named.config, n, 6));
        Compute scalar;
        REQUIRE(scalar.create(1, "scalar").ok());
        SessionOptions options;
        options.compute = &scalar;
        Session reference;
        REQUIRE(reference.create(loaded.model, options).ok());
        const std::vector<float> equal = run(reference, rows, {n});
        bool present;
        n_tables = 0;
        for (size_t i = 0; isa_name(i, &present) != nullptr; i++) {
            if (!present) {
                MESSAGE("skipped: this CPU has no ", std::string(isa_name(i, nullptr)));
                continue;
            }
            n_tables++;
            // Bits of a table's own are those of one thread.
            std::vector<float> expected = equal;
            for (size_t n_threads : {1, 2, 3, 8}) {
                if (is_quick() && n_threads % 2 == 0)
                    continue;
                bool best_on_three = n_threads == 3 && i == 0;
                if (type != ElementType::f32 && n_threads != 1 && !best_on_three)
                    continue;
                Compute compute;
                REQUIRE(compute.create(n_threads, isa_name(i, nullptr)).ok());
                CHECK(std::string(compute.isa()) == isa_name(i, nullptr));
                CHECK(compute.n_threads() == threads_of(n_threads));
                options.compute = &compute;
                Session session;
                REQUIRE(session.create(loaded.model, options).ok());
                std::vector<float> found = run(session, rows, {n});
                if (!compute.bit_exact() && n_threads == 1)
                    expected = found;
                CHECK(same_bits(found, expected));
                REQUIRE(session.rewind(0).ok());
                CHECK(same_bits(run(session, rows, ones(n)), expected));
            }
        }
    }
    MESSAGE("tables compared: ", n_tables);
}

TEST_CASE("session: subnormal weights are no zeros, under any table that is asked for") {
    Config config = odd_configs()[0].config;
    Arrays arrays = random_arrays(config, 8);
    for (float& x : arrays["ln_f.weight"])
        x *= 1e-39f;
    for (float& x : arrays["ln_f.bias"])
        x *= 1e-39f;
    Image image = make_image(config, arrays),
          ordinary = make_image(config, random_arrays(config, 8));
    Model model, without;
    REQUIRE(model.open(image.data(), image.size()).ok());
    REQUIRE(without.open(ordinary.data(), ordinary.size()).ok());
    CHECK(model.has_subnormals());
    CHECK(!without.has_subnormals());
    std::vector<Row> rows = rows_of(random_ids(config, 5, 6));
    std::vector<float> expected;
    bool present;
    for (size_t i = 0; isa_name(i, &present) != nullptr; i++) {
        if (!present)
            continue;
        CAPTURE(std::string(isa_name(i, nullptr)));
        Compute compute;
        REQUIRE(compute.create(2, isa_name(i, nullptr)).ok());
        SessionOptions options;
        options.compute = &compute;
        Session session;
        REQUIRE(session.create(model, options).ok());
        std::vector<float> logits = run(session, rows, {rows.size()});
        CHECK(std::any_of(logits.begin(), logits.end(), [](float x) { return x != 0; }));
        if (!compute.bit_exact())
            continue;
        expected = expected.empty() ? logits : expected;
        CHECK(same_bits(logits, expected));
    }
}

TEST_CASE("session: a row alone and the same row among others are the same bits") {
    std::vector<NamedConfig> configs = odd_configs();
    const std::vector<ElementType> types = test::computed();
    for (size_t c = 0; c < configs.size() * types.size(); c++) {
        const NamedConfig& named = configs[c / types.size()];
        ElementType type = types[c % types.size()];
        CAPTURE(std::string(named.name));
        CAPTURE(std::string(name_of(type)));
        Loaded loaded(named.config, 7, type);
        size_t n_vocab = named.config.n_vocab, n = named.config.n_ctx;
        SessionOptions options;
        options.n_seq = 3;
        options.max_rows = 19;
        std::vector<std::vector<float>> expected;
        std::vector<std::vector<Row>> rows;
        for (uint32_t seq = 0; seq < 3; seq++) {
            rows.push_back(rows_of(random_ids(named.config, n, 8 + seq), seq));
            Session alone;
            REQUIRE(alone.create(loaded.model, options).ok());
            expected.push_back(run(alone, rows[seq], {n}));
        }
        // Any mix: stretches of random sequences, in calls of random sizes.
        Session mixed;
        REQUIRE(mixed.create(loaded.model, options).ok());
        std::mt19937 random(9);
        std::vector<Row> mix;
        std::vector<size_t> done(3, 0), source;
        while (mix.size() < 3 * n) {
            uint32_t seq = static_cast<uint32_t>(random() % 3);
            for (size_t i = random() % 4 + 1; i > 0 && done[seq] < n; i--) {
                mix.push_back(rows[seq][done[seq]]);
                source.push_back(seq * n + done[seq]++);
            }
        }
        std::vector<size_t> calls;
        for (size_t left = mix.size(); left != 0; left -= calls.back()) {
            calls.push_back(std::min<size_t>(left, random() % 30 + 1));
        }
        std::vector<float> logits = run(mixed, mix, calls);
        bool same = true;
        for (size_t i = 0; i < mix.size(); i++) {
            const float* wanted = &expected[source[i] / n][source[i] % n * n_vocab];
            same = same && memcmp(wanted, &logits[i * n_vocab], n_vocab * sizeof(float)) == 0;
        }
        CHECK(same);
    }
}

TEST_CASE("session: only the rows that ask get logits, and the answer does not depend on it") {
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    std::vector<Row> rows = rows_of(random_ids(config, 20, 10));
    Session session;
    REQUIRE(session.create(loaded.model, {}).ok());
    std::vector<float> all = run(session, rows, {20});
    for (size_t i = 0; i < rows.size(); i++)
        rows[i].logits = i == 4 || i == 5 || i == 19;
    std::vector<float> some(3 * config.n_vocab + 1, 42.0f);
    REQUIRE(session.rewind(0).ok());
    REQUIRE(session.forward(rows.data(), rows.size(), some.data()).ok());
    size_t row_bytes = config.n_vocab * sizeof(float);
    CHECK(memcmp(&some[0], &all[4 * config.n_vocab], 2 * row_bytes) == 0);
    CHECK(memcmp(&some[2 * config.n_vocab], &all[19 * config.n_vocab], row_bytes) == 0);
    CHECK(some.back() == 42.0f);
}

TEST_CASE("session: in steps of any size it is the same bits, and never more than asked for") {
    for (const NamedConfig& named : odd_configs()) {
        CAPTURE(std::string(named.name));
        Loaded loaded(named.config, 22);
        size_t n = named.config.n_ctx;
        std::vector<Row> rows = rows_of(random_ids(named.config, n, 23));
        SessionOptions options;
        options.max_rows = 11;
        Session session;
        REQUIRE(session.create(loaded.model, options).ok());
        std::vector<float> expected = run(session, rows, {n});
        size_t n_chunks = (n + 10) / 11;
        for (size_t budget : {1, 2, 3, 1000}) {
            REQUIRE(session.rewind(0).ok());
            std::vector<float> logits(expected.size());
            REQUIRE(session.begin(rows.data(), n, logits.data()).ok());
            CHECK(session.n_past() == 0);
            CHECK(session.begin(rows.data(), n, logits.data()).code() == Code::bad_argument);
            CHECK(session.forward(rows.data(), 1, logits.data()).code() == Code::bad_argument);
            CHECK(session.rewind(0).code() == Code::bad_argument);
            size_t n_steps = 0;
            for (bool more = true; more; n_steps++)
                REQUIRE(session.step(budget, &more).ok());
            CHECK(same_bits(logits, expected));
            CHECK(session.n_past() == n);
            // Each chunk has n_layer layers and at least one piece of the head.
            CHECK(n_steps * budget >= n_chunks * (named.config.n_layer + 1));
        }
        bool more;
        REQUIRE(session.rewind(0).ok());
        REQUIRE(session.begin(rows.data(), n, expected.data()).ok());
        REQUIRE(session.step(0, &more).ok());
        CHECK(more);
        session.cancel();
        REQUIRE(session.step(1, &more).ok());
        CHECK(!more);
        CHECK(session.n_past() == 0);
    }
}

TEST_CASE("session: rewound to any position it goes on as if the rest had never been") {
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    std::vector<Row> rows = rows_of(random_ids(config, config.n_ctx, 11));
    Session session;
    REQUIRE(session.create(loaded.model, {}).ok());
    std::vector<float> expected = run(session, rows, {rows.size()});
    std::vector<Row> others = rows_of(random_ids(config, config.n_ctx, 12));
    for (size_t keep : {0, 1, 15, 16, 17, 39, 40}) {
        REQUIRE(session.rewind(0).ok());
        run(session, others, {others.size()});
        REQUIRE(session.rewind(0).ok());
        run(session, rows, {rows.size()});
        REQUIRE(session.rewind(keep).ok());
        CHECK(session.n_past() == keep);
        std::vector<Row> tail(others.begin() + static_cast<std::ptrdiff_t>(keep), others.end());
        if (!tail.empty())
            run(session, tail, {tail.size()});
        REQUIRE(session.rewind(keep).ok());
        std::vector<Row> rest(rows.begin() + static_cast<std::ptrdiff_t>(keep), rows.end());
        std::vector<float> logits(rest.size() * config.n_vocab);
        if (!rest.empty())
            logits = run(session, rest, {rest.size()});
        CHECK(std::equal(logits.begin(), logits.end(),
                         expected.begin() + static_cast<std::ptrdiff_t>(keep * config.n_vocab)));
    }
    CHECK(session.rewind(41).code() == Code::bad_argument);
    CHECK(session.rewind(0, 1).code() == Code::bad_argument);
}

TEST_CASE("session: a call that fails changes nothing") {
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    Session session;
    SessionOptions options;
    options.n_seq = 2;
    REQUIRE(session.create(loaded.model, options).ok());
    std::vector<Row> rows = rows_of(random_ids(config, config.n_ctx + 1, 13));
    std::vector<float> logits(rows.size() * config.n_vocab, 7.0f), before = logits;
    auto refused = [&](const std::vector<Row>& some, Code code) {
        Status status = session.forward(some.data(), some.size(), logits.data());
        CHECK(status.code() == code);
        CHECK(session.n_past(0) == 0);
        CHECK(session.n_past(1) == 0);
        CHECK(same_bits(logits, before));
    };
    refused(rows, Code::context_full);
    for (int32_t id : {-1, 65, 1 << 30}) {
        std::vector<Row> some = {rows[0], {id, 0, true}};
        refused(some, Code::bad_id);
    }
    refused({rows[0], {0, 2, false}}, Code::bad_argument);
    CHECK(session.forward(rows.data(), 1, nullptr).code() == Code::bad_argument);
    rows.pop_back();
    REQUIRE(session.forward(rows.data(), rows.size(), logits.data()).ok());
    CHECK(session.n_past(0) == config.n_ctx);
    CHECK(session.forward(rows.data(), 1, logits.data()).code() == Code::context_full);
    rows[0].seq = 1;
    CHECK(session.forward(rows.data(), 1, logits.data()).ok());
    CHECK(session.forward(nullptr, 0, nullptr).ok());
}

TEST_CASE("session: in memory that is handed in, of exactly the size asked for") {
    for (const NamedConfig& named : odd_configs()) {
        CAPTURE(std::string(named.name));
        Loaded loaded(named.config);
        size_t n = named.config.n_ctx;
        std::vector<Row> rows = rows_of(random_ids(named.config, n, 14));
        Session owner;
        REQUIRE(owner.create(loaded.model, {}).ok());
        std::vector<float> expected = run(owner, rows, {n});
        Compute two;
        REQUIRE(two.create(2).ok());
        SessionOptions options;
        options.compute = &two;
        size_t bytes;
        REQUIRE(session_bytes(loaded.model, options, &bytes).ok());
        Image memory(bytes + 64);
        // NaN everywhere: what was never written must not reach a sum.
        memset(memory.data(), 0xff, memory.size());
        options.memory = memory.data();
        options.memory_bytes = bytes - 1;
        Session session;
        CHECK(session.create(loaded.model, options).code() == Code::out_of_memory);
        options.memory_bytes = bytes;
        options.memory = memory.data() + 4;
        CHECK(session.create(loaded.model, options).code() == Code::bad_argument);
        options.memory = memory.data();
        size_t before = n_allocations();
        Status status = session.create(loaded.model, options);
        CHECK(n_allocations() == before);
        REQUIRE(status.ok());
        CHECK(same_bits(run(session, rows, {n}), expected));
        CHECK(session.create(loaded.model, options).code() == Code::bad_argument);
        for (size_t i = bytes; i < memory.size(); i++)
            CHECK(memory.data()[i] == 0xff);
    }
}

TEST_CASE("session: nothing is allocated after it is made") {
    if (!allocations_are_counted()) {
        MESSAGE("skipped: allocations are not counted in this build");
        return;
    }
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    Compute two;
    REQUIRE(two.create(2).ok());
    SessionOptions options;
    options.compute = &two;
    Session session;
    size_t start = n_allocations();
    REQUIRE(session.create(loaded.model, options).ok());
    CHECK(n_allocations() > start);  // the trap works
    std::vector<Row> rows = rows_of(random_ids(config, config.n_ctx, 15));
    std::vector<float> logits(rows.size() * config.n_vocab);
    bool ok = true;
    size_t before = n_allocations();
    for (int i = 0; i < 3; i++) {
        ok = ok && session.forward(rows.data(), 20, logits.data()).ok();
        for (size_t at = 20; at < rows.size(); at++) {
            ok = ok && session.forward(&rows[at], 1, logits.data()).ok();
        }
        ok = ok && session.rewind(0).ok();
    }
    CHECK(n_allocations() == before);
    CHECK(ok);
}

TEST_CASE("session: the caller's rounding mode changes no bit and is given back") {
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    Compute two;
    REQUIRE(two.create(2).ok());
    SessionOptions options;
    options.compute = &two;
    std::vector<Row> rows = rows_of(random_ids(config, config.n_ctx, 16));
    Session session;
    REQUIRE(session.create(loaded.model, options).ok());
    std::vector<float> expected = run(session, rows, {rows.size()});
    REQUIRE(session.rewind(0).ok());
    int before = fegetround();
    if (fesetround(FE_UPWARD) != 0)
        return;
    std::vector<float> logits(expected.size());
    bool ok = session.forward(rows.data(), rows.size(), logits.data()).ok();
    int after = fegetround();
    fesetround(before);
    CHECK(ok);
    CHECK(after == FE_UPWARD);
    CHECK(same_bits(logits, expected));
}

TEST_CASE("session: options that cannot be are refused with their name") {
    Config config = odd_configs()[0].config;
    Loaded loaded(config);
    auto refused = [&](const char* name, SessionOptions options) {
        Session session;
        Status status = session.create(loaded.model, options);
        CAPTURE(std::string(status.message()));
        CHECK(!status.ok());
        CHECK(strstr(status.message(), name) != nullptr);
    };
    SessionOptions options;
    options.n_ctx = 41;
    refused("n_ctx is 41; the model has 40", options);
    options = {};
    options.n_seq = 0;
    refused("n_seq", options);
    options.n_seq = static_cast<size_t>(-1) / 2;
    refused("addressed", options);
    options = {};
    options.max_rows = 0;
    refused("max_rows", options);
    Model closed;
    Session session;
    CHECK(session.create(closed, {}).code() == Code::bad_argument);
    CHECK(session.forward(nullptr, 0, nullptr).code() == Code::bad_argument);
    options = {};
    options.n_ctx = 10;
    REQUIRE(session.create(loaded.model, options).ok());
    CHECK(session.n_ctx() == 10);
    std::vector<Row> rows = rows_of(random_ids(config, 11, 17));
    std::vector<float> logits(11 * config.n_vocab);
    CHECK(session.forward(rows.data(), 11, logits.data()).code() == Code::context_full);
    CHECK(session.forward(rows.data(), 10, logits.data()).ok());
}
