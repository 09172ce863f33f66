// What a PyTorch checkpoint may not get away with.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "tests/quick.h"
#include "tests/tools/convert/formats/torch_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

convert::Options heads() {
    convert::Options options;
    options.n_head = 2;
    options.activation = Activation::gelu_tanh;
    return options;
}

void check_refused(const std::string& file, const std::vector<std::string>& words) {
    // Some are of 100,000 values.
    check_few_allocations(200000, [&] { check_torch_refused(file, words, heads()); });
}

std::string repeated(const std::string& text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; i++)
        all += text;
    return all;
}

// The model with one tensor spelled otherwise.
std::string with_tensor(const std::string& name, const std::string& ops, bool legacy = false) {
    TorchModel torch = torch_model(small_model(), false, "", legacy);
    torch.tensor(name) = ops;
    return torch.file(torch.state_dict());
}

}  // namespace

TEST_CASE("convert torch: a file cut anywhere is refused") {
    for (bool legacy : {false, true}) {
        TorchModel torch = torch_model(small_model(), false, "", legacy);
        std::string file = torch.file(torch.state_dict());
        TempFolder folder, out;
        convert::Options options = heads();
        options.source = folder / "model.pt";
        options.output = out / "m.mgpt";
        size_t step = 1;
        for (size_t n = 0; n < file.size(); n += step) {
            write_file(options.source, file.substr(0, n));
            CAPTURE(n);
            CHECK(!convert_with(options).status.ok());
            step = n < 200 || n + 300 > file.size() ? 1 : 37;
        }
        CHECK(std::filesystem::is_empty(out.path()));
    }
}

TEST_CASE("convert torch: a file with any byte changed is refused or of the same shape") {
    for (bool legacy : {false, true}) {
        TorchModel torch = torch_model(small_model(), false, "", legacy);
        std::string file = torch.file(torch.state_dict());
        TempFolder folder, out;
        convert::Options options = heads();
        options.source = folder / "model.pt";
        options.output = out / "m.mgpt";
        for (size_t at = 0; at < file.size(); at += if_quick(211, 11)) {
            std::string spoilt = file;
            spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << at % 8));
            write_file(options.source, spoilt);
            Status status = convert_with(options).status;
            CHECK(std::string(status.message()).find('\n') == std::string::npos);
        }
    }
}

TEST_CASE("convert torch: whatever names another global is refused by that name") {
    using namespace pickle;
    std::string evil = call(named("posix", "system"), tuple({text("touch /tmp/x")}));
    for (bool legacy : {false, true}) {
        TorchModel torch = torch_model(small_model(), false, "", legacy);
        for (const std::string& object :
             {evil, dict({{"model", torch.state_dict()}, {"extra", evil}}), dict({{"model", evil}}),
              torch.state_dict() + call(named("os", "posix.system"), tuple({})) + "b",
              call(named("torch.jit._pickle", "build_intlist"), tuple({})),
              call(named("torch.storage", "_load_from_bytes"), tuple({text("x")}))}) {
            check_refused(torch.file(object), {" names ", "refused"});
        }
    }
    check_refused(whole(evil), {"posix.system"});  // no container at all
}

TEST_CASE("convert torch: objects that hold no tensors by name end in a line") {
    using namespace pickle;
    TorchModel torch = torch_model(small_model(), false);
    std::string nested = repeated("]", 100000) + repeated("a", 99999);
    std::string dicts;
    for (int i = 0; i < 100000; i++)
        dicts += "}" + text("model");
    dicts += "}" + repeated("s", 100000);
    check_refused(torch.file(nested), {"a list"});
    check_refused(torch.file(dicts), {"no tensors by name"});
    check_refused(torch.file("N" + repeated("\x85", 100000)), {"a tuple"});
    check_refused(torch.file(integer(7)), {"an integer"});
    check_refused(torch.file(dict({})), {"no tensors by name"});
    // It holds itself, in the model's place and as a tensor, as its shape, as its own name.
    check_refused(torch.file("}q\1" + text("model") + "h\1s"), {"no tensors by name"});
    check_refused(torch.file(dict({{"wte.weight", "]q\1h\1a"}, {"x", torch.tensor("ln_f.bias")}})),
                  {"wte.weight", "a list"});
    check_refused(torch.file("}q\1" + text("a") + torch.tensor("ln_f.bias") + "sh\1h\1s"),
                  {"name is a dict"});
    check_refused(torch.file(dict({{"a", named("torch._utils", "_rebuild_parameter") + ")R"}})),
                  {"expected a tensor"});
    check_refused(
        torch.file(dict({{"model", torch.state_dict()}, {"state_dict", torch.state_dict()}})),
        {"two models", "model", "state_dict"});
    auto twice = torch.tensors;
    twice.push_back(twice[3]);
    check_refused(torch.file(ordered_dict(twice)), {"h.0.ln_1.bias is there twice"});
    twice.back() = {"step", integer(3)};
    check_refused(torch.file(ordered_dict(twice)), {"step", "an integer"});
    twice.back() = {"transformer.wte.weight", twice[0].second};
    check_refused(torch.file(ordered_dict(twice)), {"transformer.wte.weight", "same tensor"});
}

TEST_CASE("convert torch: tensors that reach outside their storage are refused") {
    using namespace pickle;
    constexpr uint64_t kHuge = INT64_MAX;
    const std::string own = storage("FloatStorage", "27", 8);  // ln_f.bias
    const std::string name = "ln_f.bias";
    auto bad = [&](const std::string& ops, const std::vector<std::string>& words) {
        check_refused(with_tensor(name, ops), words);
    };
    check_torch(with_tensor(name, tensor(own, 0, {8}, {1})), small_model().tensors, heads());
    bad(tensor(own, 1, {8}, {1}), {name, "outside its storage of 8"});
    bad(tensor(own, 0, {9}, {1}), {name, "outside"});
    bad(tensor(own, 0, {8}, {2}), {name, "outside"});
    bad(tensor(own, 9, {8}, {0}), {name, "outside"});
    bad(tensor(own, kHuge, {8}, {1}), {name, "outside"});
    bad(tensor(own, 0, {8}, {kHuge}), {name, "outside"});
    bad(tensor(own, 0, {kHuge, 4}, {0, 0}), {name, "outside"});
    bad(tensor(own, 0, {kHuge, 2}, {kHuge, 1}), {name, "outside"});
    bad(tensor(own, 0, {2, 2, 2, 2}, {kHuge, kHuge, kHuge, kHuge}), {name, "outside"});
    bad(tensor(own, 0, {kHuge, 0}, {kHuge, 1}), {name, "[9223372036854775807, 0]"});
    bad(tensor(own, 0, {kHuge}, {0}), {name, "[9223372036854775807]", "expected [8]"});
    bad(tensor(own, 0, {8}, {1, 1}), {name, "strides"});
    bad(tensor(own, 0, std::vector<uint64_t>(9, 1), std::vector<uint64_t>(9, 1)), {name, "9 dim"});
    bad(tensor(own, 0, {}, {}), {name, "shape is []"});
    bad(tensor(storage("FloatStorage", "27", 9), 0, {8}, {1}), {"27", "32 bytes", "9 F32"});
    bad(tensor(storage("FloatStorage", "27", kHuge), 0, {8}, {1}), {"27", "32 bytes"});
    bad(tensor(storage("DoubleStorage", "27", 8), 0, {8}, {1}), {"27", "32 bytes", "8 F64"});
    bad(tensor(storage("LongStorage", "27", 4), 0, {4}, {1}), {name});
    bad(tensor(storage("FloatStorage", "99", 8), 0, {8}, {1}), {"storage 99 is missing"});
    bad(tensor(storage("ComplexFloatStorage", "27", 8), 0, {8}, {1}), {"ComplexFloatStorage"});
    bad(tensor(storage("float32", "27", 8), 0, {8}, {1}), {"not of PyTorch's form"});
    bad(tensor(none() + "Q", 0, {8}, {1}), {"not of PyTorch's form"});
    bad(tensor(none(), 0, {8}, {1}), {"not of PyTorch's form"});
    bad(tensor(tuple({text("storage")}) + "Q", 0, {8}, {1}), {"not of PyTorch's form"});
    bad(call(named("torch._utils", "_rebuild_tensor_v2"), tuple({own, integer(0)})),
        {name, "2 arg"});
    bad(call(named("torch._utils", "_rebuild_tensor_v2"),
             tuple({own, integer(-1), sizes({8}), sizes({1})})),
        {name, "offset"});
    bad(call(named("torch._utils", "_rebuild_tensor_v2"),
             tuple({own, integer(0), tuple({integer(-8)}), sizes({1})})),
        {name, "no sizes"});
    bad(call(named("torch._utils", "_rebuild_tensor_v2"),
             tuple({own, integer(0), none(), sizes({1})})),
        {name, "None"});
    bad(call(named("collections", "OrderedDict"), ")"), {name, "a dict"});
}

TEST_CASE("convert torch: legacy files that lie about their storages are refused") {
    using namespace pickle;
    TorchModel torch = torch_model(small_model(), false, "", true);
    std::string file = torch.file(torch.state_dict());
    std::string last = torch.storages.back().data;
    size_t at = file.size() - last.size() - 8;  // the last storage's count
    for (uint64_t n : {uint64_t{0}, uint64_t{7}, uint64_t{9}, uint64_t{1} << 61, uint64_t{1} << 62,
                       UINT64_MAX, uint64_t{INT64_MAX}}) {
        std::string spoilt = file;
        memcpy(&spoilt[at], &n, 8);
        check_refused(spoilt, {"storage"});
    }
    std::string key = text("27");
    std::string again = file;
    again.replace(again.rfind(key), key.size(), text("26"));
    check_refused(again, {"storage 26 is there twice"});
    again = file;
    again.replace(again.rfind(key), key.size(), text("99"));
    check_refused(again, {"storage 99", "nothing uses it"});
    // One storage, of numbers of two sizes.
    check_refused(
        with_tensor("ln_f.bias", tensor(storage("HalfStorage", "26", 8, "cpu", true), 0, {8}, {1}),
                    true),
        {"storage 26 is both"});
    // Views of a storage, as PyTorch 0.3 wrote them.
    auto view = [&](int64_t first, int64_t n) {
        return tuple({text("storage"), named("torch", "FloatStorage"), text("27"), text("cpu"),
                      integer(8), tuple({text("v"), integer(first), integer(n)})}) +
               "Q";
    };
    check_torch(with_tensor("ln_f.bias", tensor(view(0, 8), 0, {8}, {1}), true),
                small_model().tensors, heads());
    SavedTensor half = small_model().tensor("ln_f.bias");
    TorchModel longer = torch_model(small_model(), false, "", true);
    longer.storages.back().data = std::string(20, 'x') + half.data;
    std::string piece = view(5, 8);
    piece.replace(piece.find(integer(8)), 2, integer(13));  // the whole storage's count
    longer.tensor("ln_f.bias") = tensor(piece, 0, {8}, {1});
    check_torch(longer.file(longer.state_dict()), small_model().tensors, heads());
    check_refused(with_tensor("ln_f.bias", tensor(view(1, 7), 0, {8}, {1}), true), {"outside"});
    check_refused(with_tensor("ln_f.bias", tensor(view(1, 8), 0, {8}, {1}), true), {"form"});
    check_refused(with_tensor("ln_f.bias", tensor(view(-1, 8), 0, {8}, {1}), true), {"form"});
    std::string other = file;
    other[12] ^= 1;
    check_refused(other, {"magic number"});
    check_refused(whole(integer(1)) + file, {"magic number"});
    other = file;
    other[other.find(whole(integer(1001))) + 3] ^= 1;
    check_refused(other, {"protocol version"});
    std::string endian = file;
    size_t flag = endian.find("little_endian") + 13;
    endian[flag] = '\x89';
    check_refused(endian, {"big-endian"});
}

TEST_CASE("convert torch: archives that are damaged, packed or of two minds are refused") {
    TorchModel torch = torch_model(small_model(), false);
    std::string file = torch.file(torch.state_dict());
    std::string damaged = file;
    size_t at = damaged.find(torch.storages[3].data);
    damaged[at] ^= 1;
    check_refused(damaged, {"checksum of storage 3"});
    damaged = file;
    damaged[damaged.find("h.1.ln_1.weight")] = 'x';
    check_refused(damaged, {"data.pkl", "checksum"});
    check_refused(torch_zip(torch.state_dict(), torch.storages, {"", "", 8}),
                  {"packed by method 8"});
    std::string pickled = pickle::whole(torch.state_dict());
    check_refused(zip_archive({{"a/data.pkl", pickled}, {"b/data.pkl", pickled}}),
                  {"2 entries data.pkl"});
    check_refused(zip_archive({{"a/data.pkl", pickled}, {"a/byteorder", "big"}}), {"big-endian"});
    check_refused(zip_archive({{"a/data.pkl", pickled}}), {"storage 0 is missing"});
    check_refused(zip_archive({{"a/data.pkl", pickled}, {"b/data/0", torch.storages[0].data}}),
                  {"storage 0 is missing"});
    check_refused(zip_archive({{"a/data.pkl", ""}}), {"data.pkl", "cut"});
    // A view of a part only: the rest of its storage is checked, too.
    SavedTensor bias = small_model().tensor("ln_f.bias");
    TorchModel part = torch_model(small_model(), false);
    part.storages.push_back({"FloatStorage", bias.data + std::string(4000000, 'z')});
    std::string key = std::to_string(part.storages.size() - 1);
    part.tensor("ln_f.bias") =
        pickle::tensor(pickle::storage("FloatStorage", key, 1000008), 0, {8}, {1});
    std::string long_file = part.file(part.state_dict());
    check_torch(long_file, small_model().tensors, heads());
    long_file[long_file.find("zzzz") + 3999000] = 'y';
    check_refused(long_file, {"ln_f.bias", "checksum"});
}
