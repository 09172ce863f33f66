#include "minigpt/generate.h"

namespace minigpt {
namespace {

constexpr uint64_t kMultiplier = 6364136223846793005u;
// The stream of the reference implementation's demo, so that its published numbers test ours.
constexpr uint64_t kIncrement = 54u << 1 | 1;

}  // namespace

Random::Random(uint64_t seed) : state_(0) {
    next();
    state_ += seed;
    next();
}

uint32_t Random::next() {
    uint64_t old = state_;
    state_ = old * kMultiplier + kIncrement;
    uint32_t mixed = static_cast<uint32_t>((old >> 18 ^ old) >> 27);
    uint32_t turn = static_cast<uint32_t>(old >> 59);
    return mixed >> turn | mixed << (-turn & 31);
}

double Random::next_unit() {
    uint64_t high = next() >> 5;  // 27 bits
    uint64_t low = next() >> 6;   // 26 bits
    return static_cast<double>(high << 26 | low) * 0x1p-53;
}

}  // namespace minigpt
