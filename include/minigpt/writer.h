// The writer of weight files (.mgpt). models/FORMAT.md has the file byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/config.h"
#include "minigpt/status.h"

namespace minigpt {

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

    // The exact size of the image. Errors: as check(config); bad_argument with the field's name
    // (a type that is none of ElementType's, a null text).
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
    uint64_t n_subnormal() const { return n_subnormal_; }

private:
    struct State;
    Status start(const Config& config, const WriterOptions& options);
    void close();

    State* state_ = nullptr;
    uint64_t n_subnormal_ = 0;
    bool has_self_test_ = false;
};

}  // namespace minigpt
