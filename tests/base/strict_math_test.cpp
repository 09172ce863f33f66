// Flags that change floating point are refused, where there is a compiler to ask.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/temp_folder.h"

namespace {

// What a command says, and whether it ends well.
bool run(const std::string& command, std::string* said) {
    TempFolder folder;
    std::string log = folder / "log";
    int status = system(
        ("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL " + command + " > '" + log + "' 2>&1 < /dev/null")
            .c_str());
    std::ifstream in(log);
    said->assign(std::istreambuf_iterator<char>(in), {});
    return status == 0;
}

bool has_compiler() {
    std::string said;
    if (run("g++ --version", &said))
        return true;
    MESSAGE("skipped: there is no g++");
    return false;
}

constexpr char kRefusal[] = "libminigpt computes wrong numbers with -ffast-math";

}  // namespace

TEST_CASE("strict math: the library's sources are refused, whatever builds them") {
    if (!has_compiler())
        return;
    for (const char* source : {"src/kernels/generic/kernels_scalar.cpp", "src/ops/ops.cpp",
                               "src/model/quantize.cpp", "src/model/forward.cpp"}) {
        for (const char* flag :
             {"-ffast-math", "-Ofast", "-ffinite-math-only", "-funsafe-math-optimizations",
              "-freciprocal-math", "-fno-signed-zeros", "-O2"}) {
            CAPTURE(source);
            CAPTURE(flag);
            std::string said;
            bool compiled = run(std::string("g++ -std=c++17 -E -Isrc -Iinclude ") + flag + " " +
                                    source + " -o /dev/null",
                                &said);
            CAPTURE(said);
            CHECK(compiled == (std::string(flag) == "-O2"));
            CHECK((said.find(kRefusal) == std::string::npos) == compiled);
        }
    }
}

TEST_CASE("strict math: make refuses every source") {
    std::string said;
    if (!has_compiler() || !run("make --version", &said))
        return;
    for (const char* object : {"src/text/stops", "src/base/hash", "tools/train/main"}) {
        CAPTURE(object);
        std::string name = "strict-math-" + std::to_string(rand());
        std::string target = "build/" + name + "/obj/" + object + ".o";
        bool made = run("make CXXFLAGS='-O0 -ffast-math' NAME=" + name + " " + target, &said);
        system(("rm -rf build/" + name).c_str());
        CAPTURE(said);
        CHECK(!made);
        CHECK(said.find(kRefusal) != std::string::npos);
    }
}

TEST_CASE("strict math: an application may use what flags it likes") {
    std::string said;
    if (!has_compiler())
        return;
    bool compiled =
        run("sh -c 'echo \"#include \\\"minigpt/minigpt.h\\\"\" | "
            "g++ -std=c++17 -ffast-math -Iinclude -fsyntax-only -x c++ -'",
            &said);
    CAPTURE(said);
    CHECK(compiled);
}
