// llm.c's models (train_gpt2.py's writer).
//
//     i32[256]  20240326, version (1 f32, 3 f32, 5 bf16), n_ctx, n_vocab, n_layer, n_head, n_embd,
//               n_rows (3 and 5; in 1 the table has n_vocab), zeros
//     numbers   wte, wpe, then each kind of a layer's tensors for all layers together, then ln_f;
//               matrices [n_out, n_in]
#include <algorithm>
#include <cstring>

#include "common/file.h"
#include "convert/formats/readers.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kHeaderInts = 256;
constexpr size_t kHeaderBytes = kHeaderInts * 4;
constexpr int32_t kMagic = 20240326;

// The header's fields by their place.
enum Field { magic, version, n_ctx, n_vocab, n_layer, n_head, n_embd, n_rows };
constexpr const char* kFieldNames[] = {"magic",   "version", "n_ctx",  "n_vocab",
                                       "n_layer", "n_head",  "n_embd", "padded n_vocab"};

// The file's tensors in order: llm.c's names, and the dimensions in units of one layer's sizes.
enum class Size { one, rows, ctx, embd, embd3, embd4 };
constexpr struct {
    const char* name;
    bool per_layer;
    Size rows, cols;
} kKinds[] = {
    {"wte", false, Size::rows, Size::embd},     {"wpe", false, Size::ctx, Size::embd},
    {"ln1w", true, Size::embd, Size::one},      {"ln1b", true, Size::embd, Size::one},
    {"qkvw", true, Size::embd3, Size::embd},    {"qkvb", true, Size::embd3, Size::one},
    {"attprojw", true, Size::embd, Size::embd}, {"attprojb", true, Size::embd, Size::one},
    {"ln2w", true, Size::embd, Size::one},      {"ln2b", true, Size::embd, Size::one},
    {"fcw", true, Size::embd4, Size::embd},     {"fcb", true, Size::embd4, Size::one},
    {"fcprojw", true, Size::embd, Size::embd4}, {"fcprojb", true, Size::embd, Size::one},
    {"lnfw", false, Size::embd, Size::one},     {"lnfb", false, Size::embd, Size::one},
};

uint64_t size_of(Size size, const SourceConfig& c) {
    switch (size) {
        case Size::one:
            return 1;
        case Size::rows:
            return *c.n_rows;
        case Size::ctx:
            return *c.n_ctx;
        case Size::embd:
            return *c.n_embd;
        case Size::embd3:
            return 3 * *c.n_embd;
        case Size::embd4:
            return 4 * *c.n_embd;
    }
    return 0;
}

class LlmC : public Checkpoint {
public:
    Status open(const std::string& path);
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

private:
    Status read_header();
    Status lay_out();

    std::string path_;
    File file_;
    ElementType type_ = ElementType::f32;
    std::vector<uint64_t> offsets_;  // [tensors], in the file
};

Status LlmC::read_header() {
    int32_t header[kHeaderInts];
    if (file_.size() < kHeaderBytes) {
        return Status::error(Code::bad_file, "%llu byte%s; the header alone has %zu",
                             Ull{file_.size()}, plural(file_.size()), kHeaderBytes);
    }
    MINIGPT_TRY(file_.read(0, header, sizeof header));
    if (header[magic] != kMagic) {
        return Status::error(Code::bad_file, "magic is %ld; expected %ld", long{header[magic]},
                             long{kMagic});
    }
    int32_t v = header[version];
    if (v != 1 && v != 3 && v != 5) {
        return Status::error(Code::not_supported,
                             "version is %ld; expected 1 or 3, f32, or 5, bf16", long{v});
    }
    type_ = v == 5 ? ElementType::bf16 : ElementType::f32;
    if (v == 1)
        header[n_rows] = header[n_vocab];
    for (int i = n_ctx; i <= n_rows; i++) {
        if (header[i] > 0)
            continue;
        return Status::error(Code::bad_file, "%s is %ld; expected at least 1", kFieldNames[i],
                             long{header[i]});
    }
    if (header[n_rows] < header[n_vocab]) {
        return Status::error(Code::bad_file, "padded n_vocab is %ld; n_vocab is %ld",
                             long{header[n_rows]}, long{header[n_vocab]});
    }
    auto value = [&](Field field) { return static_cast<uint64_t>(header[field]); };
    config.n_rows = value(n_rows);
    config.n_vocab = value(n_vocab);
    config.n_ctx = value(n_ctx);
    config.n_embd = value(n_embd);
    config.n_head = value(n_head);
    config.n_layer = value(n_layer);
    config.activation = Activation::gelu_tanh;
    config.layer_norm_epsilon = 1e-5;
    config.tied = true;
    Config limits;
    limits.n_rows = static_cast<uint32_t>(header[n_rows]);
    limits.n_vocab = static_cast<uint32_t>(header[n_vocab]);
    limits.n_ctx = static_cast<uint32_t>(header[n_ctx]);
    limits.n_embd = static_cast<uint32_t>(header[n_embd]);
    limits.n_head = static_cast<uint32_t>(header[n_head]);
    limits.n_layer = static_cast<uint32_t>(header[n_layer]);
    limits.n_ff = 4 * limits.n_embd;
    return check(limits);
}

// check() has seen to it that nothing here passes 2^63.
Status LlmC::lay_out() {
    uint64_t at = kHeaderBytes;
    for (const auto& kind : kKinds) {
        uint64_t rows = size_of(kind.rows, config), cols = size_of(kind.cols, config);
        uint64_t n_bytes = rows * cols * bytes_of(type_);
        uint64_t n = kind.per_layer ? *config.n_layer : 1;
        for (uint64_t i = 0; i < n; i++, at += n_bytes) {
            std::string name = kind.name;
            if (kind.per_layer)
                name += "." + std::to_string(i);
            std::vector<uint64_t> shape = {rows};
            if (kind.cols != Size::one)
                shape.push_back(cols);
            tensors.push_back(
                {name, type_ == ElementType::bf16 ? "BF16" : "F32", type_, shape, n_bytes});
            offsets_.push_back(at);
        }
    }
    if (at == file_.size())
        return Status();
    return Status::error(Code::bad_file, "%llu bytes; its header gives %llu", Ull{file_.size()},
                         Ull{at});
}

Status LlmC::open(const std::string& path) {
    path_ = path;
    files.push_back(path);
    format = "llm.c";
    dialect = &kLlmC;
    MINIGPT_TRY(file_.open(path));
    MINIGPT_TRY(read_header());
    return lay_out();
}

Status LlmC::read(size_t index, Scratch* scratch, ArrayView* array) {
    const SourceTensor& tensor = tensors[index];
    size_t n_bytes = static_cast<size_t>(tensor.n_bytes);
    MINIGPT_TRY(scratch->reserve(tensor.n_bytes));
    Status status = file_.read(offsets_[index], scratch->data(), n_bytes);
    MINIGPT_TRY(within(shown(name_of_path(path_)), within(tensor.name, status)));
    size_t rows = static_cast<size_t>(tensor.shape[0]);
    *array =
        tensor.shape.size() == 1
            ? ArrayView::vector(scratch->data(), rows, type_)
            : ArrayView::matrix(scratch->data(), rows, static_cast<size_t>(tensor.shape[1]), type_);
    return Status();
}

}  // namespace

Status open_llmc(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<LlmC>();
    MINIGPT_TRY(within(shown(name_of_path(path)), opened->open(path)));
    if (options.vocab.empty())
        MINIGPT_TRY(find_vocabulary(folder_of(path), &opened->vocabulary));
    else
        MINIGPT_TRY(load_vocabulary(options.vocab, &opened->vocabulary));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
