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

// The exact bytes a sampler needs. Errors: as Sampler::create.
Status sampler_bytes(const SamplerOptions& options, size_t n_vocab, size_t* bytes);

// Picks a token. The same options, logits and draws give the same tokens on every machine. Ties
// go to the lower id.
class Sampler {
public:
    Sampler() = default;
    ~Sampler();
    Sampler(Sampler&& other) noexcept;
    Sampler& operator=(Sampler&& other) noexcept;

    // Holds 4 bytes and a bit for each token.
    //
    //   memory  64-byte aligned, memory_bytes >= sampler_bytes(); it must stay. nullptr: allocated
    //           here, and freed with the sampler
    //
    // Errors: as check(), bad_argument (n_vocab, memory), out_of_memory.
    Status create(const SamplerOptions& options, size_t n_vocab, void* memory = nullptr,
                  size_t memory_bytes = 0);

    // Back to the seed's first draw.
    void restart();

    // logits [n_vocab]; seen [n_seen]: the ids so far, for the penalty. Minus infinity masks a
    // token: it is picked only if no other number is there. NaN is never picked. Plus infinities
    // share all. A logit that the penalty would make infinite stays the largest finite number. A
    // token of under 2^-44 times the best's probability may be taken as impossible. One draw a
    // call, none where the choice is greedy. Takes time in proportion to n_vocab, whatever the
    // logits and the filters. Allocates nothing. -1 where all logits are NaN,
    // before create(), and for a null pointer.
    int32_t sample(const float* logits, const int32_t* seen, size_t n_seen);

private:
    SamplerState* state_ = nullptr;
};

// Refuses a model's logits that are not numbers: finite weights can overflow, too. Costs little
// beside sampling.
//
//   logits    [n_vocab]
//   position  of the token they come after, for the message
//
// Errors: bad_file with the position and how many are NaN or infinite; bad_argument (a null
// pointer).
Status check_logits(const float* logits, size_t n_vocab, size_t position);

enum class Overflow : uint32_t {
    stop,   // the text ends when the context is full
    slide,  // goes on after re-prefilling the last n_ctx / 2 tokens
};

enum class Finish : uint32_t { none, length, eos, stop_text, context_full };

struct GenerateOptions {
    size_t n_new = 200;
    SamplerOptions sampler;
    const std::string_view* stops = nullptr;  // [n_stops]; all must stay; none may be empty
    size_t n_stops = 0;
    Overflow overflow = Overflow::stop;
    bool ignore_eos = false;
    bool use_cache = true;   // false: every token recomputes all before it; same bits
    size_t seq = 0;          // the session's sequence to use; it is rewound to 0
    void* memory = nullptr;  // 64-byte aligned, generator_bytes() long; nullptr: allocate
    size_t memory_bytes = 0;
};

// A token, and the text that became certain with it: whole characters, and no part of what may
// yet turn out to be a stop text. A step can have a token without text, and the last step text
// without a token (id -1): <|endoftext|> has no piece. The token that completes a stop text has
// one, with the text before the stop text.
struct Piece {
    int32_t id = -1;
    std::string_view text;         // valid until the next call
    Finish finish = Finish::none;  // not none: this was the last piece
};

// The exact bytes a generator of these options needs. Errors: as Generator::create.
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
// The sampler's penalty sees the prompt and what followed it; after a slide, what was kept.
// Allocates in create() only, and not there when memory is handed in. Not thread-safe.
class Generator {
public:
    Generator() = default;
    ~Generator();
    Generator(Generator&& other) noexcept;
    Generator& operator=(Generator&& other) noexcept;

    // tokenizer may be of kind none: pieces then have ids and no text. `session` and `tokenizer`
    // must outlive the generator. Errors: bad_argument (with the option's name), out_of_memory.
    Status create(Session& session, const Tokenizer& tokenizer, const GenerateOptions& options);

    // Starts over with these ids, and with the seed. An empty prompt begins with <|endoftext|>
    // where the vocabulary has one, and is refused (bad_argument) where it has none. Errors:
    // context_full if n_ids is over the session's n_ctx, bad_id. In a session with a prefix the ids
    // begin with the prefix's, and have at least one more (bad_argument).
    Status prompt(const int32_t* ids, size_t n_ids);

    // Errors: bad_argument before prompt(); bad_file if the model's logits are, see check_logits().
    // After the last piece it gives empty ones with the same finish.
    Status next(Piece* piece);

private:
    GeneratorState* state_ = nullptr;
};

}  // namespace minigpt
