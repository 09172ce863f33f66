// A training run in a file. A resumed run continues from it as if it had never stopped.
#pragma once

#include <string>

#include "networks/trainer.h"
#include "train/file_lock.h"

namespace minigpt::train {

// The file has everything except the text and the numbers' places. It has a hash of the text. The
// places follow from the configuration.
class State {
public:
    // The state of a run. `text`: the corpus was made from it.
    static State of(const networks::Trainer& trainer, const std::string& text);

    // Writes the state, replaces the file when the new one is complete, and moves the lock to the
    // new one. Errors: io.
    Status write(const std::string& path, FileLock* lock = nullptr) const;
    // Reads a state. Errors: io; bad_file (no state of this version, or damaged).
    Status read(const std::string& path);

    // The configuration and the vocabulary for making the corpus and the trainer.
    const networks::TrainConfig& config() const { return config_; }
    uint64_t iteration() const;
    Status vocabulary(networks::Vocabulary* vocabulary) const;

    // Checks that this is the run's text. Errors: bad_text if it is another.
    Status check_text(const std::string& text) const;

    // Sets a new trainer, made with that configuration and corpus, to the run's state. Errors:
    // bad_file.
    Status restore(networks::Trainer* trainer) const;

private:
    networks::TrainConfig config_;
    uint64_t text_hash_ = 0;
    std::string tables_;   // of the vocabulary
    std::string numbers_;  // of the trainer and its arrays
};

// FNV-1a, 64 bits: Fowler, Noll, Vo 1991.
uint64_t fnv1a(const void* data, size_t n_bytes);

}  // namespace minigpt::train
