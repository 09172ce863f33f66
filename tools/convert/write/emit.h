// Writes a weight file in a form to link in: a C source or an object file.
#pragma once

#include <cstdint>
#include <string>

#include "convert/convert.h"

namespace minigpt::convert {

// Whether `name` is a kind of --emit; whether it is a machine of --target.
bool is_emit_kind(const std::string& name);
bool is_emit_target(const std::string& name);
// Whether `name` can name an array in C and C++: letters, digits and underscores, and no keyword.
bool is_symbol(const std::string& name);

// Compares the weight file options.source with its checksums and writes it to options.output: the
// array `options.symbol`, 64-byte aligned, and the size_t `options.symbol`_bytes. *text becomes the
// message for the user.
Failure emit(const Options& options, std::string* text);

// An object file with one constant array, for any supported machine. The file is `before`, the
// array's bytes, `after`.
struct ElfFile {
    std::string before, after;
};

// The machine that this program was compiled for; "" if it is none of the known ones.
std::string own_target();

// Makes a relocatable file with the read-only, 64-byte aligned array `symbol` of n_bytes, and the
// size_t `symbol`_bytes. target: x86_64, i386, aarch64, arm or riscv64. Errors: not_supported (more
// bytes than the machine can address).
Status make_elf(const std::string& target, const std::string& symbol, uint64_t n_bytes,
                ElfFile* file);

}  // namespace minigpt::convert
