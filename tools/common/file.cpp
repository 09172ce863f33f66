// 64-bit offsets on 32-bit machines; before any header.
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "common/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace minigpt::tools {
namespace {

static_assert(sizeof(off_t) == 8, "files are longer than 2 GB");

Status system_error(const char* what) {
    return Status::error(Code::io, "cannot %s: %s", what, strerror(errno));
}

}  // namespace

File::~File() {
    close();
}

void File::close() {
    if (fd_ >= 0)
        ::close(fd_);
    fd_ = -1;
    size_ = 0;
}

Status File::open(const std::string& path) {
    close();
    // O_NONBLOCK: a FIFO of this name must not hang us; for a regular file it means nothing.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0)
        return system_error("open");
    struct stat info;
    if (fstat(fd_, &info) != 0)
        return system_error("stat");
    if (!S_ISREG(info.st_mode))
        return Status::error(Code::io, "not a regular file");
    size_ = static_cast<uint64_t>(info.st_size);
    return Status();
}

Status File::read(uint64_t offset, void* data, size_t n_bytes) const {
    constexpr size_t kMost = size_t{1} << 30;  // some systems take less than 2 GB at once
    char* p = static_cast<char*>(data);
    while (n_bytes > 0) {
        ssize_t n = pread(fd_, p, std::min(n_bytes, kMost), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error("read");
        if (n == 0) {
            return Status::error(Code::bad_file, "the file ends at byte %llu",
                                 static_cast<unsigned long long>(offset));
        }
        p += n;
        offset += static_cast<uint64_t>(n);
        n_bytes -= static_cast<size_t>(n);
    }
    return Status();
}

MappedFile::~MappedFile() {
    if (data_ != nullptr)
        munmap(data_, size_);
}

Status MappedFile::open(const std::string& path) {
    File file;
    MINIGPT_TRY(file.open(path));
    if (file.size() == 0 || file.size() > SIZE_MAX / 2) {
        return Status::error(file.size() == 0 ? Code::bad_file : Code::not_supported,
                             "%s bytes cannot be mapped", grouped(file.size()).c_str());
    }
    size_ = static_cast<size_t>(file.size());
    void* p = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (p == MAP_FAILED)
        return system_error("map");
    data_ = static_cast<unsigned char*>(p);
    return Status();
}

void MappedFile::forget(const void* begin, uint64_t n_bytes) const {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t at = static_cast<size_t>(static_cast<const unsigned char*>(begin) - data_);
    size_t end = at + static_cast<size_t>(n_bytes);
    at -= at % page;
    madvise(data_ + at, end - at, MADV_DONTNEED);
}

Status read_text(const std::string& path, size_t max_bytes, std::string* text) {
    File file;
    MINIGPT_TRY(file.open(path));
    if (file.size() > max_bytes) {
        return Status::error(Code::bad_file, "%s bytes; expected at most %s",
                             grouped(file.size()).c_str(), grouped(max_bytes).c_str());
    }
    text->resize(static_cast<size_t>(file.size()));
    MINIGPT_TRY(file.read(0, &(*text)[0], text->size()));
    if (text->compare(0, 3, "\xef\xbb\xbf") == 0)
        text->erase(0, 3);  // some editors' mark
    return Status();
}

PathKind path_kind(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0)
        return PathKind::missing;
    if (S_ISREG(info.st_mode))
        return PathKind::file;
    return S_ISDIR(info.st_mode) ? PathKind::folder : PathKind::other;
}

Status find_file(const std::string& path, bool* found) {
    struct stat info;
    *found = stat(path.c_str(), &info) == 0;
    if (*found)
        return S_ISREG(info.st_mode) ? Status() : Status::error(Code::io, "not a regular file");
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    if (is_missing && lstat(path.c_str(), &info) == 0)
        return Status::error(Code::io, "a link to nothing");
    return is_missing ? Status() : system_error("open");
}

bool same_file(const std::string& a, const std::string& b) {
    struct stat x, y;
    return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

Status list_folder(const std::string& path, std::vector<std::string>* names) {
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr)
        return system_error("open");
    while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] != '.')
            names->emplace_back(entry->d_name);
    }
    closedir(folder);
    std::sort(names->begin(), names->end());
    return Status();
}

std::string join(const std::string& folder, const std::string& name) {
    return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

std::string folder_of(const std::string& path) {
    size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of_path(const std::string& path) {
    std::string text = path;
    while (text.size() > 1 && text.back() == '/')
        text.pop_back();
    std::string name = text.substr(text.rfind('/') + 1);
    if (name != "." && name != "..")
        return name;
    char* real = realpath(text.c_str(), nullptr);
    if (real == nullptr)
        return name;
    text = real;
    free(real);
    return text.substr(text.rfind('/') + 1);
}

Status within(const std::string& what, const Status& status) {
    if (status.ok())
        return status;
    // A message ends somewhere; the reason is worth more than the folders.
    constexpr size_t kMost = 160;
    size_t at = what.size() <= kMost ? 0 : what.size() - kMost;
    while ((static_cast<unsigned char>(what[at]) & 0xc0) == 0x80)
        at++;  // no part of a character
    return Status::error(status.code(), "%s%s: %s", at > 0 ? "..." : "", what.c_str() + at,
                         status.message());
}

}  // namespace minigpt::tools
