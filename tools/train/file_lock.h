// Two programs that would write the same file.
#pragma once

#include <string>

#include "minigpt/status.h"

namespace minigpt::train {

// flock(2)'s lock, which ends with the program however that ends. A file system without locks is
// one on which nobody holds any.
class FileLock {
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    // Errors: io, if another holds a lock on the file of this path.
    Status check(const std::string& path) const;
    // Locks an open file, which may be closed afterwards, besides what is locked already.
    void take(int descriptor);
    // Keeps the file that was taken last alone.
    void settle();

private:
    int fd_ = -1, next_ = -1;
};

}  // namespace minigpt::train
