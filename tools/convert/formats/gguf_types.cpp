#include "convert/formats/gguf_types.h"

#include <cstring>

namespace minigpt::convert {
namespace {

constexpr size_t kBlock = 32;     // numbers in a block of all types that are unpacked
constexpr size_t kMaxBytes = 34;  // of such a block

float half_at(const unsigned char* p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return value_of_half(bits);
}

// ggml-common.h's block_q4_0 and so on. A block's scale d (and minimum m) are halves; the low
// four bits of byte j are number j, the high four number j + 16. d times a small integer is exact
// in f32, so only adding m rounds.

// f16 d, 16 bytes: d (q - 8)
void unpack_q4_0(const unsigned char* block, float* numbers) {
    float d = half_at(block);
    for (size_t j = 0; j < 16; j++) {
        int q = block[2 + j];
        numbers[j] = d * static_cast<float>((q & 15) - 8);
        numbers[j + 16] = d * static_cast<float>((q >> 4) - 8);
    }
}

// f16 d, f16 m, 16 bytes: d q + m
void unpack_q4_1(const unsigned char* block, float* numbers) {
    float d = half_at(block), m = half_at(block + 2);
    for (size_t j = 0; j < 16; j++) {
        int q = block[4 + j];
        numbers[j] = d * static_cast<float>(q & 15) + m;
        numbers[j + 16] = d * static_cast<float>(q >> 4) + m;
    }
}

// The fifth bits: bit j of a u32 is number j's.
int high_bit(const unsigned char* bits, size_t j) {
    return (bits[j / 8] >> j % 8 & 1) << 4;
}

// f16 d, u32 fifth bits, 16 bytes: d (q - 16)
void unpack_q5_0(const unsigned char* block, float* numbers) {
    float d = half_at(block);
    for (size_t j = 0; j < 16; j++) {
        int q = block[6 + j];
        numbers[j] = d * static_cast<float>(((q & 15) | high_bit(block + 2, j)) - 16);
        numbers[j + 16] = d * static_cast<float>(((q >> 4) | high_bit(block + 2, j + 16)) - 16);
    }
}

// f16 d, f16 m, u32 fifth bits, 16 bytes: d q + m
void unpack_q5_1(const unsigned char* block, float* numbers) {
    float d = half_at(block), m = half_at(block + 2);
    for (size_t j = 0; j < 16; j++) {
        int q = block[8 + j];
        numbers[j] = d * static_cast<float>((q & 15) | high_bit(block + 4, j)) + m;
        numbers[j + 16] = d * static_cast<float>((q >> 4) | high_bit(block + 4, j + 16)) + m;
    }
}

// f16 d, 32 signed bytes: d q
void unpack_q8_0(const unsigned char* block, float* numbers) {
    float d = half_at(block);
    for (size_t j = 0; j < kBlock; j++)
        numbers[j] = d * static_cast<float>(static_cast<signed char>(block[2 + j]));
}

// The types of ggml.h's enum ggml_type whose sizes are settled.
const GgufType kTypes[] = {
    {0, "F32", 1, 4, ElementType::f32, nullptr},
    {1, "F16", 1, 2, ElementType::f16, nullptr},
    {2, "Q4_0", kBlock, 18, {}, unpack_q4_0},
    {3, "Q4_1", kBlock, 20, {}, unpack_q4_1},
    {6, "Q5_0", kBlock, 22, {}, unpack_q5_0},
    {7, "Q5_1", kBlock, 24, {}, unpack_q5_1},
    {8, "Q8_0", kBlock, 34, {}, unpack_q8_0},
    {10, "Q2_K", 256, 84, {}, nullptr},
    {11, "Q3_K", 256, 110, {}, nullptr},
    {12, "Q4_K", 256, 144, {}, nullptr},
    {13, "Q5_K", 256, 176, {}, nullptr},
    {14, "Q6_K", 256, 210, {}, nullptr},
    {15, "Q8_K", 256, 292, {}, nullptr},
    {16, "IQ2_XXS", 256, 66, {}, nullptr},
    {17, "IQ2_XS", 256, 74, {}, nullptr},
    {18, "IQ3_XXS", 256, 98, {}, nullptr},
    {19, "IQ1_S", 256, 50, {}, nullptr},
    {20, "IQ4_NL", 32, 18, {}, nullptr},
    {21, "IQ3_S", 256, 110, {}, nullptr},
    {22, "IQ2_S", 256, 82, {}, nullptr},
    {23, "IQ4_XS", 256, 136, {}, nullptr},
    {24, "I8", 1, 1, {}, nullptr},
    {25, "I16", 1, 2, {}, nullptr},
    {26, "I32", 1, 4, {}, nullptr},
    {27, "I64", 1, 8, {}, nullptr},
    {28, "F64", 1, 8, {}, nullptr},
    {29, "IQ1_M", 256, 56, {}, nullptr},
    {30, "BF16", 1, 2, ElementType::bf16, nullptr},
    {34, "TQ1_0", 256, 54, {}, nullptr},
    {35, "TQ2_0", 256, 66, {}, nullptr},
    {39, "MXFP4", 32, 17, {}, nullptr},
};

}  // namespace

const GgufType* gguf_type(uint32_t id) {
    for (const GgufType& type : kTypes) {
        if (type.id == id)
            return &type;
    }
    return nullptr;
}

std::string read_gguf_types() {
    std::string names;
    for (const GgufType& type : kTypes) {
        if (type.read_as())
            names += (names.empty() ? "" : ", ") + std::string(type.name);
    }
    return names;
}

float value_of_half(uint16_t half) {
    uint32_t sign = uint32_t{half} >> 15 << 31, exponent = half >> 10 & 31, tail = half & 1023;
    uint32_t bits;
    if (exponent == 0) {  // zero, or a multiple of 2^-24
        float value = static_cast<float>(tail) * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    if (exponent == 31)
        bits = sign | 255u << 23 | tail << 13;
    else
        bits = sign | (exponent + 112) << 23 | tail << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void unpack_in_place(const GgufType& type, unsigned char* memory, uint64_t n_blocks) {
    size_t n = static_cast<size_t>(n_blocks), size = type.block_bytes;
    const unsigned char* from = memory + n * (kBlock * sizeof(float) - size);
    for (size_t i = 0; i < n; i++) {
        // What is written is never ahead of the block it comes from; that one may be overwritten.
        unsigned char block[kMaxBytes];
        float numbers[kBlock];
        memcpy(block, from + i * size, size);
        type.unpack(block, numbers);
        memcpy(memory + i * sizeof numbers, numbers, sizeof numbers);
    }
}

}  // namespace minigpt::convert
