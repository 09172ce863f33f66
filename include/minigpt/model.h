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

// A prompt, and the digest of the logits after it on the machine that made the file; see verify.h.
struct SelfTest {
    const int32_t* ids;  // [n_ids], in place
    size_t n_ids;
    int32_t argmax;
    uint64_t digest;  // logits_digest()
};

// An open and checked weight file. Weights are read in place: open() copies nothing and allocates
// nothing. Threads and sessions may share a Model. It must outlive them.
class Model {
public:
    Model() = default;
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Maps the file, or reads it if this build has no mapping. Verifies the header, the directory
    // and their checksum. check_weights() verifies the weights.
    //
    // Errors: io; bad_file with the field, what was found and what was expected.
    //
    // A mapped file must not change while it is open. If another program truncates it, or its disk
    // fails, reading the missing part raises SIGBUS, which a library cannot turn into a Status.
    // Replacing the file by renaming, as the writer does, is safe. If the file may change, use
    // load().
    Status open(const char* path);

    // Like open(), but reads the file into memory, in the largest pages the system gives. Weights
    // are then read faster, and later changes to the file have no effect. Suits long runs. Errors:
    // as open(), out_of_memory.
    Status load(const char* path);

    // Runs from `image`, 64-byte aligned (else bad_argument), which must outlive the model. It is
    // not changed.
    Status open(const void* image, size_t bytes);

    // Compares every tensor and section with its checksum. Runs at read bandwidth on `compute`'s
    // threads. Errors: bad_file with the name of the first that differs; bad_argument if the model
    // is not open.
    Status check_weights(const Compute& compute) const;
    // The same in parts: only the sections; only one tensor.
    Status check_sections(const Compute& compute) const;
    Status check_tensor(size_t index, const Compute& compute) const;

    bool is_open() const { return image_ != nullptr; }
    const Config& config() const { return config_; }
    size_t n_tensors() const { return n_tensors_; }
    // In tensor_spec's order. If index >= n_tensors(), the result has no data. n_tensors() is 0
    // before open().
    TensorInfo tensor(size_t index) const;

    // Reads rows first_row ... first_row + n_rows - 1 of the tensor with this checkpoint name as
    // f32, row-major, exactly. Each element of a vector is a row. This is the inverse of
    // Writer::add(): adding f32, f16 or bf16 numbers again gives the same bytes.
    //
    //   to        [n_rows, spec.shape[1]]  out
    //   capacity  numbers that `to` has room for
    //   n_rows    kAllRows: from first_row to the tensor's end
    //
    // Does not compare the checksum, see check_tensor(). Allocates nothing; safe from any thread.
    // Errors, with the name: bad_argument (not open, no such tensor, rows past its end, capacity).
    Status read_tensor(const char* name, float* to, size_t capacity, size_t first_row = 0,
                       size_t n_rows = kAllRows) const;
    // The same for an f16 or bf16 tensor (else bad_argument): the numbers' own 16 bits.
    Status read_tensor(const char* name, uint16_t* to, size_t capacity, size_t first_row = 0,
                       size_t n_rows = kAllRows) const;
    static constexpr size_t kAllRows = static_cast<size_t>(-1);

    uint64_t file_bytes() const { return bytes_; }
    // Whether some weights are subnormal as f32. armv7's NEON cannot compute with them, so sessions
    // there use the scalar kernels.
    bool has_subnormals() const { return has_subnormals_; }

    // The tokenizer's tables, in place; nullptr and 0 if the model has none. `bytes` may be
    // nullptr. See tokenizer.h.
    const void* tokenizer(size_t* bytes) const;

    // The file's self-test. n_self_tests() is 0 in a file without one. If index >= n_self_tests(),
    // the result has no ids.
    size_t n_self_tests() const;
    SelfTest self_test(size_t index) const;

    // The origin that the file states; "" if it states none.
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

// The cache's element type. With f16 a long context reads half as much as with f32, with q8 0.27
// times as much. Keys and values are rounded once, when they are written.
enum class KvType : uint32_t { f32 = 0, f16 = 1, q8 = 2 };

struct SessionOptions {
    size_t n_seq = 1;       // sequences; each has its own cache
    size_t n_ctx = 0;       // positions a sequence can hold; 0 is the model's own n_ctx
    size_t max_rows = 256;  // rows computed together; longer calls are split
    KvType kv = KvType::f32;
    // Every sequence begins with the tokens that sequence 0 of this session holds: one long
    // instruction, many continuations. They are not computed again, and at most the last 31 are
    // copied. The prefix session must have the same model and kv and no prefix itself. It must
    // outlive this session. It may take more tokens meanwhile, but must not be rewound.
    const class Session* prefix = nullptr;
    const Compute* compute = nullptr;  // nullptr: one thread, the best table
    void* memory = nullptr;            // 64-byte aligned, session_bytes() long; nullptr: allocate
    size_t memory_bytes = 0;
};

// One token to compute, at the next position of sequence `seq`.
struct Row {
    int32_t id;
    uint32_t seq = 0;
    bool logits = false;  // whether forward() returns its logits
};

// The exact bytes a session with these options needs. Errors: as Session::create.
Status session_bytes(const Model& model, const SessionOptions& options, size_t* bytes);

// The state of some sequences: a KV cache, and the working memory of a forward pass.
//
// Not thread-safe: one call at a time. Allocates in create() only, and only if no memory is handed
// in.
class Session {
public:
    Session() = default;
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Errors: bad_argument, out_of_memory. `model` and `options.compute` must outlive the session.
    Status create(const Model& model, const SessionOptions& options);

    // Computes rows in order; sequences may be mixed. A prefill is many rows of one sequence, a
    // decode is one row, a batched decode is one row of each sequence. The bits of the results
    // depend neither on how rows are divided into calls nor on the other rows of a call.
    //
    //   rows    [n_rows]
    //   logits  [rows with Row::logits, n_vocab]  out; may be nullptr if there are none
    //
    // Errors: bad_id, bad_argument (seq, a null pointer), context_full. They are checked before
    // anything is computed; a call that fails changes nothing. Allocates nothing.
    Status forward(const Row* rows, size_t n_rows, float* logits);

    // forward() in slices, for callers that cannot wait for all of it. begin() only checks. Each
    // step() computes at most `budget` layers of at most max_rows rows; the output head counts as
    // the layers it is as large as. When *more is false, the result is complete and bit for bit
    // forward()'s. max_rows bounds the shortest step: one layer of 124M for 256 rows takes some
    // 25 ms on one core.
    //
    // Until the call is complete, `rows` and `logits` must stay, and begin(), forward() and
    // rewind() are refused. cancel() ends the call. Rows become part of their sequences max_rows at
    // a time; cancel() drops only those that are not part yet.
    //
    //     MINIGPT_TRY(session.begin(rows, n_rows, logits));
    //     for (bool more = true; more;) {
    //         MINIGPT_TRY(session.step(1, &more));
    //         draw_a_frame();
    //     }
    Status begin(const Row* rows, size_t n_rows, float* logits);
    Status step(size_t budget, bool* more);
    void cancel();

    // How many tokens sequence `seq` has so far.
    size_t n_past(size_t seq = 0) const;

    // Forgets all but the first n_past tokens of a sequence; n_past >= n_prefix(). Errors:
    // bad_argument.
    Status rewind(size_t n_past, size_t seq = 0);

    // How many tokens every sequence began with, from SessionOptions::prefix.
    size_t n_prefix() const;

    const Config& config() const;  // the model's; Config() before create()
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
