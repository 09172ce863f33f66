// The parts of the returns desk: models that are trained, and a look into one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lesson/page.h"
#include "networks/returns_desk.h"
#include "networks/trainer.h"

namespace minigpt::lesson {

// A model that was trained, and what it does with replies that it has not seen.
struct Trained {
    std::string name;
    std::unique_ptr<networks::Trainer> trainer;
    double train_loss = 0, val_loss = 0, seconds = 0;
    double right_next = 0;  // probability of the right character after "window, so ", the mean
    double least_next = 1;
    size_t n_right = 0, n_wrong = 0;  // of the sampled replies
    Names samples;
};

// The reply's beginning, up to and with the word that decides.
std::string decided_beginning(const networks::Reply& reply);

// The attention row of the deciding position, printed, claimed and drawn. attention: of one layer;
// asked: replies with a window, of both kinds.
void show_attention(Page& page, const Trained& attention,
                    const std::vector<networks::Reply>& asked);

}  // namespace minigpt::lesson
