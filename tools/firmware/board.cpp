// A Cortex-M without an operating system: from reset to the demo and back to the emulator. There
// is no heap: whoever asks for memory stops the machine.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "demo.h"

extern "C" {
extern const unsigned char demo_model[];
extern const size_t demo_model_bytes;
// From the linker script.
extern unsigned char data_start[], data_end[], data_load[], bss_start[], bss_end[];
extern unsigned char code_start[], code_end[];
extern uint32_t stack_limit[], stack_top[];
extern void (*init_array_start[])();
extern void (*init_array_end[])();
}

namespace {

constexpr size_t kMemory = 1024 * 1024;
alignas(64) unsigned char memory[kMemory];

// Arm's "Semihosting for AArch32 and AArch64", 3.2: what a debugger, or qemu, does for us.
constexpr uint32_t kWrite0 = 0x04;
constexpr uint32_t kExitExtended = 0x20;

uint32_t semihosting(uint32_t operation, const void* argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void* r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

[[noreturn]] void leave(uint32_t exit_status) {
    const uint32_t block[2] = {0x20026, exit_status};  // ADP_Stopped_ApplicationExit
    semihosting(kExitExtended, block);
    for (;;) {
    }
}

[[noreturn]] void trap(const char* text) {
    semihosting(kWrite0, text);
    leave(1);
}

[[noreturn]] void fault() {
    trap("fault\n");
}

constexpr uint32_t kPaint = 0xa5a5a5a5;

// The deepest the stack has been, in bytes.
size_t stack_used() {
    const uint32_t* p = stack_limit;
    while (p < stack_top && *p == kPaint)
        p++;
    return static_cast<size_t>(stack_top - p) * sizeof *p;
}

int run() {
    size_t needed = 0;
    minigpt::Place place = {demo_model, demo_model_bytes, memory, sizeof memory};
    bool done = minigpt::run_demo(place, &needed);
    size_t stack = stack_used();  // before printf's own
    char line[160];
    snprintf(
        line, sizeof line,
        "memory: code and constants %u, model %u, static data %u, working memory %u, stack %u\n",
        static_cast<unsigned>(code_end - code_start), static_cast<unsigned>(place.model_bytes),
        static_cast<unsigned>(bss_end - data_start - static_cast<ptrdiff_t>(kMemory)),
        static_cast<unsigned>(needed), static_cast<unsigned>(stack));
    minigpt::print(line);
    return done ? 0 : 1;
}

}  // namespace

void minigpt::print(const char* text) {
    semihosting(kWrite0, text);
}

extern "C" {

[[noreturn]] void reset();

[[gnu::section(".vectors"), gnu::used]] void (*const vectors[16])() = {
    reinterpret_cast<void (*)()>(stack_top),
    reset,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault,
    fault};

// Nothing here may use floating point or the heap before they are there.
[[noreturn]] void reset() {
    // CPACR: full access to the FPU, coprocessors 10 and 11.
    *reinterpret_cast<volatile uint32_t*>(0xe000ed88) |= 0xfu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    volatile unsigned char* to = data_start;
    for (const unsigned char* from = data_load; to < data_end;)
        *to++ = *from++;
    for (volatile unsigned char* p = bss_start; p < bss_end;)
        *p++ = 0;
    volatile uint32_t* here = static_cast<volatile uint32_t*>(__builtin_frame_address(0));
    for (volatile uint32_t* p = stack_limit; p < here - 64;)
        *p++ = kPaint;
    for (void (**f)() = init_array_start; f < init_array_end; f++)
        (*f)();
    leave(static_cast<uint32_t>(run()));
}

void* malloc(size_t) {
    trap("malloc was called\n");
}
void* calloc(size_t, size_t) {
    trap("calloc was called\n");
}
void* realloc(void*, size_t) {
    trap("realloc was called\n");
}
int posix_memalign(void**, size_t, size_t) {
    trap("posix_memalign was called\n");
}
void free(void* p) {
    if (p != nullptr)
        trap("free was called\n");
}

// newlib's own names for them, which its printf would use for a double.
struct _reent;
void* _malloc_r(_reent*, size_t) {
    trap("malloc was called\n");
}
void* _calloc_r(_reent*, size_t, size_t) {
    trap("calloc was called\n");
}
void* _realloc_r(_reent*, void*, size_t) {
    trap("realloc was called\n");
}
void _free_r(_reent*, void* p) {
    if (p != nullptr)
        trap("free was called\n");
}
// Nor has it files.
int _close(int) {
    return -1;
}
int _fstat(int, void*) {
    return -1;
}
int _isatty(int) {
    return 0;
}
int _lseek(int, int, int) {
    return -1;
}
int _read(int, char*, int) {
    return -1;
}
int _write(int, char*, int) {
    return -1;
}
[[noreturn]] void abort() {
    trap("abort was called\n");
}

}  // extern "C"

void operator delete(void* p) noexcept {
    free(p);
}
void operator delete(void* p, size_t) noexcept {
    free(p);
}
