#include "convert/codecs/byte_reader.h"

#include <algorithm>
#include <cstring>

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kWindow = 64 << 10;

}  // namespace

ByteReader::ByteReader(const File* file, uint64_t max_bytes, uint64_t max_text)
    : file_(file), bytes_left_(max_bytes), text_left_(max_text) {}

Status ByteReader::count(uint64_t n_bytes) {
    if (at_ > file_->size() || n_bytes > left()) {
        return Status::error(Code::bad_file, "%llu byte%s at byte %llu, but the file has %llu",
                             Ull{n_bytes}, plural(n_bytes), Ull{at_}, Ull{file_->size()});
    }
    if (n_bytes > bytes_left_) {
        return Status::error(Code::bad_file, "%llu bytes at byte %llu: the header is too long",
                             Ull{n_bytes}, Ull{at_});
    }
    bytes_left_ -= n_bytes;
    return Status();
}

Status ByteReader::read(void* data, size_t n_bytes) {
    MINIGPT_TRY(count(n_bytes));
    bool inside = at_ >= window_at_ && at_ - window_at_ <= window_.size() &&
                  n_bytes <= window_.size() - (at_ - window_at_);
    if (!inside && n_bytes > kWindow) {
        MINIGPT_TRY(file_->read(at_, data, n_bytes));
        at_ += n_bytes;
        return Status();
    }
    if (!inside) {
        window_.resize(static_cast<size_t>(std::min<uint64_t>(left(), kWindow)));
        window_at_ = at_;
        MINIGPT_TRY(file_->read(at_, window_.data(), window_.size()));
    }
    if (n_bytes > 0)
        memcpy(data, &window_[static_cast<size_t>(at_ - window_at_)], n_bytes);
    at_ += n_bytes;
    return Status();
}

Status ByteReader::text(uint64_t n_bytes, std::string* text) {
    if (n_bytes > text_left_ && n_bytes <= left()) {
        return Status::error(Code::bad_file, "a text of %llu bytes at byte %llu is too long",
                             Ull{n_bytes}, Ull{at_});
    }
    if (n_bytes > text_left_)
        return count(n_bytes);  // says what the file has
    text_left_ -= n_bytes;
    text->resize(static_cast<size_t>(std::min(n_bytes, left())));
    if (text->size() < n_bytes)
        return count(n_bytes);
    return read(&(*text)[0], text->size());
}

Status ByteReader::skip(uint64_t n_bytes) {
    MINIGPT_TRY(count(n_bytes));
    at_ += n_bytes;
    return Status();
}

}  // namespace minigpt::convert
