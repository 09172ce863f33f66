#include "train/model_file.h"

#include "networks/gpt.h"

namespace minigpt::train {

Status write_model(const std::string& path, const networks::TrainConfig& config,
                   const networks::Network& network, const float* weights,
                   const networks::Vocabulary& vocabulary, ElementType type,
                   const std::string& source) {
    if (config.architecture != networks::Architecture::gpt)
        return Status::error(Code::not_supported, "a weight file has no perceptron");
    const Config shape = model_config(config, network.n_vocab());
    WriterOptions options;
    options.type = type;
    options.tokenizer = vocabulary.tables();
    options.tokenizer_bytes = vocabulary.bytes();
    options.source_format = "training";
    options.source_name = source.c_str();
    options.converter = "minigpt train";
    options.self_test = true;
    Writer writer;
    MINIGPT_TRY(writer.open(path.c_str(), shape, options));
    for (size_t i = 0; i < tensor_count(shape); ++i) {
        const TensorSpec spec = tensor_spec(shape, i);
        const float* data = weights + network.parameters().tensors()[i].offset;
        MINIGPT_TRY(writer.add(
            spec.name, spec.n_dims == 1 ? ArrayView::vector(data, spec.shape[0])
                                        : ArrayView::matrix(data, spec.shape[0], spec.shape[1])));
    }
    return writer.finish();
}

}  // namespace minigpt::train
