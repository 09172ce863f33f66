// A weight file as something to link in: a C source, or an object file.
#pragma once

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

}  // namespace minigpt::convert
