// Maps a checkpoint's tensor names to ours: one table for each dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace minigpt::convert {

enum class Role {
    parameter,
    causal_mask,  // [1, 1, n_ctx, n_ctx]; ignored
    scalar,       // one number; ignored
};

// `source` and `target` may contain {i}, the layer; `source` may contain (a|b|c), one of these.
// `part`: 1, 2, 3 for query, key and value if c_attn is stored in three pieces. `transposed`: the
// source's two dimensions are in the other order than tensor_spec's, as a Linear's [n_out, n_in].
struct NameRule {
    const char* source;
    const char* target;  // a name of tensor_spec; nullptr if the role is not a parameter
    bool transposed;
    Role role;
    unsigned part = 0;
};

struct Dialect {
    const char* name;
    const char* const* prefixes;  // [n_prefixes]: each may begin any name, once, in this order
    size_t n_prefixes;
    const NameRule* rules;  // [n_rules]
    size_t n_rules;
};

extern const Dialect kHuggingFace;
// Models that use torch.nn.Linear, [n_out, n_in], under any of their usual names: nanoGPT, minGPT
// and others.
extern const Dialect kLinear;

extern const Dialect kGguf;
// ggml's GPT-2 files. Matrices are [n_in, n_out] except mlp/c_proj, or all are [n_out, n_in].
extern const Dialect kGgml;
extern const Dialect kGgmlLinear;
extern const Dialect kOpenAi;
extern const Dialect kLlmC;

struct Match {
    const NameRule* rule;
    std::optional<uint64_t> layer;
    std::string target;  // with {i} replaced
};

// The rule that matches a name; nothing if no rule of the dialect does.
std::optional<Match> match(const Dialect& dialect, const std::string& name);

}  // namespace minigpt::convert
