#include "convert/codecs/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace minigpt::convert {
namespace {

constexpr size_t kWindow = 64 << 10;
constexpr unsigned kMaxBits = 15;   // of a code
constexpr unsigned kFastBits = 10;  // codes up to here are found at once
constexpr size_t kMaxSymbols = 288;
constexpr size_t kEndOfBlock = 256;

// RFC 1951, 3.2.5: length symbols from 257 on, and distance symbols.
constexpr uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                     6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
// 3.2.7: the order in which lengths of the code of lengths stand.
constexpr uint8_t kLengthOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

// A canonical Huffman code (3.2.2).
class Huffman {
public:
    // lengths [n]: bits of each symbol's code, 0: none. False where they are no prefix code, or
    // leave codes unused; a code of one symbol may.
    bool set(const uint8_t* lengths, size_t n);

    // The symbol that `bits` (the next in the lowest) begin with, and its code's length; -1: none.
    int find(uint32_t bits, unsigned* length) const {
        uint16_t entry = fast_[bits & ((1u << kFastBits) - 1)];
        if (entry != 0) {
            *length = entry & 15;
            return entry >> 4;
        }
        return find_long(bits, length);
    }

private:
    int find_long(uint32_t bits, unsigned* length) const;

    std::array<uint16_t, kMaxBits + 1> counts_;   // of codes, by length
    std::array<uint16_t, kMaxSymbols> symbols_;   // in the order of their codes
    std::array<uint16_t, 1u << kFastBits> fast_;  // symbol << 4 | length; 0: none
};

bool Huffman::set(const uint8_t* lengths, size_t n) {
    counts_.fill(0);
    fast_.fill(0);
    for (size_t i = 0; i < n; i++)
        counts_[lengths[i]]++;
    size_t n_codes = n - counts_[0];
    counts_[0] = 0;
    int left = 1;  // codes of this length that are not taken
    for (unsigned bits = 1; bits <= kMaxBits; bits++) {
        left = left * 2 - counts_[bits];
        if (left < 0)
            return false;
    }
    bool is_single = n_codes == 1 && counts_[1] == 1;
    if (left > 0 && n_codes > 0 && !is_single)
        return false;
    std::array<uint16_t, kMaxBits + 2> begins = {}, codes = {};
    for (unsigned bits = 1; bits <= kMaxBits; bits++) {
        begins[bits + 1] = static_cast<uint16_t>(begins[bits] + counts_[bits]);
        codes[bits + 1] = static_cast<uint16_t>((codes[bits] + counts_[bits]) << 1);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned bits = lengths[i];
        if (bits == 0)
            continue;
        symbols_[begins[bits]++] = static_cast<uint16_t>(i);
        unsigned code = codes[bits]++, reversed = 0;
        for (unsigned b = 0; b < bits; b++)
            reversed |= (code >> b & 1) << (bits - 1 - b);
        for (unsigned at = reversed; bits <= kFastBits && at < fast_.size(); at += 1u << bits)
            fast_[at] = static_cast<uint16_t>(i << 4 | bits);
    }
    return true;
}

int Huffman::find_long(uint32_t bits, unsigned* length) const {
    int code = 0, first = 0, index = 0;
    for (unsigned n = 1; n <= kMaxBits; n++) {
        code |= static_cast<int>(bits >> (n - 1) & 1);
        int count = counts_[n];
        if (code - count < first) {
            *length = n;
            return symbols_[static_cast<size_t>(index + code - first)];
        }
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return -1;
}

class Inflater {
public:
    Inflater(const Deflated& from, unsigned char* out, size_t n_out, bool only_first)
        : from_(from), out_(out), n_out_(n_out), only_first_(only_first), window_(kWindow) {}

    Status run();

private:
    // All return false at an error, and when only_first_ has enough.
    bool run_blocks();
    bool stored();
    bool read_fixed();
    bool read_dynamic();
    bool read_lengths(const Huffman& code, uint8_t* lengths, size_t n);
    bool compressed();
    bool copy(size_t length, size_t distance);
    bool put(unsigned char byte);
    bool symbol(const Huffman& code, unsigned* symbol);
    bool take(unsigned n, uint32_t* value);
    bool fail(const char* what);

    bool next_byte(unsigned char* byte);
    void fill();

    Deflated from_;
    unsigned char* out_;
    size_t n_out_, n_ = 0;  // n_: written
    bool only_first_, enough_ = false;
    const char* what_ = nullptr;
    Status io_;

    std::vector<unsigned char> window_;
    size_t window_at_ = 0, window_size_ = 0;
    uint64_t n_read_ = 0;  // of from_
    uint64_t bits_ = 0;
    unsigned n_bits_ = 0;
    Huffman symbols_, distances_;
};

bool Inflater::fail(const char* what) {
    if (what_ == nullptr)
        what_ = what;
    return false;
}

bool Inflater::next_byte(unsigned char* byte) {
    if (window_at_ == window_size_) {
        size_t n = static_cast<size_t>(std::min<uint64_t>(from_.n_bytes - n_read_, kWindow));
        if (n == 0 || !io_.ok())
            return false;
        io_ = from_.file->read(from_.offset + n_read_, window_.data(), n);
        if (!io_.ok())
            return false;
        n_read_ += n;
        window_at_ = 0;
        window_size_ = n;
    }
    *byte = window_[window_at_++];
    return true;
}

// As many whole bytes as there is room for.
void Inflater::fill() {
    unsigned char byte;
    while (n_bits_ <= 56 && next_byte(&byte)) {
        bits_ |= uint64_t{byte} << n_bits_;
        n_bits_ += 8;
    }
}

bool Inflater::take(unsigned n, uint32_t* value) {
    if (n_bits_ < n)
        fill();
    if (n_bits_ < n)
        return fail("ends early");
    *value = static_cast<uint32_t>(bits_ & ((uint64_t{1} << n) - 1));
    bits_ >>= n;
    n_bits_ -= n;
    return true;
}

bool Inflater::symbol(const Huffman& code, unsigned* symbol) {
    if (n_bits_ < kMaxBits)
        fill();
    unsigned length = 0;
    int found = code.find(static_cast<uint32_t>(bits_), &length);
    if (found < 0)
        return fail(n_bits_ < kMaxBits ? "ends early" : "has a code that stands for nothing");
    if (length > n_bits_)
        return fail("ends early");
    bits_ >>= length;
    n_bits_ -= length;
    *symbol = static_cast<unsigned>(found);
    return true;
}

bool Inflater::put(unsigned char byte) {
    if (n_ == n_out_) {
        enough_ = only_first_;
        return fail("is longer than it says");
    }
    out_[n_++] = byte;
    return true;
}

bool Inflater::copy(size_t length, size_t distance) {
    if (distance > n_)
        return fail("refers to bytes before its start");
    size_t n = std::min(length, n_out_ - n_);
    unsigned char* to = out_ + n_;
    const unsigned char* from = to - distance;
    if (distance >= n) {
        memcpy(to, from, n);
    } else {
        for (size_t i = 0; i < n; i++)  // the bytes repeat
            to[i] = from[i];
    }
    n_ += n;
    if (n == length)
        return true;
    enough_ = only_first_;
    return fail("is longer than it says");
}

bool Inflater::stored() {
    uint32_t unused, length, check;
    if (!take(n_bits_ % 8, &unused) || !take(16, &length) || !take(16, &check))
        return false;
    if (length != (check ^ 0xffff))
        return fail("has a stored block of two lengths");
    // What has become bits first, then straight from the window.
    for (; length > 0 && n_bits_ > 0; length--) {
        if (!put(static_cast<unsigned char>(bits_)))
            return false;
        bits_ >>= 8;
        n_bits_ -= 8;
    }
    while (length > 0) {
        unsigned char byte;
        if (!next_byte(&byte))
            return fail("ends early");
        if (!put(byte))
            return false;
        size_t n = std::min({size_t{--length}, window_size_ - window_at_, n_out_ - n_});
        memcpy(out_ + n_, window_.data() + window_at_, n);
        n_ += n;
        window_at_ += n;
        length -= static_cast<uint32_t>(n);
    }
    return true;
}

bool Inflater::read_fixed() {
    uint8_t lengths[kMaxSymbols];
    for (size_t i = 0; i < kMaxSymbols; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    symbols_.set(lengths, kMaxSymbols);
    std::fill(lengths, lengths + 32, uint8_t{5});
    return distances_.set(lengths, 32);
}

// Code lengths, repeated ones by 16, 17 and 18.
bool Inflater::read_lengths(const Huffman& code, uint8_t* lengths, size_t n) {
    for (size_t at = 0; at < n;) {
        unsigned found;
        uint32_t more = 0;
        if (!symbol(code, &found))
            return false;
        if (found < 16) {
            lengths[at++] = static_cast<uint8_t>(found);
            continue;
        }
        if (found == 16 && at == 0)
            return fail("repeats a code length before the first");
        uint8_t length = found == 16 ? lengths[at - 1] : uint8_t{0};
        if (!take(found == 16 ? 2 : found == 17 ? 3 : 7, &more))
            return false;
        size_t n_times = more + (found == 18 ? 11 : 3);
        if (n_times > n - at)
            return fail("has more code lengths than symbols");
        std::fill(lengths + at, lengths + at + n_times, length);
        at += n_times;
    }
    return true;
}

bool Inflater::read_dynamic() {
    uint32_t n_symbols, n_distances, n_lengths;
    if (!take(5, &n_symbols) || !take(5, &n_distances) || !take(4, &n_lengths))
        return false;
    n_symbols += 257;
    n_distances += 1;
    if (n_symbols > 286 || n_distances > 30)
        return fail("has too many symbols");
    uint8_t lengths[kMaxSymbols + 32] = {};
    for (uint32_t i = 0; i < n_lengths + 4; i++) {
        uint32_t length;
        if (!take(3, &length))
            return false;
        lengths[kLengthOrder[i]] = static_cast<uint8_t>(length);
    }
    Huffman code;
    if (!code.set(lengths, 19))
        return fail("has a bad Huffman tree");
    memset(lengths, 0, sizeof lengths);
    if (!read_lengths(code, lengths, n_symbols + n_distances))
        return false;
    if (lengths[kEndOfBlock] == 0)
        return fail("has a block without an end");
    if (!symbols_.set(lengths, n_symbols) || !distances_.set(lengths + n_symbols, n_distances))
        return fail("has a bad Huffman tree");
    return true;
}

bool Inflater::compressed() {
    for (;;) {
        unsigned found, far;
        uint32_t more, more_far;
        if (!symbol(symbols_, &found))
            return false;
        if (found < kEndOfBlock) {
            if (!put(static_cast<unsigned char>(found)))
                return false;
            continue;
        }
        if (found == kEndOfBlock)
            return true;
        found -= kEndOfBlock + 1;
        if (found >= sizeof kLengthBits)
            return fail("has a length that there is none of");
        if (!take(kLengthBits[found], &more) || !symbol(distances_, &far))
            return false;
        if (far >= sizeof kDistanceBits)
            return fail("has a distance that there is none of");
        if (!take(kDistanceBits[far], &more_far))
            return false;
        if (!copy(kLengthBase[found] + more, kDistanceBase[far] + more_far))
            return false;
    }
}

bool Inflater::run_blocks() {
    // Encoders make blocks of kilobytes; empty ones cost time and give nothing.
    uint64_t n_blocks = 0, max_blocks = 1000 + n_out_ / 32;
    for (uint32_t is_last = 0; is_last == 0;) {
        uint32_t kind;
        if (n_blocks++ == max_blocks)
            return fail("has far more blocks than its length needs");
        if (!take(1, &is_last) || !take(2, &kind))
            return false;
        bool ok = kind == 0   ? stored()
                  : kind == 1 ? read_fixed() && compressed()
                  : kind == 2 ? read_dynamic() && compressed()
                              : fail("has a block of unknown kind");
        if (!ok)
            return false;
        if (only_first_ && n_ == n_out_)
            return true;
    }
    if (n_ < n_out_)
        return fail("is shorter than it says");
    if (n_bits_ >= 8 || window_at_ < window_size_ || n_read_ < from_.n_bytes)
        return fail("has bytes after its end");
    return true;
}

Status Inflater::run() {
    if (run_blocks() || enough_)
        return Status();
    if (!io_.ok())
        return io_;
    return Status::error(Code::bad_file, "its deflated data %s", what_);
}

}  // namespace

Status inflate(const Deflated& from, unsigned char* out, size_t n_out) {
    return Inflater(from, out, n_out, false).run();
}

Status inflate_first(const Deflated& from, unsigned char* out, size_t n_out) {
    return Inflater(from, out, n_out, true).run();
}

}  // namespace minigpt::convert
