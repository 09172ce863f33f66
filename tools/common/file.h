// Files, folders and paths, with 64-bit offsets on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/text.h"
#include "minigpt/status.h"

namespace minigpt::tools {

// A regular file, open for reading at any offset. Errors: io, with the system's reason.
class File {
public:
    File() = default;
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    Status open(const std::string& path);
    void close();
    bool is_open() const { return fd_ >= 0; }
    uint64_t size() const { return size_; }
    int descriptor() const { return fd_; }
    // Reads all n_bytes, or fails: a file that has become shorter is bad_file.
    Status read(uint64_t offset, void* data, size_t n_bytes) const;

private:
    int fd_ = -1;
    uint64_t size_ = 0;
};

// A regular file in memory, read-only. Errors: io; not_supported if it is larger than the address
// space.
class MappedFile {
public:
    MappedFile() = default;
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    Status open(const std::string& path);
    const unsigned char* data() const { return data_; }
    size_t size() const { return size_; }
    // Releases the memory of these bytes' pages. They are read again when they are touched.
    void forget(const void* begin, uint64_t n_bytes) const;

private:
    unsigned char* data_ = nullptr;
    size_t size_ = 0;
};

// A whole small file. Errors: io; bad_file if it is longer than max_bytes.
Status read_text(const std::string& path, size_t max_bytes, std::string* text);
constexpr size_t kMaxText = size_t{64} << 20;

enum class PathKind { missing, file, folder, other };
PathKind path_kind(const std::string& path);
// Whether this path is a regular file or a link to one. Errors: io, if something else is there or
// it cannot be examined.
Status find_file(const std::string& path, bool* found);
bool same_file(const std::string& a, const std::string& b);

// The names in a folder that do not begin with a dot, sorted.
Status list_folder(const std::string& path, std::vector<std::string>* names);

std::string join(const std::string& folder, const std::string& name);
std::string folder_of(const std::string& path);     // "." if the path has no slash
std::string name_of_path(const std::string& path);  // the last part; for "." that of the real path

// The same error with `what: ` before its message. If `what` is too long, its beginning is cut.
Status within(const std::string& what, const Status& status);

}  // namespace minigpt::tools
