// From logits to text: sampling, and the loop around a session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/model.h"
#include "minigpt/status.h"
#include "minigpt/tokenizer.h"

namespace minigpt {

// A small generator of random numbers with the same sequence everywhere: PCG32, O'Neill 2014,
// "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
// Generation". Every seed, 0 too, is as good as another.
class Random {
public:
    explicit Random(uint64_t seed = 0);
    uint32_t next();     // uniform on all 32 bits
    double next_unit();  // uniform in [0, 1), 53 bits: never 1

private:
    uint64_t state_;
};

// The filters apply in the order of the fields.
struct SamplerOptions {
    float repeat_penalty =
        1;  // > 0; a seen token's logit is divided by it if positive, else multiplied; 1: off
    float temperature = 1;  // >= 0; 0: greedy
    size_t top_k = 0;       // keep the k best; 0: off
    float top_p = 1;        // in [0, 1]; keep the smallest set that reaches p; 1: off, 0: greedy
    float min_p = 0;        // in [0, 1]; drop what is under min_p times the best; 0: off
    uint64_t seed = 0;
};

// Errors: bad_argument with the option's name.
Status check(const SamplerOptions& options);

// Picks a token. The same options, logits and draws give the same tokens on every machine. Ties
// go to the lower id.
class Sampler {
public:
    Sampler() = default;
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    // Holds 4 bytes for each token, 12 with top_k or top_p. Errors: as check(), bad_argument
    // (n_vocab), out_of_memory.
    Status create(const SamplerOptions& options, size_t n_vocab);

    // Back to the seed's first draw.
    void restart() { random_ = Random(options_.seed); }

    // logits [n_vocab]; seen [n_seen]: the ids so far, for the penalty. NaN is never picked
    // unless nothing else is there (then id 0), minus infinity only if no other number is there.
    // Plus infinities share all. A token of under 2^-44 times the best's probability may be taken
    // as impossible. One draw a call, none where the choice is greedy. Allocates nothing. -1 before
    // create().
    int32_t sample(const float* logits, const int32_t* seen, size_t n_seen);

private:
    SamplerOptions options_;
    Random random_;
    struct SamplerMemory* memory_ = nullptr;
};

enum class Overflow : uint32_t {
    stop,   // the text ends when the context is full
    slide,  // goes on after re-prefilling the last n_ctx / 2 tokens
};

enum class Finish : uint32_t { none, length, eos, stop_text, context_full };

struct GenerateOptions {
    size_t n_new = 200;
    SamplerOptions sampler;
    const char* const* stops = nullptr;  // [n_stops] texts, which must stay; none may be empty
    size_t n_stops = 0;
    Overflow overflow = Overflow::stop;
    bool ignore_eos = false;
    bool use_cache = true;  // false: every token recomputes all before it; same bits
    size_t seq = 0;         // the session's sequence to use; it is rewound to 0
};

// A token, and the text that became certain with it: whole characters, and no part of what may
// yet turn out to be a stop text. A step can have a token without text, and the last step text
// without a token (id -1): <|endoftext|> has no piece. The token that completes a stop text has
// one, with the text before the stop text.
struct Piece {
    int32_t id = -1;
    const char* text = "";  // valid until the next call
    size_t n_bytes = 0;
    Finish finish = Finish::none;  // not none: this was the last piece
};

// Continues a prompt token by token.
//
//     Generator generator;
//     MINIGPT_TRY(generator.create(session, tokenizer, options));
//     MINIGPT_TRY(generator.prompt(ids, n_ids));
//     Piece piece;
//     do {
//         MINIGPT_TRY(generator.next(&piece));
//         fwrite(piece.text, 1, piece.n_bytes, stdout);
//     } while (piece.finish == Finish::none);
//
// The sampler's penalty sees the prompt and what followed it; after a slide, what was kept.
// All memory is taken in create(). Not thread-safe.
class Generator {
public:
    Generator() = default;
    ~Generator();
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    // tokenizer may be of kind none: pieces then have ids and no text. `session` and `tokenizer`
    // must outlive the generator. Errors: bad_argument (with the option's name), out_of_memory.
    Status create(Session& session, const Tokenizer& tokenizer, const GenerateOptions& options);

    // Starts over with these ids, and with the seed. An empty prompt begins with <|endoftext|>
    // where the vocabulary has one, and is refused (bad_argument) where it has none. Errors:
    // context_full if n_ids is over the session's n_ctx, bad_id. In a session with a prefix the ids
    // begin with the prefix's, and have at least one more (bad_argument).
    Status prompt(const int32_t* ids, size_t n_ids);

    // Errors: bad_argument before prompt(); bad_file if the model's logits or the vocabulary are
    // broken. After the last piece it gives empty ones with the same finish.
    Status next(Piece* piece);

private:
    struct State;
    State* state_ = nullptr;
};

}  // namespace minigpt
