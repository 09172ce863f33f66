// The parts of the returns desk lesson: training models, and a look inside one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/progress.h"
#include "lesson/page.h"
#include "networks/returns_desk.h"
#include "networks/trainer.h"

namespace minigpt::lesson {

// A trained model, and its results on replies that it has not seen.
struct Trained {
    std::string name;
    std::unique_ptr<networks::Trainer> trainer;
    double train_loss = 0, val_loss = 0, seconds = 0;
    double right_next = 0;  // mean probability of the right character after "window, so "
    double least_next = 1;
    double early_right_next = 0;      // right_next after a quarter of the training
    size_t n_right = 0, n_wrong = 0;  // of the sampled replies
    Names samples;
};

// Trains up to an iteration, or to the end, and shows the progress in a line.
void train_until(size_t iteration, const std::string& name, networks::Trainer* trainer,
                 tools::ProgressLine* line);

// The beginning of the reply, including the word that decides.
std::string decided_beginning(const networks::Reply& reply);

// Prints and draws the attention row of the deciding position, and checks claims about it.
// attention: of one layer; asked: replies with a window, of both kinds.
void show_attention(Page& page, const Trained& attention,
                    const std::vector<networks::Reply>& asked);

}  // namespace minigpt::lesson
