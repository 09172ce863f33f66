#include "convert/names.h"

#include <cstring>

namespace minigpt::convert {
namespace {

// What wrappers put before names: torch.compile, DataParallel, trainers.
const char* const kPrefixes[] = {"_orig_mod.", "module.", "_orig_mod.", "model.", "transformer."};

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

// A Linear's weight and bias, and a LayerNorm's. Each stands for both of its names.
#define MINIGPT_LINEAR(source, target, part)                             \
    {source ".weight", target ".weight", true, Role::parameter, part}, { \
        source ".bias", target ".bias", false, Role::parameter, part     \
    }
#define MINIGPT_NORM(source, target)                                                \
    {source ".(weight|gamma|scale|g)", target ".weight", false, Role::parameter}, { \
        source ".(bias|beta|shift|b)", target ".bias", false, Role::parameter       \
    }
#define MINIGPT_BLOCK "(h|blocks|block|layers|layer|trf_blocks).{i}."
#define MINIGPT_ATTN MINIGPT_BLOCK "(attn|att|attention|self_attn|self_attention|sa)."
#define MINIGPT_MLP MINIGPT_BLOCK "(mlp|ff|ffn|ffwd|feed_forward)."

// Fused projections under other names than c_attn are left out: some of them keep q, k and v one
// after the other and some keep them head by head, and their shapes do not tell.
const NameRule kLinearRules[] = {
    {"(wte|tok_emb|token_emb|token_embedding|token_embedding_table|tok_embeddings).weight",
     "wte.weight", false, Role::parameter},
    {"(wpe|pos_emb|position_emb|position_embedding|position_embedding_table|pos_embeddings)"
     "(.weight|)",
     "wpe.weight", false, Role::parameter},
    MINIGPT_NORM(MINIGPT_BLOCK "(ln_1|ln1|norm1|norm_1)", "h.{i}.ln_1"),
    MINIGPT_LINEAR(MINIGPT_ATTN "c_attn", "h.{i}.attn.c_attn", 0),
    MINIGPT_LINEAR(MINIGPT_ATTN "(q|query|q_proj|wq|W_q|W_query|to_q)", "h.{i}.attn.c_attn", 1),
    MINIGPT_LINEAR(MINIGPT_ATTN "(k|key|k_proj|wk|W_k|W_key|to_k)", "h.{i}.attn.c_attn", 2),
    MINIGPT_LINEAR(MINIGPT_ATTN "(v|value|v_proj|wv|W_v|W_value|to_v)", "h.{i}.attn.c_attn", 3),
    MINIGPT_LINEAR(MINIGPT_ATTN "(c_proj|proj|out_proj|o_proj|wo|W_o)", "h.{i}.attn.c_proj", 0),
    MINIGPT_NORM(MINIGPT_BLOCK "(ln_2|ln2|norm2|norm_2)", "h.{i}.ln_2"),
    MINIGPT_LINEAR(MINIGPT_MLP "(c_fc|fc|fc1|fc_1|0|net.0|layers.0)", "h.{i}.mlp.c_fc", 0),
    MINIGPT_LINEAR(MINIGPT_MLP "(c_proj|proj|fc2|fc_2|2|net.2|layers.2)", "h.{i}.mlp.c_proj", 0),
    MINIGPT_NORM("(ln_f|ln_final|final_norm|norm_f|norm)", "ln_f"),
    {"(lm_head|head|out_head).weight", "lm_head.weight", false, Role::parameter},
    {MINIGPT_ATTN "(bias|mask|tril|causal_mask)", nullptr, false, Role::causal_mask},
    {MINIGPT_ATTN "masked_bias", nullptr, false, Role::scalar},
};

// llama.cpp's names (gguf-py's tensor_mapping.py). Its matrices are [n_out, n_in].
const NameRule kGgufRules[] = {
    {"token_embd.weight", "wte.weight", false, Role::parameter},
    {"position_embd.weight", "wpe.weight", false, Role::parameter},
    {"blk.{i}.attn_norm.weight", "h.{i}.ln_1.weight", false, Role::parameter},
    {"blk.{i}.attn_norm.bias", "h.{i}.ln_1.bias", false, Role::parameter},
    {"blk.{i}.attn_qkv.weight", "h.{i}.attn.c_attn.weight", true, Role::parameter},
    {"blk.{i}.attn_qkv.bias", "h.{i}.attn.c_attn.bias", false, Role::parameter},
    {"blk.{i}.attn_output.weight", "h.{i}.attn.c_proj.weight", true, Role::parameter},
    {"blk.{i}.attn_output.bias", "h.{i}.attn.c_proj.bias", false, Role::parameter},
    {"blk.{i}.ffn_norm.weight", "h.{i}.ln_2.weight", false, Role::parameter},
    {"blk.{i}.ffn_norm.bias", "h.{i}.ln_2.bias", false, Role::parameter},
    {"blk.{i}.ffn_up.weight", "h.{i}.mlp.c_fc.weight", true, Role::parameter},
    {"blk.{i}.ffn_up.bias", "h.{i}.mlp.c_fc.bias", false, Role::parameter},
    {"blk.{i}.ffn_down.weight", "h.{i}.mlp.c_proj.weight", true, Role::parameter},
    {"blk.{i}.ffn_down.bias", "h.{i}.mlp.c_proj.bias", false, Role::parameter},
    {"output_norm.weight", "ln_f.weight", false, Role::parameter},
    {"output_norm.bias", "ln_f.bias", false, Role::parameter},
    {"output.weight", "lm_head.weight", false, Role::parameter},
};

// OpenAI's names. Its matrices are [1, n_in, n_out]; `others` and `mlp_proj` say which of them a
// format of the same names keeps transposed.
#define MINIGPT_OPENAI(source, target, transposed)                           \
    {"model/" source "/w", target ".weight", transposed, Role::parameter}, { \
        "model/" source "/b", target ".bias", false, Role::parameter         \
    }
#define MINIGPT_OPENAI_NORM(source, target)                             \
    {"model/" source "/g", target ".weight", false, Role::parameter}, { \
        "model/" source "/b", target ".bias", false, Role::parameter    \
    }
#define MINIGPT_OPENAI_RULES(others, mlp_proj)                           \
    {"model/wte", "wte.weight", false, Role::parameter},                 \
        {"model/wpe", "wpe.weight", false, Role::parameter},             \
        MINIGPT_OPENAI_NORM("h{i}/ln_1", "h.{i}.ln_1"),                  \
        MINIGPT_OPENAI("h{i}/attn/c_attn", "h.{i}.attn.c_attn", others), \
        MINIGPT_OPENAI("h{i}/attn/c_proj", "h.{i}.attn.c_proj", others), \
        MINIGPT_OPENAI_NORM("h{i}/ln_2", "h.{i}.ln_2"),                  \
        MINIGPT_OPENAI("h{i}/mlp/c_fc", "h.{i}.mlp.c_fc", others),       \
        MINIGPT_OPENAI("h{i}/mlp/c_proj", "h.{i}.mlp.c_proj", mlp_proj), \
        MINIGPT_OPENAI_NORM("ln_f", "ln_f"), {                           \
        "model/lm_head", "lm_head.weight", false, Role::parameter        \
    }

const NameRule kOpenAiRules[] = {MINIGPT_OPENAI_RULES(false, false)};
// ggml's first GPT-2 files: the one that was transposed for its program; its later ones: all four.
const NameRule kGgmlRules[] = {MINIGPT_OPENAI_RULES(false, true)};
const NameRule kGgmlLinearRules[] = {MINIGPT_OPENAI_RULES(true, true)};

// llm.c's struct ParameterTensors; the layer is ours. Its matrices are [n_out, n_in].
const NameRule kLlmCRules[] = {
    {"wte", "wte.weight", false, Role::parameter},
    {"wpe", "wpe.weight", false, Role::parameter},
    {"ln1w.{i}", "h.{i}.ln_1.weight", false, Role::parameter},
    {"ln1b.{i}", "h.{i}.ln_1.bias", false, Role::parameter},
    {"qkvw.{i}", "h.{i}.attn.c_attn.weight", true, Role::parameter},
    {"qkvb.{i}", "h.{i}.attn.c_attn.bias", false, Role::parameter},
    {"attprojw.{i}", "h.{i}.attn.c_proj.weight", true, Role::parameter},
    {"attprojb.{i}", "h.{i}.attn.c_proj.bias", false, Role::parameter},
    {"ln2w.{i}", "h.{i}.ln_2.weight", false, Role::parameter},
    {"ln2b.{i}", "h.{i}.ln_2.bias", false, Role::parameter},
    {"fcw.{i}", "h.{i}.mlp.c_fc.weight", true, Role::parameter},
    {"fcb.{i}", "h.{i}.mlp.c_fc.bias", false, Role::parameter},
    {"fcprojw.{i}", "h.{i}.mlp.c_proj.weight", true, Role::parameter},
    {"fcprojb.{i}", "h.{i}.mlp.c_proj.bias", false, Role::parameter},
    {"lnfw", "ln_f.weight", false, Role::parameter},
    {"lnfb", "ln_f.bias", false, Role::parameter},
};

constexpr char kLayer[] = "{i}";

// Whether `name` is `pattern`; {i} stands for a number without leading zeros.
bool fits(const char* pattern, const char* name, std::optional<uint64_t>* layer) {
    while (*pattern != '\0') {
        if (strncmp(pattern, kLayer, strlen(kLayer)) == 0) {
            size_t n_digits = strspn(name, "0123456789");
            if (n_digits == 0 || n_digits > 9 || (name[0] == '0' && n_digits > 1))
                return false;
            *layer = std::stoul(std::string(name, n_digits));
            pattern += strlen(kLayer);
            name += n_digits;
        } else if (*pattern == '(') {
            const char* rest = strchr(pattern, ')') + 1;
            while (*pattern != ')') {
                size_t n = strcspn(++pattern, "|)");
                if (strncmp(pattern, name, n) == 0 && fits(rest, name + n, layer))
                    return true;
                pattern += n;
            }
            return false;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

}  // namespace

const Dialect kHuggingFace = {
    "Hugging Face",
    kPrefixes,
    sizeof kPrefixes / sizeof kPrefixes[0],
    kHuggingFaceRules,
    sizeof kHuggingFaceRules / sizeof kHuggingFaceRules[0],
};

const Dialect kLinear = {
    "Linear",
    kPrefixes,
    sizeof kPrefixes / sizeof kPrefixes[0],
    kLinearRules,
    sizeof kLinearRules / sizeof kLinearRules[0],
};

const Dialect kGguf = {
    "GGUF", nullptr, 0, kGgufRules, sizeof kGgufRules / sizeof kGgufRules[0],
};

const Dialect kGgml = {
    "ggml", nullptr, 0, kGgmlRules, sizeof kGgmlRules / sizeof kGgmlRules[0],
};

const Dialect kGgmlLinear = {
    "ggml", nullptr, 0, kGgmlLinearRules, sizeof kGgmlLinearRules / sizeof kGgmlLinearRules[0],
};

const Dialect kOpenAi = {
    "OpenAI", nullptr, 0, kOpenAiRules, sizeof kOpenAiRules / sizeof kOpenAiRules[0],
};

const Dialect kLlmC = {
    "llm.c", nullptr, 0, kLlmCRules, sizeof kLlmCRules / sizeof kLlmCRules[0],
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
