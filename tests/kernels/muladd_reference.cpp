// The row kernels as the plainest loops that multiply and add: what a table that is not exact has
// to give. One number at a time, so that widths, masks and edges of the table's own are in none.
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "kernels/tables.h"
#include "tests/kernels/support.h"

namespace minigpt {
namespace {

#define MINIGPT_TARGET

#include "kernels/generic/vector_scalar.inc"

inline V fma(V a, V b, V c) {
    return a * b + c;
}

#include "kernels/generic/row_kernels.inc"

KernelTable make_reference() {
    KernelTable t = test::scalar();
    t.name = "multiply and add";
    t.exact = false;
    t.add = add_row;
    t.layernorm = layernorm_row;
    t.softmax = softmax_row;
    t.maximum = maximum_row;
    t.sum_exp = sum_exp_row;
    t.gelu_tanh = map<gelu_tanh_one>;
    t.gelu_erf = map<gelu_erf_one>;
    t.exp = map<exp_full>;
    t.log = map<log_full>;
    t.tanh = map<tanh_full>;
    t.erf = map<erf_full>;
    return t;
}

}  // namespace
}  // namespace minigpt

const minigpt::KernelTable& test::row_reference(const minigpt::KernelTable& table) {
    static const minigpt::KernelTable kUnfused = minigpt::make_reference();
    return table.exact ? scalar() : kUnfused;
}
