// GPT-2's own vocabulary, for checkpoints that lie without one.
#include <algorithm>

#include "common/file.h"
#include "convert/vocabulary/vocabulary.h"

extern "C" const char minigpt_gpt2_merges[];  // gpt2_merges.S
extern "C" const char minigpt_gpt2_merges_end[];

namespace minigpt::convert {
namespace {

Status read_merges(RawVocabulary* raw) {
    raw->source = raw->merges_source = "GPT-2's own";
    raw->only_merges = true;
    std::string text(minigpt_gpt2_merges, minigpt_gpt2_merges_end);
    return within(raw->source, parse_merges(text, raw));
}

}  // namespace

Status gpt2_vocabulary(Vocabulary* vocabulary) {
    RawVocabulary raw;
    MINIGPT_TRY(read_merges(&raw));
    return finish_vocabulary(std::move(raw), vocabulary);
}

bool is_cut_gpt2(const std::vector<RawMerge>& merges) {
    RawVocabulary whole;
    if (!read_merges(&whole).ok() || merges.size() >= whole.merges.size())
        return false;
    return std::equal(merges.begin(), merges.end(), whole.merges.begin(),
                      [](const RawMerge& a, const RawMerge& b) {
                          return a.left == b.left && a.right == b.right;
                      });
}

}  // namespace minigpt::convert
