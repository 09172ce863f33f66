#include "names.h"

#include <cstring>

namespace minigpt::convert {
namespace {

const char* const kHuggingFacePrefixes[] = {"transformer."};

// transformers' GPT2LMHeadModel. Its matrices are Conv1D, [n_in, n_out].
const NameRule kHuggingFaceRules[] = {
    {"wte.weight", "wte.weight", false, Role::parameter},
    {"wpe.weight", "wpe.weight", false, Role::parameter},
    {"h.{i}.ln_1.weight", "h.{i}.ln_1.weight", false, Role::parameter},
    {"h.{i}.ln_1.bias", "h.{i}.ln_1.bias", false, Role::parameter},
    {"h.{i}.attn.c_attn.weight", "h.{i}.attn.c_attn.weight", false, Role::parameter},
    {"h.{i}.attn.c_attn.bias", "h.{i}.attn.c_attn.bias", false, Role::parameter},
    {"h.{i}.attn.c_proj.weight", "h.{i}.attn.c_proj.weight", false, Role::parameter},
    {"h.{i}.attn.c_proj.bias", "h.{i}.attn.c_proj.bias", false, Role::parameter},
    {"h.{i}.ln_2.weight", "h.{i}.ln_2.weight", false, Role::parameter},
    {"h.{i}.ln_2.bias", "h.{i}.ln_2.bias", false, Role::parameter},
    {"h.{i}.mlp.c_fc.weight", "h.{i}.mlp.c_fc.weight", false, Role::parameter},
    {"h.{i}.mlp.c_fc.bias", "h.{i}.mlp.c_fc.bias", false, Role::parameter},
    {"h.{i}.mlp.c_proj.weight", "h.{i}.mlp.c_proj.weight", false, Role::parameter},
    {"h.{i}.mlp.c_proj.bias", "h.{i}.mlp.c_proj.bias", false, Role::parameter},
    {"ln_f.weight", "ln_f.weight", false, Role::parameter},
    {"ln_f.bias", "ln_f.bias", false, Role::parameter},
    {"lm_head.weight", "lm_head.weight", false, Role::parameter},
    {"h.{i}.attn.bias", nullptr, false, Role::causal_mask},
    {"h.{i}.attn.masked_bias", nullptr, false, Role::scalar},
};

constexpr char kLayer[] = "{i}";

// Whether `name` is `pattern`; {i} stands for a number without leading zeros.
bool fits(const char* pattern, const char* name, std::optional<uint64_t>* layer) {
    const char* hole = strstr(pattern, kLayer);
    if (hole == nullptr)
        return strcmp(pattern, name) == 0;
    size_t n = static_cast<size_t>(hole - pattern);
    if (strncmp(pattern, name, n) != 0)
        return false;
    const char* p = name + n;
    size_t n_digits = strspn(p, "0123456789");
    if (n_digits == 0 || n_digits > 9 || (p[0] == '0' && n_digits > 1))
        return false;
    if (strcmp(hole + strlen(kLayer), p + n_digits) != 0)
        return false;
    *layer = std::stoul(std::string(p, n_digits));
    return true;
}

}  // namespace

const Dialect kHuggingFace = {
    "Hugging Face",
    kHuggingFacePrefixes,
    sizeof kHuggingFacePrefixes / sizeof kHuggingFacePrefixes[0],
    kHuggingFaceRules,
    sizeof kHuggingFaceRules / sizeof kHuggingFaceRules[0],
};

std::optional<Match> match(const Dialect& dialect, const std::string& name) {
    if (name.find('\0') != std::string::npos)
        return {};
    const char* rest = name.c_str();
    for (size_t i = 0; i < dialect.n_prefixes; i++) {
        size_t n = strlen(dialect.prefixes[i]);
        if (strncmp(rest, dialect.prefixes[i], n) == 0)
            rest += n;
    }
    for (size_t i = 0; i < dialect.n_rules; i++) {
        const NameRule& rule = dialect.rules[i];
        std::optional<uint64_t> layer;
        if (!fits(rule.source, rest, &layer))
            continue;
        std::string target = rule.target == nullptr ? "" : rule.target;
        size_t hole = target.find(kLayer);
        if (layer && hole != std::string::npos) {
            target.replace(hole, strlen(kLayer), std::to_string(*layer));
        }
        return Match{&rule, layer, target};
    }
    return {};
}

}  // namespace minigpt::convert
