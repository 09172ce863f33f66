// gpt2 bench: how fast a model runs, and what part that is of what the machine can do.
#include "gpt2/bench.h"

#include <algorithm>

#include "common/error.h"
#include "common/output.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "minigpt/machine_limits.h"

namespace minigpt::gpt2 {
namespace {

constexpr size_t kPromptOfChild = 5;

// A size that the context cannot hold is cut, and that is said.
size_t cut_to_fit(const char* flag, size_t n, size_t n_ctx) {
    if (n <= n_ctx)
        return n;
    print_line(format("%s: %zu is cut to %zu, the model's context", flag, n, n_ctx));
    return n_ctx;
}

// Before the parent holds any memory; the first run only brings the file into the page cache.
void measure_children(const Options& options, size_t n_ctx, BenchResult* result) {
    size_t n_prompt = std::min(kPromptOfChild, n_ctx);
    for (size_t i = 0; i <= options.repeats; i++) {
        std::optional<Child> child = run_child(options, n_prompt);
        if (!child) {
            print_line(
                "the time to the first token was not measured: this program cannot start "
                "itself here");
            return;
        }
        if (i == 0)
            continue;
        result->first_token.add(child->first_token_s);
        result->peak_bytes.add(static_cast<double>(child->peak_bytes));
    }
}

void measure_machine(const Compute& compute, ReadProbe& probe, BenchResult* result) {
    double rate = 0;
    require(measure_fma(&rate, &compute), "fma peak");
    result->fma.add(rate);
    result->read_small.add(probe.rate(ReadProbe::kSmall, compute));
    result->read_huge.add(probe.rate(ReadProbe::kHuge, compute));
}

void measure_model(const Options& options, const Loaded& loaded, BenchResult* result) {
    const std::vector<size_t>& batch = options.batch;
    size_t most = batch.empty() ? 1 : *std::max_element(batch.begin(), batch.end());
    ModelRunner runner(options, loaded, most, result->n_decode);
    ReadProbe probe;
    // Pages that nobody touched yet, and threads that nobody woke.
    runner.prefill(result->n_prefill);
    runner.decode(std::min<size_t>(4, result->n_decode));
    // A busy machine slows whatever runs just then: the measurements take turns.
    for (size_t i = 0; i < options.repeats; i++) {
        measure_machine(loaded.compute, probe, result);
        result->prefill.add(runner.prefill(result->n_prefill));
        result->decode.add(runner.decode(result->n_decode));
        for (Counted& each : result->batch)
            each.rate.add(runner.decode_together(each.n, result->n_decode));
        for (Counted& each : result->depth)
            each.rate.add(runner.decode_at(each.n, result->n_decode));
    }
}

void check_depths(const Options& options, size_t n_ctx) {
    for (size_t depth : options.depth) {
        if (depth >= n_ctx) {
            refuse("--depth: found %zu, expected at most %zu, one less than the model's context",
                   depth, n_ctx - 1);
        }
    }
}

size_t context_of(const Options& options) {
    if (!options.model)
        return 0;
    Model model;
    require(model.open(options.model->c_str()), *options.model);
    return model.config().n_ctx;
}

}  // namespace

void bench(const Options& options) {
    BenchResult result;
    size_t n_ctx = context_of(options);
    if (n_ctx != 0)
        check_depths(options, n_ctx);
    measure_children(options, n_ctx == 0 ? kPromptOfChild : n_ctx, &result);

    Loaded loaded(options);
    n_ctx = loaded.model.config().n_ctx;
    check_depths(options, n_ctx);
    result.model = loaded.name;
    result.type = name_of(matrix_type(loaded.model));
    result.isa = loaded.compute.isa();
    result.threads = loaded.compute.n_threads();
    result.loaded = options.load && options.model;
    result.repeats = options.repeats;
    result.n_prefill = cut_to_fit("-p", options.n_prefill, n_ctx);
    result.n_decode = cut_to_fit("-n", options.n_decode, n_ctx);
    result.prefill_operations = prefill_operations(loaded.model, result.n_prefill);
    result.decode_bytes = decode_bytes(loaded.model);
    result.file_bytes = loaded.model.file_bytes();
    for (size_t n : options.batch)
        result.batch.push_back({n, {}});
    for (size_t n : options.depth)
        result.depth.push_back({n, {}});
    measure_model(options, loaded, &result);

    Output out;
    out.write(options.json ? bench_json(result) : bench_text(result));
    out.finish();
}

}  // namespace minigpt::gpt2
