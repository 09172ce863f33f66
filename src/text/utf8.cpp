#include "text/utf8.h"

#include "minigpt/tokenizer.h"

namespace minigpt {
namespace {

#include "text/unicode_tables.inc"

}  // namespace

CharClass class_of(uint32_t code_point) {
    uint32_t block = code_point >> 8;
    if (block >= kBlockOfEntries)
        return kOther;
    unsigned four = kBlocks[kBlockOf[block]][code_point >> 2 & 63];
    return static_cast<CharClass>(four >> (code_point & 3) * 2 & 3);
}

// Unicode 15, table 3-7, "Well-Formed UTF-8 Byte Sequences".
LeadByte lead_byte(unsigned char byte) {
    if (byte < 0x80)
        return {1, 0, 0};
    if (byte < 0xc2)
        return {0, 0, 0};
    if (byte < 0xe0)
        return {2, 0x80, 0xbf};
    if (byte == 0xe0)
        return {3, 0xa0, 0xbf};
    if (byte == 0xed)
        return {3, 0x80, 0x9f};
    if (byte < 0xf0)
        return {3, 0x80, 0xbf};
    if (byte == 0xf0)
        return {4, 0x90, 0xbf};
    if (byte < 0xf4)
        return {4, 0x80, 0xbf};
    if (byte == 0xf4)
        return {4, 0x80, 0x8f};
    return {0, 0, 0};
}

size_t decode_utf8(const char* text, const char* end, uint32_t* code_point) {
    const unsigned char* p = reinterpret_cast<const unsigned char*>(text);
    LeadByte lead = lead_byte(p[0]);
    if (lead.length == 1) {
        *code_point = p[0];
        return 1;
    }
    if (lead.length == 0 || static_cast<size_t>(end - text) < lead.length)
        return 0;
    if (p[1] < lead.low || p[1] > lead.high)
        return 0;
    uint32_t code = static_cast<uint32_t>(p[0] & (0x7f >> lead.length)) << 6 | (p[1] & 0x3f);
    for (size_t i = 2; i < lead.length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    *code_point = code;
    return lead.length;
}

size_t Utf8Stream::push(std::string_view bytes, char* out) {
    size_t n_out = 0;
    for (size_t i = 0; i < bytes.size(); i++) {
        unsigned char byte = static_cast<unsigned char>(bytes[i]);
        if (n_held_ > 0) {
            LeadByte lead = lead_byte(static_cast<unsigned char>(held_[0]));
            unsigned low = n_held_ == 1 ? lead.low : 0x80;
            unsigned high = n_held_ == 1 ? lead.high : 0xbf;
            bool goes_on = byte >= low && byte <= high;
            if (goes_on && n_held_ + 1u < lead.length) {
                held_[n_held_++] = bytes[i];
                continue;
            }
            n_out += flush(out + n_out);
            if (goes_on) {
                out[n_out++] = bytes[i];
                continue;
            }
        }
        if (lead_byte(byte).length > 1) {
            held_[n_held_++] = bytes[i];
        } else {
            out[n_out++] = bytes[i];
        }
    }
    return n_out;
}

size_t Utf8Stream::flush(char* out) {
    size_t n = n_held_;
    for (size_t i = 0; i < n; i++)
        out[i] = held_[i];
    n_held_ = 0;
    return n;
}

}  // namespace minigpt
