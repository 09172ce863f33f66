// A training run in a file: what a resumed run needs to go on as if it had never stopped.
#pragma once

#include <string>

#include "networks/trainer.h"
#include "train/file_lock.h"

namespace minigpt::train {

// Everything but the text, of which it has a hash, and the numbers' places, which follow from the
// configuration.
class State {
public:
    // Of a run as it stands. `text`: what the corpus was made of.
    static State of(const networks::Trainer& trainer, const std::string& text);

    // Replaces the file when it is complete, and moves the lock to the new one. Errors: io.
    Status write(const std::string& path, FileLock* lock = nullptr) const;
    // Errors: io; bad_file (no state of this version, or damaged).
    Status read(const std::string& path);

    // The configuration and the vocabulary with which to make the corpus and the trainer.
    const networks::TrainConfig& config() const { return config_; }
    uint64_t iteration() const;
    Status vocabulary(networks::Vocabulary* vocabulary) const;

    // Errors: bad_text if it is another text than the run's.
    Status check_text(const std::string& text) const;

    // Puts a new trainer of that configuration and corpus where the run was. Errors: bad_file.
    Status restore(networks::Trainer* trainer) const;

private:
    networks::TrainConfig config_;
    uint64_t text_hash_ = 0;
    std::string tables_;   // the vocabulary's
    std::string numbers_;  // of the trainer and its arrays
};

// FNV-1a, 64 bits: Fowler, Noll, Vo 1991.
uint64_t fnv1a(const void* data, size_t n_bytes);

}  // namespace minigpt::train
