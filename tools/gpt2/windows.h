// A text of any length through a context of n_ctx tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gpt2/input.h"
#include "gpt2/loaded.h"
#include "gpt2/options.h"

namespace minigpt::gpt2 {

// --stride, or n_ctx without it; more than that is misuse.
size_t checked_stride(const Options& options, size_t n_ctx);

// The ids of a text to predict: <|endoftext|> in front if --bos asks for it; at least two, or it
// is refused.
std::vector<int32_t> ids_to_predict(const Input& input, const Options& options,
                                    const Loaded& loaded);

// The sliding window of https://huggingface.co/docs/transformers/perplexity: windows of n_ctx
// tokens that begin `stride` apart, each run afresh; of each the tokens that no window had before
// are counted. Windows that do not overlap would lose their first token; it is predicted by the
// whole window before it instead, so each token but the very first counts once.
//
// take(begin, n, first): run tokens begin ... begin + n - 1 from an empty cache; the logits after
// number first ... n - 1 of them predict the token that follows each. 0 < stride <= n_ctx.
using TakeWindow = std::function<void(size_t begin, size_t n, size_t first)>;
void for_each_window(size_t n_ids, size_t n_ctx, size_t stride, const TakeWindow& take);

}  // namespace minigpt::gpt2
