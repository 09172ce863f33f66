// The pieces of JSON (RFC 8259) that programs write, always valid UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minigpt::tools {

// A string in quotes. Characters that JSON needs escaped, and DEL, are escaped. Bytes that are not
// UTF-8 become U+FFFD, one for each maximal subpart (Unicode 15, section 3.9, table 3-8), as in
// other programs.
std::string json_string(const std::string& bytes);
// "%.9g", from which a float is read back exactly; null for NaN and the infinities.
std::string json_number(float number);
// "%.12g"; null as above.
std::string json_number(double number);
std::string json_ids(const std::vector<int32_t>& ids);

}  // namespace minigpt::tools
