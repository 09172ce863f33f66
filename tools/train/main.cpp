// train: a text in, a small GPT-2 out.
#include <cstdio>
#include <new>

#include "common/error.h"
#include "common/output.h"
#include "common/signals.h"
#include "networks/returns_desk.h"
#include "train/run.h"

namespace {

void print(const std::string& text) {
    minigpt::tools::Output out;
    out.write(text);
    out.finish();
}

}  // namespace

int main(int argc, char** argv) {
    using namespace minigpt::train;
    minigpt::tools::take_signals("train");
    std::string error;
    try {
        Options options = parse({argv + (argc > 0 ? 1 : 0), argv + argc}, &error);
        if (!error.empty()) {
            minigpt::tools::print_line(error, "train");
            fprintf(stderr, "usage: train TEXT -o MODEL.mgpt [options]; --help\n");
            return 2;
        }
        if (argc > 0 && argv[0][0] != '\0')
            options.program = argv[0];
        if (options.help) {
            print(help_text());
            return 0;
        }
        if (options.n_replies > 0) {
            print(minigpt::networks::returns_desk_text(options.config.seed, options.n_replies));
            return 0;
        }
        return run(options);
    } catch (const minigpt::tools::Error& refused) {
        minigpt::tools::print_line(refused.message, "train");
        return refused.exit_status;
    } catch (const std::bad_alloc&) {
        fprintf(stderr, "train: out of memory\n");
        return 1;
    }
}
