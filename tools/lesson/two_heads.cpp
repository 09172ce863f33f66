#include "lesson/two_heads.h"

#include <cmath>

#include "lesson/words.h"

namespace minigpt::lesson {
namespace {

constexpr size_t kHeads = 2, kHeadDim = 2, kEmbd = kHeads * kHeadDim, kSat = 3;
const Names kFour = {"on", "mat", "cat", "sat"};

// What one head computes, step by step.
struct Head {
    Matrix q, k, v;  // [T, head_dim]
    Matrix dots;     // q k^T, [T, T]
    Matrix shares;   // softmax(dots / sqrt(head_dim)), masked, [T, T]
    Matrix z;        // shares v, [T, head_dim]
};

Head head_of(Math& math, const Matrix& q, const Matrix& k, const Matrix& v) {
    Head head{q, k, v, math.product(q, k, Operand::transposed), {}, {}};
    head.shares = math.softmax(scaled(head.dots, attention_scale(q.n_cols)), 0);
    head.z = math.product(head.shares, v);
    return head;
}

Matrix four_words() {
    Matrix all = word_vectors();
    return stacked({row_of(all, 3), row_of(all, 5), row_of(all, 1), row_of(all, 2)});
}

// W_q, W_k, W_v of both heads. Head 0 has those of lesson 2; head 1 looks for a place: an act or a
// small word looks for something flat.
std::vector<Matrix> modules(size_t head) {
    if (head == 0)
        return {query_weights(), key_weights(), value_weights()};
    return {Matrix(4, 2, {0, 0, 0, 0, 0, 3, 0, 2}), Matrix(4, 2, {1, 0, 0, 1, 0, -1, 0, -1}),
            Matrix(4, 2, {0, 0, 1, 0, 0, 1, 0, 0})};
}

void show_head(Page& page, size_t i, const Head& head) {
    std::string name = "head " + std::to_string(i) + ": ";
    page.matrix(name + "q k^T", "(T, T)", head.dots, kFour, kFour);
    page.matrix(name + "shares = masked softmax(q k^T / sqrt(head_dim))", "(T, T)", head.shares,
                kFour, kFour, Page::Sums::shown);
    page.matrix(name + "z = shares v", "(T, head_dim)", head.z, kFour, Names(kHeadDim));
}

// In the row of `sat`, one softmax over the scores of both heads.
void show_joint_softmax(Page& page, const Head* heads) {
    auto both_scores = [&](float factor) {  // of head 1's query
        return scaled(
            beside({row_of(heads[0].dots, kSat), scaled(row_of(heads[1].dots, kSat), factor)}),
            attention_scale(kHeadDim));
    };
    auto each_apart = [&](const Matrix& scores) {
        return beside({page.math.softmax(columns(scores, 0, 4), Math::kAllKeys),
                       page.math.softmax(columns(scores, 4, 4), Math::kAllKeys)});
    };
    Matrix before = both_scores(1), after = both_scores(2);
    Matrix apart[2] = {each_apart(before), each_apart(after)};
    Matrix joint[2] = {page.math.softmax(before, Math::kAllKeys),
                       page.math.softmax(after, Math::kAllKeys)};
    page.say(
        "What makes the two heads independent? Not the product, which mixes all of x. It is the "
        "softmax: each head takes its own. Suppose that one softmax went over the scores of both "
        "heads. Here is the row of `sat` both ways, and once more after a change in head 1 alone: "
        "its query of `sat` is doubled.");
    page.matrix("the row of `sat`", "(4, n_head * T)",
                stacked({apart[0], apart[1], joint[0], joint[1]}),
                {"a softmax per head", "the same, q of head 1 doubled", "one softmax for both",
                 "the same, q of head 1 doubled"},
                {"0: on", "0: mat", "0: cat", "0: sat", "1: on", "1: mat", "1: cat", "1: sat"});
    page.claim_equal("a softmax per head: the change in head 1 leaves head 0 as it was, to the bit",
                     columns(apart[1], 0, 4), columns(apart[0], 0, 4));
    double sums[2] = {row_sums(columns(joint[0], 0, 4))[0], row_sums(columns(joint[1], 0, 4))[0]};
    page.claim(sums[0] < 0.3 && sums[1] < 0.05,
               "one softmax for both: head 0 has only %.3f of the shares, after the change %.3f",
               sums[0], sums[1]);
}

// One head as wide as both.
void show_double_width(Page& page, const Head* heads, const Matrix& qkv) {
    Head wide = head_of(page.math, columns(qkv, 0, kEmbd), columns(qkv, kEmbd, kEmbd),
                        columns(qkv, 2 * kEmbd, kEmbd));
    page.say(
        "Or suppose that the split is left out. Then there is one head of double width. Its dot "
        "products run over all four numbers of q and k, so each is the sum of the two heads' dot "
        "products. There is one row of shares for all four numbers of v. The row of `sat`:");
    page.matrix("q . k", "(3, T)",
                stacked({row_of(heads[0].dots, kSat), row_of(heads[1].dots, kSat),
                         row_of(wide.dots, kSat)}),
                {"head 0", "head 1", "one of double width"}, kFour);
    page.matrix("shares", "(3, T)",
                stacked({row_of(heads[0].shares, kSat), row_of(heads[1].shares, kSat),
                         row_of(wide.shares, kSat)}),
                {"head 0", "head 1", "one of double width"}, kFour, Page::Sums::shown);
    Matrix joined = beside({heads[0].z, heads[1].z});
    page.matrix("z", "(2, n_embd)", stacked({row_of(joined, kSat), row_of(wide.z, kSat)}),
                {"two heads", "one of double width"}, Names(kEmbd));
    Matrix sum = heads[0].dots;
    for (size_t i = 0; i < sum.x.size(); i++)
        sum.x[i] += heads[1].dots.x[i];
    page.claim_equal("its dot products are the sums of the two heads' dot products", wide.dots,
                     sum);
    page.claim(heads[0].shares.at(kSat, 2) > 0.6f && wide.shares.at(kSat, 2) < 0.2f,
               "head 0 gives `cat` %.3f, the wide head only %.3f: `mat` of head 1 wins there",
               static_cast<double>(heads[0].shares.at(kSat, 2)),
               static_cast<double>(wide.shares.at(kSat, 2)));
}

}  // namespace

void show_two_heads(Page& page) {
    page.say(
        "Two heads by hand, on four words with the numbers of lesson 1: `on mat cat sat`. T = 4, "
        "n_embd = 4, n_head = 2, head_dim = 2. Head 0 has the weights of lesson 2, where an act "
        "looks for someone alive. In head 1 an act and a small word look for something flat. Each "
        "head could have three small matrices of its own. Here the columns of all six stand side "
        "by side in one matrix, c_attn: first q of both heads, then k, then v.");
    Matrix x = four_words();
    std::vector<Matrix> parts, products;
    for (size_t kind = 0; kind < 3; kind++) {
        for (size_t h = 0; h < kHeads; h++) {
            parts.push_back(modules(h)[kind]);
            products.push_back(page.math.product(x, parts.back()));
        }
    }
    const Names cols = {"q0", "q0", "q1", "q1", "k0", "k0", "k1", "k1", "v0", "v0", "v1", "v1"};
    Matrix c_attn = beside(parts), qkv = page.math.product(x, c_attn);
    page.matrix("x", "(T, n_embd)", x, kFour, kFeatures);
    page.matrix("c_attn", "(n_embd, 3 n_embd)", c_attn, kFeatures, cols);
    page.say("One product gives all queries, keys and values at once:");
    page.matrix("x c_attn", "(T, 3 n_embd)", qkv, kFour, cols);
    page.claim_equal("its columns are the six products with the small matrices", qkv,
                     beside(products));
    page.say(
        "From here on each head works with its own columns. In head 0 `sat` has q = (2, 1) and "
        "`cat` has k = (2, 0), so the dot product is 2*2 + 1*0 = 4.");
    Head heads[kHeads];
    for (size_t h = 0; h < kHeads; h++) {
        heads[h] = head_of(page.math, products[h], products[2 + h], products[4 + h]);
        show_head(page, h, heads[h]);
    }
    page.say(
        "In head 0 `sat` takes most from `cat`, in head 1 from `mat`: who sat, and where. The "
        "results of both heads stand side by side again:");
    Matrix joined = beside({heads[0].z, heads[1].z});
    page.matrix("z", "(T, n_embd)", joined, kFour, {"z0", "z0", "z1", "z1"});
    page.claim_equal("attention of the library, given both heads at once, gives this to the bit",
                     page.math.attention(columns(qkv, 0, kEmbd), columns(qkv, kEmbd, kEmbd),
                                         columns(qkv, 2 * kEmbd, kEmbd), kHeads,
                                         attention_scale(kHeadDim), nullptr),
                     joined);
    show_joint_softmax(page, heads);
    show_double_width(page, heads, qkv);
}

}  // namespace minigpt::lesson
