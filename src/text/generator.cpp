#include <cinttypes>
#include <new>
#include <utility>

#include "base/block.h"
#include "minigpt/generate.h"
#include "text/stops.h"

namespace minigpt {

struct GeneratorState {
    Session* session;
    const Tokenizer* tokenizer;
    GenerateOptions options;
    Sampler sampler;
    StopMatcher stops;
    Utf8Stream stream;
    size_t n_ctx, n_vocab, most_text, sampler_bytes;
    void* sampler_memory;   // [sampler_bytes]
    int32_t* ids;           // [n_ctx + 1]: the context, and the newest token
    Row* rows;              // [n_ctx]
    float* logits;          // [n_vocab]: after the last of ids
    char* text;             // [most_text]: of a piece
    size_t n_ids = 0;       // 0: no prompt yet
    size_t n_new = 0;       // tokens made
    bool computed = false;  // whether logits are of ids as they are
    Finish finish = Finish::none;

    Status plan(const Session& of_session, const Tokenizer& of_tokenizer,
                const GenerateOptions& wanted);
    void place(Layouter* layouter);
    Status compute();
    void end(Finish how, Piece* piece);
    bool take_token(int32_t id, Piece* piece);
    size_t append(std::string_view bytes, size_t n_text);
};

namespace {

size_t longest_token(const Tokenizer& tokenizer) {
    size_t longest = 0;
    for (size_t i = 0; i < tokenizer.n_tokens(); i++) {
        size_t n = tokenizer.token(static_cast<int32_t>(i)).size();
        longest = n > longest ? n : longest;
    }
    return longest;
}

Status check(const Session& session, const Tokenizer& tokenizer, const GenerateOptions& options) {
    if (options.seq >= session.n_seq()) {
        return Status::error(Code::bad_argument, "seq: %zu; the session has %zu", options.seq,
                             session.n_seq());
    }
    if (options.overflow != Overflow::stop && options.overflow != Overflow::slide) {
        return Status::error(Code::bad_argument, "overflow: %u, expected stop or slide",
                             static_cast<unsigned>(options.overflow));
    }
    if (session.n_prefix() != 0 && (options.overflow == Overflow::slide || !options.use_cache)) {
        return Status::error(Code::bad_argument, "%s: not with a session that has a prefix",
                             options.use_cache ? "overflow: slide" : "use_cache: off");
    }
    size_t n_vocab = session.config().n_vocab;
    if (tokenizer.kind() != TokenizerKind::none && tokenizer.n_tokens() != n_vocab) {
        return Status::error(Code::bad_argument, "tokenizer: n_tokens is %zu, but n_vocab is %zu",
                             tokenizer.n_tokens(), n_vocab);
    }
    return Status();
}

}  // namespace

// Checks, and finds what the arrays need.
Status GeneratorState::plan(const Session& of_session, const Tokenizer& of_tokenizer,
                            const GenerateOptions& wanted) {
    MINIGPT_TRY(check(of_session, of_tokenizer, wanted));
    options = wanted;
    n_ctx = of_session.n_ctx();
    n_vocab = of_session.config().n_vocab;
    size_t longest = longest_token(of_tokenizer);
    MINIGPT_TRY(stops.plan(options.stops, options.n_stops, longest));
    // What was held back comes out with the last token at the latest: by both stops and stream.
    most_text = stops.most_held() + 3;
    return minigpt::sampler_bytes(options.sampler, n_vocab, &sampler_bytes);
}

// Without memory it only counts.
void GeneratorState::place(Layouter* layouter) {
    stops.place(layouter);
    sampler_memory = layouter->place<unsigned char>(sampler_bytes);
    ids = layouter->place<int32_t>(uint64_t{n_ctx} + 1);
    rows = layouter->place<Row>(n_ctx);
    logits = layouter->place<float>(n_vocab);
    text = layouter->place<char>(most_text);
}

// Brings the session up to ids, and the logits with it.
Status GeneratorState::compute() {
    size_t seq = options.seq;
    size_t n_past = session->n_past(seq);
    if (n_ids > n_ctx) {
        size_t n_kept = n_ctx / 2 > 0 ? n_ctx / 2 : 1;
        memmove(ids, ids + n_ids - n_kept, n_kept * sizeof(int32_t));
        n_ids = n_kept;
        n_past = 0;
    }
    if (!options.use_cache || n_past >= n_ids)
        n_past = 0;
    MINIGPT_TRY(session->rewind(n_past, seq));
    size_t n_rows = n_ids - n_past;
    for (size_t i = 0; i < n_rows; i++) {
        rows[i] = Row{ids[n_past + i], static_cast<uint32_t>(seq), i + 1 == n_rows};
    }
    MINIGPT_TRY(session->forward(rows, n_rows, logits));
    computed = true;
    return Status();
}

// Appends bytes to the piece's text, whole characters only. Returns the text's new length.
size_t GeneratorState::append(std::string_view bytes, size_t n_text) {
    return n_text + stream.push(bytes, text + n_text);
}

// The text of a token. Returns whether it completes a stop text.
bool GeneratorState::take_token(int32_t id, Piece* piece) {
    std::string_view certain;
    bool stopped = stops.push(tokenizer->token(id), &certain);
    piece->text = {text, append(certain, 0)};
    return stopped;
}

// What was held back comes out after what the piece has.
void GeneratorState::end(Finish how, Piece* piece) {
    size_t n_text = append(stops.flush(), piece->text.size());
    n_text += stream.flush(text + n_text);
    piece->text = {text, n_text};
    piece->finish = finish = how;
}

Status generator_bytes(const Session& session, const Tokenizer& tokenizer,
                       const GenerateOptions& options, size_t* bytes) {
    if (bytes == nullptr)
        return Status::error(Code::bad_argument, "bytes: a null pointer");
    GeneratorState counted = {};
    MINIGPT_TRY(counted.plan(session, tokenizer, options));
    Layouter layouter(nullptr);
    layouter.place<GeneratorState>(1);
    counted.place(&layouter);
    return size_of_block("generator", layouter, bytes);
}

Generator::~Generator() {
    // Whatever the state holds lies in its own block.
    if (owned_)
        free(state_);
}

Generator::Generator(Generator&& other) noexcept {
    *this = std::move(other);
}

Generator& Generator::operator=(Generator&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(owned_, other.owned_);
    return *this;
}

Status Generator::create(Session& session, const Tokenizer& tokenizer,
                         const GenerateOptions& options) {
    size_t bytes;
    bool owned;
    void* memory = options.memory;
    MINIGPT_TRY(generator_bytes(session, tokenizer, options, &bytes));
    MINIGPT_TRY(take_block("generator", bytes, options.memory_bytes, &memory, &owned));
    Generator old;
    std::swap(*this, old);
    owned_ = owned;
    Layouter layouter(memory);
    state_ = new (layouter.place<GeneratorState>(1)) GeneratorState();
    GeneratorState& s = *state_;
    s.session = &session;
    s.tokenizer = &tokenizer;
    MINIGPT_TRY(s.plan(session, tokenizer, options));
    s.place(&layouter);
    s.stops.start();
    return s.sampler.create(options.sampler, s.n_vocab, s.sampler_memory, s.sampler_bytes);
}

Status Generator::prompt(const int32_t* ids, size_t n_ids) {
    if (state_ == nullptr) {
        return Status::error(Code::bad_argument, "the generator has not been created");
    }
    GeneratorState& s = *state_;
    if (ids == nullptr && n_ids > 0)
        return Status::error(Code::bad_argument, "ids: a null pointer, n_ids is %zu", n_ids);
    int32_t eos = s.tokenizer->eos();
    if (n_ids == 0) {
        if (eos < 0) {
            return Status::error(Code::bad_argument,
                                 "the prompt is empty, and the vocabulary has no <|endoftext|> to "
                                 "begin with");
        }
        ids = &eos;
        n_ids = 1;
    }
    if (n_ids > s.session->n_ctx()) {
        return Status::error(Code::context_full, "the prompt has %zu tokens, the context %zu",
                             n_ids, s.session->n_ctx());
    }
    size_t n_prefix = s.session->n_prefix();
    if (n_ids <= n_prefix) {
        return Status::error(Code::bad_argument,
                             "the prompt's length is %zu; expected more than the prefix's %zu",
                             n_ids, n_prefix);
    }
    size_t n_vocab = s.session->config().n_vocab;
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= n_vocab) {
            return Status::error(Code::bad_id,
                                 "token %zu of the prompt is %" PRId32 ", n_vocab is %zu", i,
                                 ids[i], n_vocab);
        }
    }
    memcpy(s.ids, ids, n_ids * sizeof(int32_t));
    s.n_ids = n_ids;
    s.n_new = 0;
    s.finish = Finish::none;
    s.sampler.restart();
    s.stops.restart();
    s.stream = Utf8Stream();
    MINIGPT_TRY(s.session->rewind(n_prefix, s.options.seq));
    return s.compute();
}

Status Generator::next(Piece* piece) {
    if (piece == nullptr)
        return Status::error(Code::bad_argument, "piece: a null pointer");
    *piece = Piece();
    if (state_ == nullptr || state_->n_ids == 0) {
        return Status::error(Code::bad_argument, "the generator has no prompt");
    }
    GeneratorState& s = *state_;
    if (s.finish != Finish::none) {
        piece->finish = s.finish;
        return Status();
    }
    if (s.n_new == s.options.n_new) {
        s.end(Finish::length, piece);
        return Status();
    }
    if (!s.computed)
        MINIGPT_TRY(s.compute());
    MINIGPT_TRY(check_logits(s.logits, s.n_vocab, s.n_ids - 1));
    int32_t id = s.sampler.sample(s.logits, s.ids, s.n_ids);
    if (id == s.tokenizer->eos() && !s.options.ignore_eos) {
        s.end(Finish::eos, piece);
        return Status();
    }
    piece->id = id;
    s.ids[s.n_ids++] = id;
    s.n_new++;
    s.computed = false;
    if (s.take_token(id, piece)) {
        s.end(Finish::stop_text, piece);
    } else if (s.n_new == s.options.n_new) {
        s.end(Finish::length, piece);
    } else if (s.n_ids > s.session->n_ctx() && s.options.overflow == Overflow::stop) {
        s.end(Finish::context_full, piece);
    }
    return Status();
}

}  // namespace minigpt
