// PyTorch checkpoints of every make give the bits of the model that they were made from.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "tests/tools/convert/formats/torch_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

convert::Options given(std::optional<uint64_t> n_head, std::optional<Activation> activation) {
    convert::Options options;
    options.n_head = n_head;
    options.activation = activation;
    return options;
}

convert::Options tanh_heads() {
    return given(2, Activation::gelu_tanh);
}

std::string model_args(bool bias = true, int heads = 2) {
    using namespace pickle;
    return dict({{"n_layer", integer(2)},
                 {"n_head", integer(heads)},
                 {"n_embd", integer(8)},
                 {"block_size", integer(6)},
                 {"bias", boolean(bias)},
                 {"vocab_size", integer(20)},
                 {"dropout", real(0.1)}});
}

// The head is the token table's storage.
void tie(TorchModel* model, const std::string& prefix) {
    model->tensors.emplace_back(prefix + "lm_head.weight",
                                model->tensor(prefix + "transformer.wte.weight"));
}

std::string nanogpt(const TorchModel& model, const std::string& arguments) {
    using namespace pickle;
    std::string state =
        call(named("torch._utils", "_rebuild_tensor_v2"),
             tuple({storage("FloatStorage", "0", 160, "cpu", model.is_legacy), integer(0),
                    sizes({}), sizes({}), boolean(false), ordered_dict({})}));
    return model.file(
        dict({{"model", model.state_dict()},
              {"optimizer", dict({{"state", dict({{"step", state}})}})},
              {"model_args", arguments},
              {"iter_num", integer(70000)},
              {"best_val_loss", state},
              {"config", dict({{"n_head", integer(12)}, {"device", text("cuda")}})}}));
}

// Old minGPT's and others' names for ours.
const std::pair<const char*, const char*> kOtherNames[] = {
    {"wte.", "tok_emb."},      {"wpe.", "pos_emb."},        {"h.", "blocks."},
    {".ln_1.", ".ln1."},       {".ln_2.", ".ln2."},         {".attn.c_proj.", ".attn.proj."},
    {".mlp.c_fc.", ".mlp.0."}, {".mlp.c_proj.", ".mlp.2."}, {"lm_head.", "head."},
};

std::string other_name(std::string name) {
    for (const auto& [ours, other] : kOtherNames) {
        size_t at = name.find(ours);
        if (at == 0 || (at != std::string::npos && ours[0] == '.'))
            name.replace(at, strlen(ours), other);
    }
    return name;
}

// A Linear's rows [from, to).
SavedTensor rows(const SavedTensor& t, size_t from, size_t to, const std::string& name) {
    SavedTensor out = t;
    size_t row = t.data.size() / t.shape[0];
    out.shape[0] = to - from;
    out.data = t.data.substr(from * row, (to - from) * row);
    out.name = name;
    return out;
}

TorchModel separate_model(const HfModel& model, const std::vector<std::string>& names) {
    TorchModel out;
    for (const SavedTensor& t : model.tensors) {
        bool turned = t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0;
        SavedTensor saved = turned ? transposed(t) : t;
        saved.name = other_name(t.name);
        size_t at = saved.name.find("c_attn");
        if (at == std::string::npos) {
            out.add(saved);
            continue;
        }
        for (size_t i = 0; i < 3; i++) {
            std::string name = saved.name;
            out.add(rows(saved, i * 8, i * 8 + 8, name.replace(at, 6, names[i])));
        }
    }
    return out;
}

SavedTensor widened_to_f64(const SavedTensor& t) {
    SavedTensor out = t;
    out.dtype = "F64";
    out.data.clear();
    for (size_t at = 0; at < t.data.size(); at += 4) {
        float x;
        memcpy(&x, &t.data[at], 4);
        double y = static_cast<double>(x) * (1 + 1e-12);  // rounds back
        out.data.append(reinterpret_cast<const char*>(&y), 8);
    }
    return out;
}

}  // namespace

TEST_CASE("convert torch: Hugging Face's files, of each type and in both containers") {
    for (const char* dtype : {"F32", "F16", "BF16"}) {
        for (bool tied : {true, false}) {
            for (bool legacy : {false, true}) {
                CAPTURE(dtype);
                CAPTURE(legacy);
                TempFolder folder;
                HfModel model = small_model(dtype, tied);
                model.write(folder.path());
                std::filesystem::remove(folder / "model.safetensors");
                TorchModel torch = torch_model(model, false, "transformer.", legacy);
                write_file(folder / "pytorch_model.bin", torch.file(torch.state_dict()));
                convert::Options options;
                options.source = folder.path();
                convert::Report report = check_torch("", model.tensors, options);
                CHECK(report.plan.config.tied == tied);
                CHECK(report.source_format == "PyTorch");
                CHECK(name_of(report.type) == std::string(name_of(report.plan.own_type)));
            }
        }
    }
}

TEST_CASE("convert torch: zip64, data descriptors, absent checksums and a parameter") {
    HfModel model = small_model();
    TorchModel torch = torch_model(model, false);
    std::string& head = torch.tensor("ln_f.weight");
    head = pickle::call(pickle::named("torch._utils", "_rebuild_parameter"),
                        pickle::tuple({head, pickle::boolean(true), pickle::ordered_dict({})}));
    std::string object = torch.state_dict() + pickle::dict({{"_metadata", pickle::dict({})}}) + "b";
    for (bool zip64 : {false, true}) {
        for (bool descriptor : {false, true}) {
            for (bool no_checksum : {false, true}) {
                ZipMember like = {"", "", 0, descriptor, zip64, no_checksum};
                check_torch(torch_zip(object, torch.storages, like), model.tensors, tanh_heads());
            }
        }
    }
}

TEST_CASE("convert torch: shards under an index") {
    TempFolder folder;
    HfModel model = small_model();
    model.write(folder.path());
    std::filesystem::remove(folder / "model.safetensors");
    std::string map;
    for (size_t part = 0; part < 3; part++) {
        TorchModel torch;
        std::string name = "pytorch_model-0000" + std::to_string(part + 1) + "-of-00003.bin";
        for (size_t i = part; i < model.tensors.size(); i += 3) {
            torch.add(model.tensors[i]);
            map += (map.empty() ? "\"" : ",\"") + model.tensors[i].name + "\":\"" + name + "\"";
        }
        torch.is_legacy = part == 1;
        if (torch.is_legacy) {
            torch = TorchModel{{}, {}, true};
            for (size_t i = part; i < model.tensors.size(); i += 3)
                torch.add(model.tensors[i]);
        }
        write_file(folder / name, torch.file(torch.state_dict()));
    }
    write_file(folder / "pytorch_model.bin.index.json", "{\"weight_map\":{" + map + "}}");
    convert::Options options;
    options.source = folder.path();
    check_torch("", model.tensors, options);
    std::filesystem::remove(folder / "pytorch_model-00002-of-00003.bin");
    check_torch_refused("", {"pytorch_model-00002-of-00003.bin", "missing"}, options);
}

TEST_CASE("convert torch: nanoGPT's dictionary, its prefixes, and models without biases") {
    for (bool legacy : {false, true}) {
        for (const char* wrapper : {"", "_orig_mod.", "module.", "_orig_mod.module."}) {
            HfModel model = small_model();
            TorchModel torch =
                torch_model(model, true, wrapper + std::string("transformer."), legacy);
            tie(&torch, wrapper);
            convert::Report report = check_torch(nanogpt(torch, model_args()), model.tensors);
            CHECK(report.source_format == "nanoGPT");
            CHECK(report.plan.config.activation == Activation::gelu_erf);
            CHECK(report.plan.config.n_head == 2);
            CHECK(report.plan.config.tied);
        }
    }
    HfModel bare = small_model();
    std::vector<SavedTensor> kept;
    for (const SavedTensor& t : bare.tensors) {
        if (t.name.find(".bias") == std::string::npos)
            kept.push_back(t);
    }
    bare.tensors = kept;
    TorchModel torch = torch_model(bare, true, "transformer.");
    tie(&torch, "");
    CHECK(check_torch(nanogpt(torch, model_args(false)), kept).plan.config.biases == 0);
    check_torch_refused(nanogpt(torch, model_args(true)), {"ln_f.bias", "missing", "bias=True"});
}

TEST_CASE("convert torch: minGPT's, with masks and an untied head, needs its heads") {
    HfModel model = small_model("F32", false);
    TorchModel torch = torch_model(model, true, "transformer.");
    for (const char* layer : {"0", "1"})
        torch.add({"transformer.h." + std::string(layer) + ".attn.bias",
                   "F32",
                   {1, 1, 6, 6},
                   std::string(144, '\0')});
    std::string file = torch.file(torch.state_dict());
    check_torch_refused(file, {"n_head is not in the checkpoint", "--n-head"});
    convert::Report report = check_torch(file, model.tensors, given(2, {}));
    CHECK(report.plan.config.activation == Activation::gelu_tanh);
    CHECK(!report.plan.config.tied);
    CHECK(report.plan.n_ignored == 2);
    report = check_torch(file, model.tensors, given(4, Activation::gelu_erf));
    CHECK(report.plan.config.activation == Activation::gelu_erf);
    CHECK(report.plan.config.n_head == 4);
    check_torch_refused(file, {"n_embd", "n_head"}, given(3, {}));
}

TEST_CASE("convert torch: other names, q, k and v apart, gamma and beta") {
    HfModel model = small_model("F32", false);
    const std::vector<std::vector<std::string>> kinds = {{"q", "k", "v"},
                                                         {"query", "key", "value"},
                                                         {"q_proj", "k_proj", "v_proj"},
                                                         {"wq", "wk", "wv"},
                                                         {"W_query", "W_key", "W_value"}};
    for (const auto& names : kinds) {
        CAPTURE(names[0]);
        TorchModel torch = separate_model(model, names);
        for (const char* wrapper : {"model", "model_state_dict", "state_dict", "model_state"}) {
            std::string file = torch.file(pickle::dict({{wrapper, torch.state_dict()}}));
            check_torch_refused(file, {"--n-head"});
            check_torch_refused(file, {"the activation", "--activation"}, given(2, {}));
            check_torch(file, model.tensors, tanh_heads());
        }
        for (auto& [name, value] : torch.tensors) {
            if (name.find("ln") == std::string::npos)
                continue;
            size_t at = name.rfind('.') + 1;
            name = name.substr(0, at) + (name.substr(at) == "weight" ? "gamma" : "beta");
        }
        check_torch(torch.file(torch.state_dict()), model.tensors, tanh_heads());
        // Each of the three is missed by name.
        for (size_t i = 0; i < torch.tensors.size(); i++) {
            TorchModel spoilt = torch;
            std::string name = spoilt.tensors[i].first;
            if (name.find("1.attn." + names[1]) == std::string::npos)
                continue;
            spoilt.tensors.erase(spoilt.tensors.begin() + static_cast<std::ptrdiff_t>(i));
            check_torch_refused(spoilt.file(spoilt.state_dict()), {"key", "is missing"},
                                tanh_heads());
        }
    }
}

TEST_CASE("convert torch: q, k and v as views, and of different shapes or types") {
    HfModel model = small_model("F32", false);
    TorchModel torch = separate_model(model, {"q", "k", "v"});
    // The key lies the other way round, the value as columns of Conv1D's c_attn.
    std::string key = "blocks.0.attn.k.weight", value = "blocks.0.attn.v.weight";
    const SavedTensor& c_attn = model.tensor("h.0.attn.c_attn.weight");
    auto view = [&](const std::string& name, uint64_t offset) {
        std::string storage = pickle::storage("FloatStorage", std::to_string(torch.storages.size()),
                                              c_attn.data.size() / 4);
        torch.tensor(name) = pickle::tensor(storage, offset, {8, 8}, {1, 24});
        torch.storages.push_back({"FloatStorage", c_attn.data});
    };
    view(key, 8);
    view(value, 16);
    check_torch(torch.file(torch.state_dict()), model.tensors, tanh_heads());

    SavedTensor other = {"blocks.2.attn.k.weight", "F32", {4, 8}, std::string(128, '\0')};
    for (const char* dtype : {"F32", "F16"}) {
        TorchModel spoilt = torch;
        other.dtype = dtype;
        if (other.dtype == "F16")
            other.shape = {8, 8};
        spoilt.add(other);
        spoilt.tensor(key) = spoilt.tensors.back().second;
        spoilt.tensors.pop_back();
        check_torch_refused(spoilt.file(spoilt.state_dict()),
                            {"blocks.0.attn.k.weight", dtype, "expected the same"}, tanh_heads());
    }
}

TEST_CASE("convert torch: settings beside the weights, as a dictionary or an object") {
    HfModel model = small_model("F32", false);
    TorchModel torch = separate_model(model, {"q", "k", "v"});
    using namespace pickle;
    for (const std::string& config :
         {dict({{"n_head", integer(2)}, {"activation", text("gelu")}, {"lr", real(1e-3)}}),
          named("argparse", "Namespace") + ")R" +
              dict({{"n_head", integer(2)}, {"activation", text("gelu")}}) + "b",
          named("__main__", "GPTConfig") + ")\x81" +
              dict({{"num_heads", integer(2)}, {"activation", text("gelu")}}) + "b"}) {
        std::string file = torch.file(dict({{"model", torch.state_dict()}, {"config", config}}));
        convert::Report report = check_torch(file, model.tensors);
        CHECK(report.plan.config.activation == Activation::gelu_erf);
        CHECK(report.plan.config.n_head == 2);
        check_torch_refused(file, {"--n-head 4", "2 heads"}, given(4, {}));
        check_torch_refused(file, {"--activation gelu_tanh", "gelu_erf"},
                            given({}, Activation::gelu_tanh));
    }
    std::string training = dict({{"lr", real(1e-3)}});
    std::string file = torch.file(dict({{"model", torch.state_dict()},
                                        {"config", training},
                                        {"hparams", dict({{"n_head", integer(2)}})}}));
    check_torch(file, model.tensors, given({}, Activation::gelu_erf));
    for (const auto& wrong : std::map<std::string, std::string>{{"n_layer", integer(3)},
                                                                {"n_embd", integer(16)},
                                                                {"block_size", integer(7)},
                                                                {"vocab_size", integer(19)},
                                                                {"activation", text("relu")},
                                                                {"n_head", integer(0)},
                                                                {"num_heads", integer(4)},
                                                                {"layer_norm_epsilon", real(0)}}) {
        CAPTURE(wrong.first);
        std::string config = dict({{"n_head", integer(2)}, wrong});
        check_torch_refused(torch.file(dict({{"model", torch.state_dict()}, {"config", config}})),
                            {}, given({}, Activation::gelu_erf));
    }
}

TEST_CASE("convert torch: strides, offsets and shared storages") {
    HfModel model = small_model();
    TorchModel torch = torch_model(model, false);
    // All matrices of Linear orientation as transposed views of one storage after 5 numbers.
    std::string pool(20, 'x');
    TorchModel views;
    for (const SavedTensor& t : model.tensors) {
        bool turned = t.shape.size() == 2 && t.name.compare(0, 2, "h.") == 0;
        SavedTensor saved = turned ? transposed(t) : t;
        uint64_t offset = pool.size() / 4;
        pool += saved.data;
        std::vector<uint64_t> strides = {1};
        if (t.shape.size() == 2)
            strides = turned ? std::vector<uint64_t>{1, t.shape[0]}
                             : std::vector<uint64_t>{t.shape[1], 1};
        views.tensors.emplace_back(t.name, pickle::tensor("STORAGE", offset, t.shape, strides));
    }
    for (auto& [name, value] : views.tensors)
        value.replace(value.find("STORAGE"), 7,
                      pickle::storage("FloatStorage", "0", pool.size() / 4));
    views.storages = {{"FloatStorage", pool}};
    check_torch(views.file(views.state_dict()), model.tensors, tanh_heads());

    // Numbers far apart: every third column, every fifth row, both; a row that repeats.
    for (const auto& strides : std::vector<std::pair<uint64_t, uint64_t>>{
             {3 * 32, 3}, {5 * 32, 1}, {1, 40}, {7, 3 * 7 * 8}, {9000, 40000}, {40000, 1}}) {
        uint64_t row = strides.first, col = strides.second;
        CAPTURE(row);
        const SavedTensor& t = model.tensor("h.1.mlp.c_fc.weight");
        std::string data((7 * row + 31 * col + 1) * 4, '\x7f');
        for (size_t i = 0; i < 8; i++) {
            for (size_t j = 0; j < 32; j++)
                memcpy(&data[(i * row + j * col) * 4], &t.data[(i * 32 + j) * 4], 4);
        }
        TorchModel apart = torch;
        std::string key = std::to_string(apart.storages.size());
        apart.tensor(t.name) = pickle::tensor(pickle::storage("FloatStorage", key, data.size() / 4),
                                              0, {8, 32}, {row, col});
        apart.storages.push_back({"FloatStorage", data});
        check_torch(apart.file(apart.state_dict()), model.tensors, tanh_heads());
    }
    HfModel flat = model;
    SavedTensor& bias = flat.tensor("ln_f.bias");
    for (size_t i = 1; i < 8; i++)
        memcpy(&bias.data[i * 4], &bias.data[0], 4);
    TorchModel repeated = torch_model(flat, false);
    repeated.storages.push_back({"FloatStorage", bias.data.substr(0, 4)});
    repeated.tensor("ln_f.bias") = pickle::tensor(
        pickle::storage("FloatStorage", std::to_string(repeated.storages.size() - 1), 1), 0, {8},
        {0});
    check_torch(repeated.file(repeated.state_dict()), flat.tensors, tanh_heads());
}

TEST_CASE("convert torch: f64 is rounded once, alone or in three pieces") {
    HfModel model = small_model();
    for (bool separate : {false, true}) {
        HfModel wide = model;
        for (SavedTensor& t : wide.tensors)
            t = widened_to_f64(t);
        TorchModel torch =
            separate ? separate_model(wide, {"q", "k", "v"}) : torch_model(wide, true);
        CHECK(check_torch(torch.file(torch.state_dict()), model.tensors, tanh_heads()).type ==
              ElementType::f32);
    }
    SavedTensor& t = model.tensor("ln_f.bias");
    SavedTensor large = widened_to_f64(t);
    double x = 1e300;
    memcpy(&large.data[8], &x, 8);
    TorchModel torch = torch_model(model, false);
    torch.tensors.pop_back();
    torch.add(large);
    check_torch_refused(torch.file(torch.state_dict()), {"ln_f.bias", "[1]"}, tanh_heads());
}

TEST_CASE("convert torch: a head that shares the table's storage is tied, another is not") {
    HfModel model = small_model("F32", false);
    TorchModel torch = torch_model(model, true, "transformer.");
    std::string file = torch.file(torch.state_dict());
    CHECK(!check_torch(file, model.tensors, tanh_heads()).plan.config.tied);
    torch.tensor("lm_head.weight") = torch.tensor("transformer.wte.weight");
    file = torch.file(torch.state_dict());
    CHECK(check_torch(file, small_model().tensors, tanh_heads()).plan.config.tied);
}

TEST_CASE("convert torch: matrices that disagree on which way round they are") {
    HfModel model = small_model();
    for (bool linear : {false, true}) {
        for (const char* kind : {"attn.c_attn", "mlp.c_fc", "mlp.c_proj"}) {
            for (const char* layer : {"h.0.", "h.1."}) {
                TorchModel torch = torch_model(model, linear);
                TorchModel other = torch_model(model, !linear);
                std::string name = std::string(layer) + kind + ".weight";
                torch.tensor(name) = other.tensor(name);
                check_torch_refused(torch.file(torch.state_dict()), {"shape is", "expected"},
                                    tanh_heads());
            }
        }
    }
}

TEST_CASE("convert torch: vocabularies in the file and in meta.pkl") {
    using namespace pickle;
    HfModel model = small_model();
    TorchModel torch = torch_model(model, true, "transformer.");
    tie(&torch, "");
    std::string letters = "abcdefghijklmnopqr\xc3\xa9\n";
    std::vector<std::pair<std::string, std::string>> stoi;
    std::string itos = "}(", text_ids = "}(";
    for (size_t at = 0, id = 0; at < letters.size(); id++) {
        std::string c = letters.substr(at, letters[at] == '\xc3' ? 2 : 1);
        at += c.size();
        stoi.emplace_back(c, integer(static_cast<int64_t>(id)));
        itos += integer(static_cast<int64_t>(id)) + text(c);
        text_ids += text(std::to_string(id)) + text(c);
    }
    itos += "u", text_ids += "u";
    auto file = [&](const std::vector<std::pair<std::string, std::string>>& more) {
        std::vector<std::pair<std::string, std::string>> members = {{"model", torch.state_dict()},
                                                                    {"model_args", model_args()}};
        members.insert(members.end(), more.begin(), more.end());
        return torch.file(dict(members));
    };
    for (const auto& more : std::vector<std::vector<std::pair<std::string, std::string>>>{
             {{"stoi", dict(stoi)}},
             {{"itos", itos}},
             {{"stoi", dict(stoi)}, {"itos", itos}},
             {{"stoi", dict(stoi)}, {"itos", text_ids}}}) {
        convert::Report report = check_torch(file(more), model.tensors);
        CHECK(report.vocabulary_kind == TokenizerKind::chars);
        CHECK(report.n_tokens == 20);
    }
    auto spoilt = stoi;
    spoilt[3].second = integer(30);
    check_torch_refused(file({{"stoi", dict(spoilt)}}), {"no token has id 3"});
    check_torch_refused(file({{"stoi", dict(spoilt)}, {"itos", itos}}), {"id", "d"});
    spoilt.pop_back();
    check_torch_refused(file({{"stoi", dict(spoilt)}, {"itos", itos}}), {"19", "20"});
    check_torch_refused(file({{"stoi", list({})}}), {"stoi", "a list"});

    // Beside the checkpoint, in protocol 4: frames, memos, short texts.
    std::string body = "}\x94(\x8c\x0avocab_size\x94K\x14\x8c\x04stoi\x94}\x94(";
    for (const auto& [c, id] : stoi)
        body += "\x8c" + std::string(1, static_cast<char>(c.size())) + c + "\x94" + id;
    body += "u\x8c\x04itos\x94}\x94(";
    for (size_t id = 0; id < stoi.size(); id++)
        body += integer(static_cast<int64_t>(id)) + "h" +
                std::string(1, static_cast<char>(id + 4));  // the memo's numbers
    body += "uu.";
    uint64_t n = body.size();
    std::string meta = "\x80\x04\x95" + std::string(reinterpret_cast<const char*>(&n), 8) + body;
    TempFolder folder, elsewhere;
    write_file(folder / "ckpt.pt", file({}));
    write_file(folder / "meta.pkl", meta);
    convert::Options options;
    options.source = folder.path();
    convert::Report report = check_torch("", model.tensors, options);
    CHECK(report.vocabulary_source == "meta.pkl");
    CHECK(report.n_tokens == 20);
    std::filesystem::rename(folder / "meta.pkl", elsewhere / "meta.pkl");
    CHECK(check_torch("", model.tensors, options).n_tokens == 0);
    options.vocab = elsewhere / "meta.pkl";
    CHECK(check_torch("", model.tensors, options).n_tokens == 20);
    for (size_t cut = 1; cut < meta.size(); cut++) {
        write_file(elsewhere / "meta.pkl", meta.substr(0, cut));
        check_torch_refused("", {"meta.pkl"}, options);
    }
    write_file(elsewhere / "meta.pkl", whole(call(named("posix", "system"), tuple({text("x")}))));
    check_torch_refused("", {"meta.pkl", "posix.system"}, options);
}

TEST_CASE("convert torch: a published checkpoint is its own conversion by others") {
    std::string folder = outside_data("trained/slm4096");
    if (folder.empty())
        return;
    std::vector<SavedTensor> expected = load_safetensors(folder + "/hf/model.safetensors");
    convert::Options options = given({}, Activation::gelu_erf);
    options.source = folder;
    convert::Report report = check_torch("", expected, options);
    CHECK(report.vocabulary_kind == TokenizerKind::chars);
    CHECK(report.plan.config.n_head == 4);
    CHECK(report.plan.config.tied);
    options.activation = {};
    check_torch_refused("", {"--activation"}, options);
    options.activation = Activation::gelu_erf;
    options.n_head = 8;
    check_torch_refused("", {"--n-head 8", "4 heads"}, options);
}
