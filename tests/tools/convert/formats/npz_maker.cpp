#include "tests/tools/convert/formats/npz_maker.h"

#include <algorithm>
#include <array>
#include <queue>

namespace minigpt::test {
namespace {

// Bits into bytes, the lowest first.
class BitWriter {
public:
    void put(uint32_t bits, unsigned n) {
        held_ |= uint64_t{bits} << n_held_;
        for (n_held_ += n; n_held_ >= 8; n_held_ -= 8, held_ >>= 8)
            out += static_cast<char>(held_);
    }
    void align() {
        if (n_held_ > 0)
            put(0, 8 - n_held_);
    }
    std::string out;

private:
    uint64_t held_ = 0;
    unsigned n_held_ = 0;
};

// A code by the lengths of its words, written from the highest bit.
struct Code {
    std::vector<unsigned> lengths, words;

    explicit Code(std::vector<unsigned> of) : lengths(std::move(of)), words(lengths.size()) {
        unsigned next = 0;
        for (unsigned n = 1; n <= 15; n++, next <<= 1) {
            for (size_t i = 0; i < lengths.size(); i++) {
                if (lengths[i] == n)
                    words[i] = next++;
            }
        }
    }
    void put(BitWriter* to, size_t symbol) const {
        for (unsigned bit = lengths[symbol]; bit-- > 0;)
            to->put(words[symbol] >> bit & 1, 1);
    }
};

// Huffman's lengths; counts are flattened until none is over `most`.
std::vector<unsigned> lengths_of(std::vector<uint64_t> counts, unsigned most) {
    for (;;) {
        using Node = std::pair<uint64_t, std::vector<size_t>>;
        std::priority_queue<Node, std::vector<Node>, std::greater<Node>> nodes;
        std::vector<unsigned> lengths(counts.size());
        for (size_t i = 0; i < counts.size(); i++) {
            if (counts[i] > 0)
                nodes.push({counts[i], {i}});
        }
        if (nodes.size() == 1)
            lengths[nodes.top().second[0]] = 1;
        while (nodes.size() > 1) {
            Node a = nodes.top();
            nodes.pop();
            Node b = nodes.top();
            nodes.pop();
            a.second.insert(a.second.end(), b.second.begin(), b.second.end());
            for (size_t i : a.second)
                lengths[i]++;
            nodes.push({a.first + b.first, a.second});
        }
        if (*std::max_element(lengths.begin(), lengths.end()) <= most)
            return lengths;
        for (uint64_t& count : counts)
            count = (count + 1) / 2;
    }
}

// A literal (distance 0), or a copy.
struct Item {
    unsigned value;  // the literal, or the length
    unsigned distance;
};

struct Range {
    unsigned symbol, bits, base;
};

// The symbol whose range has the value; tables as RFC 1951 describes them.
Range length_range(unsigned length) {
    if (length == 258)
        return {285, 0, 258};
    unsigned base = 3;
    for (unsigned symbol = 257;; symbol++) {
        unsigned bits = symbol < 265 ? 0 : (symbol - 261) / 4;
        if (length < base + (1u << bits))
            return {symbol, bits, base};
        base += 1u << bits;
    }
}

Range distance_range(unsigned distance) {
    unsigned base = 1;
    for (unsigned symbol = 0;; symbol++) {
        unsigned bits = symbol < 4 ? 0 : symbol / 2 - 1;
        if (distance < base + (1u << bits))
            return {symbol, bits, base};
        base += 1u << bits;
    }
}

// bytes[begin ... end), copies from anywhere in the 32 KB before.
std::vector<Item> items_of(const std::string& bytes, size_t begin, size_t end,
                           std::vector<size_t>* last) {
    std::vector<Item> items;
    for (size_t at = begin; at < end;) {
        size_t length = 0, from = SIZE_MAX;
        if (end - at >= 3) {
            auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
            size_t& place = (*last)[(byte(0) * 31u + byte(1) * 7u + byte(2)) % last->size()];
            from = place;
            place = at;
        }
        if (from != SIZE_MAX && at - from <= 32768) {
            while (length < 258 && at + length < end && bytes[from + length] == bytes[at + length])
                length++;
        }
        if (length < 3) {
            items.push_back({static_cast<unsigned char>(bytes[at++]), 0});
            continue;
        }
        items.push_back({static_cast<unsigned>(length), static_cast<unsigned>(at - from)});
        at += length;
    }
    return items;
}

void put_items(const std::vector<Item>& items, const Code& symbols, const Code& distances,
               BitWriter* to) {
    for (const Item& item : items) {
        if (item.distance == 0) {
            symbols.put(to, item.value);
            continue;
        }
        Range length = length_range(item.value), distance = distance_range(item.distance);
        symbols.put(to, length.symbol);
        to->put(item.value - length.base, length.bits);
        distances.put(to, distance.symbol);
        to->put(item.distance - distance.base, distance.bits);
    }
    symbols.put(to, 256);
}

Code fixed_symbols() {
    std::vector<unsigned> lengths(288, 8);
    std::fill(lengths.begin() + 144, lengths.begin() + 256, 9u);
    std::fill(lengths.begin() + 256, lengths.begin() + 280, 7u);
    return Code(lengths);
}

// Code lengths with runs; {symbol, extra bits, their number}.
std::vector<std::array<unsigned, 3>> runs_of(const std::vector<unsigned>& lengths) {
    std::vector<std::array<unsigned, 3>> runs;
    for (size_t at = 0; at < lengths.size();) {
        size_t n = 1;
        while (at + n < lengths.size() && lengths[at + n] == lengths[at])
            n++;
        if (lengths[at] == 0 && n >= 3) {
            n = std::min<size_t>(n, 138);
            runs.push_back(n < 11 ? std::array<unsigned, 3>{17, static_cast<unsigned>(n - 3), 3}
                                  : std::array<unsigned, 3>{18, static_cast<unsigned>(n - 11), 7});
            at += n;
            continue;
        }
        runs.push_back({lengths[at++], 0, 0});
        if (n >= 4) {
            n = std::min<size_t>(n - 1, 6);
            runs.push_back({16, static_cast<unsigned>(n - 3), 2});
            at += n;
        }
    }
    return runs;
}

void put_dynamic(const std::vector<Item>& items, BitWriter* to) {
    std::vector<uint64_t> symbol_counts(286), distance_counts(30), run_counts(19);
    symbol_counts[256] = 1;
    for (const Item& item : items) {
        symbol_counts[item.distance == 0 ? item.value : length_range(item.value).symbol]++;
        if (item.distance > 0)
            distance_counts[distance_range(item.distance).symbol]++;
    }
    Code symbols(lengths_of(symbol_counts, 15)), distances(lengths_of(distance_counts, 15));
    std::vector<unsigned> both = symbols.lengths;
    both.insert(both.end(), distances.lengths.begin(), distances.lengths.end());
    std::vector<std::array<unsigned, 3>> runs = runs_of(both);
    for (const auto& run : runs)
        run_counts[run[0]]++;
    Code lengths(lengths_of(run_counts, 7));
    to->put(29, 5);
    to->put(29, 5);
    to->put(15, 4);
    for (unsigned i : {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15})
        to->put(lengths.lengths[i], 3);
    for (const auto& run : runs) {
        lengths.put(to, run[0]);
        to->put(run[1], run[2]);
    }
    put_items(items, symbols, distances, to);
}

}  // namespace

std::string deflate(const std::string& bytes, int kind) {
    BitWriter to;
    std::vector<size_t> last(1 << 12, SIZE_MAX);
    size_t at = 0, block = kind == 3 ? 1000 : 60000, n_blocks = 0;
    do {
        size_t n = std::min(block, bytes.size() - at);
        unsigned now =
            static_cast<unsigned>(kind == 3 ? n_blocks++ % 3 : static_cast<size_t>(kind));
        to.put(at + n == bytes.size(), 1);
        to.put(now, 2);
        if (now == 0) {
            to.align();
            to.put(static_cast<uint32_t>(n), 16);
            to.put(static_cast<uint32_t>(n) ^ 0xffff, 16);
            to.out.append(bytes, at, n);
        } else {
            std::vector<Item> items = items_of(bytes, at, at + n, &last);
            if (now == 1)
                put_items(items, fixed_symbols(), Code(std::vector<unsigned>(30, 5)), &to);
            else
                put_dynamic(items, &to);
        }
        at += n;
    } while (at < bytes.size());
    to.align();
    return to.out;
}

std::string npy(const std::string& header, const std::string& data, unsigned version) {
    size_t n_before = version == 1 ? 10 : 12;
    std::string text = header + std::string(63 - (n_before + header.size()) % 64, ' ') + "\n";
    return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
           (version == 1 ? le16(text.size()) : le32(text.size())) + text + data;
}

std::string npy_header(const std::string& descr, const std::vector<uint64_t>& shape, bool fortran) {
    std::string dims;
    for (uint64_t n : shape)
        dims += (dims.empty() ? "" : " ") + std::to_string(n) + ",";
    if (shape.size() > 1)
        dims.pop_back();
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
           ", 'shape': (" + dims + "), }";
}

std::string npy_of(const SavedTensor& t, bool fortran, unsigned version) {
    bool turned = fortran && t.shape.size() == 2;
    return npy(npy_header(t.dtype == "F16" ? "<f2" : "<f4", t.shape, turned),
               turned ? transposed(t).data : t.data, version);
}

ZipMember npz_member(const std::string& name, const std::string& npy, int kind) {
    ZipMember member = {name + ".npy", kind < 0 ? npy : deflate(npy, kind)};
    member.method = kind < 0 ? 0 : 8;
    member.unpacked = npy;
    return member;
}

std::string npz_of(const HfModel& model, int kind, bool fortran) {
    std::vector<ZipMember> members;
    for (const SavedTensor& t : model.tensors) {
        unsigned version = static_cast<unsigned>(members.size() % 3 + 1);
        members.push_back(npz_member(t.name, npy_of(t, fortran, version), kind));
    }
    return zip_archive(members);
}

}  // namespace minigpt::test
