// What lies beside a TensorFlow checkpoint: hparams.json and `checkpoint`.
#include "common/file.h"
#include "convert/codecs/json.h"
#include "convert/formats/tensorflow.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kMaxState = size_t{1} << 20;  // of `checkpoint`, a few lines

}  // namespace

Status parse_hparams(const std::string& text, SourceConfig* config) {
    const struct {
        const char* name;
        std::optional<uint64_t>* size;
    } sizes[] = {
        {"n_vocab", &config->n_rows}, {"n_ctx", &config->n_ctx},     {"n_embd", &config->n_embd},
        {"n_head", &config->n_head},  {"n_layer", &config->n_layer},
    };
    Json json(text.data(), text.size());
    MINIGPT_TRY(json.object([&](const std::string& name) {
        for (const auto& known : sizes) {
            if (name != known.name)
                continue;
            *known.size = 0;
            MINIGPT_TRY(within(name, json.u64(&**known.size)));
            if (**known.size > 0 && **known.size <= UINT32_MAX)
                return Status();
            return Status::error(Code::bad_file, "%s: found %llu; expected 1 to 4294967295",
                                 known.name, Ull{**known.size});
        }
        return json.skip();
    }));
    MINIGPT_TRY(json.end());
    for (const auto& known : sizes) {
        if (!*known.size)
            return Status::error(Code::bad_file, "%s is missing", known.name);
    }
    return Status();
}

Status latest_tensorflow(const std::string& folder, std::string* name) {
    constexpr char kField[] = "model_checkpoint_path:";
    name->clear();
    std::string path = join(folder, "checkpoint"), text;
    if (path_kind(path) != PathKind::file)
        return Status();
    MINIGPT_TRY(within("checkpoint", read_text(path, kMaxState, &text)));
    size_t at =
        text.compare(0, sizeof kField - 1, kField) == 0 ? 0 : text.find("\n" + std::string(kField));
    size_t open = at == std::string::npos ? at : text.find('"', at);
    size_t close = open == std::string::npos ? open : text.find('"', open + 1);
    if (close == std::string::npos)
        return Status::error(Code::bad_file, "checkpoint: model_checkpoint_path is missing");
    // Where the trainer had its folder does not matter: this is it.
    std::string prefix = text.substr(open + 1, close - open - 1);
    *name = prefix.substr(prefix.rfind('/') + 1) + ".index";
    return Status();
}

}  // namespace minigpt::convert
