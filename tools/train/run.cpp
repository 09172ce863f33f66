#include "train/run.h"

#include <cmath>
#include <cstdio>

#include "common/error.h"
#include "common/file.h"
#include "common/output_file.h"
#include "common/signals.h"
#include "minigpt/machine_limits.h"
#include "minigpt/model.h"
#include "networks/sample.h"
#include "train/chart.h"
#include "train/model_file.h"
#include "train/places.h"
#include "train/report.h"
#include "train/state.h"

namespace minigpt::train {
namespace {

constexpr int kDone = 0, kRefused = 1, kInterrupted = 130;
constexpr size_t kMaxText = static_cast<size_t>(1) << (sizeof(size_t) == 4 ? 28 : 34);

void complain(const Status& status) {
    tools::print_line(status.message());
}

class Run {
public:
    explicit Run(const Options& options) : options_(options), places_(places_of(options)) {}

    // Everything up to the first iteration.
    Status prepare();
    // Iterations until the end, or until it is stopped.
    Status learn(bool* stopped);
    Status finish();
    // The iteration at which it is saved.
    size_t saved() const { return saved_; }
    void say_how_to_resume() const;

private:
    Status check_places_and_lock();
    Status read_state(State* state);
    Status make_vocabulary(const State& state, networks::Vocabulary* vocabulary) const;
    Status after_evaluation();
    Status save();
    Status write_best();
    Status write_chart() const;
    void show_sample();
    void say_what() const;
    void say_speed();
    bool should_stop() const;
    bool has_model() const { return options_.config.architecture == networks::Architecture::gpt; }

    Options options_;
    Places places_;
    FileLock lock_;  // on places_.state
    size_t saved_ = 0;
    std::string text_;
    Compute compute_;
    networks::Corpus corpus_;
    std::unique_ptr<networks::Trainer> trainer_;
    std::unique_ptr<LiveLine> line_;
};

// The run's own on a resume, else as --vocab says.
Status Run::make_vocabulary(const State& state, networks::Vocabulary* vocabulary) const {
    if (!options_.resume.empty())
        return tools::within(options_.resume, state.vocabulary(vocabulary));
    if (options_.vocab == "char")
        return tools::within(options_.text, vocabulary->of_characters(text_));
    tools::set_mapped_file(options_.vocab);
    Model model;
    MINIGPT_TRY(tools::within(options_.vocab, model.open(options_.vocab.c_str())));
    MINIGPT_TRY(tools::within(options_.vocab, model.check_weights(compute_)));
    size_t bytes = 0;
    const void* tables = model.tokenizer(&bytes);
    return tools::within(options_.vocab, vocabulary->of_tables(tables, bytes));
}

// What cannot be written, or should not, is better known before the training than after.
Status Run::check_places_and_lock() {
    MINIGPT_TRY(check_places(options_));
    MINIGPT_TRY(tools::within(places_.state, lock_.check(places_.state)));
    return check_earlier_run(options_);
}

Status Run::read_state(State* state) {
    MINIGPT_TRY(tools::within(options_.resume, state->read(options_.resume)));
    MINIGPT_TRY(tools::within(options_.text, state->check_text(text_)));
    options_.config = state->config();
    if (!has_model() && options_.type)
        tools::misuse("--type is for a GPT: %s is a perceptron's", options_.resume.c_str());
    return Status();
}

Status Run::prepare() {
    // The same text gives the same file on every machine, unless other bits are asked for.
    const char* isa = options_.isa.empty() ? bit_exact_isa() : options_.isa.c_str();
    Status status = compute_.create(options_.n_threads, isa);
    if (status.code() == Code::bad_argument)
        tools::misuse("--%s", status.message());
    MINIGPT_TRY(status);
    MINIGPT_TRY(check_places_and_lock());
    MINIGPT_TRY(tools::within(options_.text, tools::read_text(options_.text, kMaxText, &text_)));
    if (text_.empty())
        return Status::error(Code::bad_text, "%s: the text is empty", options_.text.c_str());
    State state;
    if (!options_.resume.empty())
        MINIGPT_TRY(read_state(&state));
    networks::Vocabulary vocabulary;
    MINIGPT_TRY(make_vocabulary(state, &vocabulary));
    MINIGPT_TRY(tools::within(
        options_.text, make_corpus(text_, options_.config.val, std::move(vocabulary), &corpus_)));
    MINIGPT_TRY(tools::within(
        options_.text, networks::Trainer::create(options_.config, corpus_, compute_, &trainer_)));
    if (!options_.resume.empty())
        MINIGPT_TRY(tools::within(options_.resume, state.restore(trainer_.get())));
    say_what();
    return save();
}

void Run::say_what() const {
    if (has_model() && !options_.config.mask) {
        tools::print_line("without the mask: gpt2 runs every model with it, so " + options_.output +
                          " will write nonsense there; the losses show the leak");
    }
    printf("%s parameters; %s tokens of %zu kinds to learn from, %s held back\n",
           tools::grouped(trainer_->network().parameters().count()).c_str(),
           tools::grouped(corpus_.n_train).c_str(), corpus_.vocabulary.n_tokens(),
           tools::grouped(corpus_.n_val()).c_str());
    if (options_.n_sample > 0 && !trainer_->is_done())
        printf("samples: the text's own beginning, a bar, and how the model goes on\n");
    fflush(stdout);
}

bool Run::should_stop() const {
    const bool is_far = options_.stop_after != 0 && trainer_->iteration() >= options_.stop_after;
    return tools::is_interrupted() || is_far;
}

Status Run::learn(bool* stopped) {
    const size_t begin = trainer_->iteration();
    line_.reset(new LiveLine);
    while (!trainer_->is_done() && !should_stop()) {
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
    }
    if (trainer_->iteration() > begin) {
        say_speed();
    } else if (trainer_->is_done()) {
        printf("all %zu iterations are done already\n", begin);
    }
    *stopped = !trainer_->is_done();
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
    fflush(stdout);
    show_sample();
    fflush(stdout);
    MINIGPT_TRY(write_chart());
    if (trainer_->is_best())
        MINIGPT_TRY(write_best());
    return save();
}

Status Run::save() {
    MINIGPT_TRY(
        tools::within(places_.state, State::of(*trainer_, text_).write(places_.state, &lock_)));
    saved_ = trainer_->iteration();
    return Status();
}

Status Run::write_chart() const {
    const std::string& path = places_.chart;
    std::string svg = loss_chart(tools::name_of_path(options_.output), trainer_->evaluations());
    tools::OutputFile file;
    MINIGPT_TRY(tools::within(path, file.create(path)));
    MINIGPT_TRY(tools::within(path, file.write(svg.data(), svg.size())));
    return tools::within(path, file.commit());
}

Status Run::write_best() {
    if (!has_model())
        return Status();
    return tools::within(
        options_.output,
        write_model(options_.output, trainer_->config(), trainer_->network(), trainer_->best(),
                    corpus_.vocabulary, options_.type.value_or(ElementType::f32),
                    tools::name_of_path(options_.text)));
}

// From the text's own first line on.
void Run::show_sample() {
    if (options_.n_sample == 0 || !std::isfinite(trainer_->evaluations().back().val))
        return;
    const size_t n_prompt = corpus_.ids.size() < 8 ? corpus_.ids.size() : 8;
    std::vector<int32_t> ids(corpus_.ids.begin(), corpus_.ids.begin() + n_prompt);
    std::string prompt = corpus_.vocabulary.decode(ids), text;
    Status status = sample_text(trainer_->network(), corpus_.vocabulary, prompt, options_.n_sample,
                                trainer_->iteration(), "", &text, tools::is_interrupted);
    text = "    " + prompt + "|" + text + "\n\n";
    if (status.ok())
        fwrite(text.data(), 1, text.size(), stdout);  // with its NUL bytes
}

Status Run::finish() {
    if (!trainer_->has_best()) {
        return Status::error(Code::bad_argument,
                             "no evaluation found a loss that is a finite number: there is no "
                             "model to write; a lower --lr may help");
    }
    trainer_->use_best();
    MINIGPT_TRY(write_best());
    MINIGPT_TRY(write_chart());
    printf("%s: the %s\n", has_model() ? options_.output.c_str() : "a perceptron, no weight file",
           best_text(*trainer_).c_str());
    fflush(stdout);
    // All is written; a text may be long.
    tools::release_interrupts();
    if (tools::is_interrupted())
        return Status();
    const size_t all = static_cast<size_t>(-1);
    printf("%s: %.4f nats a token over all of it, in windows of %zu\n",
           corpus_.n_val() > 0 ? "held back" : "the text", trainer_->validate(all),
           trainer_->config().n_ctx);
    return Status();
}

void Run::say_how_to_resume() const {
    std::string command = tools::shell_word(options_.program);
    for (const std::string& word : options_.again)
        command += " " + tools::shell_word(word);
    command += " --resume " + tools::shell_word(places_.state);
    printf("stopped after iteration %zu; it goes on with\n    %s\n", saved_, command.c_str());
    if (has_model() && !trainer_->has_best()) {
        const bool is_new = tools::path_kind(places_.model) == tools::PathKind::missing;
        printf("%s %s yet: the first evaluation comes after iteration %zu\n",
               is_new ? "there is no" : "this run has written no", options_.output.c_str(),
               options_.config.eval_every);
    }
}

}  // namespace

int run(const Options& options) {
    tools::catch_interrupts();
    Run run(options);
    bool stopped = false;
    Status status = run.prepare();
    if (status.ok())
        status = run.learn(&stopped);
    if (status.ok() && !stopped)
        status = run.finish();
    if (!status.ok())
        complain(status);
    // A full disk may have room later, or another has.
    if (stopped || (status.code() == Code::io && run.saved() > 0))
        run.say_how_to_resume();
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        // Nobody reads the log any more, but the run was for its files: they are all there.
        if (status.ok() && tools::is_output_closed())
            throw tools::ClosedPipe();
        complain(Status::error(Code::io, "standard output: cannot be written"));
        return kRefused;
    }
    if (!status.ok())
        return kRefused;
    return stopped && tools::is_interrupted() ? kInterrupted : kDone;
}

}  // namespace minigpt::train
