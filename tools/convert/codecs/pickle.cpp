#include "convert/codecs/pickle.h"

#include <algorithm>
#include <cstring>

namespace minigpt::convert {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr uint32_t kNoItems = UINT32_MAX;

}  // namespace

Status PickleBytes::need(size_t at, uint64_t n) {
    uint64_t end = at + n;
    if (n > n_bytes_ || end > n_bytes_)
        return Status::error(Code::bad_file, "the pickle is cut");
    if (end <= bytes_.size())
        return Status();
    size_t begin = bytes_.size();
    bytes_.resize(static_cast<size_t>(std::min(n_bytes_, std::max<uint64_t>(end, begin + kChunk))));
    return file_->read(offset_ + begin, &bytes_[begin], bytes_.size() - begin);
}

Pickle::Pickle(PickleBytes bytes, const PickleGlobal* globals, size_t n_globals)
    : bytes_(std::move(bytes)), globals_(globals), n_globals_(n_globals) {}

Status Pickle::read(PickleValue* root) {
    stack_.clear();
    marks_.clear();
    memo_.clear();
    bool stop = false;
    while (!stop) {
        op_at_ = at_;
        const char* p;
        MINIGPT_TRY(take(1, &p));
        op_ = static_cast<unsigned char>(*p);
        MINIGPT_TRY(step(op_, &stop));
    }
    MINIGPT_TRY(pop(root));
    if (!stack_.empty() || !marks_.empty())
        return error("leaves values over");
    return Status();
}

Status Pickle::step(unsigned char op, bool* stop) {
    constexpr unsigned char kStop = '.';
    *stop = op == kStop;
    bool known = *stop;
    using Group = Status (Pickle::*)(unsigned char, bool*);
    constexpr Group kGroups[] = {&Pickle::constant,  &Pickle::bytes_op, &Pickle::memo_op,
                                 &Pickle::container, &Pickle::stack_op, &Pickle::object_op,
                                 &Pickle::line_op};
    for (Group group : kGroups) {
        if (known)
            return Status();
        known = true;  // but for what the group leaves
        MINIGPT_TRY((this->*group)(op, &known));
    }
    return known ? Status() : error("is in no checkpoint");
}

Status Pickle::take(size_t n, const char** p) {
    if (n > kMaxBytes || at_ + n > kMaxBytes) {
        return Status::error(Code::bad_file, "the pickle is longer than %s bytes",
                             grouped(kMaxBytes).c_str());
    }
    MINIGPT_TRY(bytes_.need(at_, n));
    *p = bytes_.data() + at_;
    at_ += n;
    return Status();
}

// n bytes, little-endian, unsigned.
Status Pickle::take_number(size_t n, uint64_t* value) {
    const char* p;
    MINIGPT_TRY(take(n, &p));
    *value = 0;
    memcpy(value, p, n);
    return Status();
}

// Up to the next newline, which is left out.
Status Pickle::take_line(std::string* line) {
    constexpr size_t kMaxLine = 1024;
    line->clear();
    for (;;) {
        const char* p;
        MINIGPT_TRY(take(1, &p));
        if (*p == '\n')
            return Status();
        if (line->size() == kMaxLine)
            return error("has a line of over 1,024 bytes");
        line->push_back(*p);
    }
}

Status Pickle::add(Node node, PickleValue* value) {
    if (nodes_.size() == kMaxNodes) {
        return Status::error(Code::bad_file, "the pickle has over %s values",
                             grouped(kMaxNodes).c_str());
    }
    *value = static_cast<PickleValue>(nodes_.size());
    nodes_.push_back(node);
    return Status();
}

Status Pickle::push(PickleValue value) {
    if (stack_.size() == kMaxNodes)
        return error("makes the stack too high");
    stack_.push_back(value);
    return Status();
}

Status Pickle::push(Node node) {
    PickleValue value;
    MINIGPT_TRY(add(node, &value));
    return push(value);
}

Status Pickle::push_integer(int64_t value) {
    Node node;
    node.kind = PickleKind::integer;
    node.value = static_cast<uint64_t>(value);
    return push(node);
}

// The stack from `first` on becomes a value of these.
Status Pickle::push_items(PickleKind kind, size_t first) {
    Node node;
    node.kind = kind;
    node.a = kNoItems;
    if (first < stack_.size()) {
        node.a = static_cast<uint32_t>(items_.size());
        items_.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
        stack_.resize(first);
    }
    return push(node);
}

Status Pickle::pop(PickleValue* value) {
    size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor)
        return error("finds no value on the stack");
    *value = stack_.back();
    stack_.pop_back();
    return Status();
}

Status Pickle::pop_mark(size_t* first) {
    if (marks_.empty())
        return error("finds no mark on the stack");
    *first = marks_.back();
    marks_.pop_back();
    return Status();
}

// The stack from `first` on joins the container below it.
Status Pickle::extend(PickleKind kind, size_t first) {
    size_t floor = marks_.empty() ? 0 : marks_.back();
    if (first <= floor)
        return error("finds no container on the stack");
    Node& node = nodes_[stack_[first - 1]];
    if (node.kind != kind)
        return Status::error(Code::bad_file, "%s at byte %zu finds %s",
                             pickle_opcode_name(op_).c_str(), op_at_, kind_name(stack_[first - 1]));
    if (kind == PickleKind::dict && (stack_.size() - first) % 2 != 0)
        return error("has a key without a value");
    if (first == stack_.size())
        return Status();
    if (node.a == kNoItems) {
        node.a = static_cast<uint32_t>(items_.size());
        items_.emplace_back();
    }
    std::vector<PickleValue>& items = items_[node.a];
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    stack_.resize(first);
    return Status();
}

Status Pickle::put(uint64_t index) {
    size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor)
        return error("finds no value on the stack");
    if (index >= kMaxNodes)
        return error("has a memo's number that is too large");
    if (index >= memo_.size())
        memo_.resize(static_cast<size_t>(index) + 1, UINT32_MAX);
    memo_[static_cast<size_t>(index)] = stack_.back();
    return Status();
}

Status Pickle::get(uint64_t index) {
    if (index >= memo_.size() || memo_[static_cast<size_t>(index)] == UINT32_MAX)
        return error("asks for a memo that is not there");
    return push(memo_[static_cast<size_t>(index)]);
}

std::string Pickle::text(PickleValue value) const {
    const Node& node = nodes_[value];
    return std::string(bytes_.data() + node.value, node.a);
}

std::optional<int64_t> Pickle::integer(PickleValue value) const {
    const Node& node = nodes_[value];
    if (node.kind != PickleKind::integer && node.kind != PickleKind::boolean)
        return {};
    return static_cast<int64_t>(node.value);
}

double Pickle::real(PickleValue value) const {
    double x;
    memcpy(&x, &nodes_[value].value, sizeof x);
    return x;
}

const std::vector<PickleValue>& Pickle::items(PickleValue value) const {
    static const std::vector<PickleValue> none;
    uint32_t a = nodes_[value].a;
    return a == kNoItems ? none : items_[a];
}

std::optional<PickleValue> Pickle::find(PickleValue dict, const char* key) const {
    const std::vector<PickleValue>& members = items(dict);
    size_t n = strlen(key);
    for (size_t i = members.size(); i >= 2; i -= 2) {
        const Node& node = nodes_[members[i - 2]];
        if (node.kind == PickleKind::text && node.a == n &&
            memcmp(bytes_.data() + node.value, key, n) == 0) {
            return members[i - 1];
        }
    }
    return {};
}

const char* Pickle::kind_name(PickleValue value) const {
    constexpr const char* kNames[] = {"None",    "a boolean", "an integer", "an integer",
                                      "a float", "a text",    "bytes",      "a tuple",
                                      "a list",  "a set",     "a dict",     "a name",
                                      "a call",  "an object", "a storage"};
    return kNames[static_cast<size_t>(nodes_[value].kind)];
}

Status Pickle::error(const char* what) const {
    return Status::error(Code::bad_file, "%s at byte %zu %s", pickle_opcode_name(op_).c_str(),
                         op_at_, what);
}

}  // namespace minigpt::convert
