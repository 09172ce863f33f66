// Sampling: filters, then a draw.
//
// Weights are e^((logit - best) / temperature) as whole numbers, so that their sums are exact and
// no result depends on the order in which an algorithm adds; the draw walks the kept tokens in
// the order of their ids.
#include <new>

#include "base/buffer.h"
#include "base/fp_environment.h"
#include "minigpt/generate.h"
#include "minigpt/ops.h"

namespace minigpt {

struct Candidate {
    float value;
    int32_t id;
};

struct SamplerMemory {
    size_t n_vocab;
    int shift;                     // a weight of 1 is the whole number 1 << shift
    Buffer<float> values;          // [n_vocab]: logits, then the weights of those that count
    Buffer<Candidate> candidates;  // [n_vocab], with top_k or top_p
    Buffer<uint64_t> marks;        // [n_vocab / 64]: a bit for each id

    size_t n_marks() const { return (n_vocab + 63) / 64; }
    void clear_marks() { memset(marks.data(), 0, n_marks() * sizeof(uint64_t)); }
    bool marked(size_t id) const { return (marks[id / 64] >> id % 64 & 1) != 0; }
    void mark(size_t id) { marks[id / 64] |= uint64_t{1} << id % 64; }
    uint64_t whole(size_t id) const {
        return static_cast<uint64_t>(static_cast<double>(values[id]) *
                                     static_cast<double>(uint64_t{1} << shift));
    }
};

namespace {

constexpr float kInfinity = __builtin_inff();
// e^-64 is under 2^-92, far under the last bit of a weight.
constexpr double kLeast = -64;
constexpr int kMostShift = 44;

bool better(const Candidate& a, const Candidate& b) {
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}
bool worse(const Candidate& a, const Candidate& b) {
    return better(b, a);
}

// heap[0] goes before all others.
template <typename Before>
void sift_down(Candidate* heap, size_t n, size_t i, Before before) {
    Candidate item = heap[i];
    for (size_t child = i * 2 + 1; child < n; child = i * 2 + 1) {
        if (child + 1 < n && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], item))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = item;
}

template <typename Before>
void make_heap(Candidate* heap, size_t n, Before before) {
    for (size_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i, before);
}

// Copies the logits, NaN as minus infinity, and applies the penalty, once to each id.
void load(SamplerMemory* m, const float* logits, const int32_t* seen, size_t n_seen,
          float penalty) {
    for (size_t i = 0; i < m->n_vocab; i++) {
        m->values[i] = logits[i] == logits[i] ? logits[i] : -kInfinity;
    }
    if (penalty == 1)
        return;
    m->clear_marks();
    for (size_t i = 0; i < n_seen; i++) {
        if (seen[i] < 0 || static_cast<size_t>(seen[i]) >= m->n_vocab)
            continue;
        size_t id = static_cast<size_t>(seen[i]);
        if (m->marked(id))
            continue;
        m->mark(id);
        float value = m->values[id];
        m->values[id] = value > 0 ? value / penalty : value * penalty;
    }
}

size_t best_of(const SamplerMemory& m) {
    size_t best = 0;
    for (size_t i = 1; i < m.n_vocab; i++) {
        if (m.values[i] > m.values[best])
            best = i;
    }
    return best;
}

// All logits are NaN or minus infinity: the first of the latter, else 0.
int32_t first_number(const float* logits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (logits[i] == logits[i])
            return static_cast<int32_t>(i);
    }
    return 0;
}

// Turns the values of n ids (the i-th is id_of(i)) into weights, the best's being 1.
template <typename IdOf>
void weigh(SamplerMemory* m, size_t n, float best, float temperature, IdOf id_of) {
    constexpr size_t kBatch = 128;
    float exponents[kBatch];
    for (size_t begin = 0; begin < n; begin += kBatch) {
        size_t n_batch = n - begin < kBatch ? n - begin : kBatch;
        for (size_t i = 0; i < n_batch; i++) {
            float value = m->values[id_of(begin + i)];
            double x = (static_cast<double>(value) - static_cast<double>(best)) /
                       static_cast<double>(temperature);
            if (value == best)
                x = 0;  // infinities too
            exponents[i] = static_cast<float>(x < kLeast ? kLeast : x);
        }
        (void)exp_each(exponents, exponents, n_batch);  // fails for no numbers at all only
        for (size_t i = 0; i < n_batch; i++)
            m->values[id_of(begin + i)] = exponents[i];
    }
}

// The k best, in any order, at the front of the candidates. Returns how many there are.
size_t keep_top_k(SamplerMemory* m, size_t k) {
    Candidate* kept = m->candidates.data();
    size_t n = 0;
    for (size_t i = 0; i < m->n_vocab; i++) {
        Candidate c = {m->values[i], static_cast<int32_t>(i)};
        if (c.value == -kInfinity)
            continue;
        if (n < k) {
            kept[n++] = c;
            if (n == k)
                make_heap(kept, n, worse);
        } else if (better(c, kept[0])) {
            kept[0] = c;
            sift_down(kept, n, 0, worse);
        }
    }
    return n;
}

// All that can belong to the smallest set that reaches `target`: those dropped, each under an
// n-th of what the set may leave out, do not make up that much together.
size_t keep_likely(SamplerMemory* m, uint64_t total, uint64_t target) {
    uint64_t least = (total - target) / m->n_vocab;
    size_t n = 0;
    for (size_t i = 0; i < m->n_vocab; i++) {
        uint64_t weight = m->whole(i);
        if (weight == 0 || weight < least)
            continue;
        m->candidates[n++] = {m->values[i], static_cast<int32_t>(i)};
    }
    return n;
}

// p of the total, rounded up; at least 1.
uint64_t part_of(uint64_t total, float p) {
    double part = static_cast<double>(total) * static_cast<double>(p);
    uint64_t whole = part < static_cast<double>(total) ? static_cast<uint64_t>(part) : total;
    if (static_cast<double>(whole) < part && whole < total)
        whole++;
    return whole == 0 ? 1 : whole;
}

// Marks the best candidates until their weights reach `target`.
void mark_top_p(SamplerMemory* m, size_t n, uint64_t target) {
    Candidate* heap = m->candidates.data();
    make_heap(heap, n, better);
    for (uint64_t reached = 0; n > 0 && reached < target;) {
        size_t id = static_cast<size_t>(heap[0].id);
        reached += m->whole(id);
        m->mark(id);
        heap[0] = heap[--n];
        if (n > 0)
            sift_down(heap, n, 0, better);
    }
}

// Weighs what top_k and top_p leave and marks it.
void filter(SamplerMemory* m, const SamplerOptions& options, float best) {
    m->clear_marks();
    bool top_k = options.top_k > 0 && options.top_k < m->n_vocab;
    uint64_t total = 0, target = 0;
    size_t n = m->n_vocab;
    if (top_k) {
        n = keep_top_k(m, options.top_k);
        Candidate* kept = m->candidates.data();
        weigh(m, n, best, options.temperature,
              [&](size_t i) { return static_cast<size_t>(kept[i].id); });
        for (size_t i = 0; i < n; i++) {
            size_t id = static_cast<size_t>(kept[i].id);
            kept[i].value = m->values[id];
            total += m->whole(id);
            if (options.top_p == 1)
                m->mark(id);
        }
        if (options.top_p == 1)
            return;
        target = part_of(total, options.top_p);
    } else {
        weigh(m, n, best, options.temperature, [](size_t i) { return i; });
        for (size_t i = 0; i < n; i++)
            total += m->whole(i);
        target = part_of(total, options.top_p);
        n = keep_likely(m, total, target);
    }
    mark_top_p(m, n, target);
}

// Draws among the marked (or all) whose weight is at least min_p.
int32_t draw(const SamplerMemory& m, bool all, float min_p, double unit) {
    // visit(id, weight) of each until it returns true.
    auto each = [&](auto visit) {
        for (size_t i = 0; i < m.n_vocab; i++) {
            if (!all && m.marks[i / 64] == 0) {
                i |= 63;
                continue;
            }
            if ((all || m.marked(i)) && m.values[i] >= min_p && visit(i, m.whole(i)))
                return;
        }
    };
    uint64_t total = 0;
    each([&](size_t, uint64_t weight) {
        total += weight;
        return false;
    });
    uint64_t left = static_cast<uint64_t>(unit * static_cast<double>(total));
    if (left >= total)
        left = total - 1;
    size_t drawn = 0;
    each([&](size_t id, uint64_t weight) {
        drawn = id;
        if (left < weight)
            return true;
        left -= weight;
        return false;
    });
    return static_cast<int32_t>(drawn);
}

Status bad_option(const char* name, float found, const char* expected) {
    return Status::error(Code::bad_argument, "%s: %g, expected %s", name,
                         static_cast<double>(found), expected);
}

bool within(float x, float low, float high) {
    return x >= low && x <= high;
}  // NaN is not

}  // namespace

Status check(const SamplerOptions& options) {
    constexpr float kMost = 3.402823466e38f;  // any finite number
    if (!within(options.repeat_penalty, 0, kMost) || options.repeat_penalty == 0) {
        return bad_option("repeat_penalty", options.repeat_penalty, "more than 0");
    }
    if (!within(options.temperature, 0, kMost)) {
        return bad_option("temperature", options.temperature, "0 or more");
    }
    if (!within(options.top_p, 0, 1))
        return bad_option("top_p", options.top_p, "0 to 1");
    if (!within(options.min_p, 0, 1))
        return bad_option("min_p", options.min_p, "0 to 1");
    return Status();
}

Sampler::~Sampler() {
    delete memory_;
}

Status Sampler::create(const SamplerOptions& options, size_t n_vocab) {
    MINIGPT_TRY(check(options));
    if (n_vocab == 0 || n_vocab > 0x7fffffff) {
        return Status::error(Code::bad_argument, "n_vocab: %zu, expected 1 to 2^31 - 1", n_vocab);
    }
    SamplerMemory* m = new (std::nothrow) SamplerMemory();
    bool listed = options.top_k > 0 || options.top_p < 1;
    if (m == nullptr || !m->values.allocate(n_vocab) || !m->marks.allocate((n_vocab + 63) / 64) ||
        !m->candidates.allocate(listed ? n_vocab : 0)) {
        delete m;
        return Status::error(Code::out_of_memory, "no memory for a sampler of %zu tokens", n_vocab);
    }
    m->n_vocab = n_vocab;
    // The sum of n_vocab weights stays under 2^63.
    m->shift = kMostShift;
    while (n_vocab >> (62 - m->shift) != 0)
        m->shift--;
    delete memory_;
    memory_ = m;
    options_ = options;
    restart();
    return Status();
}

int32_t Sampler::sample(const float* logits, const int32_t* seen, size_t n_seen) {
    SamplerMemory* m = memory_;
    if (m == nullptr)
        return -1;
    FpEnvironment guard;
    load(m, logits, seen, n_seen, options_.repeat_penalty);
    size_t best_id = best_of(*m);
    float best = m->values[best_id];
    if (best == -kInfinity)
        return first_number(logits, m->n_vocab);
    if (options_.temperature == 0 || options_.top_k == 1 || options_.top_p == 0) {
        return static_cast<int32_t>(best_id);
    }
    bool all = (options_.top_k == 0 || options_.top_k >= m->n_vocab) && options_.top_p == 1;
    if (all) {
        weigh(m, m->n_vocab, best, options_.temperature, [](size_t i) { return i; });
    } else {
        filter(m, options_, best);
    }
    return draw(*m, all, options_.min_p, random_.next_unit());
}

}  // namespace minigpt
