// The library's version, by https://semver.org. Before 1.0.0 a minor version may change the
// interface. The weight file has its own version, see models/FORMAT.md.
#pragma once

namespace minigpt {

constexpr int kVersionMajor = 0;
constexpr int kVersionMinor = 1;
constexpr int kVersionPatch = 0;
constexpr char kVersion[] = "0.1.0";

}  // namespace minigpt
