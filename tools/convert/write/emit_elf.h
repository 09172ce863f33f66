// An object file with one constant array, for a machine that need not be this one.
#pragma once

#include <cstdint>
#include <string>

#include "minigpt/status.h"

namespace minigpt::convert {

// The file is `before`, the array's bytes, `after`.
struct ElfFile {
    std::string before, after;
};

// "" where the compiler's machine is none that is known.
std::string own_target();

// A relocatable file with the read-only, 64-byte aligned array `symbol` of n_bytes, and the
// size_t `symbol`_bytes. target: x86_64, i386, aarch64, arm or riscv64. Errors: not_supported (more
// bytes than the machine's addresses).
Status make_elf(const std::string& target, const std::string& symbol, uint64_t n_bytes,
                ElfFile* file);

}  // namespace minigpt::convert
