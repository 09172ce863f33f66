// train: a text in, a small GPT-2 out.
#include "common/output.h"
#include "common/program.h"
#include "networks/returns_desk.h"
#include "train/run.h"

namespace minigpt::train {
namespace {

int train(const std::vector<std::string>& args, const char* program) {
    Options options = parse(args);
    options.program = program;
    if (options.answer) {
        tools::print(*options.answer);
    } else if (options.n_replies > 0) {
        tools::print(networks::returns_desk_text(options.config.seed, options.n_replies));
    } else {
        return run(options);
    }
    return 0;
}

}  // namespace
}  // namespace minigpt::train

int main(int argc, char** argv) {
    const char* program = argc > 0 && argv[0][0] != '\0' ? argv[0] : "train";
    return minigpt::tools::run_main(argc, argv, "train", [&](const auto& args) {
        return minigpt::train::train(args, program);
    });
}
