// A small writer of GGUF.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/tools/convert/text_model.h"

namespace minigpt::test {

// A key's kind and value, as bytes.
namespace gguf {
std::string text(const std::string& bytes);  // a length and the bytes, without a kind
std::string string(const std::string& bytes);
std::string u32(uint64_t n);
std::string f32(float x);
std::string strings(const std::vector<std::string>& all);
std::string i32s(const std::vector<int32_t>& all);
}  // namespace gguf

struct GgufTensor {
    std::string name;
    std::vector<uint64_t> dims;  // innermost first
    uint32_t type;
    std::string data;
    int64_t shift = 0;  // added to its offset
};

// A file, to be changed before it is written.
struct GgufMaker {
    uint32_t version = 3;
    uint64_t alignment = 32;
    std::vector<std::pair<std::string, std::string>> keys;
    std::vector<GgufTensor> tensors;

    std::string& key(const std::string& name);  // added where there is none
    void remove_key(const std::string& name);
    GgufTensor& tensor(const std::string& name);
    std::string file() const;
};

// The model under llama.cpp's names. Matrices of a layer are turned.
GgufMaker gguf_of(const HfModel& model);

// A half's value, and the half nearest to a number (ties away from zero; no overflow).
double half_value(unsigned bits);
unsigned nearest_half(double x);

// Packs the f32 numbers of `tensor` in blocks of a type (2, 3, 6, 7, 8), and replaces them by what
// the blocks stand for.
std::string quantize(uint32_t type, SavedTensor* tensor);

}  // namespace minigpt::test
