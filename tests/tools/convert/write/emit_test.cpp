// convert --emit: what comes out links, and runs in place.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "convert/write/emit.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::test;

namespace {

constexpr char kModel[] = "models/shakespeare.mgpt";

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

uint64_t number(const std::string& bytes, size_t at, size_t n_bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << 8 * i;
    return value;
}

Ran emit(const std::string& kind, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"--emit", kind, kModel, "-o", out};
    args.insert(args.end(), more.begin(), more.end());
    Ran ran = run_program("convert", args);
    CAPTURE(ran.err);
    CHECK(ran.exit_status == 0);
    return ran;
}

// A program that copies what was linked in to its output; false where there is no compiler.
bool link_and_compare(const TempFolder& folder, const std::string& linked) {
    if (system("cc --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: no compiler here");
        return false;
    }
    std::ofstream(folder / "main.c")
        << "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
           "extern const size_t minigpt_model_bytes;\nextern const unsigned char minigpt_model[];\n"
           "int main(void) { if ((uintptr_t)minigpt_model % 64) return 3;\n"
           "return fwrite(minigpt_model, 1, minigpt_model_bytes, stdout) != minigpt_model_bytes; }";
    std::string command = "cc -Werror -o " + folder / "p" + " " + folder / "main.c" + " " +
                          folder / linked + " && " + folder / "p" + " > " + folder / "back";
    int status = system(command.c_str());
    CHECK(status == 0);
    CHECK(contents(folder / "back") == contents(kModel));
    return true;
}

}  // namespace

TEST_CASE("convert emit: an array in C has the file's bytes, aligned") {
    TempFolder folder;
    Ran ran = emit("c", folder / "m.c");
    CHECK(ran.out.find("minigpt_model[") != std::string::npos);
    link_and_compare(folder, "m.c");
}

TEST_CASE("convert emit: an object file of this machine links as it is") {
    std::string own = minigpt::convert::own_target();
    TempFolder folder;
    emit("obj", folder / "m.o");
    // An emulated program's own machine is not the compiler's.
    if (getenv("EMULATOR") != nullptr && *getenv("EMULATOR") != '\0') {
        MESSAGE("skipped: linking under an emulator");
        return;
    }
    link_and_compare(folder, "m.o");
}

TEST_CASE("convert emit: object files for other machines are ELF with the array in them") {
    const std::string model = contents(kModel);
    const struct {
        const char* target;
        size_t word, machine;
    } all[] = {{"x86_64", 8, 62},
               {"i386", 4, 3},
               {"aarch64", 8, 183},
               {"arm", 4, 40},
               {"riscv64", 8, 243}};
    for (const auto& t : all) {
        CAPTURE(std::string(t.target));
        TempFolder folder;
        emit("obj", folder / "m.o", {"--target", t.target, "--symbol", "other"});
        std::string elf = contents(folder / "m.o");
        CHECK(elf.compare(0, 4,
                          "\x7f"
                          "ELF") == 0);
        CHECK(number(elf, 4, 1) == t.word / 4);
        CHECK(number(elf, 18, 2) == t.machine);
        CHECK(elf.compare(64, model.size(), model) == 0);
        size_t sections = number(elf, t.word == 8 ? 40 : 32, t.word);
        size_t entry = t.word == 8 ? 64 : 40;
        CHECK(elf.size() == sections + 6 * entry);
        CHECK(elf.find(std::string("\0other\0other_bytes\0", 19)) != std::string::npos);
        size_t after = 64 + (model.size() + 7) / 8 * 8;
        CHECK(number(elf, after, t.word) == model.size());
    }
}

TEST_CASE("convert emit: what is no whole weight file is refused, and leaves nothing") {
    TempFolder folder;
    std::string bytes = contents(kModel);
    bytes[bytes.size() - 100] ^= 1;
    std::ofstream(folder / "damaged.mgpt", std::ios::binary) << bytes;
    for (const std::string& source : {folder / "damaged.mgpt", std::string("Makefile")}) {
        Ran ran = run_program("convert", {"--emit", "c", source, "-o", folder / "m.c"});
        CHECK(ran.exit_status == 1);
        CHECK(ran.err.find("convert: " + source + ": ") == 0);
        CHECK(!std::ifstream(folder / "m.c").good());
    }
    for (std::vector<std::string> wrong :
         std::vector<std::vector<std::string>>{{"--emit", "rust"},
                                               {"--emit", "obj", "--target", "z80"},
                                               {"--symbol", "1a"},
                                               {"--symbol", "a"},
                                               {"--target", "arm"},
                                               {"--emit", "c", "--target", "arm"},
                                               {"--emit", "c", "--force"},
                                               {"--emit", "c", "--vocab", kModel},
                                               {"--emit", "c", "--type", "q8"},
                                               {"--emit", "obj", "--n-head", "4"},
                                               {"--emit", "obj", "--activation", "gelu_erf"},
                                               {"--emit", "c", "--symbol", "a-b"}}) {
        CAPTURE(wrong.back());
        wrong.insert(wrong.end(), {kModel, "-o", folder / "m"});
        CHECK(run_program("convert", wrong).exit_status == 2);
    }
    for (std::vector<std::string> wrong : std::vector<std::vector<std::string>>{
             {"--emit", "c"}, {"--type", "q8"}, {"--force"}, {"-o", folder / "m"}}) {
        wrong.insert(wrong.end(), {"--list", kModel});
        CHECK(run_program("convert", wrong).exit_status == 2);
    }
    CHECK(!std::ifstream(folder / "m").good());
}

TEST_CASE("convert emit: a symbol is a name that C and C++ leave free") {
    // The standards' lists (C23 6.4.1, C++20 [lex.key], [lex.digraph]), and what a compiler of
    // either would take for its own.
    for (const char* taken :
         {"int",      "size_t",   "char",         "unsigned",    "double",   "void",     "return",
          "class",    "and",      "xor_eq",       "bool",        "true",     "nullptr",  "wchar_t",
          "char8_t",  "template", "namespace",    "_Bool",       "_Static",  "__model",  "asm",
          "typeof",   "restrict", "thread_local", "co_await",    "concept",  "alignas",  "NULL",
          "offsetof", "main",     "linux",        "max_align_t", "requires", "constinit"}) {
        CAPTURE(std::string(taken));
        CHECK_FALSE(minigpt::convert::is_symbol(taken));
    }
    TempFolder folder;
    Ran ran =
        run_program("convert", {"--emit", "c", "--symbol", "size_t", kModel, "-o", folder / "m.c"});
    CHECK(ran.exit_status == 2);
    CHECK(ran.err.find("convert: no name that C and C++ leave free: size_t\n") == 0);
    std::string source;
    for (const char* free :
         {"model", "integer", "int_", "Int", "size_t_", "_model", "mains", "m1"}) {
        CAPTURE(std::string(free));
        CHECK(minigpt::convert::is_symbol(free));
        source += std::string("extern const unsigned char ") + free + "[1];\n";
    }
    std::ofstream(folder / "m.c") << "#include <stddef.h>\n" + source;
    if (system("cc --version > /dev/null 2>&1") == 0) {
        CHECK(system(("cc -Werror -c -o " + folder / "o" + " " + folder / "m.c").c_str()) == 0);
        CHECK(system(("cc -Werror -x c++ -c -o " + folder / "o" + " " + folder / "m.c").c_str()) ==
              0);
    }
}
