#include "convert/codecs/zip.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kLocator64Magic = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint32_t kIn64 = 0xffffffff;        // the number stands in the zip64 field
constexpr uint64_t kMaxDirectory = 16 << 20;  // 4,096 layers need 5 MB

constexpr unsigned kFlagEncrypted = 1, kFlagDescriptor = 8;

template <typename T>
T number_at(const char* p) {
    T value;
    memcpy(&value, p, sizeof value);
    return value;
}

uint16_t u16(const char* p) {
    return number_at<uint16_t>(p);
}
uint32_t u32(const char* p) {
    return number_at<uint32_t>(p);
}
uint64_t u64(const char* p) {
    return number_at<uint64_t>(p);
}

// Where the directory is.
struct End {
    uint64_t n_entries = 0, n_bytes = 0, offset = 0;
    uint64_t limit = 0;  // where the end record begins: the directory ends before it
};

// An entry and its headers' common fields.
struct Entry {
    ZipEntry zip;
    unsigned flags = 0;
    uint64_t header = 0;  // offset of the local header
};

Status error(const char* what) {
    return Status::error(Code::bad_file, "the zip archive %s", what);
}

Status read_end64(const File& file, uint64_t end_offset, End* end) {
    char locator[kLocator64Bytes], record[kEnd64Bytes];
    if (end_offset < sizeof locator)
        return error("is cut: its zip64 locator is missing");
    MINIGPT_TRY(file.read(end_offset - sizeof locator, locator, sizeof locator));
    if (u32(locator) != kLocator64Magic)
        return error("is damaged: its zip64 locator is missing");
    uint64_t at = u64(locator + 8), limit = end_offset - sizeof locator;
    if (at > limit || limit - at < sizeof record)
        return error("is damaged: its zip64 end record lies outside");
    MINIGPT_TRY(file.read(at, record, sizeof record));
    if (u32(record) != kEnd64Magic)
        return error("is damaged: its zip64 end record is missing");
    if (u32(record + 16) != 0 || u32(record + 20) != 0 || u64(record + 24) != u64(record + 32))
        return Status::error(Code::not_supported, "the zip archive is one part of several");
    end->n_entries = u64(record + 32);
    end->n_bytes = u64(record + 40);
    end->offset = u64(record + 48);
    end->limit = at;
    return Status();
}

// The end record that the directory leads up to, with its comment, where bytes follow it; n: none.
size_t end_before(const std::string& tail, uint64_t offset_of_tail) {
    for (size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
        const char* p = &tail[at];
        bool is_end =
            u32(p) == kEndMagic && u16(p + 20) < tail.size() - kEndBytes - at &&
            (u32(p + 16) == kIn64 || uint64_t{u32(p + 12)} + u32(p + 16) == offset_of_tail + at);
        if (is_end)
            return at + kEndBytes + u16(p + 20);
    }
    return tail.size();
}

// The end record is the last thing in the file but for a comment, whose length it gives.
Status find_end(const File& file, End* end) {
    size_t n = static_cast<size_t>(std::min<uint64_t>(file.size(), kEndBytes + UINT16_MAX));
    if (n < kEndBytes)
        return error("is cut");
    std::string tail(n, '\0');
    MINIGPT_TRY(file.read(file.size() - n, &tail[0], n));
    size_t at = n - kEndBytes;
    while (u32(&tail[at]) != kEndMagic || u16(&tail[at + 20]) != n - kEndBytes - at) {
        if (at-- > 0)
            continue;
        uint64_t n_more = n - end_before(tail, file.size() - n);
        if (n_more == 0)
            return error("is cut: its directory is missing");
        return Status::error(Code::bad_file,
                             "%llu byte%s after the end of the zip archive: it was changed; copy "
                             "it again",
                             Ull{n_more}, plural(n_more));
    }
    const char* p = &tail[at];
    uint64_t offset = file.size() - n + at;
    if (u16(p + 10) == UINT16_MAX || u32(p + 12) == kIn64 || u32(p + 16) == kIn64)
        return read_end64(file, offset, end);
    if (u16(p + 4) != 0 || u16(p + 6) != 0 || u16(p + 8) != u16(p + 10))
        return Status::error(Code::not_supported, "the zip archive is one part of several");
    end->n_entries = u16(p + 10);
    end->n_bytes = u32(p + 12);
    end->offset = u32(p + 16);
    end->limit = offset;
    return Status();
}

// Fills in the numbers that stand in the zip64 field of `extra`, in this order, as far as they do.
bool take_zip64(const char* extra, size_t n, std::initializer_list<uint64_t*> numbers) {
    bool wanted = false;
    for (uint64_t* number : numbers)
        wanted |= *number == kIn64;
    for (size_t at = 0; wanted && n - at >= 4;) {
        size_t length = u16(extra + at + 2), id = u16(extra + at);
        at += 4;
        if (length > n - at)
            return false;
        if (id != 1) {
            at += length;
            continue;
        }
        for (uint64_t* number : numbers) {
            if (*number != kIn64)
                continue;
            if (length < 8)
                return false;
            *number = u64(extra + at);
            at += 8;
            length -= 8;
        }
        return true;
    }
    return !wanted;
}

Status read_central(const std::string& directory, size_t* at, Entry* entry) {
    if (directory.size() - *at < kCentralBytes || u32(&directory[*at]) != kCentralMagic)
        return error("is damaged: its directory is cut");
    const char* p = &directory[*at];
    size_t n_name = u16(p + 28), n_extra = u16(p + 30), n_comment = u16(p + 32);
    if (directory.size() - *at - kCentralBytes < n_name + n_extra + n_comment)
        return error("is damaged: its directory is cut");
    *at += kCentralBytes + n_name + n_extra + n_comment;
    ZipEntry& zip = entry->zip;
    entry->flags = u16(p + 8);
    zip.method = u16(p + 10);
    zip.crc32 = u32(p + 16);
    zip.packed_bytes = u32(p + 20);
    zip.n_bytes = u32(p + 24);
    entry->header = u32(p + 42);
    zip.name.assign(p + kCentralBytes, n_name);
    std::string name = shown(zip.name);
    if (!take_zip64(p + kCentralBytes + n_name, n_extra,
                    {&zip.n_bytes, &zip.packed_bytes, &entry->header})) {
        return within(name, error("is damaged: its zip64 field is cut"));
    }
    if (zip.method == kZipStored && zip.n_bytes != zip.packed_bytes) {
        return Status::error(Code::bad_file, "%s: stored, but %llu bytes are said to be %llu",
                             name.c_str(), Ull{zip.packed_bytes}, Ull{zip.n_bytes});
    }
    if ((entry->flags & kFlagEncrypted) != 0)
        return Status::error(Code::not_supported, "%s: is encrypted", name.c_str());
    return Status();
}

// Finds the entry's data behind its local header, which must say what the directory says.
Status read_local(const File& file, uint64_t data_limit, Entry* entry) {
    char p[kLocalBytes];
    ZipEntry& zip = entry->zip;
    if (entry->header > data_limit || data_limit - entry->header < sizeof p)
        return error("is damaged: an entry lies outside");
    MINIGPT_TRY(file.read(entry->header, p, sizeof p));
    if (u32(p) != kLocalMagic)
        return error("is damaged: an entry's own header is missing");
    size_t n_name = u16(p + 26), n_extra = u16(p + 28);
    uint64_t room = data_limit - entry->header - sizeof p;
    if (room < n_name + n_extra || room - n_name - n_extra < zip.packed_bytes)
        return error("is damaged: an entry lies outside");
    zip.offset = entry->header + sizeof p + n_name + n_extra;
    std::string name(n_name, '\0'), extra(n_extra, '\0');
    MINIGPT_TRY(file.read(entry->header + sizeof p, &name[0], n_name));
    MINIGPT_TRY(file.read(entry->header + sizeof p + n_name, &extra[0], n_extra));
    bool same = name == zip.name && u16(p + 8) == zip.method;
    if ((u16(p + 6) & kFlagDescriptor) == 0) {
        uint64_t packed = u32(p + 18), n_bytes = u32(p + 22);
        same = same && take_zip64(extra.data(), n_extra, {&n_bytes, &packed}) &&
               packed == zip.packed_bytes && n_bytes == zip.n_bytes && u32(p + 14) == zip.crc32;
    }
    return same ? Status() : error("is damaged: an entry's two headers differ");
}

// Sorted by place, each entry ends before the next begins.
Status check_overlaps(std::vector<Entry>* entries) {
    std::vector<const Entry*> order;
    for (const Entry& entry : *entries)
        order.push_back(&entry);
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return a->header < b->header; });
    for (size_t i = 1; i < order.size(); i++) {
        const ZipEntry& before = order[i - 1]->zip;
        if (before.offset + before.packed_bytes <= order[i]->header)
            continue;
        return Status::error(Code::bad_file, "%s and %s overlap in the zip archive",
                             shown(before.name).c_str(), shown(order[i]->zip.name).c_str());
    }
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return a->zip.name < b->zip.name; });
    for (size_t i = 1; i < order.size(); i++) {
        if (order[i]->zip.name == order[i - 1]->zip.name)
            return within(shown(order[i]->zip.name), error("has this entry twice"));
    }
    return Status();
}

}  // namespace

Status read_zip_directory(const File& file, std::vector<ZipEntry>* entries) {
    End end;
    MINIGPT_TRY(find_end(file, &end));
    if (end.offset > end.limit || end.limit - end.offset < end.n_bytes)
        return error("is damaged: its directory lies outside");
    if (end.n_bytes > kMaxDirectory) {
        return Status::error(Code::bad_file, "a zip directory of %s bytes; expected at most %s",
                             grouped(end.n_bytes).c_str(), grouped(kMaxDirectory).c_str());
    }
    std::string directory(static_cast<size_t>(end.n_bytes), '\0');
    MINIGPT_TRY(file.read(end.offset, &directory[0], directory.size()));
    std::vector<Entry> found;
    for (size_t at = 0; at < directory.size();) {
        found.emplace_back();
        Entry& entry = found.back();
        MINIGPT_TRY(read_central(directory, &at, &entry));
        MINIGPT_TRY(within(shown(entry.zip.name), read_local(file, end.offset, &entry)));
    }
    if (found.size() != end.n_entries) {
        return Status::error(Code::bad_file, "entries in the zip archive: %zu; its end says %llu",
                             found.size(), Ull{end.n_entries});
    }
    MINIGPT_TRY(check_overlaps(&found));
    for (Entry& entry : found) {
        bool is_folder = !entry.zip.name.empty() && entry.zip.name.back() == '/';
        if (!is_folder)
            entries->push_back(std::move(entry.zip));
    }
    return Status();
}

}  // namespace minigpt::convert
