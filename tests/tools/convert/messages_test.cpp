// What an error says: what is wrong, what was found, and what to do next.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/tools/convert/formats/npz_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// The model with n_head and the activation given by options, as a .pt has neither.
convert::Report report_of(const std::string& file, const std::string& name) {
    TempFolder folder, out;
    write_file(folder / name, file);
    convert::Options options;
    options.source = folder / name;
    options.output = out / "m.mgpt";
    options.n_head = 2;
    options.activation = Activation::gelu_tanh;
    Converted done = convert_with(options);
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    return done.report;
}

void check_config(const std::string& members, const std::vector<std::string>& words) {
    HfModel model = small_model();
    model.files["config.json"] =
        "{\"vocab_size\":20,\"n_positions\":6,\"n_embd\":8,\"n_layer\":2," + members + "}";
    check_refused(model, words);
}

}  // namespace

TEST_CASE("convert messages: few bytes in the file are not quantized weights") {
    // One number, shown as a whole matrix by strides of 0.
    TorchModel torch = torch_model(small_model(), false);
    torch.storages.push_back({"FloatStorage", std::string(4, '\0')});
    std::string key = std::to_string(torch.storages.size() - 1);
    torch.tensor("h.0.mlp.c_fc.weight") =
        pickle::tensor(pickle::storage("FloatStorage", key, 1), 0, {8, 32}, {0, 0});
    CHECK(report_of(torch.file(torch.state_dict()), "model.bin").advice.empty());
    // Zeros, deflated.
    HfModel zeros = small_model();
    for (SavedTensor& t : zeros.tensors)
        t.data.assign(t.data.size(), '\0');
    CHECK(report_of(npz_of(zeros, 1), "model.npz").advice.empty());
    // And what is quantized says so.
    TempFolder folder, out;
    small_model().write(folder.path());
    for (ElementType type : {ElementType::q8, ElementType::q4, ElementType::f16}) {
        REQUIRE(convert_to(folder.path(), out / "q.mgpt", type).status.ok());
        convert::Report report = convert_to(out / "q.mgpt", out / "again.mgpt").report;
        bool says = report.advice.find("--type q8") != std::string::npos;
        CHECK(says == (type != ElementType::f16));
    }
}

TEST_CASE("convert messages: a size that stands twice in config.json is told from two names") {
    check_config("\"n_head\":2,\"n_head\":4", {"n_head: stands twice, as 2 and as 4"});
    check_config("\"n_head\":2,\"num_attention_heads\":2,\"n_head\":4",
                 {"n_head: stands twice, as 2 and as 4"});
    check_config("\"n_head\":2,\"n_head\":2", {"\"n_head\" stands twice"});
    check_config("\"n_head\":2,\"num_attention_heads\":4",
                 {"num_attention_heads: found 4", "by another name (n_head) is 2"});
    check_config("\"n_head\":2,\"max_position_embeddings\":7",
                 {"max_position_embeddings: found 7", "(n_positions) is 6"});
}

TEST_CASE("convert messages: a layer that is missing whole is said to be") {
    for (const char* layer : {"h.0.", "h.1."}) {
        HfModel model = small_model();
        std::vector<SavedTensor> kept;
        for (const SavedTensor& t : model.tensors) {
            if (t.name.compare(0, 4, layer) != 0)
                kept.push_back(t);
        }
        model.tensors = kept;
        check_refused(model, {"layer " + std::string(1, layer[2]) + " is missing, of 2"});
    }
    HfModel model = small_model();
    model.set("n_layer", "3");
    check_refused(model, {"layer 2 is missing, of 3", "n_layer"});
    model.tensors.push_back({"h.2.ln_1.weight", "F32", {8}, random_numbers("F32", 8, 1)});
    check_refused(model, {"h.2.ln_1.bias is missing, though other layers have theirs"});
}

TEST_CASE("convert messages: what lies beside a checkpoint points to the folder") {
    TempFolder folder;
    for (const char* name :
         {"model.ckpt.data-00000-of-00001", "model.ckpt.meta", "checkpoint", "hparams.json",
          "config.json", "vocab.json", "merges.txt", "tokenizer.json", "meta.pkl"}) {
        write_file(folder / name, "{}");
        CAPTURE(std::string(name));
        check_refused_folder(folder / name, {"lies beside one: give the folder"});
    }
}

TEST_CASE("convert messages: a format that is known and not read is named, with a way") {
    for (const auto& [name, words] : std::map<std::string, std::vector<std::string>>{
             {"tf_model.h5", {"Keras", "not read", "from_tf=True"}},
             {"flax_model.msgpack", {"Flax", "not read", "from_flax=True"}},
             {"model.onnx", {"ONNX", "not read"}}}) {
        TempFolder folder;
        write_file(folder / name, "\x89HDF\r\n\x1a\n");
        write_file(folder / "config.json", "{}");
        check_refused_folder(folder / name, words);
        std::vector<std::string> more = words;
        more.push_back(name + ": is ");
        check_refused_folder(folder.path(), more);
        // Beside what is read it is no hindrance.
        small_model().write(folder.path());
        TempFolder out;
        CHECK(convert_to(folder.path(), out / "m.mgpt").status.ok());
    }
}

TEST_CASE("convert messages: a file is named once") {
    TempFolder folder, out;
    const std::string cut[][2] = {{"y.gguf", "GGUF"},
                                  {"y.safetensors", "12345678{"},
                                  {"y.pt", "PK\3\4"},
                                  {"y.npz", std::string("PK\3\4")},
                                  {"y.ggml", "lmgg"},
                                  {"y.bin", "\xc6\xd7\x34\x01"},
                                  {"y.mgpt", "\x89MGPT\r\n\x1a"},
                                  {"a\nb.gguf", "GGUF"},
                                  {"y.safetensors.index.json", "{}"},
                                  {"y", "?"}};
    for (const auto& [name, bytes] : cut) {
        write_file(folder / name, bytes);
        Converted done = convert_to(folder / name, out / "m.mgpt");
        std::string message = done.status.message();
        CAPTURE(message);
        CHECK(!done.status.ok());
        CHECK(done.path == folder / name);
        CHECK(message.find("y.") != 0);
        CHECK(message.find("a?b.gguf") == std::string::npos);
        CHECK(message.find(name + ":") == std::string::npos);
        // In a folder it is named.
        TempFolder other;
        write_file(other / name, bytes);
        std::string within = convert_to(other.path(), out / "m.mgpt").status.message();
        CAPTURE(within);
        CHECK((name == "y" || within.find(name[0] == 'a' ? "b.gguf" : name) != std::string::npos));
    }
}
