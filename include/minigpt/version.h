// The library's version, https://semver.org: before 1.0.0 a minor version may change the interface.
// The weight file has a version of its own, see models/FORMAT.md.
#pragma once

namespace minigpt {

constexpr int kVersionMajor = 0;
constexpr int kVersionMinor = 1;
constexpr int kVersionPatch = 0;
constexpr char kVersion[] = "0.1.0";

}  // namespace minigpt
