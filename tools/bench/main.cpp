// bench: what `make bench` needs beside gpt2 bench. This file only reads the command line.
#include <string>
#include <vector>

#include "bench/bench.h"
#include "common/error.h"
#include "common/options.h"
#include "common/output.h"
#include "common/program.h"

namespace minigpt::benchmarks {
namespace {

constexpr unsigned kMakeModel = 1, kOps = 2;

struct Options {
    std::vector<std::string> words;  // make-model's SIZE and path
    ElementType type = ElementType::f32;
    OpsOptions ops;
    size_t n_threads = 0;
    std::string isa;
    bool quick = false;
};

tools::Program program(Options& o) {
    using namespace tools;
    Program p;
    p.usage = {"make-model SIZE OUT.mgpt [--type TYPE]",
               "ops [-t THREADS] [--isa NAME] [-r REPEATS] [--gemm] [--quick]"};
    p.about = "What make bench needs beside gpt2 bench.";
    p.subcommands = {{kMakeModel, "make-model", "SIZE OUT.mgpt [--type TYPE]",
                      "write a model of random weights; SIZE is tiny, distil, 124M, 355M, 774M or "
                      "1558M"},
                     {kOps, "ops", "[-t THREADS] [--isa NAME] [-r REPEATS] [--gemm] [--quick]",
                      "time each op at the shapes of GPT-2 124M"}};
    p.groups = {
        {"Flags",
         {{"--type", kElementTypes, kMakeModel, "how matrices are stored (f32)",
           choice_into(&o.type)},
          {"-t", "THREADS", kOps, "threads (all physical cores)",
           whole_into(&o.n_threads, 1, Compute::kMaxThreads)},
          {"--isa", "NAME", kOps, "kernels (the best)", text_into(&o.isa)},
          {"-r", "REPEATS", kOps, "measure everything this many times (5)",
           whole_into(&o.ops.repeats, 1, 1000)},
          {"--gemm", nullptr, kOps,
           "only the products, as lines of \"m n k GFLOP/s\" without a table",
           turn_on(&o.ops.gemm_only)},
          {"--quick", nullptr, kOps, "run each op only once or twice", turn_on(&o.quick)}}}};
    p.take_word = [&o](const std::string& word, unsigned subcommand) {
        if (subcommand != kMakeModel || o.words.size() == 2)
            misuse("%s: no flag; see %s --help", word.c_str(), program_name().c_str());
        o.words.push_back(word);
    };
    return p;
}

int run(const std::vector<std::string>& args) {
    Options options;
    const tools::Program table = program(options);
    const tools::CommandLine line = tools::parse(table, args);
    if (line.answer) {
        tools::print(*line.answer);
        return tools::kDone;
    }
    if (line.subcommand->bit == kMakeModel) {
        if (options.words.size() != 2)
            tools::misuse("make-model: a size and a path, please");
        make_model(options.words[0], options.type, options.words[1]);
        return tools::kDone;
    }
    if (options.quick)
        options.ops.seconds = 0;
    Compute compute;
    const char* isa = options.isa.empty() ? nullptr : options.isa.c_str();
    tools::require(compute.create(options.n_threads, isa), "ops");
    run_ops(options.ops, compute);
    return tools::kDone;
}

}  // namespace
}  // namespace minigpt::benchmarks

int main(int argc, char** argv) {
    return minigpt::tools::run_main(argc, argv, "bench", minigpt::benchmarks::run);
}
