// Small models of random weights, written where a test can name them.
#pragma once

#include <string>

#include "tests/temp_folder.h"

namespace minigpt::test {

// bytes: 256 one-byte tokens, a few merges, <|endoftext|> last (id 258); context 16.
// letters: the characters a ... z, space and newline, no <|endoftext|>.
// none: 28 ids without a vocabulary, and 4 rows of padding; an untied head.
enum class Vocabulary { bytes, letters, none };
constexpr int kEos = 258;
constexpr int kContext = 16;

void write_small_model(const std::string& path, Vocabulary vocabulary);

// One of each, removed with it.
struct SmallModels {
    SmallModels() {
        write_small_model(bytes, Vocabulary::bytes);
        write_small_model(letters, Vocabulary::letters);
        write_small_model(none, Vocabulary::none);
    }
    TempFolder folder;
    std::string bytes = folder / "bytes.mgpt";
    std::string letters = folder / "letters.mgpt";
    std::string none = folder / "none.mgpt";
};

}  // namespace minigpt::test
