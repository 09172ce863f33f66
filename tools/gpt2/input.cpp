#include "gpt2/input.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/error.h"
#include "common/program.h"

namespace minigpt::gpt2 {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;
const char kStdinName[] = "standard input";

std::string read_all(FILE* file, const std::string& name) {
    std::string bytes;
    char block[1 << 16];
    size_t n;
    while ((n = fread(block, 1, sizeof block, file)) > 0) {
        if (bytes.size() + n > kMostBytes) {
            refuse("%s: found more than 1 GiB, expected a text of at most that", name.c_str());
        }
        bytes.append(block, n);
    }
    if (ferror(file) != 0)
        refuse("%s: %s", name.c_str(), strerror(errno));
    return bytes;
}

std::string read_file(const std::string& path) {
    std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rb"), fclose);
    if (file == nullptr)
        refuse("%s: %s", path.c_str(), strerror(errno));
    return read_all(file.get(), path);
}

}  // namespace

Input read_input(const Options& options) {
    Input input;
    if (options.ids) {
        input.is_text = false;
        input.ids = *options.ids;
        input.name = "--ids";
    } else if (options.text) {
        input.text = *options.text;
        input.name = "-p";
    } else if (options.file && *options.file != "-") {
        input.text = read_file(*options.file);
        input.name = *options.file;
    } else {
        if (!options.file && isatty(STDIN_FILENO) != 0) {
            misuse(
                "no %s; see %s %s --help",
                options.command == kDetokenize ? "ids: give --ids" : "prompt: give -p, -f or --ids",
                program_name().c_str(), name_of(options.command));
        }
        input.text = read_all(stdin, kStdinName);
        input.name = kStdinName;
    }
    if (options.command == kDetokenize && input.is_text) {
        std::string wrong = parse_ids(input.text, &input.ids);
        if (!wrong.empty()) {
            refuse("%s: found %.40s, expected a token id", kStdinName, wrong.c_str());
        }
        input.is_text = false;
    }
    return input;
}

}  // namespace minigpt::gpt2
