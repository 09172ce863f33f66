#include "run.h"

#include <signal.h>

#include <cstdio>

#include "../convert/file.h"
#include "../convert/output_file.h"
#include "chart.h"
#include "minigpt/limits.h"
#include "minigpt/model.h"
#include "model_file.h"
#include "report.h"
#include "sample.h"
#include "state.h"

namespace minigpt::train {
namespace {

constexpr int kDone = 0, kRefused = 1, kInterrupted = 130;
constexpr size_t kMaxText = static_cast<size_t>(1) << (sizeof(size_t) == 4 ? 28 : 34);

volatile sig_atomic_t interrupted = 0;

// The first Ctrl-C asks to stop, the second does as ever.
void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void complain(const Status& status) {
    fprintf(stderr, "train: %s\n", status.message());
}

class Run {
public:
    explicit Run(const Options& options) : options_(options) {}

    // Everything up to the first iteration.
    Status prepare();
    // Iterations until the end, or until it is stopped.
    Status learn(bool* stopped);
    Status finish();
    void say_how_to_resume() const;

private:
    Status make_vocabulary(const State& state, Vocabulary* vocabulary) const;
    Status after_evaluation();
    Status save();
    Status write_best();
    Status write_chart() const;
    void show_sample();
    void say_speed();
    bool has_model() const { return options_.config.architecture == Architecture::gpt; }
    std::string beside(const char* ending) const { return options_.output + ending; }

    Options options_;
    std::string text_;
    Compute compute_;
    Corpus corpus_;
    std::unique_ptr<Trainer> trainer_;
    std::unique_ptr<LiveLine> line_;
};

// The run's own on a resume, else as --vocab says.
Status Run::make_vocabulary(const State& state, Vocabulary* vocabulary) const {
    if (!options_.resume.empty())
        return convert::within(options_.resume, state.vocabulary(vocabulary));
    if (options_.vocab == "char")
        return convert::within(options_.text, vocabulary->of_characters(text_));
    Model model;
    MINIGPT_TRY(convert::within(options_.vocab, model.open(options_.vocab.c_str())));
    size_t bytes = 0;
    const void* tables = model.tokenizer(&bytes);
    return convert::within(options_.vocab, vocabulary->of_tables(tables, bytes));
}

Status Run::prepare() {
    const char* isa = options_.isa.empty() ? nullptr : options_.isa.c_str();
    MINIGPT_TRY(compute_.create(options_.n_threads, isa));
    MINIGPT_TRY(
        convert::within(options_.text, convert::read_text(options_.text, kMaxText, &text_)));
    if (text_.empty())
        return Status::error(Code::bad_text, "%s: the text is empty", options_.text.c_str());
    State state;
    if (!options_.resume.empty()) {
        MINIGPT_TRY(convert::within(options_.resume, state.read(options_.resume)));
        MINIGPT_TRY(convert::within(options_.text, state.check_text(text_)));
        options_.config = state.config();
    }
    Vocabulary vocabulary;
    MINIGPT_TRY(make_vocabulary(state, &vocabulary));
    MINIGPT_TRY(convert::within(
        options_.text, make_corpus(text_, options_.config.val, std::move(vocabulary), &corpus_)));
    MINIGPT_TRY(convert::within(options_.text,
                                Trainer::create(options_.config, corpus_, compute_, &trainer_)));
    if (!options_.resume.empty())
        MINIGPT_TRY(convert::within(options_.resume, state.restore(trainer_.get())));
    printf("%s parameters; %s tokens of %zu kinds to learn from, %s held back\n",
           convert::grouped(trainer_->network().parameters().count()).c_str(),
           convert::grouped(corpus_.n_train).c_str(), corpus_.vocabulary.n_tokens(),
           convert::grouped(corpus_.n_val()).c_str());
    fflush(stdout);
    // A place that cannot be written is better known before than after.
    return save();
}

Status Run::learn(bool* stopped) {
    const size_t begin = trainer_->iteration();
    line_.reset(new LiveLine);
    *stopped = false;
    while (!trainer_->is_done() && !*stopped) {
        line_->show(*trainer_);
        MINIGPT_TRY(trainer_->step());
        if (!trainer_->evaluations().empty() &&
            trainer_->evaluations().back().iteration == trainer_->iteration()) {
            line_->clear();
            Status status = after_evaluation();
            // A full disk may have room again later: what is learnt is not given up for it.
            if (!status.ok() && !trainer_->is_done())
                complain(status);
        }
        *stopped = interrupted != 0 || trainer_->iteration() == options_.stop_after;
    }
    if (trainer_->iteration() > begin) {
        say_speed();
    } else if (trainer_->is_done()) {
        printf("all %zu iterations are done already\n", begin);
    }
    *stopped = *stopped && !trainer_->is_done();
    return save();
}

// Evaluations and samples count as time, not as tokens.
void Run::say_speed() {
    double rate = line_->rate(*trainer_), peak = 0;
    double flops = rate * trainer_->network().flops_per_token();
    line_->clear();
    printf("%.0f tokens/s, %.1f GFLOP/s", rate, flops / 1e9);
    if (measure_fma(&peak, &compute_).ok())
        printf(", %.2f of the FMA peak", flops / peak);
    printf("\n");
}

Status Run::after_evaluation() {
    printf("%s\n", evaluation_text(*trainer_).c_str());
    show_sample();
    fflush(stdout);
    MINIGPT_TRY(write_chart());
    if (trainer_->is_best())
        MINIGPT_TRY(write_best());
    return save();
}

Status Run::save() {
    std::string path = beside(".state");
    return convert::within(path, State::of(*trainer_, text_).write(path));
}

Status Run::write_chart() const {
    std::string path = beside(".svg"), title = convert::name_of_path(options_.output);
    std::string svg = loss_chart(title, trainer_->evaluations());
    convert::OutputFile file;
    MINIGPT_TRY(convert::within(path, file.create(path)));
    MINIGPT_TRY(convert::within(path, file.write(svg.data(), svg.size())));
    return convert::within(path, file.commit());
}

Status Run::write_best() {
    if (!has_model())
        return Status();
    return convert::within(
        options_.output,
        write_model(options_.output, trainer_->config(), trainer_->network(), trainer_->best(),
                    corpus_.vocabulary, options_.type, convert::name_of_path(options_.text)));
}

// From the text's own first line on.
void Run::show_sample() {
    if (options_.n_sample == 0)
        return;
    const size_t n_prompt = corpus_.ids.size() < 8 ? corpus_.ids.size() : 8;
    std::vector<int32_t> ids(corpus_.ids.begin(), corpus_.ids.begin() + n_prompt);
    std::string prompt = corpus_.vocabulary.decode(ids), text;
    Status status = sample_text(trainer_->network(), corpus_.vocabulary, prompt, options_.n_sample,
                                trainer_->iteration(), "", &text);
    if (status.ok())
        printf("    %s|%s\n\n", prompt.c_str(), text.c_str());
}

Status Run::finish() {
    trainer_->use_best();
    MINIGPT_TRY(write_best());
    MINIGPT_TRY(write_chart());
    const size_t all = static_cast<size_t>(-1);
    printf("held back: %.4f nats a token over all of it, in windows of %zu\n",
           trainer_->validate(all), trainer_->config().n_ctx);
    printf("%s\n", has_model() ? options_.output.c_str() : "a perceptron: no weight file");
    return Status();
}

void Run::say_how_to_resume() const {
    std::string type;
    if (options_.type != ElementType::f32)
        type = std::string(" --type ") + name_of(options_.type);
    printf("stopped after iteration %zu; it goes on with\n    train %s -o %s%s --resume %s\n",
           trainer_->iteration(), options_.text.c_str(), options_.output.c_str(), type.c_str(),
           beside(".state").c_str());
    if (has_model() && trainer_->evaluations().empty()) {
        printf("there is no %s yet: the first evaluation comes after iteration %zu\n",
               options_.output.c_str(), options_.config.eval_every);
    }
}

}  // namespace

int run(const Options& options) {
    catch_interrupts();
    Run run(options);
    bool stopped = false;
    Status status = run.prepare();
    if (status.ok())
        status = run.learn(&stopped);
    if (status.ok() && !stopped)
        status = run.finish();
    if (!status.ok()) {
        complain(status);
        return kRefused;
    }
    if (stopped)
        run.say_how_to_resume();
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        complain(Status::error(Code::io, "standard output: cannot be written"));
        return kRefused;
    }
    return stopped && interrupted != 0 ? kInterrupted : kDone;
}

}  // namespace minigpt::train
