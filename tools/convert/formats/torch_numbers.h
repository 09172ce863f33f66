// Reads the numbers of a tensor from its storage.
#pragma once

#include <map>
#include <string>

#include "common/file.h"
#include "convert/checkpoint.h"
#include "convert/formats/torch_tensors.h"

namespace minigpt::convert {

// A tensor, and the place of its storage in a file.
struct TorchSource {
    size_t file = 0;  // which of the files
    TorchTensor tensor;
    TorchStorage storage;
};

// Whether two tensors are the same numbers of one storage.
bool same_place(const TorchSource& a, const TorchSource& b);

// Reads tensors of one or two dimensions. A storage's checksum is verified when it is first used.
class TorchReader {
public:
    size_t add_file(const std::string& path);

    // Reads the whole tensor; f64 is rounded to f32. `array` points into `scratch`. It has the
    // tensor's strides, or new ones if the numbers lie far apart in the file. dims: the shape
    // without dimensions of 1 beyond the second.
    Status read(const TorchSource& source, const std::vector<uint64_t>& dims, Scratch* scratch,
                ArrayView* array);
    // Reads it packed, row-major, to `out`: numel numbers of bytes_of(*type) bytes each.
    Status read_packed(const TorchSource& source, const std::vector<uint64_t>& dims,
                       unsigned char* out);
    // An open file. Errors: io, with its name.
    Status use(size_t file, const File** out);

private:
    Status read_numbers(const TorchSource& source, uint64_t first, uint64_t n, void* out);
    Status check_storage(const TorchSource& source, const void* data, uint64_t n_bytes);
    Status gather(const TorchSource& source, const ArrayView& from, unsigned char* out);

    std::vector<std::string> paths_;
    File file_;  // paths_[open_]
    size_t open_ = SIZE_MAX;
    std::map<std::pair<size_t, uint64_t>, bool> checked_;  // by file and offset
    Scratch packed_;
};

// The type that a weight of this type is read as; nothing for integers.
std::optional<ElementType> torch_element_type(const TorchType& type);

}  // namespace minigpt::convert
