// GGUF's keys and tensor infos.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "common/utf8.h"
#include "convert/codecs/byte_reader.h"
#include "convert/formats/gguf.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;
using Ul = unsigned long;

constexpr uint64_t kMaxHeader = 64 << 20;  // GPT-2's own is 3 MB, nearly all of it tokens
constexpr uint64_t kMaxText = 48 << 20;
constexpr uint64_t kMaxName = 65535;  // as the format says
constexpr uint64_t kMaxKeys = 1 << 16;
constexpr uint64_t kMaxTensors = 1 << 17;
constexpr uint64_t kMaxElements = 1 << 20;  // of an array that is kept
constexpr uint32_t kMaxDims = 4;
constexpr int kMaxDepth = 8;  // of arrays in arrays
constexpr uint64_t kDefaultAlignment = 32;

// Keys that say something of a GPT-2, and what their values must be.
using Kind = GgufValue::Kind;
constexpr struct {
    const char* name;
    Kind kind;
} kWanted[] = {
    {"general.architecture", Kind::text},
    {"general.alignment", Kind::unsigned_int},
    {"split.count", Kind::unsigned_int},
    {"gpt2.block_count", Kind::unsigned_int},
    {"gpt2.context_length", Kind::unsigned_int},
    {"gpt2.embedding_length", Kind::unsigned_int},
    {"gpt2.feed_forward_length", Kind::unsigned_int},
    {"gpt2.attention.head_count", Kind::unsigned_int},
    {"gpt2.attention.head_count_kv", Kind::unsigned_int},
    {"gpt2.attention.layer_norm_epsilon", Kind::real},
    {"gpt2.vocab_size", Kind::unsigned_int},
    {"tokenizer.ggml.model", Kind::text},
    {"tokenizer.ggml.pre", Kind::text},
    {"tokenizer.ggml.tokens", Kind::texts},
    {"tokenizer.ggml.merges", Kind::texts},
    {"tokenizer.ggml.token_type", Kind::ints},
    {"tokenizer.ggml.eos_token_id", Kind::unsigned_int},
};

constexpr const char* kKindNames[] = {"an unsigned integer", "an integer",     "a real number",
                                      "a boolean",           "a text",         "a list of texts",
                                      "a list of integers",  "of another kind"};

std::optional<Kind> wanted_kind(const std::string& name) {
    for (const auto& key : kWanted) {
        if (name == key.name)
            return key.kind;
    }
    return {};
}

// The format's kinds of values.
enum : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };

// Bytes of a number; 0 for texts, arrays and what is no kind.
uint64_t size_of_kind(uint32_t kind) {
    constexpr uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kind < sizeof kSizes / sizeof kSizes[0] ? kSizes[kind] : 0;
}

class HeaderReader {
public:
    HeaderReader(const File& file, GgufFile* out)
        : file_(file), in_(&file, kMaxHeader, kMaxText), out_(out) {}

    Status read();

private:
    Status read_text(uint64_t max_bytes, std::string* text);
    Status skip_text();
    Status read_key();
    Status read_number(uint32_t kind, GgufValue* value);
    Status read_value(uint32_t kind, GgufValue* value);
    Status read_array(GgufValue* value);
    Status skip_value(uint32_t kind);
    Status skip_array(int depth);
    Status read_array_head(uint32_t* kind, uint64_t* n);
    Status check_value(const std::string& name, Kind expected);
    Status read_tensor(GgufTensor* tensor);
    Status place_tensors();

    const File& file_;
    ByteReader in_;
    GgufFile* out_;
    std::set<std::string> names_;
};

Status HeaderReader::read_text(uint64_t max_bytes, std::string* text) {
    uint64_t n;
    MINIGPT_TRY(in_.number(&n));
    if (n > max_bytes) {
        return Status::error(Code::bad_file,
                             "a text of %llu bytes before byte %llu; expected at most %llu", Ull{n},
                             Ull{in_.at()}, Ull{max_bytes});
    }
    MINIGPT_TRY(in_.text(n, text));
    if (is_utf8(*text))
        return Status();
    return Status::error(Code::bad_file, "\"%s\" is no UTF-8, before byte %llu",
                         shown(*text).c_str(), Ull{in_.at()});
}

Status HeaderReader::skip_text() {
    uint64_t n;
    MINIGPT_TRY(in_.number(&n));
    return in_.skip(n);
}

Status HeaderReader::read_number(uint32_t kind, GgufValue* value) {
    auto take = [&](auto number, Kind as) {
        MINIGPT_TRY(in_.number(&number));
        value->kind = as;
        if (as == Kind::real)
            value->real = static_cast<double>(number);
        else
            value->number = static_cast<uint64_t>(number);
        return Status();
    };
    switch (kind) {
        case kU8:
            return take(uint8_t{}, Kind::unsigned_int);
        case kI8:
            return take(int8_t{}, Kind::signed_int);
        case kU16:
            return take(uint16_t{}, Kind::unsigned_int);
        case kI16:
            return take(int16_t{}, Kind::signed_int);
        case kU32:
            return take(uint32_t{}, Kind::unsigned_int);
        case kI32:
            return take(int32_t{}, Kind::signed_int);
        case kF32:
            return take(float{}, Kind::real);
        case kBool:
            return take(uint8_t{}, Kind::boolean);
        case kU64:
            return take(uint64_t{}, Kind::unsigned_int);
        case kI64:
            return take(int64_t{}, Kind::signed_int);
        default:
            return take(double{}, Kind::real);
    }
}

Status HeaderReader::read_array_head(uint32_t* kind, uint64_t* n) {
    MINIGPT_TRY(in_.number(kind));
    MINIGPT_TRY(in_.number(n));
    uint64_t least = *kind == kText ? 8 : *kind == kArray ? 12 : size_of_kind(*kind);
    if (least == 0)
        return Status::error(Code::bad_file, "unknown kind of value %lu", Ul{*kind});
    if (*n <= in_.left() / least)
        return Status();
    return Status::error(Code::bad_file, "a list of %llu value%s; the file has %llu more byte%s",
                         Ull{*n}, plural(*n), Ull{in_.left()}, plural(in_.left()));
}

// Lists of texts and of integers are kept, of others only the kind.
Status HeaderReader::read_array(GgufValue* value) {
    uint32_t kind;
    uint64_t n;
    MINIGPT_TRY(read_array_head(&kind, &n));
    bool is_ints = size_of_kind(kind) != 0 && kind != kF32 && kind != kF64 && kind != kBool;
    value->kind = kind == kText ? Kind::texts : is_ints ? Kind::ints : Kind::other;
    if (value->kind == Kind::other)
        return Status();  // refused for its kind
    if (n > kMaxElements) {
        return Status::error(Code::bad_file, "a list of %llu values; expected at most %llu", Ull{n},
                             Ull{kMaxElements});
    }
    for (uint64_t i = 0; i < n; i++) {
        if (kind == kText) {
            value->texts.emplace_back();
            MINIGPT_TRY(read_text(kMaxText, &value->texts.back()));
            continue;
        }
        GgufValue element;
        MINIGPT_TRY(read_number(kind, &element));
        value->ints.push_back(static_cast<int64_t>(element.number));
    }
    return Status();
}

Status HeaderReader::skip_array(int depth) {
    uint32_t kind;
    uint64_t n;
    MINIGPT_TRY(read_array_head(&kind, &n));
    if (size_of_kind(kind) != 0)
        return in_.skip(n * size_of_kind(kind));
    if (kind == kArray && depth == kMaxDepth)
        return Status::error(Code::bad_file, "lists in lists deeper than %d", kMaxDepth);
    for (uint64_t i = 0; i < n; i++)
        MINIGPT_TRY(kind == kText ? skip_text() : skip_array(depth + 1));
    return Status();
}

Status HeaderReader::skip_value(uint32_t kind) {
    if (kind == kText)
        return skip_text();
    if (kind == kArray)
        return skip_array(1);
    if (size_of_kind(kind) == 0)
        return Status::error(Code::bad_file, "unknown kind of value %lu", Ul{kind});
    return in_.skip(size_of_kind(kind));
}

Status HeaderReader::read_value(uint32_t kind, GgufValue* value) {
    if (kind == kArray)
        return read_array(value);
    if (kind == kText) {
        value->kind = Kind::text;
        return read_text(kMaxText, &value->text);
    }
    if (size_of_kind(kind) == 0)
        return Status::error(Code::bad_file, "unknown kind of value %lu", Ul{kind});
    return read_number(kind, value);
}

// An integer that is not negative is as good as an unsigned one.
Status HeaderReader::check_value(const std::string& name, Kind expected) {
    GgufValue& value = out_->keys[name];
    bool is_signed = value.kind == Kind::signed_int && static_cast<int64_t>(value.number) >= 0;
    if (is_signed)
        value.kind = Kind::unsigned_int;
    if (value.kind == expected)
        return Status();
    if (value.kind == Kind::signed_int && expected == Kind::unsigned_int) {
        return Status::error(Code::bad_file, "is %lld; expected a number from 0 on",
                             static_cast<long long>(value.number));
    }
    return Status::error(Code::bad_file, "is %s; expected %s",
                         kKindNames[static_cast<size_t>(value.kind)],
                         kKindNames[static_cast<size_t>(expected)]);
}

Status HeaderReader::read_key() {
    std::string name;
    uint32_t kind;
    MINIGPT_TRY(read_text(kMaxName, &name));
    MINIGPT_TRY(within(shown(name), in_.number(&kind)));
    if (!names_.insert(name).second)
        return Status::error(Code::bad_file, "the key %s stands twice", shown(name).c_str());
    std::optional<Kind> expected = wanted_kind(name);
    if (!expected)
        return within(shown(name), skip_value(kind));
    MINIGPT_TRY(within(name, read_value(kind, &out_->keys[name])));
    return within(name, check_value(name, *expected));
}

Status HeaderReader::read_tensor(GgufTensor* tensor) {
    uint32_t n_dims, type;
    MINIGPT_TRY(in_.number(&n_dims));
    if (n_dims > kMaxDims) {
        return Status::error(Code::bad_file, "%lu dimensions; expected at most %lu", Ul{n_dims},
                             Ul{kMaxDims});
    }
    tensor->shape.resize(n_dims);
    for (uint32_t i = 0; i < n_dims; i++)
        MINIGPT_TRY(in_.number(&tensor->shape[n_dims - 1 - i]));
    MINIGPT_TRY(in_.number(&type));
    MINIGPT_TRY(in_.number(&tensor->offset));
    tensor->type = gguf_type(type);
    if (tensor->type == nullptr) {
        return Status::error(Code::not_supported, "unknown type %lu", Ul{type});
    }
    uint64_t n = 1;
    for (uint64_t dim : tensor->shape) {
        if (dim == 0)
            return Status::error(Code::bad_file, "shape is %s", shape_text(tensor->shape).c_str());
        // Far below 2^64 in bytes, too.
        if (n > (UINT64_MAX >> 8) / dim) {
            return Status::error(Code::bad_file, "shape %s multiplies past 2^56",
                                 shape_text(tensor->shape).c_str());
        }
        n *= dim;
    }
    uint64_t row = n_dims == 0 ? 1 : tensor->shape[n_dims - 1];
    if (row % tensor->type->block_numbers != 0) {
        return Status::error(Code::bad_file, "rows of %llu numbers are no whole blocks of %s",
                             Ull{row}, tensor->type->name);
    }
    uint64_t n_blocks = n / tensor->type->block_numbers;
    if (n_blocks > UINT64_MAX / tensor->type->block_bytes)
        return Status::error(Code::bad_file, "shape %s is too large",
                             shape_text(tensor->shape).c_str());
    tensor->n_bytes = n_blocks * tensor->type->block_bytes;
    return Status();
}

// Turns offsets in the data to offsets in the file.
Status HeaderReader::place_tensors() {
    uint64_t alignment = kDefaultAlignment;
    if (auto key = out_->keys.find("general.alignment"); key != out_->keys.end())
        alignment = key->second.number;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (1 << 20)) {
        return Status::error(Code::bad_file,
                             "general.alignment is %llu; expected a power of two up to 2^20",
                             Ull{alignment});
    }
    auto align = [alignment](uint64_t n) { return (n + alignment - 1) & ~(alignment - 1); };
    uint64_t begin = align(in_.at());
    std::vector<size_t> order(out_->tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return out_->tensors[a].offset < out_->tensors[b].offset;
    });
    uint64_t at = 0, end = 0;  // of the tensor before; `at` with its padding
    for (size_t i : order) {
        GgufTensor& t = out_->tensors[i];
        std::string name = shown(t.name);
        if (t.offset != at) {
            return Status::error(Code::bad_file, "%s: data begins at byte %llu, %s byte %llu",
                                 name.c_str(), Ull{t.offset},
                                 t.offset < end              ? "overlapping what ends at"
                                 : t.offset % alignment != 0 ? "not aligned, after"
                                                             : "leaving a hole after",
                                 Ull{end});
        }
        uint64_t room = file_.size() > begin ? file_.size() - begin : 0;
        if (t.n_bytes > room || t.offset > room - t.n_bytes) {
            return Status::error(
                Code::bad_file, "%s: %llu byte%s at byte %llu; the file has %llu of data",
                name.c_str(), Ull{t.n_bytes}, plural(t.n_bytes), Ull{t.offset}, Ull{room});
        }
        end = t.offset + t.n_bytes;
        at = align(end);
        t.offset += begin;
    }
    if (file_.size() <= begin + at)
        return Status();
    return Status::error(Code::bad_file, "%llu byte%s of data beyond its tensors",
                         Ull{file_.size() - begin - at}, plural(file_.size() - begin - at));
}

Status HeaderReader::read() {
    char magic[4];
    uint64_t n_tensors, n_keys;
    MINIGPT_TRY(in_.read(magic, sizeof magic));
    MINIGPT_TRY(in_.number(&out_->version));
    if (memcmp(magic, "GGUF", 4) != 0)
        return Status::error(Code::bad_file, "is no GGUF file");
    if ((out_->version & 0xffff) == 0 && out_->version != 0)
        return Status::error(Code::not_supported, "a big-endian GGUF file");
    if (out_->version != 2 && out_->version != 3) {
        return Status::error(Code::not_supported, "GGUF version %lu; expected 2 or 3",
                             Ul{out_->version});
    }
    MINIGPT_TRY(in_.number(&n_tensors));
    MINIGPT_TRY(in_.number(&n_keys));
    if (n_keys > kMaxKeys || n_tensors > kMaxTensors) {
        return Status::error(Code::bad_file,
                             "%llu keys and %llu tensors; expected at most %llu and %llu",
                             Ull{n_keys}, Ull{n_tensors}, Ull{kMaxKeys}, Ull{kMaxTensors});
    }
    for (uint64_t i = 0; i < n_keys; i++)
        MINIGPT_TRY(read_key());
    names_.clear();
    for (uint64_t i = 0; i < n_tensors; i++) {
        out_->tensors.emplace_back();
        GgufTensor& tensor = out_->tensors.back();
        MINIGPT_TRY(read_text(kMaxName, &tensor.name));
        MINIGPT_TRY(within(shown(tensor.name), read_tensor(&tensor)));
        if (!names_.insert(tensor.name).second) {
            return Status::error(Code::bad_file, "the tensor %s stands twice",
                                 shown(tensor.name).c_str());
        }
    }
    return place_tensors();
}

}  // namespace

Status read_gguf_header(const File& file, GgufFile* out) {
    return HeaderReader(file, out).read();
}

}  // namespace minigpt::convert
