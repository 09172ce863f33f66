#include "minigpt/machine_limits.h"

#include <time.h>

#include <cstdint>
#include <cstring>

#include "base/buffer.h"
#include "base/fp_environment.h"
#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/parallel.h"

namespace minigpt {
namespace {

// One measurement, and the parts of it that threads take as they come free: should another
// program hold a core up for a while, that must not count for all of them.
constexpr double kFmaSeconds = 0.05;
constexpr size_t kFmaUnits = 32;

// Bytes of a stream before the eight of them move on: many pages, and still many units a thread.
constexpr size_t kStreamBytes = size_t{512} << 10;

bool now(double* seconds) {
    timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return false;
    *seconds = static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    return true;
}

Status no_clock() {
    return Status::error(Code::io, "the system has no monotonic clock");
}

// Seconds that `units` times `steps` steps take on all threads; *products is how many fma.
Status time_chains(const Compute& compute, size_t units, size_t steps, double* seconds,
                   double* products) {
    double begin, end;
    std::atomic<size_t> sum{0};
    if (!now(&begin))
        return no_clock();
    for_each_unit(pool_of(compute), units, [&](size_t, size_t) {
        // A factor so small that each chain stays where it is: near 2.
        alignas(kAlign) float x[kPanel + 1];
        for (size_t i = 0; i < kPanel; ++i)
            x[i] = 2.0f + static_cast<float>(i) / 16;
        x[kPanel] = 1.0f / (1 << 30);
        sum.fetch_add(kernels_of(compute).fma_chains(x, steps), std::memory_order_relaxed);
    });
    if (!now(&end))
        return no_clock();
    *seconds = end - begin;
    *products = static_cast<double>(sum.load());
    return Status();
}

}  // namespace

Status measure_fma(double* flops, const Compute* compute) {
    MINIGPT_TRY(check_pointer("flops", flops));
    FpEnvironment guard;
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    // How many steps take long enough is found by doubling.
    size_t units = kFmaUnits * on.n_threads();
    for (size_t steps = 256;; steps *= 2) {
        double seconds = 0, products = 0;
        MINIGPT_TRY(time_chains(on, units, steps, &seconds, &products));
        if (seconds < kFmaSeconds && steps < size_t{1} << 24)
            continue;
        *flops = 2 * products / seconds;
        return Status();
    }
}

Status measure_read(double* rate, const void* data, size_t bytes, const Compute* compute) {
    MINIGPT_TRY(check_pointer("rate", rate));
    MINIGPT_TRY(check_pointer("data", data));
    size_t off = reinterpret_cast<uintptr_t>(data) % kAlign;
    if (off != 0) {
        return Status::error(Code::bad_argument,
                             "data: found %zu past a multiple of %zu bytes, expected 0", off,
                             kAlign);
    }
    if (bytes < kReadStreams * kAlign) {
        return Status::error(Code::bad_argument, "bytes: found %zu, expected at least %zu", bytes,
                             kReadStreams * kAlign);
    }
    FpEnvironment guard;
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    size_t stream = bytes / kReadStreams / kAlign * kAlign;
    if (stream > kStreamBytes)
        stream = kStreamBytes;
    size_t n_units = bytes / (kReadStreams * stream);
    double begin, end;
    if (!now(&begin))
        return no_clock();
    for_each_unit(pool_of(on), n_units, [&](size_t unit, size_t) {
        alignas(kAlign) float sink[kPanel];
        const char* from = static_cast<const char*>(data) + unit * kReadStreams * stream;
        kernels_of(on).read_streams(sink, reinterpret_cast<const float*>(from),
                                    stream / sizeof(float), stream / sizeof(float));
    });
    if (!now(&end))
        return no_clock();
    if (!(end > begin))
        return Status::error(Code::io, "the clock did not move");
    *rate = static_cast<double>(n_units * kReadStreams * stream) / (end - begin);
    return Status();
}

}  // namespace minigpt
