// gpt2 logits: what the model says after the last token, or after each, as JSON.
#include "common/error.h"
#include "common/json.h"
#include "common/output.h"
#include "gpt2/commands.h"
#include "gpt2/input.h"
#include "gpt2/loaded.h"

namespace minigpt::gpt2 {
namespace {

void write_row(Output& out, const float* row, size_t n) {
    out.write("[");
    for (size_t i = 0; i < n; i++)
        out.write((i == 0 ? "" : ",") + json_number(row[i]));
    out.write("]");
}

}  // namespace

void logits(const Options& options) {
    Input input = read_input(options);
    Loaded loaded(options);
    std::vector<int32_t> ids = to_ids(input, options, loaded);
    make_runnable(&ids, input, loaded);
    Session session;
    require(session.create(loaded.model, session_options(options, loaded)), loaded.name);

    Output out;
    size_t first = options.all_positions ? 0 : ids.size() - 1;
    run_ids(session, options, ids.data(), ids.size(), first, [&](size_t i, const float* row) {
        require(check_logits(row, loaded.model.config().n_vocab, i), loaded.name);
        if (i > first)
            out.write(",\n");
        else
            out.write("{\"ids\":" + json_ids(ids) +
                      ",\"logits\":" + (options.all_positions ? "[" : ""));
        write_row(out, row, loaded.model.config().n_vocab);
    });
    out.write(options.all_positions ? "]}\n" : "}\n");
    out.finish();
}

}  // namespace minigpt::gpt2
