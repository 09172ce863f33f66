#include "common/json.h"

#include <cmath>

#include "common/text.h"
#include "common/utf8.h"

namespace minigpt::tools {

std::string json_string(const std::string& bytes) {
    std::string out = "\"";
    for (size_t i = 0; i < bytes.size();) {
        Utf8Piece piece = utf8_piece(bytes, i);
        unsigned char c = static_cast<unsigned char>(bytes[i]);
        if (!piece.is_valid) {
            out += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += bytes[i];
        } else if (c == '\n') {
            out += "\\n";
        } else if (c < 0x20 || c == 0x7f) {
            out += format("\\u%04x", c);
        } else {
            out.append(bytes, i, piece.n_bytes);
        }
        i += piece.n_bytes;
    }
    return out += '"';
}

std::string json_number(float number) {
    return std::isfinite(number) ? format("%.9g", static_cast<double>(number)) : "null";
}

std::string json_number(double number) {
    return std::isfinite(number) ? format("%.12g", number) : "null";
}

std::string json_ids(const std::vector<int32_t>& ids) {
    std::string out = "[";
    for (size_t i = 0; i < ids.size(); i++) {
        if (i > 0)
            out += ',';
        out += std::to_string(ids[i]);
    }
    return out += ']';
}

}  // namespace minigpt::tools
