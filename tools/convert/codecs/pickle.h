// Reads Python's pickles (PEP 307, PEP 3154; CPython's pickletools) as data. Nothing is executed:
// for a call it keeps the name of the function and the arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/file.h"

namespace minigpt::convert {

using namespace tools;

// Bytes that are fetched when needed, and then kept.
class PickleBytes {
public:
    // A part of a file, which must stay open.
    PickleBytes(const File* file, uint64_t offset, uint64_t n_bytes)
        : file_(file), offset_(offset), n_bytes_(n_bytes) {}
    explicit PickleBytes(std::string bytes) : n_bytes_(bytes.size()), bytes_(std::move(bytes)) {}

    // Fetches bytes at ... at + n - 1. Errors: bad_file if the bytes end before; io.
    Status need(size_t at, uint64_t n);
    const char* data() const { return bytes_.data(); }

private:
    const File* file_ = nullptr;
    uint64_t offset_ = 0, n_bytes_ = 0;
    std::string bytes_;
};

// A global name that a pickle may use.
struct PickleGlobal {
    enum class Kind {
        dict,      // a call creates a dictionary
        record,    // an object; its state is kept
        function,  // a call is kept with its arguments
        value,     // a name that is not called
    };
    const char* name;  // "torch._utils _rebuild_tensor_v2": module, space, name
    Kind kind;
};

// A value: a node of the graph that the pickle describes. Values may be shared and may even contain
// themselves, so every walk over them needs a limit.
using PickleValue = uint32_t;

enum class PickleKind : uint8_t {
    none,
    boolean,
    integer,  // 64 bits
    big,      // an integer of more bits
    real,
    text,  // valid UTF-8
    bytes,
    tuple,
    list,
    set,
    dict,
    global,
    call,        // of a function, with its arguments
    record,      // an object with a state
    persistent,  // an object outside the pickle, with its identity
};

// Reads pickles one after the other from the same bytes. Values of all of them stay valid.
class Pickle {
public:
    // globals [n_globals]: the only names that a pickle may use. They must outlive the reader.
    Pickle(PickleBytes bytes, const PickleGlobal* globals, size_t n_globals);

    // Reads the pickle at `at()` and moves past it.
    //
    // Errors, each with the opcode's name and place: an opcode that no checkpoint has, a global
    // that is not allowed (with its name), missing values or values of the wrong kind, more than
    // kMaxBytes bytes or kMaxNodes values, the end of the bytes.
    Status read(PickleValue* root);
    size_t at() const { return at_; }

    static constexpr size_t kMaxBytes = 32 << 20;
    static constexpr size_t kMaxNodes = 1 << 20;

    PickleKind kind(PickleValue value) const { return nodes_[value].kind; }
    bool is(PickleValue value, PickleKind kind) const { return nodes_[value].kind == kind; }
    // The contents of a text, bytes or a big integer (little-endian, two's complement).
    std::string text(PickleValue value) const;
    // The value of an integer or a boolean; nothing for other kinds.
    std::optional<int64_t> integer(PickleValue value) const;
    double real(PickleValue value) const;
    // The items of a tuple, list or set; for a dictionary: key, value, key, value.
    const std::vector<PickleValue>& items(PickleValue value) const;
    // For a global, a call or a record: which of the globals it is.
    const PickleGlobal* global(PickleValue value) const { return &globals_[nodes_[value].a]; }
    // A call's arguments (a tuple), a persistent's identity, or a record's state (or none).
    PickleValue inner(PickleValue value) const { return nodes_[value].b; }
    // All persistents, in the order of the pickle.
    const std::vector<PickleValue>& persistents() const { return persistents_; }

    // The value of a text key in a dictionary, the last one if there are several; else nothing.
    std::optional<PickleValue> find(PickleValue dict, const char* key) const;
    // For messages: "a list".
    const char* kind_name(PickleValue value) const;

private:
    struct Node {
        PickleKind kind = PickleKind::none;
        uint32_t a = 0;      // items: which; global, call, record: which global; text: its length
        uint32_t b = 0;      // see inner()
        uint64_t value = 0;  // integer, real (its bits), text (where it begins)
    };

    Status step(unsigned char op, bool* stop);
    Status constant(unsigned char op, bool* known);
    Status bytes_op(unsigned char op, bool* known);
    Status line_op(unsigned char op, bool* known);
    Status container(unsigned char op, bool* known);
    Status memo_op(unsigned char op, bool* known);
    Status object_op(unsigned char op, bool* known);
    Status stack_op(unsigned char op, bool* known);

    Status take(size_t n, const char** p);
    Status take_number(size_t n, uint64_t* value);
    Status take_line(std::string* line);
    Status add(Node node, PickleValue* value);
    Status push(Node node);
    Status push(PickleValue value);
    Status push_bytes(PickleKind kind, uint64_t n);
    Status push_integer(int64_t value);
    Status push_items(PickleKind kind, size_t first);
    Status pop(PickleValue* value);
    Status pop_mark(size_t* first);
    Status put(uint64_t index);
    Status get(uint64_t index);
    Status name_global(const std::string& name);
    Status call();
    Status build();
    Status extend(PickleKind kind, size_t first);
    Status error(const char* what) const;

    PickleBytes bytes_;
    const PickleGlobal* globals_;
    size_t n_globals_;
    size_t at_ = 0, op_at_ = 0;
    unsigned char op_ = 0;
    std::vector<Node> nodes_;
    std::deque<std::vector<PickleValue>> items_;  // [containers]
    std::vector<PickleValue> persistents_;
    std::vector<PickleValue> stack_, memo_;
    std::vector<size_t> marks_;  // the stack's height at each
};

// The opcode's name in pickletools; "opcode 0xff" for an unknown one.
std::string pickle_opcode_name(unsigned char op);

}  // namespace minigpt::convert
