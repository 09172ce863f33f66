// What every checkpoint format looks like to the rest of the program.
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

// An array as the checkpoint names it. `type` is what read() will give: nothing where the
// format's own type, `dtype`, is none that a weight can have (such as the bytes of a mask).
struct SourceTensor {
    std::string name;
    std::string dtype;
    std::optional<ElementType> type;
    std::vector<uint64_t> shape;
    uint64_t n_bytes = 0;       // in the file
    bool is_quantized = false;  // groups of its numbers share a scale; read() gives what they mean
};

// What a checkpoint says of its model. A reader leaves unset what its format does not tell, and
// sets what the format implies.
struct SourceConfig {
    std::optional<uint64_t> n_rows;   // of the token table
    std::optional<uint64_t> n_vocab;  // where the format counts the rows that are tokens
    std::optional<uint64_t> n_ctx, n_embd, n_head, n_layer;
    std::optional<uint64_t> n_ff;  // unset: 4 n_embd
    std::optional<double> layer_norm_epsilon;
    std::optional<Activation> activation;
    std::optional<bool> tied;
    bool scale_attn_weights = true;
    bool scale_attn_by_inverse_layer_idx = false;
    std::optional<uint64_t> eos;  // a token id
};

// Memory that is used again for tensor after tensor.
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

    // Reads tensor `index` whole and describes it. A reader whose tensors are packed or strided
    // gives f32 or strides; dimensions of 1 beyond the second are dropped. `array` points into
    // `scratch`. Errors: io, bad_file, out_of_memory.
    virtual Status read(size_t index, Scratch* scratch, ArrayView* array) = 0;

    std::string format;                // "safetensors"
    std::vector<std::string> files;    // all it is made of, the configuration too
    const Dialect* dialect = nullptr;  // how its tensors are named
    std::vector<SourceTensor> tensors;
    SourceConfig config;
    Vocabulary vocabulary;
    std::string read_types = "F32, F16 or BF16";  // the formats' types that read() takes
    std::vector<std::string> notes;               // what a user should know, a line each
};

struct OpenOptions {
    std::string vocab;  // where the vocabulary is; empty: beside the checkpoint
    // What a checkpoint may leave unsaid.
    std::optional<uint64_t> n_head;
    std::optional<Activation> activation;
};

// Opens a file, or the one checkpoint in a folder, of whatever format its content shows.
//
// Errors: io, bad_file (with the file inside the folder; an option that contradicts it),
// not_supported (what a format may have and this program does not read).
Status open_checkpoint(const std::string& path, const OpenOptions& options,
                       std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
