// GPT-2's own vocabulary, for checkpoints that lie without one.
#include "file.h"
#include "vocabulary.h"

extern "C" const char minigpt_gpt2_merges[];  // gpt2_merges.S
extern "C" const char minigpt_gpt2_merges_end[];

namespace minigpt::convert {

Status gpt2_vocabulary(Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = raw.merges_source = "GPT-2's own";
    raw.only_merges = true;
    std::string text(minigpt_gpt2_merges, minigpt_gpt2_merges_end);
    MINIGPT_TRY(within(raw.source, parse_merges(text, &raw)));
    return finish_vocabulary(std::move(raw), vocabulary);
}

}  // namespace minigpt::convert
