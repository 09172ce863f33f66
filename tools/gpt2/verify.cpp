// gpt2 verify: whether this machine computes the model to the bit as the one that converted it.
#include "minigpt/verify.h"

#include "common/error.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/loaded.h"
#include "minigpt/compute.h"

namespace minigpt::gpt2 {
namespace {

// The tensors once more before verify() takes all of it, where someone waits and watches: the
// slowest part is to bring a large file in.
Status check_shown(const Loaded& loaded) {
    ProgressLine line;
    uint64_t done = 0;
    for (size_t i = 0; line.is_terminal() && i < loaded.model.n_tensors(); i++) {
        MINIGPT_TRY(loaded.model.check_tensor(i, loaded.compute));
        done += loaded.model.tensor(i).bytes;
        line.show(done, loaded.model.file_bytes());
    }
    return Status();
}

}  // namespace

void verify(const Options& options) {
    Options unchecked = options;  // the tensors are compared below, and a difference is an answer
    unchecked.check_weights = false;
    Loaded loaded(unchecked);
    if (!loaded.compute.bit_exact())
        print_line(format("with the %s kernels, as the bits of %s are its own", bit_exact_isa(),
                          loaded.compute.isa()));
    Status status = check_shown(loaded);
    if (status.ok())
        status = minigpt::verify(loaded.model, loaded.compute);
    if (!status.ok() && status.code() != Code::bad_file)
        require(status, loaded.name);
    Output out;
    out.write(status.ok() ? "equal\n" : format("different: %s\n", status.message()));
    out.finish();
    if (!status.ok())
        throw Error{kRefused, loaded.name + ": differs from what was converted"};
}

}  // namespace minigpt::gpt2
