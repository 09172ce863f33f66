#include "convert/formats/tensorflow.h"

#include <cstring>
#include <vector>

#include "common/file.h"
#include "convert/codecs/crc.h"
#include "convert/codecs/snappy.h"
#include "convert/codecs/wire.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kFooter = 48;
constexpr size_t kTrailer = 5;
constexpr size_t kMagic = sizeof kTableMagic - 1;
constexpr size_t kMaxUnpacked = size_t{64} << 20;

struct Handle {
    uint64_t offset = 0, size = 0;
};

bool read_handle(Wire* wire, Handle* handle) {
    return wire->varint(&handle->offset) && wire->varint(&handle->size);
}

class Table {
public:
    Table(const std::string& bytes, const OnEntry& on_entry) : bytes_(bytes), on_entry_(on_entry) {}

    Status read();

private:
    Status read_footer(Handle* metaindex, Handle* index) const;
    Status read_block(const Handle& handle, std::string* block);
    Status read_data_block(const std::string& separator, const std::string& handle);
    // Takes n bytes from what a table may unpack to.
    Status spend(uint64_t n);

    const std::string& bytes_;
    const OnEntry& on_entry_;
    std::string last_key_;
    bool has_last_key_ = false;
    uint64_t n_spent_ = 0;
};

Status Table::spend(uint64_t n) {
    if (n <= kMaxUnpacked - n_spent_) {
        n_spent_ += n;
        return Status();
    }
    return Status::error(Code::bad_file, "its blocks and keys unpack to over 64 MB");
}

Status Table::read_footer(Handle* metaindex, Handle* index) const {
    if (bytes_.size() < kFooter || !ends_with(bytes_, kTableMagic)) {
        return Status::error(Code::bad_file, "no table: its last 8 bytes are not the magic number");
    }
    Wire wire(bytes_.data() + bytes_.size() - kFooter, kFooter - kMagic);
    if (read_handle(&wire, metaindex) && read_handle(&wire, index))
        return Status();
    return Status::error(Code::bad_file, "the footer's handles are cut off");
}

// A block's own bytes: its trailer checked, unpacked.
Status Table::read_block(const Handle& handle, std::string* block) {
    uint64_t end = bytes_.size() - kFooter;
    if (handle.size > end || end - handle.size < kTrailer ||
        handle.offset > end - handle.size - kTrailer) {
        return Status::error(Code::bad_file,
                             "a block of %llu bytes at byte %llu; blocks end at %llu",
                             Ull{handle.size}, Ull{handle.offset}, Ull{end});
    }
    const char* p = bytes_.data() + handle.offset;
    size_t n = static_cast<size_t>(handle.size);
    uint32_t found;
    memcpy(&found, p + n + 1, sizeof found);
    uint32_t expected = mask_crc32c(crc32c(p, n + 1));
    std::string place = "block at byte " + std::to_string(handle.offset);
    if (found != expected) {
        return Status::error(Code::bad_file, "%s: checksum is %08lx; its bytes have %08lx",
                             place.c_str(), static_cast<unsigned long>(found),
                             static_cast<unsigned long>(expected));
    }
    unsigned compression = static_cast<unsigned char>(p[n]);
    if (compression > 1) {
        return Status::error(Code::not_supported,
                             "%s: compression is %u; expected 0, none, or 1, snappy", place.c_str(),
                             compression);
    }
    if (compression == 0) {
        MINIGPT_TRY(spend(n));
        block->assign(p, n);
        return Status();
    }
    auto packed = reinterpret_cast<const unsigned char*>(p);
    MINIGPT_TRY(within(place, unpack_snappy(packed, n, kMaxUnpacked, block)));
    return spend(block->size());
}

// Walks a block's entries, and holds its restarts against them.
class BlockReader {
public:
    explicit BlockReader(const std::string& block) : block_(block), wire_(nullptr, 0) {}

    Status start();
    bool at_end() const { return wire_.left() == 0; }
    // The next entry, by its key in full.
    Status next();
    Status finish() const;

    std::string key, value;

private:
    const std::string& block_;
    Wire wire_;
    size_t n_entry_bytes_ = 0;
    std::vector<uint32_t> restarts_;
    size_t n_met_ = 0;  // restarts at which an entry begins
};

Status BlockReader::start() {
    uint32_t n = 0;
    size_t left = block_.size();
    if (left >= 4)
        memcpy(&n, block_.data() + left - 4, 4);
    if (left < 4 || n == 0 || n > (left - 4) / 4) {
        return Status::error(Code::bad_file, "%lu restarts in a block of %zu bytes",
                             static_cast<unsigned long>(n), left);
    }
    n_entry_bytes_ = left - 4 - size_t{4} * n;
    restarts_.resize(n);
    memcpy(restarts_.data(), block_.data() + n_entry_bytes_, size_t{4} * n);
    wire_ = Wire(block_.data(), n_entry_bytes_);
    return Status();
}

Status BlockReader::next() {
    size_t begin = n_entry_bytes_ - wire_.left();
    uint64_t shared, n_key, n_value;
    const unsigned char *key_bytes, *value_bytes;
    if (!wire_.varint(&shared) || !wire_.varint(&n_key) || !wire_.varint(&n_value) ||
        !wire_.bytes(n_key, &key_bytes) || !wire_.bytes(n_value, &value_bytes)) {
        return Status::error(Code::bad_file, "the entry at byte %zu is cut off", begin);
    }
    if (shared > key.size()) {
        return Status::error(Code::bad_file,
                             "the entry at byte %zu shares %llu byte%s of a key that has %zu",
                             begin, Ull{shared}, plural(shared), key.size());
    }
    if (n_met_ < restarts_.size() && restarts_[n_met_] == begin) {
        n_met_++;
        if (shared != 0) {
            return Status::error(Code::bad_file, "the entry at byte %zu, a restart, is not whole",
                                 begin);
        }
    }
    key.resize(static_cast<size_t>(shared));
    key.append(reinterpret_cast<const char*>(key_bytes), static_cast<size_t>(n_key));
    value.assign(reinterpret_cast<const char*>(value_bytes), static_cast<size_t>(n_value));
    return Status();
}

// A block without entries has its one restart at 0.
Status BlockReader::finish() const {
    bool empty = n_entry_bytes_ == 0 && restarts_.size() == 1 && restarts_[0] == 0;
    if (empty || n_met_ == restarts_.size())
        return Status();
    return Status::error(Code::bad_file, "restart %zu is byte %lu, where no entry begins", n_met_,
                         static_cast<unsigned long>(restarts_[n_met_]));
}

Status Table::read_data_block(const std::string& separator, const std::string& handle_bytes) {
    Handle handle;
    Wire wire(handle_bytes);
    if (!read_handle(&wire, &handle) || wire.left() > 0)
        return Status::error(Code::bad_file, "%s: no handle of a block", shown(separator).c_str());
    std::string bytes;
    MINIGPT_TRY(read_block(handle, &bytes));
    std::string place = "block at byte " + std::to_string(handle.offset);
    BlockReader block(bytes);
    MINIGPT_TRY(within(place, block.start()));
    while (!block.at_end()) {
        MINIGPT_TRY(within(place, block.next()));
        MINIGPT_TRY(spend(block.key.size()));
        if (has_last_key_ && block.key <= last_key_) {
            return Status::error(Code::bad_file, "%s: %s %s", place.c_str(),
                                 shown(block.key).c_str(),
                                 block.key == last_key_ ? "is there twice" : "is out of order");
        }
        if (block.key > separator) {
            return Status::error(Code::bad_file, "%s: %s is after %s, where its block ends",
                                 place.c_str(), shown(block.key).c_str(), shown(separator).c_str());
        }
        last_key_ = block.key;
        has_last_key_ = true;
        MINIGPT_TRY(on_entry_(block.key, block.value));
    }
    return within(place, block.finish());
}

Status Table::read() {
    Handle metaindex, index;
    MINIGPT_TRY(read_footer(&metaindex, &index));
    std::string bytes;
    MINIGPT_TRY(within("metaindex", read_block(metaindex, &bytes)));
    MINIGPT_TRY(within("index", read_block(index, &bytes)));
    BlockReader block(bytes);
    MINIGPT_TRY(within("index", block.start()));
    while (!block.at_end()) {
        MINIGPT_TRY(within("index", block.next()));
        MINIGPT_TRY(spend(block.key.size()));
        MINIGPT_TRY(read_data_block(block.key, block.value));
    }
    return within("index", block.finish());
}

}  // namespace

Status read_table(const std::string& bytes, const OnEntry& on_entry) {
    if (bytes.size() > kMaxTable) {
        return Status::error(Code::bad_file, "%s bytes; expected at most %s",
                             grouped(bytes.size()).c_str(), grouped(kMaxTable).c_str());
    }
    return Table(bytes, on_entry).read();
}

}  // namespace minigpt::convert
