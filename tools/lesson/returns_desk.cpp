// Lesson 8: a word that decides from 28 characters back, trained on the spot.
#include <algorithm>
#include <cmath>
#include <set>

#include "common/error.h"
#include "common/progress.h"
#include "lesson/lesson.h"
#include "lesson/returns_desk.h"
#include "networks/sample.h"

#include "common/text.h"

namespace minigpt::lesson {
namespace {

using networks::Reply;
using networks::TrainConfig;
using tools::require;

constexpr size_t kReplies = 12000;  // that are learnt from
constexpr size_t kAsked = 100;      // others, with a window, that are asked about
constexpr uint64_t kLearntSeed = 1, kAskedSeed = 2;

TrainConfig attention_config() {
    TrainConfig config;
    config.n_layer = 1;
    config.n_head = 16;
    config.n_embd = 96;
    config.n_ctx = 64;
    config.n_batch = 12;
    config.n_iters = 4000;
    config.lr = 6e-3f;
    config.lr_end = 0.02f;
    config.weight_decay = 0.02f;
    config.val = 0.05;
    config.eval_every = 1000;
    return config;
}

TrainConfig mlp_config() {
    TrainConfig config = attention_config();
    config.architecture = networks::Architecture::mlp;
    config.window = 8;
    config.n_embd = 48;
    config.lr = 1e-3f;
    return config;
}

// It sees what it has to predict; that is learnt sooner.
TrainConfig unmasked_config() {
    TrainConfig config = attention_config();
    config.mask = false;
    config.n_iters = 1600;
    config.eval_every = 400;
    return config;
}

// As many of each side, and none that begins like one that was learnt from.
std::vector<Reply> asked_replies() {
    std::set<std::string> learnt;
    for (const Reply& reply : networks::returns_desk_replies(kLearntSeed, kReplies))
        learnt.insert(reply.opening());
    std::vector<Reply> asked;
    size_t n[2] = {0, 0};  // within, past
    for (Reply& reply : networks::returns_desk_replies(kAskedSeed, 10 * kAsked)) {
        if (reply.has_window() && n[reply.is_past] < kAsked / 2 &&
            learnt.count(reply.opening()) == 0) {
            n[reply.is_past]++;
            asked.push_back(std::move(reply));
        }
    }
    if (asked.size() != kAsked)
        tools::refuse("returns-desk: found %zu new replies, expected %zu", asked.size(), kAsked);
    return asked;
}

// Of the right character after "window, so ", over all that are asked about.
struct Probabilities {
    double mean = 0, least = 1;
};

Probabilities probabilities_of_next(const std::vector<Reply>& asked, networks::Trainer& trainer) {
    Probabilities all;
    const networks::Vocabulary& vocabulary = trainer.corpus().vocabulary;
    networks::Network& network = trainer.network();
    std::vector<float> logits(network.n_vocab());
    for (const Reply& reply : asked) {
        std::vector<int32_t> ids, next;
        require(vocabulary.encode('\n' + reply.opening(), &ids), "an opening");
        require(vocabulary.encode(reply.text.substr(reply.decided_at, 1), &next), "a letter");
        network.logits_after(logits.data(), ids.data(), ids.size());
        double log_p = 0;
        require(log_prob(&log_p, logits.data(), logits.size(), next[0]), "log_prob");
        double p = std::exp(log_p);
        all.mean += p / static_cast<double>(asked.size());
        all.least = std::min(all.least, p);
    }
    return all;
}

void sample_replies(const std::vector<Reply>& asked, Trained* model) {
    for (size_t i = 0; i < asked.size(); i++) {
        std::string beginning = decided_beginning(asked[i]), rest;
        require(
            networks::sample_text(model->trainer->network(), model->trainer->corpus().vocabulary,
                                  '\n' + beginning, 90, i, "\n", &rest),
            "a sample");
        networks::Verdict verdict = networks::judge_reply(beginning + rest);
        model->n_right += verdict == networks::Verdict::right;
        model->n_wrong += verdict == networks::Verdict::wrong;
        model->samples.push_back(beginning + " |" + rest);
    }
}

Trained trained(Page& page, const std::string& name, const TrainConfig& config,
                const networks::Corpus& corpus, const std::vector<Reply>& asked) {
    Trained model;
    model.name = name;
    require(networks::Trainer::create(config, corpus, page.math.compute(), &model.trainer), name);
    networks::Trainer& trainer = *model.trainer;
    {
        tools::ProgressLine line;
        const size_t early = config.n_iters / 4;
        model.seconds = seconds_of(1, [&] { train_until(early, name, &trainer, &line); });
        model.early_right_next = probabilities_of_next(asked, trainer).mean;
        model.seconds += seconds_of(1, [&] { train_until(config.n_iters, name, &trainer, &line); });
    }
    model.train_loss = trainer.evaluations().back().train;
    trainer.use_best();
    model.val_loss = trainer.best_loss();
    Probabilities next = probabilities_of_next(asked, trainer);
    model.right_next = next.mean, model.least_next = next.least;
    sample_replies(asked, &model);
    page.show("%s: %s parameters, %s characters read, %s", name.c_str(),
              tools::grouped(trainer.network().parameters().count()).c_str(),
              tools::grouped(uint64_t{config.n_iters} * config.n_batch * config.n_ctx).c_str(),
              time_text(model.seconds).c_str());
    return model;
}

void show_figures(Page& page, const std::vector<const Trained*>& models) {
    std::vector<Names> cells = {
        {"", "training loss", "held-out", "p(right next)", "least", "right", "wrong", "neither"}};
    for (const Trained* m : models) {
        cells.push_back({m->name, number(m->train_loss), number(m->val_loss), number(m->right_next),
                         number(m->least_next), std::to_string(m->n_right),
                         std::to_string(m->n_wrong),
                         std::to_string(kAsked - m->n_right - m->n_wrong)});
    }
    page.table(cells);
}

// What the text that this lesson follows found with models of its own. Not recomputed here.
constexpr double kTextsRightNext = 0.86;
constexpr size_t kTextsRight[2] = {38, 90};  // perceptron, attention

void show_other_figures(Page& page, const Trained& mlp, const Trained& attention) {
    page.say(
        "This lesson follows a text that did the same with other models. Its figures, beside those "
        "from above:");
    page.table(
        {{"", "here", "in that text"},
         {"attention, p(right next), mean", number(attention.right_next),
          number(kTextsRightNext, 2)},
         {"perceptron, right of 100", std::to_string(mlp.n_right), std::to_string(kTextsRight[0])},
         {"attention, right of 100", std::to_string(attention.n_right),
          std::to_string(kTextsRight[1])}});
    page.claim(mlp.n_right <= 60 && kTextsRight[0] <= 60 && attention.n_right >= 90 &&
                   kTextsRight[1] >= 90,
               "both say the same: the perceptron is not above chance, attention is at 90 or more");
    page.say(
        "Why do the figures differ? This is not known. The replies, the seeds, the sizes of the "
        "models and the length of the training were all chosen here, and any of them may be the "
        "cause. What can be measured is the length. After a quarter of the iterations p(right "
        "next) of attention was %.3f, at the end it is %.3f.",
        attention.early_right_next, attention.right_next);
}

}  // namespace

void train_until(size_t iteration, const std::string& name, networks::Trainer* trainer,
                 tools::ProgressLine* line) {
    while (!trainer->is_done() && trainer->iteration() < iteration) {
        line->show(name, trainer->iteration(), trainer->config().n_iters);
        require(trainer->step(), name);
    }
}

std::string decided_beginning(const Reply& reply) {
    std::string word = reply.is_past ? "past" : "within";
    return reply.text.substr(0, reply.opening().rfind(word) + word.size());
}

void returns_desk(Page& page) {
    page.title("returns-desk",
               "8  The returns desk: the word that decides stands 28 characters back");
    networks::Corpus corpus;
    require(networks::make_corpus(networks::returns_desk_text(kLearntSeed, kReplies),
                                  attention_config().val, &corpus),
            "the replies");
    std::vector<Reply> asked = asked_replies();
    page.say(
        "%s made-up replies of a shop about returned orders. Most of them say that a return window "
        "has passed or has not, and go on after \"window, so \" with \"we cannot\" or \"you "
        "can\". One word decides which. It stands 27 or 29 characters before:",
        tools::grouped(kReplies).c_str());
    page.show("%s\n%s", asked[0].text.c_str(), asked[1].text.c_str());
    page.say(
        "Two models learn from the same text and read equally many characters of it. A perceptron "
        "has no attention and sees the last 8 characters. One layer of attention sees 64. A third "
        "model is the second without its mask; it reads less than half as many characters.");
    Trained mlp = trained(page, "perceptron", mlp_config(), corpus, asked);
    Trained attention = trained(page, "attention", attention_config(), corpus, asked);
    Trained unmasked = trained(page, "without mask", unmasked_config(), corpus, asked);

    page.say(
        "Losses are in nats per character (a nat is 1.44 bits): on the text that was learnt from, "
        "and on a part held out. Then come %zu new replies. p(right next) is the probability of "
        "the right character after \"window, so \": the mean, and the least of all. Last, each "
        "model writes the rest of every reply after \"past\" or \"within\". A fixed rule counts "
        "which end right, which wrong, and which with neither answer.",
        kAsked);
    show_figures(page, {&mlp, &attention, &unmasked});
    page.claim(std::fabs(mlp.right_next - 0.5) <= 0.05,
               "8 characters cannot tell: the perceptron gives the right one %.3f", mlp.right_next);
    page.claim(attention.right_next >= 0.99, "attention can: it gives the right one %.4f",
               attention.right_next);
    page.claim(attention.n_right >= 99, "and %zu of %zu replies are right", attention.n_right,
               kAsked);
    page.claim(unmasked.train_loss < 0.05 && unmasked.n_right <= 10,
               "without the mask the training loss is %.3f, yet only %zu of %zu replies are right",
               unmasked.train_loss, unmasked.n_right, kAsked);
    show_other_figures(page, mlp, attention);
    page.say(
        "Without the mask each position sees the character that it has to predict, and learns to "
        "copy it. When the model writes, that character is not there yet. One reply of each model; "
        "it wrote what follows the bar:");
    page.show("%s\n%s\n%s", mlp.samples[0].c_str(), attention.samples[0].c_str(),
              unmasked.samples[0].c_str());
    show_attention(page, attention, asked);
}

}  // namespace minigpt::lesson
