#include "text/merge.h"

#include "base/buffer.h"

namespace minigpt {
namespace {

Status put_all(const Tables& t, const uint32_t* ids, size_t n, IdSink* sink) {
    for (size_t i = 0; i < n; i++) {
        if (!put_id(t, sink, ids[i]))
            return put_id_error(t, *sink, ids[i]);
    }
    return Status();
}

inline uint32_t byte_id(const Tables& t, char byte) {
    return t.byte_ids[static_cast<unsigned char>(byte)];
}

// Tokens side by side, each with the pair that begins with it. A round goes over all of them.
struct Rounds {
    const Tables* t;
    uint32_t* id;
    uint32_t* rank;    // of the pair; kNone: it has none
    uint32_t* merged;  // the pair's token
    size_t n;

    void look_up(size_t i) {
        const MergeSlot* merge = find_merge(*t, id[i], id[i + 1]);
        rank[i] = merge == nullptr ? kNone : merge->rank;
        if (merge != nullptr)
            merged[i] = merge->merged;
    }

    void start(const char* word, size_t n_bytes) {
        n = n_bytes;
        for (size_t i = 0; i < n; i++)
            id[i] = byte_id(*t, word[i]);
        for (size_t i = 0; i + 1 < n; i++)
            look_up(i);
    }

    uint32_t lowest_rank() const {
        uint32_t lowest = kNone;
        for (size_t i = 0; i + 1 < n; i++)
            lowest = rank[i] < lowest ? rank[i] : lowest;
        return lowest;
    }

    // Merges all pairs of this rank, from left to right.
    void merge_all(uint32_t lowest) {
        size_t n_left = 0;
        bool stale = false;  // whether the last of them is new, so that its pair is
        for (size_t i = 0; i < n; n_left++) {
            bool merge = i + 1 < n && rank[i] == lowest;
            id[n_left] = merge ? merged[i] : id[i];
            if (!merge) {
                rank[n_left] = rank[i];
                merged[n_left] = merged[i];
            }
            if (n_left > 0 && (merge || stale))
                look_up(n_left - 1);
            i += merge ? 2 : 1;
            stale = merge;
        }
        n = n_left;
    }

    // Whether nothing is left to merge. Rounds that leave more than 15 of 16 tokens end it early:
    // until then all of them together take time in proportion to n.
    bool run(bool to_the_end) {
        while (n > 1) {
            uint32_t lowest = lowest_rank();
            if (lowest == kNone)
                return true;
            size_t before = n;
            merge_all(lowest);
            if (!to_the_end && n > before - before / 16)
                return false;
        }
        return true;
    }
};

// A long word: tokens in a linked list over positions, and a heap of the pairs that have a rank,
// lowest rank first and leftmost first among equals. A pair that has changed meanwhile is not
// taken out of the heap but recognised when its turn comes.
struct LongWord {
    const Tables* t;
    uint32_t n;               // tokens at first
    size_t n_heap;            // pairs in the heap
    Buffer<uint32_t> id;      // [n]: the token that begins here
    Buffer<uint32_t> rank;    // [n]: of it and the next; kNone: no pair, or no token begins here
    Buffer<uint32_t> next;    // [n]: where the next begins; n: none
    Buffer<uint32_t> before;  // [n]: where the one before begins; kNone: none
    Buffer<uint64_t> heap;    // [2 n]: rank << 32 | position
    Buffer<uint32_t> round;   // [n]: positions merged in one round

    // Each of the n - 1 merges takes one pair out and puts two in.
    bool allocate(size_t size) {
        return id.allocate(size) && rank.allocate(size) && next.allocate(size) &&
               before.allocate(size) && heap.allocate(size * 2) && round.allocate(size);
    }

    void sift_down(size_t i) {
        uint64_t item = heap[i];
        for (;;) {
            size_t child = i * 2 + 1;
            if (child >= n_heap)
                break;
            if (child + 1 < n_heap && heap[child + 1] < heap[child])
                child++;
            if (heap[child] >= item)
                break;
            heap[i] = heap[child];
            i = child;
        }
        heap[i] = item;
    }

    void push(uint64_t item) {
        size_t i = n_heap++;
        while (i > 0 && heap[(i - 1) / 2] > item) {
            heap[i] = heap[(i - 1) / 2];
            i = (i - 1) / 2;
        }
        heap[i] = item;
    }

    uint64_t pop() {
        uint64_t top = heap[0];
        heap[0] = heap[--n_heap];
        sift_down(0);
        return top;
    }

    // From the tokens and ranks that are there.
    void start(size_t size) {
        n = static_cast<uint32_t>(size);
        n_heap = 0;
        for (uint32_t i = 0; i < n; i++) {
            next[i] = i + 1;
            before[i] = i == 0 ? kNone : i - 1;
            if (i + 1 == n)
                rank[i] = kNone;
            if (rank[i] != kNone)
                heap[n_heap++] = uint64_t{rank[i]} << 32 | i;
        }
        for (size_t i = n_heap / 2; i-- > 0;)
            sift_down(i);
    }

    // The pair that begins at i is new.
    void pair_changed(uint32_t i) {
        const MergeSlot* merge = next[i] == n ? nullptr : find_merge(*t, id[i], id[next[i]]);
        rank[i] = merge == nullptr ? kNone : merge->rank;
        if (rank[i] != kNone)
            push(uint64_t{rank[i]} << 32 | i);
    }

    void merge_at(uint32_t i) {
        uint32_t right = next[i];
        const MergeSlot* merge = find_merge(*t, id[i], id[right]);
        id[i] = merge->merged;
        rank[right] = kNone;
        next[i] = next[right];
        if (next[i] != n)
            before[next[i]] = i;
        pair_changed(i);
        if (before[i] != kNone)
            pair_changed(before[i]);
    }

    void run() {
        while (n_heap > 0) {
            uint32_t lowest = static_cast<uint32_t>(heap[0] >> 32);
            size_t n_round = 0;
            while (n_heap > 0 && heap[0] >> 32 == lowest && n_round < n) {
                round[n_round++] = static_cast<uint32_t>(pop());
            }
            for (size_t k = 0; k < n_round; k++) {
                if (rank[round[k]] == lowest)
                    merge_at(round[k]);
            }
        }
    }
};

}  // namespace

Status merge_short_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink) {
    uint32_t id[kShortWord];
    uint32_t rank[kShortWord];
    uint32_t merged[kShortWord];
    Rounds rounds = {&t, id, rank, merged, 0};
    rounds.start(word, n_bytes);
    rounds.run(true);
    return put_all(t, id, rounds.n, sink);
}

// What is made of few letters shrinks by rounds; then the heap takes over.
Status merge_long_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink) {
    LongWord w;
    w.t = &t;
    if (n_bytes >= kNone / 2 || !w.allocate(n_bytes)) {
        return Status::error(Code::out_of_memory, "text: no memory to encode a word of %zu bytes",
                             n_bytes);
    }
    Rounds rounds = {&t, w.id.data(), w.rank.data(), w.round.data(), 0};
    rounds.start(word, n_bytes);
    bool done = rounds.run(false);
    size_t n = rounds.n;
    if (!done) {
        w.start(n);
        w.run();
        n = 0;
        for (uint32_t i = 0; i != w.n; i = w.next[i])
            w.id[n++] = w.id[i];
    }
    return put_all(t, w.id.data(), n, sink);
}

Status merge_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink) {
    return n_bytes <= kShortWord ? merge_short_word(t, word, n_bytes, sink)
                                 : merge_long_word(t, word, n_bytes, sink);
}

}  // namespace minigpt
