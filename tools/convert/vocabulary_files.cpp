// Where a vocabulary lies.
#include <initializer_list>

#include "file.h"
#include "llmc.h"
#include "vocabulary.h"

namespace minigpt::convert {
namespace {

// The first of these that a folder has; empty: none.
std::string first_of(const std::string& folder, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (path_kind(join(folder, name)) == PathKind::file)
            return name;
    }
    return "";
}

Status read_in(const std::string& folder, const std::string& name, std::string* text) {
    return within(name, read_text(join(folder, name), kMaxText, text));
}

// The merges and added tokens beside a vocab.json, as far as there are any.
Status add_beside(const std::string& folder, RawVocabulary* raw) {
    std::string text;
    if (std::string name = first_of(folder, {"merges.txt", "vocab.bpe"}); !name.empty()) {
        MINIGPT_TRY(read_in(folder, name, &text));
        raw->merges_source = name;
        MINIGPT_TRY(within(name, parse_merges(text, raw)));
    }
    if (std::string name = first_of(folder, {"added_tokens.json"}); !name.empty()) {
        MINIGPT_TRY(read_in(folder, name, &text));
        MINIGPT_TRY(within(name, parse_vocab_json(text, true, raw)));
    }
    if (std::string name = first_of(folder, {"tokenizer.json"}); !name.empty()) {
        MINIGPT_TRY(read_in(folder, name, &text));
        MINIGPT_TRY(within(name, parse_tokenizer_json(text, true, raw)));
    }
    return Status();
}

Status load_vocab_json(const std::string& folder, const std::string& name, const std::string& text,
                       Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = name;
    MINIGPT_TRY(within(name, parse_vocab_json(text, false, &raw)));
    MINIGPT_TRY(add_beside(folder, &raw));
    return finish_vocabulary(std::move(raw), vocabulary);
}

Status load_tokenizer_json(const std::string& name, const std::string& text,
                           Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = name;
    MINIGPT_TRY(within(name, parse_tokenizer_json(text, false, &raw)));
    return finish_vocabulary(std::move(raw), vocabulary);
}

Status load_merges(const std::string& name, const std::string& text, Vocabulary* vocabulary) {
    RawVocabulary raw;
    raw.source = raw.merges_source = name;
    raw.only_merges = true;
    MINIGPT_TRY(within(name, parse_merges(text, &raw)));
    return finish_vocabulary(std::move(raw), vocabulary);
}

Status load_file(const std::string& folder, const std::string& name, Vocabulary* vocabulary) {
    std::string text;
    MINIGPT_TRY(read_in(folder, name, &text));
    if (!text.empty() && text[0] == '\x80')
        return parse_meta_pickle(text, name, vocabulary);
    if (is_llmc_tokenizer(text))
        return load_llmc_tokenizer(name, text, vocabulary);
    size_t first = text.find_first_not_of(" \t\r\n");
    bool is_json = ends_with(name, ".json") || (first != std::string::npos && text[first] == '{');
    if (!is_json)
        return load_merges(name, text, vocabulary);
    if (is_tokenizer_json(text))
        return load_tokenizer_json(name, text, vocabulary);
    return load_vocab_json(folder, name, text, vocabulary);
}

}  // namespace

Status find_vocabulary(const std::string& folder, Vocabulary* vocabulary) {
    std::string vocab = first_of(folder, {"vocab.json", "encoder.json"});
    std::string merges = first_of(folder, {"merges.txt", "vocab.bpe"});
    std::string whole = first_of(folder, {"tokenizer.json"});
    // A vocab.json that its merges are missing beside may be whole in tokenizer.json.
    if (!vocab.empty() && (!merges.empty() || whole.empty())) {
        return load_file(folder, vocab, vocabulary);
    }
    if (!whole.empty())
        return load_file(folder, whole, vocabulary);
    if (!merges.empty())
        return load_file(folder, merges, vocabulary);
    if (std::string meta = first_of(folder, {"meta.pkl", "gpt2_tokenizer.bin"}); !meta.empty())
        return load_file(folder, meta, vocabulary);
    *vocabulary = Vocabulary();
    return Status();
}

Status load_vocabulary(const std::string& path, Vocabulary* vocabulary) {
    std::string name = shown(path);
    switch (path_kind(path)) {
        case PathKind::missing:
            return Status::error(Code::io, "%s: no such file", name.c_str());
        case PathKind::other:
            return Status::error(Code::io, "%s: is no file", name.c_str());
        case PathKind::file:
            return load_file(folder_of(path), path.substr(path.rfind('/') + 1), vocabulary);
        case PathKind::folder:
            break;
    }
    MINIGPT_TRY(find_vocabulary(path, vocabulary));
    if (vocabulary->kind != TokenizerKind::none)
        return Status();
    return Status::error(Code::bad_file,
                         "%s: no vocabulary there; looked for vocab.json, "
                         "encoder.json, merges.txt, vocab.bpe, tokenizer.json, meta.pkl and "
                         "gpt2_tokenizer.bin",
                         name.c_str());
}

}  // namespace minigpt::convert
