// Hugging Face folders of random weights, made, spoilt and converted.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "minigpt/model.h"
#include "tests/temp_folder.h"

namespace minigpt::test {

struct SavedTensor {
    std::string name;
    std::string dtype = "F32";
    std::vector<uint64_t> shape;
    std::string data;  // raw, little-endian
};

void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

// A safetensors file of these tensors, in order; or of any header and data.
std::string safetensors(const std::vector<SavedTensor>& tensors);
std::string safetensors(const std::string& header, const std::string& data);

// Random numbers of a type, finite and of ordinary size, as raw bytes.
std::string random_numbers(const std::string& dtype, size_t n, unsigned seed);

// A checkpoint, to be changed before it is written.
struct HfModel {
    Config config;
    std::vector<SavedTensor> tensors;          // for model.safetensors
    std::map<std::string, std::string> files;  // config.json, vocab.json, ...

    SavedTensor& tensor(const std::string& name);
    void remove(const std::string& name);
    void set(const std::string& field, const std::string& json);  // in config.json; "": removed
    void write(const std::string& folder) const;

    std::map<std::string, std::string> fields;  // config.json's, written if files has none
};

// Two layers, 2 heads of 4, n_ctx 6, 20 ids without a vocabulary; tied.
HfModel small_model(const std::string& dtype = "F32", bool tied = true);

struct Converted {
    Status status;
    std::string path;
    convert::Report report;
};

// convert(), in this process.
Converted convert_to(const std::string& source, const std::string& output,
                     std::optional<ElementType> type = {}, bool force = false);

// Converting the model fails, says each word on one line, and leaves nothing.
void check_refused(const HfModel& model, const std::vector<std::string>& words);
void check_refused_folder(const std::string& folder, const std::vector<std::string>& words);

// Work is counted in allocations, which no clock and no busy machine changes: f makes at most so
// many. Nothing is counted under a sanitizer.
constexpr size_t kMostAllocations = 20000;  // to refuse a file of some kilobytes
void check_few_allocations(size_t most, const std::function<void()>& f);

// Every tensor of an open model has the bits of the saved tensor of the same name; prefix: what
// leads those names. Vectors are f32 in the file: their bits are those of the widened numbers.
void check_same_bits(const Model& model, const std::vector<SavedTensor>& saved,
                     const std::string& prefix = "");

// The tensors of a sound safetensors file.
std::vector<SavedTensor> load_safetensors(const std::string& path);

}  // namespace minigpt::test
