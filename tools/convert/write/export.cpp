#include "convert/write/export.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>

#include "common/file.h"
#include "common/output_file.h"

namespace minigpt::convert {
namespace {

constexpr char kWeights[] = "model.safetensors";

// What find_vocabulary and the readers look for beside weights.
constexpr const char* kRead[] = {"config.json",       "vocab.json",     "merges.txt",
                                 "added_tokens.json", "tokenizer.json", "encoder.json",
                                 "vocab.bpe",         "meta.pkl",       "gpt2_tokenizer.bin"};

const char* dtype_of(ElementType type) {
    return type == ElementType::f16 ? "F16" : type == ElementType::bf16 ? "BF16" : "F32";
}

uint64_t bytes_of(const TensorSpec& spec, ElementType type) {
    return uint64_t{spec.shape[0]} * spec.shape[1] * minigpt::bytes_of(type);
}

// Names as transformers' GPT2LMHeadModel saves them.
std::string saved_name(const TensorSpec& spec) {
    std::string name = spec.name;
    return name == "lm_head.weight" ? name : "transformer." + name;
}

std::string header_of(const Plan& plan, const Checkpoint& checkpoint) {
    std::string text = "{\"__metadata__\":{\"format\":\"pt\"}";
    uint64_t at = 0;
    for (const PlannedTensor& t : plan.tensors) {
        ElementType type = *checkpoint.tensors[t.source].type;
        uint64_t end = at + bytes_of(t.spec, type);
        text += ",\"" + saved_name(t.spec) + "\":{\"dtype\":\"" + dtype_of(type) +
                "\",\"shape\":[" + std::to_string(t.spec.shape[0]) +
                (t.spec.n_dims == 2 ? "," + std::to_string(t.spec.shape[1]) : "") +
                "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "]}";
        at = end;
    }
    text += "}";
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
}

// The first number that is NaN or infinite; n: there is none. All exponent bits are set in it.
size_t find_non_finite(const unsigned char* data, size_t n, ElementType type) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0;
        if (type == ElementType::f32) {
            memcpy(&bits, data + i * 4, 4);
            if ((bits & 0x7f800000) == 0x7f800000)
                return i;
            continue;
        }
        memcpy(&bits, data + i * 2, 2);
        uint32_t exponent = type == ElementType::f16 ? 0x7c00 : 0x7f80;
        if ((bits & exponent) == exponent)
            return i;
    }
    return n;
}

// Row-major, one number after the other; `packed` is used where the array is not so.
Status pack(const ArrayView& array, Scratch* packed, const unsigned char** data) {
    *data = static_cast<const unsigned char*>(array.data);
    size_t size = minigpt::bytes_of(array.type), n_rows = array.shape[0], n_cols = array.shape[1];
    bool is_packed = array.row_stride == n_cols && (array.col_stride == 1 || n_cols == 1);
    if (is_packed || (n_rows == 1 && array.col_stride == 1))
        return Status();
    MINIGPT_TRY(packed->reserve(uint64_t{n_rows} * n_cols * size));
    unsigned char* to = packed->data();
    // In squares, so that both sides stay in the cache.
    constexpr size_t kSide = 64;
    for (size_t i0 = 0; i0 < n_rows; i0 += kSide) {
        for (size_t j0 = 0; j0 < n_cols; j0 += kSide) {
            for (size_t i = i0; i < std::min(i0 + kSide, n_rows); i++) {
                const unsigned char* from = *data + i * array.row_stride * size;
                for (size_t j = j0; j < std::min(j0 + kSide, n_cols); j++)
                    memcpy(to + (i * n_cols + j) * size, from + j * array.col_stride * size, size);
            }
        }
    }
    *data = to;
    return Status();
}

// A folder that was made, and is no longer wanted unless it is kept.
struct MadeFolder {
    std::string path;  // empty: none

    ~MadeFolder() {
        if (!path.empty())
            rmdir(path.c_str());  // which fails where anything is in it
    }
};

class Exporter {
public:
    Exporter(const Options& options, const std::string& path, Checkpoint* checkpoint,
             Report* report)
        : options_(options),
          path_(path),
          folder_(folder_of(path)),
          checkpoint_(checkpoint),
          report_(report) {}

    Failure run(const std::function<void(uint64_t, uint64_t)>& on_progress);

private:
    Status make_folder();
    Status check_place() const;
    Status check_files() const;
    Status write_tensor(const PlannedTensor& tensor);
    void take_notes();

    const Options& options_;
    const std::string path_, folder_;
    Checkpoint* checkpoint_;
    Report* report_;
    MadeFolder made_;  // first, so that its files are gone before it
    TextFiles texts_;
    OutputFile weights_;
    Scratch scratch_, packed_;
};

Status Exporter::make_folder() {
    if (path_kind(folder_) == PathKind::folder)
        return Status();
    if (mkdir(folder_.c_str(), 0777) != 0)
        return Status::error(Code::io, "cannot be made: %s", strerror(errno));
    made_.path = folder_;
    return Status();
}

// The source is not written over.
Status Exporter::check_place() const {
    if (options_.type) {
        return Status::error(Code::bad_argument,
                             "--type is for weight files; a safetensors file keeps SRC's types");
    }
    if (path_kind(path_) == PathKind::folder)
        return Status::error(Code::bad_argument, "is a folder");
    for (const std::string& file : checkpoint_->files) {
        if (same_file(file, path_))
            return Status::error(Code::bad_argument, "is a part of the source; choose another -o");
    }
    return Status();
}

// What lies beside must be what would be written, or nothing.
Status Exporter::check_files() const {
    for (const char* name : kRead) {
        std::string path = join(folder_, name), found;
        if (path_kind(path) == PathKind::missing)
            continue;
        auto text = texts_.find(name);
        if (text == texts_.end()) {
            return Status::error(Code::bad_argument,
                                 "holds %s, which would be read with the new files; choose "
                                 "another folder",
                                 name);
        }
        if (read_text(path, kMaxText, &found).ok() && found == text->second)
            continue;
        for (const std::string& file : checkpoint_->files) {
            if (same_file(file, path))
                return Status::error(Code::bad_argument, "%s there is a part of the source", name);
        }
        if (!options_.force) {
            return Status::error(Code::bad_argument,
                                 "holds another %s; --force replaces it, or choose another folder",
                                 name);
        }
    }
    return Status();
}

Status Exporter::write_tensor(const PlannedTensor& tensor) {
    ArrayView array;
    MINIGPT_TRY(checkpoint_->read(tensor.source, &scratch_, &array));
    if (tensor.transposed) {
        std::swap(array.shape[0], array.shape[1]);
        std::swap(array.row_stride, array.col_stride);
    }
    const unsigned char* data;
    MINIGPT_TRY(pack(array, &packed_, &data));
    size_t n = array.shape[0] * array.shape[1];
    size_t bad = options_.force ? n : find_non_finite(data, n, array.type);
    if (bad < n) {
        std::vector<uint64_t> at = {bad / array.shape[1], bad % array.shape[1]};
        at.resize(tensor.spec.n_dims);
        return Status::error(Code::bad_file, "%s: NaN or infinity at %s", tensor.spec.name,
                             shape_text(at).c_str());
    }
    return weights_.write(data, n * minigpt::bytes_of(array.type));
}

void Exporter::take_notes() {
    const Config& c = report_->plan.config;
    if (c.biases != kBiasAll) {
        report_->notes.push_back(
            "transformers' GPT-2 has all biases: those that are absent are zeros there");
    }
    if (c.n_vocab < c.n_rows && report_->vocabulary_kind == TokenizerKind::none) {
        report_->notes.push_back("config.json does not say that only " + grouped(c.n_vocab) +
                                 " rows are tokens");
    }
}

#define EXPORT_TRY(expression, path)                      \
    do {                                                  \
        if (Status status_ = (expression); !status_.ok()) \
            return {status_, (path)};                     \
    } while (0)

Failure Exporter::run(const std::function<void(uint64_t, uint64_t)>& on_progress) {
    const std::string& source = options_.source;
    const Plan& plan = report_->plan;
    const Vocabulary& vocabulary = checkpoint_->vocabulary;
    EXPORT_TRY(check_place(), path_);
    EXPORT_TRY(make_text_files(plan, vocabulary, vocabulary.spec(checkpoint_->config.eos), &texts_),
               source);
    EXPORT_TRY(check_files(), folder_);
    EXPORT_TRY(make_folder(), folder_);
    EXPORT_TRY(weights_.create(path_), path_);
    std::string header = header_of(plan, *checkpoint_);
    uint64_t n_header = header.size(), done = 0;
    EXPORT_TRY(weights_.write(&n_header, sizeof n_header), path_);
    EXPORT_TRY(weights_.write(header.data(), header.size()), path_);
    report_->n_output_bytes = sizeof n_header + n_header;
    for (const PlannedTensor& tensor : plan.tensors) {
        const SourceTensor& from = checkpoint_->tensors[tensor.source];
        Status status = write_tensor(tensor);
        EXPORT_TRY(status, status.code() == Code::io ? path_ : source);
        report_->n_output_bytes += bytes_of(tensor.spec, *from.type);
        done += from.n_bytes;
        on_progress(done, report_->n_source_bytes);
    }
    std::deque<OutputFile> files;
    report_->output = path_ + ", " + grouped(report_->n_output_bytes) + " bytes";
    for (const auto& [name, text] : texts_) {
        std::string path = join(folder_, name);
        files.emplace_back();
        EXPORT_TRY(files.back().create(path), path);
        EXPORT_TRY(files.back().write(text.data(), text.size()), path);
        report_->output += ", " + name;
    }
    for (OutputFile& file : files)
        EXPORT_TRY(file.commit(), folder_);
    EXPORT_TRY(weights_.commit(), path_);
    made_.path.clear();
    take_notes();
    return {};
}

#undef EXPORT_TRY

}  // namespace

bool is_export(const Options& options, const std::string& source_format, std::string* path) {
    const std::string& output = options.output;
    PathKind kind = path_kind(output);
    *path = output;
    if (ends_with(output, ".safetensors") && kind != PathKind::folder)
        return true;
    bool has_ending = name_of_path(output).find('.') != std::string::npos;
    bool is_folder = ends_with(output, "/") || kind == PathKind::folder ||
                     (kind == PathKind::missing && !has_ending && !options.type);
    *path = join(output, kWeights);
    return is_folder && source_format == "mgpt";
}

Failure export_folder(const Options& options, const std::string& path, Checkpoint* checkpoint,
                      const std::function<void(uint64_t, uint64_t)>& on_progress, Report* report) {
    return Exporter(options, path, checkpoint, report).run(on_progress);
}

}  // namespace minigpt::convert
