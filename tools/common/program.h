// The start and the end of every program.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace minigpt::tools {

// The name that this program was run by, without its folder. Messages and help use it.
const std::string& program_name();
void set_program_name(const std::string& path);

// The name of the convert beside this program: "convert" in a build folder, else minigpt-convert.
std::string convert_name();

// All of main: sets up the signals, calls `body` with the words after the program's name, and
// prints an Error as one line on stderr. If standard output was a closed pipe, the program ends
// silently by the signal, as the system does it. `name`: used if argv[0] has no name.
using Body = std::function<int(const std::vector<std::string>& args)>;
int run_main(int argc, char** argv, const char* name, const Body& body);

// The same without signals and names. Returns the exit status of body, or of the Error it threw.
int run_body(const std::vector<std::string>& args, const Body& body);

}  // namespace minigpt::tools
