// The element types that a build computes with: all, or those that make WEIGHTS=... names.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "minigpt/model.h"

namespace test {

inline bool is_computed(minigpt::ElementType type) {
    return minigpt::kernel_choice(0).table->panel_gemm[static_cast<size_t>(type)] != nullptr;
}

// Those of `types`; each other is said to be skipped, once a test.
inline std::vector<minigpt::ElementType> computed(
    const std::vector<minigpt::ElementType>& types = {
        minigpt::ElementType::f32, minigpt::ElementType::f16, minigpt::ElementType::bf16,
        minigpt::ElementType::q8, minigpt::ElementType::q4}) {
    static const void* test = nullptr;
    static unsigned said = 0;
    if (test != doctest::getContextOptions()->currentTest) {
        test = doctest::getContextOptions()->currentTest;
        said = 0;
    }
    std::vector<minigpt::ElementType> found;
    for (minigpt::ElementType type : types) {
        unsigned bit = 1u << static_cast<unsigned>(type);
        if (is_computed(type)) {
            found.push_back(type);
        } else if ((said & bit) == 0) {
            MESSAGE("skipped: this build has no ", std::string(name_of(type)));
            said |= bit;
        }
    }
    return found;
}

// Whether the build computes with a weight file's types; if not, that is said. Where it has all,
// no file is passed over.
inline bool can_run(const std::string& path) {
    minigpt::Model model;
    minigpt::Status status = model.open(path.c_str());
    bool all = true;
    for (size_t type = 0; type < minigpt::kElementTypeCount; type++)
        all = all && is_computed(static_cast<minigpt::ElementType>(type));
    if (all || status.code() != minigpt::Code::not_supported)
        return true;
    MESSAGE("skipped: ", path, ": ", std::string(status.message()));
    return false;
}

}  // namespace test
