// The writer of weight files (.mgpt). models/FORMAT.md has the file byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/config.h"
#include "minigpt/status.h"

namespace minigpt {

// A caller's array of numbers. Element [i, j] of a matrix is data[i * row_stride + j * col_stride];
// element i of a vector is data[i * row_stride]. To transpose a matrix, exchange its shape and its
// strides. `type` is f32, f16 or bf16. `data` may have any alignment.
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
    // The type of the matrices and tables. Norms and biases are f32. With q8 and q4, positions are
    // f16. With q4, the token table and the head are q8.
    ElementType type = ElementType::f32;
    bool f32_positions = false;       // keep the position table in f32 for any `type`
    const void* tokenizer = nullptr;  // tables made by build_tokenizer (tokenizer.h); may be empty
    size_t tokenizer_bytes = 0;
    const char* source_format = "";  // provenance: "safetensors", ...
    const char* source_name = "";    // provenance: the folder or file
    const char* converter = "";      // provenance: the program that made this file
    bool allow_non_finite = false;   // accept NaN and infinities
    bool self_test = false;          // store what verify() compares, see finish()
};

// Writes a .mgpt image from a model's arrays. Add each exactly once, in any order.
//
//     Writer writer;
//     MINIGPT_TRY(writer.open("model.mgpt", config, options));
//     MINIGPT_TRY(writer.add("wte.weight", ArrayView::matrix(wte, n_rows, n_embd)));
//     ...
//     MINIGPT_TRY(writer.finish());
//
// The file appears under its name in finish(), complete. Until then, or if finish() is never
// called, an older file of that name stays as it was. Memory besides the caller's: the header and
// one megabyte, and in finish() a session for the self-test. Not thread-safe.
class Writer {
public:
    Writer() = default;
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // The exact size of the image. Errors: as check(config); bad_argument with the field's name (an
    // unknown type, a null text).
    static Status image_bytes(const Config& config, const WriterOptions& options, uint64_t* bytes);

    // Writes to a file, which finish() replaces. Errors of both open(): as image_bytes();
    // bad_argument (an empty path, an image that is not aligned, tokenizer_bytes without a
    // tokenizer); io, out_of_memory. The contents of the tokenizer's tables are not checked here:
    // build_tokenizer and Tokenizer::open() check them.
    Status open(const char* path, const Config& config, const WriterOptions& options);
    // Writes to memory, 64-byte aligned, at least image_bytes() long. Usable after finish().
    Status open(void* image, size_t bytes, const Config& config, const WriterOptions& options);

    // Rounds the array to the file's type (nearest, ties to even) and lays it out.
    // models/FORMAT.md describes how q8 and q4 choose their scales.
    //
    // Errors, each with the tensor's name: bad_argument (not a tensor of this model, or already
    // added), bad_shape (found and expected), bad_file with the index (NaN, infinity, or a finite
    // number that overflows the type or its group's scale), io.
    Status add(const char* name, const ArrayView& array);

    // Completes the file. For a self-test it opens the model, runs some prompts of a few tokens on
    // one thread, and stores the results. A file that is too large to run on this machine gets no
    // self-test.
    //
    // Errors: bad_argument with the name of a tensor that was not added; io.
    Status finish();

    // After finish(): whether the file has a self-test.
    bool has_self_test() const { return has_self_test_; }

    // How many numbers so far were subnormal in the file's type. FORMAT.md says why that matters on
    // armv7.
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
