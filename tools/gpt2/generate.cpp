// gpt2 generate: continues a prompt, writing the text as it is made.
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <random>

#include "common/error.h"
#include "common/json.h"
#include "common/output.h"
#include "common/program.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/input.h"
#include "gpt2/loaded.h"
#include "minigpt/generate.h"

namespace minigpt::gpt2 {
namespace {

// 53 bits: the seed then survives every JSON reader.
uint64_t seed_from_system() {
    std::random_device device;
    uint64_t high = device(), low = device();
    return (high << 32 | (low & 0xffffffff)) >> 11;
}

const char* finish_name(Finish finish) {
    switch (finish) {
        case Finish::none:
            break;
        case Finish::length:
            return "length";
        case Finish::eos:
            return "eos";
        case Finish::stop_text:
            return "stop";
        case Finish::context_full:
            return "context";
    }
    return "none";
}

std::string decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    std::string text;
    for (int32_t id : ids)
        text += tokenizer.token(id);
    return text;
}

// Whether a reader may see a note on stderr right behind the text: both go to one file, or what
// takes the text may show it on the terminal, too (tee).
bool notes_follow_text() {
    struct stat out, err;
    if (fstat(STDOUT_FILENO, &out) != 0 || fstat(STDERR_FILENO, &err) != 0)
        return false;
    return (out.st_dev == err.st_dev && out.st_ino == err.st_ino) ||
           (isatty(STDERR_FILENO) != 0 && (isatty(STDOUT_FILENO) != 0 || S_ISFIFO(out.st_mode)));
}

// Takes the pieces as they come: prints them, or keeps them for the JSON.
class Printer {
public:
    Printer(const Options& options, const Tokenizer& tokenizer)
        : options_(options), tokenizer_(tokenizer) {}

    void prompt(const std::vector<int32_t>& ids, bool was_empty) {
        prompt_ids_ = ids;
        if (!options_.echo)
            return;
        if (options_.print_ids) {
            for (int32_t id : ids)
                print_id(id);
        } else if (!was_empty) {
            out_.write(decode(tokenizer_, ids));
        }
        out_.flush();
    }

    void piece(const Piece& piece) {
        if (piece.id >= 0)
            ids_.push_back(piece.id);
        if (options_.json) {
            text_ += piece.text;
        } else if (options_.print_ids) {
            if (piece.id >= 0)
                print_id(piece.id);
            out_.flush();
        } else if (!piece.text.empty()) {
            out_.write(piece.text.data(), piece.text.size());
            out_.flush();
        }
    }

    // note: what is to be said on stderr, or "".
    void finish(Finish finish, const std::optional<uint64_t>& seed, const std::string& note) {
        if (options_.print_ids)
            out_.write("\n");
        if (options_.json) {
            bool has_text = tokenizer_.kind() != TokenizerKind::none;
            out_.write("{\"prompt_ids\":" + json_ids(prompt_ids_) + ",\"ids\":" + json_ids(ids_) +
                       ",\"text\":" + (has_text ? json_string(text_) : "null") +
                       ",\"finish\":" + json_string(finish_name(finish)) +
                       ",\"seed\":" + (seed ? std::to_string(*seed) : "null") + "}\n");
        }
        out_.finish();
        bool at_terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
        // The note, or the shell's prompt, then begins its own line; stdout has the text alone.
        if (!out_.is_at_line_start() && (at_terminal || (!note.empty() && notes_follow_text())))
            fputc('\n', stderr);
        if (!note.empty())
            print_line(note);
    }

    size_t n_ids() const { return ids_.size(); }

private:
    void print_id(int32_t id) {
        out_.write((is_first_id_ ? "" : " ") + std::to_string(id));
        is_first_id_ = false;
    }

    const Options& options_;
    const Tokenizer& tokenizer_;
    Output out_;
    bool is_first_id_ = true;
    std::vector<int32_t> prompt_ids_, ids_;
    std::string text_;
};

void refuse_text_without_vocabulary(const Options& options, const Loaded& loaded) {
    if (loaded.tokenizer.kind() != TokenizerKind::none)
        return;
    const char* name = loaded.name.c_str();
    if (!options.stops.empty())
        refuse("%s: the model has no vocabulary for --stop", name);
    if (!options.print_ids && !options.json) {
        refuse(
            "%s: the model has no vocabulary, so it cannot write text (--print-ids writes "
            "ids; %s --vocab makes a file with one)",
            name, convert_name().c_str());
    }
}

GenerateOptions generate_options(const Options& options, const std::vector<std::string_view>& stops,
                                 uint64_t seed) {
    GenerateOptions wanted;
    wanted.n_new = options.n_new;
    wanted.sampler = options.sampler;
    wanted.sampler.seed = seed;
    wanted.stops = stops.data();
    wanted.n_stops = stops.size();
    wanted.overflow = options.overflow;
    wanted.ignore_eos = options.ignore_eos;
    wanted.use_cache = options.use_cache;
    return wanted;
}

}  // namespace

void generate(const Options& options) {
    Input input = read_input(options);
    Loaded loaded(options);
    std::vector<int32_t> ids = to_ids(input, options, loaded);
    bool was_empty = ids.empty();
    make_runnable(&ids, input, loaded);
    refuse_text_without_vocabulary(options, loaded);

    std::optional<uint64_t> seed = options.seed;
    bool chosen = !seed && options.sampler.temperature > 0;
    if (chosen)
        seed = seed_from_system();
    std::vector<std::string_view> stops(options.stops.begin(), options.stops.end());
    GenerateOptions wanted = generate_options(options, stops, seed.value_or(0));

    Session session;
    require(session.create(loaded.model, session_options(options, loaded)), loaded.name);
    Generator generator;
    require(generator.create(session, loaded.tokenizer, wanted), loaded.name);
    require(generator.prompt(ids.data(), ids.size()), input.name);
    if (chosen)
        fprintf(stderr, "seed: %" PRIu64 "\n", *seed);
    Printer printer(options, loaded.tokenizer);
    printer.prompt(ids, was_empty);
    Piece piece;
    do {
        require(generator.next(&piece), loaded.name);
        printer.piece(piece);
    } while (piece.finish == Finish::none);
    std::string note;
    if (piece.finish == Finish::context_full) {
        uint32_t n_ctx = loaded.model.config().n_ctx;
        note = format("the context of %u token%s is full: stopped after %zu of %zu new tokens",
                      n_ctx, plural(n_ctx), printer.n_ids(), options.n_new);
    }
    printer.finish(piece.finish, seed, note);
}

}  // namespace minigpt::gpt2
