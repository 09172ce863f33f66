#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"

namespace minigpt {
namespace {

Status system_error(const char* what) {
    return Status::error(Code::io, "%s: %s", what, strerror(errno));
}

// What can be held in memory of a regular file: all of it, and something.
Status size_of(int fd, size_t* n_bytes) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return system_error("cannot be read");
    if (!S_ISREG(info.st_mode))
        return Status::error(Code::io, "not a regular file");
    if (info.st_size == 0)
        return Status::error(Code::bad_file, "the file is empty");
    uint64_t size = static_cast<uint64_t>(info.st_size);
    if (size > static_cast<size_t>(-1) / 2) {
        return Status::error(Code::not_supported,
                             "%llu bytes are more than this machine's %zu-bit addresses can map",
                             static_cast<unsigned long long>(size), 8 * sizeof(void*));
    }
    *n_bytes = static_cast<size_t>(size);
    return Status();
}

Status read_open_file(int fd, const unsigned char** data, size_t* n_bytes) {
    MINIGPT_TRY(size_of(fd, n_bytes));
    *data = read_pages(fd, *n_bytes);
    if (*data == nullptr && errno == ENOMEM)
        return Status::error(Code::out_of_memory, "no memory for %zu bytes", *n_bytes);
    return *data == nullptr ? system_error("cannot be read") : Status();
}

Status map_open_file(int fd, const unsigned char** data, size_t* n_bytes) {
    MINIGPT_TRY(size_of(fd, n_bytes));
    *data = map_pages(fd, *n_bytes);
    return *data == nullptr ? read_open_file(fd, data, n_bytes) : Status();
}

using TakeFile = Status (*)(int fd, const unsigned char** data, size_t* n_bytes);

Status take_file(const char* path, TakeFile take, const unsigned char** data, size_t* n_bytes) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return system_error("cannot be opened");
    Status status = take(fd, data, n_bytes);
    close(fd);
    return status;
}

}  // namespace

Status map_file(const char* path, const unsigned char** data, size_t* n_bytes) {
    return take_file(path, map_open_file, data, n_bytes);
}

Status read_file(const char* path, const unsigned char** data, size_t* n_bytes) {
    return take_file(path, read_open_file, data, n_bytes);
}

void unmap_file(const unsigned char* data, size_t n_bytes) {
    free_pages(data, n_bytes);
}

OutputFile::~OutputFile() {
    if (fd_ >= 0)
        close(fd_);
    if (named_)
        unlink(temporary_);
    free(path_);
    free(temporary_);
}

Status OutputFile::create(const char* path, uint64_t n_bytes) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        return Status::error(Code::io, "exists and is not a regular file");
    }
    path_ = exists ? realpath(path, nullptr) : strdup(path);
    if (path_ == nullptr)
        return system_error("cannot be written");
    size_t size = strlen(path_) + 32;
    temporary_ = static_cast<char*>(malloc(size));
    if (temporary_ == nullptr)
        return Status::error(Code::out_of_memory, "no memory for its name");
    mode_t mode = exists ? info.st_mode & 0777 : 0666;
#if defined(O_TMPFILE)
    const char* slash = strrchr(path_, '/');
    size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - path_) + 1;
    snprintf(temporary_, size, "%.*s.", static_cast<int>(folder), path_);
    fd_ = open(temporary_, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
#endif
    snprintf(temporary_, size, "%s.%ld.part", path_, static_cast<long>(getpid()));
    if (fd_ < 0) {
        fd_ = open(temporary_, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        if (fd_ < 0)
            return system_error("cannot be written");
        named_ = true;
    }
    if (exists && fchmod(fd_, mode) != 0)
        return system_error("cannot be written");
    if (n_bytes > static_cast<uint64_t>(LLONG_MAX) ||
        static_cast<uint64_t>(static_cast<off_t>(n_bytes)) != n_bytes) {
        return Status::error(Code::not_supported, "%llu bytes are more than a file here can hold",
                             static_cast<unsigned long long>(n_bytes));
    }
#if defined(__linux__)
    if (n_bytes != 0 && fallocate(fd_, 0, 0, static_cast<off_t>(n_bytes)) == 0)
        return Status();
    if (n_bytes != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
        return system_error("cannot be written");
    }
#endif
    if (ftruncate(fd_, static_cast<off_t>(n_bytes)) != 0)
        return system_error("cannot be written");
    return Status();
}

Status OutputFile::write(uint64_t offset, const void* data, size_t n_bytes) {
    const char* p = static_cast<const char*>(data);
    while (n_bytes != 0) {
        ssize_t n = pwrite(fd_, p, n_bytes, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error("cannot be written");
        p += n;
        offset += static_cast<uint64_t>(n);
        n_bytes -= static_cast<size_t>(n);
    }
    return Status();
}

Status OutputFile::map(const unsigned char** data, size_t* n_bytes) {
    MINIGPT_TRY(size_of(fd_, n_bytes));
    *data = map_pages(fd_, *n_bytes);
    if (*data == nullptr && errno == ENOMEM)
        return Status::error(Code::out_of_memory, "no memory for %zu bytes", *n_bytes);
    if (*data == nullptr)
        return Status::error(Code::not_supported, "cannot be mapped: %s", strerror(errno));
    return Status();
}

Status OutputFile::commit() {
    if (!named_) {
        // A nameless file cannot replace another; it is named first, then renamed.
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd_);
        if (linkat(AT_FDCWD, self, AT_FDCWD, temporary_, AT_SYMLINK_FOLLOW) != 0) {
            return system_error("cannot be written");
        }
        named_ = true;
    }
    int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0)
        return system_error("cannot be written");
    if (rename(temporary_, path_) != 0)
        return system_error("cannot be written");
    named_ = false;
    return Status();
}

}  // namespace minigpt
