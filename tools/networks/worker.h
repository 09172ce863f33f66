// The threads of training, each with its own working memory.
#pragma once

#include <memory>
#include <vector>

#include "minigpt/compute.h"
#include "minigpt/ops.h"
#include "networks/memory.h"

namespace minigpt::networks {

// Asserts that an op succeeded: its caller has made sure that the sizes fit.
void must(const Status& status);

// The tools of one thread: a Compute with one thread, gemm's workspace, and scratch arrays.
class Worker {
public:
    // n_scratch: floats of each scratch array.
    Worker(const Compute& compute, size_t n_scratch);

    const Compute* compute() const { return &one_; }

    // Calls minigpt::gemm on this thread.
    void gemm(float* c, size_t ldc, const float* a, size_t lda, Operand op_a, const float* b,
              size_t ldb, Operand op_b, size_t m, size_t n, size_t k, bool accumulate);

    static constexpr size_t kPlaces = 4;
    float* scratch(size_t place) { return scratch_[place].data(); }
    size_t n_scratch() const { return scratch_[0].size(); }

private:
    Compute one_;
    Floats workspace_;
    Floats scratch_[kPlaces];
};

// A Compute's threads, each with its worker. The result does not depend on which one takes a unit.
class Team {
public:
    // compute must outlive the team. Throws bad_alloc.
    Team(const Compute& compute, size_t n_scratch);

    size_t n_threads() const { return compute_.n_threads(); }
    Worker& worker(size_t thread) { return *workers_[thread]; }

    // Calls f(unit, worker) for each of n units.
    template <typename F>
    void run(size_t n, F&& f) {
        struct Context {
            F* f;
            Team* team;
        } context = {&f, this};
        run_units(
            compute_, n,
            [](void* p, size_t unit, size_t thread) {
                Context& c = *static_cast<Context*>(p);
                (*c.f)(unit, c.team->worker(thread));
            },
            &context);
    }

private:
    const Compute& compute_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace minigpt::networks
