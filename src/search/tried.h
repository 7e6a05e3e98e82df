// A memory of what was tried: blocks by their text, candidates by their hash and by their code less
// its comments. Looked up by hash, so that it costs the same in a long run as in a short one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct candidate;
struct search_node;

// Open addressing; what a decision added is at the end of `keys` and can be taken back.
struct key_set {
    uint64_t *keys;  // in the order they came
    int n, room;
    int *slots;  // 1 + position in `keys`; 0: free
    int n_slots;
};

struct tried {
    const char **kernels;  // canonical blocks of the nodes, then of what was tried since
    int n_kernels, room;
    const char **hashes;  // of every node's candidate
    int n_hashes, hashes_room;
    struct key_set candidates, codes;
    int n_stored_kernels, n_stored_candidates, n_stored_codes;  // what the nodes gave
};

void tried_add_node(struct arena *a, struct tried *t, const struct search_node *n);
// What was added since is a decision's and will be forgotten.
void tried_begin(struct tried *t);
void tried_forget(struct tried *t);

void tried_add_kernel(struct arena *a, struct tried *t, const char *kernel);
void tried_add_candidate(struct arena *a, struct tried *t, const struct candidate *c);
// By its hash; `by_code`: or by the same code but for comments.
bool tried_has(const struct tried *t, const struct candidate *c, bool by_code);
