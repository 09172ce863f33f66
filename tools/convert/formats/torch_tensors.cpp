#include "convert/formats/torch_tensors.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace minigpt::convert {
namespace {

constexpr size_t kMaxDims = 8;
constexpr size_t kMaxTensors = 100000;
// How many dictionaries deep the model's may lie.
constexpr int kMaxDepth = 4;

// What training programs call the model's tensors among the other things that they save.
constexpr const char* kModelKeys[] = {
    "model", "model_state_dict", "state_dict", "model_state", "module", "net", "weights",
};

bool is_call(const Pickle& pickle, PickleValue value, const char* name) {
    return pickle.is(value, PickleKind::call) && strcmp(pickle.global(value)->name, name) == 0;
}

Status no_tensor(const Pickle& pickle, PickleValue value) {
    return Status::error(Code::bad_file, "is %s; expected a tensor", pickle.kind_name(value));
}

// A tuple of sizes or strides, or torch.Size of one.
Status read_sizes(const Pickle& pickle, PickleValue value, std::vector<uint64_t>* sizes) {
    if (is_call(pickle, value, "torch Size") && pickle.items(pickle.inner(value)).size() == 1)
        value = pickle.items(pickle.inner(value))[0];
    if (!pickle.is(value, PickleKind::tuple))
        return Status::error(Code::bad_file, "its shape is %s", pickle.kind_name(value));
    if (pickle.items(value).size() > kMaxDims) {
        return Status::error(Code::bad_file, "%zu dimensions; expected at most %zu",
                             pickle.items(value).size(), kMaxDims);
    }
    for (PickleValue item : pickle.items(value)) {
        std::optional<int64_t> n = pickle.integer(item);
        if (!n || *n < 0)
            return Status::error(Code::bad_file, "its shape or strides are no sizes");
        sizes->push_back(static_cast<uint64_t>(*n));
    }
    return Status();
}

// a + b * c, if 64 bits hold it.
bool add_product(uint64_t* a, uint64_t b, uint64_t c) {
    if (b != 0 && c > UINT64_MAX / b)
        return false;
    if (b * c > UINT64_MAX - *a)
        return false;
    *a += b * c;
    return true;
}

// Fills in numel and span; the tensor lies in its storage.
Status check_bounds(TorchTensor* t) {
    bool empty = false, fits = true;
    for (uint64_t n : t->shape)
        empty |= n == 0;
    uint64_t last = 0;
    t->numel = empty ? 0 : 1;
    for (size_t i = 0; !empty && i < t->shape.size(); i++) {
        uint64_t numel = 0;
        fits = fits && add_product(&numel, t->numel, t->shape[i]) &&
               add_product(&last, t->shape[i] - 1, t->strides[i]);
        t->numel = numel;
    }
    uint64_t limit = t->storage.numel;
    if (!fits || t->offset > limit || (!empty && last >= limit - t->offset)) {
        return Status::error(Code::bad_file,
                             "shape %s, strides %s, offset %llu: outside its storage of %llu "
                             "numbers",
                             shape_text(t->shape).c_str(), shape_text(t->strides).c_str(),
                             static_cast<unsigned long long>(t->offset),
                             static_cast<unsigned long long>(limit));
    }
    t->span = empty ? 0 : last + 1;
    t->offset += t->storage.first;
    return Status();
}

bool holds_tensors(const Pickle& pickle, PickleValue dict) {
    const std::vector<PickleValue>& members = pickle.items(dict);
    for (size_t i = 1; i < members.size(); i += 2) {
        if (pickle.is(members[i], PickleKind::call))
            return true;
    }
    return false;
}

// What is read beside the tensors: settings and a vocabulary.
constexpr const char* kReadKeys[] = {"model_args", "config", "hparams", "args", "stoi", "itos"};

// The names of a dictionary's other dictionaries: an optimizer's state, ...
std::string others(const Pickle& pickle, PickleValue dict, const char* taken) {
    std::string text;
    const std::vector<PickleValue>& members = pickle.items(dict);
    for (size_t i = 0; i + 1 < members.size() && text.size() < 200; i += 2) {
        bool is_large =
            pickle.is(members[i + 1], PickleKind::dict) && pickle.is(members[i], PickleKind::text);
        std::string key = is_large ? pickle.text(members[i]) : taken;
        if (key == taken ||
            std::find(std::begin(kReadKeys), std::end(kReadKeys), key) != std::end(kReadKeys))
            continue;
        text += (text.empty() ? "" : ", ") + shown(key);
    }
    return text;
}

}  // namespace

Status read_torch_tensor(const Pickle& pickle, PickleValue value, TorchTensor* tensor) {
    if (is_call(pickle, value, "torch._utils _rebuild_parameter")) {
        const std::vector<PickleValue>& arguments = pickle.items(pickle.inner(value));
        if (arguments.empty())
            return no_tensor(pickle, value);
        value = arguments[0];
    }
    if (!is_call(pickle, value, "torch._utils _rebuild_tensor_v2") &&
        !is_call(pickle, value, "torch._utils _rebuild_tensor"))
        return no_tensor(pickle, value);
    const std::vector<PickleValue>& arguments = pickle.items(pickle.inner(value));
    if (arguments.size() < 4)
        return Status::error(Code::bad_file, "a tensor of %zu arguments", arguments.size());
    MINIGPT_TRY(read_storage_name(pickle, arguments[0], &tensor->storage));
    std::optional<int64_t> offset = pickle.integer(arguments[1]);
    if (!offset || *offset < 0)
        return Status::error(Code::bad_file, "its offset is no size");
    tensor->offset = static_cast<uint64_t>(*offset);
    MINIGPT_TRY(read_sizes(pickle, arguments[2], &tensor->shape));
    MINIGPT_TRY(read_sizes(pickle, arguments[3], &tensor->strides));
    if (tensor->shape.size() != tensor->strides.size()) {
        return Status::error(Code::bad_file, "shape %s, but strides %s",
                             shape_text(tensor->shape).c_str(),
                             shape_text(tensor->strides).c_str());
    }
    return check_bounds(tensor);
}

Status find_state_dict(const Pickle& pickle, PickleValue root, PickleValue* dict,
                       std::vector<std::string>* notes) {
    *dict = root;
    for (int depth = 0; depth < kMaxDepth; depth++) {
        if (!pickle.is(*dict, PickleKind::dict)) {
            return Status::error(Code::bad_file, "holds %s; expected a dictionary of tensors",
                                 pickle.kind_name(*dict));
        }
        const char* key = nullptr;
        std::optional<PickleValue> inner;
        for (const char* known : kModelKeys) {
            std::optional<PickleValue> member = pickle.find(*dict, known);
            if (!member || !pickle.is(*member, PickleKind::dict))
                continue;
            if (inner) {
                return Status::error(Code::bad_file, "holds two models, under \"%s\" and \"%s\"",
                                     key, known);
            }
            key = known;
            inner = member;
        }
        if (!inner) {
            if (holds_tensors(pickle, *dict))
                return Status();
            break;
        }
        std::string aside = others(pickle, *dict, key);
        if (!aside.empty())
            notes->push_back("taken is \"" + std::string(key) + "\"; left aside: " + aside);
        *dict = *inner;
    }
    return Status::error(Code::bad_file,
                         "no tensors by name in it; looked for them at the top and under model, "
                         "model_state_dict and state_dict");
}

Status read_state_dict(const Pickle& pickle, PickleValue dict, std::vector<TorchTensor>* tensors) {
    const std::vector<PickleValue>& members = pickle.items(dict);
    std::set<std::string> names;
    if (members.size() / 2 > kMaxTensors) {
        return Status::error(Code::bad_file, "%zu tensors; expected at most %zu",
                             members.size() / 2, kMaxTensors);
    }
    for (size_t i = 0; i + 1 < members.size(); i += 2) {
        if (!pickle.is(members[i], PickleKind::text)) {
            return Status::error(Code::bad_file, "a tensor's name is %s",
                                 pickle.kind_name(members[i]));
        }
        TorchTensor tensor;
        tensor.name = pickle.text(members[i]);
        if (!names.insert(tensor.name).second)
            return Status::error(Code::bad_file, "%s is there twice", shown(tensor.name).c_str());
        MINIGPT_TRY(within(shown(tensor.name), read_torch_tensor(pickle, members[i + 1], &tensor)));
        tensors->push_back(std::move(tensor));
    }
    return Status();
}

}  // namespace minigpt::convert
