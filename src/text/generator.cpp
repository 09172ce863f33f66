#include <cinttypes>
#include <new>

#include "base/buffer.h"
#include "minigpt/generate.h"
#include "text/stops.h"

namespace minigpt {

struct Generator::State {
    Session* session;
    const Tokenizer* tokenizer;
    GenerateOptions options;
    Sampler sampler;
    StopMatcher stops;
    Utf8Stream stream;
    Buffer<int32_t> ids;    // [n_ctx + 1]: the context, and the newest token
    Buffer<Row> rows;       // [n_ctx]
    Buffer<float> logits;   // [n_vocab]: after the last of ids
    Buffer<char> text;      // of a piece
    size_t n_ids = 0;       // 0: no prompt yet
    size_t n_new = 0;       // tokens made
    bool computed = false;  // whether logits are of ids as they are
    Finish finish = Finish::none;

    Status allocate();
    Status compute();
    void end(Finish how, Piece* piece);
    bool take_token(int32_t id, Piece* piece);
    size_t append(const char* bytes, size_t n_bytes, size_t n_text);
};

namespace {

size_t longest_token(const Tokenizer& tokenizer) {
    size_t longest = 0;
    for (size_t i = 0; i < tokenizer.n_tokens(); i++) {
        size_t n;
        tokenizer.token(static_cast<int32_t>(i), &n);
        longest = n > longest ? n : longest;
    }
    return longest;
}

}  // namespace

Status Generator::State::allocate() {
    size_t n_vocab = session->config().n_vocab;
    size_t n_ctx = session->n_ctx();
    size_t longest = longest_token(*tokenizer), longest_stop = 0;
    MINIGPT_TRY(sampler.create(options.sampler, n_vocab));
    MINIGPT_TRY(stops.create(options.stops, options.n_stops, longest));
    for (size_t i = 0; i < options.n_stops; i++) {
        size_t n = strlen(options.stops[i]);
        longest_stop = n > longest_stop ? n : longest_stop;
    }
    // What was held back comes out with the last token at the latest: by both stops and stream.
    if (!ids.allocate(n_ctx + 1) || !rows.allocate(n_ctx) || !logits.allocate(n_vocab) ||
        !text.allocate(longest_stop + longest + 3)) {
        return Status::error(Code::out_of_memory, "no memory for a generator of %zu positions",
                             n_ctx);
    }
    return Status();
}

// Brings the session up to ids, and the logits with it.
Status Generator::State::compute() {
    size_t seq = options.seq, n_ctx = session->n_ctx();
    size_t n_past = session->n_past(seq);
    if (n_ids > n_ctx) {
        size_t n_kept = n_ctx / 2 > 0 ? n_ctx / 2 : 1;
        memmove(ids.data(), ids.data() + n_ids - n_kept, n_kept * sizeof(int32_t));
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
    MINIGPT_TRY(session->forward(rows.data(), n_rows, logits.data()));
    computed = true;
    return Status();
}

// Appends bytes to the piece's text, whole characters only. Returns the text's new length.
size_t Generator::State::append(const char* bytes, size_t n_bytes, size_t n_text) {
    return n_text + stream.push(bytes, n_bytes, text.data() + n_text);
}

// The text of a token. Returns whether it completes a stop text.
bool Generator::State::take_token(int32_t id, Piece* piece) {
    size_t n_bytes, n_certain;
    const char* bytes = tokenizer->token(id, &n_bytes);
    const char* certain;
    bool stopped = stops.push(bytes, n_bytes, &certain, &n_certain);
    piece->text = text.data();
    piece->n_bytes = append(certain, n_certain, 0);
    return stopped;
}

// What was held back comes out after what the piece has.
void Generator::State::end(Finish how, Piece* piece) {
    const char* held;
    size_t n_held;
    stops.flush(&held, &n_held);
    size_t n_text = append(held, n_held, piece->n_bytes);
    n_text += stream.flush(text.data() + n_text);
    piece->text = text.data();
    piece->n_bytes = n_text;
    piece->finish = finish = how;
}

Generator::~Generator() {
    delete state_;
}

Status Generator::create(Session& session, const Tokenizer& tokenizer,
                         const GenerateOptions& options) {
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
    State* state = new (std::nothrow) State();
    if (state == nullptr)
        return Status::error(Code::out_of_memory, "no memory for a generator");
    state->session = &session;
    state->tokenizer = &tokenizer;
    state->options = options;
    Status status = state->allocate();
    if (!status.ok()) {
        delete state;
        return status;
    }
    delete state_;
    state_ = state;
    return status;
}

Status Generator::prompt(const int32_t* ids, size_t n_ids) {
    if (state_ == nullptr) {
        return Status::error(Code::bad_argument, "the generator has not been created");
    }
    State& s = *state_;
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
    memcpy(s.ids.data(), ids, n_ids * sizeof(int32_t));
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
    *piece = Piece();
    if (state_ == nullptr || state_->n_ids == 0) {
        return Status::error(Code::bad_argument, "the generator has no prompt");
    }
    State& s = *state_;
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
    int32_t id = s.sampler.sample(s.logits.data(), s.ids.data(), s.n_ids);
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
