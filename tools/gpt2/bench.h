// The parts of gpt2 bench: the machine, the model, a child process, the report.
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

// The results of one measurement's repeats.
struct Samples {
    std::vector<double> values;

    void add(double value) { values.push_back(value); }
    // 0 without values. The median of an even number of values is the mean of the middle two.
    double median() const;
    double least() const;
    double most() const;
};

// Memory for measuring the read bandwidth, far larger than the caches: once in 4 KiB pages, and
// once in huge pages if the system has them.
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

// The type of the layers' matrices. The token table may differ: in a q4 file it is q8.
ElementType matrix_type(const Model& model);

// Operations of a prefill of n tokens with an empty cache. Counted are a multiply and an add for
// each weight of the matrices and each token, the scores and weighted values inside the mask, and
// one row of the head.
double prefill_operations(const Model& model, size_t n_tokens);

// Bytes of weights that the decode of one token reads. Of the position table this is one row. Of
// the token table it is also one row, or all of it if it is the output head. All other tensors are
// read completely.
double decode_bytes(const Model& model);

// Runs a model on made-up tokens, as bench does. Each call starts from an empty cache and returns
// tokens a second.
class ModelRunner {
public:
    // Each of the `batch` sequences has room for n_decode tokens.
    ModelRunner(const Options& options, const Loaded& loaded, size_t most_batch, size_t n_decode);

    double prefill(size_t n_tokens);  // with the logits after the last token
    double decode(size_t n_tokens);
    double decode_together(size_t n_seq, size_t n_tokens);  // n_tokens for each sequence
    // Decodes with `depth` tokens in the cache, and up to 16 more. The cache is rewound after each
    // stretch of 16 decodes. Filling it is not timed. depth < n_ctx.
    double decode_at(size_t depth, size_t n_tokens);

private:
    void run(Session& session, size_t n_rows, bool all_logits);

    const Loaded& loaded_;
    Session one_, many_;
    std::vector<Row> rows_;
    std::vector<float> logits_;
};

// A child process that generates one token after a prompt of n_prompt tokens.
struct Child {
    double first_token_s;  // seconds from before the start to its first byte of output
    uint64_t peak_bytes;   // peak resident memory, including pages of the mapped file
};
// Returns nothing if this system cannot start its own program again. The caller should hold little
// memory itself: the child begins as its copy, so that memory counts as the child's. Throws Error
// if the child fails.
std::optional<Child> run_child(const Options& options, size_t n_prompt);

struct Counted {
    size_t n;
    Samples rate;
};

struct BenchResult {
    std::string model, type, isa;
    bool loaded = false;  // --load: the weights are in huge pages
    size_t threads = 0, repeats = 0;
    size_t n_prefill = 0, n_decode = 0;
    double prefill_operations = 0, decode_bytes = 0;
    uint64_t file_bytes = 0;
    Samples fma, read_small, read_huge;  // operations a second; bytes a second
    Samples prefill, decode;             // tokens a second
    std::vector<Counted> batch, depth;
    Samples first_token, peak_bytes;  // empty: not measurable here

    double prefill_of_peak() const;
    double decode_of_bandwidth() const;
    // A decode cannot read weights from memory faster than the probe. If it seems to, either
    // something disturbed the probe, or the weights lie in the caches.
    bool probe_is_doubtful() const { return decode_of_bandwidth() > kMostOfBandwidth; }

    static constexpr double kMostOfBandwidth = 1.15;
};

std::string bench_json(const BenchResult& result);
std::string bench_text(const BenchResult& result);

}  // namespace minigpt::gpt2
