#include "tests/tools/networks/reference.h"

#include <cmath>

namespace minigpt::test {
namespace {

using Matrix = std::vector<std::vector<double>>;  // [n_rows][n]
using networks::Batch;
using networks::TrainConfig;

double gelu(double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct Forward {
    const Numbers64& weights;

    const std::vector<double>& at(const std::string& name) const { return weights.at(name); }

    Matrix linear(const Matrix& x, const std::string& name) const {
        const std::vector<double>&w = at(name + ".weight"), &b = at(name + ".bias");
        Matrix y(x.size(), b);
        for (size_t i = 0; i < x.size(); ++i) {
            for (size_t k = 0; k < x[i].size(); ++k) {
                for (size_t j = 0; j < b.size(); ++j)
                    y[i][j] += x[i][k] * w[k * b.size() + j];
            }
        }
        return y;
    }

    Matrix layernorm(const Matrix& x, const std::string& name) const {
        const std::vector<double>&w = at(name + ".weight"), &b = at(name + ".bias");
        Matrix y = x;
        for (std::vector<double>& row : y) {
            double n = static_cast<double>(row.size()), mean = 0, var = 0;
            for (double v : row)
                mean += v / n;
            for (double v : row)
                var += (v - mean) * (v - mean) / n;
            for (size_t j = 0; j < row.size(); ++j)
                row[j] = (row[j] - mean) / std::sqrt(var + 1e-5) * w[j] + b[j];
        }
        return y;
    }

    // One head's columns of all rows.
    void attend(Matrix* out, const Matrix& qkv, size_t head, size_t dim, bool mask) const {
        const size_t n_embd = (*out)[0].size(), at_head = head * dim;
        for (size_t i = 0; i < qkv.size(); ++i) {
            std::vector<double> scores;
            double sum = 0;
            for (size_t j = 0; j < (mask ? i + 1 : qkv.size()); ++j) {
                double s = 0;
                for (size_t e = 0; e < dim; ++e)
                    s += qkv[i][at_head + e] * qkv[j][n_embd + at_head + e];
                scores.push_back(std::exp(s / std::sqrt(static_cast<double>(dim))));
                sum += scores.back();
            }
            for (size_t e = 0; e < dim; ++e) {
                for (size_t j = 0; j < scores.size(); ++j)
                    (*out)[i][at_head + e] += scores[j] / sum * qkv[j][2 * n_embd + at_head + e];
            }
        }
    }

    static void add(Matrix* x, const Matrix& y) {
        for (size_t i = 0; i < y.size(); ++i) {
            for (size_t j = 0; j < y[i].size(); ++j)
                (*x)[i][j] += y[i][j];
        }
    }

    static void gelu_all(Matrix* x) {
        for (std::vector<double>& row : *x) {
            for (double& v : row)
                v = gelu(v);
        }
    }

    Matrix gpt(const int32_t* ids, const TrainConfig& config, size_t n_vocab, size_t length) const {
        const size_t n_embd = config.n_embd;
        const std::vector<double>&wte = at("wte.weight"), &wpe = at("wpe.weight");
        Matrix x(length, std::vector<double>(n_embd));
        for (size_t i = 0; i < length; ++i) {
            for (size_t j = 0; j < n_embd; ++j)
                x[i][j] = wte[static_cast<size_t>(ids[i]) * n_embd + j] + wpe[i * n_embd + j];
        }
        for (size_t l = 0; l < config.n_layer; ++l) {
            std::string h = "h." + std::to_string(l) + ".";
            Matrix qkv = linear(layernorm(x, h + "ln_1"), h + "attn.c_attn");
            Matrix mix(length, std::vector<double>(n_embd));
            for (size_t head = 0; head < config.n_head; ++head)
                attend(&mix, qkv, head, n_embd / config.n_head, config.mask);
            add(&x, linear(mix, h + "attn.c_proj"));
            Matrix hidden = linear(layernorm(x, h + "ln_2"), h + "mlp.c_fc");
            gelu_all(&hidden);
            add(&x, linear(hidden, h + "mlp.c_proj"));
        }
        x = layernorm(x, "ln_f");
        Matrix logits(length, std::vector<double>(n_vocab));
        for (size_t i = 0; i < length; ++i) {
            for (size_t id = 0; id < n_vocab; ++id) {
                for (size_t j = 0; j < n_embd; ++j)
                    logits[i][id] += x[i][j] * wte[id * n_embd + j];
            }
        }
        return logits;
    }

    Matrix mlp(const int32_t* ids, const TrainConfig& config, size_t length) const {
        const std::vector<double>& wte = at("wte.weight");
        Matrix x(length);
        for (size_t i = 0; i < length; ++i) {
            for (size_t back = config.window; back-- > 0;) {
                const int32_t* id = ids + i - back;
                const double* row = wte.data() + static_cast<size_t>(*id) * config.n_embd;
                x[i].insert(x[i].end(), row, row + config.n_embd);
            }
        }
        Matrix hidden = linear(x, "fc");
        gelu_all(&hidden);
        return linear(hidden, "head");
    }
};

}  // namespace

Numbers64 widened(const networks::Parameters& parameters) {
    Numbers64 all;
    for (const networks::Tensor& tensor : parameters.tensors()) {
        const float* from = parameters.weights() + tensor.offset;
        all[tensor.name].assign(from, from + tensor.size());
    }
    return all;
}

double reference_loss(const Numbers64& weights, const TrainConfig& config, size_t n_vocab,
                      const Batch& batch) {
    Forward forward = {weights};
    double loss = 0;
    for (size_t s = 0; s < batch.n_seq; ++s) {
        const int32_t* ids = batch.text + batch.starts[s];
        Matrix logits = config.architecture == networks::Architecture::mlp
                            ? forward.mlp(ids, config, batch.length)
                            : forward.gpt(ids, config, n_vocab, batch.length);
        for (size_t i = 0; i < batch.length; ++i) {
            double sum = 0;
            for (double logit : logits[i])
                sum += std::exp(logit);
            loss += std::log(sum) - logits[i][static_cast<size_t>(ids[i + 1])];
        }
    }
    return loss / static_cast<double>(batch.n_rows());
}

}  // namespace minigpt::test
