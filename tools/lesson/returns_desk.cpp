// Lesson 8: a word that decides from 28 characters back, trained on the spot.
#include <algorithm>
#include <cmath>
#include <set>

#include "common/error.h"
#include "common/output.h"
#include "lesson/lesson.h"
#include "lesson/returns_desk.h"
#include "networks/sample.h"

namespace minigpt::lesson {
namespace {

using cli::require;
using networks::Reply;
using networks::TrainConfig;

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
        cli::refuse("returns-desk: found %zu new replies, expected %zu", asked.size(), kAsked);
    return asked;
}

void ask_next(const std::vector<Reply>& asked, Trained* model) {
    const networks::Vocabulary& vocabulary = model->trainer->corpus().vocabulary;
    networks::Network& network = model->trainer->network();
    std::vector<float> logits(network.n_vocab());
    for (const Reply& reply : asked) {
        std::vector<int32_t> ids, next;
        require(vocabulary.encode('\n' + reply.opening(), &ids), "an opening");
        require(vocabulary.encode(reply.text.substr(reply.decided_at, 1), &next), "a letter");
        network.logits_after(logits.data(), ids.data(), ids.size());
        double log_p = 0;
        require(log_prob(&log_p, logits.data(), logits.size(), next[0]), "log_prob");
        double p = std::exp(log_p);
        model->right_next += p / static_cast<double>(asked.size());
        model->least_next = std::min(model->least_next, p);
    }
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
    auto run = [&] {
        while (!trainer.is_done())
            require(trainer.step(), name);
    };
    model.seconds = seconds_of(1, run);
    model.train_loss = trainer.evaluations().back().train;
    trainer.use_best();
    model.val_loss = trainer.best_loss();
    ask_next(asked, &model);
    sample_replies(asked, &model);
    page.show("%s: %s parameters, %s characters read, %s", name.c_str(),
              cli::grouped(trainer.network().parameters().count()).c_str(),
              cli::grouped(uint64_t{config.n_iters} * config.n_batch * config.n_ctx).c_str(),
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

}  // namespace

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
        "Replies of a shop about returned orders, %s of them made up. In most a window has passed "
        "or not, and after \"window, so \" comes \"we cannot\" or \"you can\". One word says "
        "which, "
        "and it stands 27 or 29 characters before:",
        cli::grouped(kReplies).c_str());
    page.show("%s\n%s", asked[0].text.c_str(), asked[1].text.c_str());
    page.say(
        "Two models learn from the same text, as many characters of it: a perceptron, which has no "
        "attention and sees the last 8 characters, and one layer of attention that sees 64. The "
        "third is the second without its mask; it reads less than half as much.");
    Trained mlp = trained(page, "perceptron", mlp_config(), corpus, asked);
    Trained attention = trained(page, "attention", attention_config(), corpus, asked);
    Trained unmasked = trained(page, "without mask", unmasked_config(), corpus, asked);

    page.say(
        "Losses are nats a character (a nat is 1.44 bits), of the text that was learnt from and of "
        "a part held out. Then %zu new replies: the probability of the right character after "
        "\"window, so \", the mean and the least of them; and how many the model ends right or "
        "wrong, or with neither answer, if it goes on after \"past\" or \"within\", judged by "
        "rule.",
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
    page.say(
        "Without the mask each position sees the very character it has to predict, and learns to "
        "copy it. When it writes there is none to copy. One reply of each, after the bar:");
    page.show("%s\n%s\n%s", mlp.samples[0].c_str(), attention.samples[0].c_str(),
              unmasked.samples[0].c_str());
    show_attention(page, attention, asked);
}

}  // namespace minigpt::lesson
