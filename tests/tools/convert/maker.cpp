#include "tests/tools/convert/maker.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/allocation_trap.h"
#include "tests/json.h"

namespace minigpt::test {
namespace {

size_t bytes_of_dtype(const std::string& dtype) {
    return dtype == "F32" ? 4 : dtype == "F16" || dtype == "BF16" ? 2 : 1;
}

std::string list(const std::vector<uint64_t>& numbers) {
    std::string text = "[";
    for (uint64_t n : numbers)
        text += (text.size() > 1 ? "," : "") + std::to_string(n);
    return text + "]";
}

// The bits of an f32 with the value of a 16-bit number; normal numbers and zero only.
uint32_t widened(uint16_t h, bool is_bf16) {
    uint32_t bits = h;
    if (is_bf16)
        return bits << 16;
    if ((bits & 0x7fff) == 0)
        return (bits & 0x8000) << 16;
    return (bits & 0x8000) << 16 | (((bits & 0x7fff) << 13) + (112u << 23));
}

}  // namespace

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary);
    out << bytes;
    out.close();
    REQUIRE(out.good());
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    REQUIRE(in.good());
    return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string safetensors(const std::string& header, const std::string& data) {
    uint64_t n = header.size();
    return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

std::string safetensors(const std::vector<SavedTensor>& tensors) {
    std::string header = "{\"__metadata__\":{\"format\":\"pt\"}", data;
    for (const SavedTensor& t : tensors) {
        header += ",\"" + t.name + "\":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + list(t.shape) +
                  ",\"data_offsets\":" + list({data.size(), data.size() + t.data.size()}) + "}";
        data += t.data;
    }
    return safetensors(header + "}", data);
}

std::string random_numbers(const std::string& dtype, size_t n, unsigned seed) {
    std::mt19937 random(seed);
    size_t size = bytes_of_dtype(dtype);
    std::string data;
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = random() & 1, tail = static_cast<uint32_t>(random());
        uint32_t exponent = static_cast<uint32_t>(random() % 12);  // 2^-12 to 2^-1
        uint32_t bits = sign << 31 | (115 + exponent) << 23 | (tail & 0x7fffff);
        if (dtype == "BF16")
            bits >>= 16;
        if (dtype == "F16")
            bits = sign << 15 | (3 + exponent) << 10 | (tail & 0x3ff);
        data.append(reinterpret_cast<const char*>(&bits), size);
    }
    return data;
}

SavedTensor& HfModel::tensor(const std::string& name) {
    for (SavedTensor& t : tensors) {
        if (t.name == name)
            return t;
    }
    FAIL("no tensor " << name);
    return tensors[0];
}

void HfModel::remove(const std::string& name) {
    tensors.erase(tensors.begin() + (&tensor(name) - tensors.data()));
}

void HfModel::set(const std::string& field, const std::string& json) {
    if (json.empty())
        fields.erase(field);
    else
        fields[field] = json;
}

void HfModel::write(const std::string& folder) const {
    write_file(folder + "/model.safetensors", safetensors(tensors));
    std::string text;
    for (const auto& [name, value] : fields) {
        text += (text.empty() ? "{\"" : ",\n\"") + name + "\": " + value;
    }
    if (files.count("config.json") == 0)
        write_file(folder + "/config.json", text + "}");
    for (const auto& [name, bytes] : files)
        write_file(folder + "/" + name, bytes);
}

HfModel small_model(const std::string& dtype, bool tied) {
    HfModel model;
    Config& c = model.config;
    c.n_vocab = c.n_rows = 20;
    c.n_ctx = 6;
    c.n_embd = 8;
    c.n_head = 2;
    c.n_layer = 2;
    c.n_ff = 32;
    c.tied = tied;
    for (size_t i = 0; i < tensor_count(c); i++) {
        TensorSpec spec = tensor_spec(c, i);
        size_t n = spec.shape[0] * spec.shape[1];
        model.tensors.push_back({spec.name,
                                 dtype,
                                 {spec.shape, spec.shape + spec.n_dims},
                                 random_numbers(dtype, n, static_cast<unsigned>(i))});
    }
    model.fields = {{"model_type", "\"gpt2\""},
                    {"vocab_size", "20"},
                    {"n_positions", "6"},
                    {"n_embd", "8"},
                    {"n_head", "2"},
                    {"n_layer", "2"},
                    {"tie_word_embeddings", tied ? "true" : "false"}};
    return model;
}

Converted convert_to(const std::string& source, const std::string& output,
                     std::optional<ElementType> type, bool force) {
    convert::Options options;
    options.source = source;
    options.output = output;
    options.type = type;
    options.force = force;
    Converted done;
    convert::Failure failure = convert::convert(
        options, [](uint64_t, uint64_t) {}, &done.report);
    done.status = failure.status;
    done.path = failure.path;
    return done;
}

void check_refused_folder(const std::string& folder, const std::vector<std::string>& words) {
    TempFolder out;
    Converted done = convert_to(folder, out / "out.mgpt");
    std::string message = done.path + ": " + done.status.message();  // as the program says it
    CAPTURE(message);
    CHECK(!done.status.ok());
    CHECK(done.path == folder);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(message.find(word) != std::string::npos);
    }
    CHECK(std::filesystem::is_empty(out.path()));
}

void check_few_allocations(size_t most, const std::function<void()>& f) {
    size_t before = n_allocations();
    f();
    size_t n = n_allocations() - before;
    if (!allocations_are_counted())
        return;
    CAPTURE(n);
    CHECK(n <= most);
}

void check_refused(const HfModel& model, const std::vector<std::string>& words) {
    TempFolder folder;
    model.write(folder.path());
    check_refused_folder(folder.path(), words);
}

void check_same_bits(const Model& model, const std::vector<SavedTensor>& saved,
                     const std::string& prefix) {
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo t = model.tensor(i);
        const SavedTensor* source = nullptr;
        for (const SavedTensor& s : saved) {
            if (s.name == prefix + t.spec.name || s.name == t.spec.name)
                source = &s;
        }
        CAPTURE(std::string(t.spec.name));
        REQUIRE(source != nullptr);
        size_t from = bytes_of_dtype(source->dtype), to = bytes_of(t.type);
        size_t n_different = 0;
        for (size_t at = 0; at < t.spec.shape[0] * t.spec.shape[1]; at++) {
            size_t row = at / t.spec.shape[1], col = at % t.spec.shape[1];
            size_t k = t.spec.is_table ? col : row, out = t.spec.is_table ? row : col;
            size_t place = t.spec.layout == Layout::panels
                               ? (out / 16 * t.spec.n_in() + k) * 16 + out % 16
                               : at;
            uint32_t a = 0, b = 0;
            memcpy(&a, static_cast<const char*>(t.data) + place * to, to);
            memcpy(&b, source->data.data() + at * from, from);
            if (from < to)
                b = widened(static_cast<uint16_t>(b), source->dtype == "BF16");
            n_different += a != b;
        }
        CHECK(n_different == 0);
    }
}

std::vector<SavedTensor> load_safetensors(const std::string& path) {
    std::string bytes = read_file(path);
    uint64_t n;
    memcpy(&n, bytes.data(), 8);
    Json header = Json::parse(bytes.substr(8, n));
    std::vector<SavedTensor> tensors;
    for (const auto& [name, entry] : header.members) {
        if (name == "__metadata__")
            continue;
        std::vector<size_t> offsets = entry["data_offsets"].numbers<size_t>();
        tensors.push_back({name, entry["dtype"].text, entry["shape"].numbers<uint64_t>(),
                           bytes.substr(8 + n + offsets[0], offsets[1] - offsets[0])});
    }
    return tensors;
}

}  // namespace minigpt::test
