// What a pickle may say: values, and nothing that runs.
#include "convert/codecs/pickle.h"

#include <doctest/doctest.h>

#include "tests/tools/convert/formats/torch_maker.h"

using namespace minigpt;
using namespace minigpt::test;
using convert::Pickle;
using convert::PickleBytes;
using convert::PickleGlobal;
using convert::PickleKind;
using convert::PickleValue;

namespace {

constexpr PickleGlobal kAllowed[] = {{"collections OrderedDict", PickleGlobal::Kind::dict},
                                     {"a.b f", PickleGlobal::Kind::function},
                                     {"a Record", PickleGlobal::Kind::record},
                                     {"a Type", PickleGlobal::Kind::value}};

struct Read {
    explicit Read(const std::string& bytes) : pickle(PickleBytes(bytes), kAllowed, 4) {
        status = pickle.read(&root);
    }
    Pickle pickle;
    PickleValue root = 0;
    Status status;
};

int64_t integer_of(const std::string& ops) {
    Read read(ops + ".");
    CAPTURE(std::string(read.status.message()));
    REQUIRE(read.status.ok());
    REQUIRE(read.pickle.integer(read.root).has_value());
    return *read.pickle.integer(read.root);
}

void check_bad(const std::string& bytes, const std::string& word) {
    Read read(bytes);
    std::string message = read.status.message();
    CAPTURE(message);
    CHECK(!read.status.ok());
    CHECK(message.find(word) != std::string::npos);
}

std::string repeated(const std::string& text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; i++)
        all += text;
    return all;
}

std::string bytes(const char* text, size_t n) {
    return std::string(text, n);
}

}  // namespace

TEST_CASE("convert pickle: numbers of every opcode") {
    CHECK(integer_of("K\xff") == 255);
    CHECK(integer_of("M\xff\xff") == 65535);
    CHECK(integer_of("J\xff\xff\xff\xff") == -1);
    CHECK(integer_of(bytes("\x8a\x00", 2)) == 0);
    CHECK(integer_of("\x8a\x01\x80") == -128);
    CHECK(integer_of(bytes("\x8a\x02\xff\x00", 4)) == 255);
    CHECK(integer_of("\x8a\x08" + std::string(7, '\xff') + "\x7f") == INT64_MAX);
    CHECK(integer_of(bytes("\x8b\x01\x00\x00\x00\x07", 6)) == 7);
    CHECK(integer_of("I-12\n") == -12);
    CHECK(integer_of("I01\n") == 1);
    CHECK(integer_of("L9223372036854775807L\n") == INT64_MAX);
    CHECK(integer_of("\x88") == 1);
    Read big("\x8a\x09" + std::string(9, '\x01') + ".");
    CHECK(big.status.ok());
    CHECK(big.pickle.is(big.root, PickleKind::big));
    Read real("G\x3f\xf8" + std::string(6, '\0') + ".");
    CHECK(real.pickle.real(real.root) == 1.5);
    Read line("F-2.5e3\n.");
    CHECK(line.pickle.real(line.root) == -2500);
    check_bad("I1x\n.", "no number");
    check_bad("I\n.", "no number");
    check_bad("L92233720368547758080L\n.", "64 bits");
    check_bad("Fnan\n.", "no number");
    check_bad("I" + std::string(2000, '1') + "\n.", "1,024");
}

TEST_CASE("convert pickle: containers, memos and marks") {
    using namespace test::pickle;
    Read read("\x80\x02" + dict({{"a", list({integer(1), none(), tuple({})})}}) + "q\x07" +
              "(X\x01" + bytes("\0\0\0", 3) + "bh\x07u.");
    REQUIRE(read.status.ok());
    PickleValue a = *read.pickle.find(read.root, "a");
    CHECK(read.pickle.items(a).size() == 3);
    CHECK(*read.pickle.find(read.root, "b") == read.root);  // it holds itself
    CHECK(!read.pickle.find(read.root, "c"));
    Read last(dict({{"a", integer(1)}, {"a", integer(2)}}) + ".");
    CHECK(last.pickle.integer(*last.pickle.find(last.root, "a")) == 2);
    Read others(
        "(K\1K\2K\1K\2dK\3\x85\x94"
        "0\x8f(K\1\x90(K\1K\2l0(K\5\x91"
        "\x87.");
    CHECK(others.status.ok());
    CHECK(others.pickle.items(others.root).size() == 3);
    Read dup(
        "K\1"
        "2\x86"
        "((K\1"
        "1"
        "0.");
    CHECK(dup.status.ok());
    Read state("ca\nRecord\n)\x81}(K\1K\2ub.");
    CHECK(state.status.ok());
    CHECK(state.pickle.is(state.root, PickleKind::record));
    CHECK(state.pickle.items(state.pickle.inner(state.root)).size() == 2);
    Read stack(
        "\x8c\x03"
        "a.b\x8c\x01"
        "f\x93)R.");
    CHECK(stack.status.ok());
    CHECK(std::string(stack.pickle.global(stack.root)->name) == "a.b f");
}

TEST_CASE("convert pickle: an opcode or a name that no checkpoint needs is refused by name") {
    for (const auto& bad : std::vector<std::pair<std::string, std::string>>{
             {"ios\nsystem\n", "INST at byte 2"},
             {"(o", "OBJ at byte 3"},
             {"P1\n", "PERSID"},
             {"S'a'\n", "STRING"},
             {"Va\n", "UNICODE"},
             {"\x82\x01", "EXT1"},
             {"\x92", "NEWOBJ_EX"},
             {"\x97", "NEXT_BUFFER"},
             {"\x96", "BYTEARRAY8"},
             {"\xff", "opcode 0xff"},
             {"cposix\nsystem\n", "posix.system"},
             {"\x8c\x05posix\x8c\x06system\x93", "STACK_GLOBAL at byte 17 names posix.system"},
             {"cbuiltins\neval\n", "builtins.eval"},
             {"c__builtin__\nexec\n", "__builtin__.exec"},
             {"ccollections\nOrderedDict.__init__\n", "OrderedDict.__init__"},
             {"ccollections OrderedDict\n\n", "collections.OrderedDict"},
             {"\x80\x06", "PROTO"}}) {
        CAPTURE(bad.second);
        check_bad("\x80\x02" + bad.first + ".", bad.second);
    }
    check_bad("ca\nType\n)R.", "no function");
    check_bad("K\1)R.", "calls what is no name");
    check_bad("ca.b\nf\nK\1R.", "calls what is no name");
    check_bad("ccollections\nOrderedDict\nK\1\x85R.", "dictionary of arguments");
    check_bad("K\1}b.", "BUILD");
}

TEST_CASE("convert pickle: what is missing on the stack is an error at every opcode") {
    for (const char* ops :
         {"",     "0",    "1",    "2",    "a",    "s",    "e",    "u",       "t",     "l",
          "d",    "\x85", "\x86", "\x87", "R",    "b",    "Q",    "\x81",    "\x90",  "\x91",
          "\x93", "q\1",  "h\1",  "\x94", "N(",   "(N(a", "N(a",  "(s",      "N(s",   "](}u",
          "N(u",  "N(e",  "]NNs", "}NN",  "}(Nu", "NN",   "}(]u", "K\1}N)R", "](Na0", "N(Q1"}) {
        CAPTURE(ops);
        Read read(std::string(ops) + ".");
        std::string message = read.status.message();
        CAPTURE(message);
        CHECK(!read.status.ok());
        bool says = false;
        for (const char* what :
             {" finds no ", " finds too few values", " has a key without a value",
              " asks for a memo", " calls what is no name", " finds a list", " finds None",
              " leaves values over"})
            says |= message.find(what) != std::string::npos;
        CHECK(says);
        CHECK(message.find(" at byte ") != std::string::npos);
    }
    // A tuple does not reach below its mark, not even where the mark is dropped afterwards.
    check_bad(
        "N(\x85"
        "1.",
        "TUPLE1 at byte 2 finds too few values");
    check_bad(
        "NN(N\x86"
        "1.",
        "TUPLE2 at byte 4 finds too few values");
    check_bad(
        "NNN(\x87"
        "1.",
        "TUPLE3 at byte 4 finds too few values");
}

TEST_CASE("convert pickle: a hostile pickle ends soon, in bounded memory") {
    // 100,000 deep, by nesting and by tuples of one; a walk does not follow.
    CHECK(Read(repeated("]", 100000) + repeated("a", 99999) + ".").status.ok());
    CHECK(Read("N" + repeated("\x85", 100000) + ".").status.ok());
    CHECK(Read(repeated("(", 100000) + "N" + repeated("t", 100000) + ".").status.ok());
    // Each tuple holds the one before it twice: 2^1000 values to a program that copies.
    CHECK(Read("N" + repeated("2\x86", 1000) + ".").status.ok());
    check_bad(repeated("]", 2000000), "over 1,048,576 values");
    check_bad("Nq\1" + repeated("h\1", 2000000), "stack too high");
    check_bad(repeated("(", 2000000), "too many marks");
    check_bad("Nr\xff\xff\xff\xff.", "memo");
    check_bad(bytes("X\xff\xff\xff\xff", 5), "longer");
    check_bad("\x8d" + std::string(8, '\xff') + "x", "longer");
    check_bad("\x95" + std::string(8, '\xff') + "N.", "FRAME");
    check_bad(bytes("\x95\x09\0\0\0\0\0\0\0N.", 11), "cut");
    check_bad(bytes("X\x02\0\0\0\xff\xfe.", 8), "UTF-8");
    check_bad("C\x05x", "cut");
    check_bad("cposix", "cut");
}
