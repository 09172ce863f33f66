#include "convert/formats/tensorflow.h"
#include "convert/formats/readers.h"

#include <algorithm>
#include <cstdio>

#include "common/file.h"
#include "convert/codecs/crc.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr char kIndexEnding[] = ".index";

// What trainers save beside the weights: the last parts of such names.
constexpr const char* kAside[] = {
    "global_step",
    "save_counter",
    "beta1_power",
    "beta2_power",
    "Adam",
    "Adam_1",
    "Momentum",
    "Adagrad",
    "RMSProp",
    "RMSProp_1",
    "_CHECKPOINTABLE_OBJECT_GRAPH",
};

bool is_aside(const std::string& name) {
    std::string last = name.substr(name.rfind('/') + 1);
    return std::find(std::begin(kAside), std::end(kAside), last) != std::end(kAside);
}

// A slice of a partitioned variable is listed under a key that begins so.
bool is_slice_key(const std::string& key) {
    return key[0] == '\0';
}

std::optional<ElementType> element_type(uint64_t dtype) {
    switch (dtype) {
        case kDtFloat:
            return ElementType::f32;
        case kDtHalf:
            return ElementType::f16;
        case kDtBfloat16:
            return ElementType::bf16;
        default:
            return {};
    }
}

class TensorFlow : public Checkpoint {
public:
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;
    Status open(const std::string& path);

private:
    struct Place {
        uint64_t shard;
        uint64_t offset;
        uint32_t crc;  // masked
    };

    Status open_shards(const std::string& prefix, const std::string& header);
    Status take_entry(const std::string& name, const std::string& message);
    Status check_place(const std::string& name, const BundleEntry& entry) const;
    Status check_overlaps() const;
    void note_aside();

    std::vector<std::string> shards_;  // paths
    std::vector<uint64_t> sizes_;      // [shards]
    std::vector<Place> places_;        // [tensors]
    std::vector<std::string> aside_;
    bool has_slices_ = false, has_sliced_ = false;
    File file_;  // shards_[open_]
    size_t open_ = SIZE_MAX;
};

Status TensorFlow::open_shards(const std::string& prefix, const std::string& header) {
    uint64_t n_shards;
    MINIGPT_TRY(within("header", parse_bundle_header(header, &n_shards)));
    for (uint64_t i = 0; i < n_shards; i++) {
        char ending[64];
        snprintf(ending, sizeof ending, ".data-%05llu-of-%05llu", Ull{i}, Ull{n_shards});
        std::string path = prefix + ending;
        if (path_kind(path) == PathKind::missing) {
            return Status::error(Code::bad_file, "%s is missing, of %llu shard%s",
                                 shown(name_of_path(path)).c_str(), Ull{n_shards},
                                 plural(n_shards));
        }
        MINIGPT_TRY(within(shown(name_of_path(path)), file_.open(path)));
        shards_.push_back(path);
        sizes_.push_back(file_.size());
        files.push_back(path);
    }
    open_ = shards_.size() - 1;
    return Status();
}

Status TensorFlow::check_place(const std::string& name, const BundleEntry& entry) const {
    if (entry.shard >= shards_.size()) {
        return Status::error(Code::bad_file, "%s: shard_id is %llu, of %zu shard%s",
                             shown(name).c_str(), Ull{entry.shard}, shards_.size(),
                             plural(shards_.size()));
    }
    uint64_t size = sizes_[static_cast<size_t>(entry.shard)];
    if (entry.size <= size && entry.offset <= size - entry.size)
        return Status();
    return Status::error(
        Code::bad_file, "%s: %llu byte%s at byte %llu; %s has %llu", shown(name).c_str(),
        Ull{entry.size}, plural(entry.size), Ull{entry.offset},
        name_of_path(shards_[static_cast<size_t>(entry.shard)]).c_str(), Ull{size});
}

// The length that type and shape give is the entry's; types that are no weight's have no length
// here.
Status check_size(const std::string& name, ElementType type, const BundleEntry& entry) {
    uint64_t n_bytes = bytes_of(type);
    for (uint64_t n : entry.shape) {
        if (n != 0 && n_bytes > UINT64_MAX / n) {
            return Status::error(Code::bad_file, "%s: shape %s multiplies past 2^64",
                                 shown(name).c_str(), shape_text(entry.shape).c_str());
        }
        n_bytes *= n;
    }
    if (n_bytes == entry.size && !entry.unknown_rank)
        return Status();
    return Status::error(
        Code::bad_file, "%s: %llu byte%s of data; %s %s has %llu", shown(name).c_str(),
        Ull{entry.size}, plural(entry.size), name_of_dtype(entry.dtype).c_str(),
        entry.unknown_rank ? "of unknown rank" : shape_text(entry.shape).c_str(), Ull{n_bytes});
}

Status TensorFlow::take_entry(const std::string& name, const std::string& message) {
    if (is_slice_key(name)) {
        has_slices_ = true;
        return Status();
    }
    BundleEntry entry;
    MINIGPT_TRY(within(shown(name), parse_bundle_entry(message, &entry)));
    has_sliced_ |= entry.sliced;
    if (is_aside(name)) {
        aside_.push_back(name);
        return Status();
    }
    if (entry.sliced) {
        return Status::error(Code::not_supported,
                             "%s is saved in slices, which this program does not read",
                             shown(name).c_str());
    }
    MINIGPT_TRY(check_place(name, entry));
    std::optional<ElementType> type = element_type(entry.dtype);
    if (type)
        MINIGPT_TRY(check_size(name, *type, entry));
    // OpenAI's matrices are convolutions of width 1: [1, n_in, n_out].
    if (entry.shape.size() == 3 && entry.shape[0] == 1)
        entry.shape.erase(entry.shape.begin());
    tensors.push_back({name, name_of_dtype(entry.dtype), type, entry.shape, entry.size});
    places_.push_back({entry.shard, entry.offset, entry.crc});
    return Status();
}

Status TensorFlow::check_overlaps() const {
    std::vector<size_t> order(tensors.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = i;
    auto begin = [&](size_t i) { return std::make_pair(places_[i].shard, places_[i].offset); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return begin(a) < begin(b); });
    for (size_t k = 1; k < order.size(); k++) {
        size_t a = order[k - 1], b = order[k];
        if (places_[a].shard != places_[b].shard ||
            places_[b].offset - places_[a].offset >= tensors[a].n_bytes) {
            continue;
        }
        return Status::error(Code::bad_file, "%s and %s overlap in %s",
                             shown(tensors[a].name).c_str(), shown(tensors[b].name).c_str(),
                             name_of_path(shards_[static_cast<size_t>(places_[a].shard)]).c_str());
    }
    return Status();
}

void TensorFlow::note_aside() {
    if (aside_.empty())
        return;
    notes.push_back(grouped(aside_.size()) +
                    (aside_.size() == 1 ? " tensor is the trainer's: left aside, "
                                        : " tensors are the trainer's: left aside, ") +
                    shown(aside_[0]) + (aside_.size() > 1 ? ", ..." : ""));
}

Status TensorFlow::open(const std::string& path) {
    File index;
    std::string bytes;
    MINIGPT_TRY(index.open(path));
    if (!ends_with(path, kIndexEnding)) {
        return Status::error(Code::not_supported,
                             "a table, but its name does not end in .index: of TensorFlow's "
                             "checkpoints this program reads the second format");
    }
    if (index.size() > kMaxTable) {
        return Status::error(Code::bad_file, "%s bytes; expected at most %s",
                             grouped(index.size()).c_str(), grouped(kMaxTable).c_str());
    }
    bytes.resize(static_cast<size_t>(index.size()));
    MINIGPT_TRY(index.read(0, &bytes[0], bytes.size()));
    files.push_back(path);
    std::string prefix = path.substr(0, path.size() - (sizeof kIndexEnding - 1));
    bool has_header = false;
    MINIGPT_TRY(read_table(bytes, [&](const std::string& key, const std::string& value) {
        if (key.empty()) {
            has_header = true;
            return open_shards(prefix, value);
        }
        if (has_header)
            return take_entry(key, value);
        return Status::error(Code::bad_file, "the header, under the empty key, is missing");
    }));
    if (!has_header)
        return Status::error(Code::bad_file, "the table is empty");
    if (has_slices_ && !has_sliced_)
        return Status::error(Code::bad_file, "slices that belong to no tensor");
    note_aside();
    return check_overlaps();
}

Status TensorFlow::read(size_t index, Scratch* scratch, ArrayView* array) {
    const SourceTensor& tensor = tensors[index];
    const Place& place = places_[index];
    size_t shard = static_cast<size_t>(place.shard);
    std::string name = shown(name_of_path(shards_[shard]));
    if (open_ != shard) {
        open_ = SIZE_MAX;
        MINIGPT_TRY(within(name, file_.open(shards_[shard])));
        open_ = shard;
    }
    MINIGPT_TRY(scratch->reserve(tensor.n_bytes));
    size_t n_bytes = static_cast<size_t>(tensor.n_bytes);
    Status status = file_.read(place.offset, scratch->data(), n_bytes);
    MINIGPT_TRY(within(name, within(shown(tensor.name), status)));
    uint32_t crc = mask_crc32c(crc32c(scratch->data(), n_bytes));
    if (crc != place.crc) {
        return Status::error(Code::bad_file, "%s: %s: checksum is %08lx; its bytes have %08lx",
                             name.c_str(), shown(tensor.name).c_str(),
                             static_cast<unsigned long>(place.crc),
                             static_cast<unsigned long>(crc));
    }
    *array = row_major(tensor, scratch->data());
    return Status();
}

}  // namespace

Status open_tensorflow(const std::string& path, const OpenOptions& options,
                       std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<TensorFlow>();
    std::string folder = folder_of(path), text;
    MINIGPT_TRY(within(shown(name_of_path(path)), opened->open(path)));
    opened->format = "TensorFlow";
    opened->dialect = &kOpenAi;
    SourceConfig& config = opened->config;
    config.activation = Activation::gelu_tanh;
    config.layer_norm_epsilon = 1e-5;
    config.tied = true;
    std::string hparams = join(folder, "hparams.json");
    if (path_kind(hparams) == PathKind::missing) {
        return Status::error(Code::bad_file, "hparams.json is missing beside %s",
                             shown(name_of_path(path)).c_str());
    }
    MINIGPT_TRY(within("hparams.json", read_text(hparams, kMaxText, &text)));
    MINIGPT_TRY(within("hparams.json", parse_hparams(text, &config)));
    opened->files.push_back(hparams);
    if (std::string state = join(folder, "checkpoint"); path_kind(state) == PathKind::file)
        opened->files.push_back(state);
    if (options.vocab.empty())
        MINIGPT_TRY(find_vocabulary(folder, &opened->vocabulary));
    else
        MINIGPT_TRY(load_vocabulary(options.vocab, &opened->vocabulary));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
