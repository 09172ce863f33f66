#include "tests/model/random_model.h"

#include <algorithm>

#include "base/half.h"

namespace minigpt {
namespace {

using Row64 = std::vector<double>;
using Rows = std::vector<Row64>;

struct Reference {
    const Config& c;
    const Arrays& arrays;

    const std::vector<float>* find(const std::string& name) const {
        auto it = arrays.find(name);
        return it == arrays.end() ? nullptr : &it->second;
    }

    Row64 norm(const Row64& x, const std::string& name) const {
        double mean = 0, var = 0;
        for (double v : x)
            mean += v;
        mean /= static_cast<double>(x.size());
        for (double v : x)
            var += (v - mean) * (v - mean);
        var /= static_cast<double>(x.size());
        double inv = 1 / std::sqrt(var + static_cast<double>(c.layer_norm_epsilon));
        const std::vector<float>& w = *find(name + ".weight");
        const std::vector<float>* b = find(name + ".bias");
        Row64 y(x.size());
        for (size_t i = 0; i < x.size(); i++) {
            y[i] = (x[i] - mean) * inv * w[i] + (b == nullptr ? 0 : (*b)[i]);
        }
        return y;
    }

    Row64 linear(const Row64& x, const std::string& name, size_t n_out) const {
        const std::vector<float>& w = *find(name + ".weight");
        const std::vector<float>* b = find(name + ".bias");
        Row64 y(n_out);
        for (size_t o = 0; o < n_out; o++) {
            for (size_t k = 0; k < x.size(); k++)
                y[o] += x[k] * w[k * n_out + o];
            if (b != nullptr)
                y[o] += (*b)[o];
        }
        return y;
    }

    double gelu(double x) const {
        if (c.activation == Activation::gelu_erf)
            return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
        return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    }

    Row64 attend(const Rows& qkv, size_t row, size_t layer) const {
        size_t n_embd = c.n_embd, head_dim = c.head_dim();
        Row64 out(n_embd);
        for (size_t head = 0; head < c.n_head; head++) {
            const double* q = &qkv[row][head * head_dim];
            Row64 scores(row + 1);
            for (size_t j = 0; j <= row; j++) {
                const double* k = &qkv[j][n_embd + head * head_dim];
                for (size_t e = 0; e < head_dim; e++)
                    scores[j] += q[e] * k[e];
                if (c.scale_attn_weights)
                    scores[j] /= std::sqrt(static_cast<double>(head_dim));
                if (c.scale_attn_by_inverse_layer_idx)
                    scores[j] /= static_cast<double>(layer + 1);
            }
            double top = *std::max_element(scores.begin(), scores.end()), sum = 0;
            for (double& s : scores)
                sum += s = std::exp(s - top);
            for (size_t j = 0; j <= row; j++) {
                const double* v = &qkv[j][2 * n_embd + head * head_dim];
                for (size_t e = 0; e < head_dim; e++) {
                    out[head * head_dim + e] += scores[j] / sum * v[e];
                }
            }
        }
        return out;
    }

    void add(Row64& x, const Row64& y) const {
        for (size_t i = 0; i < x.size(); i++)
            x[i] += y[i];
    }

    Rows run(const std::vector<int32_t>& ids) const {
        Rows x;
        for (size_t i = 0; i < ids.size(); i++) {
            const float* wte = find("wte.weight")->data() + static_cast<size_t>(ids[i]) * c.n_embd;
            const float* wpe = find("wpe.weight")->data() + i * c.n_embd;
            Row64 row(c.n_embd);
            for (size_t e = 0; e < c.n_embd; e++)
                row[e] = static_cast<double>(wte[e]) + wpe[e];
            x.push_back(row);
        }
        for (size_t layer = 0; layer < c.n_layer; layer++) {
            std::string h = "h." + std::to_string(layer) + ".";
            Rows qkv;
            for (Row64& row : x) {
                qkv.push_back(linear(norm(row, h + "ln_1"), h + "attn.c_attn", 3 * c.n_embd));
            }
            for (size_t i = 0; i < x.size(); i++) {
                add(x[i], linear(attend(qkv, i, layer), h + "attn.c_proj", c.n_embd));
                Row64 wide = linear(norm(x[i], h + "ln_2"), h + "mlp.c_fc", c.n_ff);
                for (double& v : wide)
                    v = gelu(v);
                add(x[i], linear(wide, h + "mlp.c_proj", c.n_embd));
            }
        }
        const float* head = find(c.tied ? "wte.weight" : "lm_head.weight")->data();
        Rows logits;
        for (Row64& row : x) {
            Row64 y = norm(row, "ln_f");
            Row64 out(c.n_vocab);
            for (size_t o = 0; o < c.n_vocab; o++) {
                for (size_t e = 0; e < c.n_embd; e++)
                    out[o] += y[e] * head[o * c.n_embd + e];
            }
            logits.push_back(out);
        }
        return logits;
    }
};

Config config_of(uint32_t n_vocab, uint32_t n_rows, uint32_t n_ctx, uint32_t n_embd,
                 uint32_t n_head, uint32_t n_layer, uint32_t n_ff) {
    Config c;
    c.n_vocab = n_vocab;
    c.n_rows = n_rows;
    c.n_ctx = n_ctx;
    c.n_embd = n_embd;
    c.n_head = n_head;
    c.n_layer = n_layer;
    c.n_ff = n_ff;
    return c;
}

}  // namespace

float grouped_element(const TensorInfo& t, size_t k, size_t out) {
    bool is_q8 = t.type == ElementType::q8;
    size_t n_groups = (t.spec.n_in() + 31) / 32, o = out % 16;
    const unsigned char* group = static_cast<const unsigned char*>(t.data) +
                                 (out / 16 * n_groups + k / 32) * (is_q8 ? 544 : 288);
    uint16_t half;
    memcpy(&half, group + 2 * o, 2);
    if (is_q8)
        return static_cast<int8_t>(group[32 + k % 32 * 16 + o]) * f16_to_float(half);
    int byte = group[32 + k % 16 / 4 * 64 + o * 4 + k % 4];
    return static_cast<float>((k % 32 < 16 ? byte & 15 : byte >> 4) - 8) * f16_to_float(half);
}

float element(const TensorInfo& t, size_t i, size_t j) {
    size_t k = t.spec.is_table ? j : i, out = t.spec.is_table ? i : j;
    if (t.type == ElementType::q8 || t.type == ElementType::q4)
        return grouped_element(t, k, out);
    size_t at = i * t.spec.shape[1] + j;
    if (t.spec.layout == Layout::panels)
        at = (out / 16 * t.spec.n_in() + k) * 16 + out % 16;
    if (t.type == ElementType::f32)
        return static_cast<const float*>(t.data)[at];
    uint16_t h = static_cast<const uint16_t*>(t.data)[at];
    return t.type == ElementType::f16 ? f16_to_float(h) : bf16_to_float(h);
}

std::vector<std::vector<double>> reference_logits(const Config& config, const Arrays& arrays,
                                                  const std::vector<int32_t>& ids) {
    return Reference{config, arrays}.run(ids);
}

double relative_error(const float* a, const std::vector<double>& b) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < b.size(); i++) {
        // Written so that a NaN is the worst of all.
        double error = std::fabs(static_cast<double>(a[i]) - b[i]);
        if (!(error <= worst))
            worst = error;
        largest = std::max(largest, std::fabs(b[i]));
    }
    return worst / largest;
}

std::vector<NamedConfig> odd_configs() {
    std::vector<NamedConfig> all;
    all.push_back({"plain", config_of(65, 65, 40, 32, 4, 2, 128)});
    all.push_back({"head size 20, 3 tokens", config_of(3, 3, 33, 60, 3, 3, 240)});
    all.push_back({"one wide, one position", config_of(2, 2, 1, 1, 1, 1, 1)});
    all.push_back({"head size 1, odd n_ff", config_of(17, 17, 19, 7, 7, 2, 13)});
    all.push_back({"padded rows", config_of(54, 64, 50, 48, 2, 2, 100)});
    all.push_back(
        {"wide enough to be divided over threads", config_of(70, 70, 20, 192, 3, 1, 768)});
    all.push_back({"head size 80", config_of(100, 100, 70, 160, 2, 1, 320)});
    Config c = all[0].config;
    c.tied = false;
    c.activation = Activation::gelu_erf;
    c.layer_norm_epsilon = 1e-3f;
    all.push_back({"untied, erf, epsilon", c});
    c = all[0].config;
    c.biases = 0;
    all.push_back({"no bias", c});
    c.biases = kBiasAttnQkv | kBiasLn2 | kBiasLnF;
    all.push_back({"some biases", c});
    c = all[1].config;
    c.scale_attn_by_inverse_layer_idx = true;
    all.push_back({"inverse layer", c});
    c.scale_attn_weights = false;
    all.push_back({"unscaled attention", c});
    return all;
}

}  // namespace minigpt
