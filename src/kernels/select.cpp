// Which tables this build has, and which of them this CPU runs: the only place that asks.
#include <atomic>

#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif (defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace minigpt {
namespace {

// The tables of this build, best first: TABLE(isa, whether this CPU runs it, whether it is taken
// unasked). A build of `make ISA=scalar` has no other kernels than those.
#if defined(MINIGPT_ISA_scalar)

#define MINIGPT_TABLES(TABLE)

#elif defined(__x86_64__) || defined(__i386__)

// The compiler's runtime asks the operating system too, by xgetbv, before it says avx2. It has no
// name for f16c on every compiler: leaf 1, ecx, bit 29.
bool has_avx2() {
    __builtin_cpu_init();
    unsigned eax, ebx, ecx, edx;
    bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 29 & 1) != 0;
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

#if defined(__x86_64__)
#define MINIGPT_X86_BASE(TABLE) TABLE(sse2, true, true)
#else
#define MINIGPT_X86_BASE(TABLE)
#endif

#define MINIGPT_TABLES(TABLE)         \
    TABLE(avx512, has_avx512(), true) \
    TABLE(avx2, has_avx2(), true)     \
    MINIGPT_X86_BASE(TABLE)

#elif defined(__aarch64__)

// Of the other extensions i8mm wants pairs of rows and of outputs: putting them together and taking
// the sums apart costs as many instructions as it saves. Arithmetic of fp16 has other bits; its
// conversions are in every CPU.
bool has_dot_products() {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) >> 20 & 1) != 0;  // HWCAP_ASIMDDP
#elif defined(__ARM_FEATURE_DOTPROD)
    return true;
#else
    return false;
#endif
}

#define MINIGPT_TABLES(TABLE)                \
    TABLE(dotprod, has_dot_products(), true) \
    TABLE(neon, true, true)

#elif defined(__arm__) && __ARM_ARCH >= 7 && defined(__linux__)

// armv7: NEON with fused multiply-add and half-precision conversion, both parts of VFPv4.
bool has_neon_vfpv4() {
    unsigned long wanted = 1ul << 12 | 1ul << 16;  // HWCAP_NEON, HWCAP_VFPv4
    return (getauxval(AT_HWCAP) & wanted) == wanted;
}

// With VFPv4 and no NEON the equal bits come before speed.
bool lacks_vfpv4() {
    return (getauxval(AT_HWCAP) >> 16 & 1) == 0;
}

#define MINIGPT_TABLES(TABLE)           \
    TABLE(neon, has_neon_vfpv4(), true) \
    TABLE(vfp, true, lacks_vfpv4())

#elif defined(__arm__) && !defined(__ARM_FEATURE_FMA)

#define MINIGPT_TABLES(TABLE) TABLE(vfp, true, true)

#else

#define MINIGPT_TABLES(TABLE)

#endif

}  // namespace

#define MINIGPT_DECLARE(isa, present, taken) \
    namespace isa {                          \
    extern const KernelTable kKernels;       \
    }

MINIGPT_TABLES(MINIGPT_DECLARE)
MINIGPT_DECLARE(scalar, true, true)

namespace {

struct Candidate {
    const KernelTable* table;
    bool (*present)();
    bool (*taken)();
};

#define MINIGPT_CANDIDATE(isa, present, taken) \
    {&isa::kKernels, [] { return present; }, [] { return taken; }},

constexpr Candidate kCandidates[] = {MINIGPT_TABLES(MINIGPT_CANDIDATE)
                                         MINIGPT_CANDIDATE(scalar, true, true)};

constexpr size_t kCandidateCount = sizeof kCandidates / sizeof kCandidates[0];

}  // namespace

KernelChoice kernel_choice(size_t index) {
    if (index >= kCandidateCount)
        return {nullptr, nullptr, false};
    const Candidate& c = kCandidates[index];
    return {c.table->name, c.table, c.present()};
}

// Asked once: cpuid is slow in a virtual machine. Threads that ask at the same time find the same.
const KernelTable& best_kernels() {
    static std::atomic<const KernelTable*> best{nullptr};
    const KernelTable* table = best.load(std::memory_order_relaxed);
    if (table == nullptr) {
        size_t index = 0;
        while (!kCandidates[index].present() || !kCandidates[index].taken())
            ++index;  // scalar, the last, always is
        table = kCandidates[index].table;
        best.store(table, std::memory_order_relaxed);
    }
    return *table;
}

}  // namespace minigpt
