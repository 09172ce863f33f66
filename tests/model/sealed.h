// Changes to the header of a weight file that its checksum does not give away.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "tests/model/random_model.h"

namespace minigpt {

template <typename T>
T get(const Image& image, size_t at) {
    T value;
    memcpy(&value, image.data() + at, sizeof value);
    return value;
}

template <typename T>
void put(Image& image, size_t at, T value) {
    memcpy(image.data() + at, &value, sizeof value);
}

// Sets right what covers the header and the directories.
inline void seal(Image& image) {
    put(image, 24, uint64_t{0});
    put(image, 24, hash64(image.data(), get<uint32_t>(image, 12)));
}

}  // namespace minigpt
