#include "networks/worker.h"

#include <cassert>

namespace minigpt::networks {
namespace {

// gemm's workspace is at most 7 MB for any sizes, see ops.h.
constexpr size_t kGemmFloats = (size_t{7} << 20) / sizeof(float);

}  // namespace

void must(const Status& status) {
    assert(status.ok());
    (void)status;
}

Worker::Worker(const Compute& compute, size_t n_scratch) : workspace_(kGemmFloats) {
    must(one_.create(1, compute.isa()));
    for (Floats& scratch : scratch_)
        scratch.resize(n_scratch);
}

void Worker::gemm(float* c, size_t ldc, const float* a, size_t lda, Operand op_a, const float* b,
                  size_t ldb, Operand op_b, size_t m, size_t n, size_t k, bool accumulate) {
    must(minigpt::gemm(c, ldc, a, lda, op_a, b, ldb, op_b, m, n, k, accumulate, workspace_.data(),
                       kGemmFloats * sizeof(float), &one_));
}

Team::Team(const Compute& compute, size_t n_scratch) : compute_(compute) {
    for (size_t i = 0; i < compute.n_threads(); ++i)
        workers_.emplace_back(new Worker(compute, n_scratch));
}

}  // namespace minigpt::networks
