// Lesson 3: the mask belongs before the softmax.
#include <cfloat>
#include <cmath>
#include <limits>

#include "lesson/heat_map.h"
#include "lesson/lesson.h"
#include "lesson/words.h"

namespace minigpt::lesson {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Matrix with_above_diagonal(Matrix a, float value) {
    for (size_t i = 0; i < a.n_rows; i++) {
        for (size_t j = i + 1; j < a.n_cols; j++)
            a.at(i, j) = value;
    }
    return a;
}

Matrix renormalised(Matrix a) {
    for (size_t i = 0; i < a.n_rows; i++) {
        float sum = 0;
        for (size_t j = 0; j < a.n_cols; j++)
            sum += a.at(i, j);
        for (size_t j = 0; j < a.n_cols; j++)
            a.at(i, j) /= sum;
    }
    return a;
}

Matrix first_rows(const Matrix& a, size_t n_rows) {
    return Matrix(n_rows, a.n_cols, std::vector<float>(a.row(0), a.row(n_rows)));
}

Matrix mask_first(Page& page, const Projected& p) {
    page.say(
        "A model that learns to predict the next word must not see it. Above the diagonal the key "
        "is later than the query. Those scores become minus infinity, before the softmax. exp of "
        "minus infinity is 0, so a row gives all its shares to the words that it may see.");
    Matrix masked = with_above_diagonal(p.scores, -kInfinity);
    page.matrix("scores, masked", "(T, T)", masked, kWords, kWords);
    Matrix shares = page.math.softmax(masked, Math::kAllKeys);
    page.matrix("shares = softmax(scores)", "(T, T)", shares, kWords, kWords, Page::Sums::shown);
    page.claim_equal("above the diagonal the shares are exactly 0", with_above_diagonal(shares, 0),
                     shares);
    page.claim_near("the shares of each row sum to 1", row_sums(shares), std::vector<double>(6, 1),
                    6 * FLT_EPSILON);
    page.claim_equal("masked_softmax of the library, which masks itself, gives the same to the bit",
                     page.math.softmax(p.scores, 0), shares);
    Matrix probs;
    Matrix out = page.math.attention(p.q, p.k, p.v, 1, attention_scale(p.q.n_cols), &probs);
    page.claim_equal(
        "attention of the library, which the model runs, has the same shares to the bit", probs,
        shares);
    page.claim_equal("its output is shares times v", out, page.math.product(shares, p.v));
    return shares;
}

Matrix zero_afterwards(Page& page, const Projected& p, const Matrix& right) {
    page.say(
        "The mistake is to take the softmax of all scores and to set zeros afterwards. The zeros "
        "are in the right place, but the later words already took their shares: what is left of a "
        "row does not sum to 1.");
    Matrix all = page.math.softmax(p.scores, Math::kAllKeys);
    page.matrix("softmax of all scores", "(T, T)", all, kWords, kWords, Page::Sums::shown);
    Matrix zeroed = with_above_diagonal(all, 0);
    page.matrix("zeros set afterwards", "(T, T)", zeroed, kWords, kWords, Page::Sums::shown);
    std::vector<double> sums = row_sums(zeroed);
    bool all_short = true;
    for (size_t i = 0; i + 1 < sums.size(); i++)
        all_short = all_short && sums[i] < 0.99;
    page.claim(all_short, "every row but the last sums to less than 1, the first to %.3f", sums[0]);

    page.say(
        "If each row is then divided by its sum, the first result comes back. Every share was "
        "divided by a sum over all words. That sum cancels, and the sum over the words that may be "
        "seen takes its place.");
    Matrix again = renormalised(zeroed);
    page.matrix("zeros set, rows divided by their sum", "(T, T)", again, kWords, kWords,
                Page::Sums::shown);
    page.claim_near("this is the masked softmax, apart from rounding", doubles(again.x),
                    doubles(right.x), 4 * FLT_EPSILON);
    if (page.has_pictures()) {
        page.picture(
            "mask.svg",
            heat_maps("The mask: before the softmax, and zeros after it",
                      {{"masked before", right, kWords, kWords, true, true},
                       {"zeros set after", zeroed, kWords, kWords, true, true},
                       {"zeros, rows divided by their sum", again, kWords, kWords, true, true}},
                      3, 44));
    }
    return zeroed;
}

// What rows 0 ... 4 know of the last word.
void show_leak(Page& page, const Matrix& right, const Matrix& zeroed) {
    const size_t last = 5, on = 3;
    page.say(
        "Without that division the future leaks in, through the sum over all words. Replace the "
        "last word, `mat`, by `dog`, with the numbers of `cat`. Nothing that `on` may see has "
        "changed:");
    Matrix x = word_vectors();
    const float dog[] = {2, 0, 0, 0};
    std::copy(dog, dog + 4, x.row(last));
    Projected p = project(page.math, x);
    Matrix right_now = page.math.softmax(p.scores, 0);
    Matrix zeroed_now = with_above_diagonal(page.math.softmax(p.scores, Math::kAllKeys), 0);
    page.matrix("the row of `on`", "(4, T)",
                stacked({row_of(right, on), row_of(right_now, on), row_of(zeroed, on),
                         row_of(zeroed_now, on)}),
                {"masked, ... mat", "masked, ... dog", "zeroed, ... mat", "zeroed, ... dog"},
                {"the", "cat", "sat", "on", "the", "last"}, Page::Sums::shown);
    page.claim_equal("masked, no row before the last changes by a bit", first_rows(right_now, last),
                     first_rows(right, last));
    page.claim(std::fabs(zeroed_now.at(on, on) - zeroed.at(on, on)) > 0.1f,
               "zeroed afterwards, the share that `on` gives itself goes from %.3f to %.3f",
               static_cast<double>(zeroed.at(on, on)), static_cast<double>(zeroed_now.at(on, on)));
}

void show_underflow(Page& page) {
    page.say(
        "The division has a limit, too. A later word whose score is 120 above the others leaves "
        "them a share so small that as a float it is 0. Then the division is 0 / 0, which is no "
        "share.");
    Matrix scores(2, 2, {1, 121, 1, 2});
    Matrix zeroed = with_above_diagonal(page.math.softmax(scores, Math::kAllKeys), 0);
    Matrix right = page.math.softmax(scores, 0);
    page.matrix("the first row", "",
                Matrix(3, 2, {1, 121, right.at(0, 0), right.at(0, 1), zeroed.at(0, 0), 0}),
                {"scores", "masked", "zeroed"}, {"now", "later"});
    page.claim(
        right.at(0, 0) == 1 && zeroed.at(0, 0) == 0,
        "masked before, the only word that may be seen has a share of 1; zeroed after, of 0");
}

}  // namespace

void mask(Page& page) {
    page.title("mask", "3  The mask: before the softmax, not after");
    page.say(
        "These are the scores of the last lesson, q k^T / sqrt(head_dim). A row is the word that "
        "looks, a column the word that is looked at.");
    Projected p = project(page.math, word_vectors());
    page.matrix("scores", "(T, T)", p.scores, kWords, kWords);
    Matrix right = mask_first(page, p);
    Matrix zeroed = zero_afterwards(page, p, right);
    show_leak(page, right, zeroed);
    show_underflow(page);
}

}  // namespace minigpt::lesson
