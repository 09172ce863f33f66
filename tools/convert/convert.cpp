#include "convert/convert.h"

#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "common/file.h"
#include "convert/formats/readers.h"
#include "convert/write/export.h"
#include "minigpt/version.h"

namespace minigpt::convert {
namespace {

// build_tokenizer's tables; words, for their alignment.
struct Tables {
    std::vector<uint64_t> words;
    size_t n_bytes = 0;
};

// Reads a plan's tensors in order, each while the one before it is being written. No std::async:
// ARM's oldest C++ library lacks what it takes on the CPUs after.
class ReadAhead {
public:
    ReadAhead(Checkpoint* checkpoint, const std::vector<PlannedTensor>& tensors)
        : checkpoint_(checkpoint), tensors_(tensors) {
        start();
    }

    ~ReadAhead() { wait(); }

    // The next tensor; it lies in memory until the call after.
    Status next(ArrayView* array) {
        wait();
        if (!is_read_)
            read();
        if (failure_)
            std::rethrow_exception(failure_);
        *array = array_;
        n_read_++;
        if (status_.ok())
            start();
        return status_;
    }

private:
    void read() {
        try {
            status_ = checkpoint_->read(tensors_[n_read_].source, &memory_[n_read_ % 2], &array_);
        } catch (...) {
            failure_ = std::current_exception();
        }
        is_read_ = true;
    }

    // Where no thread is to be had, next() reads.
    void start() {
        is_read_ = false;
#if !defined(MINIGPT_NO_threads)
        if (n_read_ == tensors_.size())
            return;
        try {
            reader_ = std::thread([this] { read(); });
        } catch (const std::system_error&) {
        }
#endif
    }

    void wait() {
#if !defined(MINIGPT_NO_threads)
        if (reader_.joinable())
            reader_.join();
#endif
    }

    Checkpoint* checkpoint_;
    const std::vector<PlannedTensor>& tensors_;
    Scratch memory_[2];
    size_t n_read_ = 0;
    bool is_read_ = false;  // what follows is of tensor n_read_
    Status status_;
    ArrayView array_;
    std::exception_ptr failure_;
#if !defined(MINIGPT_NO_threads)
    std::thread reader_;
#endif
};

class Conversion {
public:
    Conversion(const Options& options, Report* report) : options_(options), report_(report) {}

    Failure run(const std::function<void(uint64_t, uint64_t)>& on_progress);

private:
    Status open();
    Status check_tied_copy();
    Status check_output() const;
    Status build_tables(Tables* tables) const;

    const Options& options_;
    Report* report_;
    std::unique_ptr<Checkpoint> checkpoint_;
};

Status Conversion::check_tied_copy() {
    const Plan& plan = report_->plan;
    if (!plan.tied_copy)
        return Status();
    bool same = false;
    MINIGPT_TRY(same_numbers(checkpoint_.get(), *plan.tied_copy, plan.tensors[0].source, &same));
    if (same)
        return Status();
    return Status::error(Code::bad_file, "%s differs from %s, though tie_word_embeddings is true",
                         shown(checkpoint_->tensors[*plan.tied_copy].name).c_str(),
                         shown(checkpoint_->tensors[plan.tensors[0].source].name).c_str());
}

Status Conversion::open() {
    OpenOptions options = {options_.vocab, options_.n_head, options_.activation};
    MINIGPT_TRY(open_checkpoint(options_.source, options, &checkpoint_));
    MINIGPT_TRY(make_plan(*checkpoint_, &report_->plan));
    MINIGPT_TRY(check_tied_copy());
    describe(*checkpoint_, report_);
    report_->type = options_.type.value_or(report_->plan.own_type);
    if (!options_.type && report_->plan.is_quantized)
        report_->advice = "its quantized weights become f32; --type q8 keeps the file small";
    return Status();
}

Status Conversion::check_output() const {
    PathKind kind = path_kind(options_.output);
    if (kind == PathKind::folder) {
        return Status::error(Code::bad_argument, "is a folder; -o takes a file");
    }
    if (kind == PathKind::other)
        return Status::error(Code::bad_argument, "is no regular file");
    for (const std::string& file : checkpoint_->files) {
        if (same_file(file, options_.output)) {
            return Status::error(Code::bad_argument, "is a part of the source; choose another -o");
        }
    }
    return Status();
}

Status Conversion::build_tables(Tables* tables) const {
    TokenizerSpec spec = checkpoint_->vocabulary.spec(checkpoint_->config.eos);
    if (spec.kind == TokenizerKind::none)
        return Status();
    const std::string& source = checkpoint_->vocabulary.source;
    MINIGPT_TRY(within(source, tokenizer_bytes(spec, &tables->n_bytes)));
    tables->words.resize((tables->n_bytes + 7) / 8);
    return within(source, build_tokenizer(spec, tables->words.data(), tables->n_bytes));
}

// An error of one operation, with the path that it is about.
#define CONVERT_TRY(expression, path)                     \
    do {                                                  \
        if (Status status_ = (expression); !status_.ok()) \
            return about((path), status_);                \
    } while (0)

Failure Conversion::run(const std::function<void(uint64_t, uint64_t)>& on_progress) {
    const std::string &source = options_.source, &output = options_.output;
    Tables tables;
    CONVERT_TRY(open(), source);
    std::string exported;
    if (is_export(options_, checkpoint_->format, &exported))
        return export_folder(options_, exported, checkpoint_.get(), on_progress, report_);
    CONVERT_TRY(check_output(), output);
    const Plan& plan = report_->plan;
    ReadAhead reader(checkpoint_.get(), plan.tensors);
    CONVERT_TRY(build_tables(&tables), source);
    std::string source_name = name_of_path(source);
    std::string converter = std::string("libminigpt convert ") + kVersion;
    WriterOptions options;
    options.type = report_->type;
    // Without --type nothing is rounded that the source has in f32.
    const SourceTensor& positions = checkpoint_->tensors[plan.tensors[1].source];
    options.f32_positions = !options_.type && positions.type == ElementType::f32;
    options.tokenizer = tables.words.data();
    options.tokenizer_bytes = tables.n_bytes;
    options.source_format = report_->source_format.c_str();
    options.source_name = source_name.c_str();
    options.converter = converter.c_str();
    options.allow_non_finite = options_.force;
    options.self_test = true;
    CONVERT_TRY(Writer::image_bytes(plan.config, options, &report_->n_output_bytes), source);
    Writer writer;
    CONVERT_TRY(writer.open(output.c_str(), plan.config, options), output);
    uint64_t done = 0;
    for (const PlannedTensor& tensor : plan.tensors) {
        ArrayView array;
        CONVERT_TRY(reader.next(&array), source);
        if (tensor.transposed) {
            std::swap(array.shape[0], array.shape[1]);
            std::swap(array.row_stride, array.col_stride);
        }
        Status status = writer.add(tensor.spec.name, array);
        CONVERT_TRY(status, status.code() == Code::io ? output : source);
        done += checkpoint_->tensors[tensor.source].n_bytes;
        on_progress(done, report_->n_source_bytes);
    }
    CONVERT_TRY(writer.finish(), output);
    report_->n_subnormal = writer.n_subnormal();
    if (!writer.has_self_test())
        report_->notes.push_back("no self-test: this machine cannot run a file of that size");
    return {};
}

#undef CONVERT_TRY

}  // namespace

Failure about(const std::string& path, const Status& status) {
    std::string message = status.message(), name = name_of_path(path);
    for (const std::string& lead : {name + ": ", shown(name) + ": "}) {
        if (path_kind(path) == PathKind::file && message.compare(0, lead.size(), lead) == 0)
            return {Status::error(status.code(), "%s", message.c_str() + lead.size()), path};
    }
    return {status, path};
}

Status Scratch::reserve(uint64_t n_bytes) {
    if (n_bytes <= n_bytes_)
        return Status();
    data_.reset();
    n_bytes_ = 0;
    if (n_bytes <= SIZE_MAX / 2)
        data_.reset(new (std::nothrow) unsigned char[n_bytes]);
    if (data_ == nullptr) {
        return Status::error(Code::out_of_memory, "no memory for a tensor of %s bytes",
                             grouped(n_bytes).c_str());
    }
    n_bytes_ = n_bytes;
    return Status();
}

void describe(const Checkpoint& checkpoint, Report* report) {
    const Vocabulary& vocabulary = checkpoint.vocabulary;
    const Plan& plan = report->plan;
    report->source_format = checkpoint.format;
    report->vocabulary_kind = vocabulary.kind;
    report->vocabulary_source = vocabulary.source;
    report->n_tokens = vocabulary.n_tokens();
    report->n_merges = vocabulary.merges.size();
    report->n_specials = vocabulary.specials.size();
    report->type = plan.own_type;
    report->notes = checkpoint.notes;
    report->notes.insert(report->notes.end(), plan.notes.begin(), plan.notes.end());
    for (const PlannedTensor& tensor : plan.tensors)
        report->n_source_bytes += checkpoint.tensors[tensor.source].n_bytes;
}

std::string wrong_output(const Options& options) {
    const std::string& output = options.output;
    if (output.empty())
        return "-o '' names no file";
    if (output == "-")
        return "-o - is not standard output: a file is written beside its place and renamed; give "
               "-o OUT.mgpt";
    if (!options.emit.empty())
        return "";
    for (const char* ending : {".gguf", ".ggml", ".pt", ".pth", ".bin", ".npz", ".ckpt", ".index",
                               ".h5", ".msgpack", ".onnx", ".json"}) {
        if (ends_with(output, ending))
            return "-o " + shown(output) + ": " + ending +
                   " is another format's ending; this program writes OUT.mgpt and OUT.safetensors";
    }
    return "";
}

Failure convert(const Options& options,
                const std::function<void(uint64_t done, uint64_t total)>& on_progress,
                Report* report) {
    return Conversion(options, report).run(on_progress);
}

}  // namespace minigpt::convert
