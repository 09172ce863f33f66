#include "text/merge.h"

#include <doctest/doctest.h>
#include <algorithm>

#include <string>
#include <vector>

#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;
using Strings = std::vector<std::string>;

namespace {

// GPT-2's own loop, as openai/gpt-2's encoder describes it, on strings.
Strings reference(const Vocabulary& v, const std::string& word) {
    Strings parts;
    for (char c : word)
        parts.emplace_back(1, c);
    for (;;) {
        size_t best = v.merges.size();
        auto rank = [&](size_t i) {
            int32_t left = v.ids.at(parts[i]), right = v.ids.at(parts[i + 1]);
            for (size_t r = 0; r < v.merges.size(); r++) {
                if (v.merges[r].left == left && v.merges[r].right == right)
                    return r;
            }
            return v.merges.size();
        };
        for (size_t i = 0; i + 1 < parts.size(); i++)
            best = std::min(best, rank(i));
        if (best == v.merges.size())
            return parts;
        Strings next;
        for (size_t i = 0; i < parts.size();) {
            bool merge = i + 1 < parts.size() && rank(i) == best;
            next.push_back(merge ? parts[i] + parts[i + 1] : parts[i]);
            i += merge ? 2 : 1;
        }
        parts = next;
    }
}

using MergeWord = Status(const Tables&, const char*, size_t, IdSink*);

Strings run(MergeWord* merge, Vocabulary& v, const std::string& word) {
    Tables t;
    lay_out(reinterpret_cast<const TokenizerHeader*>(v.tables.data()), &t);
    std::vector<int32_t> ids(word.size());
    IdSink sink = {ids.data(), ids.size(), 0};
    REQUIRE(merge(t, word.data(), word.size(), &sink).ok());
    Strings parts;
    for (size_t i = 0; i < sink.n; i++) {
        size_t id = static_cast<size_t>(ids[i]);
        parts.push_back(v.bytes.substr(v.offsets[id], v.offsets[id + 1] - v.offsets[id]));
    }
    return parts;
}

// Merges in any order, so that some of low rank need parts that others of high rank make.
void add_random_merges(Vocabulary* v, TestRandom* random, size_t n) {
    Strings known = {"a", "b", "c"};
    for (size_t i = 0; i < n; i++) {
        std::string left = known[random->below(static_cast<uint32_t>(known.size()))];
        std::string right = known[random->below(static_cast<uint32_t>(known.size()))];
        bool twice = false;
        for (const Merge& m : v->merges) {
            twice |= m.left == v->ids.at(left) && m.right == v->ids.at(right);
        }
        if (twice || left.size() + right.size() > 12)
            continue;
        v->merge(left, right);
        known.push_back(left + right);
    }
    for (size_t i = v->merges.size(); i-- > 1;) {
        std::swap(v->merges[i], v->merges[random->below(static_cast<uint32_t>(i + 1))]);
    }
}

}  // namespace

TEST_CASE("merge: a round takes all occurrences of its pair, left to right") {
    Vocabulary v;
    v.add_bytes();
    v.add("ab");
    v.merge("ab", "a");  // of lower rank than the pair that makes "ab"
    v.merge("a", "b");
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    CHECK(run(merge_short_word, v, "abab") == Strings{"ab", "ab"});
    CHECK(run(merge_long_word, v, "abab") == Strings{"ab", "ab"});
    CHECK(run(merge_short_word, v, "aba") == Strings{"aba"});
}

TEST_CASE("merge: short and long words are merged as GPT-2's own loop does") {
    TestRandom random;
    for (int trial = 0; trial < 40; trial++) {
        Vocabulary v;
        v.add_bytes();
        add_random_merges(&v, &random, 25);
        Tokenizer t;
        REQUIRE(v.build(&t).ok());
        for (size_t n : {1, 2, 3, 4, 5, 8, 13, 21, 60}) {
            std::string word;
            for (size_t i = 0; i < n; i++)
                word += static_cast<char>('a' + random.below(3));
            CAPTURE(word);
            Strings expected = reference(v, word);
            CHECK(run(merge_short_word, v, word) == expected);
            CHECK(run(merge_long_word, v, word) == expected);
        }
    }
}

TEST_CASE("merge: both ways agree on GPT-2's vocabulary, at the limit between them too") {
    gpt2_tokenizer();
    TestRandom random;
    const std::string letters = "etaoinshrdlucmfw";
    for (size_t n : {1, 2, 7, 50, 255, 256}) {
        for (int trial = 0; trial < 20; trial++) {
            std::string word;
            for (size_t i = 0; i < n; i++)
                word += letters[random.below(trial % 2 ? 16 : 3)];
            CHECK(run(merge_short_word, gpt2_vocabulary(), word) ==
                  run(merge_long_word, gpt2_vocabulary(), word));
        }
    }
}
