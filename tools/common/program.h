// What every program begins and ends with.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace minigpt::tools {

// The name that this program was run by, without its folder: what messages and help call it.
const std::string& program_name();
void set_program_name(const std::string& path);

// What convert is called where this program lies: installed, minigpt-convert.
std::string convert_name();

// All of main: takes the signals, calls `body` with the words that follow the program's name, and
// tells an Error as one line on stderr. Ends as the system ends a program that writes to a closed
// pipe, without a word, when that happened to standard output. `name`: where argv[0] has none.
using Body = std::function<int(const std::vector<std::string>& args)>;
int run_main(int argc, char** argv, const char* name, const Body& body);

// The same without signals and names: the exit status of body, or of the Error that it threw.
int run_body(const std::vector<std::string>& args, const Body& body);

}  // namespace minigpt::tools
