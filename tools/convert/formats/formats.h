// The kinds of checkpoint, and which of them a file or folder holds.
#pragma once

#include <string>

#include "convert/formats/readers.h"

namespace minigpt::convert {

// The first and last bytes of a file, enough to tell every kind.
struct Glimpse {
    std::string name;                  // the file's, without its folder
    std::string head;                  // the first bytes, up to 16
    std::string tail;                  // the last bytes, up to 8
    std::vector<std::string> entries;  // a zip archive's; none where its directory is damaged
    uint64_t n_bytes = 0;
};

struct Format {
    const char* name;
    bool (*is)(const Glimpse& glimpse);  // by content
    const char* ending;  // taken at its word where the content is nothing at all; may be nullptr
    Reader* open;
};

struct Found {
    std::string path;
    const Format* format = nullptr;
};

// The format of a file; format is nullptr where it is none. Errors: io.
Status identify(const std::string& path, Found* found);

// The one checkpoint in a folder. Errors: io; bad_file where there is none (with what was
// looked for) or more than one (with two names).
Status search_folder(const std::string& folder, Found* found);

}  // namespace minigpt::convert
