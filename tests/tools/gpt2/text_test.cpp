#include <doctest/doctest.h>

#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt::test;

TEST_CASE("gpt2 tokenize: ids with spaces between and a newline; detokenize gives the bytes back") {
    SmallModels models;
    CHECK(gpt2({"tokenize", "-m", models.letters, "-p", "ab \n"}).out == "0 1 26 27\n");
    CHECK(gpt2({"tokenize", "-m", models.letters, "-p", ""}).out == "\n");
    CHECK(gpt2({"tokenize", "-m", models.letters}, "ab").out == "0 1\n");
    CHECK(gpt2({"tokenize", "-m", models.bytes, "-p", "hello"}).out == "256 257 111\n");
    std::string every_byte;
    for (int byte = 0; byte < 256; byte++)
        every_byte += static_cast<char>(byte);
    std::string ids = gpt2({"tokenize", "-m", models.bytes}, every_byte + "hello\n").out;
    CHECK(gpt2({"detokenize", "-m", models.bytes, "--ids", ids}).out == every_byte + "hello\n");
    CHECK(gpt2({"detokenize", "-m", models.bytes}, ids).out == every_byte + "hello\n");
    CHECK(gpt2({"detokenize", "-m", models.bytes, "--ids", ""}).out == "");
}

TEST_CASE("gpt2 tokenize: <|endoftext|> is plain text unless --special") {
    SmallModels models;
    std::string text = "a<|endoftext|>";
    CHECK(ids_of(gpt2({"tokenize", "-m", models.bytes, "-p", text}).out).size() == 14);
    CHECK(gpt2({"tokenize", "-m", models.bytes, "-p", text, "--special"}).out == "97 258\n");
    CHECK(gpt2({"detokenize", "-m", models.bytes, "--ids", "97,258"}).out == text);
}
