// A weight file as something to link in: a C source, or an object file.
#pragma once

#include <cstdint>
#include <string>

#include "convert/convert.h"

namespace minigpt::convert {

// Whether `name` is a kind of --emit, and a machine of --target.
bool is_emit_kind(const std::string& name);
bool is_emit_target(const std::string& name);
// Whether C and C++ allow it as the name of an array: letters, digits and underscores, and none of
// the languages' own.
bool is_symbol(const std::string& name);

// Writes options.source, a weight file that is first compared with its checksums, to
// options.output: the array `options.symbol`, 64-byte aligned, and `options.symbol`_bytes, a
// size_t. *text becomes what to tell.
Failure emit(const Options& options, std::string* text);

// An object file with one constant array, for a machine that need not be this one: `before`, the
// array's bytes, `after`.
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
