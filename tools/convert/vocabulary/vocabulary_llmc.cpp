// llm.c's vocabulary file, gpt2_tokenizer.bin.
//
//     u32[256]  20240328, version (1, 2), n_tokens, the id of <|endoftext|> (2; in 1 50256), zeros
//     tokens    u8 length, bytes
#include <cstring>

#include "common/file.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

using Ulong = unsigned long;

constexpr size_t kHeaderBytes = 1024;
constexpr uint32_t kMagic = 20240328;
constexpr uint32_t kMaxTokens = 1u << 20;
constexpr uint32_t kEndOfTextOfVersion1 = 50256;

Status read_header(const std::string& bytes, uint32_t* n_tokens, uint32_t* end_of_text) {
    uint32_t header[4];
    if (bytes.size() < kHeaderBytes) {
        return Status::error(Code::bad_file, "%zu byte%s; the header alone has %zu", bytes.size(),
                             plural(bytes.size()), kHeaderBytes);
    }
    memcpy(header, bytes.data(), sizeof header);
    uint32_t version = header[1];
    if (version != 1 && version != 2) {
        return Status::error(Code::not_supported, "version is %lu; expected 1 or 2",
                             Ulong{version});
    }
    *n_tokens = header[2];
    *end_of_text = version == 1 ? kEndOfTextOfVersion1 : header[3];
    if (*n_tokens == 0 || *n_tokens > kMaxTokens) {
        return Status::error(Code::bad_file, "%lu tokens; expected 1 to %lu", Ulong{*n_tokens},
                             Ulong{kMaxTokens});
    }
    if (*end_of_text < *n_tokens)
        return Status();
    return Status::error(Code::bad_file,
                         "the end-of-text id is %lu; the vocabulary has %lu token%s",
                         Ulong{*end_of_text}, Ulong{*n_tokens}, plural(*n_tokens));
}

Status read_tokens(const std::string& bytes, uint32_t n_tokens, std::vector<std::string>* tokens) {
    size_t at = kHeaderBytes;
    for (uint32_t id = 0; id < n_tokens; id++) {
        size_t n = at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
        if (at == bytes.size() || n > bytes.size() - at - 1) {
            return Status::error(Code::bad_file, "token %lu of %lu is cut off", Ulong{id},
                                 Ulong{n_tokens});
        }
        tokens->push_back(bytes.substr(at + 1, n));
        at += 1 + n;
    }
    if (at == bytes.size())
        return Status();
    return Status::error(Code::bad_file, "%zu byte%s after the last token", bytes.size() - at,
                         plural(bytes.size() - at));
}

}  // namespace

bool is_llmc_tokenizer(const std::string& bytes) {
    return bytes.size() >= sizeof kMagic && memcmp(bytes.data(), &kMagic, sizeof kMagic) == 0;
}

Status load_llmc_tokenizer(const std::string& name, const std::string& bytes,
                           Vocabulary* vocabulary) {
    uint32_t n_tokens = 0, end_of_text = 0;
    std::vector<std::string> tokens;
    MINIGPT_TRY(within(name, read_header(bytes, &n_tokens, &end_of_text)));
    MINIGPT_TRY(within(name, read_tokens(bytes, n_tokens, &tokens)));
    MINIGPT_TRY(recover_vocabulary(name, tokens, end_of_text, vocabulary));
    vocabulary->end_of_text = static_cast<int32_t>(end_of_text);  // whatever its text is
    return Status();
}

}  // namespace minigpt::convert
