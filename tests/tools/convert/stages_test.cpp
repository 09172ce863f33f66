// A trained model's values after every stage, made by PyTorch, against the public ops.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "convert/checkpoint.h"
#include "minigpt/ops.h"
#include "tests/json.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;

namespace {

using Array = std::vector<float>;

// RFC 4648, of little-endian f32.
Array from_base64(const std::string& text) {
    std::string bytes;
    uint32_t bits = 0;
    int n_bits = 0;
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (char c : text) {
        size_t value = digits.find(c);
        if (value == std::string::npos)
            break;  // padding
        bits = bits << 6 | static_cast<uint32_t>(value);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes += static_cast<char>(bits >> n_bits & 0xff);
        }
    }
    Array numbers(bytes.size() / 4);
    memcpy(numbers.data(), bytes.data(), numbers.size() * 4);
    return numbers;
}

struct Workspace {
    explicit Workspace(size_t bytes) : n_bytes(bytes) {
        REQUIRE(posix_memalign(&data, 64, bytes + 64) == 0);
    }
    ~Workspace() { free(data); }
    Workspace(const Workspace&) = delete;
    void* data = nullptr;
    size_t n_bytes;
};

// The sorting model through the public ops, on a batch of 3 texts of 11 tokens.
struct Sorter {
    static constexpr size_t kBatch = 3, kTokens = 11, kEmbd = 48, kHeads = 3, kDim = 16, kFf = 192;
    static constexpr size_t kRows = kBatch * kTokens;

    std::map<std::string, Array> weights;
    test::Json stages;

    explicit Sorter(const std::string& folder) : stages(test::Json::read(folder + "/stages.json")) {
        std::unique_ptr<convert::Checkpoint> checkpoint;
        REQUIRE(convert::open_checkpoint(folder, {}, &checkpoint).ok());
        for (size_t i = 0; i < checkpoint->tensors.size(); i++) {
            const std::string& name = checkpoint->tensors[i].name;
            if (!checkpoint->tensors[i].type)
                continue;
            convert::Scratch scratch;
            ArrayView view;
            REQUIRE(checkpoint->read(i, &scratch, &view).ok());
            if (view.n_dims > 2 || view.type != ElementType::f32)
                continue;
            size_t n = view.shape[0] * (view.n_dims == 2 ? view.shape[1] : 1);
            const float* data = static_cast<const float*>(view.data);
            std::string prefix = "transformer.";
            weights[name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name] =
                Array(data, data + n);
        }
    }

    const Array& w(const std::string& name) const {
        CAPTURE(name);
        REQUIRE(weights.count(name) == 1);
        return weights.at(name);
    }

    // Within 1e-5 of the stage's largest number; -infinity where PyTorch has it.
    void agrees(const char* stage, const Array& got) const {
        CAPTURE(std::string(stage));
        Array expected = from_base64(stages[stage]["data"].text);
        REQUIRE(expected.size() == got.size());
        double largest = 0, worst = 0;
        for (size_t i = 0; i < got.size(); i++) {
            if (std::isinf(expected[i])) {
                CHECK(got[i] == expected[i]);
                continue;
            }
            largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
            double error = std::fabs(static_cast<double>(got[i]) - expected[i]);
            if (!(error <= worst))
                worst = error;
        }
        CHECK(worst <= 1e-5 * largest);
    }

    Array product(const Array& x, const Array& matrix, size_t n_rows, size_t n_in, size_t n_out,
                  Operand op = Operand::plain) const {
        size_t bytes;
        REQUIRE(gemm_workspace_bytes(n_rows, n_out, n_in, &bytes).ok());
        Workspace workspace(bytes);
        Array y(n_rows * n_out);
        size_t ld = op == Operand::plain ? n_out : n_in;
        REQUIRE(gemm(y.data(), n_out, x.data(), n_in, Operand::plain, matrix.data(), ld, op, n_rows,
                     n_out, n_in, false, workspace.data, bytes)
                    .ok());
        return y;
    }

    Array linear(const Array& x, const std::string& name, size_t n_in, size_t n_out) const {
        Array y = product(x, w(name + ".weight"), kRows, n_in, n_out);
        for (size_t i = 0; i < y.size(); i++)
            y[i] += w(name + ".bias")[i % n_out];
        return y;
    }

    Array norm(const Array& x, const std::string& name) const {
        Array y(x.size());
        REQUIRE(layernorm(y.data(), x.data(), w(name + ".weight").data(), w(name + ".bias").data(),
                          kRows, kEmbd, 1e-5f)
                    .ok());
        return y;
    }

    static Array sum(const Array& a, const Array& b) {
        Array y(a);
        for (size_t i = 0; i < y.size(); i++)
            y[i] += b[i];
        return y;
    }

    // [batch, head, token, dim] of one of q, k, v out of [batch, token, 3, head, dim].
    Array heads(const Array& qkv, size_t which) const {
        Array out;
        for (size_t b = 0; b < kBatch; b++) {
            for (size_t h = 0; h < kHeads; h++) {
                for (size_t t = 0; t < kTokens; t++) {
                    const float* from = &qkv[((b * kTokens + t) * 3 + which) * kEmbd + h * kDim];
                    out.insert(out.end(), from, from + kDim);
                }
            }
        }
        return out;
    }

    // Scores by gemm and masked_softmax, head by head, as someone would write attention by hand.
    void check_scores(const Array& q, const Array& k) const {
        Array scores, probs;
        for (size_t g = 0; g < kBatch * kHeads; g++) {
            size_t at = g * kTokens * kDim;
            Array one(q.begin() + static_cast<long>(at),
                      q.begin() + static_cast<long>(at + kTokens * kDim));
            Array other(k.begin() + static_cast<long>(at),
                        k.begin() + static_cast<long>(at + kTokens * kDim));
            Array s = product(one, other, kTokens, kDim, kTokens, Operand::transposed);
            for (float& x : s)
                x *= 0.25f;  // 1 / sqrt(16)
            Array p(s.size());
            REQUIRE(masked_softmax(p.data(), s.data(), kTokens, kTokens, kTokens, 0).ok());
            for (size_t i = 0; i < s.size(); i++) {
                if (i % kTokens > i / kTokens)
                    s[i] = -INFINITY;
            }
            scores.insert(scores.end(), s.begin(), s.end());
            probs.insert(probs.end(), p.begin(), p.end());
        }
        agrees("att", scores);
        agrees("attSm", probs);
    }

    Array attend(const Array& qkv, Array* all_probs) const {
        Array out(kRows * kEmbd);
        size_t bytes;
        REQUIRE(attention_workspace_bytes(kTokens, 0, kHeads, kDim, &bytes).ok());
        Workspace workspace(bytes);
        for (size_t b = 0; b < kBatch; b++) {
            Array q, k, v, probs(kHeads * kTokens * kTokens);
            for (size_t t = 0; t < kTokens; t++) {
                const float* row = &qkv[(b * kTokens + t) * 3 * kEmbd];
                q.insert(q.end(), row, row + kEmbd);
                k.insert(k.end(), row + kEmbd, row + 2 * kEmbd);
                v.insert(v.end(), row + 2 * kEmbd, row + 3 * kEmbd);
            }
            REQUIRE(attention(&out[b * kTokens * kEmbd], q.data(), k.data(), v.data(), kTokens, 0,
                              kHeads, kDim, 0.25f, probs.data(), workspace.data, bytes)
                        .ok());
            all_probs->insert(all_probs->end(), probs.begin(), probs.end());
        }
        return out;
    }

    Array block(const Array& x, const std::string& h, bool check) const {
        auto stage = [&](const char* name, const Array& value) {
            if (check)
                agrees(name, value);
        };
        Array ln_1 = norm(x, h + "ln_1");
        stage("ln1", ln_1);
        Array qkv = linear(ln_1, h + "attn.c_attn", kEmbd, 3 * kEmbd);
        stage("q", heads(qkv, 0));
        stage("k", heads(qkv, 1));
        stage("v", heads(qkv, 2));
        if (check)
            check_scores(heads(qkv, 0), heads(qkv, 1));
        Array probs, y = attend(qkv, &probs);
        stage("attSm", probs);
        stage("y", y);
        Array projected = linear(y, h + "attn.c_proj", kEmbd, kEmbd);
        stage("yProj", projected);
        Array middle = sum(x, projected);
        stage("attnResid", middle);
        Array ln_2 = norm(middle, h + "ln_2");
        stage("ln2", ln_2);
        Array wide = linear(ln_2, h + "mlp.c_fc", kEmbd, kFf);
        stage("fc", wide);
        REQUIRE(gelu(wide.data(), wide.data(), wide.size(), Activation::gelu_tanh).ok());
        stage("gelu", wide);
        Array mlp = linear(wide, h + "mlp.c_proj", kFf, kEmbd);
        stage("mlp", mlp);
        Array end = sum(middle, mlp);
        stage("mlpResid", end);
        return end;
    }
};

}  // namespace

TEST_CASE("ops stages: a trained model agrees with PyTorch after every stage") {
    std::string folder = test::outside_data("trained/sort");
    if (folder.empty())
        return;
    Sorter sorter(folder);
    Array ids = from_base64(sorter.stages["idx"]["data"].text);
    Array tokens, positions, all_positions;
    for (size_t i = 0; i < Sorter::kRows; i++) {
        const float* wte = &sorter.w("wte.weight")[static_cast<size_t>(ids[i]) * Sorter::kEmbd];
        const float* wpe = &sorter.w("wpe.weight")[i % Sorter::kTokens * Sorter::kEmbd];
        tokens.insert(tokens.end(), wte, wte + Sorter::kEmbd);
        all_positions.insert(all_positions.end(), wpe, wpe + Sorter::kEmbd);
        if (i < Sorter::kTokens)
            positions.insert(positions.end(), wpe, wpe + Sorter::kEmbd);
    }
    sorter.agrees("tok_emb", tokens);
    sorter.agrees("pos_emb", positions);
    Array x = Sorter::sum(tokens, all_positions);
    sorter.agrees("x", x);
    for (int layer = 0; layer < 3; layer++) {
        x = sorter.block(x, "h." + std::to_string(layer) + ".", layer == 0);
        sorter.agrees(("block" + std::to_string(layer)).c_str(), x);
    }
    x = sorter.norm(x, "ln_f");
    sorter.agrees("ln_f", x);
    Array logits = sorter.product(x, sorter.w("lm_head.weight"), Sorter::kRows, Sorter::kEmbd, 3,
                                  Operand::transposed);
    sorter.agrees("lm_head", logits);
    Array probs(logits.size());
    REQUIRE(masked_softmax(probs.data(), logits.data(), Sorter::kRows, 3, 3, 3).ok());
    sorter.agrees("probs", probs);
}
