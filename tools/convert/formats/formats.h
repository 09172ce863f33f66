// The checkpoint formats, and how a file's or folder's format is detected.
#pragma once

#include <string>

#include "convert/formats/readers.h"

namespace minigpt::convert {

// The first and last bytes of a file, enough to detect every format.
struct Glimpse {
    std::string name;                  // the file's, without its folder
    std::string head;                  // the first bytes, up to 16
    std::string tail;                  // the last bytes, up to 8
    std::vector<std::string> entries;  // of a zip archive; none if its directory is damaged
    uint64_t n_bytes = 0;
};

struct Format {
    const char* name;
    bool (*is)(const Glimpse& glimpse);  // by content
    const char* ending;                  // decides if the content matches no format; may be nullptr
    Reader* open;
};

struct Found {
    std::string path;
    const Format* format = nullptr;
};

// Detects the format of a file; format is nullptr if it is unknown. Errors: io.
Status identify(const std::string& path, Found* found);

// Finds the only checkpoint in a folder. Errors: io; bad_file if there is none (with what was
// looked for) or more than one (with two names).
Status search_folder(const std::string& folder, Found* found);

}  // namespace minigpt::convert
