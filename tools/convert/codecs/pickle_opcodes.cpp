// What each opcode does. The letters are pickletools'.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/utf8.h"
#include "convert/codecs/pickle.h"

namespace minigpt::convert {
namespace {

constexpr struct {
    unsigned char op;
    const char* name;
} kNames[] = {
    {'(', "MARK"},
    {'.', "STOP"},
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'J', "BININT"},
    {'K', "BININT1"},
    {'L', "LONG"},
    {'M', "BININT2"},
    {'N', "NONE"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {'R', "REDUCE"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},
    {'X', "BINUNICODE"},
    {'a', "APPEND"},
    {'b', "BUILD"},
    {'c', "GLOBAL"},
    {'d', "DICT"},
    {'}', "EMPTY_DICT"},
    {'e', "APPENDS"},
    {'g', "GET"},
    {'h', "BINGET"},
    {'i', "INST"},
    {'j', "LONG_BINGET"},
    {'l', "LIST"},
    {']', "EMPTY_LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {'q', "BINPUT"},
    {'r', "LONG_BINPUT"},
    {'s', "SETITEM"},
    {'t', "TUPLE"},
    {')', "EMPTY_TUPLE"},
    {'u', "SETITEMS"},
    {'G', "BINFLOAT"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {0x80, "PROTO"},
    {0x81, "NEWOBJ"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x85, "TUPLE1"},
    {0x86, "TUPLE2"},
    {0x87, "TUPLE3"},
    {0x88, "NEWTRUE"},
    {0x89, "NEWFALSE"},
    {0x8a, "LONG1"},
    {0x8b, "LONG4"},
    {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},
    {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

std::string pickle_opcode_name(unsigned char op) {
    for (const auto& known : kNames) {
        if (known.op == op)
            return known.name;
    }
    char text[16];
    snprintf(text, sizeof text, "opcode 0x%02x", op);
    return text;
}

Status Pickle::constant(unsigned char op, bool* known) {
    Node node;
    uint64_t value;
    switch (op) {
        case 'N':
            return push(node);
        case 0x88:
        case 0x89:
            node.kind = PickleKind::boolean;
            node.value = op == 0x88;
            return push(node);
        case 'K':
            MINIGPT_TRY(take_number(1, &value));
            return push_integer(static_cast<int64_t>(value));
        case 'M':
            MINIGPT_TRY(take_number(2, &value));
            return push_integer(static_cast<int64_t>(value));
        case 'J':
            MINIGPT_TRY(take_number(4, &value));
            return push_integer(static_cast<int32_t>(static_cast<uint32_t>(value)));
        case 'G':
            MINIGPT_TRY(take_number(8, &value));
            node.kind = PickleKind::real;
            for (int i = 0; i < 8; i++)  // the only big-endian one
                node.value = node.value << 8 | (value >> 8 * i & 0xff);
            return push(node);
        case 0x80:
            MINIGPT_TRY(take_number(1, &value));
            return value <= 5 ? Status() : error("names a protocol later than 5");
        case 0x95:
            MINIGPT_TRY(take_number(8, &value));
            if (value > kMaxBytes)
                return error("is cut");
            return bytes_.need(at_, value);
        default:
            *known = false;
            return Status();
    }
}

Status Pickle::push_bytes(PickleKind kind, uint64_t n) {
    Node node;
    node.kind = kind;
    node.value = at_;
    const char* p;
    if (n > kMaxBytes)
        return error("is longer than the pickle may be");
    MINIGPT_TRY(take(static_cast<size_t>(n), &p));
    node.a = static_cast<uint32_t>(n);
    if (kind == PickleKind::text && !is_utf8({p, node.a}))
        return error("is no UTF-8");
    if (kind == PickleKind::big && n <= 8) {
        bool negative = n > 0 && (p[n - 1] & 0x80) != 0;  // a char has no sign on ARM
        uint64_t value = negative ? UINT64_MAX : 0;
        memcpy(&value, p, node.a);
        return push_integer(static_cast<int64_t>(value));
    }
    return push(node);
}

// A length, and so many bytes. Python 2's strings are taken as texts.
Status Pickle::bytes_op(unsigned char op, bool* known) {
    constexpr struct {
        unsigned char op;
        unsigned length_bytes;
        PickleKind kind;
    } kOps[] = {
        {'X', 4, PickleKind::text},  {'U', 1, PickleKind::text},   {'T', 4, PickleKind::text},
        {0x8c, 1, PickleKind::text}, {0x8d, 8, PickleKind::text},  {'C', 1, PickleKind::bytes},
        {'B', 4, PickleKind::bytes}, {0x8e, 8, PickleKind::bytes}, {0x8a, 1, PickleKind::big},
        {0x8b, 4, PickleKind::big},
    };
    for (const auto& known_op : kOps) {
        if (op != known_op.op)
            continue;
        uint64_t n;
        MINIGPT_TRY(take_number(known_op.length_bytes, &n));
        return push_bytes(known_op.kind, n);
    }
    *known = false;
    return Status();
}

// Protocol 0's, whose argument is a line of text.
Status Pickle::line_op(unsigned char op, bool* known) {
    *known = op == 'I' || op == 'L' || op == 'F' || op == 'p' || op == 'g';
    if (!*known)
        return Status();
    std::string line;
    MINIGPT_TRY(take_line(&line));
    if (op == 'I' && (line == "00" || line == "01"))
        return push(Node{PickleKind::boolean, 0, 0, static_cast<uint64_t>(line == "01")});
    if (op == 'L' && !line.empty() && line.back() == 'L')
        line.pop_back();
    if (line.empty() || line.find_first_not_of("0123456789+-.eE") != std::string::npos)
        return error("has no number");
    char* end;
    if (op == 'F') {
        double x = strtod(line.c_str(), &end);
        Node node;
        node.kind = PickleKind::real;
        memcpy(&node.value, &x, sizeof x);
        return *end == '\0' ? push(node) : error("has no number");
    }
    errno = 0;
    long long value = strtoll(line.c_str(), &end, 10);
    if (*end != '\0' || errno != 0)
        return error("has no number of 64 bits");
    if (op == 'I' || op == 'L')
        return push_integer(value);
    if (value < 0)
        return error("has a negative number");
    return op == 'p' ? put(static_cast<uint64_t>(value)) : get(static_cast<uint64_t>(value));
}

Status Pickle::memo_op(unsigned char op, bool* known) {
    uint64_t index;
    switch (op) {
        case 'q':
        case 'r':
            MINIGPT_TRY(take_number(op == 'q' ? 1 : 4, &index));
            return put(index);
        case 'h':
        case 'j':
            MINIGPT_TRY(take_number(op == 'h' ? 1 : 4, &index));
            return get(index);
        case 0x94:
            return put(memo_.size());
        default:
            *known = false;
            return Status();
    }
}

Status Pickle::container(unsigned char op, bool* known) {
    size_t first = stack_.size();
    switch (op) {
        case ')':
            return push_items(PickleKind::tuple, first);
        case ']':
            return push_items(PickleKind::list, first);
        case '}':
            return push_items(PickleKind::dict, first);
        case 0x8f:
            return push_items(PickleKind::set, first);
        case 0x85:
        case 0x86:
        case 0x87: {
            size_t n = op - 0x84u, floor = marks_.empty() ? 0 : marks_.back();
            if (first - floor < n)
                return error("finds too few values on the stack");
            return push_items(PickleKind::tuple, first - n);
        }
        case 't':
            MINIGPT_TRY(pop_mark(&first));
            return push_items(PickleKind::tuple, first);
        case 'l':
            MINIGPT_TRY(pop_mark(&first));
            return push_items(PickleKind::list, first);
        case 0x91:
            MINIGPT_TRY(pop_mark(&first));
            return push_items(PickleKind::set, first);
        case 'd':
            MINIGPT_TRY(pop_mark(&first));
            if ((stack_.size() - first) % 2 != 0)
                return error("has a key without a value");
            return push_items(PickleKind::dict, first);
        case 'a':
            return first < 1 ? error("finds too few values") : extend(PickleKind::list, first - 1);
        case 's':
            return first < 2 ? error("finds too few values") : extend(PickleKind::dict, first - 2);
        case 'e':
            MINIGPT_TRY(pop_mark(&first));
            return extend(PickleKind::list, first);
        case 'u':
            MINIGPT_TRY(pop_mark(&first));
            return extend(PickleKind::dict, first);
        case 0x90:
            MINIGPT_TRY(pop_mark(&first));
            return extend(PickleKind::set, first);
        default:
            *known = false;
            return Status();
    }
}

Status Pickle::stack_op(unsigned char op, bool* known) {
    PickleValue value;
    size_t first;
    switch (op) {
        case '(':
            if (marks_.size() == kMaxNodes)
                return error("sets too many marks");
            marks_.push_back(stack_.size());
            return Status();
        case '0':
            if (!marks_.empty() && marks_.back() == stack_.size())
                return pop_mark(&first);
            return pop(&value);
        case '1':
            MINIGPT_TRY(pop_mark(&first));
            stack_.resize(first);
            return Status();
        case '2':
            MINIGPT_TRY(pop(&value));
            MINIGPT_TRY(push(value));
            return push(value);
        default:
            *known = false;
            return Status();
    }
}

Status Pickle::name_global(const std::string& name) {
    for (size_t i = 0; i < n_globals_; i++) {
        if (name == globals_[i].name)
            return push(Node{PickleKind::global, static_cast<uint32_t>(i), 0, 0});
    }
    std::string dotted = name;
    for (char& c : dotted)
        c = c == ' ' ? '.' : c;
    return Status::error(Code::not_supported,
                         "%s at byte %zu names %s: a program that weights do not need; refused, "
                         "nothing was run",
                         pickle_opcode_name(op_).c_str(), op_at_, shown(dotted).c_str());
}

// The callable and its arguments, from the stack.
Status Pickle::call() {
    PickleValue arguments, callee;
    MINIGPT_TRY(pop(&arguments));
    MINIGPT_TRY(pop(&callee));
    if (!is(callee, PickleKind::global) || !is(arguments, PickleKind::tuple))
        return error("calls what is no name");
    uint32_t which = nodes_[callee].a;
    switch (globals_[which].kind) {
        case PickleGlobal::Kind::dict:
            // OrderedDict(), or of a list of pairs, which protocol 2 of Python 2 wrote.
            if (!items(arguments).empty() &&
                (items(arguments).size() > 1 || !is(items(arguments)[0], PickleKind::list) ||
                 !items(items(arguments)[0]).empty()))
                return error("makes a dictionary of arguments");
            return push_items(PickleKind::dict, stack_.size());
        case PickleGlobal::Kind::record: {
            PickleValue none;
            MINIGPT_TRY(add(Node(), &none));
            return push(Node{PickleKind::record, which, none, 0});
        }
        case PickleGlobal::Kind::function:
            return push(Node{PickleKind::call, which, arguments, 0});
        case PickleGlobal::Kind::value:
            break;
    }
    return error("calls a name that is no function");
}

// The state that follows an object. A dictionary's is its attributes (OrderedDict's _metadata).
Status Pickle::build() {
    PickleValue state, object;
    MINIGPT_TRY(pop(&state));
    MINIGPT_TRY(pop(&object));
    MINIGPT_TRY(push(object));
    switch (kind(object)) {
        case PickleKind::record:
            nodes_[object].b = state;
            return Status();
        case PickleKind::dict:
        case PickleKind::call:
            return Status();
        default:
            return error("finds no object on the stack");
    }
}

Status Pickle::object_op(unsigned char op, bool* known) {
    PickleValue value, module;
    std::string line, name;
    switch (op) {
        case 'c':
            MINIGPT_TRY(take_line(&line));
            MINIGPT_TRY(take_line(&name));
            return name_global(line + " " + name);
        case 0x93:
            MINIGPT_TRY(pop(&value));
            MINIGPT_TRY(pop(&module));
            if (!is(value, PickleKind::text) || !is(module, PickleKind::text))
                return error("finds no name on the stack");
            return name_global(text(module) + " " + text(value));
        case 'Q':
            MINIGPT_TRY(pop(&value));
            MINIGPT_TRY(push(Node{PickleKind::persistent, 0, value, 0}));
            persistents_.push_back(stack_.back());
            return Status();
        case 'R':
        case 0x81:
            return call();
        case 'b':
            return build();
        default:
            *known = false;
            return Status();
    }
}

}  // namespace minigpt::convert
