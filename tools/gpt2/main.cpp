// gpt2: runs GPT-2 models. This file only dispatches.
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/output.h"
#include "common/signals.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/options.h"
#include "minigpt/compute.h"

namespace minigpt::gpt2 {
namespace {

const char kVersion[] = "0.1";

std::string version_text() {
    std::string out = format("gpt2 %s (libminigpt); kernels:", kVersion);
    bool present = false;
    for (size_t i = 0; const char* name = isa_name(i, &present); i++) {
        Compute compute;
        bool own_bits = compute.create(1, name).ok() && !compute.exact();
        out += format(" %s%s", name,
                      !present   ? " (not on this CPU)"
                      : own_bits ? " (bits of its own)"
                                 : "");
    }
    return out + '\n';
}

void dispatch(const Options& options, bool named) {
    Output out;
    if (options.version || options.help) {
        out.write(options.version ? version_text() : help_text(options.command, named));
        out.finish();
        return;
    }
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
    try {
        dispatch(parse(args), !args.empty() && args[0][0] != '-');
        return kDone;
    } catch (const Error& error) {
        print_line(error.message);
        return error.exit_status;
    } catch (const std::bad_alloc&) {
        print_line("out of memory");
    } catch (const std::exception& error) {
        print_line(error.what());
    }
    return kRefused;
}

}  // namespace
}  // namespace minigpt::gpt2

int main(int argc, char** argv) {
    minigpt::gpt2::take_signals("gpt2");
    return minigpt::gpt2::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
