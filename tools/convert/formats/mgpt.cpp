// Our own weight file as a source: to be listed, to get another type, to go back to Hugging Face.
#include "common/file.h"
#include "convert/formats/readers.h"
#include "minigpt/compute.h"
#include "minigpt/model.h"
#include "minigpt/tokenizer.h"

namespace minigpt::convert {
namespace {

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
        out.is_quantized = bytes_of(t.type) == 0;
        out.type = out.is_quantized ? ElementType::f32 : t.type;
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
    size_t n = shape[0] * shape[1];
    void* to = scratch->data();
    Status status = bytes_of(type) == 2
                        ? model_.read_tensor(t.spec.name, static_cast<uint16_t*>(to), n)
                        : model_.read_tensor(t.spec.name, static_cast<float*>(to), n);
    file_.forget(t.data, t.bytes);
    return status;
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
