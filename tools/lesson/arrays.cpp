#include "lesson/arrays.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "common/error.h"

namespace minigpt::lesson {

using tools::require;

Workspace::~Workspace() {
    ::operator delete(data_, std::align_val_t(64));
}

void* Workspace::of(size_t n_bytes) {
    if (n_bytes > n_bytes_) {
        ::operator delete(data_, std::align_val_t(64));
        data_ = nullptr;
        n_bytes_ = 0;
        data_ = ::operator new(n_bytes, std::align_val_t(64));
        n_bytes_ = n_bytes;
    }
    return data_;
}

void Math::product(Matrix* c, const Matrix& a, const Matrix& b, Operand b_is) {
    size_t n_bytes = 0;
    require(gemm_workspace_bytes(a.n_rows, c->n_cols, a.n_cols, &n_bytes, &compute_), "gemm");
    require(gemm(c->x.data(), c->n_cols, a.x.data(), a.n_cols, Operand::plain, b.x.data(), b.n_cols,
                 b_is, a.n_rows, c->n_cols, a.n_cols, false, workspace_.of(n_bytes), n_bytes,
                 &compute_),
            "gemm");
}

Matrix Math::product(const Matrix& a, const Matrix& b, Operand b_is) {
    Matrix c(a.n_rows, b_is == Operand::plain ? b.n_cols : b.n_rows);
    product(&c, a, b, b_is);
    return c;
}

Matrix Math::softmax(const Matrix& scores, size_t n_past) {
    Matrix probs(scores.n_rows, scores.n_cols);
    require(masked_softmax(probs.x.data(), scores.x.data(), scores.n_rows, scores.n_cols,
                           scores.n_cols, n_past, &compute_),
            "masked_softmax");
    return probs;
}

Matrix Math::attention(const Matrix& q, const Matrix& k, const Matrix& v, size_t n_head,
                       float scale, Matrix* probs) {
    size_t n_bytes = 0, head_dim = q.n_cols / n_head;
    Matrix out(q.n_rows, q.n_cols);
    if (probs != nullptr)
        *probs = Matrix(n_head * q.n_rows, q.n_rows);
    require(attention_workspace_bytes(q.n_rows, 0, n_head, head_dim, &n_bytes, &compute_),
            "attention");
    require(minigpt::attention(out.x.data(), q.x.data(), k.x.data(), v.x.data(), q.n_rows, 0,
                               n_head, head_dim, scale, probs == nullptr ? nullptr : probs->row(0),
                               workspace_.of(n_bytes), n_bytes, &compute_),
            "attention");
    return out;
}

std::vector<float> Math::exp(const std::vector<float>& x) {
    std::vector<float> y(x.size());
    require(exp_each(y.data(), x.data(), x.size(), &compute_), "exp_each");
    return y;
}

Matrix scaled(Matrix a, float factor) {
    for (float& each : a.x)
        each *= factor;
    return a;
}

Matrix transposed(const Matrix& a) {
    Matrix t(a.n_cols, a.n_rows);
    for (size_t i = 0; i < a.n_rows; i++) {
        for (size_t j = 0; j < a.n_cols; j++)
            t.at(j, i) = a.at(i, j);
    }
    return t;
}

Matrix row_of(const Matrix& a, size_t i) {
    return Matrix(1, a.n_cols, std::vector<float>(a.row(i), a.row(i) + a.n_cols));
}

Matrix columns(const Matrix& a, size_t col, size_t n_cols) {
    Matrix part(a.n_rows, n_cols);
    for (size_t i = 0; i < a.n_rows; i++)
        std::copy(a.row(i) + col, a.row(i) + col + n_cols, part.row(i));
    return part;
}

Matrix beside(const std::vector<Matrix>& parts) {
    size_t n_cols = 0, col = 0;
    for (const Matrix& part : parts)
        n_cols += part.n_cols;
    Matrix all(parts[0].n_rows, n_cols);
    for (const Matrix& part : parts) {
        for (size_t i = 0; i < part.n_rows; i++)
            std::copy(part.row(i), part.row(i) + part.n_cols, all.row(i) + col);
        col += part.n_cols;
    }
    return all;
}

Matrix stacked(const std::vector<Matrix>& parts) {
    Matrix all(0, parts[0].n_cols);
    for (const Matrix& part : parts) {
        all.x.insert(all.x.end(), part.x.begin(), part.x.end());
        all.n_rows += part.n_rows;
    }
    return all;
}

Matrix random_matrix(size_t n_rows, size_t n_cols, float deviation, Random* random) {
    Matrix a(n_rows, n_cols);
    // A uniform number in [-1, 1) has a standard deviation of 1 / sqrt(3).
    for (float& each : a.x)
        each = static_cast<float>((2 * random->next_unit() - 1) * std::sqrt(3.0)) * deviation;
    return a;
}

std::vector<double> row_sums(const Matrix& a) {
    std::vector<double> sums(a.n_rows);
    for (size_t i = 0; i < a.n_rows; i++) {
        for (size_t j = 0; j < a.n_cols; j++)
            sums[i] += static_cast<double>(a.at(i, j));
    }
    return sums;
}

float attention_scale(size_t head_dim) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
}

}  // namespace minigpt::lesson
