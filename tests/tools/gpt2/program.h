// Runs gpt2 as a user would.
#pragma once

#include <string>
#include <vector>

namespace minigpt::test {

struct Ran {
    int exit_status = -1;  // 128 + the signal if one ended it
    std::string out, err;
};

// build/NAME of the build under test ($MINIGPT_BUILD, else build), under $EMULATOR if there is
// one. stdin_text is piped in. Where out_path or err_path is given, stdout or stderr goes there;
// where both are the same, as by 2>&1.
Ran run_program(const std::string& name, const std::vector<std::string>& args,
                const std::string& stdin_text = "", const std::string& out_path = "",
                const std::string& err_path = "");

inline Ran gpt2(const std::vector<std::string>& args, const std::string& stdin_text = "",
                const std::string& out_path = "") {
    return run_program("gpt2", args, stdin_text, out_path);
}

// A failure as promised: this status, nothing on stdout, one line on stderr that begins with
// "gpt2: ", or another program's name, and holds each of these words.
void check_fails(const Ran& ran, int exit_status, const std::vector<std::string>& words,
                 const std::string& program = "gpt2");

// The numbers of a line of ids.
std::vector<int> ids_of(const std::string& line);

// Data made by others: $MINIGPT_DATA, else ../shared/data. "" with a message if it is not there.
std::string outside_data(const std::string& name);

}  // namespace minigpt::test
