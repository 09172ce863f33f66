// In the place of file.cpp where there are no files (make FILES=0).
#include "base/file.h"

namespace minigpt {
namespace {

Status no_files() {
    return Status::error(Code::not_supported, "this build has no files");
}

}  // namespace

Status map_file(const char*, const unsigned char**, size_t*) {
    return no_files();
}
Status read_file(const char*, const unsigned char**, size_t*) {
    return no_files();
}
void unmap_file(const unsigned char*, size_t) {}
void forget_pages(const unsigned char*, size_t) {}

OutputFile::~OutputFile() {}
Status OutputFile::create(const char*, uint64_t) {
    return no_files();
}
Status OutputFile::write(uint64_t, const void*, size_t) {
    return no_files();
}
Status OutputFile::map(const unsigned char**, size_t*) {
    return no_files();
}
Status OutputFile::commit() {
    return no_files();
}

}  // namespace minigpt
