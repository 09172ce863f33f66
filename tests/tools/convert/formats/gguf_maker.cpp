#include "tests/tools/convert/formats/gguf_maker.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace minigpt::test {
namespace {

const std::pair<const char*, const char*> kNames[] = {
    {"wte.weight", "token_embd.weight"},
    {"wpe.weight", "position_embd.weight"},
    {"ln_f.", "output_norm."},
    {"lm_head.weight", "output.weight"},
    {"h.", "blk."},
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"ln_1", "attn_norm"},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
};

std::string gguf_name(std::string name) {
    for (const auto& [ours, theirs] : kNames) {
        size_t at = name.find(ours);
        if (at != std::string::npos)
            name.replace(at, strlen(ours), theirs);
    }
    return name;
}

uint32_t type_id(const std::string& dtype) {
    return dtype == "F32" ? 0 : dtype == "F16" ? 1 : 30;
}

}  // namespace

namespace gguf {

std::string text(const std::string& bytes) {
    return le64(bytes.size()) + bytes;
}
std::string string(const std::string& bytes) {
    return le32(8) + text(bytes);
}
std::string u32(uint64_t n) {
    return le32(4) + le32(n);
}
std::string f32(float x) {
    return le32(6) + std::string(reinterpret_cast<const char*>(&x), 4);
}
std::string strings(const std::vector<std::string>& all) {
    std::string bytes = le32(9) + le32(8) + le64(all.size());
    for (const std::string& one : all)
        bytes += text(one);
    return bytes;
}
std::string i32s(const std::vector<int32_t>& all) {
    std::string bytes = le32(9) + le32(5) + le64(all.size());
    for (int32_t n : all)
        bytes += le32(static_cast<uint32_t>(n));
    return bytes;
}

}  // namespace gguf

std::string& GgufMaker::key(const std::string& name) {
    for (auto& [known, value] : keys) {
        if (known == name)
            return value;
    }
    keys.emplace_back(name, "");
    return keys.back().second;
}

void GgufMaker::remove_key(const std::string& name) {
    for (size_t i = 0; i < keys.size(); i++) {
        if (keys[i].first == name) {
            keys.erase(keys.begin() + static_cast<ptrdiff_t>(i));
            return;
        }
    }
    FAIL("no key " << name);
}

GgufTensor& GgufMaker::tensor(const std::string& name) {
    for (GgufTensor& t : tensors) {
        if (t.name == name)
            return t;
    }
    FAIL("no tensor " << name);
    return tensors[0];
}

std::string GgufMaker::file() const {
    std::string bytes = "GGUF" + le32(version) + le64(tensors.size()) + le64(keys.size()), data;
    for (const auto& [name, value] : keys)
        bytes += gguf::text(name) + value;
    auto align = [&](std::string* text) {
        size_t n = static_cast<size_t>(alignment);
        text->resize((text->size() + n - 1) / n * n);
    };
    for (const GgufTensor& t : tensors) {
        bytes += gguf::text(t.name) + le32(t.dims.size());
        for (uint64_t dim : t.dims)
            bytes += le64(dim);
        bytes += le32(t.type) + le64(data.size() + static_cast<uint64_t>(t.shift));
        data += t.data;
        align(&data);
    }
    align(&bytes);
    return bytes + data;
}

GgufMaker gguf_of(const HfModel& model) {
    const Config& c = model.config;
    GgufMaker out;
    std::vector<int32_t> types(text_tokens().size(), 1);
    types.back() = 3;
    out.keys = {
        {"general.architecture", gguf::string("gpt2")},
        {"general.name", gguf::string("a model")},
        {"gpt2.block_count", gguf::u32(c.n_layer)},
        {"gpt2.context_length", gguf::u32(c.n_ctx)},
        {"gpt2.embedding_length", gguf::u32(c.n_embd)},
        {"gpt2.feed_forward_length", gguf::u32(c.n_ff)},
        {"gpt2.attention.head_count", gguf::u32(c.n_head)},
        {"gpt2.attention.layer_norm_epsilon", gguf::f32(c.layer_norm_epsilon)},
        {"tokenizer.ggml.model", gguf::string("gpt2")},
        {"tokenizer.ggml.pre", gguf::string("gpt-2")},
        {"tokenizer.ggml.tokens", gguf::strings(text_tokens())},
        {"tokenizer.ggml.token_type", gguf::i32s(types)},
        {"tokenizer.ggml.merges", gguf::strings(text_merges())},
        {"tokenizer.ggml.eos_token_id", gguf::u32(260)},
        {"some.numbers", le32(9) + le32(6) + le64(3) + std::string(12, '\0')},
        {"some.lists", le32(9) + le32(9) + le64(2) + gguf::strings({"a", ""}).substr(4) +
                           gguf::i32s({1, 2}).substr(4)},
    };
    for (const SavedTensor& t : model.tensors) {
        bool turned = t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0;
        SavedTensor saved = turned ? transposed(t) : t;
        std::reverse(saved.shape.begin(), saved.shape.end());
        out.tensors.push_back({gguf_name(t.name), saved.shape, type_id(t.dtype), saved.data});
    }
    return out;
}

double half_value(unsigned bits) {
    int exponent = static_cast<int>(bits >> 10 & 31);
    double tail = bits & 1023;
    double value = exponent == 0 ? std::ldexp(tail, -24) : std::ldexp(1024 + tail, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

unsigned nearest_half(double x) {
    unsigned sign = std::signbit(x) ? 0x8000 : 0, best = 0;
    // Halves of one sign are ordered as their bits are.
    for (unsigned step = 0x4000; step > 0; step /= 2) {
        if (half_value(best + step) <= std::fabs(x))
            best += step;
    }
    if (half_value(best + 1) - std::fabs(x) <= std::fabs(x) - half_value(best))
        best++;
    return sign | best;
}

std::string quantize(uint32_t type, SavedTensor* tensor) {
    bool has_minimum = type == 3 || type == 7;
    int bits = type == 8 ? 8 : type >= 6 ? 5 : 4;
    std::string blocks;
    for (size_t at = 0; at < tensor->data.size(); at += 32 * 4) {
        float x[32];
        memcpy(x, &tensor->data[at], sizeof x);
        double low = x[0], high = x[0];
        for (float value : x) {
            low = std::min<double>(low, value);
            high = std::max<double>(high, value);
        }
        double most = std::max(-low, high), levels = (1 << bits) - 1;
        unsigned d = nearest_half(has_minimum ? (high - low) / levels
                                              : most / (bits == 8 ? 127 : 1 << (bits - 1)));
        unsigned m = nearest_half(low);
        int least = has_minimum ? 0 : bits == 8 ? -127 : -(1 << (bits - 1)), codes[32];
        int greatest = has_minimum ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
        uint32_t fifth = 0;
        std::string low_bits(16, '\0'), bytes;
        for (size_t j = 0; j < 32; j++) {
            double zero = has_minimum ? half_value(m) : 0;
            int q = static_cast<int>(std::lround((x[j] - zero) / half_value(d)));
            q = std::min(std::max(q, least), greatest);
            codes[j] = has_minimum || bits == 8 ? q : q - least;
            // What it stands for: one rounding, of the exact value.
            x[j] = static_cast<float>(half_value(d) * q + zero);
            bytes += static_cast<char>(q);
            fifth |= static_cast<uint32_t>(codes[j] >> 4 & 1) << j;
        }
        for (size_t j = 0; j < 16; j++)
            low_bits[j] = static_cast<char>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
        blocks += le16(d) + (has_minimum ? le16(m) : "") + (bits == 5 ? le32(fifth) : "") +
                  (bits == 8 ? bytes : low_bits);
        memcpy(&tensor->data[at], x, sizeof x);
    }
    return blocks;
}

}  // namespace minigpt::test
