// Python's pickles (PEP 307, PEP 3154; CPython's pickletools), read as data. Nothing is executed:
// a call is kept as the name of what is called and its arguments.
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

// Bytes that are fetched when they are needed, and kept.
class PickleBytes {
public:
    // A part of a file, which must stay open.
    PickleBytes(const File* file, uint64_t offset, uint64_t n_bytes)
        : file_(file), offset_(offset), n_bytes_(n_bytes) {}
    explicit PickleBytes(std::string bytes) : n_bytes_(bytes.size()), bytes_(std::move(bytes)) {}

    // Makes bytes at ... at + n - 1 present. Errors: bad_file where they end before; io.
    Status need(size_t at, uint64_t n);
    const char* data() const { return bytes_.data(); }

private:
    const File* file_ = nullptr;
    uint64_t offset_ = 0, n_bytes_ = 0;
    std::string bytes_;
};

// What a pickle may name.
struct PickleGlobal {
    enum class Kind {
        dict,      // a call makes a dictionary
        record,    // an object whose state is kept
        function,  // a call is kept as it is
        value,     // a name that nobody calls
    };
    const char* name;  // "torch._utils _rebuild_tensor_v2": module, space, name
    Kind kind;
};

// A value: a node of the graph that the pickle describes. Values may be shared, and may even hold
// themselves, so a walk must have a bound of its own.
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
    persistent,  // something outside the pickle, with its identity
};

// Reads pickles, one after the other from the same bytes; values of all of them stay valid.
class Pickle {
public:
    // globals [n_globals] must outlive the reader: all that a pickle may name.
    Pickle(PickleBytes bytes, const PickleGlobal* globals, size_t n_globals);

    // Reads the pickle at `at()`, and moves past it.
    //
    // Errors, each with the opcode's name and place: an opcode that no checkpoint has, a global
    // that is not allowed (with its name), values that are missing or of the wrong kind, more than
    // kMaxBytes bytes or kMaxNodes values, the end of the bytes.
    Status read(PickleValue* root);
    size_t at() const { return at_; }

    static constexpr size_t kMaxBytes = 32 << 20;
    static constexpr size_t kMaxNodes = 1 << 20;

    PickleKind kind(PickleValue value) const { return nodes_[value].kind; }
    bool is(PickleValue value, PickleKind kind) const { return nodes_[value].kind == kind; }
    // Of a text, bytes or a big integer (little-endian, two's complement).
    std::string text(PickleValue value) const;
    // Of an integer or a boolean; nothing for other kinds.
    std::optional<int64_t> integer(PickleValue value) const;
    double real(PickleValue value) const;
    // Of a tuple, list or set; of a dictionary: key, value, key, value.
    const std::vector<PickleValue>& items(PickleValue value) const;
    // Of a global, a call or a record: which of the globals.
    const PickleGlobal* global(PickleValue value) const { return &globals_[nodes_[value].a]; }
    // A call's arguments, a tuple; a persistent's identity; a record's state, none without one.
    PickleValue inner(PickleValue value) const { return nodes_[value].b; }
    // All persistents, in the order of the pickle.
    const std::vector<PickleValue>& persistents() const { return persistents_; }

    // The value of a text key in a dictionary; nothing where it is not there. The last counts.
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

// The opcode's name in pickletools; "opcode 0xff" for what is none.
std::string pickle_opcode_name(unsigned char op);

}  // namespace minigpt::convert
