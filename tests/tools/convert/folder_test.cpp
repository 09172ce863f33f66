// Which checkpoint a folder holds, sharded files, and the output's place.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/progress.h"
#include "convert/names.h"
#include "tests/tools/convert/maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// The small model in two parts and an index over them.
struct Sharded {
    HfModel model = small_model();
    std::map<std::string, std::string> map;
    std::map<std::string, std::vector<SavedTensor>> parts;

    Sharded() {
        for (size_t i = 0; i < model.tensors.size(); i++) {
            std::string part = i < 11 ? "model-1-of-2.safetensors" : "model-2-of-2.safetensors";
            map[model.tensors[i].name] = part;
            parts[part].push_back(model.tensors[i]);
        }
    }
    void write(const std::string& folder) const {
        model.write(folder);
        std::filesystem::remove(folder + "/model.safetensors");
        std::string index;
        for (const auto& [tensor, part] : map) {
            index += (index.empty() ? "\"" : ",\"") + tensor + "\":\"" + part + "\"";
        }
        write_file(folder + "/model.safetensors.index.json",
                   "{\"metadata\":{\"total_size\":0},\"weight_map\":{" + index + "}}");
        for (const auto& [part, tensors] : parts) {
            write_file(folder + "/" + part, safetensors(tensors));
        }
    }
    void check_bad(const std::vector<std::string>& words) const {
        TempFolder folder;
        write(folder.path());
        check_refused_folder(folder.path(), words);
    }
};

const char kFirst[] = "model-1-of-2.safetensors";
const char kSecond[] = "model-2-of-2.safetensors";

}  // namespace

TEST_CASE("convert folder: a folder, its file and its index give the same bytes but the name") {
    TempFolder folder, out;
    Sharded sharded;
    sharded.write(folder.path());
    REQUIRE(convert_to(folder.path(), out / "a.mgpt").status.ok());
    REQUIRE(convert_to(folder / "model.safetensors.index.json", out / "b.mgpt").status.ok());
    Model model;
    REQUIRE(model.open((out / "b.mgpt").c_str()).ok());
    check_same_bits(model, sharded.model.tensors);
    TempFolder single;
    sharded.model.write(single.path());
    REQUIRE(convert_to(single / "model.safetensors", out / "c.mgpt").status.ok());
    CHECK(std::filesystem::file_size(out / "c.mgpt") > 0);
    REQUIRE(convert_to(single.path() + "//", out / "d.mgpt").status.ok());
    Model other;
    REQUIRE(other.open((out / "c.mgpt").c_str()).ok());
    check_same_bits(other, sharded.model.tensors);
    CHECK(std::string(other.source_format()) == "safetensors");
    CHECK(std::string(other.source_name()) == "model.safetensors");
}

TEST_CASE("convert folder: an index and its parts must agree") {
    Sharded s;
    s.parts.erase(kSecond);
    s.check_bad({kSecond, "missing", "index.json"});
    s = Sharded();
    s.map["ln_f.bias"] = kFirst;
    s.check_bad({kFirst, "ln_f.bias is missing"});
    s = Sharded();
    s.map.erase("ln_f.bias");
    s.check_bad({kSecond, "ln_f.bias is left over"});
    s = Sharded();
    s.map["none"] = kSecond;
    s.check_bad({kSecond, "none is missing"});
    s = Sharded();
    s.parts["model-3-of-2.safetensors"] = s.parts[kFirst];
    s.check_bad({"2 checkpoints", "model-3-of-2.safetensors", "index.json"});
    for (const char* part :
         {"../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", ""}) {
        s = Sharded();
        s.map["ln_f.bias"] = part;
        s.check_bad({"ln_f.bias", "no file name in this folder"});
    }
    TempFolder folder;
    Sharded().write(folder.path());
    for (const char* index :
         {"{}", "{\"weight_map\":{}}", "{\"weight_map\":[]}", "{", "{\"a\":1"}) {
        write_file(folder / "model.safetensors.index.json", index);
        check_refused_folder(folder.path(), {"index.json"});
    }
}

TEST_CASE("convert folder: none, two, or a magic number only") {
    TempFolder empty;
    check_refused_folder(empty.path(), {"no checkpoint", "*.safetensors"});
    check_refused_folder(empty / "nothing", {"no such file"});
    write_file(empty / "config.json", "{}");
    write_file(empty / "notes.txt", "PK");
    check_refused_folder(empty.path(), {"no checkpoint"});
    check_refused_folder(empty / "notes.txt", {"is no checkpoint: its content", "--help"});

    HfModel model = small_model();
    model.files["pytorch_model.bin"] = "PK\x03\x04 and so on";
    check_refused(model, {"2 checkpoints", "model.safetensors", "pytorch_model.bin"});
    model = small_model();
    model.files["other.safetensors"] = safetensors(model.tensors);
    check_refused(model, {"2 checkpoints", "model.safetensors", "other.safetensors"});

    // Each kind's magic number and no more.
    for (const char* bytes :
         {"GGUF", "lmgg", "\xc6\xd7\x34\x01", "0123456789\x57\xfb\x80\x8b\x24\x75\x47\xdb"}) {
        TempFolder folder;
        write_file(folder / "model", bytes);
        check_refused_folder(folder.path(), {"model: "});
    }
}

TEST_CASE("convert folder: the content tells, not the name") {
    TempFolder folder, out;
    HfModel model = small_model();
    model.files["optimizer.pt"] = model.files["training_args.bin"] = "PK\x03\x04";
    model.files["rng_state_0.pth"] = "PK\x03\x04";
    model.files[".hidden.safetensors"] = "junk";
    model.write(folder.path());
    CHECK(convert_to(folder.path(), out / "m.mgpt").status.ok());
    std::filesystem::rename(folder / "model.safetensors", folder / "weights.bin");
    CHECK(convert_to(folder.path(), out / "m.mgpt").status.ok());
    for (size_t n : {0, 1, 7, 8, 9, 100, 4096}) {
        write_file(folder / "weights.bin", std::string(n, '\0'));
        check_refused_folder(folder.path(), {"no checkpoint"});
        write_file(folder / "model.safetensors", std::string(n, '\0'));
        check_refused_folder(folder.path(), {"model.safetensors"});
        std::filesystem::remove(folder / "model.safetensors");
    }
    REQUIRE(mkfifo((folder / "pipe.safetensors").c_str(), 0600) == 0);
    check_refused_folder(folder / "pipe.safetensors", {"neither a file nor a folder"});
    check_refused_folder(folder.path(), {"no checkpoint"});
}

TEST_CASE("convert folder: links as the hub's cache has them are followed") {
    TempFolder cache, out;
    std::filesystem::create_directories(cache / "blobs");
    std::filesystem::create_directories(cache / "snapshots/1");
    small_model().write(cache / "blobs");
    for (const char* name : {"model.safetensors", "config.json"}) {
        std::filesystem::create_symlink(std::string("../../blobs/") + name,
                                        cache / ("snapshots/1/" + std::string(name)));
    }
    CHECK(convert_to(cache / "snapshots/1", out / "m.mgpt").status.ok());
}

TEST_CASE("convert folder: the output never replaces the source or leaves a part") {
    TempFolder folder, out;
    small_model().write(folder.path());
    std::string before = read_file(folder / "model.safetensors");
    for (const std::string& output :
         {folder / "model.safetensors", folder / "config.json", folder.path(),
          out / "no such folder/m.mgpt", std::string("/dev/null")}) {
        Converted done = convert_to(folder.path(), output);
        CAPTURE(output);
        CHECK(!done.status.ok());
        CHECK(done.path == output);
    }
    CHECK(read_file(folder / "model.safetensors") == before);
    CHECK(std::filesystem::is_empty(out.path()));
    // A failed run leaves an old file as it was; a good one replaces it.
    write_file(out / "m.mgpt", "old");
    HfModel bad = small_model();
    bad.tensor("ln_f.bias").data.replace(0, 4, std::string("\0\0\x80\x7f", 4));
    TempFolder other;
    bad.write(other.path());
    CHECK(!convert_to(other.path(), out / "m.mgpt").status.ok());
    CHECK(read_file(out / "m.mgpt") == "old");
    CHECK(convert_to(folder.path(), out / "m.mgpt").status.ok());
    Model model;
    CHECK(model.open((out / "m.mgpt").c_str()).ok());
    size_t n = 0;
    for (auto& entry : std::filesystem::directory_iterator(out.path()))
        n += entry.exists();
    CHECK(n == 1);
}

TEST_CASE("convert names: a name matches whole or not at all") {
    auto target = [](const char* name) {
        std::optional<convert::Match> found = convert::match(convert::kHuggingFace, name);
        return found ? found->target + (found->rule->role == convert::Role::parameter ? "" : "?")
                     : "none";
    };
    CHECK(target("transformer.h.11.attn.c_attn.bias") == "h.11.attn.c_attn.bias");
    CHECK(target("h.11.attn.bias") == "?");
    CHECK(target("h.0.attn.masked_bias") == "?");
    for (const char* name : {"h.a.ln_1.bias", "h..ln_1.bias", "h.-1.ln_1.bias", "h.00.ln_1.bias",
                             "h.1.ln_1.bias.", "h.1.ln_1", "transformer.transformer.wte.weight",
                             "attn.bias", "h.1234567890.ln_1.bias", "wte"}) {
        CAPTURE(name);
        CHECK(target(name) == std::string("none"));
    }
}

TEST_CASE("convert progress: bytes, rate and the time that is left") {
    CHECK(convert::progress_text(250000000, 1000000000, 0.5) ==
          " 25%  250 of 1000 MB  500 MB/s  2 s left");
    CHECK(convert::progress_text(0, 0, 0) == "100%  0 of 0 MB  0 MB/s  0 s left");
}
