// Lesson 2: query, key, value, and why the scores are divided by sqrt(head_dim).
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/error.h"
#include "common/plot.h"
#include "common/text.h"
#include "lesson/heat_map.h"
#include "lesson/lesson.h"
#include "lesson/words.h"

namespace minigpt::lesson {
namespace {

double deviation(const Matrix& a) {
    double sum = 0, squares = 0, n = static_cast<double>(a.x.size());
    for (float each : a.x) {
        sum += static_cast<double>(each);
        squares += static_cast<double>(each) * each;
    }
    return std::sqrt(squares / n - sum / n * (sum / n));
}

// The mean over rows of the largest share, and the mean of p (1 - p): how far a share moves for a
// small change of its score.
struct Sharpness {
    double largest = 0, slope = 0;
};

Sharpness sharpness(const Matrix& shares) {
    Sharpness s;
    for (size_t i = 0; i < shares.n_rows; i++) {
        const float* row = shares.row(i);
        s.largest += static_cast<double>(*std::max_element(row, row + shares.n_cols));
        for (size_t j = 0; j < shares.n_cols; j++)
            s.slope += static_cast<double>(row[j]) * (1 - static_cast<double>(row[j]));
    }
    s.largest /= static_cast<double>(shares.n_rows);
    s.slope /= static_cast<double>(shares.x.size());
    return s;
}

void project_words(Page& page) {
    Matrix x = word_vectors();
    page.matrix("x", "(T, n_embd)", x, kWords, kFeatures);
    page.matrix("W_q", "(n_embd, head_dim)", query_weights(), kFeatures, kChannels);
    page.matrix("W_k", "(n_embd, head_dim)", key_weights(), kFeatures, kChannels);
    page.matrix("W_v", "(n_embd, head_dim)", value_weights(), kFeatures, kChannels);

    page.say("Each word's query, key and value are products with these: q = x W_q and so on.");
    Projected p = project(page.math, x);
    page.matrix("q", "(T, head_dim)", p.q, kWords, kChannels);
    page.matrix("k", "(T, head_dim)", p.k, kWords, kChannels);
    page.matrix("v", "(T, head_dim)", p.v, kWords, kChannels);

    page.say(
        "A score is now the dot product of two different things: the query of the word that looks "
        "and the key of the word looked at. `sat` looks for (2, 1) and `cat` offers (2, 0): 2*2 + "
        "1*0 = 4. Then it is divided by sqrt(head_dim) = sqrt(2) = 1.414, which gives 2.828.");
    page.matrix("scores = q k^T / sqrt(head_dim)", "(T, T)", p.scores, kWords, kWords);
    Matrix shares = page.math.softmax(p.scores, Math::kAllKeys);
    page.matrix("shares = softmax(scores)", "(T, T)", shares, kWords, kWords, Page::Sums::shown);
    page.claim_near("the shares of each row sum to 1", row_sums(shares), std::vector<double>(6, 1),
                    6 * FLT_EPSILON);
    page.claim(shares.at(2, 1) > 0.5f, "`sat` looks mostly at `cat`, no longer at itself");
    page.claim(
        p.scores.at(3, 5) != p.scores.at(5, 3),
        "it is no longer symmetric: the score of `mat` for `on` is not that of `on` for `mat`");
    page.say(
        "The query of `cat` is (0, 0): it looks for nothing, so all words get the same share. The "
        "result for a word is a mixture of the values, no longer of the vectors themselves.");
    page.matrix("z = shares v", "(T, head_dim)", page.math.product(shares, p.v), kWords, kChannels);
    if (page.has_pictures()) {
        page.picture(
            "qkv.svg",
            heat_maps("Query, key, value: who looks at whom",
                      {{"softmax(q k^T / sqrt(head_dim))", shares, kWords, kWords, false, true}}, 1,
                      48));
    }
}

// How a checkpoint's c_attn becomes three matrices of another program.
void show_loading(Page& page) {
    page.say(
        "A GPT-2 checkpoint has no W_q, W_k and W_v. It has one matrix, c_attn, with the three "
        "side by side. This library multiplies by it as it is. A program with three linear layers "
        "cuts it in thirds and, in PyTorch, transposes each third: c_attn is (n_in, n_out), while "
        "a "
        "weight of torch.nn.Linear is (n_out, n_in). The steps, with the weights above:");
    Matrix x = word_vectors(), c_attn = beside({query_weights(), key_weights(), value_weights()});
    page.matrix("c_attn", "(n_embd, 3 head_dim)", c_attn, kFeatures,
                {"q", "q", "k", "k", "v", "v"});
    Matrix qkv = page.math.product(x, c_attn);
    const char* names[] = {"W_q", "W_k", "W_v"};
    std::vector<Matrix> by_thirds, by_linear;
    for (size_t i = 0; i < 3; i++) {
        Matrix third = columns(c_attn, 2 * i, 2), weight = transposed(third);
        page.matrix(
            tools::format("%s, columns %zu and %zu, transposed", names[i], 2 * i, 2 * i + 1),
            "(head_dim, n_embd)", weight, kChannels, kFeatures);
        by_thirds.push_back(page.math.product(x, third));
        by_linear.push_back(page.math.product(x, weight, Operand::transposed));
    }
    page.claim_equal("x times each third, side by side, is x c_attn", beside(by_thirds), qkv);
    page.claim_equal("and so is x times each transposed weight, transposed back: x weight^T",
                     beside(by_linear), qkv);

    page.say("The same steps in GPT-2 small, where n_embd = 768 and q, k, v have all heads:");
    page.table({{"", "weight", "bias"},
                {"c_attn, in the checkpoint", "(768, 2304)", "(2304)"},
                {"cut in thirds", "3 x (768, 768)", "3 x (768)"},
                {"each transposed", "3 x (768, 768)", "3 x (768)"}});
    page.claim(768 * 2304 + 2304 == 3 * (768 * 768 + 768),
               "no number is lost: 768 * 2304 + 2304 = 3 * (768 * 768 + 768)");
    page.say(
        "There a third is square, so a forgotten transposition changes no shape, and nothing "
        "stops the load. Only the results are wrong:");
    Matrix one(1, 2, {1, 1}), square(2, 2, {1, 2, 3, 4});
    Matrix right = page.math.product(one, square);
    Matrix wrong = page.math.product(one, transposed(square));
    page.matrix("W", "", square, {"", ""}, {"", ""});
    page.matrix("(1, 1) W, and (1, 1) W^T", "", stacked({right, wrong}), {"right", "wrong"},
                {"", ""});
    page.claim(
        right.at(0, 0) == 4 && right.at(0, 1) == 6 && wrong.at(0, 0) == 3 && wrong.at(0, 1) == 7,
        "the shapes are the same, the numbers are not: (1+3, 2+4) and (1+2, 3+4)");
}

// Queries and keys of variance 1, as a layer norm and a fresh projection would give.
Matrix random_scores(Math& math, size_t n, size_t head_dim, Random* random) {
    Matrix q = random_matrix(n, head_dim, 1, random), k = random_matrix(n, head_dim, 1, random);
    return math.product(q, k, Operand::transposed);
}

void show_division(Page& page) {
    Random random(1);
    Matrix scores = random_scores(page.math, 6, 64, &random);
    scores = Matrix(1, 6, std::vector<float>(scores.row(0), scores.row(0) + 6));
    Matrix divided = scaled(scores, attention_scale(64));
    Matrix rows(4, 6);
    const Matrix parts[] = {scores, page.math.softmax(scores, Math::kAllKeys), divided,
                            page.math.softmax(divided, Math::kAllKeys)};
    for (size_t i = 0; i < 4; i++)
        std::copy(parts[i].x.begin(), parts[i].x.end(), rows.row(i));
    page.matrix("one row", "(4, T)", rows, {"q . k", "its softmax", "q . k / 8", "its softmax"},
                {"key 0", "key 1", "key 2", "key 3", "key 4", "key 5"});
}

void measure_division(Page& page) {
    const size_t n = 64;
    std::vector<Names> cells = {{"head_dim", "sd of q.k", "largest share", "p(1-p)",
                                 "|  divided:", "sd", "largest share", "p(1-p)"}};
    std::vector<double> plain_sd, ones, shares[2];
    Names sizes;
    Random random(2);
    for (size_t head_dim : {4, 16, 64, 256}) {
        Matrix scores = random_scores(page.math, n, head_dim, &random);
        Matrix divided = scaled(scores, attention_scale(head_dim));
        Sharpness plain = sharpness(page.math.softmax(scores, Math::kAllKeys));
        Sharpness calm = sharpness(page.math.softmax(divided, Math::kAllKeys));
        double sd = deviation(scores), root = std::sqrt(static_cast<double>(head_dim));
        cells.push_back({std::to_string(head_dim), number(sd), number(plain.largest),
                         number(plain.slope, 4), "|", number(deviation(divided)),
                         number(calm.largest), number(calm.slope, 4)});
        sizes.push_back(std::to_string(head_dim));
        plain_sd.push_back(sd / root);
        ones.push_back(1);
        shares[0].push_back(plain.largest);
        shares[1].push_back(calm.largest);
    }
    page.table(cells);
    page.claim_near("the standard deviation of q . k is sqrt(head_dim), within a tenth", plain_sd,
                    ones, 0.1);
    page.claim(shares[0][0] < shares[0][1] && shares[0][1] < shares[0][2] &&
                   shares[0][2] < shares[0][3] && shares[0][3] > 0.8,
               "without the division one key takes more and more, in the end nearly all");
    page.claim(*std::max_element(shares[1].begin(), shares[1].end()) < 0.2,
               "with it the best key takes less than a fifth on average, at every head_dim");
    if (page.has_pictures()) {
        page.picture(
            "qkv-division.svg",
            tools::bar_plot({"What the softmax gives its best key of 64",
                             "head_dim",
                             "largest share in a row, mean of 64",
                             {{"q . k", shares[0]}, {"q . k / sqrt(head_dim)", shares[1]}}},
                            sizes));
    }
}

}  // namespace

void query_key_value(Page& page) {
    page.title("qkv", "2  Query, key, value: what a word looks for, offers and hands on");
    page.say(
        "Without weights a word finds words like itself. Three weight matrices separate the roles. "
        "Each turns the n_embd = 4 numbers of a word into head_dim = 2 new ones. The query says "
        "what a word looks for, the key what it offers, the value what it hands on. In a model, "
        "training finds the weights. These were written by hand: an act looks for someone alive, "
        "and a small word looks for a thing.");
    project_words(page);

    show_loading(page);
    page.say(
        "Why the division? A dot product of head_dim random numbers has a standard deviation of "
        "sqrt(head_dim), 8 for GPT-2's heads of 64. Scores that far apart leave nearly all to one "
        "key. Six keys with head_dim = 64, before the division and after it:");
    show_division(page);
    page.say(
        "Near 0 or 1 a share p hardly moves: when its score changes a little, p changes by p(1-p) "
        "times as much. Training works with these changes, so where they are near 0 it learns "
        "slowly. Now 64 random queries, each with a score for each of 64 random keys, without the "
        "division and with it. The columns: the standard deviation (sd) of all scores; the largest "
        "share of a row, averaged over the 64 rows; and p(1-p), averaged over all shares:");
    measure_division(page);
}

}  // namespace minigpt::lesson
