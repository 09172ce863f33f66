#include "tests/tools/convert/formats/torch_maker.h"

#include <cstring>
#include <filesystem>

#include "convert/codecs/crc.h"
#include "convert/codecs/zip.h"

namespace minigpt::test {
namespace {

template <typename T>
std::string raw(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string u16(size_t n) {
    return raw(static_cast<uint16_t>(n));
}
std::string u32(size_t n) {
    return raw(static_cast<uint32_t>(n));
}
std::string u64(size_t n) {
    return raw(static_cast<uint64_t>(n));
}

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts)
        all += part;
    return all;
}

std::string joined(const std::vector<std::pair<std::string, std::string>>& members) {
    std::string all;
    for (const auto& [key, value] : members)
        all += pickle::text(key) + value;
    return all;
}

size_t bytes_of_type(const std::string& type) {
    if (type == "HalfStorage" || type == "BFloat16Storage")
        return 2;
    if (type == "ByteStorage" || type == "BoolStorage")
        return 1;
    return type == "DoubleStorage" || type == "LongStorage" ? 8 : 4;
}

}  // namespace

namespace pickle {

std::string text(const std::string& utf8) {
    return "X" + u32(utf8.size()) + utf8;
}

std::string integer(int64_t n) {
    if (n >= 0 && n < 256)
        return "K" + std::string(1, static_cast<char>(n));
    if (n >= INT32_MIN && n <= INT32_MAX)
        return "J" + raw(static_cast<int32_t>(n));
    return "\x8a\x08" + raw(n);
}

std::string none() {
    return "N";
}
std::string boolean(bool value) {
    return value ? "\x88" : "\x89";
}

std::string real(double x) {
    std::string bytes = raw(x);
    return "G" + std::string(bytes.rbegin(), bytes.rend());
}

std::string tuple(const std::vector<std::string>& values) {
    return "(" + joined(values) + "t";
}

std::string sizes(const std::vector<uint64_t>& values) {
    std::vector<std::string> all;
    for (uint64_t n : values)
        all.push_back(integer(static_cast<int64_t>(n)));
    return tuple(all);
}

std::string list(const std::vector<std::string>& values) {
    return "](" + joined(values) + "e";
}

std::string dict(const std::vector<std::pair<std::string, std::string>>& members) {
    return "}(" + joined(members) + "u";
}

std::string named(const std::string& module, const std::string& name) {
    return "c" + module + "\n" + name + "\n";
}

std::string call(const std::string& callee, const std::string& arguments) {
    return callee + arguments + "R";
}

std::string ordered_dict(const std::vector<std::pair<std::string, std::string>>& members) {
    return call(named("collections", "OrderedDict"), ")") + "(" + joined(members) + "u";
}

std::string storage(const std::string& type, const std::string& key, uint64_t numel,
                    const std::string& place, bool is_legacy) {
    std::vector<std::string> id = {text("storage"), named("torch", type), text(key), text(place),
                                   integer(static_cast<int64_t>(numel))};
    if (is_legacy)
        id.push_back(none());
    return tuple(id) + "Q";
}

std::string tensor(const std::string& storage, uint64_t offset, const std::vector<uint64_t>& shape,
                   const std::vector<uint64_t>& strides) {
    return call(named("torch._utils", "_rebuild_tensor_v2"),
                tuple({storage, integer(static_cast<int64_t>(offset)), sizes(shape), sizes(strides),
                       boolean(false), ordered_dict({})}));
}

std::string whole(const std::string& value) {
    return "\x80\x02" + value + ".";
}

}  // namespace pickle

std::string zip_archive(const std::vector<ZipMember>& members) {
    std::string out, directory;
    bool any64 = false;
    for (const ZipMember& m : members) {
        const std::string& unpacked = m.unpacked.empty() ? m.data : m.unpacked;
        size_t offset = out.size(), n = unpacked.size(), packed = m.data.size();
        uint32_t crc = m.no_checksum ? 0 : convert::crc32_of(unpacked.data(), n);
        std::string flags = u16(m.descriptor ? 0x808 : 0x800), method = u16(m.method);
        std::string in64 = u32(UINT32_MAX), sizes = m.zip64 ? in64 + in64 : u32(packed) + u32(n);
        std::string extra = m.zip64 ? u16(1) + u16(16) + u64(n) + u64(packed) : "";
        std::string before = m.descriptor ? u32(0) + u32(0) + u32(0) : u32(crc) + sizes;
        std::string padding = u16(0x4246) + u16(3) + "ZZZ";  // as PyTorch aligns its data
        std::string local = (m.descriptor ? "" : extra) + padding;
        out += "PK\3\4" + u16(45) + flags + method + u32(0) + before + u16(m.name.size()) +
               u16(local.size()) + m.name + local + m.data;
        if (m.descriptor)
            out += "PK\7\10" + u32(crc) + (m.zip64 ? u64(packed) + u64(n) : u32(packed) + u32(n));
        std::string more = m.zip64 ? u16(1) + u16(24) + u64(n) + u64(packed) + u64(offset) : "";
        directory += "PK\1\2" + u16(45) + u16(45) + flags + method + u32(0) + u32(crc) + sizes +
                     u16(m.name.size()) + u16(more.size()) + u16(0) + u16(0) + u16(0) + u32(0) +
                     (m.zip64 ? in64 : u32(offset)) + m.name + more;
        any64 |= m.zip64;
    }
    size_t at = out.size(), n = members.size();
    out += directory;
    if (any64) {
        size_t end = out.size();
        out += "PK\6\6" + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(n) + u64(n) +
               u64(directory.size()) + u64(at) + "PK\6\7" + u32(0) + u64(end) + u32(1);
    }
    size_t shown = any64 ? UINT16_MAX : n;
    return out + "PK\5\6" + u16(0) + u16(0) + u16(shown) + u16(shown) +
           (any64 ? u32(UINT32_MAX) + u32(UINT32_MAX) : u32(directory.size()) + u32(at)) + u16(0);
}

std::string torch_zip(const std::string& object, const std::vector<TorchNumbers>& storages,
                      const ZipMember& like) {
    std::vector<ZipMember> members;
    auto add = [&](const std::string& name, const std::string& data) {
        members.push_back(like);
        members.back().name = "root/" + name;
        members.back().data = data;
    };
    for (size_t i = 0; i < storages.size(); i += 2)
        add("data/" + std::to_string(i), storages[i].data);
    add("data.pkl", pickle::whole(object));
    add("byteorder", "little");
    for (size_t i = 1; i < storages.size(); i += 2)  // the order is free
        add("data/" + std::to_string(i), storages[i].data);
    add("version", "3\n");
    return zip_archive(members);
}

std::string torch_legacy(const std::string& object, const std::vector<TorchNumbers>& storages) {
    std::string magic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12), numbers;
    std::vector<std::string> keys;
    for (size_t i = 0; i < storages.size(); i++) {
        keys.push_back(pickle::text(std::to_string(i)));
        numbers +=
            u64(storages[i].data.size() / bytes_of_type(storages[i].type)) + storages[i].data;
    }
    return pickle::whole(magic) + pickle::whole(pickle::integer(1001)) +
           pickle::whole(pickle::dict({{"little_endian", pickle::boolean(true)}})) +
           pickle::whole(object) + pickle::whole(pickle::list(keys)) + numbers;
}

std::string torch_type(const std::string& dtype) {
    return dtype == "F16"    ? "HalfStorage"
           : dtype == "BF16" ? "BFloat16Storage"
           : dtype == "F64"  ? "DoubleStorage"
           : dtype == "U8"   ? "ByteStorage"
           : dtype == "BOOL" ? "BoolStorage"
                             : "FloatStorage";
}

std::string TorchModel::add(const SavedTensor& t, const std::string& place) {
    std::string type = torch_type(t.dtype), key = std::to_string(storages.size());
    std::vector<uint64_t> strides(t.shape.size(), 1);
    for (size_t i = t.shape.size(); i-- > 1;)
        strides[i - 1] = strides[i] * t.shape[i];
    uint64_t numel = t.data.size() / bytes_of_type(type);
    tensors.emplace_back(t.name, pickle::tensor(pickle::storage(type, key, numel, place, is_legacy),
                                                0, t.shape, strides));
    storages.push_back({type, t.data});
    return key;
}

std::string& TorchModel::tensor(const std::string& name) {
    for (auto& [key, value] : tensors) {
        if (key == name)
            return value;
    }
    FAIL("no tensor " << name);
    return tensors[0].second;
}

std::string TorchModel::file(const std::string& object) const {
    return is_legacy ? torch_legacy(object, storages) : torch_zip(object, storages);
}

SavedTensor transposed(const SavedTensor& t) {
    SavedTensor out = t;
    size_t rows = t.shape[0], cols = t.shape[1], size = t.data.size() / (rows * cols);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            memcpy(&out.data[(j * rows + i) * size], &t.data[(i * cols + j) * size], size);
    }
    std::swap(out.shape[0], out.shape[1]);
    return out;
}

TorchModel torch_model(const HfModel& model, bool linear, const std::string& prefix,
                       bool is_legacy) {
    TorchModel out;
    out.is_legacy = is_legacy;
    for (const SavedTensor& t : model.tensors) {
        bool turned = linear && t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0;
        SavedTensor saved = turned ? transposed(t) : t;
        bool is_head = t.name == "lm_head.weight";
        saved.name = (is_head && prefix == "transformer." ? "" : prefix) + t.name;
        out.add(saved, t.name == "wpe.weight" ? "cuda:0" : "cpu");
    }
    return out;
}

Converted convert_with(const convert::Options& options) {
    Converted done;
    convert::Failure failure = convert::convert(
        options, [](uint64_t, uint64_t) {}, &done.report);
    done.status = failure.status;
    done.path = failure.path;
    return done;
}

convert::Report check_torch(const std::string& file, const std::vector<SavedTensor>& expected,
                            convert::Options options) {
    TempFolder folder, out;
    if (options.source.empty()) {
        options.source = folder / "model.pt";
        write_file(options.source, file);
    }
    options.output = out / "m.mgpt";
    Converted done = convert_with(options);
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    Model opened;
    REQUIRE(opened.open(options.output.c_str()).ok());
    CHECK(opened.check_weights(Compute()).ok());
    check_same_bits(opened, expected);
    return done.report;
}

void check_torch_refused(const std::string& file, const std::vector<std::string>& words,
                         convert::Options options) {
    TempFolder folder, out;
    if (options.source.empty()) {
        options.source = folder / "model.pt";
        write_file(options.source, file);
    }
    options.output = out / "m.mgpt";
    Converted done = convert_with(options);
    std::string message = done.path + ": " + done.status.message();  // as the program says it
    CAPTURE(message);
    CHECK(!done.status.ok());
    CHECK(message.find('\n') == std::string::npos);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(message.find(word) != std::string::npos);
    }
    CHECK(std::filesystem::is_empty(out.path()));
}

}  // namespace minigpt::test
