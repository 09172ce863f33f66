// NumPy archives give the bits that Hugging Face's files give.
#include "convert/formats/npz.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

#include "tests/tools/convert/formats/npz_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// The files beside the weights.
std::map<std::string, std::string> beside(const HfModel& model) {
    TempFolder folder;
    model.write(folder.path());
    std::map<std::string, std::string> files = model.files;
    files["config.json"] = read_file(folder / "config.json");
    return files;
}

convert::Options heads() {
    convert::Options options;
    options.n_head = 2;
    options.activation = Activation::gelu_tanh;
    return options;
}

// The model in an archive, with another member in place of one tensor.
std::string with_member(const std::string& name, const ZipMember& member) {
    std::vector<ZipMember> members;
    for (const SavedTensor& t : small_model().tensors)
        members.push_back(t.name == name ? member : npz_member(t.name, npy_of(t)));
    return zip_archive(members);
}

void check_npz_refused(const ZipMember& member, const std::vector<std::string>& words) {
    check_torch_refused(with_member("wpe.weight", member), words, heads());
}

// wpe.weight, [6, 8], under another header.
void check_header_refused(const std::string& header, const std::vector<std::string>& words) {
    check_npz_refused(npz_member("wpe.weight", npy(header, std::string(6 * 8 * 4, '\0'))), words);
}

}  // namespace

TEST_CASE("convert npz: stored or deflated, in either order, in f32 or f16: the same file") {
    for (int kind : {-1, 0, 1, 2, 3}) {
        for (bool fortran : {false, true}) {
            for (const char* dtype : {"F32", "F16"}) {
                CAPTURE(kind);
                HfModel model = text_model(dtype);
                convert::Report report =
                    check_as_hf(npz_of(model, kind, fortran), model, beside(model));
                CHECK(report.source_format == "NumPy");
            }
        }
    }
    HfModel model = text_model("F32", false);
    for (SavedTensor& t : model.tensors)
        t.name = t.name == "lm_head.weight" ? t.name : "transformer." + t.name;
    check_as_hf(npz_of(model), model, beside(model));
}

TEST_CASE("convert npz: f64 is rounded to f32") {
    HfModel model = small_model();
    std::vector<ZipMember> members;
    for (const SavedTensor& t : model.tensors) {
        std::string wide;
        for (size_t at = 0; at < t.data.size(); at += 4) {
            float x;
            memcpy(&x, &t.data[at], 4);
            double y = static_cast<double>(x) * (1 + 1e-9);
            wide.append(reinterpret_cast<const char*>(&y), 8);
        }
        members.push_back(npz_member(t.name, npy(npy_header("<f8", t.shape), wide), 2));
    }
    check_torch(zip_archive(members), model.tensors, heads());
}

TEST_CASE("convert npz: without config.json, what the arrays do not show is asked for") {
    HfModel model = small_model();
    convert::Report report = check_torch(npz_of(model), model.tensors, heads());
    CHECK(report.plan.config.tied);
    CHECK(report.plan.config.n_layer == 2);
    CHECK(report.plan.config.n_ff == 32);
    convert::Options options;
    check_torch_refused(npz_of(model), {"--n-head"}, options);
    options.n_head = 2;
    check_torch_refused(npz_of(model), {"--activation"}, options);
    // Linear's matrices are told by c_attn's shape.
    for (SavedTensor& t : model.tensors) {
        if (t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0)
            t = transposed(t);
    }
    check_torch(npz_of(model), small_model().tensors, heads());
}

TEST_CASE("convert npz: headers of every grammar but NumPy's are refused") {
    std::string good = npy_header("<f4", {6, 8});
    check_torch(
        with_member("wpe.weight",
                    npz_member("wpe.weight", npy(good, small_model().tensor("wpe.weight").data))),
        small_model().tensors, heads());
    for (const char* same : {"{\"descr\": \"<f4\", 'fortran_order': False, 'shape': (6, 8)}",
                             "{'shape':(6L,8L),'fortran_order':False,'descr':'<f4',}"}) {
        convert::NpyHeader header;
        CHECK(convert::parse_npy_header(same, &header).ok());
        CHECK(header.shape == std::vector<uint64_t>{6, 8});
        CHECK(header.descr == "<f4");
    }
    for (const char* bad :
         {"",
          "{",
          "}",
          "{}",
          "[]",
          "{'descr': '<f4'}",
          "{'descr': '<f4', 'fortran_order': False}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 8)} x",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 8), 'more': 1}",
          "{'descr': '<f4', 'descr': '<f4', 'shape': (6, 8)}",
          "{'descr': '<f4' 'fortran_order': False, 'shape': (6, 8)}",
          "{'descr': '<f4', 'fortran_order': 0, 'shape': (6, 8)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': [6, 8]}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (6 8)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (6,, 8)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (48)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (-6, 8)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (06, 8)}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 8}",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 8)}",
          "{'descr': '<f4, 'fortran_order': False, 'shape': (6, 8)}",
          "{'descr': <f4, 'fortran_order': False, 'shape': (6, 8)}"}) {
        CAPTURE(bad);
        convert::NpyHeader header;
        CHECK(!convert::parse_npy_header(bad, &header).ok());
        check_header_refused(bad, {"wpe.weight"});
    }
    std::string deep =
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(60000, '(');
    check_header_refused(deep, {"dimension"});
}

TEST_CASE("convert npz: types that are not read are refused by name") {
    for (const char* descr : {">f4", ">f8", "<V2", "|V2", "|O", "<i4", "<f16", "<c8", "<U1", "f4",
                              "<f", "<f999999999999", "<x4", "bfloat16"}) {
        CAPTURE(descr);
        check_header_refused(npy_header(descr, {6, 8}), {"wpe.weight"});
    }
    check_header_refused(npy_header(">f4", {6, 8}), {"'>f4'", "big-endian"});
    check_header_refused(npy_header("|V4", {6, 8}), {"'|V4'", "bfloat16"});
    check_header_refused(npy_header("<i4", {6, 8}), {"<i4", "F32, F16 or BF16"});
    check_header_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6, 8)}",
                         {"structured"});
    check_npz_refused(npz_member("wpe.weight", npy(npy_header("<f4", {6, 8}), "", 4)),
                      {"version 4"});
    // Masks are no weights: any type will do.
    HfModel model = small_model();
    std::vector<ZipMember> members;
    for (const SavedTensor& t : model.tensors)
        members.push_back(npz_member(t.name, npy_of(t), 2));
    members.push_back(npz_member("h.0.attn.bias",
                                 npy(npy_header("|b1", {1, 1, 6, 6}), std::string(36, '\1')), 1));
    members.push_back(npz_member("h.0.attn.masked_bias", npy(npy_header("<f4", {}), "1234")));
    CHECK(check_torch(zip_archive(members), model.tensors, heads()).plan.n_ignored == 2);
    members.push_back({"README", "text"});
    check_torch_refused(zip_archive(members), {"README", "left over"}, heads());
}

TEST_CASE("convert npz: sizes that lie, damage and bombs are refused") {
    const SavedTensor wpe = small_model().tensor("wpe.weight");
    check_header_refused(npy_header("<f4", {6, 9}), {"192 bytes of data", "[6, 9]", "216"});
    check_header_refused(npy_header("<f4", {uint64_t{1} << 40, uint64_t{1} << 40}),
                         {"multiplies past 2^64"});
    check_header_refused(npy_header("<f4", {8, 6}), {"shape is [8, 6]"});
    ZipMember member = npz_member("wpe.weight", npy_of(wpe), 2);
    // Any changed byte is seen, by the checksum if by nothing else; the last has unused bits.
    for (size_t at = 0; at + 1 < member.data.size(); at++) {
        ZipMember bad = member;
        bad.data[at] ^= 0x10;
        check_npz_refused(bad, {"wpe.weight"});
    }
    ZipMember stored = npz_member("wpe.weight", npy_of(wpe));
    stored.data.back() ^= 1;
    check_npz_refused(stored, {"wpe.weight", "checksum"});
    for (int by : {-1, 1}) {
        ZipMember other = member;
        other.unpacked.resize(other.unpacked.size() + static_cast<size_t>(by));
        check_npz_refused(other, {"wpe.weight"});
    }
    ZipMember more = member;
    more.data += '\0';
    check_npz_refused(more, {"after its end"});
    ZipMember bomb = member;
    bomb.unpacked = npy(npy_header("<f4", {6 << 20, 8}), std::string(size_t{6} << 25, '\0'));
    bomb.data = deflate(std::string(1000, '\0'), 1);
    check_npz_refused(bomb, {"cannot be deflated"});
    member.method = 12;
    check_npz_refused(member, {"zip method 12"});
    check_npz_refused({"wpe.weight.npy", "too short"}, {"no .npy array"});
    check_npz_refused({"wpe.weight.npy", std::string(200, 'x')}, {"no .npy array"});
}

TEST_CASE("convert npz: a file cut anywhere is refused") {
    check_all_cut(npz_of(text_model(), 3));
}
