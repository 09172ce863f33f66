// Sampling: filters, then a draw.
//
// Weights are e^((logit - best) / temperature) as whole numbers, so that their sums are exact and
// no result depends on the order in which an algorithm adds; the draw walks the kept tokens in
// the order of their ids.
#include <new>
#include <type_traits>
#include <utility>

#include "base/block.h"
#include "base/fp_environment.h"
#include "minigpt/generate.h"
#include "minigpt/ops.h"

namespace minigpt {

struct SamplerState {
    SamplerOptions options;
    Random random;
    size_t n_vocab;
    int shift;        // a weight of 1 is the whole number 1 << shift
    float* values;    // [n_vocab]: logits, then the weights of those that are kept
    uint64_t* marks;  // [n_vocab / 64]: a bit for each id

    size_t n_marks() const { return (n_vocab + 63) / 64; }
    void clear_marks() { memset(marks, 0, n_marks() * sizeof(uint64_t)); }
    void mark_all() {
        memset(marks, 0xff, n_marks() * sizeof(uint64_t));
        if (n_vocab % 64 != 0)
            marks[n_marks() - 1] >>= 64 - n_vocab % 64;
    }
    // Without memory it only counts.
    void place(Layouter* layouter) {
        values = layouter->place<float>(n_vocab);
        marks = layouter->place<uint64_t>(n_marks());
    }
    bool marked(size_t id) const { return (marks[id / 64] >> id % 64 & 1) != 0; }
    void mark(size_t id) { marks[id / 64] |= uint64_t{1} << id % 64; }
    void unmark(size_t id) { marks[id / 64] &= ~(uint64_t{1} << id % 64); }
    // visit(id) of each marked one, upwards. It may unmark it.
    template <typename Visit>
    void each_marked(Visit visit) const {
        for (size_t i = 0; i < n_marks(); i++) {
            uint64_t left = marks[i];
            if (left == ~uint64_t{0}) {
                for (size_t id = i * 64; id < i * 64 + 64; id++)
                    visit(id);
                continue;
            }
            for (; left != 0; left &= left - 1)
                visit(i * 64 + static_cast<size_t>(__builtin_ctzll(left)));
        }
    }
    uint64_t whole(size_t id) const {
        return static_cast<uint64_t>(static_cast<double>(values[id]) *
                                     static_cast<double>(uint64_t{1} << shift));
    }
};

namespace {

constexpr float kInfinity = __builtin_inff();
constexpr float kMost = 3.402823466e38f;  // the largest finite float
// e^-64 is under 2^-92, far under the last bit of a weight.
constexpr double kLeast = -64;
constexpr int kMostShift = 44;

// Copies the logits, NaN as minus infinity, and applies the penalty, once to each id.
void load(SamplerState* m, const float* logits, const int32_t* seen, size_t n_seen, float penalty) {
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
        float& value = m->values[id];
        if (value == kInfinity || value == -kInfinity)
            continue;
        value = value > 0 ? value / penalty : value * penalty;
        // A number stays one: it must not look like a token that is masked.
        value = value > kMost ? kMost : value < -kMost ? -kMost : value;
    }
}

// The greatest value, and the first place it is at. n > 0.
struct Best {
    size_t at;
    float value;
};
Best best_of(const float* values, size_t n) {
    Best best = {0, values[0]};
    for (size_t i = 1; i < n; i++) {
        if (values[i] > best.value)
            best = {i, values[i]};
    }
    return best;
}

// All logits are NaN or minus infinity: the first of the latter, else -1.
int32_t first_number(const float* logits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (logits[i] == logits[i])
            return static_cast<int32_t>(i);
    }
    return -1;
}

// Turns the values of the marked into weights, the best's being 1.
void weigh(SamplerState* m, float best, float temperature) {
    constexpr size_t kBatch = 128;
    float exponents[kBatch] = {};
    size_t ids[kBatch], n = 0;
    auto take_batch = [&] {
        (void)exp_each(exponents, exponents, n);  // fails for no numbers at all only
        for (size_t i = 0; i < n; i++)
            m->values[ids[i]] = exponents[i];
        n = 0;
    };
    m->each_marked([&](size_t id) {
        float value = m->values[id];
        double x = (static_cast<double>(value) - static_cast<double>(best)) /
                   static_cast<double>(temperature);
        if (value == best)
            x = 0;  // infinities too
        ids[n] = id;
        exponents[n++] = static_cast<float>(x < kLeast ? kLeast : x);
        if (n == kBatch)
            take_batch();
    });
    take_batch();
}

// A float's bits in an order that whole numbers have; both zeros are one.
uint32_t order_of(float x) {
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000;
}

// Unmarks all but the best, ties to the lower id, that reach `target` together: share_of(id) is
// what each adds. All the marked reach it. The last value that is kept is found a byte of its bits
// at a time, by sums over all values that have the bytes before: four walks, whatever the values.
template <typename ShareOf>
void keep_best(SamplerState* m, uint64_t target, ShareOf share_of) {
    uint32_t last = 0;
    uint64_t reached = 0;  // by what is above the values that have `last`'s bytes
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint64_t sums[256] = {};
        m->each_marked([&](size_t id) {
            uint32_t order = order_of(m->values[id]);
            if ((order ^ last) >> shift >> 8 == 0) {
                sums[order >> shift & 0xff] += share_of(id);
            } else if (order < last) {
                m->unmark(id);
            }
        });
        uint32_t byte = 255;
        while (byte > 0 && reached + sums[byte] < target)
            reached += sums[byte--];
        last |= byte << shift;
    }
    m->each_marked([&](size_t id) {
        uint32_t order = order_of(m->values[id]);
        if (order == last && reached < target) {
            reached += share_of(id);
        } else if (order <= last) {
            m->unmark(id);
        }
    });
}

// p of the total, rounded up: at least 1, as p is above 0.
uint64_t part_of(uint64_t total, float p) {
    double part = static_cast<double>(total) * static_cast<double>(p);
    uint64_t whole = part < static_cast<double>(total) ? static_cast<uint64_t>(part) : total;
    if (static_cast<double>(whole) < part && whole < total)
        whole++;
    return whole;
}

// Unmarks values under the least of k groups' greatest: k values reach that.
void drop_under_groups(SamplerState* m, size_t k) {
    float least = kInfinity;
    for (size_t group = 0; group < k; group++) {
        size_t begin = static_cast<size_t>(uint64_t{group} * m->n_vocab / k);
        size_t end = static_cast<size_t>((uint64_t{group} + 1) * m->n_vocab / k);
        float most = best_of(m->values + begin, end - begin).value;
        least = most < least ? most : least;
    }
    for (size_t id = 0; id < m->n_vocab; id++) {
        if (m->values[id] < least)
            m->unmark(id);
    }
}

// Marks and weighs what top_k and top_p leave. What cannot be among it is dropped in one walk
// first, and of most rows little else is left.
void filter(SamplerState* m, const SamplerOptions& options, float best) {
    m->mark_all();
    if (options.top_k > 0 && options.top_k < m->n_vocab) {
        drop_under_groups(m, options.top_k);
        keep_best(m, options.top_k, [](size_t) { return uint64_t{1}; });
    }
    weigh(m, best, options.temperature);
    if (options.top_p == 1)
        return;
    uint64_t total = 0;
    m->each_marked([&](size_t id) { total += m->whole(id); });
    uint64_t target = part_of(total, options.top_p);
    // All under an n-th of what may be left out are not that much together.
    uint64_t least = (total - target) / m->n_vocab;
    m->each_marked([&](size_t id) {
        if (m->whole(id) < least)
            m->unmark(id);
    });
    keep_best(m, target, [&](size_t id) { return m->whole(id); });
}

// Draws among the marked whose weight is at least min_p.
int32_t draw(const SamplerState& m, float min_p, double unit) {
    auto weight_of = [&](size_t id) { return m.values[id] >= min_p ? m.whole(id) : 0; };
    uint64_t total = 0;
    m.each_marked([&](size_t id) { total += weight_of(id); });
    uint64_t left = static_cast<uint64_t>(unit * static_cast<double>(total));
    if (left >= total)
        left = total - 1;
    for (size_t i = 0;; i++) {
        if (m.marks[i / 64] == 0) {
            i |= 63;
            continue;
        }
        uint64_t weight = m.marked(i) ? weight_of(i) : 0;
        if (left < weight)
            return static_cast<int32_t>(i);
        left -= weight;
    }
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
    if (!within(options.repeat_penalty, 0, kMost) || options.repeat_penalty == 0) {
        return bad_option("repeat_penalty", options.repeat_penalty, "a finite number over 0");
    }
    if (!within(options.temperature, 0, kMost)) {
        return bad_option("temperature", options.temperature, "a finite number, 0 or more");
    }
    if (!within(options.top_p, 0, 1))
        return bad_option("top_p", options.top_p, "0 to 1");
    if (!within(options.min_p, 0, 1))
        return bad_option("min_p", options.min_p, "0 to 1");
    return Status();
}

static_assert(std::is_trivially_destructible_v<SamplerState>, "its memory is just freed");

Status sampler_bytes(const SamplerOptions& options, size_t n_vocab, size_t* bytes) {
    MINIGPT_TRY(check(options));
    if (n_vocab == 0 || n_vocab > 0x7fffffff) {
        return Status::error(Code::bad_argument, "n_vocab: %zu, expected 1 to 2^31 - 1", n_vocab);
    }
    if (bytes == nullptr)
        return Status::error(Code::bad_argument, "bytes: a null pointer");
    Layouter layouter(nullptr);
    layouter.place<SamplerState>(1);
    SamplerState counted;
    counted.n_vocab = n_vocab;
    counted.place(&layouter);
    return size_of_block("sampler", layouter, bytes);
}

Sampler::~Sampler() {
    if (owned_)
        free(state_);
}

Sampler::Sampler(Sampler&& other) noexcept {
    *this = std::move(other);
}

Sampler& Sampler::operator=(Sampler&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(owned_, other.owned_);
    return *this;
}

Status Sampler::create(const SamplerOptions& options, size_t n_vocab, void* memory,
                       size_t memory_bytes) {
    size_t bytes;
    bool owned;
    MINIGPT_TRY(sampler_bytes(options, n_vocab, &bytes));
    MINIGPT_TRY(take_block("sampler", bytes, memory_bytes, &memory, &owned));
    Sampler old;
    std::swap(*this, old);
    owned_ = owned;
    Layouter layouter(memory);
    state_ = new (layouter.place<SamplerState>(1)) SamplerState();
    state_->options = options;
    state_->n_vocab = n_vocab;
    state_->place(&layouter);
    // The sum of n_vocab weights stays under 2^63.
    state_->shift = kMostShift;
    while (n_vocab >> (62 - state_->shift) != 0)
        state_->shift--;
    restart();
    return Status();
}

void Sampler::restart() {
    if (state_ != nullptr)
        state_->random = Random(state_->options.seed);
}

int32_t Sampler::sample(const float* logits, const int32_t* seen, size_t n_seen) {
    SamplerState* m = state_;
    if (m == nullptr || logits == nullptr || (seen == nullptr && n_seen > 0))
        return -1;
    const SamplerOptions& options = m->options;
    FpEnvironment guard;
    load(m, logits, seen, n_seen, options.repeat_penalty);
    Best best = best_of(m->values, m->n_vocab);
    if (best.value == -kInfinity)
        return first_number(logits, m->n_vocab);
    if (options.temperature == 0 || options.top_k == 1 || options.top_p == 0)
        return static_cast<int32_t>(best.at);
    filter(m, options, best.value);
    return draw(*m, options.min_p, m->random.next_unit());
}

Status check_logits(const float* logits, size_t n_vocab, size_t position) {
    if (logits == nullptr)
        return Status::error(Code::bad_argument, "logits: a null pointer");
    // An exponent of ones, as NaN and the infinities have, carries into the sign's place. Two
    // numbers at a time.
    uint64_t carried = 0;
    size_t i = 0;
    for (; i + 2 <= n_vocab; i += 2) {
        uint64_t two;
        memcpy(&two, logits + i, sizeof two);
        carried |= (two & 0x7fffffff7fffffff) + 0x0080000000800000;
    }
    bool odd = i < n_vocab && !(logits[i] - logits[i] == 0);
    if ((carried & 0x8000000080000000) == 0 && !odd)
        return Status();
    size_t n_broken = 0;
    for (i = 0; i < n_vocab; i++)
        n_broken += !(logits[i] - logits[i] == 0);
    return Status::error(
        Code::bad_file, "logits at position %zu: %zu of %zu are not finite; the weights are broken",
        position, n_broken, n_vocab);
}

}  // namespace minigpt
