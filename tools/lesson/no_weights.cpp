// Lesson 1: attention without a single weight.
#include <cfloat>
#include <cmath>

#include "lesson/heat_map.h"
#include "lesson/lesson.h"
#include "lesson/words.h"

namespace minigpt::lesson {
namespace {

// exp(s) / sum of exp(s) over a row, in float64.
std::vector<double> softmax64(const Matrix& scores) {
    std::vector<double> probs = doubles(scores.x);
    for (size_t i = 0; i < scores.n_rows; i++) {
        double* row = &probs[i * scores.n_cols];
        double sum = 0;
        for (size_t j = 0; j < scores.n_cols; j++)
            sum += row[j] = std::exp(row[j]);
        for (size_t j = 0; j < scores.n_cols; j++)
            row[j] /= sum;
    }
    return probs;
}

std::vector<double> product64(const Matrix& a, const Matrix& b) {
    std::vector<double> c(a.n_rows * b.n_cols);
    for (size_t i = 0; i < a.n_rows; i++) {
        for (size_t j = 0; j < b.n_cols; j++) {
            for (size_t k = 0; k < a.n_cols; k++)
                c[i * b.n_cols + j] += static_cast<double>(a.at(i, k)) * b.at(k, j);
        }
    }
    return c;
}

// One row of the softmax, step by step.
void show_row(Page& page, const Matrix& scores, const Matrix& shares, size_t i) {
    std::vector<float> row(scores.row(i), scores.row(i) + scores.n_cols);
    std::vector<float> powers = page.math.exp(row);
    double sum = 0;
    for (float each : powers)
        sum += static_cast<double>(each);
    std::vector<Names> cells = {{kWords[i]}, {"score"}, {"exp(score)"}, {"share"}};
    for (size_t j = 0; j < row.size(); j++) {
        cells[0].push_back(kWords[j]);
        cells[1].push_back(number(static_cast<double>(row[j]), 0));
        cells[2].push_back(number(static_cast<double>(powers[j])));
        cells[3].push_back(number(static_cast<double>(shares.at(i, j))));
    }
    cells[0].push_back("|    sum");
    cells[1].push_back("|       ");
    cells[2].push_back("| " + number(sum));
    cells[3].push_back("|  " + number(row_sums(shares)[i]));
    page.table(cells);
}

}  // namespace

void no_weights(Page& page) {
    const size_t sat = 2, first_the = 0, second_the = 4;
    page.title("no-weights", "1  No weights: a word is a mixture of the words around it");
    page.say(
        "Attention gives each word something of the other words. Nothing has to be learned for "
        "that: dot products, a softmax and a weighted sum are enough. The text is `the cat sat on "
        "the mat`, T = 6 words. Each word is a vector, a row of n_embd = 4 numbers. They are made "
        "up, so that you can follow them: is the word alive, is it flat, is it an act, is it one "
        "of "
        "the small words that grammar needs? A shape such as (T, n_embd) names the rows first, "
        "then "
        "the columns. A line that begins with `ok:` is a claim; the lesson checks it as it runs.");
    Matrix x = word_vectors();
    page.matrix("x", "(T, n_embd)", x, kWords, kFeatures);

    page.say(
        "How much do two words have to do with each other? Multiply their numbers pair by pair and "
        "add up. This dot product is their score. For `sat` and `cat` it is 1*2 + 1*0 + 1*0 + 0*0 "
        "= 2. One matrix product computes all pairs: x times x^T. (x^T is x transposed: its rows "
        "become columns.)");
    Matrix scores = page.math.product(x, x, Operand::transposed);
    page.matrix("scores = x x^T", "(T, T)", scores, kWords, kWords);
    page.claim_near("each score is the dot product of two rows", doubles(scores.x),
                    product64(x, transposed(x)), 0);
    page.claim_equal("it is symmetric: `cat` matters to `sat` as `sat` to `cat`", scores,
                     transposed(scores));

    page.say(
        "A softmax turns a row of scores into shares: it takes exp of each score and divides by "
        "their sum. No share is negative. A score that is larger by 1 gets 2.718 times the share. "
        "The row of `sat`:");
    Matrix shares = page.math.softmax(scores, Math::kAllKeys);
    show_row(page, scores, shares, sat);
    page.say("The same for every row:");
    page.matrix("shares = softmax(scores)", "(T, T)", shares, kWords, kWords, Page::Sums::shown);
    page.claim_near("the shares of each row sum to 1", row_sums(shares), std::vector<double>(6, 1),
                    6 * FLT_EPSILON);
    page.claim_near("they are exp(score) / sum of exp(score), recomputed in float64",
                    doubles(shares.x), softmax64(scores), 4 * FLT_EPSILON);

    page.say(
        "Now the words are mixed. The new `sat` is %.3f of `cat`, %.3f of `sat`, %.3f of `on`, "
        "%.3f of `mat` and "
        "%.3f of each `the`. One matrix product does this for all rows.",
        static_cast<double>(shares.at(sat, 1)), static_cast<double>(shares.at(sat, 2)),
        static_cast<double>(shares.at(sat, 3)), static_cast<double>(shares.at(sat, 5)),
        static_cast<double>(shares.at(sat, 0)));
    Matrix mixed = page.math.product(shares, x);
    page.matrix("y = shares x", "(T, n_embd)", mixed, kWords, kFeatures);
    page.claim_near("each row is the weighted sum of all rows of x, recomputed in float64",
                    doubles(mixed.x), product64(shares, x), 1e-6);

    page.say(
        "That is attention. Two things are missing. First, each word looks mostly at words like "
        "itself, `cat` at `cat`. The next lesson, qkv, changes that. Second, order: the two `the` "
        "stand in different places and still get the same row. So GPT-2 adds two vectors for each "
        "token (a word or a piece of one). One comes from the table wte and says which token it "
        "is. The other comes from the table wpe and says where it stands.");
    page.claim_equal("without positions both `the` get the same numbers, to the bit",
                     row_of(mixed, first_the), row_of(mixed, second_the));
    if (page.has_pictures()) {
        page.picture(
            "no-weights.svg",
            heat_maps("Attention without weights: shares of each row",
                      {{"softmax(x x^T), (T, T)", shares, kWords, kWords, false, true}}, 1, 48));
    }
}

}  // namespace minigpt::lesson
