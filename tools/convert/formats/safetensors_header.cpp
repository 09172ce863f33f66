// The header of a safetensors file, and the index over several.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "convert/codecs/json.h"
#include "convert/formats/safetensors.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

// The format's own limit is 100 MB; GPT-2 at 4,096 layers needs 6.
constexpr uint64_t kMaxHeader = 16 << 20;
constexpr size_t kMaxDims = 16;

constexpr struct {
    const char* name;
    unsigned n_bytes;
} kDtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2},
    {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},     {"U32", 4},     {"F32", 4},
    {"F64", 8},  {"I64", 8}, {"U64", 8},  {"C64", 8},
};

uint64_t bytes_of_dtype(const std::string& dtype) {
    for (const auto& known : kDtypes) {
        if (dtype == known.name)
            return known.n_bytes;
    }
    return 0;
}

std::optional<ElementType> element_type(const std::string& dtype) {
    if (dtype == "F32")
        return ElementType::f32;
    if (dtype == "F16")
        return ElementType::f16;
    if (dtype == "BF16")
        return ElementType::bf16;
    return {};
}

struct Entry {
    SourceTensor tensor;
    uint64_t begin = 0, end = 0;
    bool has_dtype = false, has_shape = false;
    size_t n_offsets = 0;
};

Status read_entry(Json& json, Entry* entry) {
    return json.object([&](const std::string& key) -> Status {
        if (key == "dtype") {
            entry->has_dtype = true;
            return json.string(&entry->tensor.dtype);
        }
        if (key == "shape") {
            entry->has_shape = true;
            return json.array([&](size_t i) {
                if (i == kMaxDims)
                    return Status::error(Code::bad_file, "over 16 dimensions");
                entry->tensor.shape.push_back(0);
                return json.u64(&entry->tensor.shape.back());
            });
        }
        if (key == "data_offsets") {
            return json.array([&](size_t i) {
                if (i == 2)
                    return Status::error(Code::bad_file, "over two data_offsets");
                entry->n_offsets = i + 1;
                return json.u64(i == 0 ? &entry->begin : &entry->end);
            });
        }
        return Status::error(Code::bad_file, "unknown field \"%s\"", shown(key).c_str());
    });
}

// The length that type and shape give; refused where it does not fit 64 bits.
Status data_length(const SourceTensor& tensor, uint64_t* n_bytes) {
    *n_bytes = bytes_of_dtype(tensor.dtype);
    if (*n_bytes == 0) {
        return Status::error(Code::not_supported, "unknown dtype \"%s\"",
                             shown(tensor.dtype).c_str());
    }
    bool empty = std::count(tensor.shape.begin(), tensor.shape.end(), 0u) > 0;
    for (uint64_t n : tensor.shape) {
        if (!empty && *n_bytes > UINT64_MAX / n) {
            return Status::error(Code::bad_file, "shape %s multiplies past 2^64",
                                 shape_text(tensor.shape).c_str());
        }
        *n_bytes *= empty ? 0 : n;
    }
    return Status();
}

Status check_entry(Entry* entry, uint64_t data_bytes) {
    if (!entry->has_dtype)
        return Status::error(Code::bad_file, "dtype is missing");
    if (!entry->has_shape)
        return Status::error(Code::bad_file, "shape is missing");
    if (entry->n_offsets != 2)
        return Status::error(Code::bad_file, "data_offsets are missing");
    if (entry->begin > entry->end || entry->end > data_bytes) {
        return Status::error(
            Code::bad_file, "data_offsets are [%llu, %llu]; the file has %llu byte%s of data",
            Ull{entry->begin}, Ull{entry->end}, Ull{data_bytes}, plural(data_bytes));
    }
    uint64_t expected;
    MINIGPT_TRY(data_length(entry->tensor, &expected));
    uint64_t found = entry->end - entry->begin;
    if (found != expected) {
        return Status::error(Code::bad_file, "%llu byte%s of data; %s %s has %llu", Ull{found},
                             plural(found), entry->tensor.dtype.c_str(),
                             shape_text(entry->tensor.shape).c_str(), Ull{expected});
    }
    entry->tensor.n_bytes = expected;
    entry->tensor.type = element_type(entry->tensor.dtype);
    return Status();
}

// In the order of their data, every byte belongs to one tensor.
Status check_tiling(const std::vector<Entry>& entries, uint64_t data_bytes) {
    std::vector<size_t> order(entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::make_pair(entries[a].begin, entries[a].end) <
               std::make_pair(entries[b].begin, entries[b].end);
    });
    uint64_t at = 0;
    for (size_t i : order) {
        const Entry& entry = entries[i];
        if (entry.begin != at) {
            return Status::error(
                Code::bad_file, "%s: data begins at byte %llu, %s byte %llu",
                shown(entry.tensor.name).c_str(), Ull{entry.begin},
                entry.begin < at ? "overlapping what ends at" : "leaving a hole after", Ull{at});
        }
        at = entry.end;
    }
    if (at == data_bytes)
        return Status();
    return Status::error(Code::bad_file, "%llu byte%s of data beyond its tensors",
                         Ull{data_bytes - at}, plural(data_bytes - at));
}

Status read_header_text(const File& file, std::string* text) {
    if (file.size() < 8) {
        return Status::error(Code::bad_file, "no safetensors file: %llu byte%s", Ull{file.size()},
                             plural(file.size()));
    }
    uint64_t n;
    MINIGPT_TRY(file.read(0, &n, sizeof n));
    if (n < 2 || n > file.size() - 8 || n > kMaxHeader) {
        return Status::error(Code::bad_file, "the header's length is %llu; expected 2 to %llu",
                             Ull{n}, Ull{std::min(file.size() - 8, kMaxHeader)});
    }
    text->resize(static_cast<size_t>(n));
    MINIGPT_TRY(file.read(8, &(*text)[0], text->size()));
    if ((*text)[0] == '{')
        return Status();
    return Status::error(Code::bad_file, "the header does not begin with {");
}

}  // namespace

Status read_safetensors_header(const File& file, SafetensorsFile* out) {
    std::string text;
    MINIGPT_TRY(read_header_text(file, &text));
    uint64_t data_begin = 8 + text.size();
    uint64_t data_bytes = file.size() - data_begin;
    std::vector<Entry> entries;
    Json json(text.data(), text.size());
    Status status = json.object([&](const std::string& name) {
        if (name == "__metadata__")
            return json.skip();
        entries.emplace_back();
        entries.back().tensor.name = name;
        MINIGPT_TRY(within(shown(name), read_entry(json, &entries.back())));
        return within(shown(name), check_entry(&entries.back(), data_bytes));
    });
    MINIGPT_TRY(within("header", status));
    MINIGPT_TRY(within("header", json.end()));
    MINIGPT_TRY(check_tiling(entries, data_bytes));
    for (Entry& entry : entries) {
        out->offsets.push_back(data_begin + entry.begin);
        out->tensors.push_back(std::move(entry.tensor));
    }
    return Status();
}

}  // namespace minigpt::convert
