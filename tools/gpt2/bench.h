// What gpt2 bench measures, between its parts: the machine, the model, a child process, the report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/loaded.h"
#include "gpt2/options.h"
#include "minigpt/compute.h"
#include "minigpt/model.h"

namespace minigpt::gpt2 {

// The repeats of one measurement.
struct Samples {
    std::vector<double> values;

    void add(double value) { values.push_back(value); }
    // Of no values 0; the median of an even number of them lies between the middle two.
    double median() const;
    double least() const;
    double most() const;
};

// Memory that is far more than the caches hold, once in 4 KiB pages and once in huge ones where
// the system has them: what the machine's read bandwidth is measured on.
class ReadProbe {
public:
    ReadProbe();  // throws Error when there is no memory
    ~ReadProbe();
    ReadProbe(const ReadProbe&) = delete;
    ReadProbe& operator=(const ReadProbe&) = delete;

    enum Pages { kSmall, kHuge };
    double rate(Pages pages, const Compute& compute);  // bytes a second

private:
    size_t bytes_;
    void* mapped_[2];
    void* data_[2];  // inside it, aligned to a huge page
    int written_ = 1;
};

// The type of the layers' matrices: the token table of a q4 file is q8.
ElementType matrix_type(const Model& model);

// Operations of a prefill of n tokens from nothing: a multiply and an add for each weight of the
// matrices and token, the scores and weighted values that the mask leaves, one row of the head.
double prefill_operations(const Model& model, size_t n_tokens);

// Bytes of weights that one token's decode reads: all tensors but the position table and the token
// table, of which it is one row each; the token table counts where it is the head, too.
double decode_bytes(const Model& model);

// Runs a model as bench does, on made-up tokens. Each call starts from an empty cache, and gives
// tokens a second.
class ModelRunner {
public:
    // Sequences of `batch` have room for n_decode tokens each.
    ModelRunner(const Options& options, const Loaded& loaded, size_t most_batch, size_t n_decode);

    double prefill(size_t n_tokens);  // and the logits after the last
    double decode(size_t n_tokens);
    double decode_together(size_t n_seq, size_t n_tokens);  // n_tokens of each sequence
    // The cache holds `depth` tokens, and as many more as a stretch of 16 decodes adds, before it
    // is rewound; filling it is not timed. depth < n_ctx.
    double decode_at(size_t depth, size_t n_tokens);

private:
    void run(Session& session, size_t n_rows, bool all_logits);

    const Loaded& loaded_;
    Session one_, many_;
    std::vector<Row> rows_;
    std::vector<float> logits_;
};

// A process of its own that makes one token from a prompt of n_prompt.
struct Child {
    double first_token_s;  // from before it starts to its first byte of output
    uint64_t peak_bytes;   // resident at most: the file's pages count, for they are mapped
};
// None where this system cannot start its own program again. The caller should hold little memory
// itself: what it holds counts as the child's, which begins as its copy. Throws Error when the
// child fails.
std::optional<Child> run_child(const Options& options, size_t n_prompt);

struct Counted {
    size_t n;
    Samples rate;
};

struct BenchResult {
    std::string model, type, isa;
    bool loaded = false;  // --load: the weights lie in huge pages
    size_t threads = 0, repeats = 0;
    size_t n_prefill = 0, n_decode = 0;
    double prefill_operations = 0, decode_bytes = 0;
    uint64_t file_bytes = 0;
    Samples fma, read_small, read_huge;  // operations, bytes a second
    Samples prefill, decode;             // tokens a second
    std::vector<Counted> batch, depth;
    Samples first_token, peak_bytes;  // empty: could not be measured

    double prefill_of_peak() const;
    double decode_of_bandwidth() const;
    // No decode reads weights from memory faster than the probe: either something disturbed it, or
    // the weights lie in the caches.
    bool probe_is_doubtful() const { return decode_of_bandwidth() > kMostOfBandwidth; }

    static constexpr double kMostOfBandwidth = 1.15;
};

std::string bench_json(const BenchResult& result);
std::string bench_text(const BenchResult& result);

}  // namespace minigpt::gpt2
