#include "model/self_test.h"

#include <cmath>
#include <cstring>

#include "base/buffer.h"
#include "base/fp_environment.h"
#include "base/hash.h"
#include "minigpt/verify.h"
#include "ops/check.h"

namespace minigpt {
namespace {

// The writer's prompts: a single token, a few, and one more than a panel of keys holds.
constexpr size_t kLengths[] = {1, 7, 17};
constexpr size_t kCases = sizeof kLengths / sizeof kLengths[0];

size_t prompt_length(const Config& config, size_t index) {
    return kLengths[index] < config.n_ctx ? kLengths[index] : config.n_ctx;
}

// The kernels that keep the promise of equal bits.
class ExactCompute {
public:
    Status create(const Compute& compute) {
        used_ = &compute;
        if (compute.bit_exact())
            return Status();
        used_ = &own_;
        return own_.create(compute.n_threads(), bit_exact_isa());
    }
    const Compute& operator*() const { return *used_; }

private:
    Compute own_;
    const Compute* used_ = nullptr;
};

// The lower of equals; a NaN only where there is nothing else.
int32_t highest(const float* logits, size_t n) {
    FpEnvironment environment;
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best] || (std::isnan(logits[best]) && !std::isnan(logits[i])))
            best = i;
    }
    return static_cast<int32_t>(best);
}

// Prompts, and what they give: expected, or found.
struct Cases {
    SelfTest tests[kMaxSelfTests];
    size_t n;
};

Cases cases_of(const Model& model) {
    Cases cases = {{}, model.n_self_tests()};
    for (size_t i = 0; i < cases.n; i++)
        cases.tests[i] = model.self_test(i);
    return cases;
}

// A run of all prompts at once, each in a sequence of its own, so that the weights are read once.
struct Run {
    SessionOptions options;
    size_t session_bytes, rows_bytes, logits_bytes;

    size_t bytes() const { return session_bytes + rows_bytes + logits_bytes; }
};

Status plan_run(const Model& model, const Compute& compute, const Cases& cases, Run* run) {
    size_t longest = 0, n_rows = 0;
    for (size_t i = 0; i < cases.n; i++) {
        size_t n = cases.tests[i].n_ids;
        longest = n > longest ? n : longest;
        n_rows += n;
    }
    run->options.n_seq = cases.n;
    run->options.n_ctx = longest;
    run->options.max_rows = n_rows < 64 ? n_rows : 64;
    run->options.compute = &compute;
    MINIGPT_TRY(session_bytes(model, run->options, &run->session_bytes));
    uint64_t n_logits = uint64_t{cases.n} * model.config().n_vocab;
    uint64_t most = (static_cast<size_t>(-1) / 2 - run->session_bytes) / (2 * sizeof(float));
    if (n_logits > most)
        return Status::error(Code::out_of_memory, "the logits are more than can be addressed");
    run->rows_bytes = round_up(n_rows * sizeof(Row), kAlign);
    run->logits_bytes = round_up(static_cast<size_t>(n_logits) * sizeof(float), kAlign);
    return Status();
}

// Sets each digest and argmax. memory: run.bytes(), aligned.
Status run_cases(const Model& model, Run run, unsigned char* memory, Cases* cases,
                 void (*after_step)(void* context) = nullptr, void* context = nullptr) {
    run.options.memory = memory;
    run.options.memory_bytes = run.session_bytes;
    Session session;
    MINIGPT_TRY(session.create(model, run.options));
    Row* rows = reinterpret_cast<Row*>(memory + run.session_bytes);
    float* logits = reinterpret_cast<float*>(memory + run.session_bytes + run.rows_bytes);
    size_t n_rows = 0;
    for (size_t i = 0; i < cases->n; i++) {
        const SelfTest& test = cases->tests[i];
        for (size_t j = 0; j < test.n_ids; j++)
            rows[n_rows++] = {test.ids[j], static_cast<uint32_t>(i), j + 1 == test.n_ids};
    }
    MINIGPT_TRY(session.begin(rows, n_rows, logits));
    for (bool more = true; more;) {
        MINIGPT_TRY(session.step(1, &more));
        if (after_step != nullptr)
            after_step(context);
    }
    size_t n = model.config().n_vocab;
    for (size_t i = 0; i < cases->n; i++, logits += n) {
        cases->tests[i].digest = logits_digest(logits, n);
        cases->tests[i].argmax = highest(logits, n);
    }
    return Status();
}

}  // namespace

uint64_t logits_digest(const float* logits, size_t n) {
    Hash64 hash;
    uint32_t bits[64];
    for (size_t i = 0; i < n && logits != nullptr; i += 64) {
        size_t take = n - i < 64 ? n - i : 64;
        memcpy(bits, logits + i, take * sizeof(float));
        for (size_t j = 0; j < take; j++) {
            if ((bits[j] & 0x7fffffff) > 0x7f800000)
                bits[j] = 0x7fc00000;
        }
        hash.update(bits, take * sizeof(float));
    }
    return hash.finish();
}

Status check_self_test(const void* section, size_t bytes, const Config& config) {
    SelfTestHeader h;
    if (bytes < sizeof h)
        return Status::error(Code::bad_file, "the self-test has %zu bytes; expected 8", bytes);
    memcpy(&h, section, sizeof h);
    if (h.n_cases > kMaxSelfTests || h.n_ids > kMaxSelfTests * kMaxSelfTestIds ||
        bytes < sizeof h + h.n_cases * sizeof(SelfTestCase) + h.n_ids * sizeof(int32_t)) {
        return Status::error(Code::bad_file, "the self-test has %lu cases and %lu ids in %zu bytes",
                             static_cast<unsigned long>(h.n_cases),
                             static_cast<unsigned long>(h.n_ids), bytes);
    }
    const unsigned char* p = static_cast<const unsigned char*>(section) + sizeof h;
    size_t n_ids = 0;
    for (uint32_t i = 0; i < h.n_cases; i++) {
        SelfTestCase test;
        memcpy(&test, p + i * sizeof test, sizeof test);
        if (test.n_ids == 0 || test.n_ids > kMaxSelfTestIds || test.n_ids > config.n_ctx) {
            return Status::error(Code::bad_file, "prompt %lu of the self-test has %lu ids",
                                 static_cast<unsigned long>(i) + 1,
                                 static_cast<unsigned long>(test.n_ids));
        }
        n_ids += test.n_ids;
    }
    if (n_ids != h.n_ids) {
        return Status::error(Code::bad_file, "the self-test has %zu ids; expected %lu", n_ids,
                             static_cast<unsigned long>(h.n_ids));
    }
    p += h.n_cases * sizeof(SelfTestCase);
    for (size_t i = 0; i < n_ids; i++) {
        uint32_t id;
        memcpy(&id, p + i * sizeof id, sizeof id);
        if (id < config.n_vocab)
            continue;
        return Status::error(Code::bad_file, "the self-test has id %lu; expected 0 to %lu",
                             static_cast<unsigned long>(id),
                             static_cast<unsigned long>(config.n_vocab - 1));
    }
    return Status();
}

size_t Model::n_self_tests() const {
    SelfTestHeader h = {};
    if (self_test_ != nullptr)
        memcpy(&h, self_test_, sizeof h);
    return h.n_cases;
}

SelfTest Model::self_test(size_t index) const {
    if (index >= n_self_tests())
        return {nullptr, 0, 0, 0};
    const unsigned char* cases = self_test_ + sizeof(SelfTestHeader);
    const int32_t* ids =
        reinterpret_cast<const int32_t*>(cases + n_self_tests() * sizeof(SelfTestCase));
    for (;; index--) {
        SelfTestCase test;
        memcpy(&test, cases, sizeof test);
        if (index == 0)
            return {ids, test.n_ids, test.argmax, test.digest};
        cases += sizeof test;
        ids += test.n_ids;
    }
}

size_t self_test_bytes(const Config& config) {
    size_t bytes = sizeof(SelfTestHeader) + kCases * sizeof(SelfTestCase);
    for (size_t i = 0; i < kCases; i++)
        bytes += prompt_length(config, i) * sizeof(int32_t);
    return bytes;
}

void make_empty_self_test(const Config& config, void* section) {
    memset(section, 0, self_test_bytes(config));
}

Status make_self_test(const Model& model, void* section, void (*after_step)(void* context),
                      void* context) {
    const Config& config = model.config();
    make_empty_self_test(config, section);
    unsigned char* at = static_cast<unsigned char*>(section) + sizeof(SelfTestHeader);
    int32_t* ids = reinterpret_cast<int32_t*>(at + kCases * sizeof(SelfTestCase));
    Cases cases = {{}, kCases};
    uint32_t n_ids = 0;
    for (size_t i = 0; i < kCases; i++) {
        cases.tests[i].ids = ids + n_ids;
        cases.tests[i].n_ids = prompt_length(config, i);
        for (size_t j = 0; j < cases.tests[i].n_ids; j++) {
            // Multiples of the golden ratio spread evenly over the vocabulary.
            uint64_t spread = (n_ids + 1) * uint64_t{0x9e3779b9} & 0xffffffff;
            ids[n_ids++] = static_cast<int32_t>(spread * config.n_vocab >> 32);
        }
    }
    const Compute best;
    ExactCompute compute;
    MINIGPT_TRY(compute.create(best));
    Run run;
    MINIGPT_TRY(plan_run(model, *compute, cases, &run));
    Buffer<unsigned char> memory;
    if (!memory.allocate(run.bytes()))
        return Status::error(Code::out_of_memory, "no memory for the self-test");
    MINIGPT_TRY(run_cases(model, run, memory.data(), &cases, after_step, context));
    for (size_t i = 0; i < kCases; i++, at += sizeof(SelfTestCase)) {
        const SelfTest& t = cases.tests[i];
        SelfTestCase test = {t.digest, t.argmax, static_cast<uint32_t>(t.n_ids)};
        memcpy(at, &test, sizeof test);
    }
    SelfTestHeader h = {kCases, n_ids};
    memcpy(section, &h, sizeof h);
    return Status();
}

Status verify_bytes(const Model& model, const Compute& compute, size_t* bytes) {
    if (!model.is_open())
        return Status::error(Code::bad_argument, "the model is not open");
    MINIGPT_TRY(check_pointer("bytes", bytes));
    if (model.n_self_tests() == 0) {
        return Status::error(Code::not_supported,
                             "the file has no self-test; those that convert makes have");
    }
    ExactCompute exact;
    MINIGPT_TRY(exact.create(compute));
    Run run;
    MINIGPT_TRY(plan_run(model, *exact, cases_of(model), &run));
    *bytes = run.bytes();
    return Status();
}

Status verify(const Model& model, const Compute& compute, void* memory, size_t memory_bytes) {
    if (!model.is_open())
        return Status::error(Code::bad_argument, "the model is not open");
    MINIGPT_TRY(model.check_weights(compute));
    size_t bytes;
    MINIGPT_TRY(verify_bytes(model, compute, &bytes));
    Buffer<unsigned char> own;
    if (memory == nullptr) {
        if (!own.allocate(bytes))
            return Status::error(Code::out_of_memory, "no memory for %zu bytes", bytes);
        memory = own.data();
    } else if (reinterpret_cast<uintptr_t>(memory) % kAlign != 0) {
        return Status::error(Code::bad_argument, "the memory is at %p; expected a multiple of 64",
                             memory);
    } else if (memory_bytes < bytes) {
        return Status::error(Code::out_of_memory, "%zu bytes were given; verifying needs %zu",
                             memory_bytes, bytes);
    }
    ExactCompute exact;
    MINIGPT_TRY(exact.create(compute));
    Cases found = cases_of(model);
    Run run;
    MINIGPT_TRY(plan_run(model, *exact, found, &run));
    MINIGPT_TRY(run_cases(model, run, static_cast<unsigned char*>(memory), &found));
    for (size_t i = 0; i < found.n; i++) {
        SelfTest is = found.tests[i], expected = model.self_test(i);
        if (is.digest == expected.digest && is.argmax == expected.argmax)
            continue;
        return Status::error(
            Code::bad_file,
            "logits of prompt %zu (n_tokens %zu): digest %016llx, expected %016llx; the highest is "
            "%ld, expected %ld",
            i + 1, is.n_ids, static_cast<unsigned long long>(is.digest),
            static_cast<unsigned long long>(expected.digest), static_cast<long>(is.argmax),
            static_cast<long>(expected.argmax));
    }
    return Status();
}

}  // namespace minigpt
