// How a checkpoint's tensor names become ours: one table for each dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace minigpt::convert {

enum class Role {
    parameter,
    causal_mask,  // [1, 1, n_ctx, n_ctx]: carries nothing
    scalar,       // one number: carries nothing
};

// `source` and `target` may hold {i}, the layer; `source` may hold (a|b|c), one of these. `part`:
// 1, 2, 3 for the query, key and value parts of a c_attn that is kept in three pieces.
// `transposed`: the source's two dimensions are the other way round than tensor_spec's (a Linear's
// [n_out, n_in]).
struct NameRule {
    const char* source;
    const char* target;  // a name of tensor_spec; nullptr where the role is no parameter
    bool transposed;
    Role role;
    unsigned part = 0;
};

struct Dialect {
    const char* name;
    const char* const* prefixes;  // [n_prefixes]: each may lead any name, once, in this order
    size_t n_prefixes;
    const NameRule* rules;  // [n_rules]
    size_t n_rules;
};

extern const Dialect kHuggingFace;
// Models written with torch.nn.Linear, [n_out, n_in], under any of the names that such models use:
// nanoGPT, minGPT and others.
extern const Dialect kLinear;

extern const Dialect kGguf;
// ggml's GPT-2 files have their matrices [n_in, n_out] but for mlp/c_proj, or all [n_out, n_in].
extern const Dialect kGgml;
extern const Dialect kGgmlLinear;
extern const Dialect kOpenAi;
extern const Dialect kLlmC;

struct Match {
    const NameRule* rule;
    std::optional<uint64_t> layer;
    std::string target;  // {i} filled in
};

// The rule that a name follows; nothing where it is none of the dialect's.
std::optional<Match> match(const Dialect& dialect, const std::string& name);

}  // namespace minigpt::convert
