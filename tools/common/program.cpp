#include "common/program.h"

#include <unistd.h>

#include <climits>
#include <exception>
#include <new>

#include "common/error.h"
#include "common/file.h"
#include "common/signals.h"

namespace minigpt::tools {
namespace {

std::string g_name = "minigpt", g_folder;

// Where this program's file lies; empty: not known.
std::string own_folder() {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 ? folder_of(std::string(path, static_cast<size_t>(n))) : g_folder;
}

}  // namespace

const std::string& program_name() {
    return g_name;
}

void set_program_name(const std::string& path) {
    g_folder = path.find('/') == std::string::npos ? "" : folder_of(path);
    g_name = path.substr(path.rfind('/') + 1);
}

std::string convert_name() {
    const std::string folder = own_folder();
    bool is_build = !folder.empty() && path_kind(join(folder, "convert")) == PathKind::file &&
                    path_kind(join(folder, "minigpt-convert")) != PathKind::file;
    return is_build ? "convert" : "minigpt-convert";
}

int run_body(const std::vector<std::string>& args, const Body& body) {
    try {
        return body(args);
    } catch (const Error& error) {
        print_line(error.message);
        fputs(error.usage.c_str(), stderr);
        return error.exit_status;
    } catch (const std::bad_alloc&) {
        print_line("out of memory");
    } catch (const std::exception& error) {
        print_line(error.what());
    }
    return kRefused;
}

int run_main(int argc, char** argv, const char* name, const Body& body) {
    set_program_name(argc > 0 && argv[0][0] != '\0' ? argv[0] : name);
    take_signals(program_name());
    try {
        return run_body({argv + (argc > 0 ? 1 : 0), argv + argc}, body);
    } catch (const ClosedPipe&) {
        // All that was open is closed, and output files are whole or gone.
        end_by_closed_pipe();
    }
    return kRefused;
}

}  // namespace minigpt::tools
