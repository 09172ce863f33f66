#include "gpt2/windows.h"

#include <algorithm>

#include "common/error.h"
#include "common/text.h"

namespace minigpt::gpt2 {

size_t checked_stride(const Options& options, size_t n_ctx) {
    size_t stride = options.stride.value_or(n_ctx);
    if (stride > n_ctx)
        misuse("--stride: found %zu, expected at most n_ctx, %zu", stride, n_ctx);
    return stride;
}

std::vector<int32_t> ids_to_predict(const Input& input, const Options& options,
                                    const Loaded& loaded) {
    std::vector<int32_t> ids = to_ids(input, options, loaded);
    if (options.bos) {
        if (loaded.tokenizer.eos() < 0)
            refuse("%s: no <|endoftext|> for --bos", loaded.name.c_str());
        ids.insert(ids.begin(), loaded.tokenizer.eos());
    }
    if (ids.size() < 2) {
        const char* bos = ids.size() == 1 && loaded.tokenizer.eos() >= 0
                              ? "; --bos puts <|endoftext|> in front"
                              : "";
        refuse("%s: found %zu token%s, expected at least 2: one to predict from, one to predict%s",
               input.name.c_str(), ids.size(), plural(ids.size()), bos);
    }
    return ids;
}

void for_each_window(size_t n_ids, size_t n_ctx, size_t stride, const TakeWindow& take) {
    size_t next = 1;  // the first token not yet predicted
    for (size_t begin = 0; next < n_ids; begin += stride) {
        // Logits after token i predict i + 1.
        size_t end = std::min(begin + n_ctx, n_ids);
        bool next_window_overlaps = stride < n_ctx;
        size_t last = next_window_overlaps || end == n_ids ? end - 1 : end;
        take(begin, last - begin, next - 1 - begin);
        next = last + 1;
    }
}

}  // namespace minigpt::gpt2
