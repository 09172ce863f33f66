#include "demo.h"

#include <cinttypes>
#include <cstdio>

#include "minigpt/minigpt.h"

namespace minigpt {
namespace {

constexpr char kPrompt[] = "ROMEO:";
constexpr size_t kNew = 64;

// The working memory, cut into a session's and the rest.
struct Memory {
    unsigned char* at;
    size_t left;

    void* take(size_t bytes) {
        bytes = (bytes + 63) / 64 * 64;
        if (bytes > left)
            return nullptr;
        void* p = at;
        at += bytes;
        left -= bytes;
        return p;
    }
};

Status no_room(size_t bytes) {
    return Status::error(Code::out_of_memory, "no room for %zu bytes", bytes);
}

size_t highest(const float* logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best])
            best = i;
    }
    return best;
}

// Greedy text from the prompt, then the digest of the last logits.
Status write_text(const Model& model, const Compute& compute, Memory memory, size_t* used) {
    size_t had = memory.left;
    Tokenizer tokenizer;
    MINIGPT_TRY(tokenizer.open(model));
    int32_t ids[sizeof kPrompt];
    size_t n_ids;
    MINIGPT_TRY(tokenizer.encode(kPrompt, ids, sizeof kPrompt, &n_ids));

    SessionOptions options;
    options.n_ctx = n_ids + kNew;
    options.max_rows = n_ids;
    options.compute = &compute;
    MINIGPT_TRY(session_bytes(model, options, &options.memory_bytes));
    options.memory = memory.take(options.memory_bytes);
    if (options.memory == nullptr)
        return no_room(options.memory_bytes);
    Session session;
    MINIGPT_TRY(session.create(model, options));
    size_t n_vocab = model.config().n_vocab;
    float* logits = static_cast<float*>(memory.take(n_vocab * sizeof(float)));
    if (logits == nullptr)
        return no_room(n_vocab * sizeof(float));
    *used = had - memory.left;

    Row rows[sizeof kPrompt];
    for (size_t i = 0; i < n_ids; i++)
        rows[i] = {ids[i], 0, i + 1 == n_ids};
    MINIGPT_TRY(session.forward(rows, n_ids, logits));
    for (size_t i = 0; i < kNew; i++) {
        int32_t id = static_cast<int32_t>(highest(logits, n_vocab));
        for (char byte : tokenizer.token(id)) {
            const char text[2] = {byte, '\0'};
            print(text);
        }
        Row row = {id, 0, true};
        MINIGPT_TRY(session.forward(&row, 1, logits));
    }
    uint64_t digest = logits_digest(logits, n_vocab);
    char line[64];
    snprintf(line, sizeof line, "\ndigest %08lx%08lx\n", static_cast<unsigned long>(digest >> 32),
             static_cast<unsigned long>(digest & 0xffffffff));
    print(line);
    return Status();
}

Status run(const Place& place, size_t* needed) {
    Model model;
    // As if only half of it had been written to flash.
    Status cut = model.open(place.model, place.model_bytes / 2);
    print("half of it: ");
    print(cut.message());
    print("\n");
    MINIGPT_TRY(model.open(place.model, place.model_bytes));
    Compute compute;
    MINIGPT_TRY(compute.create(1, place.isa));
    Memory memory = {static_cast<unsigned char*>(place.memory), place.memory_bytes};
    MINIGPT_TRY(verify_bytes(model, compute, needed));
    MINIGPT_TRY(verify(model, compute, memory.at, memory.left));
    print("verify: equal\n");
    size_t used = 0;
    MINIGPT_TRY(write_text(model, compute, memory, &used));
    if (used > *needed)
        *needed = used;
    return Status();
}

}  // namespace

bool run_demo(const Place& place, size_t* needed) {
    Status status = run(place, needed);
    if (status.ok())
        return true;
    print(status.message());
    print("\n");
    return false;
}

}  // namespace minigpt
