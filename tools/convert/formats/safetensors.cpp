#include "convert/formats/safetensors.h"

#include "convert/formats/readers.h"
#include "convert/formats/shards.h"

namespace minigpt::convert {
namespace {

class Safetensors : public Checkpoint {
public:
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;
    Status add_file(const std::string& path);

private:
    struct Place {
        size_t file;      // of paths_
        uint64_t offset;  // in the file
    };

    std::vector<std::string> paths_;
    std::vector<Place> places_;  // [tensors]
    File file_;                  // paths_[open_]
    size_t open_ = SIZE_MAX;
};

Status Safetensors::add_file(const std::string& path) {
    std::string name = name_of_path(path);
    SafetensorsFile header;
    open_ = SIZE_MAX;
    MINIGPT_TRY(within(name, file_.open(path)));
    MINIGPT_TRY(within(name, read_safetensors_header(file_, &header)));
    open_ = paths_.size();
    for (size_t i = 0; i < header.tensors.size(); i++) {
        tensors.push_back(std::move(header.tensors[i]));
        places_.push_back({open_, header.offsets[i]});
    }
    paths_.push_back(path);
    files.push_back(path);
    return Status();
}

Status Safetensors::read(size_t index, Scratch* scratch, ArrayView* array) {
    const SourceTensor& tensor = tensors[index];
    const Place& place = places_[index];
    const std::string& path = paths_[place.file];
    if (open_ != place.file) {
        open_ = SIZE_MAX;
        MINIGPT_TRY(within(name_of_path(path), file_.open(path)));
        open_ = place.file;
    }
    MINIGPT_TRY(scratch->reserve(tensor.n_bytes));
    Status status = file_.read(place.offset, scratch->data(), static_cast<size_t>(tensor.n_bytes));
    MINIGPT_TRY(within(name_of_path(path), within(shown(tensor.name), status)));
    *array = row_major(tensor, scratch->data());
    return Status();
}

// config.json and the vocabulary, which lie beside the tensors.
Status add_companions(const std::string& folder, const OpenOptions& options,
                      Checkpoint* checkpoint) {
    checkpoint->format = "safetensors";
    checkpoint->dialect = &kHuggingFace;
    MINIGPT_TRY(read_hf_config(folder, checkpoint));
    if (options.vocab.empty())
        return find_vocabulary(folder, &checkpoint->vocabulary);
    return load_vocabulary(options.vocab, &checkpoint->vocabulary);
}

}  // namespace

Status open_safetensors(const std::string& path, const OpenOptions& options,
                        std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Safetensors>();
    MINIGPT_TRY(opened->add_file(path));
    MINIGPT_TRY(add_companions(folder_of(path), options, opened.get()));
    *checkpoint = std::move(opened);
    return Status();
}

Status open_safetensors_index(const std::string& path, const OpenOptions& options,
                              std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Safetensors>();
    auto add = [&](const std::string& part) { return opened->add_file(part); };
    MINIGPT_TRY(add_shards(path, opened.get(), add));
    MINIGPT_TRY(add_companions(folder_of(path), options, opened.get()));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
