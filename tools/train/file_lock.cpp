#include "train/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace minigpt::train {
namespace {

void close_if_open(int* fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

}  // namespace

FileLock::~FileLock() {
    close_if_open(&fd_);
    close_if_open(&next_);
}

Status FileLock::check(const std::string& path) const {
    struct stat own = {}, found = {};
    const bool has_own = fd_ >= 0 && fstat(fd_, &own) == 0;
    bool is_gone = true, is_locked = false;
    while (is_gone) {  // it was replaced between the two calls
        int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            return Status();
        is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        is_gone = !is_locked && fstat(fd, &found) == 0 && found.st_nlink == 0;
        is_locked = is_locked && fstat(fd, &found) == 0 &&
                    !(has_own && found.st_dev == own.st_dev && found.st_ino == own.st_ino);
        close(fd);
    }
    return is_locked ? Status::error(Code::io, "another train is writing it") : Status();
}

void FileLock::take(int descriptor) {
    close_if_open(&next_);
    next_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (next_ >= 0)
        (void)flock(next_, LOCK_EX | LOCK_NB);
}

void FileLock::settle() {
    close_if_open(&fd_);
    fd_ = next_;
    next_ = -1;
}

}  // namespace minigpt::train
