// The tables and the choice among them.
#include <cstdlib>
#include <cstring>
#include <string>

#include "ops/compute.h"
#include "tests/element_types.h"
#include "tests/kernels/support.h"
#include "tests/threads.h"

using namespace minigpt;

TEST_CASE("kernels select: the tables end with scalar, which is always present") {
    size_t n = 0;
    while (kernel_choice(n).name != nullptr)
        ++n;
    REQUIRE(n > 0);
    CHECK(strcmp(kernel_choice(n - 1).name, "scalar") == 0);
    CHECK(kernel_choice(n - 1).present);
    CHECK(kernel_choice(n).table == nullptr);
    CHECK(kernel_choice(static_cast<size_t>(-1)).name == nullptr);
}

TEST_CASE("kernels select: the best is the first that is present, and every entry is filled") {
    size_t i = 0;
    while (!kernel_choice(i).present)
        ++i;
    CHECK(&best_kernels() == kernel_choice(i).table);
    for (i = 0; kernel_choice(i).name != nullptr; ++i) {
        const KernelTable& t = *kernel_choice(i).table;
        CHECK(strcmp(t.name, kernel_choice(i).name) == 0);
        for (size_t type = 0; type < kElementTypeCount; ++type)
            CHECK((t.panel_gemm[type] != nullptr) ==
                  test::is_computed(static_cast<ElementType>(type)));
        CHECK((t.widen_q8 != nullptr) == test::is_computed(ElementType::q8));
        CHECK(bool(t.quantize != nullptr));
        CHECK(bool(t.interleave != nullptr));
        CHECK(bool(t.add != nullptr));
        CHECK(bool(t.layernorm != nullptr));
        CHECK(bool(t.softmax != nullptr));
        CHECK(bool(t.maximum != nullptr));
        CHECK(bool(t.sum_exp != nullptr));
        CHECK(bool(t.fma_chains != nullptr));
        CHECK(bool(t.read_streams != nullptr));
        for (auto f : {t.gelu_tanh, t.gelu_erf, t.exp, t.log, t.tanh, t.erf})
            CHECK(bool(f != nullptr));
    }
}

TEST_CASE("kernels select: the build has what make's ISA and WEIGHTS ask for, and nothing else") {
    const char* isa = getenv("MINIGPT_ISA");
    if (isa != nullptr && *isa != '\0') {
        CHECK(strcmp(kernel_choice(0).name, isa) == 0);
        CHECK(kernel_choice(1).name == nullptr);
    }
    const char* weights = getenv("MINIGPT_WEIGHTS");
    if (weights == nullptr)
        return;
    std::string names = std::string(",") + weights + ",";
    for (size_t i = 0; i < kElementTypeCount; ++i) {
        ElementType type = static_cast<ElementType>(i);
        bool asked = names == ",," || type == ElementType::f32 ||
                     names.find(std::string(",") + name_of(type) + ",") != std::string::npos;
        CHECK(test::is_computed(type) == asked);
    }
}

TEST_CASE("kernels select: the exact one is the best of those that keep equal bits") {
    size_t i = 0;
    while (!kernel_choice(i).present || !kernel_choice(i).table->bit_exact)
        ++i;
    CHECK(strcmp(bit_exact_isa(), kernel_choice(i).name) == 0);
    CHECK(test::scalar().bit_exact);
    const std::set<std::string> unfused = {"sse2", "vfp"};
    for (i = 0; kernel_choice(i).name != nullptr; ++i)
        CHECK(kernel_choice(i).table->bit_exact == (unfused.count(kernel_choice(i).name) == 0));
}

TEST_CASE("compute: a default one is one thread and the best table") {
    Compute compute;
    CHECK(compute.n_threads() == 1);
    CHECK(pool_of(compute) == nullptr);
    CHECK(&kernels_of(compute) == &best_kernels());
}

TEST_CASE("compute: an ISA can be forced, and is the one that runs") {
    for (size_t i = 0; isa_name(i, nullptr) != nullptr; ++i) {
        bool present;
        const char* name = isa_name(i, &present);
        Compute compute;
        Status status = compute.create(1, name);
        if (present) {
            REQUIRE(status.ok());
            CHECK(strcmp(compute.isa(), name) == 0);
        } else {
            CHECK(status.code() == Code::not_supported);
        }
    }
}

TEST_CASE("compute: what cannot be is refused, and changes nothing") {
    Compute compute;
    REQUIRE(compute.create(2, "scalar").ok());
    CHECK(compute.create(1, "sse9").code() == Code::bad_argument);
    CHECK(compute.create(Compute::kMaxThreads + 1).code() == Code::bad_argument);
    CHECK(compute.n_threads() == threads_of(2));
    CHECK(strcmp(compute.isa(), "scalar") == 0);
    REQUIRE(compute.create(0).ok());
    CHECK(compute.n_threads() >= 1);
}
