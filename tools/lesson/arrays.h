// The library's ops for small matrices that own their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "minigpt/generate.h"
#include "minigpt/ops.h"

namespace minigpt::lesson {

// Row-major numbers, [n_rows, n_cols].
struct Matrix {
    Matrix() = default;
    Matrix(size_t rows, size_t cols) : n_rows(rows), n_cols(cols), x(rows * cols) {}
    Matrix(size_t rows, size_t cols, std::vector<float> values)
        : n_rows(rows), n_cols(cols), x(std::move(values)) {}

    float* row(size_t i) { return x.data() + i * n_cols; }
    const float* row(size_t i) const { return x.data() + i * n_cols; }
    float& at(size_t i, size_t j) { return x[i * n_cols + j]; }
    float at(size_t i, size_t j) const { return x[i * n_cols + j]; }

    size_t n_rows = 0, n_cols = 0;
    std::vector<float> x;
};

// 64-byte aligned memory for ops, as large as the largest request so far.
class Workspace {
public:
    ~Workspace();
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    void* of(size_t n_bytes);

private:
    void* data_ = nullptr;
    size_t n_bytes_ = 0;
};

// The ops that the lessons use. Each throws tools::Error if the op returns an error.
class Math {
public:
    explicit Math(const Compute& compute) : compute_(compute) {}
    const Compute& compute() const { return compute_; }

    // c = a b, a [m, k]; b [k, n], or [n, k] if transposed. The second writes into rows of c.
    Matrix product(const Matrix& a, const Matrix& b, Operand b_is = Operand::plain);
    void product(Matrix* c, const Matrix& a, const Matrix& b, Operand b_is = Operand::plain);

    // Row i is a softmax over keys j <= n_past + i; with kAllKeys no key is masked.
    Matrix softmax(const Matrix& scores, size_t n_past);
    static constexpr size_t kAllKeys = size_t{1} << 20;

    // out, q, k, v [T, n_head * head_dim]; probs [n_head * T, T], may be nullptr.
    Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, size_t n_head, float scale,
                     Matrix* probs);

    std::vector<float> exp(const std::vector<float>& x);

private:
    const Compute& compute_;
    Workspace workspace_;
};

Matrix scaled(Matrix a, float factor);
Matrix transposed(const Matrix& a);
Matrix row_of(const Matrix& a, size_t i);
// Columns col ... col + n_cols - 1.
Matrix columns(const Matrix& a, size_t col, size_t n_cols);
// Joins matrices side by side (equal numbers of rows), or one below the other (equal columns).
Matrix beside(const std::vector<Matrix>& parts);
Matrix stacked(const std::vector<Matrix>& parts);

// Uniform random numbers with mean 0 and this standard deviation.
Matrix random_matrix(size_t n_rows, size_t n_cols, float deviation, Random* random);

// Row sums in float64, [n_rows].
std::vector<double> row_sums(const Matrix& a);

// float(1 / sqrt(head_dim)).
float attention_scale(size_t head_dim);

}  // namespace minigpt::lesson
