#include "gpt2/loaded.h"

#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/error.h"
#include "common/program.h"
#include "common/signals.h"
#include "common/text.h"

extern "C" const unsigned char minigpt_bundled_model[];
extern "C" const unsigned char minigpt_bundled_model_end[];

namespace minigpt::gpt2 {
namespace {

constexpr size_t kLogitsBytes = size_t{4} << 20;

void create_compute(const Options& options, Compute* compute) {
    const char* isa = options.isa ? options.isa->c_str() : nullptr;
    Status status = compute->create(options.n_threads, isa);
    if (status.ok())
        return;
    // -t is checked before, so these are of --isa; all else is of the threads.
    const bool is_isa = status.code() == Code::bad_argument || status.code() == Code::not_supported;
    throw Error{status.code() == Code::bad_argument ? kMisused : kRefused,
                (is_isa ? "--" : "") + std::string(status.message())};
}

// Whether a folder or a file of another format has this path.
bool is_other_kind(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0 || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
        return false;
    if (S_ISDIR(info.st_mode))
        return true;
    char head[8] = {};
    FILE* file = fopen(path.c_str(), "rb");
    size_t n = file == nullptr ? 0 : fread(head, 1, sizeof head, file);
    if (file != nullptr)
        fclose(file);
    return n > 0 && memcmp(head, "\x89MGPT\r\n\x1a", sizeof head) != 0;
}

// What lies past 64 bits was read as their end.
std::string id_text(int64_t id) {
    return id == INT64_MAX   ? "2^63 - 1 or more"
           : id == INT64_MIN ? "-2^63 or less"
                             : std::to_string(id);
}

// Rows [n_ids] of sequence 0; logits are wanted from row `first` on.
std::vector<Row> make_rows(const int32_t* ids, size_t n_ids, size_t first) {
    std::vector<Row> rows(n_ids);
    for (size_t i = 0; i < n_ids; i++)
        rows[i] = Row{ids[i], 0, i >= first};
    return rows;
}

}  // namespace

Loaded::Loaded(const Options& options) {
    create_compute(options, &compute);
    if (options.model) {
        name = *options.model;
        set_mapped_file(options.load ? "" : name);
        Status status = options.load ? model.load(name.c_str()) : model.open(name.c_str());
        if (!status.ok() && is_other_kind(name)) {
            refuse("%s: no .mgpt file; if it is a checkpoint, %s %s -o model.mgpt makes one",
                   name.c_str(), convert_name().c_str(), shell_word(name).c_str());
        }
        require(status, name);
    } else {
        name = "the model inside gpt2";
        size_t n_bytes = static_cast<size_t>(minigpt_bundled_model_end - minigpt_bundled_model);
        Status status = model.open(minigpt_bundled_model, n_bytes);
        // Only where the build leaves types out (make WEIGHTS=...).
        if (status.code() == Code::not_supported) {
            refuse("%s: %s; -m takes a file of such a type, as %s --type makes it", name.c_str(),
                   status.message(), convert_name().c_str());
        }
        require(status, name);
    }
    if (options.check_weights)
        require(model.check_weights(compute), name);
    require(tokenizer.open(model), name);
}

std::vector<int32_t> to_ids(const Input& input, const Options& options, const Loaded& loaded) {
    std::vector<int32_t> ids;
    if (!input.is_text) {
        uint32_t n_vocab = loaded.model.config().n_vocab;
        for (size_t i = 0; i < input.ids.size(); i++) {
            if (input.ids[i] < 0 || input.ids[i] >= int64_t{n_vocab}) {
                refuse("%s: number %zu is id %s, expected 0 to %" PRIu32 ", the vocabulary of %s",
                       input.name.c_str(), i + 1, id_text(input.ids[i]).c_str(), n_vocab - 1,
                       loaded.name.c_str());
            }
            ids.push_back(static_cast<int32_t>(input.ids[i]));
        }
        return ids;
    }
    if (loaded.tokenizer.kind() == TokenizerKind::none) {
        refuse(
            "%s: the model has no vocabulary, so it cannot read text (--ids gives "
            "ids, --print-ids shows them; %s --vocab makes a file with one)",
            loaded.name.c_str(), convert_name().c_str());
    }
    // Not a vector: its zeros would touch all of it, and most texts need a quarter.
    std::unique_ptr<int32_t[]> buffer(new int32_t[input.text.size() + 1]);
    size_t n_ids = 0;
    require(
        loaded.tokenizer.encode(input.text, buffer.get(), input.text.size(), &n_ids,
                                options.special ? SpecialTokens::parse : SpecialTokens::as_text),
        input.name);
    return std::vector<int32_t>(buffer.get(), buffer.get() + n_ids);
}

void make_runnable(std::vector<int32_t>* ids, const Input& input, const Loaded& loaded) {
    if (ids->empty()) {
        if (loaded.tokenizer.eos() < 0) {
            refuse("%s: the prompt is empty, and %s has no <|endoftext|> to begin with",
                   input.name.c_str(), loaded.name.c_str());
        }
        ids->push_back(loaded.tokenizer.eos());
    }
    size_t n_ctx = loaded.model.config().n_ctx;
    if (ids->size() > n_ctx) {
        refuse("%s: found %zu tokens, expected at most %zu, the context of %s", input.name.c_str(),
               ids->size(), n_ctx, loaded.name.c_str());
    }
}

SessionOptions session_options(const Options& options, const Loaded& loaded) {
    SessionOptions session;
    // Rows past n_ctx would only cost memory: one sequence never has more at once.
    session.max_rows = std::min<size_t>(options.chunk, loaded.model.config().n_ctx);
    session.kv = options.kv;
    session.compute = &loaded.compute;
    return session;
}

void run_ids(Session& session, const Options& options, const int32_t* ids, size_t n_ids,
             size_t first, const TakeLogits& take) {
    size_t n_vocab = session.config().n_vocab;
    size_t n_wanted = n_ids - first;
    size_t n_rows = std::max<size_t>(1, kLogitsBytes / (n_vocab * sizeof(float)));
    n_rows = options.use_cache ? std::min({n_rows, n_wanted, options.chunk}) : 1;
    std::vector<float> logits(n_rows * n_vocab);
    std::vector<Row> rows = make_rows(ids, n_ids, first);
    auto forward = [&](size_t begin, size_t end, float* out) {
        require(session.forward(rows.data() + begin, end - begin, out), "forward pass");
    };
    require(session.rewind(0), "rewind");
    if (options.use_cache && first > 0)
        forward(0, first, nullptr);
    for (size_t i = first; i < n_ids; i += n_rows) {
        size_t end = std::min(i + n_rows, n_ids);
        if (options.use_cache) {
            forward(i, end, logits.data());
        } else {
            require(session.rewind(0), "rewind");
            forward(0, end, logits.data());
            rows[i].logits = false;  // the next pass runs over it and wants only its own
        }
        for (size_t j = i; j < end; j++)
            take(j, logits.data() + (j - i) * n_vocab);
    }
}

}  // namespace minigpt::gpt2
