// build_tokenizer: from a vocabulary in arrays to the tables of a weight file.
#include <cinttypes>

#include "base/buffer.h"
#include "text/merge.h"
#include "text/tables.h"
#include "text/utf8.h"

namespace minigpt {
namespace {

// The checked vocabulary, and its two hash tables as the file will have them.
struct Plan {
    const TokenizerSpec& spec;
    TokenizerHeader header;
    Buffer<IndexSlot> index;
    Buffer<MergeSlot> merges;
    Buffer<bool> special;  // [n_tokens]
    uint32_t byte_ids[256];

    const char* bytes(size_t id) const { return spec.bytes + spec.offsets[id]; }
    size_t size(size_t id) const {
        return static_cast<size_t>(spec.offsets[id + 1] - spec.offsets[id]);
    }
    bool bpe() const { return spec.kind == TokenizerKind::bpe; }

    Status make();
    Status check_tokens();
    Status check_specials();
    Status check_merges() const;
    Status check_token(size_t id) const;
    Status place_tokens(bool* placed);
    Status place_merges(bool* placed);
};

Status bad_token(size_t id, const char* what) {
    return Status::error(Code::bad_argument, "token %zu: %s", id, what);
}

Status no_memory() {
    return Status::error(Code::out_of_memory, "tokenizer: no memory to build its tables");
}

Status Plan::check_specials() {
    header.n_specials = static_cast<uint32_t>(spec.n_specials);
    if (!special.allocate(spec.n_tokens))
        return no_memory();
    memset(special.data(), 0, spec.n_tokens * sizeof(bool));
    for (size_t i = 0; i < spec.n_specials; i++) {
        int64_t id = spec.specials[i];
        if (id < 0 || id >= static_cast<int64_t>(spec.n_tokens)) {
            return Status::error(Code::bad_argument, "special token %lld: n_tokens is %zu",
                                 static_cast<long long>(id), spec.n_tokens);
        }
        if (special[static_cast<size_t>(id)]) {
            return bad_token(static_cast<size_t>(id), "listed twice among the special tokens");
        }
        special[static_cast<size_t>(id)] = true;
        size_t n = size(static_cast<size_t>(id));
        if (n > kMaxSpecialBytes) {
            return bad_token(static_cast<size_t>(id), "a special token of over 1024 bytes");
        }
        if (n > header.longest_special)
            header.longest_special = static_cast<uint32_t>(n);
    }
    return Status();
}

Status Plan::check_token(size_t id) const {
    if (size(id) == 0)
        return bad_token(id, "is empty");
    if (bpe() || special[id])
        return Status();
    uint32_t code_point;
    if (decode_utf8(bytes(id), bytes(id) + size(id), &code_point) != size(id)) {
        return bad_token(id, "is not one UTF-8 character, as a character vocabulary needs it");
    }
    return Status();
}

Status Plan::check_tokens() {
    for (size_t i = 0; i < spec.n_tokens; i++) {
        if (spec.offsets[i] > spec.offsets[i + 1])
            return bad_token(i, "ends before it begins");
    }
    uint64_t text_bytes = spec.offsets[spec.n_tokens] - spec.offsets[0];
    if (text_bytes >= kNone) {
        return Status::error(Code::bad_argument, "tokens: %llu bytes, expected under 2^32 - 1",
                             static_cast<unsigned long long>(text_bytes));
    }
    header.text_bytes = text_bytes;
    MINIGPT_TRY(check_specials());
    memset(byte_ids, 0xff, sizeof byte_ids);
    for (size_t i = 0; i < spec.n_tokens; i++) {
        MINIGPT_TRY(check_token(i));
        size_t n = size(i);
        if (n > header.longest_token)
            header.longest_token = static_cast<uint32_t>(n);
        if (n == 1 && (bpe() || !special[i])) {
            byte_ids[static_cast<unsigned char>(*bytes(i))] = static_cast<uint32_t>(i);
        }
    }
    for (unsigned b = 0; bpe() && b < 256; b++) {
        if (byte_ids[b] == kNone) {
            return Status::error(Code::bad_argument, "tokens: none for byte 0x%02X", b);
        }
    }
    return Status();
}

Status Plan::check_merges() const {
    for (size_t i = 0; i < spec.n_merges; i++) {
        const Merge& m = spec.merges[i];
        int64_t n = static_cast<int64_t>(spec.n_tokens);
        const int32_t parts[] = {m.left, m.right, m.merged};
        for (int64_t id : parts) {
            if (id < 0 || id >= n) {
                return Status::error(Code::bad_argument, "merge %zu: token %lld of %zu", i,
                                     static_cast<long long>(id), spec.n_tokens);
            }
        }
        size_t left = static_cast<size_t>(m.left), right = static_cast<size_t>(m.right);
        size_t merged = static_cast<size_t>(m.merged);
        bool joins = size(left) + size(right) == size(merged) &&
                     memcmp(bytes(merged), bytes(left), size(left)) == 0 &&
                     memcmp(bytes(merged) + size(left), bytes(right), size(right)) == 0;
        if (!joins) {
            return Status::error(Code::bad_argument,
                                 "merge %zu: tokens %" PRId32 " and %" PRId32
                                 " do not spell token %" PRId32,
                                 i, m.left, m.right, m.merged);
        }
    }
    return Status();
}

// Tries to place all tokens so that none is kMaxProbes slots or more from its own.
Status Plan::place_tokens(bool* placed) {
    size_t n_slots = size_t{1} << header.index_bits;
    if (!index.allocate(n_slots))
        return no_memory();
    memset(index.data(), 0xff, n_slots * sizeof(IndexSlot));
    header.index_probes = 0;
    *placed = false;
    for (size_t i = 0; i < spec.n_tokens; i++) {
        uint64_t hash = hash_bytes(bytes(i), size(i), header.index_seed);
        size_t slot = static_cast<size_t>(hash >> (64 - header.index_bits));
        uint32_t probes = 1;
        for (; index[slot].id != kNone; slot = (slot + 1) & (n_slots - 1), probes++) {
            size_t other = index[slot].id;
            if (index[slot].hash == static_cast<uint32_t>(hash) && size(other) == size(i) &&
                memcmp(bytes(other), bytes(i), size(i)) == 0) {
                return Status::error(Code::bad_argument, "token %zu: spelled as token %zu", i,
                                     other);
            }
            if (probes == kMaxProbes)
                return Status();
        }
        index[slot] = {static_cast<uint32_t>(hash), static_cast<uint32_t>(i)};
        if (probes > header.index_probes)
            header.index_probes = probes;
    }
    *placed = true;
    return Status();
}

Status Plan::place_merges(bool* placed) {
    size_t n_slots = size_t{1} << header.merge_bits;
    if (!merges.allocate(n_slots))
        return no_memory();
    memset(merges.data(), 0xff, n_slots * sizeof(MergeSlot));
    header.merge_probes = 0;
    *placed = false;
    for (size_t i = 0; i < spec.n_merges; i++) {
        uint32_t left = static_cast<uint32_t>(spec.merges[i].left);
        uint32_t right = static_cast<uint32_t>(spec.merges[i].right);
        uint64_t hash = hash_pair(left, right, header.merge_seed);
        size_t slot = static_cast<size_t>(hash >> (64 - header.merge_bits));
        uint32_t probes = 1;
        for (; merges[slot].left != kNone; slot = (slot + 1) & (n_slots - 1), probes++) {
            if (merges[slot].left == left && merges[slot].right == right) {
                return Status::error(Code::bad_argument,
                                     "merge %zu: the same pair as merge %" PRIu32, i,
                                     merges[slot].rank);
            }
            if (probes == kMaxProbes)
                return Status();
        }
        uint32_t merged = static_cast<uint32_t>(spec.merges[i].merged);
        merges[slot] = {left, right, static_cast<uint32_t>(i), merged};
        if (probes > header.merge_probes)
            header.merge_probes = probes;
    }
    *placed = true;
    return Status();
}

// Seeds first, then twice the slots: a table that someone made to collide is not let through.
template <typename Place>
Status place(size_t n, uint32_t* bits, uint32_t* seed, Place place_all) {
    uint32_t smallest = kMinBits;
    while (smallest < kMaxBits && (uint64_t{1} << smallest) < uint64_t{n} * 2)
        smallest++;
    for (*bits = smallest; *bits <= kMaxBits && *bits < smallest + 4; ++*bits) {
        for (*seed = 0; *seed < 4; ++*seed) {
            bool placed = false;
            MINIGPT_TRY(place_all(&placed));
            if (placed)
                return Status();
        }
    }
    return Status::error(Code::not_supported, "tokenizer: its %zu entries collide in every table",
                         n);
}

Status Plan::make() {
    header = TokenizerHeader();
    memcpy(header.magic, kTokenizerMagic, sizeof kTokenizerMagic);
    header.version = kTokenizerVersion;
    header.kind = static_cast<uint32_t>(spec.kind);
    if (spec.kind != TokenizerKind::bpe && spec.kind != TokenizerKind::chars) {
        return Status::error(Code::bad_argument, "kind: %" PRIu32 ", expected bpe or chars",
                             header.kind);
    }
    if (spec.n_tokens == 0 || spec.n_tokens > kMaxTokens) {
        return Status::error(Code::bad_argument, "n_tokens: %zu, expected 1 to 2^28",
                             spec.n_tokens);
    }
    if (spec.n_merges > kMaxTokens || (!bpe() && spec.n_merges > 0)) {
        return Status::error(Code::bad_argument, "n_merges: %zu, expected at most %" PRIu32,
                             spec.n_merges, bpe() ? kMaxTokens : 0);
    }
    const char* missing = spec.offsets == nullptr                           ? "offsets"
                          : spec.bytes == nullptr                           ? "bytes"
                          : spec.merges == nullptr && spec.n_merges > 0     ? "merges"
                          : spec.specials == nullptr && spec.n_specials > 0 ? "specials"
                                                                            : nullptr;
    if (missing != nullptr)
        return Status::error(Code::bad_argument, "%s: a null pointer", missing);
    if (spec.n_specials > spec.n_tokens) {
        return Status::error(Code::bad_argument, "n_specials: %zu, expected at most %zu, n_tokens",
                             spec.n_specials, spec.n_tokens);
    }
    if (spec.eos < -1 || spec.eos >= static_cast<int64_t>(spec.n_tokens)) {
        return Status::error(Code::bad_argument, "eos: %" PRId32 "; n_tokens is %zu", spec.eos,
                             spec.n_tokens);
    }
    header.n_tokens = static_cast<uint32_t>(spec.n_tokens);
    header.n_merges = static_cast<uint32_t>(spec.n_merges);
    header.eos = spec.eos;
    MINIGPT_TRY(check_tokens());
    MINIGPT_TRY(place(spec.n_tokens, &header.index_bits, &header.index_seed,
                      [&](bool* placed) { return place_tokens(placed); }));
    if (bpe()) {
        MINIGPT_TRY(check_merges());
        MINIGPT_TRY(place(spec.n_merges, &header.merge_bits, &header.merge_seed,
                          [&](bool* placed) { return place_merges(placed); }));
    }
    Tables unused;
    header.bytes = lay_out(&header, &unused);
    return Status();
}

bool bytes_less(const Plan& plan, uint32_t a, uint32_t b) {
    size_t n = plan.size(a) < plan.size(b) ? plan.size(a) : plan.size(b);
    int order = memcmp(plan.bytes(a), plan.bytes(b), n);
    return order < 0 || (order == 0 && plan.size(a) < plan.size(b));
}

// Heap sort: in place, n log n whatever comes.
template <typename Less>
void sort_ids(uint32_t* ids, size_t n, Less less) {
    auto sift_down = [&](size_t i, size_t end) {
        for (size_t child = i * 2 + 1; child < end; child = i * 2 + 1) {
            if (child + 1 < end && less(ids[child], ids[child + 1]))
                child++;
            if (!less(ids[i], ids[child]))
                break;
            uint32_t swapped = ids[i];
            ids[i] = ids[child];
            ids[child] = swapped;
            i = child;
        }
    };
    for (size_t i = n / 2; i-- > 0;)
        sift_down(i, n);
    for (size_t end = n; end-- > 1;) {
        uint32_t swapped = ids[0];
        ids[0] = ids[end];
        ids[end] = swapped;
        sift_down(0, end);
    }
}

// Sets kWholeWord where encoding a token's bytes as a word gives that token alone.
Status mark_whole_words(const Plan& plan, const Tables& t, IndexSlot* index) {
    Buffer<int32_t> ids;
    if (!ids.allocate(plan.header.longest_token))
        return no_memory();
    size_t n_slots = size_t{1} << plan.header.index_bits;
    for (size_t slot = 0; slot < n_slots; slot++) {
        uint32_t id = index[slot].id;
        if (id == kNone)
            continue;
        bool whole = !plan.special[id];
        if (plan.bpe()) {
            IdSink sink = {ids.data(), ids.size(), 0};
            MINIGPT_TRY(merge_word(t, plan.bytes(id), plan.size(id), &sink));
            whole = sink.n == 1 && static_cast<uint32_t>(ids[0]) == id;
        }
        if (whole)
            index[slot].id |= kWholeWord;
    }
    return Status();
}

// The tables point to const, as readers need them; here they lie in the caller's memory.
template <typename T>
T* writable(const T* p) {
    return const_cast<T*>(p);
}

}  // namespace

Status tokenizer_bytes(const TokenizerSpec& spec, size_t* bytes) {
    if (bytes == nullptr)
        return Status::error(Code::bad_argument, "bytes: a null pointer");
    *bytes = 0;
    if (spec.kind == TokenizerKind::none)
        return Status();
    Plan plan = {spec, {}, {}, {}, {}, {}};
    MINIGPT_TRY(plan.make());
    *bytes = static_cast<size_t>(plan.header.bytes);
    if (*bytes != plan.header.bytes)
        return no_memory();
    return Status();
}

Status build_tokenizer(const TokenizerSpec& spec, void* out, size_t bytes) {
    if (spec.kind == TokenizerKind::none)
        return Status();
    Plan plan = {spec, {}, {}, {}, {}, {}};
    MINIGPT_TRY(plan.make());
    if (out == nullptr)
        return Status::error(Code::bad_argument, "out: a null pointer");
    if (bytes != plan.header.bytes || reinterpret_cast<uintptr_t>(out) % 8 != 0) {
        return Status::error(Code::bad_argument,
                             "tokenizer: %zu bytes at %zu past an 8-byte boundary, expected %llu "
                             "at 0",
                             bytes, static_cast<size_t>(reinterpret_cast<uintptr_t>(out) % 8),
                             static_cast<unsigned long long>(plan.header.bytes));
    }
    memset(out, 0, bytes);
    memcpy(out, &plan.header, sizeof plan.header);
    Tables t;
    lay_out(static_cast<const TokenizerHeader*>(out), &t);
    memcpy(writable(t.index), plan.index.data(), plan.index.size() * sizeof(IndexSlot));
    if (plan.bpe()) {
        memcpy(writable(t.merges), plan.merges.data(), plan.merges.size() * sizeof(MergeSlot));
    }
    for (size_t i = 0; i <= spec.n_tokens; i++) {
        writable(t.offsets)[i] = static_cast<uint32_t>(spec.offsets[i] - spec.offsets[0]);
    }
    memcpy(writable(t.byte_ids), plan.byte_ids, sizeof plan.byte_ids);
    for (size_t i = 0; i < spec.n_specials; i++) {
        writable(t.specials)[i] = static_cast<uint32_t>(spec.specials[i]);
        writable(t.specials_by_bytes)[i] = static_cast<uint32_t>(spec.specials[i]);
    }
    sort_ids(writable(t.specials), spec.n_specials, [](uint32_t a, uint32_t b) { return a < b; });
    sort_ids(writable(t.specials_by_bytes), spec.n_specials,
             [&](uint32_t a, uint32_t b) { return bytes_less(plan, a, b); });
    memcpy(writable(t.text), plan.bytes(0), static_cast<size_t>(plan.header.text_bytes));
    return mark_whole_words(plan, t, writable(t.index));
}

}  // namespace minigpt
