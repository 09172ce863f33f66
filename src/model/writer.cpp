// Writer: rounds arrays to the file's type, lays them out, and hashes what it writes.
#include <cstring>
#include <initializer_list>
#include <new>

#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/pages.h"
#include "minigpt/model.h"
#include "minigpt/writer.h"
#include "model/encode.h"
#include "model/format.h"
#include "model/self_test.h"
#include "ops/check.h"

namespace minigpt {
namespace {

constexpr size_t kScratchBytes = 1 << 20;

using Ull = unsigned long long;

// Where each part of the file lies.
struct FilePlan {
    uint32_t n_sections;
    uint32_t n_tensors;
    uint64_t header_bytes;
    uint64_t provenance_bytes, tokenizer_bytes, self_test_bytes;
    uint64_t tokenizer_offset, self_test_offset;
    uint64_t tensors_offset;
    uint64_t file_bytes;
};

Status plan_file(const Config& config, const WriterOptions& options, FilePlan* plan) {
    MINIGPT_TRY(check(config));
    if (static_cast<size_t>(options.type) >= kElementTypeCount) {
        return Status::error(Code::bad_argument, "type: found %lu, expected 0 to %zu",
                             static_cast<unsigned long>(options.type), kElementTypeCount - 1);
    }
    MINIGPT_TRY(check_pointer("source_format", options.source_format));
    MINIGPT_TRY(check_pointer("source_name", options.source_name));
    MINIGPT_TRY(check_pointer("converter", options.converter));
    plan->n_sections = 1 + (options.tokenizer_bytes != 0) + options.self_test;
    plan->n_tensors = static_cast<uint32_t>(tensor_count(config));
    plan->header_bytes = align_up(sizeof(FileHeader) + plan->n_sections * sizeof(FileSection) +
                                  uint64_t{plan->n_tensors} * sizeof(FileTensor));
    plan->provenance_bytes =
        strlen(options.source_format) + strlen(options.source_name) + strlen(options.converter) + 3;
    plan->tokenizer_bytes = options.tokenizer_bytes;
    plan->self_test_bytes = options.self_test ? self_test_bytes(config) : 0;
    uint64_t at = align_up(plan->header_bytes + plan->provenance_bytes);
    plan->tokenizer_offset = at;
    at = align_up(at + plan->tokenizer_bytes);
    plan->self_test_offset = at;
    at = align_up(at + plan->self_test_bytes);
    plan->tensors_offset = at;
    for (size_t i = 0; i < plan->n_tensors; i++) {
        TensorSpec spec = tensor_spec(config, i);
        at = align_up(at + stored_bytes(spec, stored_type(spec, options)));
    }
    plan->file_bytes = at;
    return Status();
}

}  // namespace

struct Writer::State {
    Config config;
    bool allow_non_finite;
    FilePlan plan;
    Buffer<unsigned char> header;  // filled in as tensors come
    Buffer<unsigned char> added;   // [n_tensors], 1 once it is written
    Buffer<unsigned char> scratch;
    Buffer<unsigned char> self_test;  // the section; empty: none is wanted
    OutputFile file;
    unsigned char* image = nullptr;  // memory target; nullptr: the file
    uint64_t n_subnormal = 0;

    FileSection* sections() {
        return reinterpret_cast<FileSection*>(header.data() + sizeof(FileHeader));
    }
    FileTensor* directory() {
        return reinterpret_cast<FileTensor*>(header.data() + sizeof(FileHeader) +
                                             plan.n_sections * sizeof(FileSection));
    }

    Status write(uint64_t offset, const void* data, size_t bytes) {
        if (image == nullptr)
            return file.write(offset, data, bytes);
        if (bytes != 0)
            memcpy(image + offset, data, bytes);
        return Status();
    }

    Status write_section(uint32_t index, Section kind, uint64_t offset, const void* data,
                         size_t bytes) {
        sections()[index] = {static_cast<uint32_t>(kind), 0, offset, bytes, hash64(data, bytes)};
        return write(offset, data, bytes);
    }

    void fill_header(const WriterOptions& options);
    Status start_image(void* to, size_t bytes);
    Status write_sections(const WriterOptions& options);
    Status write_self_test();
    Status write_header();
    Status run_self_test(bool* done);
    Status add(size_t index, const TensorSpec& spec, const ArrayView& array);
};

void Writer::State::fill_header(const WriterOptions& options) {
    FileHeader h = {};
    memcpy(h.magic, kMagic, sizeof kMagic);
    h.version = kFormatVersion;
    h.header_bytes = static_cast<uint32_t>(plan.header_bytes);
    h.file_bytes = plan.file_bytes;
    h.n_vocab = config.n_vocab;
    h.n_rows = config.n_rows;
    h.n_ctx = config.n_ctx;
    h.n_embd = config.n_embd;
    h.n_head = config.n_head;
    h.n_layer = config.n_layer;
    h.n_ff = config.n_ff;
    h.layer_norm_epsilon = config.layer_norm_epsilon;
    h.activation = static_cast<uint32_t>(config.activation);
    h.biases = config.biases;
    if (config.tied)
        h.flags |= kFlagTied;
    if (config.scale_attn_weights)
        h.flags |= kFlagScaleAttn;
    if (config.scale_attn_by_inverse_layer_idx)
        h.flags |= kFlagScaleByLayer;
    h.n_sections = plan.n_sections;
    h.n_tensors = plan.n_tensors;
    memcpy(header.data(), &h, sizeof h);

    uint64_t at = plan.tensors_offset;
    for (size_t i = 0; i < plan.n_tensors; i++) {
        TensorSpec spec = tensor_spec(config, i);
        FileTensor t = {};
        memcpy(t.name, spec.name, sizeof t.name);
        ElementType stored = stored_type(spec, options);
        t.type = static_cast<uint32_t>(stored);
        t.layout = static_cast<uint32_t>(spec.layout);
        t.shape[0] = spec.shape[0];
        t.shape[1] = spec.shape[1];
        t.offset = at;
        t.bytes = stored_bytes(spec, stored);
        at = align_up(at + t.bytes);
        directory()[i] = t;
    }
}

Status Writer::State::write_sections(const WriterOptions& options) {
    Buffer<char> texts;
    if (!texts.allocate(static_cast<size_t>(plan.provenance_bytes))) {
        return Status::error(Code::out_of_memory, "no memory for the provenance");
    }
    size_t at = 0;
    for (const char* text : {options.source_format, options.source_name, options.converter}) {
        memcpy(texts.data() + at, text, strlen(text) + 1);
        at += strlen(text) + 1;
    }
    MINIGPT_TRY(write_section(0, Section::provenance, plan.header_bytes, texts.data(), at));
    if (options.tokenizer_bytes != 0) {
        MINIGPT_TRY(write_section(1, Section::tokenizer, plan.tokenizer_offset, options.tokenizer,
                                  options.tokenizer_bytes));
    }
    if (plan.self_test_bytes == 0)
        return Status();
    if (!self_test.allocate(static_cast<size_t>(plan.self_test_bytes)))
        return Status::error(Code::out_of_memory, "no memory for the self-test");
    make_empty_self_test(config, self_test.data());
    return write_self_test();
}

// The last section: empty, then filled.
Status Writer::State::write_self_test() {
    return write_section(plan.n_sections - 1, Section::self_test, plan.self_test_offset,
                         self_test.data(), self_test.size());
}

Status Writer::State::write_header() {
    FileHeader* h = reinterpret_cast<FileHeader*>(header.data());
    if (n_subnormal != 0)
        h->flags |= kFlagSubnormals;
    h->header_hash = 0;
    h->header_hash = hash64(header.data(), header.size());
    return write(0, header.data(), header.size());
}

// Runs the file as it is, without a self-test, to make one. What this machine cannot run gets none.
Status Writer::State::run_self_test(bool* done) {
    struct Mapped {
        const unsigned char* data;
        size_t bytes;
    } mapped = {image, static_cast<size_t>(plan.file_bytes)};
    auto forget = [](void* context) {
        Mapped& m = *static_cast<Mapped*>(context);
        forget_pages(m.data, m.bytes);
    };
    Status status = image == nullptr ? file.map(&mapped.data, &mapped.bytes) : Status();
    if (status.ok()) {
        Model model;
        status = model.open(static_cast<const void*>(mapped.data), mapped.bytes);
        if (status.ok()) {
            void (*after_step)(void*) = forget;
            status = make_self_test(model, self_test.data(),
                                    image == nullptr ? after_step : nullptr, &mapped);
        }
        if (image == nullptr)
            unmap_file(mapped.data, mapped.bytes);
    }
    *done = status.ok();
    if (status.code() == Code::out_of_memory || status.code() == Code::not_supported)
        return Status();
    MINIGPT_TRY(status);
    MINIGPT_TRY(write_self_test());
    return write_header();
}

Status Writer::State::add(size_t index, const TensorSpec& spec, const ArrayView& array) {
    FileTensor& entry = directory()[index];
    Encoder encoder(array, spec, static_cast<ElementType>(entry.type), allow_non_finite);
    struct Target {
        State* state;
        uint64_t offset;
        Hash64 hash;
    } target = {this, entry.offset, {}};
    MINIGPT_TRY(encoder.run(
        scratch.data(), scratch.size(),
        [](void* to, const void* data, size_t bytes) {
            Target& t = *static_cast<Target*>(to);
            t.hash.update(data, bytes);
            t.offset += bytes;
            return t.state->write(t.offset - bytes, data, bytes);
        },
        &target));
    entry.hash = target.hash.finish();
    n_subnormal += encoder.n_subnormal();
    added[index] = 1;
    return Status();
}

Writer::~Writer() {
    close();
}

void Writer::close() {
    delete state_;
    state_ = nullptr;
}

Status Writer::image_bytes(const Config& config, const WriterOptions& options, uint64_t* bytes) {
    MINIGPT_TRY(check_pointer("bytes", bytes));
    FilePlan plan;
    MINIGPT_TRY(plan_file(config, options, &plan));
    *bytes = plan.file_bytes;
    return Status();
}

Status Writer::start(const Config& config, const WriterOptions& options) {
    if (state_ != nullptr)
        return Status::error(Code::bad_argument, "the writer is open already");
    if (options.tokenizer == nullptr && options.tokenizer_bytes != 0)
        return Status::error(Code::bad_argument, "tokenizer: no tables, but their size");
    FilePlan plan;
    MINIGPT_TRY(plan_file(config, options, &plan));
    state_ = new (std::nothrow) State;
    if (state_ == nullptr || !state_->header.allocate(static_cast<size_t>(plan.header_bytes)) ||
        !state_->added.allocate(plan.n_tensors) || !state_->scratch.allocate(kScratchBytes)) {
        close();
        return Status::error(Code::out_of_memory, "no memory for the writer");
    }
    state_->config = config;
    state_->allow_non_finite = options.allow_non_finite;
    state_->plan = plan;
    memset(state_->header.data(), 0, state_->header.size());
    memset(state_->added.data(), 0, state_->added.size());
    state_->fill_header(options);
    return Status();
}

Status Writer::open(const char* path, const Config& config, const WriterOptions& options) {
    MINIGPT_TRY(start(config, options));
    Status status = state_->file.create(path, state_->plan.file_bytes);
    if (status.ok())
        status = state_->write_sections(options);
    if (!status.ok())
        close();
    return status;
}

Status Writer::open(void* image, size_t bytes, const Config& config, const WriterOptions& options) {
    MINIGPT_TRY(start(config, options));
    Status status = state_->start_image(image, bytes);
    if (status.ok())
        status = state_->write_sections(options);
    if (!status.ok())
        close();
    return status;
}

Status Writer::State::start_image(void* to, size_t bytes) {
    if (bytes < plan.file_bytes) {
        return Status::error(Code::out_of_memory, "%zu bytes for the image; it needs %llu", bytes,
                             Ull{plan.file_bytes});
    }
    if (to == nullptr || reinterpret_cast<uintptr_t>(to) % kAlign != 0) {
        return Status::error(Code::bad_argument, "the image is at %p; expected a multiple of 64",
                             to);
    }
    image = static_cast<unsigned char*>(to);
    memset(image, 0, static_cast<size_t>(plan.file_bytes));
    return Status();
}

Status Writer::add(const char* name, const ArrayView& array) {
    if (state_ == nullptr)
        return Status::error(Code::bad_argument, "the writer is not open");
    MINIGPT_TRY(check_pointer("name", name));
    size_t index = 0;
    for (; index < state_->plan.n_tensors; index++) {
        if (strncmp(name, state_->directory()[index].name, sizeof FileTensor::name) == 0)
            break;
    }
    if (index == state_->plan.n_tensors) {
        return Status::error(Code::bad_argument, "%s: no tensor of this model", name);
    }
    if (state_->added[index] != 0) {
        return Status::error(Code::bad_argument, "%s: added twice", name);
    }
    TensorSpec spec = tensor_spec(state_->config, index);
    size_t n_cols = array.n_dims == 2 ? array.shape[1] : 1;
    if (array.n_dims != spec.n_dims || array.shape[0] != spec.shape[0] || n_cols != spec.shape[1]) {
        const ShapeText found(array.n_dims, array.shape[0], array.shape[1]);
        const ShapeText expected(spec.n_dims, spec.shape[0], spec.shape[1]);
        return Status::error(Code::bad_shape, "%s: shape is %s; expected %s", spec.name, found.text,
                             expected.text);
    }
    if (bytes_of(array.type) == 0 || array.data == nullptr) {
        return Status::error(Code::bad_argument, "%s: an array of %s numbers was expected",
                             spec.name, "f32, f16 or bf16");
    }
    MINIGPT_TRY(state_->add(index, spec, array));
    n_subnormal_ = state_->n_subnormal;
    return Status();
}

Status Writer::finish() {
    if (state_ == nullptr)
        return Status::error(Code::bad_argument, "the writer is not open");
    for (size_t i = 0; i < state_->plan.n_tensors; i++) {
        if (state_->added[i] != 0)
            continue;
        return Status::error(Code::bad_argument, "%s: missing", state_->directory()[i].name);
    }
    MINIGPT_TRY(state_->write_header());
    if (state_->self_test.size() != 0)
        MINIGPT_TRY(state_->run_self_test(&has_self_test_));
    if (state_->image == nullptr)
        MINIGPT_TRY(state_->file.commit());
    close();
    return Status();
}

}  // namespace minigpt
