// Keeps two programs from writing the same file.
#pragma once

#include <string>

#include "minigpt/status.h"

namespace minigpt::train {

// A lock by flock(2). It ends with the program, however that ends. On a file system without locks,
// every lock succeeds.
class FileLock {
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    // Checks that no other program holds a lock on the file with this path. Errors: io, if one
    // does.
    Status check(const std::string& path) const;
    // Also locks an open file, which may be closed afterwards. Earlier locks stay.
    void take(int descriptor);
    // Releases all locks except the latest.
    void settle();

private:
    int fd_ = -1, next_ = -1;
};

}  // namespace minigpt::train
