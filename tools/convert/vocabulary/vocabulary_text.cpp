// The texts that vocabularies come in: vocab.json, merges.txt, tokenizer.json.
#include <algorithm>

#include "common/file.h"
#include "convert/codecs/json.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

Status add_tokens(Json& json, bool added, RawVocabulary* raw) {
    return json.object([&](const std::string& text) {
        raw->tokens.emplace_back();
        RawToken& token = raw->tokens.back();
        token.text = text;
        token.added = added;
        return within(shown(text), json.u64(&token.id));
    });
}

// "a b": two parts and one space.
bool split_merge(const std::string& text, RawMerge* merge) {
    size_t space = text.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == text.size())
        return false;
    if (text.find(' ', space + 1) != std::string::npos)
        return false;
    merge->left = text.substr(0, space);
    merge->right = text.substr(space + 1);
    return true;
}

Status not_two(size_t line, const std::string& text) {
    return Status::error(Code::bad_file, "line %zu: \"%s\"; expected two tokens and a space", line,
                         shown(text).c_str());
}

// An element of tokenizer.json's merges: "a b" or ["a", "b"].
Status read_merge(Json& json, RawMerge* merge) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    std::string text;
    if (type == Json::Type::string) {
        MINIGPT_TRY(json.string(&text));
        return split_merge(text, merge) ? Status() : not_two(merge->line, text);
    }
    size_t n = 0;
    MINIGPT_TRY(json.array([&](size_t i) {
        n = i + 1;
        return json.string(i == 0 ? &merge->left : &merge->right);
    }));
    if (n == 2 && !merge->left.empty() && !merge->right.empty())
        return Status();
    return Status::error(Code::bad_file, "merge %zu: expected two tokens", merge->line);
}

// A setting that would change ids and that byte-level BPE does not have: only its "off" passes.
Status refuse_set(Json& json) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    bool flag = false;
    double number = 0;
    std::string text;
    if (type == Json::Type::null)
        return json.null();
    if (type == Json::Type::boolean)
        MINIGPT_TRY(json.boolean(&flag));
    else if (type == Json::Type::number)
        MINIGPT_TRY(json.number(&number));
    else
        MINIGPT_TRY(json.string(&text));
    if (!flag && number == 0 && text.empty())
        return Status();
    return Status::error(Code::not_supported, "is set; GPT-2's tokenizer has no such thing");
}

// What changes a text before it is split; GPT-2's tokenizer changes nothing.
Status read_normalizer(Json& json) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    if (type == Json::Type::null)
        return json.null();
    std::string name = "one without a type";
    MINIGPT_TRY(json.object(
        [&](const std::string& key) { return key == "type" ? json.string(&name) : json.skip(); }));
    return Status::error(Code::not_supported, "found %s; expected null", shown(name).c_str());
}

// How a text is split: GPT-2's pattern, and nothing before the first word. Null is no splitting,
// which a character vocabulary may have.
Status read_pre_tokenizer(Json& json, bool* splits) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    *splits = type != Json::Type::null;
    if (!*splits)
        return json.null();
    std::string name = "one without a type";
    bool adds_space = false, has_pattern = true;
    MINIGPT_TRY(json.object([&](const std::string& key) {
        if (key == "add_prefix_space")
            return within(key, json.boolean(&adds_space));
        if (key == "use_regex")
            return within(key, json.boolean(&has_pattern));
        return key == "type" ? json.string(&name) : json.skip();
    }));
    const char* wrong = name != "ByteLevel" ? ""
                        : adds_space        ? " with add_prefix_space true"
                        : !has_pattern      ? " with use_regex false"
                                            : nullptr;
    if (wrong == nullptr)
        return Status();
    return Status::error(Code::not_supported,
                         "found %s%s; expected ByteLevel, add_prefix_space false, use_regex true",
                         shown(name).c_str(), wrong);
}

Status read_model(Json& json, bool only_settings, RawVocabulary* raw) {
    return json.object([&](const std::string& key) -> Status {
        if (key == "type") {
            std::string type;
            MINIGPT_TRY(json.string(&type));
            if (type == "BPE" || type == "WordLevel")
                return Status();
            return Status::error(Code::not_supported, "type: found \"%s\"; expected BPE",
                                 shown(type).c_str());
        }
        if (only_settings && (key == "vocab" || key == "merges"))
            return json.skip();
        if (key == "vocab")
            return within(key, add_tokens(json, false, raw));
        if (key == "merges") {
            raw->merges_source = raw->source;
            return json.array([&](size_t i) {
                raw->merges.emplace_back();
                raw->merges.back().line = i + 1;
                return read_merge(json, &raw->merges.back());
            });
        }
        bool changes_ids = key == "continuing_subword_prefix" || key == "end_of_word_suffix" ||
                           key == "byte_fallback" || key == "ignore_merges" || key == "dropout";
        return changes_ids ? within(key, refuse_set(json)) : json.skip();
    });
}

Status read_added(Json& json, RawVocabulary* raw) {
    return json.array([&](size_t) {
        RawToken token;
        token.added = true;
        bool has_id = false, has_content = false;
        MINIGPT_TRY(json.object([&](const std::string& key) {
            has_id |= key == "id";
            has_content |= key == "content";
            if (key == "id")
                return within("id", json.u64(&token.id));
            return key == "content" ? json.string(&token.text) : json.skip();
        }));
        raw->tokens.push_back(token);
        if (has_id && has_content)
            return Status();
        return Status::error(Code::bad_file, "a token without id or content");
    });
}

}  // namespace

Status parse_vocab_json(const std::string& text, bool added, RawVocabulary* raw) {
    Json json(text.data(), text.size());
    MINIGPT_TRY(add_tokens(json, added, raw));
    return json.end();
}

Status parse_merges(const std::string& text, RawVocabulary* raw) {
    size_t end = text.find_last_not_of("\r\n");
    end = end == std::string::npos ? 0 : end + 1;
    size_t n_lines = 0;
    for (size_t at = 0; at < end;) {
        size_t newline = std::min(text.find('\n', at), end);
        std::string line = text.substr(at, newline - at);
        at = newline + 1;
        n_lines++;
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        // Only the first line can be a comment: merges begin with # too.
        if (n_lines == 1 && line.compare(0, 8, "#version") == 0)
            continue;
        RawMerge merge;
        merge.line = n_lines;
        if (!split_merge(line, &merge))
            return not_two(n_lines, line);
        raw->merges.push_back(std::move(merge));
    }
    return Status();
}

Status parse_tokenizer_json(const std::string& text, bool only_added, RawVocabulary* raw) {
    Json json(text.data(), text.size());
    bool splits = false;
    MINIGPT_TRY(json.object([&](const std::string& key) {
        if (key == "added_tokens")
            return within(key, read_added(json, raw));
        if (key == "model")
            return within(key, read_model(json, only_added, raw));
        if (key == "normalizer")
            return within(key, read_normalizer(json));
        if (key == "pre_tokenizer")
            return within(key, read_pre_tokenizer(json, &splits));
        return json.skip();
    }));
    if (!splits)
        raw->unsplit = only_added ? "tokenizer.json" : raw->source;
    return json.end();
}

bool is_tokenizer_json(const std::string& text) {
    Json json(text.data(), text.size());
    Json::Type first = Json::Type::number;
    // The first member's value tells; an error ends the walk there.
    Status seen = json.object([&](const std::string&) {
        MINIGPT_TRY(json.peek(&first));
        return Status::error(Code::not_supported, "enough");
    });
    return !seen.ok() && first != Json::Type::number;
}

}  // namespace minigpt::convert
