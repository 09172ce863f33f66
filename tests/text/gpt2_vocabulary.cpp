#include "tests/text/gpt2_vocabulary.h"

#include <doctest/doctest.h>
#include <cstdlib>
#include <fstream>
#include <sstream>

using minigpt::Status;
using minigpt::Tokenizer;

int32_t Vocabulary::add(const std::string& token) {
    int32_t id = static_cast<int32_t>(offsets.size() - 1);
    bytes += token;
    offsets.push_back(bytes.size());
    ids[token] = id;
    return id;
}

namespace {

// The byte-encoder of openai/gpt-2 lists printable Latin-1 bytes first, then the others.
bool is_printable(int b) {
    return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

// From the code points that spell bytes in the merges' file back to the bytes.
std::string unspell(const std::string& spelled) {
    std::string others;
    for (int b = 0; b < 256; b++) {
        if (!is_printable(b))
            others += static_cast<char>(b);
    }
    std::string out;
    for (size_t i = 0; i < spelled.size(); i++) {
        int code = static_cast<unsigned char>(spelled[i]);
        if (code >= 0xc0)
            code = (code & 0x1f) << 6 | (static_cast<unsigned char>(spelled[++i]) & 0x3f);
        out += code < 256 ? static_cast<char>(code) : others[static_cast<size_t>(code - 256)];
    }
    return out;
}

}  // namespace

void Vocabulary::add_bytes() {
    for (int b = 0; b < 256; b++) {
        if (is_printable(b))
            add(std::string(1, static_cast<char>(b)));
    }
    for (int b = 0; b < 256; b++) {
        if (!is_printable(b))
            add(std::string(1, static_cast<char>(b)));
    }
}

int32_t Vocabulary::merge(const std::string& left, const std::string& right) {
    auto found = ids.find(left + right);
    int32_t merged = found != ids.end() ? found->second : add(left + right);
    merges.push_back({ids.at(left), ids.at(right), merged});
    return merged;
}

int32_t Vocabulary::add_special(const std::string& token) {
    specials.push_back(add(token));
    return specials.back();
}

minigpt::TokenizerSpec Vocabulary::spec() const {
    minigpt::TokenizerSpec s;
    s.kind = kind;
    s.n_tokens = offsets.size() - 1;
    s.offsets = offsets.data();
    s.bytes = bytes.data();
    s.merges = merges.data();
    s.n_merges = merges.size();
    s.specials = specials.data();
    s.n_specials = specials.size();
    s.eos = eos;
    return s;
}

Status Vocabulary::build(Tokenizer* tokenizer) {
    size_t n_bytes = 0;
    MINIGPT_TRY(minigpt::tokenizer_bytes(spec(), &n_bytes));
    tables.assign((n_bytes + 7) / 8, 0);
    MINIGPT_TRY(minigpt::build_tokenizer(spec(), tables.data(), n_bytes));
    return tokenizer->open(tables.data(), n_bytes);
}

Vocabulary& gpt2_vocabulary() {
    static Vocabulary vocabulary = [] {
        Vocabulary v;
        v.add_bytes();
        std::istringstream lines(read_file("models/gpt2-merges.txt"));
        std::string line;
        std::getline(lines, line);  // the version
        while (std::getline(lines, line)) {
            size_t space = line.find(' ');
            if (space == std::string::npos)
                continue;
            v.merge(unspell(line.substr(0, space)), unspell(line.substr(space + 1)));
        }
        v.eos = v.add_special("<|endoftext|>");
        return v;
    }();
    return vocabulary;
}

const Tokenizer& gpt2_tokenizer() {
    static Tokenizer tokenizer = [] {
        Tokenizer t;
        Status status = gpt2_vocabulary().build(&t);
        REQUIRE_MESSAGE(status.ok(), status.message());
        return t;
    }();
    return tokenizer;
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, const std::string& text,
                            minigpt::SpecialTokens special) {
    std::vector<int32_t> ids(text.size() + 1);
    size_t n_ids = 0;
    Status status = tokenizer.encode(text, ids.data(), text.size(), &n_ids, special);
    CHECK_MESSAGE(status.ok(), status.message());
    ids.resize(n_ids);
    return ids;
}

std::string decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    std::string text;
    for (int32_t id : ids)
        text += tokenizer.token(id);
    return text;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

bool read_outside(const std::string& name, std::string* text) {
    const char* folder = getenv("MINIGPT_DATA");
    std::string path = std::string(folder != nullptr ? folder : "../shared/data") + "/" + name;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        MESSAGE("skipped: outside data not found");
        return false;
    }
    std::ostringstream read;
    read << in.rdbuf();
    *text = read.str();
    return true;
}
