#include "convert/plan.h"

#include <cstring>
#include <map>
#include <set>

#include "common/file.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr char kHead[] = "lm_head.weight";
constexpr char kTable[] = "wte.weight";

constexpr struct {
    const char* name;  // in a layer
    uint32_t bias;
} kLayerBiases[] = {
    {"ln_1.bias", kBiasLn1},
    {"attn.c_attn.bias", kBiasAttnQkv},
    {"attn.c_proj.bias", kBiasAttnProj},
    {"ln_2.bias", kBiasLn2},
    {"mlp.c_fc.bias", kBiasFc},
    {"mlp.c_proj.bias", kBiasMlpProj},
};

// A source tensor under our name for it.
struct Source {
    size_t index;
    bool transposed;
    std::optional<uint64_t> layer;
    bool used = false;
};

class Planner {
public:
    Planner(const Checkpoint& checkpoint, Plan* plan) : checkpoint_(checkpoint), plan_(plan) {}

    Status make();

private:
    Status take_sizes();
    Status check_guessed_ids(const Vocabulary& vocabulary) const;
    Status take_names();
    Status take_buffer(const SourceTensor& tensor, Role role);
    Status check_layers() const;
    Status take_biases();
    Status take_head();
    Status take_tensors();
    Status check_tensor(const TensorSpec& spec, const Source& source) const;
    Status missing(const TensorSpec& spec) const;
    Status left_over() const;
    const SourceTensor& tensor(const Source& source) const {
        return checkpoint_.tensors[source.index];
    }

    const Checkpoint& checkpoint_;
    Plan* plan_;
    std::map<std::string, Source> sources_;  // by our name
    std::string unknown_;                    // the first name that is none of the dialect's
};

Status set_size(const std::optional<uint64_t>& value, const char* name, uint32_t* size) {
    if (!value) {
        bool can_be_given = strcmp(name, "n_head") == 0;
        return Status::error(Code::bad_file, "%s is not in the checkpoint%s", name,
                             can_be_given ? ": give --n-head N" : "");
    }
    if (*value > UINT32_MAX) {
        return Status::error(Code::bad_shape, "%s is %llu; expected at most 4294967295", name,
                             Ull{*value});
    }
    *size = static_cast<uint32_t>(*value);
    return Status();
}

Status Planner::take_sizes() {
    const SourceConfig& from = checkpoint_.config;
    Config* to = &plan_->config;
    MINIGPT_TRY(set_size(from.n_rows, "the vocabulary's size", &to->n_rows));
    MINIGPT_TRY(set_size(from.n_ctx, "n_ctx", &to->n_ctx));
    MINIGPT_TRY(set_size(from.n_embd, "n_embd", &to->n_embd));
    MINIGPT_TRY(set_size(from.n_head, "n_head", &to->n_head));
    MINIGPT_TRY(set_size(from.n_layer, "n_layer", &to->n_layer));
    uint64_t n_ff = from.n_ff.value_or(uint64_t{4} * to->n_embd);
    MINIGPT_TRY(set_size(n_ff, "n_ff", &to->n_ff));
    if (!from.activation) {
        return Status::error(Code::bad_file,
                             "the activation is not in the checkpoint: give --activation "
                             "gelu_tanh or gelu_erf, as its training program has it");
    }
    to->activation = *from.activation;
    if (from.eos.value_or(0) > INT32_MAX) {
        return Status::error(Code::bad_file, "eos_token_id is %llu; expected at most 2147483647",
                             Ull{*from.eos});
    }
    to->layer_norm_epsilon = static_cast<float>(from.layer_norm_epsilon.value_or(1e-5));
    to->scale_attn_weights = from.scale_attn_weights;
    to->scale_attn_by_inverse_layer_idx = from.scale_attn_by_inverse_layer_idx;
    uint64_t n_tokens = from.n_vocab.value_or(to->n_rows);
    MINIGPT_TRY(set_size(n_tokens, "n_vocab", &to->n_vocab));
    const Vocabulary& vocabulary = checkpoint_.vocabulary;
    if (vocabulary.kind != TokenizerKind::none) {
        if (from.n_vocab && vocabulary.n_tokens() > *from.n_vocab) {
            return Status::error(Code::bad_file, "%s: %s token%s, but the checkpoint has %s",
                                 vocabulary.source.c_str(), grouped(vocabulary.n_tokens()).c_str(),
                                 plural(vocabulary.n_tokens()), grouped(*from.n_vocab).c_str());
        }
        if (vocabulary.n_tokens() > to->n_rows) {
            return Status::error(Code::bad_file, "%s: %s token%s, but %s has %s row%s",
                                 vocabulary.source.c_str(), grouped(vocabulary.n_tokens()).c_str(),
                                 plural(vocabulary.n_tokens()), kTable, grouped(to->n_rows).c_str(),
                                 plural(to->n_rows));
        }
        MINIGPT_TRY(check_guessed_ids(vocabulary));
        to->n_vocab = static_cast<uint32_t>(vocabulary.n_tokens());
    }
    return check(*to);
}

// Ids that follow from merges alone are others where merges are lost: the table's size or the token
// that ends a text then shows it.
Status Planner::check_guessed_ids(const Vocabulary& vocabulary) const {
    constexpr uint64_t kPadding = 128;  // what tables of published models are rounded up to
    if (!vocabulary.only_merges)
        return Status();
    uint64_t n_tokens = vocabulary.n_tokens(), n_rows = plan_->config.n_rows;
    const std::optional<uint64_t>& eos = checkpoint_.config.eos;
    bool other_end = eos && *eos != static_cast<uint64_t>(vocabulary.end_of_text);
    if (n_rows - n_tokens < kPadding && !other_end)
        return Status();
    std::string expected = other_end ? "eos_token_id " + std::to_string(*eos)
                                     : kTable + (" has " + grouped(n_rows)) + " rows";
    return Status::error(Code::bad_file,
                         "%s: its merges alone make %s tokens, but %s: give the whole vocabulary "
                         "(vocab.json)",
                         vocabulary.source.c_str(), grouped(n_tokens).c_str(), expected.c_str());
}

Status Planner::take_buffer(const SourceTensor& t, Role role) {
    uint64_t n_ctx = plan_->config.n_ctx;
    std::vector<uint64_t> expected = {1, 1, n_ctx, n_ctx};
    if (role == Role::scalar)
        expected.assign(t.shape.size(), 1);
    plan_->n_ignored++;
    // Some keep the mask without its two dimensions of 1.
    if (t.shape == expected ||
        (role == Role::causal_mask && t.shape == std::vector<uint64_t>{n_ctx, n_ctx}))
        return Status();
    return Status::error(Code::bad_shape, "%s: shape is %s; expected the causal mask's, %s",
                         shown(t.name).c_str(), shape_text(t.shape).c_str(),
                         shape_text(expected).c_str());
}

Status Planner::take_names() {
    for (size_t i = 0; i < checkpoint_.tensors.size(); i++) {
        const SourceTensor& t = checkpoint_.tensors[i];
        std::optional<Match> found = match(*checkpoint_.dialect, t.name);
        if (!found) {
            if (unknown_.empty())
                unknown_ = t.name + " " + shape_text(t.shape);
            continue;
        }
        if (found->rule->role != Role::parameter) {
            MINIGPT_TRY(take_buffer(t, found->rule->role));
            continue;
        }
        Source source = {i, found->rule->transposed, found->layer};
        auto [entry, is_new] = sources_.emplace(found->target, source);
        if (is_new)
            continue;
        return Status::error(Code::bad_file, "%s and %s are the same tensor of the model",
                             shown(tensor(entry->second).name).c_str(), shown(t.name).c_str());
    }
    return Status();
}

// A layer without any tensor is said to be missing, not each of its tensors.
Status Planner::check_layers() const {
    std::set<uint64_t> present;
    for (const auto& [name, source] : sources_) {
        if (source.layer)
            present.insert(*source.layer);
    }
    uint64_t missing = 0;
    while (present.count(missing) > 0)
        missing++;
    if (present.empty() || missing >= plan_->config.n_layer)
        return Status();
    std::string also = unknown_.empty() ? "" : "; left over is " + shown(unknown_);
    return Status::error(Code::bad_file,
                         "layer %llu is missing, of %lu: no tensor of it is there%s. Give all of "
                         "the checkpoint's files, or correct its n_layer",
                         Ull{missing}, static_cast<unsigned long>(plan_->config.n_layer),
                         also.c_str());
}

Status Planner::take_biases() {
    Config* config = &plan_->config;
    std::string absent;
    for (const auto& kind : kLayerBiases) {
        uint32_t n_present = 0;
        std::string first_missing;
        for (uint32_t layer = 0; layer < config->n_layer; layer++) {
            std::string name = "h." + std::to_string(layer) + "." + kind.name;
            if (sources_.count(name) > 0)
                n_present++;
            else if (first_missing.empty())
                first_missing = name;
        }
        if (n_present == config->n_layer)
            continue;
        if (n_present > 0) {
            return Status::error(Code::bad_file, "%s is missing, though other layers have theirs",
                                 first_missing.c_str());
        }
        config->biases &= ~kind.bias;
        absent += (absent.empty() ? "" : ", ") + std::string(kind.name);
    }
    if (sources_.count("ln_f.bias") == 0) {
        // The three LayerNorms are of one make.
        if ((config->biases & (kBiasLn1 | kBiasLn2)) != 0) {
            return Status::error(Code::bad_file,
                                 "ln_f.bias is missing, though the layers' norms have theirs");
        }
        config->biases &= ~static_cast<uint32_t>(kBiasLnF);
        absent += (absent.empty() ? "" : ", ") + std::string("ln_f.bias");
    }
    if (!absent.empty())
        plan_->notes.push_back("the model has no " + absent);
    return Status();
}

Status Planner::take_head() {
    auto head = sources_.find(kHead);
    bool has_head = head != sources_.end();
    plan_->config.tied = checkpoint_.config.tied.value_or(!has_head);
    if (!plan_->config.tied || !has_head)
        return Status();
    auto table = sources_.find(kTable);
    head->second.used = true;
    plan_->tied_copy = head->second.index;
    if (table == sources_.end())
        return Status();  // said as soon as tensors are taken
    const SourceTensor& a = tensor(head->second);
    const SourceTensor& b = tensor(table->second);
    if (a.shape == b.shape && a.dtype == b.dtype)
        return Status();
    return Status::error(Code::bad_file, "%s is %s %s and %s is %s %s, but the embeddings are tied",
                         shown(a.name).c_str(), shown(a.dtype).c_str(), shape_text(a.shape).c_str(),
                         shown(b.name).c_str(), shown(b.dtype).c_str(),
                         shape_text(b.shape).c_str());
}

Status Planner::missing(const TensorSpec& spec) const {
    std::vector<uint64_t> shape(spec.shape, spec.shape + spec.n_dims);
    std::string also = unknown_.empty() ? "" : "; left over is " + shown(unknown_);
    if (strcmp(spec.name, kHead) == 0)
        also += "; the embeddings are not tied";
    return Status::error(Code::bad_file, "%s %s is missing%s", spec.name, shape_text(shape).c_str(),
                         also.c_str());
}

Status Planner::check_tensor(const TensorSpec& spec, const Source& source) const {
    const SourceTensor& t = tensor(source);
    std::vector<uint64_t> expected(spec.shape, spec.shape + spec.n_dims);
    if (source.transposed && spec.n_dims == 2)
        std::swap(expected[0], expected[1]);
    if (t.shape != expected) {
        return Status::error(Code::bad_shape, "%s: shape is %s; expected %s", shown(t.name).c_str(),
                             shape_text(t.shape).c_str(), shape_text(expected).c_str());
    }
    if (t.type)
        return Status();
    return Status::error(Code::not_supported, "%s: type is %s; expected %s", shown(t.name).c_str(),
                         shown(t.dtype).c_str(), checkpoint_.read_types.c_str());
}

Status Planner::take_tensors() {
    std::optional<ElementType> own;
    bool mixed = false;
    for (size_t i = 0; i < tensor_count(plan_->config); i++) {
        TensorSpec spec = tensor_spec(plan_->config, i);
        auto found = sources_.find(spec.name);
        if (found == sources_.end())
            return missing(spec);
        Source& source = found->second;
        MINIGPT_TRY(check_tensor(spec, source));
        source.used = true;
        plan_->tensors.push_back({spec, source.index, source.transposed && spec.n_dims == 2});
        ElementType type = *tensor(source).type;
        bool is_free = spec.layout == Layout::vector ||
                       (spec.layout == Layout::rows && type == ElementType::f32);
        if (is_free)
            continue;
        plan_->is_quantized |= tensor(source).is_quantized;
        mixed |= own && *own != type;
        own = type;
    }
    plan_->own_type = mixed || !own ? ElementType::f32 : *own;
    return Status();
}

Status Planner::left_over() const {
    if (!unknown_.empty()) {
        return Status::error(Code::bad_file, "%s is left over: it is no tensor of GPT-2",
                             shown(unknown_).c_str());
    }
    for (const auto& [name, source] : sources_) {
        if (source.used)
            continue;
        return Status::error(Code::bad_file, "%s is left over: the model has %lu layer%s",
                             shown(tensor(source).name).c_str(),
                             static_cast<unsigned long>(plan_->config.n_layer),
                             plural(plan_->config.n_layer));
    }
    return Status();
}

Status Planner::make() {
    MINIGPT_TRY(take_sizes());
    MINIGPT_TRY(take_names());
    MINIGPT_TRY(check_layers());
    MINIGPT_TRY(take_biases());
    MINIGPT_TRY(take_head());
    MINIGPT_TRY(take_tensors());
    MINIGPT_TRY(left_over());
    const Config& config = plan_->config;
    if (config.n_vocab < config.n_rows) {
        uint32_t n = config.n_rows - config.n_vocab;
        plan_->notes.push_back(grouped(n) + " row" + plural(n) +
                               " of the token table without a token: padding");
    }
    return Status();
}

}  // namespace

Status make_plan(const Checkpoint& checkpoint, Plan* plan) {
    return Planner(checkpoint, plan).make();
}

}  // namespace minigpt::convert
