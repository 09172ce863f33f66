// The command line of train.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "minigpt/config.h"
#include "networks/config.h"

namespace minigpt::train {

struct Options {
    std::string program = "train";  // the name it was called by
    std::string text;               // the path
    std::string output;             // MODEL.mgpt; .state and .svg lie beside
    std::string resume;             // empty: a new run
    std::string vocab = "char";     // or the weight file whose vocabulary is used
    networks::TrainConfig config;
    std::optional<ElementType> type;    // of the weight file; unset: f32
    size_t n_threads = 0;               // 0: one per physical core
    std::string isa;                    // empty: the best
    size_t n_sample = 100;              // tokens in the sample of each evaluation
    size_t stop_after = 0;              // iterations; 0: no stop before the end
    size_t n_replies = 0;               // not 0: only write the returns desk's text
    bool force = false;                 // overwrite the state of an unfinished run
    std::optional<std::string> answer;  // the text of help or version, printed instead of a run
    std::vector<std::string> again;     // the words to repeat on resuming, without --resume itself
};

// args: the words after the program's name. Throws tools::Error. An option that would have no
// effect is a misuse, too.
Options parse(const std::vector<std::string>& args);

}  // namespace minigpt::train
