// Our own weight file as a source: to be listed, to get another type, to go back to Hugging Face.
#include <algorithm>
#include <cstring>

#include "common/file.h"
#include "convert/formats/gguf_types.h"
#include "convert/formats/readers.h"
#include "minigpt/compute.h"
#include "minigpt/model.h"
#include "minigpt/tokenizer.h"

namespace minigpt::convert {
namespace {

// The weight file's panels as matrices again; models/FORMAT.md draws them.

constexpr size_t kPanel = 16;  // outputs
constexpr size_t kGroup = 32;  // inputs that share a scale
constexpr size_t kScaleBytes = kPanel * 2;
constexpr size_t kGroupBytes8 = kScaleBytes + kGroup * kPanel;
constexpr size_t kGroupBytes4 = kScaleBytes + kGroup * kPanel / 2;

// Panels that lie one after the other.
struct Outputs {
    size_t begin, end;
    const unsigned char* from;
};

// A matrix's line of a panel is 16 neighbours of one row.
void unpack_matrix(const TensorInfo& t, const Outputs& outputs, unsigned char* to) {
    const unsigned char* from = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out(), size = bytes_of(t.type);
    for (size_t begin = outputs.begin; begin < outputs.end; begin += kPanel) {
        size_t n = std::min(kPanel, n_out - begin);
        for (size_t k = 0; k < n_in; k++, from += kPanel * size)
            memcpy(to + (k * n_out + begin) * size, from, n * size);
    }
}

// A table's is 16 numbers of a column.
void unpack_table(const TensorInfo& t, const Outputs& outputs, unsigned char* to) {
    const unsigned char* from = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out(), size = bytes_of(t.type);
    for (size_t begin = outputs.begin; begin < outputs.end;
         begin += kPanel, from += kPanel * n_in * size) {
        size_t n = std::min(kPanel, n_out - begin);
        for (size_t j = 0; j < n; j++) {
            unsigned char* row = to + (begin + j) * n_in * size;
            for (size_t k = 0; k < n_in; k++)
                memcpy(row + k * size, from + (k * kPanel + j) * size, size);
        }
    }
}

int code8(const unsigned char* codes, size_t k, size_t out) {
    return static_cast<signed char>(codes[k * kPanel + out]);
}

// Four inputs of an output lie together, and share their bytes with those 16 further on.
int code4(const unsigned char* codes, size_t k, size_t out) {
    unsigned char byte = codes[k % 16 / 4 * 64 + 4 * out + k % 4];
    return (k < 16 ? byte & 15 : byte >> 4) - 8;
}

template <typename Code>
void unpack_groups(const TensorInfo& t, const Outputs& outputs, size_t group_bytes, Code code,
                   unsigned char* to) {
    const unsigned char* group = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out();
    size_t in_stride = t.spec.is_table ? 1 : n_out, out_stride = t.spec.is_table ? n_in : 1;
    for (size_t out0 = outputs.begin; out0 < outputs.end; out0 += kPanel) {
        for (size_t k0 = 0; k0 < n_in; k0 += kGroup, group += group_bytes) {
            float scales[kPanel];
            for (size_t j = 0; j < kPanel; j++) {
                uint16_t half;
                memcpy(&half, group + 2 * j, sizeof half);
                scales[j] = value_of_half(half);
            }
            for (size_t k = 0; k < std::min(kGroup, n_in - k0); k++) {
                for (size_t j = 0; j < std::min(kPanel, n_out - out0); j++) {
                    float x = static_cast<float>(code(group + kScaleBytes, k, j)) * scales[j];
                    size_t at = (k0 + k) * in_stride + (out0 + j) * out_stride;
                    memcpy(to + at * sizeof x, &x, sizeof x);
                }
            }
        }
    }
}

// How many panels a tensor lies in, and the bytes of each.
size_t n_panels(const TensorInfo& tensor) {
    return (tensor.spec.n_out() + kPanel - 1) / kPanel;
}

size_t panel_bytes(const TensorInfo& tensor) {
    return static_cast<size_t>(tensor.bytes / n_panels(tensor));
}

// Panels first ... first + n - 1 of a tensor as their part of a row-major array of its shape: f32,
// f16 and bf16 as they are, q8 and q4 as the f32 that their groups stand for, exactly. Returns
// where the panels begin.
//
//   to  [shape[0], shape[1]]  out, of the whole tensor; any alignment
const unsigned char* unpack_panels(const TensorInfo& tensor, size_t first, size_t n,
                                   unsigned char* to) {
    Outputs outputs = {
        first * kPanel, std::min((first + n) * kPanel, tensor.spec.n_out()),
        static_cast<const unsigned char*>(tensor.data) + first * panel_bytes(tensor)};
    if (tensor.type == ElementType::q8)
        unpack_groups(tensor, outputs, kGroupBytes8, code8, to);
    else if (tensor.type == ElementType::q4)
        unpack_groups(tensor, outputs, kGroupBytes4, code4, to);
    else
        (tensor.spec.is_table ? unpack_table : unpack_matrix)(tensor, outputs, to);
    return outputs.from;
}

class Mgpt : public Checkpoint {
public:
    Status open(const std::string& path, const OpenOptions& options);
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

private:
    void take_config();
    Status take_vocabulary();

    MappedFile file_;  // longer than model_, which lies in it
    Model model_;
    Compute compute_;
    bool is_checked_ = false;
};

void Mgpt::take_config() {
    const Config& c = model_.config();
    config.n_rows = c.n_rows;
    config.n_vocab = c.n_vocab;
    config.n_ctx = c.n_ctx;
    config.n_embd = c.n_embd;
    config.n_head = c.n_head;
    config.n_layer = c.n_layer;
    config.n_ff = c.n_ff;
    config.layer_norm_epsilon = static_cast<double>(c.layer_norm_epsilon);
    config.activation = c.activation;
    config.tied = c.tied;
    config.scale_attn_weights = c.scale_attn_weights;
    config.scale_attn_by_inverse_layer_idx = c.scale_attn_by_inverse_layer_idx;
}

Status Mgpt::take_vocabulary() {
    Tokenizer tokenizer;
    MINIGPT_TRY(tokenizer.open(model_));
    vocabulary.kind = tokenizer.kind();
    if (tokenizer.kind() == TokenizerKind::none)
        return Status();
    vocabulary.source = "its tokenizer";
    vocabulary.offsets.push_back(0);
    size_t n_file_bytes;
    model_.tokenizer(&n_file_bytes);
    for (size_t i = 0; i < tokenizer.n_tokens(); i++) {
        int32_t id = static_cast<int32_t>(i);
        std::string_view bytes = tokenizer.token(id);
        // Tokens that overlap could be far more than the file.
        if (bytes.size() > n_file_bytes - vocabulary.bytes.size())
            return Status::error(Code::bad_file, "tokenizer: token %zu overlaps others", i);
        vocabulary.bytes += bytes;
        vocabulary.offsets.push_back(vocabulary.bytes.size());
        if (tokenizer.is_special(id))
            vocabulary.specials.push_back(id);
    }
    vocabulary.end_of_text = tokenizer.eos();
    if (tokenizer.eos() >= 0)
        config.eos = static_cast<uint64_t>(tokenizer.eos());
    vocabulary.merges.resize(tokenizer.n_merges());
    return tokenizer.merges(vocabulary.merges.data());
}

Status Mgpt::open(const std::string& path, const OpenOptions& options) {
    files.push_back(path);
    format = "mgpt";
    dialect = &kHuggingFace;
    MINIGPT_TRY(file_.open(path));
    MINIGPT_TRY(model_.open(file_.data(), file_.size()));
    for (size_t i = 0; i < model_.n_tensors(); i++) {
        TensorInfo t = model_.tensor(i);
        SourceTensor out;
        out.name = t.spec.name;
        out.dtype = name_of(t.type);
        out.type = bytes_of(t.type) != 0 ? t.type : ElementType::f32;  // groups are unpacked
        out.shape.assign(t.spec.shape, t.spec.shape + t.spec.n_dims);
        out.n_bytes = t.bytes;
        tensors.push_back(std::move(out));
    }
    take_config();
    MINIGPT_TRY(take_vocabulary());
    return options.vocab.empty() ? Status() : load_vocabulary(options.vocab, &vocabulary);
}

Status Mgpt::read(size_t index, Scratch* scratch, ArrayView* array) {
    if (!is_checked_) {
        MINIGPT_TRY(compute_.create(0));
        MINIGPT_TRY(model_.check_sections(compute_));
        is_checked_ = true;
    }
    TensorInfo t = model_.tensor(index);
    Status sound = model_.check_tensor(index, compute_);
    file_.forget(t.data, t.bytes);  // memory grows with a tensor, never with the file
    MINIGPT_TRY(sound);
    ElementType type = *tensors[index].type;
    const size_t* shape = t.spec.shape;
    MINIGPT_TRY(scratch->reserve(uint64_t{shape[0]} * shape[1] * bytes_of(type)));
    *array = t.spec.layout == Layout::vector
                 ? ArrayView::vector(scratch->data(), shape[0], type)
                 : ArrayView::matrix(scratch->data(), shape[0], shape[1], type);
    if (t.spec.layout != Layout::panels) {
        memcpy(scratch->data(), t.data, static_cast<size_t>(t.bytes));
        file_.forget(t.data, t.bytes);
        return Status();
    }
    constexpr size_t kPanels = 256;  // some megabytes of the file at a time
    for (size_t first = 0; first < n_panels(t); first += kPanels) {
        size_t n = std::min(kPanels, n_panels(t) - first);
        const unsigned char* from = unpack_panels(t, first, n, scratch->data());
        file_.forget(from, n * panel_bytes(t));
    }
    return Status();
}

}  // namespace

Status open_mgpt(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Mgpt>();
    MINIGPT_TRY(within(name_of_path(path), opened->open(path, options)));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
