// The GPT-2 files of ggml's first years, before GGUF.
//
//     i32  0x67676d6c, n_vocab, n_ctx, n_embd, n_head, n_layer, type (0 f32, 1 f16)
//     i32  n_tokens; for each i32 length and its bytes
//     tensors to the file's end: i32 n_dims, i32 length of the name, i32 type, i32 dimensions
//          (innermost first), the name, the numbers
#include <set>

#include "convert/codecs/byte_reader.h"
#include "convert/formats/gguf_types.h"
#include "convert/formats/readers.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr uint64_t kMaxHeader = 256 << 20;  // of all but the numbers
constexpr uint64_t kMaxText = 64 << 20;
constexpr int32_t kMaxTokens = 1 << 20;
constexpr int32_t kMaxToken = 1 << 16;
constexpr int32_t kMaxName = 127;
constexpr size_t kMaxTensors = 1 << 17;
constexpr int32_t kQuantizationVersion = 1000;  // the type's number may hold a version times this

class Ggml : public Checkpoint {
public:
    Status open(const std::string& path, const OpenOptions& options);
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

private:
    Status read_sizes(ByteReader* in);
    Status read_tokens(ByteReader* in);
    Status read_tensors(ByteReader* in);
    Status read_tensor(ByteReader* in);
    void choose_dialect();

    std::string path_;
    File file_;
    int32_t n_vocab_ = 0;
    std::vector<std::string> tokens_;
    std::vector<uint64_t> offsets_;  // [tensors]
};

Status Ggml::read_sizes(ByteReader* in) {
    int32_t magic, type;
    MINIGPT_TRY(in->number(&magic));
    int32_t sizes[5];
    constexpr const char* kNames[] = {"n_vocab", "n_ctx", "n_embd", "n_head", "n_layer"};
    for (size_t i = 0; i < 5; i++) {
        MINIGPT_TRY(in->number(&sizes[i]));
        if (sizes[i] <= 0) {
            return Status::error(Code::bad_file, "%s is %ld; expected a number from 1 on",
                                 kNames[i], static_cast<long>(sizes[i]));
        }
    }
    n_vocab_ = sizes[0];
    config.n_rows = static_cast<uint64_t>(sizes[0]);
    config.n_ctx = static_cast<uint64_t>(sizes[1]);
    config.n_embd = static_cast<uint64_t>(sizes[2]);
    config.n_head = static_cast<uint64_t>(sizes[3]);
    config.n_layer = static_cast<uint64_t>(sizes[4]);
    config.activation = Activation::gelu_tanh;
    config.layer_norm_epsilon = 1e-5;
    MINIGPT_TRY(in->number(&type));
    if (type == 0 || type == 1)
        return Status();
    return Status::error(Code::not_supported,
                         "type is %ld: ggml's old quantized files are not read; expected 0 (f32) "
                         "or 1 (f16)",
                         static_cast<long>(type % kQuantizationVersion));
}

Status Ggml::read_tokens(ByteReader* in) {
    int32_t n;
    MINIGPT_TRY(in->number(&n));
    if (n < 0 || n > n_vocab_ || n > kMaxTokens) {
        return Status::error(Code::bad_file, "%ld tokens; expected at most n_vocab, %ld",
                             static_cast<long>(n), static_cast<long>(n_vocab_));
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t length;
        MINIGPT_TRY(in->number(&length));
        if (length < 0 || length > kMaxToken) {
            return Status::error(Code::bad_file, "token %ld: its length is %ld",
                                 static_cast<long>(i), static_cast<long>(length));
        }
        tokens_.emplace_back();
        MINIGPT_TRY(in->text(static_cast<uint64_t>(length), &tokens_.back()));
    }
    return Status();
}

Status Ggml::read_tensor(ByteReader* in) {
    int32_t n_dims, n_name, type, dims[2] = {1, 1};
    SourceTensor tensor;
    MINIGPT_TRY(in->number(&n_dims));
    MINIGPT_TRY(in->number(&n_name));
    MINIGPT_TRY(in->number(&type));
    if (n_dims < 1 || n_dims > 2 || n_name < 1 || n_name > kMaxName) {
        return Status::error(Code::bad_file,
                             "%ld dimensions and a name of %ld bytes before byte "
                             "%llu; expected 1 or 2, and 1 to %ld",
                             static_cast<long>(n_dims), static_cast<long>(n_name), Ull{in->at()},
                             static_cast<long>(kMaxName));
    }
    for (int32_t i = 0; i < n_dims; i++)
        MINIGPT_TRY(in->number(&dims[i]));
    MINIGPT_TRY(in->text(static_cast<uint64_t>(n_name), &tensor.name));
    std::string name = shown(tensor.name);
    if (dims[0] <= 0 || dims[1] <= 0)
        return within(name, Status::error(Code::bad_file, "shape is not positive"));
    for (int32_t i = n_dims; i-- > 0;)
        tensor.shape.push_back(static_cast<uint64_t>(dims[i]));
    const GgufType* known = type < 0 ? nullptr : gguf_type(static_cast<uint32_t>(type));
    if (known == nullptr || !known->plain || *known->plain == ElementType::bf16) {
        return Status::error(Code::not_supported, "%s: type is %ld; expected 0 (f32) or 1 (f16)",
                             name.c_str(), static_cast<long>(type));
    }
    tensor.dtype = known->name;
    tensor.type = known->plain;
    tensor.n_bytes =
        static_cast<uint64_t>(dims[0]) * static_cast<uint64_t>(dims[1]) * known->block_bytes;
    if (tensor.n_bytes > in->left()) {
        return Status::error(Code::bad_file, "%s %s %s has %llu byte%s; the file has %llu more",
                             name.c_str(), known->name, shape_text(tensor.shape).c_str(),
                             Ull{tensor.n_bytes}, plural(tensor.n_bytes), Ull{in->left()});
    }
    offsets_.push_back(in->at());
    in->seek(in->at() + tensor.n_bytes);
    tensors.push_back(std::move(tensor));
    return Status();
}

Status Ggml::read_tensors(ByteReader* in) {
    std::set<std::string> names;
    while (in->left() > 0) {
        if (tensors.size() == kMaxTensors)
            return Status::error(Code::bad_file, "over %zu tensors", kMaxTensors);
        MINIGPT_TRY(read_tensor(in));
        const std::string& name = tensors.back().name;
        if (!names.insert(name).second)
            return Status::error(Code::bad_file, "the tensor %s stands twice", shown(name).c_str());
    }
    return Status();
}

// Which way round matrices are is told by c_attn, which is never square.
void Ggml::choose_dialect() {
    dialect = &kGgml;
    for (const SourceTensor& t : tensors) {
        if (t.name == "model/h0/attn/c_attn/w" && t.shape.size() == 2 &&
            t.shape[0] == 3 * t.shape[1])
            dialect = &kGgmlLinear;
    }
}

Status Ggml::open(const std::string& path, const OpenOptions& options) {
    path_ = path;
    files.push_back(path);
    format = "ggml";
    MINIGPT_TRY(file_.open(path));
    ByteReader in(&file_, kMaxHeader, kMaxText);
    MINIGPT_TRY(read_sizes(&in));
    MINIGPT_TRY(read_tokens(&in));
    MINIGPT_TRY(read_tensors(&in));
    choose_dialect();
    MINIGPT_TRY(infer_sizes(this));
    MINIGPT_TRY(infer_tied(this));
    if (!options.vocab.empty())
        return load_vocabulary(options.vocab, &vocabulary);
    if (tokens_.empty())
        return find_vocabulary(folder_of(path), &vocabulary);
    MINIGPT_TRY(recover_vocabulary("its tokens", tokens_, {}, &vocabulary));
    tokens_.clear();
    return Status();
}

Status Ggml::read(size_t index, Scratch* scratch, ArrayView* array) {
    const SourceTensor& t = tensors[index];
    MINIGPT_TRY(scratch->reserve(t.n_bytes));
    Status status = file_.read(offsets_[index], scratch->data(), static_cast<size_t>(t.n_bytes));
    MINIGPT_TRY(within(name_of_path(path_), within(shown(t.name), status)));
    size_t n_rows = static_cast<size_t>(t.shape[0]);
    *array = t.shape.size() == 1 ? ArrayView::vector(scratch->data(), n_rows, *t.type)
                                 : ArrayView::matrix(scratch->data(), n_rows,
                                                     static_cast<size_t>(t.shape[1]), *t.type);
    return Status();
}

}  // namespace

Status open_ggml(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Ggml>();
    MINIGPT_TRY(within(name_of_path(path), opened->open(path, options)));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
