#include "convert/write/emit.h"

#include <algorithm>
#include <cstring>

#include "common/file.h"
#include "common/output_file.h"
#include "minigpt/compute.h"
#include "minigpt/model.h"

namespace minigpt::convert {
namespace {

constexpr size_t kPiece = 64 << 10;  // bytes read at a time
constexpr size_t kAcross = 24;       // numbers in a line of C

// Keywords of C up to C23 and of C++ up to C++20, those of GNU C, what <stddef.h> declares, names
// that compilers define, and main; a space before and after each.
constexpr char kTaken[] =
    " "
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char "
    "char16_t char32_t char8_t class co_await co_return co_yield compl concept const "
    "const_cast consteval constexpr constinit continue decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline "
    "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public register reinterpret_cast requires restrict return short "
    "signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename typeof typeof_unqual union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq NULL max_align_t "
    "nullptr_t offsetof ptrdiff_t size_t unreachable arm i386 linux riscv unix main ";

// Hands the file out piece by piece.
template <typename F>
Status for_each_piece(const File& file, F&& f) {
    std::string piece;
    for (uint64_t at = 0; at < file.size(); at += piece.size()) {
        piece.resize(static_cast<size_t>(std::min<uint64_t>(kPiece, file.size() - at)));
        MINIGPT_TRY(file.read(at, piece.data(), piece.size()));
        MINIGPT_TRY(f(piece));
    }
    return Status();
}

Status write(OutputFile* out, const std::string& text) {
    return out->write(text.data(), text.size());
}

// A line of C, in which @ is the array's name and $ its size.
Status write_line(OutputFile* out, const char* line, const std::string& name, uint64_t n_bytes) {
    std::string text;
    for (const char* p = line; *p != '\0'; p++)
        text += *p == '@' ? name : *p == '$' ? std::to_string(n_bytes) : std::string(1, *p);
    return write(out, text + "\n");
}

constexpr const char* kBefore[] = {
    "/* A weight file of libminigpt, for minigpt::Model::open(@, @_bytes). */",
    "#include <stddef.h>",
    "",
    "#if defined(__cplusplus)",
    "extern \"C\" {",
    "#endif",
    "",
    "extern const size_t @_bytes;",
    "extern const unsigned char @[$];",
    "",
    "const size_t @_bytes = $;",
    "__attribute__((aligned(64))) const unsigned char @[$] = {",
};
constexpr const char* kAfter[] = {"};", "", "#if defined(__cplusplus)", "}", "#endif"};

Status write_c(const File& file, const Options& options, OutputFile* out) {
    for (const char* line : kBefore)
        MINIGPT_TRY(write_line(out, line, options.symbol, file.size()));
    size_t column = 0;
    MINIGPT_TRY(for_each_piece(file, [&](const std::string& piece) {
        std::string text;
        for (char c : piece) {
            text += std::to_string(static_cast<unsigned char>(c));
            text += ++column % kAcross == 0 ? ",\n" : ",";
        }
        return write(out, text);
    }));
    for (const char* line : kAfter)
        MINIGPT_TRY(write_line(out, line, options.symbol, file.size()));
    return Status();
}

Status write_object(const File& file, const Options& options, OutputFile* out) {
    ElfFile elf;
    MINIGPT_TRY(make_elf(options.target, options.symbol, file.size(), &elf));
    MINIGPT_TRY(write(out, elf.before));
    MINIGPT_TRY(for_each_piece(file, [&](const std::string& piece) { return write(out, piece); }));
    return write(out, elf.after);
}

Status check_source(const std::string& path) {
    Model model;
    Compute compute;
    MINIGPT_TRY(model.open(path.c_str()));
    return model.check_weights(compute);
}

}  // namespace

bool is_emit_kind(const std::string& name) {
    return name == "c" || name == "obj";
}

bool is_symbol(const std::string& name) {
    const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    bool is_name = !name.empty() && name.size() <= 200 && (name[0] < '0' || name[0] > '9') &&
                   name.find_first_not_of(letters) == std::string::npos;
    // C11 7.1.3: these are the compiler's and its library's.
    bool is_reserved = name.compare(0, 2, "__") == 0 ||
                       (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
    return is_name && !is_reserved && strstr(kTaken, (" " + name + " ").c_str()) == nullptr;
}

Failure emit(const Options& options, std::string* text) {
    const std::string &source = options.source, &output = options.output;
    File file;
    Status status = check_source(source);
    if (status.ok())
        status = file.open(source);
    if (!status.ok())
        return {status, source};
    if (same_file(source, output))
        return {Status::error(Code::bad_argument, "is the source; choose another -o"), output};
    OutputFile out;
    status = out.create(output);
    if (status.ok())
        status =
            options.emit == "c" ? write_c(file, options, &out) : write_object(file, options, &out);
    if (status.ok())
        status = out.commit();
    if (!status.ok())
        return {status, output};
    *text = output + ": " + options.symbol + "[" + std::to_string(file.size()) +
            "], 64-byte aligned, and the size_t " + options.symbol + "_bytes\n";
    return {};
}

}  // namespace minigpt::convert
