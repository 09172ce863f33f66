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
    t.bit_exact = false;
    set_row_kernels(&t);
    return t;
}

}  // namespace
}  // namespace minigpt

const minigpt::KernelTable& test::row_reference(const minigpt::KernelTable& table) {
    static const minigpt::KernelTable kUnfused = minigpt::make_reference();
    return table.bit_exact ? scalar() : kUnfused;
}
