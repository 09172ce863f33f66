#include "convert/write/export.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/file.h"
#include "common/utf8.h"

namespace minigpt::convert {
namespace {

// A JSON string; `text` is UTF-8.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            char code[8];
            snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

// The shortest decimal that is this f32 again.
std::string number_text(float value) {
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
        if (static_cast<float>(strtod(text, nullptr)) == value)
            break;
    }
    return text;
}

std::string config_json(const Plan& plan, const TokenizerSpec& spec) {
    const Config& c = plan.config;
    auto flag = [](bool value) { return value ? "true" : "false"; };
    std::string eos = spec.eos < 0 ? "null" : std::to_string(spec.eos);
    std::string torch_type = plan.own_type == ElementType::f16    ? "float16"
                             : plan.own_type == ElementType::bf16 ? "bfloat16"
                                                                  : "float32";
    const std::pair<const char*, std::string> fields[] = {
        {"activation_function",
         c.activation == Activation::gelu_tanh ? "\"gelu_new\"" : "\"gelu\""},
        {"architectures", "[\"GPT2LMHeadModel\"]"},
        {"bos_token_id", eos},
        {"eos_token_id", eos},
        {"layer_norm_epsilon", number_text(c.layer_norm_epsilon)},
        {"model_type", "\"gpt2\""},
        {"n_ctx", std::to_string(c.n_ctx)},
        {"n_embd", std::to_string(c.n_embd)},
        {"n_head", std::to_string(c.n_head)},
        {"n_inner", c.n_ff == uint64_t{4} * c.n_embd ? "null" : std::to_string(c.n_ff)},
        {"n_layer", std::to_string(c.n_layer)},
        {"n_positions", std::to_string(c.n_ctx)},
        {"scale_attn_by_inverse_layer_idx", flag(c.scale_attn_by_inverse_layer_idx)},
        {"scale_attn_weights", flag(c.scale_attn_weights)},
        {"tie_word_embeddings", flag(c.tied)},
        {"torch_dtype", quoted(torch_type)},
        {"vocab_size", std::to_string(c.n_rows)},
    };
    std::string text;
    for (const auto& [name, value] : fields)
        text += (text.empty() ? "{\n  \"" : ",\n  \"") + std::string(name) + "\": " + value;
    return text + "\n}\n";
}

class VocabularyFiles {
public:
    VocabularyFiles(const Vocabulary& from, TextFiles* files) : from_(from), files_(files) {}

    void make();

private:
    std::string bytes(size_t id) const {
        size_t begin = static_cast<size_t>(from_.offsets[id]);
        return from_.bytes.substr(begin, static_cast<size_t>(from_.offsets[id + 1]) - begin);
    }
    std::string spelling(size_t id) const {
        if (from_.kind == TokenizerKind::chars)
            return bytes(id);
        std::string text;
        for (char c : bytes(id))
            text += encode_byte(static_cast<unsigned char>(c));
        return text;
    }
    bool goes_with_the_added(size_t id) const;

    const Vocabulary& from_;
    TextFiles* files_;
};

// Special tokens that are spelled as they are, such as <|endoftext|>, stand among the others, as
// in GPT-2's own vocabulary. The rest are added tokens, whose texts nothing is done to.
bool VocabularyFiles::goes_with_the_added(size_t id) const {
    std::string text = bytes(id);
    if (!looks_special(text))
        return from_.kind != TokenizerKind::bpe || is_utf8(text);
    return from_.kind == TokenizerKind::bpe && is_utf8(text) && spelling(id) != text;
}

void VocabularyFiles::make() {
    std::vector<bool> special(from_.n_tokens());
    for (int32_t id : from_.specials)
        special[static_cast<size_t>(id)] = true;
    std::string vocab, added, merges = "#version: 0.2\n";
    for (size_t i = 0; i < from_.n_tokens(); i++) {
        bool is_added = special[i] && goes_with_the_added(i);
        std::string* list = is_added ? &added : &vocab;
        *list += (list->empty() ? "{" : ", ") + quoted(is_added ? bytes(i) : spelling(i)) + ": " +
                 std::to_string(i);
    }
    for (const Merge& merge : from_.merges) {
        merges += spelling(static_cast<size_t>(merge.left)) + " " +
                  spelling(static_cast<size_t>(merge.right)) + "\n";
    }
    (*files_)["vocab.json"] = (vocab.empty() ? "{" : vocab) + "}";
    if (from_.kind == TokenizerKind::bpe)
        (*files_)["merges.txt"] = merges;
    if (!added.empty())
        (*files_)["added_tokens.json"] = added + "}";
}

// What find_vocabulary would make of the files.
Status read_again(const TextFiles& files, Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = "vocab.json";
    MINIGPT_TRY(parse_vocab_json(files.at("vocab.json"), false, &raw));
    if (auto merges = files.find("merges.txt"); merges != files.end()) {
        raw.merges_source = merges->first;
        MINIGPT_TRY(parse_merges(merges->second, &raw));
    }
    if (auto added = files.find("added_tokens.json"); added != files.end())
        MINIGPT_TRY(parse_vocab_json(added->second, true, &raw));
    return finish_vocabulary(std::move(raw), vocabulary);
}

bool same_merges(const std::vector<Merge>& a, const std::vector<Merge>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Merge& x, const Merge& y) {
        return x.left == y.left && x.right == y.right && x.merged == y.merged;
    });
}

}  // namespace

Status make_text_files(const Plan& plan, const Vocabulary& vocabulary, const TokenizerSpec& spec,
                       TextFiles* files) {
    (*files)["config.json"] = config_json(plan, spec);
    if (vocabulary.kind == TokenizerKind::none)
        return Status();
    VocabularyFiles(vocabulary, files).make();
    Vocabulary again;
    Status status = read_again(*files, &again);
    bool same = status.ok() && again.kind == vocabulary.kind && again.bytes == vocabulary.bytes &&
                again.offsets == vocabulary.offsets && again.specials == vocabulary.specials &&
                same_merges(again.merges, vocabulary.merges);
    if (same)
        return Status();
    return Status::error(Code::not_supported,
                         "%s: Hugging Face's files cannot spell this vocabulary%s%s",
                         vocabulary.source.c_str(), status.ok() ? "" : ": ", status.message());
}

}  // namespace minigpt::convert
