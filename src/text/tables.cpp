#include "text/tables.h"

#include <cinttypes>

namespace minigpt {
namespace {

Status bad_field(const char* field, unsigned long long found, const char* expected) {
    return Status::error(Code::bad_file, "tokenizer: %s is %llu, expected %s", field, found,
                         expected);
}

Status check_header(const TokenizerHeader& h, bool bpe) {
    if (h.n_tokens == 0 || h.n_tokens > kMaxTokens) {
        return bad_field("n_tokens", h.n_tokens, "1 to 2^28");
    }
    if (h.text_bytes >= kNone)
        return bad_field("text_bytes", h.text_bytes, "under 2^32 - 1");
    if (h.n_specials > h.n_tokens) {
        return bad_field("n_specials", h.n_specials, "at most n_tokens");
    }
    if (h.longest_special > kMaxSpecialBytes) {
        return bad_field("longest_special", h.longest_special, "at most 1024");
    }
    if (h.eos < -1 || h.eos >= static_cast<int64_t>(h.n_tokens)) {
        return Status::error(Code::bad_file,
                             "tokenizer: eos is %" PRId32 ", expected -1 to %" PRIu32, h.eos,
                             h.n_tokens - 1);
    }
    if (h.index_bits < kMinBits || h.index_bits > kMaxBits) {
        return bad_field("index_bits", h.index_bits, "4 to 30");
    }
    if (h.index_probes > kMaxProbes) {
        return bad_field("index_probes", h.index_probes, "at most 16");
    }
    if (!bpe)
        return Status();
    if (h.merge_bits < kMinBits || h.merge_bits > kMaxBits) {
        return bad_field("merge_bits", h.merge_bits, "4 to 30");
    }
    if (h.merge_probes > kMaxProbes) {
        return bad_field("merge_probes", h.merge_probes, "at most 16");
    }
    if (h.n_merges > uint64_t{1} << h.merge_bits)
        return bad_field("n_merges", h.n_merges, "at most 2^merge_bits");
    return Status();
}

}  // namespace

uint64_t lay_out(const TokenizerHeader* header, Tables* tables) {
    const char* base = reinterpret_cast<const char*>(header);
    uint64_t offset = sizeof(TokenizerHeader);
    auto take = [&](uint64_t bytes) {
        const char* p = base + static_cast<size_t>(offset);
        offset += (bytes + 7) / 8 * 8;
        return p;
    };
    bool bpe = header->kind == static_cast<uint32_t>(TokenizerKind::bpe);
    uint64_t n_specials = header->n_specials;
    auto words = [](const char* p) { return reinterpret_cast<const uint32_t*>(p); };
    tables->header = header;
    tables->index = reinterpret_cast<const IndexSlot*>(
        take((uint64_t{1} << header->index_bits) * sizeof(IndexSlot)));
    tables->merges = reinterpret_cast<const MergeSlot*>(
        take(bpe ? (uint64_t{1} << header->merge_bits) * sizeof(MergeSlot) : 0));
    tables->offsets = words(take((uint64_t{header->n_tokens} + 1) * sizeof(uint32_t)));
    tables->byte_ids = words(take(256 * sizeof(uint32_t)));
    tables->specials = words(take(n_specials * sizeof(uint32_t)));
    tables->specials_by_bytes = words(take(n_specials * sizeof(uint32_t)));
    tables->text = take(header->text_bytes);
    return offset;
}

Status open_tables(const void* data, size_t bytes, Tables* tables) {
    if (reinterpret_cast<uintptr_t>(data) % 8 != 0) {
        return Status::error(Code::bad_argument, "tokenizer: the tables are not 8-byte aligned");
    }
    if (bytes < sizeof(TokenizerHeader)) {
        return bad_field("size", bytes, "a header of 96 bytes");
    }
    const TokenizerHeader* header = static_cast<const TokenizerHeader*>(data);
    if (memcmp(header->magic, kTokenizerMagic, sizeof kTokenizerMagic) != 0) {
        return Status::error(Code::bad_file, "tokenizer: does not begin with MGTK");
    }
    if (header->version != kTokenizerVersion) {
        return bad_field("version", header->version, "1");
    }
    bool bpe = header->kind == static_cast<uint32_t>(TokenizerKind::bpe);
    if (!bpe && header->kind != static_cast<uint32_t>(TokenizerKind::chars)) {
        return bad_field("kind", header->kind, "1 (bpe) or 2 (chars)");
    }
    MINIGPT_TRY(check_header(*header, bpe));
    for (uint32_t reserved : header->reserved) {
        if (reserved != 0)
            return bad_field("a reserved field", reserved, "0");
    }
    uint64_t expected = lay_out(header, tables);
    if (expected != bytes || header->bytes != bytes) {
        return Status::error(
            Code::bad_file, "tokenizer: %llu bytes, its header says %llu, its counts make %llu",
            static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(header->bytes),
            static_cast<unsigned long long>(expected));
    }
    return Status();
}

Status put_id_error(const Tables& t, const IdSink& sink, uint32_t id) {
    if (id >= t.header->n_tokens) {
        return Status::error(Code::bad_file,
                             "tokenizer: token %" PRIu32 ", but there are %" PRIu32 " tokens", id,
                             t.header->n_tokens);
    }
    return Status::error(Code::bad_argument, "ids: the capacity of %zu is too small",
                         sink.capacity);
}

}  // namespace minigpt
