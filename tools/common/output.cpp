#include "common/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/error.h"

namespace minigpt::tools {
namespace {

[[noreturn]] void failed() {
    if (errno == EPIPE)
        throw ClosedPipe();
    refuse("standard output: %s", strerror(errno));
}

}  // namespace

void Output::write(const char* bytes, size_t n_bytes) {
    if (n_bytes == 0)
        return;
    if (fwrite(bytes, 1, n_bytes, stdout) != n_bytes)
        failed();
    last_ = bytes[n_bytes - 1];
}

void Output::flush() {
    if (fflush(stdout) != 0)
        failed();
}

void print(const std::string& text) {
    Output out;
    out.write(text);
    out.finish();
}

}  // namespace minigpt::tools
