#include "convert/vocabulary/vocabulary.h"

#include <algorithm>
#include <array>

#include "common/file.h"
#include "common/utf8.h"

namespace minigpt::convert {
namespace {

constexpr char kEndOfText[] = "<|endoftext|>";
constexpr uint32_t kNoByte = 256;

// encoder.py's bytes_to_unicode, of OpenAI's gpt-2: printable Latin-1 stands for itself, the
// other bytes, in order, are the characters from 256 on.
bool stands_for_itself(uint32_t code) {
    return (code >= 33 && code <= 126) || (code >= 161 && code <= 172) ||
           (code >= 174 && code <= 255);
}

struct ByteEncoder {
    std::array<uint32_t, 256> code;
    std::array<uint32_t, 512> byte;

    ByteEncoder() {
        byte.fill(kNoByte);
        uint32_t next = 256;
        for (uint32_t b = 0; b < 256; b++) {
            code[b] = stands_for_itself(b) ? b : next++;
            byte[code[b]] = b;
        }
    }
};

const ByteEncoder& byte_encoder() {
    static const ByteEncoder encoder;
    return encoder;
}

size_t count_characters(const std::string& text) {
    size_t n = 0;
    for (size_t at = 0; at < text.size(); n++)
        next_code_point(text, &at);
    return n;
}

// Sorts by id, drops tokens that two files list alike, and refuses holes and ids given twice.
Status order_tokens(RawVocabulary* raw) {
    std::vector<RawToken>& tokens = raw->tokens;
    auto before = [](const RawToken& a, const RawToken& b) {
        return a.id != b.id ? a.id < b.id : a.added > b.added;
    };
    if (!std::is_sorted(tokens.begin(), tokens.end(), before)) {
        std::stable_sort(tokens.begin(), tokens.end(), before);
    }
    auto alike = [](const RawToken& a, const RawToken& b) {
        return a.id == b.id && a.text == b.text;
    };
    tokens.erase(std::unique(tokens.begin(), tokens.end(), alike), tokens.end());
    for (size_t i = 0; i < tokens.size(); i++) {
        if (tokens[i].id == i)
            continue;
        if (tokens[i].id < i) {
            return Status::error(Code::bad_file, "%s: id %llu is both \"%s\" and \"%s\"",
                                 raw->source.c_str(), static_cast<unsigned long long>(tokens[i].id),
                                 shown(tokens[i - 1].text).c_str(), shown(tokens[i].text).c_str());
        }
        return Status::error(Code::bad_file, "%s: no token has id %zu, though ids go up to %llu",
                             raw->source.c_str(), i,
                             static_cast<unsigned long long>(tokens.back().id));
    }
    if (!tokens.empty() && tokens.size() < INT32_MAX)
        return Status();
    return Status::error(Code::bad_file, "%s: %zu tokens", raw->source.c_str(), tokens.size());
}

uint64_t hash_of(const std::string& text) {  // FNV-1a
    uint64_t hash = 0xcbf29ce484222325;
    for (char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

// What to look merges up in: tokens that are not added, by text. Sorted by a hash first, so that
// a search touches few texts, and no choice of texts makes it slow.
class TokenIndex {
public:
    explicit TokenIndex(const std::vector<RawToken>& tokens) {
        entries_.reserve(tokens.size());
        for (const RawToken& token : tokens) {
            if (token.added)
                continue;
            entries_.push_back({hash_of(token.text), &token.text, static_cast<int32_t>(token.id)});
        }
        std::sort(entries_.begin(), entries_.end(), less);
    }

    int32_t find(const std::string& text) const {
        Entry wanted = {hash_of(text), &text, -1};
        auto entry = std::lower_bound(entries_.begin(), entries_.end(), wanted, less);
        return entry == entries_.end() || *entry->text != text ? -1 : entry->id;
    }

private:
    struct Entry {
        uint64_t hash;
        const std::string* text;
        int32_t id;
    };

    static bool less(const Entry& a, const Entry& b) {
        return a.hash != b.hash ? a.hash < b.hash : *a.text < *b.text;
    }

    std::vector<Entry> entries_;
};

Status resolve_merges(const RawVocabulary& raw, std::vector<Merge>* merges) {
    TokenIndex index(raw.tokens);
    merges->reserve(raw.merges.size());
    for (const RawMerge& merge : raw.merges) {
        std::string joined = merge.left + merge.right;
        Merge ids = {index.find(merge.left), index.find(merge.right), index.find(joined)};
        const std::string* lost = ids.left < 0     ? &merge.left
                                  : ids.right < 0  ? &merge.right
                                  : ids.merged < 0 ? &joined
                                                   : nullptr;
        if (lost != nullptr) {
            return Status::error(Code::bad_file, "%s: line %zu: \"%s\" is no token of %s",
                                 raw.merges_source.c_str(), merge.line, shown(*lost).c_str(),
                                 raw.source.c_str());
        }
        merges->push_back(ids);
    }
    return Status();
}

bool has_all_bytes(const RawVocabulary& raw) {
    TokenIndex index(raw.tokens);
    for (unsigned b = 0; b < 256; b++) {
        if (index.find(encode_byte(static_cast<unsigned char>(b))) < 0)
            return false;
    }
    return true;
}

// A token of several bytes that is spelled as text is has its merge, or is special: were its merge
// lost, no text would become it any more, and the ids would be others.
Status check_merged(const RawVocabulary& raw, const std::vector<Merge>& merges) {
    std::vector<bool> merged(raw.tokens.size());
    for (const Merge& merge : merges)
        merged[static_cast<size_t>(merge.merged)] = true;
    std::string bytes;
    for (size_t i = 0; i < raw.tokens.size(); i++) {
        const RawToken& token = raw.tokens[i];
        if (merged[i] || token.added || looks_special(token.text) ||
            !decode_bytes(token.text, &bytes) || bytes.size() == 1)
            continue;
        return Status::error(Code::bad_file,
                             "%s: no merge of its %zu makes token %zu of %s, \"%s\": the list is "
                             "cut, or the token is special and belongs in added_tokens.json",
                             raw.merges_source.c_str(), merges.size(), i, raw.source.c_str(),
                             shown(token.text).c_str());
    }
    return Status();
}

Status choose_kind(const RawVocabulary& raw, TokenizerKind* kind) {
    *kind = TokenizerKind::bpe;
    if (!raw.merges.empty())
        return Status();
    // A list of merges that is there and empty: tokens are bytes, if all are there.
    if (!raw.merges_source.empty() && has_all_bytes(raw))
        return Status();
    *kind = TokenizerKind::chars;
    for (const RawToken& token : raw.tokens) {
        if (token.added || looks_special(token.text) || count_characters(token.text) == 1)
            continue;
        std::string lost = raw.merges_source.empty() ? "there are no merges (merges.txt)"
                                                     : "there is no merge in " + raw.merges_source;
        return Status::error(Code::bad_file, "%s: \"%s\" is not one character, and %s to spell it",
                             raw.source.c_str(), shown(token.text).c_str(), lost.c_str());
    }
    return Status();
}

void name_merged_tokens(RawVocabulary* raw) {
    std::vector<RawToken>& tokens = raw->tokens;
    for (bool printable : {true, false}) {
        for (uint32_t b = 0; b < 256; b++) {
            if (stands_for_itself(b) != printable)
                continue;
            tokens.push_back({encode_byte(static_cast<unsigned char>(b)), tokens.size(), false});
        }
    }
    for (const RawMerge& merge : raw->merges) {
        tokens.push_back({merge.left + merge.right, tokens.size(), false});
    }
    tokens.push_back({kEndOfText, tokens.size(), true});
}

// Lays tokens out in bytes. Special is what plain text cannot become: added tokens, texts that
// spell no bytes, and those that neither are one byte (character) nor come from a merge.
void lay_out_tokens(const RawVocabulary& raw, Vocabulary* out) {
    bool bpe = out->kind == TokenizerKind::bpe;
    std::vector<bool> merged(raw.tokens.size());
    for (const Merge& merge : out->merges)
        merged[static_cast<size_t>(merge.merged)] = true;
    out->offsets.push_back(0);
    for (size_t i = 0; i < raw.tokens.size(); i++) {
        const RawToken& token = raw.tokens[i];
        std::string bytes;
        bool spelled = bpe && !token.added && decode_bytes(token.text, &bytes);
        if (!spelled)
            bytes = token.text;
        bool plain = bpe ? spelled && (bytes.size() == 1 || merged[i])
                         : !token.added && count_characters(token.text) == 1;
        if (!plain)
            out->specials.push_back(static_cast<int32_t>(i));
        if (!plain && bytes == kEndOfText)
            out->end_of_text = static_cast<int32_t>(i);
        out->bytes += bytes;
        out->offsets.push_back(out->bytes.size());
    }
}

}  // namespace

bool decode_bytes(const std::string& text, std::string* bytes) {
    const ByteEncoder& encoder = byte_encoder();
    bytes->clear();
    for (size_t at = 0; at < text.size();) {
        uint32_t code = next_code_point(text, &at);
        if (code >= encoder.byte.size() || encoder.byte[code] == kNoByte)
            return false;
        bytes->push_back(static_cast<char>(encoder.byte[code]));
    }
    return true;
}

bool looks_special(const std::string& text) {
    if (text.size() < 3)
        return false;
    return (text.front() == '<' && text.back() == '>') ||
           (text.front() == '[' && text.back() == ']');
}

std::string encode_byte(unsigned char byte) {
    std::string text;
    append_utf8(byte_encoder().code[byte], &text);
    return text;
}

Status finish_vocabulary(RawVocabulary raw, Vocabulary* vocabulary) {
    if (raw.only_merges)
        name_merged_tokens(&raw);
    MINIGPT_TRY(order_tokens(&raw));
    Vocabulary out;
    out.source = raw.source;
    if (!raw.merges_source.empty() && raw.merges_source != raw.source) {
        out.source += ", " + raw.merges_source;
    }
    MINIGPT_TRY(choose_kind(raw, &out.kind));
    MINIGPT_TRY(resolve_merges(raw, &out.merges));
    if (out.kind == TokenizerKind::bpe) {
        MINIGPT_TRY(check_merged(raw, out.merges));
        if (!raw.unsplit.empty()) {
            return Status::error(Code::not_supported,
                                 "%s: pre_tokenizer: found null; expected ByteLevel",
                                 raw.unsplit.c_str());
        }
    }
    out.only_merges = raw.only_merges;
    lay_out_tokens(raw, &out);
    *vocabulary = std::move(out);
    return Status();
}

TokenizerSpec Vocabulary::spec(std::optional<uint64_t> eos) const {
    TokenizerSpec spec;
    spec.kind = kind;
    spec.n_tokens = n_tokens();
    spec.offsets = offsets.data();
    spec.bytes = bytes.data();
    spec.merges = merges.data();
    spec.n_merges = merges.size();
    spec.specials = specials.data();
    spec.n_specials = specials.size();
    spec.eos = end_of_text;
    for (int32_t id : specials) {
        if (eos && *eos == static_cast<uint64_t>(id))
            spec.eos = id;
    }
    return spec;
}

}  // namespace minigpt::convert
