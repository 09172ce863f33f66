// Vocabularies of characters, as training programs pickle them.
#include <cstring>

#include "common/file.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

// An id as a number, or as JSON's keys have it, a text of digits.
Status read_id(const Pickle& pickle, PickleValue value, uint64_t* id) {
    if (std::optional<int64_t> n = pickle.integer(value); n && *n >= 0) {
        *id = static_cast<uint64_t>(*n);
        return Status();
    }
    std::string text = pickle.is(value, PickleKind::text) ? pickle.text(value) : "";
    if (text.empty() || text.size() > 9 || strspn(text.c_str(), "0123456789") != text.size())
        return Status::error(Code::bad_file, "an id is %s", pickle.kind_name(value));
    *id = std::stoul(text);
    return Status();
}

Status add_token(const Pickle& pickle, PickleValue text, PickleValue id, RawVocabulary* raw) {
    RawToken token;
    if (!pickle.is(text, PickleKind::text))
        return Status::error(Code::bad_file, "a token is %s", pickle.kind_name(text));
    token.text = pickle.text(text);
    MINIGPT_TRY(within("\"" + shown(token.text) + "\"", read_id(pickle, id, &token.id)));
    raw->tokens.push_back(std::move(token));
    return Status();
}

Status read_stoi(const Pickle& pickle, PickleValue stoi, RawVocabulary* raw) {
    if (!pickle.is(stoi, PickleKind::dict))
        return Status::error(Code::bad_file, "is %s; expected a dict", pickle.kind_name(stoi));
    const std::vector<PickleValue>& members = pickle.items(stoi);
    for (size_t i = 0; i + 1 < members.size(); i += 2)
        MINIGPT_TRY(add_token(pickle, members[i], members[i + 1], raw));
    return Status();
}

Status read_itos(const Pickle& pickle, PickleValue itos, RawVocabulary* raw) {
    const bool is_dict = pickle.is(itos, PickleKind::dict);
    if (!is_dict && !pickle.is(itos, PickleKind::list) && !pickle.is(itos, PickleKind::tuple))
        return Status::error(Code::bad_file, "is %s; expected a dict", pickle.kind_name(itos));
    const std::vector<PickleValue>& members = pickle.items(itos);
    for (size_t i = 0; is_dict && i + 1 < members.size(); i += 2)
        MINIGPT_TRY(add_token(pickle, members[i + 1], members[i], raw));
    for (size_t i = 0; !is_dict && i < members.size(); i++) {
        if (!pickle.is(members[i], PickleKind::text))
            return Status::error(Code::bad_file, "a token is %s", pickle.kind_name(members[i]));
        raw->tokens.push_back({pickle.text(members[i]), i, false});
    }
    return Status();
}

}  // namespace

Status read_pickled_vocabulary(const Pickle& pickle, PickleValue root, const std::string& source,
                               Vocabulary* vocabulary) {
    if (!pickle.is(root, PickleKind::dict))
        return Status();
    std::optional<PickleValue> stoi = pickle.find(root, "stoi"), itos = pickle.find(root, "itos");
    if (!stoi && !itos)
        return Status();
    RawVocabulary raw;
    raw.source = source;
    if (stoi)
        MINIGPT_TRY(within(source + ": stoi", read_stoi(pickle, *stoi, &raw)));
    size_t n = raw.tokens.size();
    if (itos)
        MINIGPT_TRY(within(source + ": itos", read_itos(pickle, *itos, &raw)));
    // Tokens that both list alike are one; with equal counts, no others are left.
    if (stoi && itos && raw.tokens.size() != 2 * n) {
        return Status::error(Code::bad_file, "%s: stoi has %zu token%s, and itos %zu",
                             source.c_str(), n, plural(n), raw.tokens.size() - n);
    }
    return finish_vocabulary(std::move(raw), vocabulary);
}

Status parse_meta_pickle(const std::string& bytes, const std::string& source,
                         Vocabulary* vocabulary) {
    Pickle pickle(PickleBytes(bytes), nullptr, 0);
    PickleValue root;
    MINIGPT_TRY(within(source, pickle.read(&root)));
    MINIGPT_TRY(read_pickled_vocabulary(pickle, root, source, vocabulary));
    if (vocabulary->kind != TokenizerKind::none)
        return Status();
    return Status::error(Code::bad_file, "%s: no stoi or itos in it", source.c_str());
}

}  // namespace minigpt::convert
