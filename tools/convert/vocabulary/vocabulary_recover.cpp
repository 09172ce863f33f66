#include "convert/vocabulary/vocabulary.h"

#include <array>
#include <unordered_map>

#include "common/file.h"
#include "common/utf8.h"

namespace minigpt::convert {
namespace {

constexpr size_t kMaxToken = 256;  // GPT-2's longest has 128 bytes
constexpr uint32_t kNoToken = UINT32_MAX;

std::string spelling(const std::string& bytes) {
    std::string text;
    for (char c : bytes)
        text += encode_byte(static_cast<unsigned char>(c));
    return text;
}

Status bad_token(size_t id, const std::string& bytes, const char* what) {
    return Status::error(Code::bad_file, "token %zu, \"%s\", %s", id, shown(bytes).c_str(), what);
}

// The tokens so far, and the pairs that make them.
class Merger {
public:
    explicit Merger(const std::vector<std::string>& tokens) {
        byte_ids_.fill(kNoToken);
        for (size_t i = 0; i < tokens.size(); i++) {
            if (tokens[i].size() == 1)
                byte_ids_[static_cast<unsigned char>(tokens[i][0])] = static_cast<uint32_t>(i);
        }
    }

    bool has_all_bytes() const {
        for (uint32_t id : byte_ids_) {
            if (id == kNoToken)
                return false;
        }
        return true;
    }

    // The parts of a token of several bytes; a pair of lower id is joined first.
    void split(const std::string& bytes, std::vector<uint32_t>* parts) const {
        parts->clear();
        for (char c : bytes)
            parts->push_back(byte_ids_[static_cast<unsigned char>(c)]);
        std::vector<uint32_t> joined(parts->size(), kNoToken);  // of part i and the next
        for (size_t i = 0; i + 1 < parts->size(); i++)
            joined[i] = find((*parts)[i], (*parts)[i + 1]);
        while (parts->size() > 2) {
            size_t best = 0;
            for (size_t i = 1; i + 1 < parts->size(); i++) {
                if (joined[i] < joined[best])
                    best = i;
            }
            if (joined[best] == kNoToken)
                return;
            join(parts, &joined, best);
        }
        // Two that are a token already would be one part.
        if (joined[0] != kNoToken)
            parts->resize(1);
    }

    void add(uint32_t left, uint32_t right, uint32_t id) { pairs_[key(left, right)] = id; }

private:
    static uint64_t key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

    uint32_t find(uint32_t left, uint32_t right) const {
        auto pair = pairs_.find(key(left, right));
        return pair == pairs_.end() ? kNoToken : pair->second;
    }

    void join(std::vector<uint32_t>* parts, std::vector<uint32_t>* joined, size_t i) const {
        (*parts)[i] = (*joined)[i];
        parts->erase(parts->begin() + static_cast<ptrdiff_t>(i) + 1);
        joined->erase(joined->begin() + static_cast<ptrdiff_t>(i) + 1);
        bool is_last = i + 1 == parts->size();
        (*joined)[i] = is_last ? kNoToken : find((*parts)[i], (*parts)[i + 1]);
        if (i > 0)
            (*joined)[i - 1] = find((*parts)[i - 1], (*parts)[i]);
    }

    std::array<uint32_t, 256> byte_ids_;
    std::unordered_map<uint64_t, uint32_t> pairs_;
};

Status check_tokens(const std::vector<std::string>& tokens) {
    std::unordered_map<std::string, size_t> ids;
    for (size_t i = 0; i < tokens.size(); i++) {
        if (tokens[i].empty())
            return Status::error(Code::bad_file, "token %zu is empty", i);
        if (tokens[i].size() > kMaxToken)
            return bad_token(i, tokens[i], "has over 256 bytes");
        auto [entry, is_new] = ids.emplace(tokens[i], i);
        if (!is_new) {
            return Status::error(Code::bad_file, "token %zu, \"%s\", is token %zu, too", i,
                                 shown(tokens[i]).c_str(), entry->second);
        }
    }
    return Status();
}

Status take_characters(const std::vector<std::string>& tokens, std::optional<uint64_t> special,
                       RawVocabulary* raw) {
    for (size_t i = 0; i < tokens.size(); i++) {
        if (!is_utf8(tokens[i]))
            return bad_token(i, tokens[i], "is no character, and not every byte has a token");
        raw->tokens.push_back({tokens[i], i, special && *special == i});
    }
    return Status();
}

Status take_merges(const std::vector<std::string>& tokens, std::optional<uint64_t> special,
                   Merger* merger, RawVocabulary* raw) {
    raw->merges_source = raw->source;
    std::vector<uint32_t> parts;
    for (size_t i = 0; i < tokens.size(); i++) {
        bool is_special = special && *special == i;
        parts.clear();
        if (!is_special && tokens[i].size() > 1) {
            merger->split(tokens[i], &parts);
            is_special = parts.size() != 2 && looks_special(tokens[i]);
        }
        raw->tokens.push_back({is_special ? tokens[i] : spelling(tokens[i]), i, is_special});
        if (is_special || tokens[i].size() == 1)
            continue;
        if (parts.size() != 2) {
            return Status::error(Code::bad_file,
                                 "token %zu, \"%s\", is %zu parts under the tokens before it; a "
                                 "token of a merge is two",
                                 i, shown(tokens[i]).c_str(), parts.size());
        }
        merger->add(parts[0], parts[1], static_cast<uint32_t>(i));
        raw->merges.push_back({spelling(tokens[parts[0]]), spelling(tokens[parts[1]]), i});
    }
    return Status();
}

}  // namespace

Status recover_vocabulary(const std::string& source, const std::vector<std::string>& tokens,
                          std::optional<uint64_t> special, Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = source;
    MINIGPT_TRY(within(source, check_tokens(tokens)));
    Merger merger(tokens);
    Status status = merger.has_all_bytes() ? take_merges(tokens, special, &merger, &raw)
                                           : take_characters(tokens, special, &raw);
    MINIGPT_TRY(within(source, status));
    return finish_vocabulary(std::move(raw), vocabulary);
}

}  // namespace minigpt::convert
