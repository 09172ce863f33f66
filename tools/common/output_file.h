// A file that appears whole, or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "minigpt/status.h"

namespace minigpt::tools {

// Written beside its place and put there by commit(), which replaces what was there. Without it,
// nothing is left. Errors: io, with the system's reason.
class OutputFile {
public:
    OutputFile() = default;
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    Status create(const std::string& path);
    Status write(const void* data, size_t n_bytes);  // at the end
    Status commit();
    int descriptor() const { return fd_; }  // between create() and commit()

private:
    Status error() const;
    bool next_name();

    int fd_ = -1;
    int n_names_ = 0;
    bool is_named_ = false;  // temporary_ is there
    std::string path_, temporary_;
};

}  // namespace minigpt::tools
