// The command line of train.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "minigpt/config.h"
#include "networks/config.h"

namespace minigpt::train {

struct Options {
    std::string program = "train";  // as it was called
    std::string text;               // the path
    std::string output;             // MODEL.mgpt; .state and .svg lie beside
    std::string resume;             // empty: a new run
    std::string vocab = "char";     // or a weight file whose vocabulary is used
    networks::TrainConfig config;
    std::optional<ElementType> type;  // of the weight file; unset: f32
    size_t n_threads = 0;             // 0: one per physical core
    std::string isa;                  // empty: the best
    size_t n_sample = 100;            // tokens of the text that each evaluation shows
    size_t stop_after = 0;            // iterations; 0: no stop before the end
    size_t n_replies = 0;             // not 0: the returns desk's text is wanted, and nothing else
    bool force = false;               // begin anew where an unfinished run's state lies
    std::optional<std::string> answer;  // help or version: to print, instead of a run
    std::vector<std::string> again;     // the words that a resumed run is given, too, but --resume
};

// args: what follows the program's name. Throws tools::Error; what would be ignored is a misuse,
// too.
Options parse(const std::vector<std::string>& args);

}  // namespace minigpt::train
