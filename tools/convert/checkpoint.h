// The common interface of all checkpoint formats.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/names.h"
#include "convert/vocabulary/vocabulary.h"
#include "minigpt/status.h"
#include "minigpt/writer.h"

namespace minigpt::convert {

// An array with its name in the checkpoint. `type` is the type that read() returns. It is empty if
// the format's own type, `dtype`, cannot be a weight's, such as the bytes of a mask.
struct SourceTensor {
    std::string name;
    std::string dtype;
    std::optional<ElementType> type;
    std::vector<uint64_t> shape;
    uint64_t n_bytes = 0;       // in the file
    bool is_quantized = false;  // numbers share scales in groups; read() returns the real numbers
};

// A tensor of one or two dimensions whose numbers, of its type, lie row by row at `data`.
inline ArrayView row_major(const SourceTensor& tensor, const void* data) {
    const size_t n = static_cast<size_t>(tensor.shape[0]);
    return tensor.shape.size() == 1
               ? ArrayView::vector(data, n, *tensor.type)
               : ArrayView::matrix(data, n, static_cast<size_t>(tensor.shape[1]), *tensor.type);
}

// The configuration that a checkpoint states. A reader sets what the format states or implies, and
// leaves the rest unset.
struct SourceConfig {
    std::optional<uint64_t> n_rows;   // of the token table
    std::optional<uint64_t> n_vocab;  // if the format counts the rows that are tokens
    std::optional<uint64_t> n_ctx, n_embd, n_head, n_layer;
    std::optional<uint64_t> n_ff;  // unset: 4 n_embd
    std::optional<double> layer_norm_epsilon;
    std::optional<Activation> activation;
    std::optional<bool> tied;
    bool scale_attn_weights = true;
    bool scale_attn_by_inverse_layer_idx = false;
    std::optional<uint64_t> eos;  // a token id
};

// Memory that is reused for every tensor.
class Scratch {
public:
    // Errors: out_of_memory.
    Status reserve(uint64_t n_bytes);
    unsigned char* data() { return data_.get(); }

private:
    std::unique_ptr<unsigned char[]> data_;
    uint64_t n_bytes_ = 0;
};

// An open checkpoint. Opening reads the directory, the configuration and the vocabulary; the
// numbers are read one tensor at a time.
class Checkpoint {
public:
    virtual ~Checkpoint() = default;

    // Reads the whole tensor `index` and describes it in `array`, which points into `scratch`.
    // Packed or strided tensors are returned as f32 or with strides. Dimensions of 1 beyond the
    // second are dropped. Errors: io, bad_file, out_of_memory.
    virtual Status read(size_t index, Scratch* scratch, ArrayView* array) = 0;

    std::string format;                // "safetensors"
    std::vector<std::string> files;    // all its files, including the configuration
    const Dialect* dialect = nullptr;  // the tensors' naming scheme
    std::vector<SourceTensor> tensors;
    SourceConfig config;
    Vocabulary vocabulary;
    std::string read_types = "F32, F16 or BF16";  // the formats' types that read() takes
    std::vector<std::string> notes;               // notes for the user, a line each
};

struct OpenOptions {
    std::string vocab;  // where the vocabulary is; empty: beside the checkpoint
    // For checkpoints that do not state it.
    std::optional<uint64_t> n_head;
    std::optional<Activation> activation;
};

// Opens a file, or the only checkpoint in a folder. The format is detected from the content.
//
// Errors: io, bad_file (with the file inside the folder; also for an option that contradicts it),
// not_supported (a feature of the format that this program does not read).
Status open_checkpoint(const std::string& path, const OpenOptions& options,
                       std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
