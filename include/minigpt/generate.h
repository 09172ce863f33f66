// From logits to text: sampling, and the loop around a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "minigpt/model.h"
#include "minigpt/status.h"
#include "minigpt/tokenizer.h"

namespace minigpt {

struct SamplerState;    // src/text/sampler.cpp
struct GeneratorState;  // src/text/generator.cpp

// A small random number generator with the same sequence on every machine: PCG32, O'Neill 2014,
// "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
// Generation". All seeds are equally good, including 0.
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
        1;  // > 0; divides a seen token's logit if that is positive, else multiplies it; 1: off
    float temperature = 1;  // >= 0; 0: greedy
    size_t top_k = 0;       // keep the k best; 0: off
    float top_p = 1;        // in [0, 1]; keep the smallest set that reaches p; 1: off, 0: greedy
    float min_p = 0;        // in [0, 1]; drop tokens below min_p times the best; 0: off
    uint64_t seed = 0;
};

// Errors: bad_argument with the option's name.
Status check(const SamplerOptions& options);

// The exact bytes a sampler needs. Errors: as Sampler::create.
Status sampler_bytes(const SamplerOptions& options, size_t n_vocab, size_t* bytes);

// Picks a token. The same options, logits and draws give the same tokens on every machine. Among
// equals the lower id wins.
class Sampler {
public:
    Sampler() = default;
    ~Sampler();
    Sampler(Sampler&& other) noexcept;
    Sampler& operator=(Sampler&& other) noexcept;

    // Uses 4 bytes and one bit for each token.
    //
    //   memory  64-byte aligned, memory_bytes >= sampler_bytes(); must outlive the sampler.
    //           nullptr: allocated here, and freed with the sampler
    //
    // Errors: as check(), bad_argument (n_vocab, memory), out_of_memory.
    Status create(const SamplerOptions& options, size_t n_vocab, void* memory = nullptr,
                  size_t memory_bytes = 0);

    // Back to the seed's first draw.
    void restart();

    //   logits  [n_vocab]
    //   seen    [n_seen]: the ids so far, for the penalty
    //
    // Returns -1 if all logits are NaN, before create(), and for a null pointer. Otherwise NaN is
    // never picked. Minus infinity masks a token: it is picked only if there is no other number.
    // Plus infinities share all the probability. A logit that the penalty would make infinite
    // becomes the largest finite number. A token with less than 2^-44 times the best probability
    // may count as impossible.
    //
    // Takes one draw a call, none if the choice is greedy. The time is proportional to n_vocab for
    // any logits and filters. Allocates nothing.
    int32_t sample(const float* logits, const int32_t* seen, size_t n_seen);

private:
    SamplerState* state_ = nullptr;
    bool owned_ = false;
};

// Checks that all logits are finite. Finite weights can overflow, too. Costs little compared with
// sampling.
//
//   logits    [n_vocab]
//   position  of the token before them, for the message
//
// Errors: bad_file with the position and how many are NaN or infinite; bad_argument (a null
// pointer).
Status check_logits(const float* logits, size_t n_vocab, size_t position);

enum class Overflow : uint32_t {
    stop,   // the text ends when the context is full
    slide,  // generation goes on after re-prefilling the last n_ctx / 2 tokens
};

enum class Finish : uint32_t { none, length, eos, stop_text, context_full };

struct GenerateOptions {
    size_t n_new = 200;
    SamplerOptions sampler;
    const std::string_view* stops = nullptr;  // [n_stops], none empty; must outlive the generator
    size_t n_stops = 0;
    Overflow overflow = Overflow::stop;
    bool ignore_eos = false;
    bool use_cache = true;   // false: each token recomputes all earlier ones; same bits
    size_t seq = 0;          // the session's sequence to use; it is rewound to 0
    void* memory = nullptr;  // 64-byte aligned, generator_bytes() long; nullptr: allocate
    size_t memory_bytes = 0;
};

// A token, and the text that is certain after it. The text has whole characters only, and no part
// of what may still become a stop text. A step may have a token without text. The last step may
// have text without a token (id -1). <|endoftext|> has no piece. The token that completes a stop
// text has one, with the text before the stop text.
struct Piece {
    int32_t id = -1;
    std::string_view text;         // valid until the next call
    Finish finish = Finish::none;  // not none: this was the last piece
};

// The exact bytes a generator with these options needs. Errors: as Generator::create.
Status generator_bytes(const Session& session, const Tokenizer& tokenizer,
                       const GenerateOptions& options, size_t* bytes);

// Continues a prompt token by token.
//
//     Generator generator;
//     MINIGPT_TRY(generator.create(session, tokenizer, options));
//     MINIGPT_TRY(generator.prompt(ids, n_ids));
//     Piece piece;
//     do {
//         MINIGPT_TRY(generator.next(&piece));
//         fwrite(piece.text.data(), 1, piece.text.size(), stdout);
//     } while (piece.finish == Finish::none);
//
// The sampler's penalty sees the prompt and all generated tokens. After a slide it sees only the
// tokens that were kept. Allocates in create() only, and only if no memory is handed in. Not
// thread-safe.
class Generator {
public:
    Generator() = default;
    ~Generator();
    Generator(Generator&& other) noexcept;
    Generator& operator=(Generator&& other) noexcept;

    // With a tokenizer of kind none, pieces have ids and no text. `session` and `tokenizer`
    // must outlive the generator. Errors: bad_argument (with the option's name), out_of_memory.
    Status create(Session& session, const Tokenizer& tokenizer, const GenerateOptions& options);

    // Starts over with these ids and with the seed. An empty prompt becomes <|endoftext|>, or is
    // refused (bad_argument) if the vocabulary has none. If the session has a prefix, the ids must
    // begin with the prefix's and have at least one more (else bad_argument). Other errors:
    // context_full if n_ids is more than the session's n_ctx, bad_id.
    Status prompt(const int32_t* ids, size_t n_ids);

    // Errors: bad_argument before prompt(); bad_file if a logit is not finite, see check_logits().
    // After the last piece it returns empty pieces with the same finish.
    Status next(Piece* piece);

private:
    GeneratorState* state_ = nullptr;
    bool owned_ = false;
};

}  // namespace minigpt
