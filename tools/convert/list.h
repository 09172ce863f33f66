// What a checkpoint holds, without converting it.
#pragma once

#include <string>

#include "convert/convert.h"

namespace minigpt::convert {

// The kind, the configuration and every tensor with its type, its shape and our name for it, as
// lines for a reader. A checkpoint that can be opened is listed even where it cannot be converted;
// a line says why.
Failure list(const Options& options, std::string* text);

}  // namespace minigpt::convert
