#include "convert/formats/readers.h"

#include <algorithm>
#include <cstring>

#include "common/file.h"

namespace minigpt::convert {
namespace {

struct Found {
    size_t index = SIZE_MAX;
    bool transposed = false;

    bool is_there() const { return index != SIZE_MAX; }
};

// The tensor that has this name in our spelling.
Found find(const Checkpoint& checkpoint, const char* target) {
    for (size_t i = 0; i < checkpoint.tensors.size(); i++) {
        std::optional<Match> m = match(*checkpoint.dialect, checkpoint.tensors[i].name);
        if (m && m->target == target)
            return {i, m->rule->transposed};
    }
    return {};
}

}  // namespace

Status infer_sizes(Checkpoint* checkpoint) {
    SourceConfig& config = checkpoint->config;
    auto set = [&](std::optional<uint64_t>* size, const Found& found, size_t dim) {
        if (*size || !found.is_there())
            return;
        const std::vector<uint64_t>& shape = checkpoint->tensors[found.index].shape;
        if (shape.size() == 2)
            *size = shape[found.transposed ? 1 - dim : dim];
    };
    Found table = find(*checkpoint, "wte.weight");
    if (!table.is_there()) {
        const std::vector<SourceTensor>& tensors = checkpoint->tensors;
        std::string first = tensors.empty() ? "" : "; the first is " + shown(tensors[0].name);
        return Status::error(Code::bad_file, "no token table among its %zu tensor%s%s",
                             tensors.size(), plural(tensors.size()), first.c_str());
    }
    set(&config.n_rows, table, 0);
    set(&config.n_embd, table, 1);
    set(&config.n_ctx, find(*checkpoint, "wpe.weight"), 0);
    set(&config.n_ff, find(*checkpoint, "h.0.mlp.c_fc.weight"), 1);
    if (config.n_layer)
        return Status();
    uint64_t n_layer = 0;
    for (const SourceTensor& tensor : checkpoint->tensors) {
        std::optional<Match> m = match(*checkpoint->dialect, tensor.name);
        if (m && m->layer)
            n_layer = std::max(n_layer, *m->layer + 1);
    }
    config.n_layer = n_layer;
    return Status();
}

Status infer_tied(Checkpoint* checkpoint) {
    Found head = find(*checkpoint, "lm_head.weight"), table = find(*checkpoint, "wte.weight");
    if (checkpoint->config.tied || !head.is_there() || !table.is_there())
        return Status();
    const SourceTensor& a = checkpoint->tensors[head.index];
    const SourceTensor& b = checkpoint->tensors[table.index];
    bool same = a.type && b.type && a.dtype == b.dtype && a.shape == b.shape && a.shape.size() == 2;
    if (same)
        MINIGPT_TRY(same_numbers(checkpoint, head.index, table.index, &same));
    checkpoint->config.tied = same;
    return Status();
}

Status same_numbers(Checkpoint* checkpoint, size_t a, size_t b, bool* same) {
    Scratch memory[2];
    ArrayView arrays[2];
    MINIGPT_TRY(checkpoint->read(a, &memory[0], &arrays[0]));
    MINIGPT_TRY(checkpoint->read(b, &memory[1], &arrays[1]));
    const ArrayView &x = arrays[0], &y = arrays[1];
    *same = x.type == y.type && x.shape[0] == y.shape[0] && x.shape[1] == y.shape[1];
    size_t size = bytes_of(x.type);
    bool packed = x.col_stride == 1 && y.col_stride == 1;
    for (size_t i = 0; *same && i < x.shape[0]; i++) {
        const char* p = static_cast<const char*>(x.data) + i * x.row_stride * size;
        const char* q = static_cast<const char*>(y.data) + i * y.row_stride * size;
        if (packed) {
            *same = memcmp(p, q, x.shape[1] * size) == 0;
            continue;
        }
        for (size_t j = 0; *same && j < x.shape[1]; j++) {
            *same = memcmp(p + j * x.col_stride * size, q + j * y.col_stride * size, size) == 0;
        }
    }
    return Status();
}

}  // namespace minigpt::convert
