// Model::read_tensor: a tensor of the file as the row-major floats it was made of.
#include <cstring>

#include "base/fp_environment.h"
#include "minigpt/model.h"
#include "ops/check.h"
#include "ops/numbers.h"

namespace minigpt {
namespace {

Status find(const Model& model, const char* name, TensorInfo* found) {
    if (!model.is_open())
        return Status::error(Code::bad_argument, "the model is not open");
    MINIGPT_TRY(check_pointer("name", name));
    for (size_t i = 0; i < model.n_tensors(); i++) {
        *found = model.tensor(i);
        if (strcmp(found->spec.name, name) == 0)
            return Status();
    }
    return Status::error(Code::bad_argument, "%s: no tensor of this model", name);
}

// n rows of a matrix in panels. A table's rows are outputs, another matrix's are inputs.
template <typename Number>
void read_panels(Number* to, const TensorInfo& t, size_t first, size_t n) {
    PanelMatrix w = {t.data, t.type, t.spec.n_in(), t.spec.n_out()};
    for (size_t i = 0; i < n && t.spec.is_table; i++)
        read_output(to + i * w.n_in, 1, w, first + i, 0, w.n_in);
    for (size_t out = 0; out < w.n_out && !t.spec.is_table; out++)
        read_output(to + out, w.n_out, w, out, first, n);
}

void read_plain(float* to, const char* from, ElementType type, size_t n) {
    widen(to, 1, from, 1, type, n);
}

void read_plain(uint16_t* to, const char* from, ElementType, size_t n) {
    if (n != 0)
        memcpy(to, from, n * sizeof *to);
}

}  // namespace

template <typename Number>
Status Model::read_rows(const char* name, Number* to, size_t capacity, size_t first_row,
                        size_t n_rows) const {
    TensorInfo t;
    MINIGPT_TRY(find(*this, name, &t));
    if (sizeof(Number) == 2 && bytes_of(t.type) != 2) {
        return Status::error(Code::bad_argument, "%s: element type is %s; expected f16 or bf16",
                             name, name_of(t.type));
    }
    size_t rows = t.spec.shape[0], n_cols = t.spec.shape[1];
    size_t left = first_row < rows ? rows - first_row : 0;
    if (n_rows == kAllRows && first_row <= rows)
        n_rows = left;
    if (n_rows > left) {
        return Status::error(Code::bad_argument, "%s: %zu rows from %zu on; it has %zu", name,
                             n_rows, first_row, rows);
    }
    // A number takes half a byte of the file at least, and that fits half of all addresses.
    size_t n = n_rows * n_cols;
    MINIGPT_TRY(check_pointer("to", to, n));
    if (capacity < n) {
        return Status::error(Code::bad_argument, "%s: room for %zu numbers; it needs %zu", name,
                             capacity, n);
    }
    FpEnvironment environment;
    if (t.spec.layout == Layout::panels) {
        read_panels(to, t, first_row, n_rows);
    } else {
        const char* from = static_cast<const char*>(t.data);
        read_plain(to, from + first_row * n_cols * bytes_of(t.type), t.type, n);
    }
    return Status();
}

Status Model::read_tensor(const char* name, float* to, size_t capacity, size_t first_row,
                          size_t n_rows) const {
    return read_rows(name, to, capacity, first_row, n_rows);
}

Status Model::read_tensor(const char* name, uint16_t* to, size_t capacity, size_t first_row,
                          size_t n_rows) const {
    return read_rows(name, to, capacity, first_row, n_rows);
}

}  // namespace minigpt
