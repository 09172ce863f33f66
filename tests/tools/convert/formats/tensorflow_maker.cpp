#include "tests/tools/convert/formats/tensorflow_maker.h"

#include <algorithm>
#include <cstdio>

namespace minigpt::test {
namespace {

std::string little_endian(uint64_t value, size_t n) {
    std::string bytes;
    for (size_t i = 0; i < n; i++)
        bytes += static_cast<char>(value >> 8 * i);
    return bytes;
}

std::string literal(const std::string& bytes) {
    size_t n = bytes.size();
    if (n == 0)
        return "";
    if (n <= 60)
        return static_cast<char>((n - 1) << 2) + bytes;
    size_t n_length = n <= 256 ? 1 : n <= 65536 ? 2 : 3;
    return static_cast<char>((59 + n_length) << 2) + little_endian(n - 1, n_length) + bytes;
}

std::string copy(size_t offset, size_t n) {
    if (n >= 4 && n <= 11 && offset < 2048) {
        return {static_cast<char>((offset >> 8) << 5 | (n - 4) << 2 | 1),
                static_cast<char>(offset)};
    }
    size_t kind = offset < 65536 && n % 2 == 0 ? 2 : 3;
    return static_cast<char>((n - 1) << 2 | kind) + little_endian(offset, kind == 2 ? 2 : 4);
}

std::string handle(size_t offset, size_t size) {
    return varint(offset) + varint(size);
}

std::string dtype_number(const std::string& dtype) {
    return dtype == "F32" ? "1" : dtype == "F16" ? "19" : dtype == "BF16" ? "14" : dtype;
}

// "h.0.attn.c_attn.weight" as model/h0/attn/c_attn/w.
std::string openai_name(const std::string& name) {
    size_t dot = name.rfind('.');
    std::string body = name.substr(0, dot), last = name.substr(dot + 1);
    bool is_norm = body.find("ln_") != std::string::npos;
    std::replace(body.begin(), body.end(), '.', '/');
    if (body.compare(0, 2, "h/") == 0)
        body.erase(1, 1);
    std::string ending = last == "bias" ? "/b" : is_norm ? "/g" : "/w";
    return "model/" + body + (body == "wte" || body == "wpe" ? "" : ending);
}

}  // namespace

std::string varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7)
        bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
}

namespace proto {

std::string number(unsigned field, uint64_t value) {
    return varint(field << 3) + varint(value);
}
std::string bytes(unsigned field, const std::string& value) {
    return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string fixed32(unsigned field, uint32_t value) {
    return varint(field << 3 | 5) + little_endian(value, 4);
}

}  // namespace proto

uint32_t plain_crc32c(const std::string& bytes) {
    uint32_t crc = ~0u;
    for (char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1) * 0x82f63b78u;
    }
    return ~crc;
}

uint32_t masked_crc32c(const std::string& bytes) {
    uint32_t crc = plain_crc32c(bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string snappy(const std::string& bytes) {
    std::string out = varint(bytes.size()), pending;
    std::map<std::string, size_t> seen;  // where four bytes stood last
    for (size_t at = 0; at < bytes.size();) {
        std::string four = bytes.substr(at, 4);
        auto found = seen.find(four);
        size_t n = 0;
        if (four.size() == 4 && found != seen.end()) {
            while (n < 64 && at + n < bytes.size() && bytes[found->second + n] == bytes[at + n])
                n++;
        }
        if (n > 0) {
            out += literal(pending) + copy(at - found->second, n);
            pending.clear();
        } else {
            n = 1;
            pending += bytes[at];
        }
        if (four.size() == 4)
            seen[four] = at;
        at += n;
    }
    return out + literal(pending);
}

std::string table_block(const Entries& entries, size_t interval) {
    std::string out, restarts, last;
    size_t n_restarts = 0;
    for (size_t i = 0; i < entries.size(); i++) {
        const auto& [key, value] = entries[i];
        size_t shared = 0;
        if (i % interval == 0) {
            restarts += little_endian(out.size(), 4);
            n_restarts++;
        } else {
            while (shared < key.size() && shared < last.size() && key[shared] == last[shared])
                shared++;
        }
        out += varint(shared) + varint(key.size() - shared) + varint(value.size()) +
               key.substr(shared) + value;
        last = key;
    }
    if (entries.empty())
        return std::string(4, '\0') + little_endian(1, 4);
    return out + restarts + little_endian(n_restarts, 4);
}

std::string sealed(const std::string& block, unsigned char compression) {
    std::string bytes = compression == 1 ? snappy(block) : block;
    bytes += static_cast<char>(compression);
    return bytes + little_endian(masked_crc32c(bytes), 4);
}

std::string table_of(const std::string& data, const Entries& handles) {
    std::string out = data, meta = sealed(table_block({})), index = sealed(table_block(handles, 1));
    std::string footer =
        handle(out.size(), meta.size() - 5) + handle(out.size() + meta.size(), index.size() - 5);
    footer.resize(40);
    return out + meta + index + footer + little_endian(0xdb4775248b80fb57, 8);
}

std::string table_of(const Entries& blocks) {
    std::string out;
    Entries handles;
    for (const auto& [key, block] : blocks) {
        handles.emplace_back(key, handle(out.size(), block.size() - 5));
        out += block;
    }
    return table_of(out, handles);
}

std::string table(const Entries& entries, const TableOptions& options) {
    Entries blocks;
    for (size_t i = 0; i < entries.size(); i += options.per_block) {
        size_t end = std::min(entries.size(), i + options.per_block);
        Entries part(entries.begin() + static_cast<ptrdiff_t>(i),
                     entries.begin() + static_cast<ptrdiff_t>(end));
        std::string block = table_block(part, options.interval);
        blocks.emplace_back(part.back().first, sealed(block, options.compression));
    }
    return table_of(blocks);
}

TfModel::Tensor& TfModel::tensor(const std::string& name) {
    for (Tensor& t : tensors) {
        if (t.saved.name == name)
            return t;
    }
    FAIL("no tensor " << name);
    return tensors[0];
}

Entries TfModel::entries(std::vector<std::string>* shards) const {
    std::map<std::string, std::string> all(extra.begin(), extra.end());
    std::string version = proto::bytes(3, proto::number(1, 1));
    all[""] = header.empty() ? proto::number(1, n_shards) + version : header;
    shards->assign(n_shards, "");
    for (const Tensor& t : tensors) {
        std::string shape;
        for (uint64_t n : t.saved.shape)
            shape += proto::bytes(2, proto::number(1, n));
        std::string& shard = (*shards)[t.shard];
        all[t.saved.name] = proto::number(1, std::stoul(dtype_number(t.saved.dtype))) +
                            proto::bytes(2, shape) + proto::number(3, t.shard) +
                            proto::number(4, shard.size()) + proto::number(5, t.saved.data.size()) +
                            proto::fixed32(6, masked_crc32c(t.saved.data)) + t.more;
        shard += t.saved.data;
    }
    return Entries(all.begin(), all.end());
}

void TfModel::write(const std::string& folder, const std::string& prefix) const {
    std::vector<std::string> shards;
    write_file(folder + "/" + prefix + ".index", table(entries(&shards), options));
    for (size_t i = 0; i < shards.size(); i++) {
        char ending[64];
        snprintf(ending, sizeof ending, ".data-%05zu-of-%05zu", i, shards.size());
        write_file(folder + "/" + prefix + ending, shards[i]);
    }
    std::string text;
    for (const auto& [name, value] : fields)
        text += (text.empty() ? "{\"" : ", \"") + name + "\": " + value;
    write_file(folder + "/hparams.json", text + "}");
}

TfModel tf_model(const HfModel& model, uint64_t n_shards) {
    TfModel out;
    out.n_shards = n_shards;
    for (const SavedTensor& t : model.tensors) {
        SavedTensor saved = t;
        saved.name = openai_name(t.name);
        if (t.shape.size() == 2 && t.name[0] == 'h')
            saved.shape.insert(saved.shape.begin(), 1);
        out.tensors.push_back({saved, out.tensors.size() * 7 % n_shards, ""});
    }
    const Config& c = model.config;
    out.fields = {{"n_vocab", std::to_string(c.n_rows)},
                  {"n_ctx", std::to_string(c.n_ctx)},
                  {"n_embd", std::to_string(c.n_embd)},
                  {"n_head", std::to_string(c.n_head)},
                  {"n_layer", std::to_string(c.n_layer)}};
    return out;
}

}  // namespace minigpt::test
