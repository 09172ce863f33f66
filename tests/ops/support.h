// What the op tests share: computes of several thread counts, memory on a cache line, panels.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "minigpt/config.h"
#include "ops/compute.h"
#include "tests/kernels/support.h"

namespace test {

template <typename F>
void with_compute(const char* isa, size_t n_threads, F f) {
    std::string name = isa;
    CAPTURE(name);
    CAPTURE(n_threads);
    minigpt::Compute compute;
    REQUIRE(compute.create(n_threads, isa).ok());
    f(compute);
}

// f(compute) for every present table whose bits are equal on one thread, and the best of them on
// 2, 3 and 8.
template <typename F>
void for_each_exact_compute(F f) {
    for (size_t i = 0; minigpt::kernel_choice(i).name != nullptr; ++i) {
        minigpt::KernelChoice choice = minigpt::kernel_choice(i);
        if (choice.present && choice.table->bit_exact)
            with_compute(choice.name, 1, f);
    }
    for (size_t n_threads : {2, 3, 8})
        with_compute(minigpt::bit_exact_isa(), n_threads, f);
}

// And for those that multiply and add, whose bits are their own on any number of threads.
template <typename F>
void for_each_compute(F f) {
    for_each_exact_compute(f);
    for (size_t i = 0; minigpt::kernel_choice(i).name != nullptr; ++i) {
        minigpt::KernelChoice choice = minigpt::kernel_choice(i);
        for (size_t n_threads : {1, 3}) {
            if (choice.present && !choice.table->bit_exact)
                with_compute(choice.name, n_threads, f);
        }
    }
}

// Bytes on a cache line, all ones (NaN) until they are written.
class Memory {
public:
    explicit Memory(size_t bytes) {
        REQUIRE(bytes_.allocate(bytes));
        memset(bytes_.data(), 0xff, bytes);
    }
    void* data() { return bytes_.data(); }
    float* floats() { return reinterpret_cast<float*>(bytes_.data()); }
    size_t size() const { return bytes_.size(); }

private:
    minigpt::Buffer<unsigned char> bytes_;
};

// Panels of q8 or q4, quantized simply; see panels_of.
inline std::unique_ptr<Memory> grouped_panels_of(std::vector<float>& w, size_t n_in, size_t n_out,
                                                 minigpt::ElementType type) {
    bool is_q8 = type == minigpt::ElementType::q8;
    size_t group_bytes = is_q8 ? 544 : 288, n_groups = (n_in + 31) / 32;
    size_t bytes = (n_out + 15) / 16 * n_groups * group_bytes;
    std::unique_ptr<Memory> memory(new Memory(bytes));
    unsigned char* data = static_cast<unsigned char*>(memory->data());
    memset(data, 0, bytes);
    for (size_t j = 0; j < n_out; ++j) {
        for (size_t k0 = 0; k0 < n_in; k0 += 32) {
            unsigned char* group = data + (j / 16 * n_groups + k0 / 32) * group_bytes;
            size_t end = k0 + 32 < n_in ? k0 + 32 : n_in;
            float largest = 0;
            for (size_t k = k0; k < end; ++k)
                largest = std::fmax(largest, std::fabs(w[k * n_out + j]));
            uint16_t half = minigpt::float_to_f16(largest / (is_q8 ? 127.0f : -8.0f));
            float scale = minigpt::f16_to_float(half);
            memcpy(group + j % 16 * 2, &half, 2);
            for (size_t k = k0; k < end; ++k) {
                float& x = w[k * n_out + j];
                float low = is_q8 ? -127 : -8, high = is_q8 ? 127 : 7;
                float q = std::fmax(low, std::fmin(high, std::nearbyint(x / scale)));
                x = q * scale;
                int whole = static_cast<int>(q);
                if (is_q8) {
                    group[32 + k % 32 * 16 + j % 16] = static_cast<unsigned char>(whole);
                } else {
                    group[32 + k % 16 / 4 * 64 + j % 16 * 4 + k % 4] |=
                        static_cast<unsigned char>((whole + 8) << (k % 32 < 16 ? 0 : 4));
                }
            }
        }
    }
    return memory;
}

// w [n_in, n_out] in panels of a type. After rounding, w holds what the panels hold.
inline std::unique_ptr<Memory> panels_of(std::vector<float>& w, size_t n_in, size_t n_out,
                                         minigpt::ElementType type) {
    if (type == minigpt::ElementType::q8 || type == minigpt::ElementType::q4)
        return grouped_panels_of(w, n_in, n_out, type);
    bool wide = type == minigpt::ElementType::f32;
    std::unique_ptr<Memory> memory(new Memory((n_out + 15) / 16 * 16 * n_in * (wide ? 4 : 2)));
    memset(memory->data(), 0, memory->size());
    for (size_t k = 0; k < n_in; ++k) {
        for (size_t j = 0; j < n_out; ++j) {
            size_t at = (j / 16 * n_in + k) * 16 + j % 16;
            float& x = w[k * n_out + j];
            uint16_t* half = static_cast<uint16_t*>(memory->data()) + at;
            if (wide) {
                memory->floats()[at] = x;
            } else if (type == minigpt::ElementType::f16) {
                *half = minigpt::float_to_f16(x);
                x = minigpt::f16_to_float(*half);
            } else {
                *half = minigpt::float_to_bf16(x);
                x = minigpt::bf16_to_float(*half);
            }
        }
    }
    return memory;
}

inline std::vector<float> random_floats(size_t n, Numbers& numbers, float scale = 1) {
    std::vector<float> x(n);
    for (float& f : x)
        f = numbers.next(scale);
    return x;
}

}  // namespace test
