// TensorFlow checkpoints give the bits of the model that they were made from, or one line.
#include "convert/formats/tensorflow.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "tests/tools/convert/formats/tensorflow_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

namespace fs = std::filesystem;

convert::Report check_source(const std::string& source, const HfModel& expected) {
    TempFolder out;
    Converted done = convert_to(source, out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    Model model;
    REQUIRE(model.open((out / "m.mgpt").c_str()).ok());
    check_same_bits(model, expected.tensors);
    CHECK(done.report.source_format == "TensorFlow");
    CHECK(done.report.plan.config.activation == Activation::gelu_tanh);
    CHECK(done.report.plan.config.tied);
    return done.report;
}

convert::Report check_tf(const TfModel& model, const HfModel& expected) {
    TempFolder folder;
    model.write(folder.path());
    return check_source(folder.path(), expected);
}

void check_tf_refused(const TfModel& model, const std::vector<std::string>& words) {
    TempFolder folder;
    model.write(folder.path());
    check_refused_folder(folder.path(), words);
}

std::string shard_name(int i, int n) {
    return "model.ckpt.data-0000" + std::to_string(i) + "-of-0000" + std::to_string(n);
}

}  // namespace

TEST_CASE("convert tensorflow: every type, any shards and blocks, packed or not, to the bit") {
    for (const char* dtype : {"F32", "F16", "BF16"}) {
        HfModel model = small_model(dtype);
        for (uint64_t n_shards : {1, 2, 5}) {
            for (TableOptions options : {TableOptions{1000, 16, 0}, TableOptions{1000, 16, 1},
                                         TableOptions{3, 2, 1}, TableOptions{1, 1, 0}}) {
                TfModel tf = tf_model(model, n_shards);
                tf.options = options;
                convert::Report report = check_tf(tf, model);
                CHECK(name_of(report.type) == std::string(dtype[0] == 'B'   ? "bf16"
                                                          : dtype[1] == '3' ? "f32"
                                                                            : "f16"));
                CHECK(report.notes.empty());
            }
        }
    }
}

TEST_CASE("convert tensorflow: the same file as from safetensors, but for its provenance") {
    HfModel model = small_model();
    TempFolder hf, tf, out;
    model.write(hf.path());
    tf_model(model, 3).write(tf.path());
    REQUIRE(convert_to(hf.path(), out / "a.mgpt").status.ok());
    REQUIRE(convert_to(tf.path(), out / "b.mgpt").status.ok());
    Model a, b;
    REQUIRE(a.open((out / "a.mgpt").c_str()).ok());
    REQUIRE(b.open((out / "b.mgpt").c_str()).ok());
    REQUIRE(a.n_tensors() == b.n_tensors());
    for (size_t i = 0; i < a.n_tensors(); i++) {
        TensorInfo x = a.tensor(i), y = b.tensor(i);
        REQUIRE(x.bytes == y.bytes);
        CHECK(memcmp(x.data, y.data, x.bytes) == 0);
    }
}

TEST_CASE("convert tensorflow: a folder, its index file, or the prefix; the latest of several") {
    HfModel old_model = small_model("F32"), new_model = small_model("BF16");
    TempFolder folder;
    tf_model(new_model, 2).write(folder.path(), "model-20");
    check_source(folder.path(), new_model);
    tf_model(old_model).write(folder.path(), "model-9");
    check_source(folder / "model-9", old_model);
    check_source(folder / "model-9.index", old_model);
    check_source(folder / "model-20", new_model);
    check_refused_folder(folder.path(), {"2 checkpoints", "model-20.index", "model-9.index"});

    for (const char* prefix : {"model-20", "/home/trainer/run1/model-20"}) {
        std::string all = "all_model_checkpoint_paths: \"model-9\"\n";
        std::string latest = "model_checkpoint_path: \"" + std::string(prefix) + "\"\n";
        write_file(folder / "checkpoint", latest + all);
        check_source(folder.path(), new_model);
        write_file(folder / "checkpoint", all + latest);
        check_source(folder.path(), new_model);
    }
    write_file(folder / "checkpoint", "model_checkpoint_path: \"model-30\"\n");
    check_refused_folder(folder.path(), {"2 checkpoints"});
    write_file(folder / "checkpoint", "all_model_checkpoint_paths: \"model-9\"\n");
    check_refused_folder(folder.path(), {"checkpoint: model_checkpoint_path is missing"});
    fs::remove(folder / "model-9.index");
    check_source(folder.path(), new_model);
    check_refused_folder(folder / "model-30", {"no such file"});
}

TEST_CASE("convert tensorflow: what a trainer keeps is left aside, and said") {
    HfModel model = small_model();
    TfModel tf = tf_model(model, 2);
    std::vector<TfModel::Tensor> weights = tf.tensors;
    for (TfModel::Tensor t : weights) {
        for (const char* slot : {"/Adam", "/Adam_1"}) {
            t.saved.name += slot;
            t.saved.data = random_numbers("F32", t.saved.data.size() / 4, 9);
            tf.tensors.push_back(t);
            t.saved.name.erase(t.saved.name.rfind('/'));
        }
    }
    tf.tensors.push_back({{"global_step", "9", {}, std::string(8, '\1')}, 1, ""});
    tf.tensors.push_back({{"beta1_power", "F32", {}, std::string(4, '\1')}, 0, ""});
    // A partitioned variable's slices have keys of their own.
    tf.tensors.push_back({{"x/Adam", "F32", {2}, std::string(8, '\1')}, 0, proto::bytes(7, "")});
    tf.extra.emplace_back(std::string("\0\0x/Adam", 8), "");
    convert::Report report = check_tf(tf, model);
    REQUIRE(report.notes.size() == 1);
    CHECK(report.notes[0].find("59 tensors are the trainer's") == 0);
    CHECK(report.plan.tensors.size() == 28);

    tf.tensors.pop_back();
    check_tf_refused(tf, {"slices that belong to no tensor"});
    tf = tf_model(model);
    tf.tensor("model/h0/mlp/c_fc/w").more = proto::bytes(7, "");
    check_tf_refused(tf, {"model/h0/mlp/c_fc/w", "slices"});
}

TEST_CASE("convert tensorflow: tensors that are missing, left over or of another shape or type") {
    HfModel model = small_model();
    TfModel tf = tf_model(model);
    tf.tensors.push_back({{"model/h2/ln_1/g", "F32", {8}, random_numbers("F32", 8, 1)}, 0, ""});
    check_tf_refused(tf, {"model/h2/ln_1/g", "left over", "2 layers"});
    for (const char* name : {"model/wte2", "generator/h0/ln_1/g", "model/h0/ln_1/gg", "model/"}) {
        tf.tensors.back().saved.name = name;
        check_tf_refused(tf, {name, "left over"});
    }
    for (const TfModel::Tensor& t : tf_model(model).tensors) {
        CAPTURE(t.saved.name);
        TfModel spoilt = tf_model(model);
        TfModel::Tensor& s = spoilt.tensor(t.saved.name);
        s.saved.dtype = "2";  // DT_DOUBLE
        check_tf_refused(spoilt, {t.saved.name, "type is DT_DOUBLE"});
        s.saved.dtype = "99";
        check_tf_refused(spoilt, {t.saved.name, "type is dtype 99"});
        s = t;
        s.saved.shape.insert(s.saved.shape.begin(), 2);
        s.saved.data += s.saved.data;
        check_tf_refused(spoilt, {t.saved.name, "shape is"});
        s = t;
        s.saved.name = "other";
        check_tf_refused(spoilt, {"is missing"});
    }
    // A square matrix passes for its own transpose: nothing but the dialect tells.
    CHECK(tf.tensor("model/h0/attn/c_proj/w").saved.shape == std::vector<uint64_t>{1, 8, 8});
}

TEST_CASE("convert tensorflow: shapes, places and checksums that lie are refused by name") {
    HfModel model = small_model();
    const std::string name = "model/h1/attn/c_attn/w";
    auto dims = [](const std::vector<uint64_t>& sizes) {
        std::string shape;
        for (uint64_t n : sizes)
            shape += proto::bytes(2, proto::number(1, n));
        return proto::bytes(2, shape);
    };
    using proto::number;
    uint64_t large = uint64_t{1} << 62;
    // Fields that come again count; dimensions are added to those before.
    const std::pair<std::string, std::string> cases[] = {
        {number(1, UINT64_MAX), "dtype is -1"},
        {dims({UINT64_MAX}), "a dimension is -1"},
        {dims({large, large}), "multiplies past 2^64"},
        {dims({0, large}), "has 0"},
        {dims({5}), "bytes of data"},
        {dims(std::vector<uint64_t>(14, 1)), "over 16 dimensions"},
        {proto::bytes(2, number(3, 1)), "unknown rank"},
        {number(3, 1), "shard_id is 1, of 1 shard"},
        {number(3, large), "shard_id is"},
        {number(3, UINT64_MAX), "shard_id is -1"},
        {number(4, UINT64_MAX), "offset is -1"},
        {number(4, large), "bytes at byte 4611686018427387904"},
        {number(4, INT64_MAX) + number(5, INT64_MAX), "bytes at byte 9223372036854775807"},
        {number(4, 0), "overlap"},
        {number(5, UINT64_MAX), "size is -1"},
        {number(5, large), "4611686018427387904 bytes at byte"},
        {number(5, 767), "767 bytes of data"},
        {proto::fixed32(6, 0), "checksum is 00000000"},
        {std::string(11, '\xff'), "no protobuf message"},
        {number(0, 0), "no protobuf message"},
        {"\x0b", "no protobuf message"},  // a group
        {"\x12\x7f", "no protobuf message"},
        {std::string("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), "no protobuf message"},
        {"\x35xyz", "no protobuf message"},
        {"\x31", "no protobuf message"},
        {proto::bytes(2, "\x12\x05"), "no protobuf message"},
    };
    for (const auto& [more, word] : cases) {
        TfModel tf = tf_model(model);
        tf.tensor(name).more = more;
        check_tf_refused(tf, {name, word});
    }
    TfModel tf = tf_model(model);
    tf.tensor(name).more = number(30, 5) + proto::bytes(31, "later") + proto::fixed32(32, 1) +
                           varint(33 << 3 | 1) + std::string(8, 'x');
    check_tf(tf, model);  // fields of later versions are passed over
    for (const char* nan : {"\x00\x00\xc0\x7f", "\x00\x00\x80\x7f"}) {
        tf.tensor(name).saved.data.replace(4 * 25, 4, nan, 4);
        check_tf_refused(tf, {"h.1.attn.c_attn.weight", "[1, 1]"});
    }
}

TEST_CASE("convert tensorflow: headers that this does not read") {
    HfModel model = small_model();
    using proto::number;
    std::string version = proto::bytes(3, number(1, 1));
    const std::pair<std::string, std::string> cases[] = {
        {number(1, 1) + number(2, 1) + version, "not little-endian"},
        {number(1, 1) + proto::bytes(3, number(1, 9) + number(2, 9)), "version 9"},
        {version, "num_shards is 0"},
        {number(1, 100000) + version, "num_shards is 100000"},
        {number(1, UINT64_MAX) + version, "num_shards is -1"},
        {number(1, 2) + version, shard_name(0, 2)},
        {number(1, 99999) + version, "model.ckpt.data-00000-of-99999"},
        {proto::bytes(1, "a") + version, "first format"},
        {"\xff", "no protobuf message"},
    };
    for (const auto& [header, word] : cases) {
        TfModel tf = tf_model(model);
        tf.header = header;
        check_tf_refused(tf, {"model.ckpt.index", word});
    }
    TempFolder folder;
    tf_model(model).write(folder.path());
    write_file(folder / "model.ckpt.index", table({{"model/wte", ""}}));
    check_refused_folder(folder.path(), {"model.ckpt.index", "the header", "is missing"});
    write_file(folder / "model.ckpt.index", table({}));
    check_refused_folder(folder.path(), {"model.ckpt.index", "the table is empty"});
    write_file(folder / "model.ckpt.index", "");
    check_refused_folder(folder.path(), {"model.ckpt.index", "no table"});
}

TEST_CASE("convert tensorflow: files that are missing, short, changed or said wrongly") {
    HfModel model = small_model();
    for (int i = 0; i < 3; i++) {
        TempFolder folder;
        tf_model(model, 3).write(folder.path());
        std::string path = folder / shard_name(i, 3), shard = read_file(path);
        write_file(path, shard.substr(0, shard.size() - 1));
        check_refused_folder(folder.path(), {shard_name(i, 3), "bytes at byte"});
        write_file(path, "");
        check_refused_folder(folder.path(), {shard_name(i, 3)});
        for (size_t at = 0; at < shard.size(); at += 97) {
            std::string changed = shard;
            changed[at] = static_cast<char>(changed[at] ^ 1);
            write_file(path, changed);
            check_refused_folder(folder.path(), {shard_name(i, 3), "model/", "checksum is"});
        }
        fs::remove(path);
        check_refused_folder(folder.path(), {shard_name(i, 3), "is missing"});
        fs::create_directory(path);
        check_refused_folder(folder.path(), {shard_name(i, 3), "not a regular file"});
    }
    const std::pair<const char*, const char*> fields[] = {
        {"n_vocab", "19"}, {"n_ctx", "7"},          {"n_embd", "16"},         {"n_layer", "3"},
        {"n_head", "3"},   {"n_layer", "0"},        {"n_embd", "4294967296"}, {"n_ctx", "-1"},
        {"n_ctx", "1e9"},  {"n_vocab", "\"many\""}, {"n_vocab", "null"},      {"n_head", "\xff"},
    };
    for (const auto& [field, value] : fields) {
        TfModel tf = tf_model(model);
        tf.fields[field] = value;
        check_tf_refused(tf, {});
        tf.fields.erase(field);
        check_tf_refused(tf, {"hparams.json", field, "is missing"});
    }
    TempFolder folder;
    tf_model(model).write(folder.path());
    fs::remove(folder / "hparams.json");
    check_refused_folder(folder.path(), {"hparams.json is missing beside model.ckpt.index"});
    TfModel tf = tf_model(model);
    tf.fields["unknown"] = "[{}]";
    check_tf(tf, model);
    fs::rename(folder / "model.ckpt.index", folder / "model.ckpt");
    check_refused_folder(folder / "model.ckpt", {"does not end in .index"});
}

TEST_CASE("convert tensorflow: an index that is cut or changed anywhere is refused") {
    TempFolder folder;
    HfModel model = small_model();
    TfModel tf = tf_model(model);
    tf.options = {7, 4, 1};
    tf.write(folder.path());
    std::string path = folder / "model.ckpt.index", index = read_file(path);
    for (size_t n = 0; n < index.size(); n++) {
        CAPTURE(n);
        write_file(path, index.substr(0, n));
        check_refused_folder(folder.path(), {"model.ckpt.index: "});
        if (n > index.size() - 48)
            continue;
        std::string changed = index;
        changed[n] = static_cast<char>(changed[n] ^ 4);
        write_file(path, changed);
        check_refused_folder(folder.path(), {"model.ckpt.index: "});
    }
}

TEST_CASE("convert tensorflow: OpenAI's files as others made them") {
    std::string folder = "tests/data/checkpoints/openai-tf";
    TempFolder out;
    Ran ran = run_program("convert", {folder, "-o", out / "m.mgpt"});
    CAPTURE(ran.err);
    REQUIRE(ran.exit_status == 0);
    CHECK(ran.out.find("28 taken, left over: 0") != std::string::npos);
    CHECK(ran.out.find("43,392") != std::string::npos);
    CHECK(ran.out.find("512 tokens") != std::string::npos);
    CHECK(ran.out.find("encoder.json, vocab.bpe") != std::string::npos);
    CHECK(run_program("convert", {folder + "/model.ckpt", "-o", out / "p.mgpt"}).exit_status == 0);
}
