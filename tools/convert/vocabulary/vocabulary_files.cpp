// Where a vocabulary lies.
#include <initializer_list>

#include "common/file.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

// The first of these that a folder has; empty: none. One that is there and cannot be read is an
// error: without it, other files would be taken for the whole vocabulary.
Status first_of(const std::string& folder, std::initializer_list<const char*> names,
                std::string* first) {
    first->clear();
    for (const char* name : names) {
        bool found = false;
        MINIGPT_TRY(within(name, find_file(join(folder, name), &found)));
        if (found && first->empty())
            *first = name;
    }
    return Status();
}

Status read_in(const std::string& folder, const std::string& name, std::string* text) {
    return within(name, read_text(join(folder, name), kMaxText, text));
}

// The merges and added tokens beside a vocab.json, as far as there are any.
Status add_beside(const std::string& folder, RawVocabulary* raw) {
    std::string text, name;
    MINIGPT_TRY(first_of(folder, {"merges.txt", "vocab.bpe"}, &name));
    if (!name.empty()) {
        MINIGPT_TRY(read_in(folder, name, &text));
        raw->merges_source = name;
        MINIGPT_TRY(within(name, parse_merges(text, raw)));
    }
    MINIGPT_TRY(first_of(folder, {"added_tokens.json"}, &name));
    if (!name.empty()) {
        MINIGPT_TRY(read_in(folder, name, &text));
        MINIGPT_TRY(within(name, parse_vocab_json(text, true, raw)));
    }
    MINIGPT_TRY(first_of(folder, {"tokenizer.json"}, &name));
    if (!name.empty()) {
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
    if (raw.merges.empty())
        return Status::error(Code::bad_file, "%s: there is no merge in it", name.c_str());
    if (is_cut_gpt2(raw.merges)) {
        return Status::error(Code::bad_file,
                             "%s: ends after the first %zu of GPT-2's merges, and no vocab.json "
                             "says that there are no more",
                             name.c_str(), raw.merges.size());
    }
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

Status find_in(const std::string& folder, Vocabulary* vocabulary) {
    std::string vocab, merges, whole, other;
    MINIGPT_TRY(first_of(folder, {"vocab.json", "encoder.json"}, &vocab));
    MINIGPT_TRY(first_of(folder, {"merges.txt", "vocab.bpe"}, &merges));
    MINIGPT_TRY(first_of(folder, {"tokenizer.json"}, &whole));
    MINIGPT_TRY(first_of(folder, {"meta.pkl", "gpt2_tokenizer.bin"}, &other));
    // A vocab.json that its merges are missing beside may be whole in tokenizer.json.
    if (!vocab.empty() && (!merges.empty() || whole.empty())) {
        return load_file(folder, vocab, vocabulary);
    }
    if (!whole.empty())
        return load_file(folder, whole, vocabulary);
    if (!merges.empty())
        return load_file(folder, merges, vocabulary);
    if (!other.empty())
        return load_file(folder, other, vocabulary);
    *vocabulary = Vocabulary();
    return Status();
}

}  // namespace

std::vector<std::string> vocabulary_files(const std::string& folder) {
    std::vector<std::string> files;
    for (const char* name :
         {"vocab.json", "encoder.json", "merges.txt", "vocab.bpe", "added_tokens.json",
          "tokenizer.json", "meta.pkl", "gpt2_tokenizer.bin"}) {
        if (path_kind(join(folder, name)) == PathKind::file)
            files.push_back(join(folder, name));
    }
    return files;
}

Status find_vocabulary(const std::string& folder, Vocabulary* vocabulary) {
    MINIGPT_TRY(find_in(folder, vocabulary));
    vocabulary->files = vocabulary_files(folder);
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
            MINIGPT_TRY(load_file(folder_of(path), path.substr(path.rfind('/') + 1), vocabulary));
            vocabulary->files = vocabulary_files(folder_of(path));
            vocabulary->files.push_back(path);
            return Status();
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
