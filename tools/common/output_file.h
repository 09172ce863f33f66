// A file that appears complete or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "minigpt/status.h"

namespace minigpt::tools {

// The file is written under a temporary name beside its target. commit() replaces the target.
// Without commit(), nothing is left. Errors: io, with the system's reason.
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
    bool is_named_ = false;  // temporary_ exists
    std::string path_, temporary_;
};

}  // namespace minigpt::tools
