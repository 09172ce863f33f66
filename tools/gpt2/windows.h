// Runs a text of any length through a context of n_ctx tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gpt2/input.h"
#include "gpt2/loaded.h"
#include "gpt2/options.h"

namespace minigpt::gpt2 {

// The value of --stride, or n_ctx without it. A larger value is a misuse.
size_t checked_stride(const Options& options, size_t n_ctx);

// The ids of a text to predict, after <|endoftext|> with --bos. A text of fewer than two ids is
// refused.
std::vector<int32_t> ids_to_predict(const Input& input, const Options& options,
                                    const Loaded& loaded);

// The sliding window of https://huggingface.co/docs/transformers/perplexity. Windows of n_ctx
// tokens begin `stride` apart; each starts with an empty cache. Each token is scored once, in the
// first window that contains it. If windows do not overlap, a window's first token is predicted by
// the whole window before it. So every token except the very first is scored.
//
// take(begin, n, first) must run tokens begin ... begin + n - 1 from an empty cache. The logits
// after tokens first ... n - 1 of them each predict the next token. 0 < stride <= n_ctx.
using TakeWindow = std::function<void(size_t begin, size_t n, size_t first)>;
void for_each_window(size_t n_ids, size_t n_ctx, size_t stride, const TakeWindow& take);

}  // namespace minigpt::gpt2
