// The weight file (.mgpt): its configuration, its tensors, and the writer. models/FORMAT.md has
// it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/status.h"

namespace minigpt {

enum class Activation : uint32_t { gelu_tanh = 0, gelu_erf = 1 };

// How an array's numbers are stored. The values are those of the file. q8 and q4 are groups of 32
// inputs with an f16 scale for each output: 8.5 and 4.5 bits a weight.
enum class ElementType : uint32_t { f32 = 0, f16 = 1, bf16 = 2, q8 = 3, q4 = 4 };

const char* name_of(ElementType type);
const char* name_of(Activation activation);
// Bytes of one number; 0 for the grouped types (q8, q4).
size_t bytes_of(ElementType type);

// The kinds of bias, as bits of Config::biases. A model has a kind in every layer or in none.
enum Bias : uint32_t {
    kBiasLn1 = 1,
    kBiasAttnQkv = 2,
    kBiasAttnProj = 4,
    kBiasLn2 = 8,
    kBiasFc = 16,
    kBiasMlpProj = 32,
    kBiasLnF = 64,
    kBiasAll = 127,
};

struct Config {
    uint32_t n_vocab = 0;  // tokens; ids are 0 ... n_vocab - 1
    uint32_t n_rows = 0;   // rows of the token table, >= n_vocab; the rest is padding
    uint32_t n_ctx = 0;    // positions
    uint32_t n_embd = 0;   // a multiple of n_head
    uint32_t n_head = 0;
    uint32_t n_layer = 0;
    uint32_t n_ff = 0;
    float layer_norm_epsilon = 1e-5f;
    Activation activation = Activation::gelu_tanh;
    uint32_t biases = kBiasAll;
    bool tied = true;                              // the output head is the token table
    bool scale_attn_weights = true;                // scores / sqrt(head_dim)
    bool scale_attn_by_inverse_layer_idx = false;  // scores / (layer + 1), too

    uint32_t head_dim() const { return n_head == 0 ? 0 : n_embd / n_head; }
};

// Sizes that are zero, that do not divide, or that multiply past what 63 bits hold: bad_shape,
// with the field's name. A model of this shape may still be too large for the machine.
Status check(const Config& config);

// How a tensor lies in the file.
enum class Layout : uint32_t {
    vector = 0,  // [n], f32 always
    rows = 1,    // [n_rows, n_embd], row-major: the position table
    panels = 2,  // [n_out / 16][n_in][16]: every matrix; of q8 and q4 in groups of inputs
};

// A tensor that a model of some Config has: its checkpoint name and logical shape. A matrix
// y = xW is [n_in, n_out] as Hugging Face's Conv1D keeps it; the token table and the untied head
// are [n_rows, n_embd] as everyone keeps them, and lie in panels of 16 rows.
struct TensorSpec {
    char name[48];
    size_t n_dims;    // 1 or 2
    size_t shape[2];  // slowest first; shape[1] is 1 for a vector
    Layout layout;
    bool is_table;  // a matrix of shape [n_out, n_in]: the token table and the untied head

    size_t n_in() const { return is_table ? shape[1] : shape[0]; }
    size_t n_out() const { return is_table ? shape[0] : shape[1]; }
};

// The tensors of a model in the order of the file, which is Hugging Face's:
// wte, wpe, h.0.ln_1.weight, h.0.ln_1.bias, ..., ln_f.bias, lm_head.weight where it is untied.
// `config` must have passed check(); index < tensor_count(config).
size_t tensor_count(const Config& config);
TensorSpec tensor_spec(const Config& config, size_t index);

// Numbers in those tensors, padding rows included as checkpoints count them; untied counts the
// head apart even where it is the token table.
uint64_t parameter_count(const Config& config, bool untied);

// A caller's array of numbers: element [i, j] of a matrix is data[i * row_stride + j * col_stride],
// element i of a vector data[i * row_stride]. A transposed source is the same array with its
// strides exchanged. `type` is f32, f16 or bf16. `data` may have any alignment.
struct ArrayView {
    const void* data = nullptr;
    ElementType type = ElementType::f32;
    size_t n_dims = 0;
    size_t shape[2] = {0, 1};
    size_t row_stride = 0;
    size_t col_stride = 1;

    static ArrayView vector(const void* data, size_t n, ElementType type = ElementType::f32) {
        return {data, type, 1, {n, 1}, 1, 1};
    }
    static ArrayView matrix(const void* data, size_t n_rows, size_t n_cols,
                            ElementType type = ElementType::f32) {
        return {data, type, 2, {n_rows, n_cols}, n_cols, 1};
    }
};

struct WriterOptions {
    // Of the matrices and tables; norms and biases are f32. q8 and q4 have f16 positions, and q4
    // has a q8 token table and head.
    ElementType type = ElementType::f32;
    bool f32_positions = false;       // the position table is f32, whatever `type` is
    const void* tokenizer = nullptr;  // tables made by build_tokenizer (tokenizer.h); may be empty
    size_t tokenizer_bytes = 0;
    const char* source_format = "";  // provenance: "safetensors", ...
    const char* source_name = "";    // provenance: the folder or file
    const char* converter = "";      // provenance: who made this file
    bool allow_non_finite = false;   // accept NaN and infinities
    bool self_test = false;          // store what verify() compares, see Writer::finish()
};

// Writes a .mgpt image from a model's arrays, in any order, each exactly once.
//
//     Writer writer;
//     MINIGPT_TRY(writer.open("model.mgpt", config, options));
//     MINIGPT_TRY(writer.add("wte.weight", ArrayView::matrix(wte, n_rows, n_embd)));
//     ...
//     MINIGPT_TRY(writer.finish());
//
// A file appears under its name only in finish(), complete; until then, and for ever if
// finish() is not reached, what was there before stays. Memory beyond the caller's: the header
// and one megabyte; in finish() what a self-test's session takes. Not thread-safe.
class Writer {
public:
    Writer() = default;
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // The exact size of the image. Errors: as check(config); not_supported for a type that is
    // none of ElementType's.
    static Status image_bytes(const Config& config, const WriterOptions& options, uint64_t* bytes);

    // Into a file, replaced by finish(). Errors of both: as image_bytes(); bad_argument (an empty
    // path, an image that is not aligned, no tokenizer where its size is not 0); io, out_of_memory.
    // What the tables hold is build_tokenizer's to check, and Tokenizer::open()'s of a file.
    Status open(const char* path, const Config& config, const WriterOptions& options);
    // Into memory, 64-byte aligned, of at least image_bytes(). Usable after finish().
    Status open(void* image, size_t bytes, const Config& config, const WriterOptions& options);

    // Rounds to the file's type (nearest, ties to even; how q8 and q4 choose their scales is in
    // models/FORMAT.md) and lays the array out.
    //
    // Errors, each with the tensor's name: bad_argument (not a tensor of this model, or added
    // before), bad_shape (found and expected), bad_file (NaN, infinity, or a finite number that
    // overflows the type or the scale of its group, with its index), io.
    Status add(const char* name, const ArrayView& array);

    // For a self-test it opens the model, runs some prompts of a few tokens, on one thread, and
    // stores what they gave. A file that is too large for this machine to run gets none.
    //
    // Errors: bad_argument with the name of a tensor that was not added; io.
    Status finish();

    // After finish(): whether the file has a self-test.
    bool has_self_test() const { return has_self_test_; }

    // How many numbers so far were subnormal in the file's type; see FORMAT.md on armv7.
    uint64_t n_denormal() const { return n_denormal_; }

private:
    struct State;
    Status start(const Config& config, const WriterOptions& options);
    void close();

    State* state_ = nullptr;
    uint64_t n_denormal_ = 0;
    bool has_self_test_ = false;
};

}  // namespace minigpt
