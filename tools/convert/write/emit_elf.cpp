// ELF as the System V ABI has it, chapter 4, "Object Files", and each machine's supplement.
#include "convert/write/emit.h"

namespace minigpt::convert {
namespace {

struct Machine {
    const char* name;
    bool wide;  // 64-bit
    uint16_t number;
    uint32_t flags;
};

constexpr Machine kMachines[] = {
    {"x86_64", true, 62, 0},   {"i386", false, 3, 0},
    {"aarch64", true, 183, 0}, {"arm", false, 40, 0x05000000},  // EABI version 5
    {"riscv64", true, 243, 5},  // compressed instructions, doubles in registers
};

constexpr size_t kDataAt = 64;  // the array's place in the file; it fits both kinds of header

// Section types, symbol bindings and the like.
enum : uint32_t { kProgbits = 1, kSymtab = 2, kStrtab = 3, kAlloc = 2, kGlobalObject = 0x11 };

// Little-endian fields; `word` is as wide as the machine's addresses.
class Fields {
public:
    explicit Fields(bool wide) : wide_(wide) {}

    void put(uint64_t value, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes; i++)
            bytes += static_cast<char>(value >> 8 * i & 0xff);
    }
    void word(uint64_t value) { put(value, wide_ ? 8 : 4); }
    void pad(size_t multiple) {
        while (bytes.size() % multiple != 0)
            bytes += '\0';
    }

    std::string bytes;

private:
    bool wide_;
};

const Machine* find(const std::string& name) {
    for (const Machine& machine : kMachines) {
        if (name == machine.name)
            return &machine;
    }
    return nullptr;
}

void put_symbol(Fields* f, bool wide, uint32_t name, uint64_t value, uint64_t size,
                uint32_t section) {
    f->put(name, 4);
    uint32_t info = name == 0 ? 0 : uint32_t{kGlobalObject};
    if (wide) {
        f->put(info, 2);  // and st_other, 0
        f->put(section, 2);
        f->put(value, 8);
        f->put(size, 8);
    } else {
        f->put(value, 4);
        f->put(size, 4);
        f->put(info, 2);
        f->put(section, 2);
    }
}

struct Section {
    uint32_t name, type, flags;
    uint64_t offset, size;
    uint32_t link, info, align, entry;
};

void put_section(Fields* f, const Section& s) {
    f->put(s.name, 4);
    f->put(s.type, 4);
    f->word(s.flags);
    f->word(0);
    f->word(s.offset);
    f->word(s.size);
    f->put(s.link, 4);
    f->put(s.info, 4);
    f->word(s.align);
    f->word(s.entry);
}

constexpr uint16_t kSections = 6;

std::string header(const Machine& m, uint64_t sections_at) {
    Fields f(m.wide);
    f.bytes = std::string("\x7f") + "ELF" + (m.wide ? '\2' : '\1') + '\1' + '\1';
    f.pad(16);
    f.put(1, 2);  // relocatable
    f.put(m.number, 2);
    f.put(1, 4);
    f.word(0);
    f.word(0);
    f.word(sections_at);
    f.put(m.flags, 4);
    f.put(m.wide ? 64 : 52, 2);
    f.put(0, 4);  // no program headers
    f.put(m.wide ? 64 : 40, 2);
    f.put(kSections, 2);
    f.put(kSections - 1, 2);  // the section with their names
    f.pad(kDataAt);
    return f.bytes;
}

}  // namespace

bool is_emit_target(const std::string& name) {
    return find(name) != nullptr;
}

std::string own_target() {
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__i386__)
    return "i386";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv) && __riscv_xlen == 64
    return "riscv64";
#else
    return "";
#endif
}

Status make_elf(const std::string& target, const std::string& symbol, uint64_t n_bytes,
                ElfFile* file) {
    const Machine& m = *find(target);
    if (!m.wide && n_bytes > uint64_t{1} << 31) {
        return Status::error(Code::not_supported, "%llu bytes are more than %s's addresses hold",
                             static_cast<unsigned long long>(n_bytes), m.name);
    }
    const size_t word = m.wide ? 8 : 4;
    Fields f(m.wide);
    auto at = [&] { return kDataAt + n_bytes + f.bytes.size(); };
    f.bytes.assign(static_cast<size_t>((8 - n_bytes % 8) % 8), '\0');
    uint64_t size_value = n_bytes + f.bytes.size();
    f.word(n_bytes);
    uint64_t data_bytes = n_bytes + f.bytes.size();
    // Tables go on at multiples of 8 of the file.
    auto align = [&] { f.bytes.append(static_cast<size_t>((8 - at() % 8) % 8), '\0'); };

    align();
    Section symbols = {9, kSymtab, 0, at(), 0, 3, 1, static_cast<uint32_t>(word), 0};
    uint32_t second = static_cast<uint32_t>(symbol.size()) + 2;
    put_symbol(&f, m.wide, 0, 0, 0, 0);
    put_symbol(&f, m.wide, 1, 0, n_bytes, 1);
    put_symbol(&f, m.wide, second, size_value, word, 1);
    symbols.size = at() - symbols.offset;
    symbols.entry = static_cast<uint32_t>(symbols.size / 3);

    Section strings = {17, kStrtab, 0, at(), 0, 0, 0, 1, 0};
    f.bytes += '\0' + symbol + '\0' + symbol + "_bytes" + '\0';
    strings.size = at() - strings.offset;

    const char kNames[] = "\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack";
    Section names = {25, kStrtab, 0, at(), sizeof kNames, 0, 0, 1, 0};
    f.bytes.append(kNames, sizeof kNames);

    align();
    uint64_t sections_at = at();
    put_section(&f, {});
    put_section(&f, {1, kProgbits, kAlloc, kDataAt, data_bytes, 0, 0, 64, 0});
    put_section(&f, symbols);
    put_section(&f, strings);
    put_section(&f, {35, kProgbits, 0, sections_at, 0, 0, 0, 1, 0});  // the stack is not executable
    put_section(&f, names);
    file->before = header(m, sections_at);
    file->after = f.bytes;
    return Status();
}

}  // namespace minigpt::convert
