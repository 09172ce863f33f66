// The machine's side of gpt2 bench: memory to read, and a process of its own to time.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/error.h"
#include "gpt2/bench.h"
#include "minigpt/machine_limits.h"

extern "C" char** environ;

namespace minigpt::gpt2 {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kReadBytes = size_t{256} << 20;

// A quarter of a gigabyte, more where the caches are large, less where memory is small.
size_t probe_bytes() {
    size_t bytes = kReadBytes;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (cache > 0)
        bytes = std::max(bytes, 8 * std::min(static_cast<size_t>(cache), kReadBytes));
#endif
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) {
        uint64_t eighth = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 8;
        if (eighth < bytes)
            bytes = static_cast<size_t>(eighth);
    }
    return std::max(bytes / kHugePage, size_t{1}) * kHugePage;
}

void advise(void* data, size_t bytes, bool huge) {
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
    // Where it is refused, the pages are what the system gives anyway.
    (void)madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)data, (void)bytes, (void)huge;
#endif
}

std::vector<std::string> child_words(const Options& options, size_t n_prompt) {
    std::vector<std::string> words = {"gpt2", "generate", "-n", "1",           "--temp",
                                      "0",    "--ids",    "0",  "--print-ids", "--ignore-eos"};
    for (size_t i = 1; i < n_prompt; i++)
        words[7] += ",0";
    auto add = [&](const char* flag, const std::string& value) {
        words.push_back(flag);
        words.push_back(value);
    };
    if (options.model)
        add("-m", *options.model);
    if (options.isa)
        add("--isa", *options.isa);
    if (options.n_threads != 0)
        add("-t", std::to_string(options.n_threads));
    add("--chunk", std::to_string(options.chunk));
    add("--kv", kKvTypes[static_cast<size_t>(options.kv)]);
    if (options.load)
        words.push_back("--load");
    if (!options.check_weights)
        words.push_back("--no-check");
    return words;
}

// Starts this program again, its output going into `to`. 0, or an error number.
int start_self(const std::vector<std::string>& words, int to, pid_t* child) {
    std::vector<char*> argv;
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    error = posix_spawn(child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool read_byte(int from) {
    char byte;
    ssize_t n;
    do {
        n = read(from, &byte, 1);
    } while (n < 0 && errno == EINTR);
    return n == 1;
}

}  // namespace

ReadProbe::ReadProbe() : bytes_(probe_bytes()) {
    for (int pages : {kSmall, kHuge}) {
        mapped_[pages] = mmap(nullptr, bytes_ + kHugePage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped_[pages] == MAP_FAILED) {
            if (pages == kHuge)
                munmap(mapped_[kSmall], bytes_ + kHugePage);
            refuse("no memory to measure reads on: %s", strerror(errno));
        }
        uintptr_t address = reinterpret_cast<uintptr_t>(mapped_[pages]);
        address = (address + kHugePage - 1) / kHugePage * kHugePage;
        void* data = reinterpret_cast<void*>(address);
        advise(data, bytes_, pages == kHuge);
        memset(data, 1, bytes_);
        data_[pages] = data;
    }
}

ReadProbe::~ReadProbe() {
    for (void* mapped : mapped_)
        munmap(mapped, bytes_ + kHugePage);
}

// A system that takes idle pages back (a virtual machine's) makes the first read a page fault each:
// the memory is written first, and the better of two reads counts.
double ReadProbe::rate(Pages pages, const Compute& compute) {
    memset(data_[pages], ++written_, bytes_);
    double best = 0;
    for (int i = 0; i < 2; i++) {
        double rate = 0;
        require(measure_read(&rate, data_[pages], bytes_, &compute), "read bandwidth");
        best = std::max(best, rate);
    }
    return best;
}

std::optional<Child> run_child(const Options& options, size_t n_prompt) {
    std::vector<std::string> words = child_words(options, n_prompt);
    int ends[2];
    if (pipe(ends) != 0)
        refuse("pipe: %s", strerror(errno));
    for (int end : ends)
        fcntl(end, F_SETFD, FD_CLOEXEC);
    pid_t pid = 0;
    auto begin = std::chrono::steady_clock::now();
    int error = start_self(words, ends[1], &pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return std::nullopt;
    }
    bool wrote = read_byte(ends[0]);
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    while (read_byte(ends[0])) {
    }
    close(ends[0]);
    int status = 0;
    rusage usage;
    memset(&usage, 0, sizeof usage);
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (!wrote || !WIFEXITED(status) || WEXITSTATUS(status) != kDone)
        refuse("generating one token failed, in a process of its own");
#if defined(__APPLE__)
    constexpr uint64_t kUnit = 1;
#else
    constexpr uint64_t kUnit = 1024;
#endif
    return Child{taken.count(), static_cast<uint64_t>(usage.ru_maxrss) * kUnit};
}

}  // namespace minigpt::gpt2
