#include "ops/compute.h"

#include <cstring>

#include "base/fp_environment.h"
#include "ops/check.h"

namespace minigpt {
namespace {

Status unknown_isa(const char* isa) {
    char known[80] = "";
    for (size_t i = 0; isa_name(i, nullptr) != nullptr; ++i)
        add_name(known, isa_name(i, nullptr));
    return Status::error(Code::bad_argument, "isa %s: unknown; this build has %s", isa, known);
}

}  // namespace

Compute::Compute() : kernels_(&best_kernels()), pool_(nullptr) {}

Compute::~Compute() {
    if (owns_pool_)
        ThreadPool::destroy(pool_);
}

void ComputeParts::share(Compute& compute, const Compute& other) {
    if (&other != &compute) {
        if (compute.owns_pool_)
            ThreadPool::destroy(compute.pool_);
        compute.pool_ = other.pool_;
        compute.owns_pool_ = false;
        compute.kernels_ = other.kernels_;
    }
    for (size_t i = 0; !compute.kernels_->keeps_subnormals; ++i) {
        KernelChoice choice = kernel_choice(i);
        if (choice.present && choice.table->keeps_subnormals &&
            choice.table->bit_exact == compute.kernels_->bit_exact)
            compute.kernels_ = choice.table;
    }
}

Status Compute::create(size_t n_threads, const char* isa) {
    if (n_threads > kMaxThreads) {
        return Status::error(Code::bad_argument, "n_threads: found %zu, expected at most %zu",
                             n_threads, kMaxThreads);
    }
    if (n_threads == 0)
        n_threads = physical_cores();
    if (n_threads > kMaxThreads)
        n_threads = kMaxThreads;
    const KernelTable* table = &best_kernels();
    if (isa != nullptr) {
        table = nullptr;
        for (size_t i = 0; kernel_choice(i).name != nullptr; ++i) {
            KernelChoice choice = kernel_choice(i);
            if (strcmp(choice.name, isa) != 0)
                continue;
            if (!choice.present) {
                return Status::error(Code::not_supported, "isa %s: this CPU has no such kernels",
                                     isa);
            }
            table = choice.table;
        }
        if (table == nullptr) {
            return unknown_isa(isa);
        }
    }
    ThreadPool* pool = nullptr;
    if (n_threads > 1)
        MINIGPT_TRY(ThreadPool::create(n_threads, &pool));
    if (owns_pool_)
        ThreadPool::destroy(pool_);
    pool_ = pool;
    owns_pool_ = true;
    kernels_ = table;
    return Status();
}

size_t Compute::n_threads() const {
    return pool_ == nullptr ? 1 : pool_->n_threads();
}

const char* Compute::isa() const {
    return kernels_->name;
}

bool Compute::bit_exact() const {
    return kernels_->bit_exact;
}

bool Compute::keeps_subnormals() const {
    return kernels_->keeps_subnormals;
}

const char* isa_name(size_t index, bool* present) {
    KernelChoice choice = kernel_choice(index);
    if (present != nullptr)
        *present = choice.present;
    return choice.name;
}

const char* bit_exact_isa() {
    size_t i = 0;
    while (!kernel_choice(i).present || !kernel_choice(i).table->bit_exact)
        ++i;  // scalar, the last, is both
    return kernel_choice(i).name;
}

void run_units(const Compute& compute, size_t n_units, UnitTask task, void* context) {
    if (task == nullptr)
        return;
    FpEnvironment guard;
    for_each_unit(pool_of(compute), n_units,
                  [&](size_t unit, size_t thread) { task(context, unit, thread); });
}

}  // namespace minigpt
