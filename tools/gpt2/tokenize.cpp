// gpt2 tokenize and gpt2 detokenize.
#include "common/error.h"
#include "common/output.h"
#include "gpt2/commands.h"
#include "gpt2/input.h"
#include "gpt2/loaded.h"

namespace minigpt::gpt2 {

void tokenize(const Options& options) {
    Input input = read_input(options);
    Loaded loaded(options);
    Output out;
    bool first = true;
    for (int32_t id : to_ids(input, options, loaded)) {
        out.write((first ? "" : " ") + std::to_string(id));
        first = false;
    }
    out.write("\n");
    out.finish();
}

void detokenize(const Options& options) {
    Input input = read_input(options);
    Loaded loaded(options);
    if (loaded.tokenizer.kind() == TokenizerKind::none) {
        refuse("%s: the model has no vocabulary, so its ids have no text", loaded.name.c_str());
    }
    Output out;
    for (int32_t id : to_ids(input, options, loaded)) {
        std::string_view bytes = loaded.tokenizer.token(id);
        out.write(bytes.data(), bytes.size());
    }
    out.finish();
}

}  // namespace minigpt::gpt2
