#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "common/output_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/file.h"

namespace minigpt::tools {
namespace {

std::string name_of_descriptor(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

OutputFile::~OutputFile() {
    if (fd_ >= 0)
        close(fd_);
    if (is_named_)
        unlink(temporary_.c_str());
}

Status OutputFile::error() const {
    return Status::error(Code::io, "cannot be written: %s", strerror(errno));
}

// The next name for a temporary file beside the target, which may be as long as names can be;
// false past the last.
bool OutputFile::next_name() {
    constexpr int kMostNames = 1000;
    std::string name = "." + std::to_string(getpid()) + "-" + std::to_string(n_names_) + ".part";
    temporary_ = join(folder_of(path_), name);
    return n_names_++ < kMostNames;
}

Status OutputFile::create(const std::string& path) {
    struct stat info;
    bool exists = stat(path.c_str(), &info) == 0;
    if (exists && !S_ISREG(info.st_mode))
        return Status::error(Code::io, "exists and is not a regular file");
    if (!exists && errno != ENOENT)
        return error();
    if (!exists && lstat(path.c_str(), &info) == 0)  // as cp does
        return Status::error(Code::io, "cannot be written: a link to nothing");
    path_ = path;
    if (char* real = exists ? realpath(path.c_str(), nullptr) : nullptr) {
        path_ = real;  // what a link leads to is replaced, not the link
        free(real);
    }
    mode_t mode = exists ? info.st_mode & 0777 : 0666;
#if defined(O_TMPFILE)
    // Without a name until it is complete: a killed program leaves nothing.
    fd_ = open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    // It is given its name by way of /proc, which a chroot may not have.
    if (fd_ >= 0 && access(name_of_descriptor(fd_).c_str(), F_OK) != 0) {
        close(fd_);
        fd_ = -1;
    }
#endif
    while (fd_ < 0 && next_name()) {
        fd_ = open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
        is_named_ = fd_ >= 0;
        if (!is_named_ && errno != EEXIST)
            break;
    }
    if (fd_ < 0)
        return error();
    return exists && fchmod(fd_, mode) != 0 ? error() : Status();
}

Status OutputFile::write(const void* data, size_t n_bytes) {
    constexpr size_t kMost = size_t{1} << 30;
    const char* p = static_cast<const char*>(data);
    while (n_bytes > 0) {
        ssize_t n = ::write(fd_, p, std::min(n_bytes, kMost));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error();
        p += n;
        n_bytes -= static_cast<size_t>(n);
    }
    return Status();
}

Status OutputFile::commit() {
    // A nameless file cannot replace another: it is named first, then renamed.
    std::string self = name_of_descriptor(fd_);
    while (!is_named_ && next_name()) {
        is_named_ =
            linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
        if (!is_named_ && errno != EEXIST)
            break;
    }
    if (!is_named_)
        return error();
    int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0)
        return error();
    is_named_ = false;
    return Status();
}

}  // namespace minigpt::tools
