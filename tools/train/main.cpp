// train: a text in, a small GPT-2 out.
#include <cstdio>
#include <new>

#include "returns_desk.h"
#include "run.h"

int main(int argc, char** argv) {
    using namespace minigpt::train;
    std::string error;
    try {
        Options options = parse({argv + 1, argv + argc}, &error);
        if (!error.empty()) {
            fprintf(stderr, "train: %s\nusage: train TEXT -o MODEL.mgpt [options]; --help\n",
                    error.c_str());
            return 2;
        }
        if (options.help) {
            printf("%s", help_text().c_str());
            return 0;
        }
        if (options.n_replies > 0) {
            printf("%s", returns_desk_text(options.config.seed, options.n_replies).c_str());
            return fflush(stdout) == 0 ? 0 : 1;
        }
        return run(options);
    } catch (const std::bad_alloc&) {
        fprintf(stderr, "train: out of memory\n");
        return 1;
    }
}
