// 64-bit offsets on 32-bit machines; before any header.
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

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
    // O_NONBLOCK: a FIFO of this name must not hang us; for a regular file it means nothing.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

namespace {

static_assert(sizeof(off_t) == 8, "files are longer than 2 GB");

// What can be written to: a regular file, through links, or a name where nothing is. A link to
// nothing is refused, as cp does: what it was to lead to is anyone's guess.
Status check_place(const char* path, bool* exists, mode_t* mode) {
    struct stat info;
    size_t length = path == nullptr ? 0 : strlen(path);
    if (length == 0)
        return Status::error(Code::bad_argument, "the path is empty");
    *exists = stat(path, &info) == 0;
    if (*exists) {
        *mode = info.st_mode & 0777;
        return S_ISREG(info.st_mode) ? Status()
                                     : Status::error(Code::io, "exists and is not a regular file");
    }
    if (errno != ENOENT)
        return system_error("cannot be written");
    if (path[length - 1] == '/')
        return Status::error(Code::io, "cannot be written: it is the name of a folder");
    if (lstat(path, &info) == 0)
        return Status::error(Code::io, "cannot be written: a link to nothing");
    *mode = 0666;
    return Status();
}

// "/proc/self/fd/3", the name that a nameless file has until it is given one.
struct DescriptorName {
    char text[40];
    explicit DescriptorName(int fd) { snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
};

constexpr int kMostNames = 1000;

}  // namespace

// Puts the next name for a temporary file beside the target into temporary_; false past the last.
// It is shorter than many targets: names have at most 255 bytes.
bool OutputFile::next_name() {
    const char* slash = strrchr(path_, '/');
    size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - path_) + 1;
    memcpy(temporary_, path_, folder);
    snprintf(temporary_ + folder, kNameBytes, ".%ld-%d.part", static_cast<long>(getpid()),
             n_names_);
    return n_names_++ < kMostNames;
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
    bool exists = false;
    mode_t mode = 0;
    MINIGPT_TRY(check_place(path, &exists, &mode));
    path_ = exists ? realpath(path, nullptr) : strdup(path);
    if (path_ == nullptr)
        return system_error("cannot be written");
    temporary_ = static_cast<char*>(malloc(strlen(path_) + kNameBytes));
    if (temporary_ == nullptr)
        return Status::error(Code::out_of_memory, "no memory for its name");
    MINIGPT_TRY(open_temporary(mode));
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

Status OutputFile::open_temporary(mode_t mode) {
#if defined(O_TMPFILE)
    const char* slash = strrchr(path_, '/');
    size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - path_) + 1;
    memcpy(temporary_, path_, folder);
    strcpy(temporary_ + folder, ".");
    fd_ = open(temporary_, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    // It is given its name by way of /proc, which a chroot may not have.
    if (fd_ >= 0 && access(DescriptorName(fd_).text, F_OK) != 0) {
        close(fd_);
        fd_ = -1;
    }
#endif
    while (fd_ < 0 && next_name()) {
        fd_ = open(temporary_, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        named_ = fd_ >= 0;
        if (!named_ && errno != EEXIST)
            break;
    }
    return fd_ >= 0 ? Status() : system_error("cannot be written");
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
    // A nameless file cannot replace another; it is named first, then renamed.
    while (!named_ && next_name()) {
        named_ = linkat(AT_FDCWD, DescriptorName(fd_).text, AT_FDCWD, temporary_,
                        AT_SYMLINK_FOLLOW) == 0;
        if (!named_ && errno != EEXIST)
            break;
    }
    if (!named_)
        return system_error("cannot be written");
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
