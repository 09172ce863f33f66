#include "networks/corpus.h"

#include <cstring>
#include <set>

#include "common/utf8.h"

namespace minigpt::networks {

Status Vocabulary::of_characters(const std::string& text) {
    std::set<std::string> characters;  // the order of UTF-8 strings is that of code points
    for (size_t at = 0; at < text.size();) {
        tools::Utf8Piece piece = tools::utf8_piece(text, at);
        if (!piece.is_valid)
            return Status::error(Code::bad_text, "not UTF-8 at byte %zu", at);
        characters.emplace(text, at, piece.n_bytes);
        at += piece.n_bytes;
    }
    if (characters.size() < 2) {
        return Status::error(Code::bad_text, "%zu different characters; expected at least 2",
                             characters.size());
    }
    std::string joined;
    std::vector<uint64_t> offsets = {0};
    for (const std::string& character : characters) {
        joined += character;
        offsets.push_back(joined.size());
    }
    TokenizerSpec spec;
    spec.kind = TokenizerKind::chars;
    spec.n_tokens = characters.size();
    spec.offsets = offsets.data();
    spec.bytes = joined.data();
    MINIGPT_TRY(tokenizer_bytes(spec, &n_bytes_));
    tables_.resize((n_bytes_ + 7) / 8);
    MINIGPT_TRY(build_tokenizer(spec, tables_.data(), n_bytes_));
    return tokenizer_.open(tables_.data(), n_bytes_);
}

Status Vocabulary::of_tables(const void* tables, size_t bytes) {
    if (bytes == 0)
        return Status::error(Code::not_supported, "there is no vocabulary in it");
    n_bytes_ = bytes;
    tables_.resize((bytes + 7) / 8);
    memcpy(tables_.data(), tables, bytes);
    return tokenizer_.open(tables_.data(), n_bytes_);
}

Status Vocabulary::encode(const std::string& text, std::vector<int32_t>* ids) const {
    ids->resize(text.size());
    size_t n = 0;
    MINIGPT_TRY(tokenizer_.encode(text, ids->data(), ids->size(), &n));
    ids->resize(n);
    return Status();
}

std::string Vocabulary::decode(const std::vector<int32_t>& ids) const {
    std::string text;
    for (int32_t id : ids)
        text += tokenizer_.token(id);
    return text;
}

Status make_corpus(const std::string& text, double val, Vocabulary vocabulary, Corpus* corpus) {
    corpus->vocabulary = std::move(vocabulary);
    corpus->n_bytes = text.size();
    MINIGPT_TRY(corpus->vocabulary.encode(text, &corpus->ids));
    size_t n = corpus->ids.size();
    corpus->n_train = static_cast<size_t>(static_cast<double>(n) * (1 - val));
    return Status();
}

Status make_corpus(const std::string& text, double val, Corpus* corpus) {
    Vocabulary vocabulary;
    MINIGPT_TRY(vocabulary.of_characters(text));
    return make_corpus(text, val, std::move(vocabulary), corpus);
}

}  // namespace minigpt::networks
