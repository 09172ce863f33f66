// Lesson 4: twelve heads are one projection, split by shape.
#include <numeric>

#include "common/text.h"
#include "lesson/heat_map.h"
#include "lesson/lesson.h"
#include "lesson/two_heads.h"

namespace minigpt::lesson {
namespace {

using Shape = std::vector<size_t>;

// (T, n_embd) to (n_head, T, head_dim), the heads under each other.
Matrix by_head(const Matrix& a, size_t n_head) {
    std::vector<Matrix> heads;
    for (size_t h = 0; h < n_head; h++)
        heads.push_back(columns(a, h * a.n_cols / n_head, a.n_cols / n_head));
    return stacked(heads);
}

void show_split(Page& page) {
    page.say(
        "A head is attention on a part of each word's numbers. A row of n_embd = 6 numbers is "
        "n_head = 3 heads of head_dim = 2 side by side; splitting changes no number. This lesson "
        "counts from 0, so `12` is number 2 of word 1:");
    Matrix q(2, 6);
    for (size_t i = 0; i < q.x.size(); i++)
        q.x[i] = static_cast<float>(i / 6 * 10 + i % 6);
    page.matrix("q", "(T, n_embd)", q, {"word 0", "word 1"}, {"", "", "", "", "", ""});
    Matrix heads = by_head(q, 3);
    page.matrix("q by head", "(n_head * T, head_dim)", heads,
                {"head 0  word 0", "        word 1", "head 1  word 0", "        word 1",
                 "head 2  word 0", "        word 1"},
                {"", ""});
    std::vector<Matrix> parts;
    for (size_t h = 0; h < 3; h++) {
        parts.push_back(Matrix(2, 2, std::vector<float>(heads.row(2 * h), heads.row(2 * h) + 4)));
    }
    page.claim_equal("put beside each other again, the heads are q", beside(parts), q);
}

// One attention layer of random weights, in both ways of keeping them.
struct Layer {
    static constexpr size_t kHeads = 12, kHeadDim = 16, kEmbd = kHeads * kHeadDim, kWords = 32;

    Matrix x, c_attn;                   // [T, n_embd]; [n_embd, 3 * n_embd]: all q, all k, all v
    std::vector<Matrix> w_q, w_k, w_v;  // a module each, [n_embd, head_dim]

    Layer() {
        Random random(3);
        x = random_matrix(kWords, kEmbd, 1, &random);
        c_attn = random_matrix(kEmbd, 3 * kEmbd, 2 * attention_scale(kEmbd), &random);
        for (size_t h = 0; h < kHeads; h++) {
            w_q.push_back(columns(c_attn, h * kHeadDim, kHeadDim));
            w_k.push_back(columns(c_attn, kEmbd + h * kHeadDim, kHeadDim));
            w_v.push_back(columns(c_attn, 2 * kEmbd + h * kHeadDim, kHeadDim));
        }
    }
};

// Each head its own module: three products and an attention, one head after the other.
Matrix run_modules(Math& math, const Layer& layer) {
    std::vector<Matrix> heads;
    for (size_t h = 0; h < Layer::kHeads; h++) {
        Matrix q = math.product(layer.x, layer.w_q[h]);
        Matrix k = math.product(layer.x, layer.w_k[h]);
        Matrix v = math.product(layer.x, layer.w_v[h]);
        heads.push_back(math.attention(q, k, v, 1, attention_scale(Layer::kHeadDim), nullptr));
    }
    return beside(heads);
}

// One product for all, then all heads at once.
Matrix run_split(Math& math, const Layer& layer, Matrix* probs) {
    Matrix qkv = math.product(layer.x, layer.c_attn);
    return math.attention(columns(qkv, 0, Layer::kEmbd), columns(qkv, Layer::kEmbd, Layer::kEmbd),
                          columns(qkv, 2 * Layer::kEmbd, Layer::kEmbd), Layer::kHeads,
                          attention_scale(Layer::kHeadDim), probs);
}

void compare_ways(Page& page) {
    page.say(
        "Now as large as a real layer: %zu heads, T = %zu words, n_embd = %zu, head_dim = %zu, "
        "random weights. These are too many numbers to print, so here the computer compares them. "
        "One way is %zu modules, each with its own W_q, W_k and W_v of (n_embd, head_dim), run one "
        "after the other. The other way is one product with c_attn of (n_embd, 3 n_embd), split by "
        "shape:",
        Layer::kHeads, Layer::kWords, Layer::kEmbd, Layer::kHeadDim, Layer::kHeads);
    Layer layer;
    Matrix modules = run_modules(page.math, layer), probs;
    Matrix split = run_split(page.math, layer, &probs);
    page.claim_equal("both ways give the same numbers, to the bit", split, modules);
    page.claim_near("each row of each head's shares sums to 1", row_sums(probs),
                    std::vector<double>(probs.n_rows, 1), 1e-5);
    double slow = seconds_of(20, [&] { run_modules(page.math, layer); });
    double fast = seconds_of(20, [&] { run_split(page.math, layer, nullptr); });
    page.table({{"twelve modules", time_text(slow)},
                {"one projection", time_text(fast), number(slow / fast, 2) + " times as fast"}});
    if (!page.has_pictures())
        return;
    const size_t n_drawn = 16;
    std::vector<HeatMap> maps;
    Names every_fifth(n_drawn);
    for (size_t i = 0; i < n_drawn; i += 5)
        every_fifth[i] = std::to_string(i);
    for (size_t h = 0; h < Layer::kHeads; h++) {
        // Later words do not change the attention of the first ones, because of the mask.
        Matrix shares(n_drawn, n_drawn);
        for (size_t i = 0; i < n_drawn; i++) {
            const float* row = probs.row(h * Layer::kWords + i);
            std::copy(row, row + n_drawn, shares.row(i));
        }
        maps.push_back({"head " + std::to_string(h), shares, every_fifth, every_fifth, true});
    }
    page.picture("heads.svg",
                 heat_maps("Twelve heads of random weights, (n_head, T, T)", maps, 4, 9));
}

struct Step {
    const char* what;
    const char* letters;
    Shape shape;
};

size_t size_of(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), size_t{1},
                           [](size_t a, size_t b) { return a * b; });
}

std::string text_of(const Shape& shape) {
    std::string text;
    for (size_t each : shape)
        text += (text.empty() ? "(" : ", ") + std::to_string(each);
    return text + ")";
}

void show_shapes(Page& page) {
    const size_t b = 2, T = 1024;
    page.say(
        "The shapes in GPT-2 small: n_embd = 768 in 12 heads of 64, for b = %zu texts of T = %zu "
        "tokens. c_attn and c_proj are the two weight matrices of the layer, and z is the joined "
        "heads. Splitting and joining keep every number. Only the scores and shares grow with "
        "T * T.",
        b, T);
    const Step steps[] = {
        {"x", "(b, T, 768)", {b, T, 768}},
        {"x c_attn", "(b, T, 2304)", {b, T, 2304}},
        {"q, and k and v: a third each", "(b, T, 768)", {b, T, 768}},
        {"q: seen as heads", "(b, T, 12, 64)", {b, T, 12, 64}},
        {"q: heads before words", "(b, 12, T, 64)", {b, 12, T, 64}},
        {"q k^T / sqrt(64)", "(b, 12, T, T)", {b, 12, T, T}},
        {"masked softmax", "(b, 12, T, T)", {b, 12, T, T}},
        {"shares v", "(b, 12, T, 64)", {b, 12, T, 64}},
        {"words before heads", "(b, T, 12, 64)", {b, T, 12, 64}},
        {"heads joined", "(b, T, 768)", {b, T, 768}},
        {"z c_proj", "(b, T, 768)", {b, T, 768}},
    };
    std::vector<Names> cells = {{"step", "shape", "here", "numbers"}};
    for (const Step& step : steps) {
        cells.push_back(
            {step.what, step.letters, text_of(step.shape), tools::grouped(size_of(step.shape))});
    }
    page.table(cells);
    page.claim(size_of(steps[1].shape) == 3 * size_of(steps[2].shape) &&
                   size_of(steps[2].shape) == size_of(steps[3].shape) &&
                   size_of(steps[3].shape) == size_of(steps[4].shape) &&
                   size_of(steps[7].shape) == size_of(steps[8].shape) &&
                   size_of(steps[8].shape) == size_of(steps[9].shape),
               "splitting and joining keep the count of numbers");
    page.claim(steps[10].shape == steps[0].shape,
               "the result has the shape of x, so the next layer can follow");
}

}  // namespace

void heads(Page& page) {
    page.title("heads", "4  Heads: many small attentions, one product");
    show_split(page);
    show_two_heads(page);
    compare_ways(page);
    show_shapes(page);
}

}  // namespace minigpt::lesson
