// The six words of the first lessons, with their vectors and weights: hand-made whole numbers.
#pragma once

#include "lesson/arrays.h"
#include "lesson/page.h"

namespace minigpt::lesson {

extern const Names kWords;     // [T]
extern const Names kFeatures;  // [n_embd]: the meaning of a word's numbers
extern const Names kChannels;  // [head_dim]

Matrix word_vectors();                  // x, [T, n_embd]
Matrix query_weights();                 // [n_embd, head_dim]
Matrix key_weights(), value_weights();  // the same

struct Projected {
    Matrix q, k, v;  // [T, head_dim]
    Matrix scores;   // q . k / sqrt(head_dim), [T, T]
};
Projected project(Math& math, const Matrix& x);

}  // namespace minigpt::lesson
