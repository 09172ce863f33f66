// gpt2: runs GPT-2 models. This file only dispatches.
#include "common/output.h"
#include "common/program.h"
#include "gpt2/commands.h"
#include "gpt2/options.h"

namespace minigpt::gpt2 {
namespace {

void dispatch(const Options& options) {
    switch (options.command) {
        case kGenerate:
            return generate(options);
        case kTokenize:
            return tokenize(options);
        case kDetokenize:
            return detokenize(options);
        case kLogits:
            return logits(options);
        case kScore:
            return score(options);
        case kInspect:
            return inspect(options);
        case kBench:
            return bench(options);
        case kCompare:
            return compare(options);
        case kVerify:
            return verify(options);
    }
}

int run(const std::vector<std::string>& args) {
    Options options = parse(args);
    if (options.answer) {
        print(*options.answer);
    } else {
        dispatch(options);
    }
    return kDone;
}

}  // namespace
}  // namespace minigpt::gpt2

int main(int argc, char** argv) {
    return minigpt::tools::run_main(argc, argv, "gpt2", minigpt::gpt2::run);
}
