#include "minigpt/tokenizer.h"

#include <cinttypes>

#include "minigpt/model.h"
#include "text/merge.h"
#include "text/split.h"
#include "text/tables.h"
#include "text/utf8.h"

namespace minigpt {
namespace {

// Letters, digits, ASCII's signs, dashes, quotes and currencies: nothing that could end, hide or
// turn around the line it is shown in.
bool is_printable(uint32_t c) {
    return class_of(c) == kLetter || class_of(c) == kNumber || (c > 0x20 && c < 0x7f) ||
           (c >= 0x2010 && c <= 0x2027) || (c >= 0x20a0 && c <= 0x20bf);
}

// One call of encode().
struct Encoder {
    const Tables& t;
    const char* begin;  // of the whole text, for the offsets in messages
    const char* end;
    IdSink sink;

    Status put(uint32_t id) {
        if (!put_id(t, &sink, id))
            return put_id_error(t, sink, id);
        return Status();
    }

    Status bpe(const char* p, const char* stop) {
        while (p < stop) {
            size_t n = word_length(p, stop);
            const IndexSlot* slot = n == 1 ? nullptr : find_token(t, p, n);
            if (n == 1) {
                MINIGPT_TRY(put(t.byte_ids[static_cast<unsigned char>(*p)]));
            } else if (slot != nullptr && (slot->id & kWholeWord) != 0) {
                MINIGPT_TRY(put(slot->id & ~kWholeWord));
            } else {
                MINIGPT_TRY(merge_word(t, p, n, &sink));
            }
            p += n;
        }
        return Status();
    }

    Status chars(const char* p, const char* stop) {
        while (p < stop) {
            uint32_t code_point = 0;
            size_t n = decode_utf8(p, stop, &code_point);
            uint32_t id = kNone;
            if (n == 1) {
                id = t.byte_ids[static_cast<unsigned char>(*p)];
            } else if (n > 1) {
                const IndexSlot* slot = find_token(t, p, n);
                if (slot != nullptr && (slot->id & kWholeWord) != 0)
                    id = slot->id & ~kWholeWord;
            }
            if (id == kNone)
                return unknown(p, n, code_point);
            MINIGPT_TRY(put(id));
            p += n;
        }
        return Status();
    }

    Status unknown(const char* p, size_t n, uint32_t code_point) {
        unsigned long long offset = static_cast<unsigned long long>(p - begin);
        if (n == 0) {
            return Status::error(Code::bad_text, "text: byte 0x%02X at byte %llu is not UTF-8",
                                 static_cast<unsigned char>(*p), offset);
        }
        bool shown = is_printable(code_point);
        return Status::error(Code::bad_text,
                             "text: %s%.*s%sU+%04" PRIX32
                             "%s at byte %llu is not in the model's "
                             "vocabulary",
                             shown ? "'" : "", shown ? static_cast<int>(n) : 0, p,
                             shown ? "' (" : "", code_point, shown ? ")" : "", offset);
    }

    Status plain(const char* p, const char* stop) {
        bool is_bpe = t.header->kind == static_cast<uint32_t>(TokenizerKind::bpe);
        return is_bpe ? bpe(p, stop) : chars(p, stop);
    }

    Status with_specials();
};

// Byte `depth` of the special token at `place` in the order of bytes; -1 past its end.
int special_byte(const Tables& t, size_t place, size_t depth) {
    const char* bytes;
    size_t n;
    if (!token_bytes(t, t.specials_by_bytes[place], &bytes, &n) || depth >= n)
        return -1;
    return static_cast<unsigned char>(bytes[depth]);
}

// The first place in begin ... end whose byte `depth` is at least `byte`.
size_t special_bound(const Tables& t, size_t begin, size_t end, size_t depth, int byte) {
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (special_byte(t, middle, depth) < byte) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

// The longest special token that stands at p, and its length; kNone: none does. Narrows the
// sorted list byte by byte; one that ends comes before those that go on.
uint32_t special_at(const Tables& t, const char* p, const char* end, size_t* length) {
    size_t low = 0, high = t.header->n_specials;
    uint32_t id = kNone;
    for (size_t depth = 0; depth < t.header->longest_special && p + depth < end; depth++) {
        int byte = static_cast<unsigned char>(p[depth]);
        low = special_bound(t, low, high, depth, byte);
        high = special_bound(t, low, high, depth, byte + 1);
        if (low == high)
            break;
        if (special_byte(t, low, depth + 1) < 0) {
            id = t.specials_by_bytes[low];
            *length = depth + 1;
        }
    }
    return id;
}

Status Encoder::with_specials() {
    bool begins[256] = {};  // bytes that a special token begins with
    for (uint32_t i = 0; i < t.header->n_specials; i++) {
        int byte = special_byte(t, i, 0);
        if (byte >= 0)
            begins[byte] = true;
    }
    const char* from = begin;  // of the plain text not yet encoded
    for (const char* p = begin; p < end;) {
        size_t length = 0;
        uint32_t id = kNone;
        if (begins[static_cast<unsigned char>(*p)])
            id = special_at(t, p, end, &length);
        if (id == kNone) {
            p++;
            continue;
        }
        MINIGPT_TRY(plain(from, p));
        MINIGPT_TRY(put(id));
        p += length;
        from = p;
    }
    return plain(from, end);
}

// The tables of an open tokenizer: their header has been checked.
Tables tables_of(const unsigned char* data) {
    Tables t;
    lay_out(reinterpret_cast<const TokenizerHeader*>(data), &t);
    return t;
}

}  // namespace

Status Tokenizer::open(const Model& model) {
    size_t bytes = 0;
    const void* tables = model.tokenizer(&bytes);
    Tokenizer opened;
    MINIGPT_TRY(opened.open(tables, bytes));
    if (opened.kind() != TokenizerKind::none && opened.n_tokens() != model.config().n_vocab) {
        return Status::error(Code::bad_file, "tokenizer: n_tokens is %zu, but n_vocab is %" PRIu32,
                             opened.n_tokens(), model.config().n_vocab);
    }
    *this = opened;
    return Status();
}

Status Tokenizer::open(const void* data, size_t bytes) {
    *this = Tokenizer();
    if (bytes == 0)
        return Status();
    if (data == nullptr) {
        return Status::error(Code::bad_argument, "tables: a null pointer, bytes is %zu", bytes);
    }
    Tables t;
    MINIGPT_TRY(open_tables(data, bytes, &t));
    kind_ = static_cast<TokenizerKind>(t.header->kind);
    n_tokens_ = t.header->n_tokens;
    eos_ = t.header->eos;
    tables_ = static_cast<const unsigned char*>(data);
    return Status();
}

bool Tokenizer::is_special(int32_t id) const {
    if (kind_ == TokenizerKind::none || id < 0)
        return false;
    Tables t = tables_of(tables_);
    size_t begin = 0, end = t.header->n_specials;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (t.specials[middle] == static_cast<uint32_t>(id))
            return true;
        if (t.specials[middle] < static_cast<uint32_t>(id)) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return false;
}

std::string_view Tokenizer::token(int32_t id) const {
    const char* bytes;
    size_t n_bytes;
    if (kind_ == TokenizerKind::none || id < 0 ||
        !token_bytes(tables_of(tables_), static_cast<uint32_t>(id), &bytes, &n_bytes))
        return {};
    return {bytes, n_bytes};
}

size_t Tokenizer::n_merges() const {
    return kind_ == TokenizerKind::bpe ? tables_of(tables_).header->n_merges : 0;
}

Status Tokenizer::merges(Merge* merges) const {
    size_t n = n_merges();
    if (n == 0)
        return Status();
    if (merges == nullptr)
        return Status::error(Code::bad_argument, "merges: a null pointer");
    Tables t = tables_of(tables_);
    for (size_t i = 0; i < n; i++)
        merges[i].left = -1;
    size_t n_found = 0;
    for (size_t slot = 0; slot < size_t{1} << t.header->merge_bits; slot++) {
        const MergeSlot& s = t.merges[slot];
        if (s.left == kNone)
            continue;
        bool sound = s.rank < n && merges[s.rank].left < 0 && s.left < n_tokens_ &&
                     s.right < n_tokens_ && s.merged < n_tokens_;
        if (!sound) {
            return Status::error(Code::bad_file,
                                 "tokenizer: merge of %" PRIu32 " and %" PRIu32 ": rank %" PRIu32
                                 ", token %" PRIu32,
                                 s.left, s.right, s.rank, s.merged);
        }
        merges[s.rank] = {static_cast<int32_t>(s.left), static_cast<int32_t>(s.right),
                          static_cast<int32_t>(s.merged)};
        n_found++;
    }
    if (n_found == n)
        return Status();
    return Status::error(Code::bad_file, "tokenizer: %zu merges, expected %zu", n_found, n);
}

int32_t Tokenizer::find(std::string_view bytes) const {
    if (kind_ == TokenizerKind::none || bytes.data() == nullptr)
        return -1;
    const IndexSlot* slot = find_token(tables_of(tables_), bytes.data(), bytes.size());
    return slot == nullptr ? -1 : static_cast<int32_t>(slot->id & ~kWholeWord);
}

Status Tokenizer::encode(std::string_view text, int32_t* ids, size_t capacity, size_t* n_ids,
                         SpecialTokens special) const {
    if (n_ids == nullptr || (ids == nullptr && capacity > 0) ||
        (text.data() == nullptr && !text.empty())) {
        return Status::error(Code::bad_argument, "%s: a null pointer",
                             n_ids == nullptr                 ? "n_ids"
                             : ids == nullptr && capacity > 0 ? "ids"
                                                              : "text");
    }
    *n_ids = 0;
    if (special != SpecialTokens::as_text && special != SpecialTokens::parse) {
        return Status::error(Code::bad_argument, "special: %" PRIu32 ", expected as_text or parse",
                             static_cast<uint32_t>(special));
    }
    if (kind_ == TokenizerKind::none) {
        return Status::error(Code::not_supported, "text: the model has no vocabulary");
    }
    Tables t = tables_of(tables_);
    const char* begin = text.data();
    const char* end = begin + text.size();
    Encoder encoder = {t, begin, end, {ids, capacity, 0}};
    if (special == SpecialTokens::parse && t.header->n_specials > 0) {
        MINIGPT_TRY(encoder.with_specials());
    } else {
        MINIGPT_TRY(encoder.plain(begin, end));
    }
    *n_ids = encoder.sink.n;
    return Status();
}

}  // namespace minigpt
