// A GPT-2 model and the sessions that run it: rows in, logits out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/compute.h"
#include "minigpt/config.h"
#include "minigpt/status.h"

namespace minigpt {

struct Buffers;       // src/model/session.h
struct ForwardPass;   // src/model/forward.cpp
struct ModelWeights;  // src/model/layers.h

// One tensor of an open model, in place.
struct TensorInfo {
    TensorSpec spec = {};
    ElementType type = ElementType::f32;
    const void* data = nullptr;
    uint64_t bytes = 0;     // in the file, padding of the last panel included
    uint64_t checksum = 0;  // hash64 of those bytes, as stored
};

// A prompt, and what the logits after it were where the file was made; see verify.h.
struct SelfTest {
    const int32_t* ids;  // [n_ids], in place
    size_t n_ids;
    int32_t argmax;
    uint64_t digest;  // logits_digest()
};

// A weight file, open and checked. Weights are read in place: open() copies nothing and allocates
// nothing. Safe to share between threads and sessions, which must not outlive it.
class Model {
public:
    Model() = default;
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Maps the file (or reads it, where there is no mapping).
    //
    // Errors: io; bad_file with the field, what was found and what was expected. The header, the
    // directory and their checksum are verified here, the weights by check_weights().
    //
    // A mapped file must stay as it is: when another program cuts it short, or its disk fails, a
    // read of what is gone is SIGBUS, which a library cannot turn into a Status. Replacing a file
    // by renaming, as the writer does, is safe. Where neither can be sure, load() reads it.
    Status open(const char* path);

    // The same, read into memory in the largest pages the system gives: a long run reads its
    // weights faster from there, and does not care what becomes of the file. Errors: out_of_memory,
    // too.
    Status load(const char* path);

    // Runs from `image`, which must stay and is not changed; 64-byte aligned (bad_argument).
    Status open(const void* image, size_t bytes);

    // Hashes every tensor and section against its checksum: bad_file with the name of the first
    // that differs. Runs at read bandwidth on `compute`'s threads.
    // bad_argument if the model is not open.
    Status check_weights(const Compute& compute) const;
    // The same in parts: all that is no tensor; one tensor.
    Status check_sections(const Compute& compute) const;
    Status check_tensor(size_t index, const Compute& compute) const;

    bool is_open() const { return image_ != nullptr; }
    const Config& config() const { return config_; }
    size_t n_tensors() const { return n_tensors_; }
    // In tensor_spec's order; one without data for an index that is not below n_tensors(), which is
    // 0 before open().
    TensorInfo tensor(size_t index) const;

    // Rows first_row ... first_row + n_rows - 1 of a tensor by its checkpoint name, row-major, as
    // f32: exactly the numbers of the file. It is the inverse of Writer::add(); of f32, f16 and
    // bf16 adding them again gives the same bytes. A vector's rows are its numbers.
    //
    //   to        [n_rows, spec.shape[1]]  out
    //   capacity  numbers that `to` has room for
    //   n_rows    kAllRows: those from first_row to the tensor's end
    //
    // Compares no checksum, see check_tensor(). Allocates nothing; safe from any thread. Errors,
    // with the name: bad_argument (not open, no such tensor, rows past its end, capacity).
    Status read_tensor(const char* name, float* to, size_t capacity, size_t first_row = 0,
                       size_t n_rows = kAllRows) const;
    // The same of an f16 or bf16 tensor (else bad_argument), the numbers' own 16 bits.
    Status read_tensor(const char* name, uint16_t* to, size_t capacity, size_t first_row = 0,
                       size_t n_rows = kAllRows) const;
    static constexpr size_t kAllRows = static_cast<size_t>(-1);

    uint64_t file_bytes() const { return bytes_; }
    // Whether some weights are subnormal as f32: armv7's NEON cannot compute with them, and
    // sessions there use the scalar kernels.
    bool has_subnormals() const { return has_subnormals_; }

    // The tokenizer's tables, in place; nullptr and 0 if the model has none. `bytes` may be
    // nullptr. See tokenizer.h.
    const void* tokenizer(size_t* bytes) const;

    // The file's self-test; index < n_self_tests(), which is 0 in a file without one. One without
    // ids for another index.
    size_t n_self_tests() const;
    SelfTest self_test(size_t index) const;

    // What the file says of its origin; "" where it says nothing.
    const char* source_format() const { return provenance_[0]; }
    const char* source_name() const { return provenance_[1]; }
    const char* converter() const { return provenance_[2]; }

private:
    friend struct ModelWeights;

    using TakeFile = Status (*)(const char* path, const unsigned char** data, size_t* n_bytes);

    Status open_with(TakeFile take_file, const char* path);
    Status parse(const void* image, size_t bytes);
    template <typename Number>
    Status read_rows(const char* name, Number* to, size_t capacity, size_t first_row,
                     size_t n_rows) const;

    const unsigned char* image_ = nullptr;
    size_t bytes_ = 0;
    bool owned_ = false;  // mapped or read from a path
    Config config_;
    bool has_subnormals_ = false;
    size_t n_tensors_ = 0;
    const unsigned char* directory_ = nullptr;
    const unsigned char* tokenizer_ = nullptr;
    size_t tokenizer_bytes_ = 0;
    const unsigned char* self_test_ = nullptr;
    const char* provenance_[3] = {"", "", ""};
};

// The cache's element type. f16 halves what a long context reads, q8 takes 0.27 of it; keys and
// values are rounded once, when they are written.
enum class KvType : uint32_t { f32 = 0, f16 = 1, q8 = 2 };

struct SessionOptions {
    size_t n_seq = 1;       // sequences, each with a cache of its own
    size_t n_ctx = 0;       // positions a sequence can hold; 0 is the model's own n_ctx
    size_t max_rows = 256;  // rows that are computed together; more are taken in turns
    KvType kv = KvType::f32;
    // Every sequence begins with what sequence 0 of this session holds, without computing or
    // copying it (but for its last 31 tokens at most): one long instruction, many continuations.
    // Of the same model and kv, and without a prefix itself. It must outlive this session, and may
    // go on meanwhile, but not be rewound.
    const class Session* prefix = nullptr;
    const Compute* compute = nullptr;  // nullptr: one thread, the best table
    void* memory = nullptr;            // 64-byte aligned, session_bytes() long; nullptr: allocate
    size_t memory_bytes = 0;
};

// One token to compute: it continues sequence `seq` at its next position.
struct Row {
    int32_t id;
    uint32_t seq = 0;
    bool logits = false;  // whether its logits are wanted
};

// The exact bytes a session of these options needs. Errors: as Session::create.
Status session_bytes(const Model& model, const SessionOptions& options, size_t* bytes);

// The state of some sequences: a KV cache, and the working memory of a forward pass.
//
// Not thread-safe: one call at a time. Allocates in create() only, and not there when memory is
// handed in.
class Session {
public:
    Session() = default;
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Errors: bad_argument, out_of_memory. `model` and `options.compute` must outlive the session.
    Status create(const Model& model, const SessionOptions& options);

    // Computes rows in order, any mix of sequences: prefill is many rows of one sequence, decode
    // one row, batched decode a row each of many. How rows are divided into calls, and what else
    // is in a call, changes no bit of the result.
    //
    //   rows    [n_rows]
    //   logits  [rows that want them, n_vocab]  out; may be nullptr when none does
    //
    // Errors: bad_id, bad_argument (seq, a null pointer), context_full: checked before anything is
    // computed, and nothing is changed by a call that fails. Allocates nothing.
    Status forward(const Row* rows, size_t n_rows, float* logits);

    // forward() in slices, for those who cannot wait for all of it: begin() checks and computes
    // nothing, each step() does at most `budget` layers (the output head counts as the layers it
    // is as large as) of at most max_rows rows, which so bounds the shortest step: 256 rows of a
    // layer of 124M take some 25 ms on one core. The result is there, bit for bit forward()'s, when
    // *more is false.
    // `rows` and `logits` must stay until then; meanwhile begin(), forward() and rewind() are
    // refused. cancel() gives up what is not done yet: rows become part of their sequences
    // max_rows at a time.
    //
    //     MINIGPT_TRY(session.begin(rows, n_rows, logits));
    //     for (bool more = true; more;) {
    //         MINIGPT_TRY(session.step(1, &more));
    //         draw_a_frame();
    //     }
    Status begin(const Row* rows, size_t n_rows, float* logits);
    Status step(size_t budget, bool* more);
    void cancel();

    // The tokens of sequence `seq` so far.
    size_t n_past(size_t seq = 0) const;

    // Forgets all but the first n_past tokens of a sequence, of which there must be n_prefix().
    // Errors: bad_argument.
    Status rewind(size_t n_past, size_t seq = 0);

    // The tokens every sequence began with, by SessionOptions::prefix.
    size_t n_prefix() const;

    const Config& config() const;  // its model's; Config() before create()
    size_t n_seq() const { return n_seq_; }
    size_t n_ctx() const { return n_ctx_; }

private:
    friend struct ForwardPass;
    friend struct PrefixCheck;

    void start_chunk();
    void end_chunk();

    const Model* model_ = nullptr;
    const Compute* compute_ = nullptr;
    Compute own_compute_;
    unsigned char* memory_ = nullptr;
    bool owned_ = false;
    size_t n_seq_ = 0;
    size_t n_ctx_ = 0;
    size_t max_rows_ = 0;
    KvType kv_ = KvType::f32;
    Buffers* buffers_ = nullptr;  // inside memory_
};

}  // namespace minigpt
