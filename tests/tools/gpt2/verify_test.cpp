#include <doctest/doctest.h>

#include <fstream>

#include "minigpt/compute.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::test;

TEST_CASE("gpt2 verify: equal for what convert made, by each kind of kernel") {
    TempFolder folder;
    std::string path = folder / "m.mgpt";
    Ran ran = run_program("convert", {"tests/data/checkpoints/hf-safetensors-f32", "-o", path});
    REQUIRE(ran.exit_status == 0);
    bool present;
    for (size_t i = 0; const char* isa = minigpt::isa_name(i, &present); i++) {
        if (!present)
            continue;
        ran = gpt2({"verify", "-m", path, "--isa", isa});
        CAPTURE(ran.err);
        CHECK(ran.exit_status == 0);
        CHECK(ran.out == "equal\n");
        minigpt::Compute compute;
        REQUIRE(compute.create(1, isa).ok());
        std::string note = "gpt2: with the " + std::string(minigpt::bit_exact_isa()) +
                           " kernels, as the bits of " + isa + " are its own\n";
        CHECK(ran.err == (compute.bit_exact() ? "" : note));
    }

    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-100, std::ios::end);
    file.put('\x55');
    file.close();
    ran = gpt2({"verify", "-m", path});
    CHECK(ran.exit_status == 1);
    CHECK(ran.out.compare(0, 20, "different: ln_f.bias") == 0);
    CHECK(ran.err.find(path) != std::string::npos);
}

TEST_CASE("gpt2 verify: no file, no self-test, no --no-check") {
    check_fails(gpt2({"verify", "-m", "none.mgpt"}), 1, {"none.mgpt: "});
    check_fails(gpt2({"verify", "--no-check"}), 2, {"--no-check"});
}
