// Whether a text is well-formed XML, as far as our pictures use it.
#pragma once

#include <string>

namespace minigpt::test {

// "" if it is one element with everything in it closed, quoted and escaped; else what is wrong.
// Knows elements, attributes, text and the five entities; no comments, declarations or CDATA.
std::string xml_fault(const std::string& text);

}  // namespace minigpt::test
