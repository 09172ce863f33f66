// What is written to standard error, where it is a terminal and where it is none.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/temp_folder.h"

namespace minigpt::test {

// Calls f with `file` in the place of standard error.
template <typename F>
void with_stderr(int file, F&& f) {
    fflush(stderr);
    int saved = dup(2);
    REQUIRE(saved >= 0);
    REQUIRE(dup2(file, 2) == 2);
    f();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
}

// What f writes there if it is a terminal; a few KB at most.
template <typename F>
std::string on_terminal(F&& f) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0);
    REQUIRE(grantpt(master) == 0);
    REQUIRE(unlockpt(master) == 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    with_stderr(terminal, f);
    fcntl(master, F_SETFL, O_NONBLOCK);
    std::string all;
    char bytes[4096];
    for (ssize_t n; (n = read(master, bytes, sizeof bytes)) > 0;)
        all.append(bytes, static_cast<size_t>(n));
    close(terminal);
    close(master);
    return all;
}

// What f writes there if it is a file.
template <typename F>
std::string on_file(F&& f) {
    TempFolder folder;
    int file = open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(file >= 0);
    with_stderr(file, f);
    close(file);
    std::ifstream in(folder / "err", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace minigpt::test
