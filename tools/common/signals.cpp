#include "common/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "common/error.h"

namespace minigpt::tools {
namespace {

// What the handler may touch: made before, written by one call.
std::string g_program;
char g_line[1024];
volatile sig_atomic_t g_length = 0;

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t g_is_interrupted = 0;

void on_bus_error(int) {
    // What has been generated is flushed token by token; stdio is not safe here.
    ssize_t ignored = write(STDERR_FILENO, g_line, static_cast<size_t>(g_length));
    (void)ignored;
    _exit(kRefused);
}

void on_interrupt(int) {
    g_is_interrupted = 1;
}

}  // namespace

void take_signals(const std::string& program) {
    g_program = program;
    // The numbers of closed standard streams are taken, by what can be neither read nor written.
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    set_mapped_file("");
    signal(SIGBUS, on_bus_error);
}

void end_by_closed_pipe() {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

bool is_output_closed() {
    pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

void set_mapped_file(const std::string& path) {
    std::string name = path.empty() ? "memory" : path;
    for (char& c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    g_length = 0;
    int n = snprintf(g_line, sizeof g_line, "%.90s: %.800s: %s\n", g_program.c_str(), name.c_str(),
                     "cannot be read any more: the file became shorter, or its disk fails");
    g_length = n;
}

void catch_interrupts() {
    for (int number : kInterrupts) {
        struct sigaction before, action = {};
        action.sa_handler = on_interrupt;
        action.sa_flags = SA_RESETHAND | SA_RESTART;
        if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(number, &action, nullptr);
    }
}

bool is_interrupted() {
    return g_is_interrupted != 0;
}

void release_interrupts() {
    for (int number : kInterrupts) {
        struct sigaction before;
        if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == on_interrupt)
            signal(number, SIG_DFL);
    }
}

}  // namespace minigpt::tools
