// Round to nearest, no flush to zero, no traps, for any settings of the caller's thread.
#pragma once

#include <cstdint>

namespace minigpt {

// Sets this thread's floating point to IEEE's defaults. The destructor restores the settings that
// were found, but not the sticky exception flags. Costs a few cycles if nothing differs. Only x86
// with SSE2, ARM with VFP and RISC-V with floating point are changed.
class FpEnvironment {
public:
    FpEnvironment() : found_(get()) {
        uint32_t wanted = (found_ & ~kClear) | kSet;
        changed_ = wanted != found_;
        if (changed_)
            set(wanted);
    }
    ~FpEnvironment() {
        if (changed_)
            set(found_);
    }
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;

private:
#if defined(__SSE2__)
    static constexpr uint32_t kClear =
        0xe040;                               // flush to zero, rounding (2 bits), subnormals are 0
    static constexpr uint32_t kSet = 0x1f80;  // the six traps masked
    static uint32_t get() {
        uint32_t bits;
        __asm__ volatile("stmxcsr %0" : "=m"(bits) : : "memory");
        return bits;
    }
    static void set(uint32_t bits) {
        __asm__ volatile("ldmxcsr %0" : : "m"(bits) : "memory");
    }
#elif defined(__aarch64__)
    // FZ, rounding (2 bits), default NaN, FZ16, the alternative half precision, the six traps.
    static constexpr uint32_t kClear =
        1u << 24 | 3u << 22 | 1u << 25 | 1u << 19 | 1u << 26 | 0x9f00;
    static constexpr uint32_t kSet = 0;
    static uint32_t get() {
        uint64_t bits;
        __asm__ volatile("mrs %0, fpcr" : "=r"(bits) : : "memory");
        return static_cast<uint32_t>(bits);
    }
    static void set(uint32_t bits) {
        uint64_t wide = bits;
        __asm__ volatile("msr fpcr, %0" : : "r"(wide) : "memory");
    }
#elif defined(__arm__) && defined(__VFP_FP__) && !defined(__SOFTFP__)
    // FZ, rounding (2 bits), default NaN, the alternative half precision, VFPv2's short vectors,
    // the six traps.
    static constexpr uint32_t kClear = 1u << 24 | 3u << 22 | 1u << 25 | 1u << 26 | 0x379f00;
    static constexpr uint32_t kSet = 0;
    static uint32_t get() {
        uint32_t bits;
        __asm__ volatile("vmrs %0, fpscr" : "=r"(bits) : : "memory");
        return bits;
    }
    static void set(uint32_t bits) {
        __asm__ volatile("vmsr fpscr, %0" : : "r"(bits) : "memory");
    }
#elif defined(__riscv_flen)
    // Only the rounding mode can be set: there are no traps and no flush to zero.
    static constexpr uint32_t kClear = 7;
    static constexpr uint32_t kSet = 0;
    static uint32_t get() {
        uint32_t bits;
        __asm__ volatile("frrm %0" : "=r"(bits) : : "memory");
        return bits;
    }
    static void set(uint32_t bits) {
        __asm__ volatile("fsrm %0" : : "r"(bits) : "memory");
    }
#else
    static constexpr uint32_t kClear = 0;
    static constexpr uint32_t kSet = 0;
    static uint32_t get() {
        return 0;
    }
    static void set(uint32_t) {}
#endif

    uint32_t found_;
    bool changed_;
};

}  // namespace minigpt
