#include "lesson/words.h"

namespace minigpt::lesson {

const Names kWords = {"the", "cat", "sat", "on", "the", "mat"};
const Names kFeatures = {"alive", "flat", "act", "small"};
const Names kChannels = {"alive", "flat"};

Matrix word_vectors() {
    return Matrix(6, 4,
                  {
                      0, 0, 0, 1,  // the
                      2, 0, 0, 0,  // cat
                      1, 1, 1, 0,  // sat: something alive, on something flat
                      0, 1, 0, 1,  // on
                      0, 0, 0, 1,  // the
                      0, 2, 0, 0,  // mat
                  });
}

// What a word looks for. An act looks for someone alive, and a little for something flat.
Matrix query_weights() {
    return Matrix(4, 2,
                  {
                      0, 0,   // alive
                      -1, 1,  // flat
                      3, 0,   // act
                      1, 1,   // small
                  });
}

// What a word offers: a thing itself, an act nothing.
Matrix key_weights() {
    return Matrix(4, 2,
                  {
                      1, 0,    // alive
                      0, 1,    // flat
                      -1, -1,  // act
                      0, 0,    // small
                  });
}

// What a word hands on where it is looked at.
Matrix value_weights() {
    return Matrix(4, 2,
                  {
                      1, 0,  // alive
                      0, 1,  // flat
                      0, 0,  // act
                      0, 0,  // small
                  });
}

Projected project(Math& math, const Matrix& x) {
    Projected p;
    p.q = math.product(x, query_weights());
    p.k = math.product(x, key_weights());
    p.v = math.product(x, value_weights());
    p.scores = scaled(math.product(p.q, p.k, Operand::transposed), attention_scale(p.q.n_cols));
    return p;
}

}  // namespace minigpt::lesson
