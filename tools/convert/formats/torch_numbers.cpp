#include "convert/formats/torch_numbers.h"

#include <algorithm>
#include <cstring>

#include "convert/codecs/crc.h"
#include "convert/codecs/zip.h"

namespace minigpt::convert {
namespace {

constexpr size_t kWindow = 64 << 10;
constexpr size_t kCheckWindow = 1 << 20;

// The tensor's strides for these dims; dimensions of 1 have none that matter.
ArrayView view_of(const TorchTensor& tensor, const std::vector<uint64_t>& dims) {
    ArrayView view;
    view.type = *torch_element_type(*tensor.storage.type);
    view.n_dims = dims.size();
    uint64_t strides[2] = {1, 1};
    // The dims are the last ones: what stands before them are dimensions of 1.
    size_t skipped = tensor.shape.size() - dims.size();
    for (size_t i = 0; i < dims.size(); i++) {
        view.shape[i] = static_cast<size_t>(dims[i]);
        strides[i] = dims[i] == 1 ? 1 : tensor.strides[skipped + i];
    }
    view.row_stride = static_cast<size_t>(strides[0]);
    view.col_stride = dims.size() == 2 ? static_cast<size_t>(strides[1]) : 1;
    return view;
}

bool is_packed(const ArrayView& view) {
    return view.col_stride == 1 && (view.shape[0] == 1 || view.row_stride == view.shape[1]);
}

// f64 to f32 in place.
void narrow(void* data, uint64_t n) {
    char* p = static_cast<char*>(data);
    for (uint64_t i = 0; i < n; i++) {
        double x;
        memcpy(&x, p + i * sizeof x, sizeof x);
        float y = static_cast<float>(x);
        memcpy(p + i * sizeof y, &y, sizeof y);
    }
}

}  // namespace

std::optional<ElementType> torch_element_type(const TorchType& type) {
    std::string dtype = type.dtype;
    if (dtype == "F32" || dtype == "F64")
        return ElementType::f32;
    if (dtype == "F16")
        return ElementType::f16;
    if (dtype == "BF16")
        return ElementType::bf16;
    return {};
}

bool same_place(const TorchSource& a, const TorchSource& b) {
    const TorchTensor &x = a.tensor, &y = b.tensor;
    return a.file == b.file && a.storage.offset == b.storage.offset &&
           x.storage.type == y.storage.type && x.offset == y.offset && x.shape == y.shape &&
           x.strides == y.strides;
}

size_t TorchReader::add_file(const std::string& path) {
    paths_.push_back(path);
    return paths_.size() - 1;
}

Status TorchReader::use(size_t file, const File** out) {
    *out = &file_;
    if (open_ == file)
        return Status();
    open_ = SIZE_MAX;
    MINIGPT_TRY(within(name_of_path(paths_[file]), file_.open(paths_[file])));
    open_ = file;
    return Status();
}

// A storage's checksum is that of all its bytes: of `data`, if that is all, else of the file's.
Status TorchReader::check_storage(const TorchSource& source, const void* data, uint64_t n_bytes) {
    const TorchStorage& storage = source.storage;
    bool& checked = checked_[{source.file, storage.offset}];
    if (checked || storage.crc32 == 0)
        return Status();
    uint32_t crc = 0;
    if (n_bytes == storage.n_bytes) {
        crc = crc32_of(data, static_cast<size_t>(n_bytes));
    } else {
        std::string window(static_cast<size_t>(std::min<uint64_t>(kCheckWindow, storage.n_bytes)),
                           '\0');
        for (uint64_t at = 0; at < storage.n_bytes; at += window.size()) {
            size_t n = static_cast<size_t>(std::min<uint64_t>(window.size(), storage.n_bytes - at));
            MINIGPT_TRY(file_.read(storage.offset + at, &window[0], n));
            crc = crc32_of(window.data(), n, crc);
        }
    }
    if (crc != storage.crc32) {
        return Status::error(Code::bad_file,
                             "the checksum of storage %s does not fit: the file is damaged",
                             shown(source.tensor.storage.key).c_str());
    }
    checked = true;
    return Status();
}

// Numbers first ... first + n - 1 of the tensor's span, f64 as f32.
Status TorchReader::read_numbers(const TorchSource& source, uint64_t first, uint64_t n, void* out) {
    const TorchTensor& tensor = source.tensor;
    uint64_t size = tensor.storage.type->n_bytes;
    MINIGPT_TRY(file_.read(source.storage.offset + (tensor.offset + first) * size, out,
                           static_cast<size_t>(n * size)));
    MINIGPT_TRY(check_storage(source, out, n * size));
    if (size == sizeof(double))
        narrow(out, n);
    return Status();
}

// Collects numbers that lie far apart, window by window, to packed rows of view.shape.
Status TorchReader::gather(const TorchSource& source, const ArrayView& view, unsigned char* out) {
    size_t size = bytes_of(view.type), n = view.shape[1];
    std::string window(kWindow, '\0');
    uint64_t room = kWindow / source.tensor.storage.type->n_bytes;
    for (size_t i = 0; i < view.shape[0]; i++) {
        for (size_t j = 0; j < n;) {
            uint64_t stride = view.col_stride;
            uint64_t more = stride == 0 ? n - 1 : (room - 1) / stride;
            size_t count = static_cast<size_t>(std::min<uint64_t>(more + 1, n - j));
            uint64_t first = uint64_t{i} * view.row_stride + uint64_t{j} * stride;
            MINIGPT_TRY(read_numbers(source, first, (count - 1) * stride + 1, &window[0]));
            for (size_t k = 0; k < count; k++, out += size)
                memcpy(out, &window[static_cast<size_t>(k * stride) * size], size);
            j += count;
        }
    }
    return Status();
}

Status TorchReader::read(const TorchSource& source, const std::vector<uint64_t>& dims,
                         Scratch* scratch, ArrayView* array) {
    const TorchTensor& tensor = source.tensor;
    const File* file;
    MINIGPT_TRY(use(source.file, &file));
    ArrayView view = view_of(tensor, dims);
    if (tensor.span / 2 <= tensor.numel) {
        MINIGPT_TRY(scratch->reserve(tensor.span * tensor.storage.type->n_bytes));
        MINIGPT_TRY(read_numbers(source, 0, tensor.span, scratch->data()));
    } else {
        if (tensor.span > SIZE_MAX) {
            return Status::error(Code::not_supported,
                                 "its numbers lie further apart than this machine can count");
        }
        // Rows are what lies closer together, in the file and in memory.
        ArrayView rows = view;
        bool is_turned = view.n_dims == 1 || view.row_stride < view.col_stride;
        if (is_turned) {
            std::swap(rows.shape[0], rows.shape[1]);
            std::swap(rows.row_stride, rows.col_stride);
        }
        MINIGPT_TRY(scratch->reserve(tensor.numel * bytes_of(view.type)));
        MINIGPT_TRY(gather(source, rows, scratch->data()));
        view.row_stride = is_turned ? 1 : rows.shape[1];
        view.col_stride = is_turned ? rows.shape[1] : 1;
    }
    view.data = scratch->data();
    *array = view;
    return Status();
}

Status TorchReader::read_packed(const TorchSource& source, const std::vector<uint64_t>& dims,
                                unsigned char* out) {
    ArrayView view;
    MINIGPT_TRY(read(source, dims, &packed_, &view));
    size_t size = bytes_of(view.type);
    const unsigned char* from = static_cast<const unsigned char*>(view.data);
    if (is_packed(view)) {
        memcpy(out, from, view.shape[0] * view.shape[1] * size);
        return Status();
    }
    for (size_t i = 0; i < view.shape[0]; i++) {
        for (size_t j = 0; j < view.shape[1]; j++, out += size)
            memcpy(out, from + (i * view.row_stride + j * view.col_stride) * size, size);
    }
    return Status();
}

}  // namespace minigpt::convert
