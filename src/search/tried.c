// Keys are taken back in the reverse order of their coming, so a slot can simply be cleared: none
// that came later was placed behind it.
#include "search/tried.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "record/candidate.h"
#include "record/run.h"

static uint64_t key_of(const char *text) {
    return hash_bytes(text, strlen(text), 1);
}

// The slot that holds the key, or the free one where it belongs.
static int slot_of(const struct key_set *s, uint64_t key) {
    int at = (int)(key % (uint64_t)s->n_slots);
    while (s->slots[at] > 0 && s->keys[s->slots[at] - 1] != key)
        at = at + 1 == s->n_slots ? 0 : at + 1;
    return at;
}

static bool has_key(const struct key_set *s, uint64_t key) {
    return s->n > 0 && s->slots[slot_of(s, key)] > 0;
}

static void grow_set(struct arena *a, struct key_set *s) {
    uint64_t *keys = s->keys;
    s->room = s->room ? 2 * s->room : 64;
    s->keys = arena_array(a, uint64_t, s->room);
    s->n_slots = 2 * s->room + 1;
    s->slots = arena_array(a, int, s->n_slots);
    for (int i = 0; i < s->n; i++) {
        s->keys[i] = keys[i];
        s->slots[slot_of(s, keys[i])] = i + 1;
    }
}

static void add_key(struct arena *a, struct key_set *s, uint64_t key) {
    if (has_key(s, key))
        return;
    if (s->n == s->room)
        grow_set(a, s);
    s->keys[s->n] = key;
    s->slots[slot_of(s, key)] = ++s->n;
}

static void take_back(struct key_set *s, int n) {
    while (s->n > n) {
        s->slots[slot_of(s, s->keys[s->n - 1])] = 0;
        s->n--;
    }
}

static void add_text(struct arena *a, const char ***list, int *n, int *room, const char *text) {
    if (*n == *room) {
        *room = *room ? 2 * *room : 64;
        const char **more = arena_array(a, const char *, *room);
        if (*n > 0)
            memcpy(more, *list, sizeof *more * (size_t)*n);
        *list = more;
    }
    (*list)[(*n)++] = text;
}

void tried_add_kernel(struct arena *a, struct tried *t, const char *kernel) {
    if (kernel)
        add_text(a, &t->kernels, &t->n_kernels, &t->room, kernel);
}

void tried_add_candidate(struct arena *a, struct tried *t, const struct candidate *c) {
    add_key(a, &t->candidates, key_of(c->hash));
    add_key(a, &t->codes, candidate_code(c));
}

void tried_add_node(struct arena *a, struct tried *t, const struct search_node *n) {
    add_text(a, &t->hashes, &t->n_hashes, &t->hashes_room, n->candidate.hash);
    if (search_node_is_untimed(n))
        return;  // a race had no time for it: it may be proposed again
    tried_add_kernel(a, t, n->candidate.kernel);
    tried_add_candidate(a, t, &n->candidate);
}

void tried_begin(struct tried *t) {
    t->n_stored_kernels = t->n_kernels;
    t->n_stored_candidates = t->candidates.n;
    t->n_stored_codes = t->codes.n;
}

void tried_forget(struct tried *t) {
    t->n_kernels = t->n_stored_kernels;
    take_back(&t->candidates, t->n_stored_candidates);
    take_back(&t->codes, t->n_stored_codes);
}

bool tried_has(const struct tried *t, const struct candidate *c, bool by_code) {
    return has_key(&t->candidates, key_of(c->hash)) ||
           (by_code && has_key(&t->codes, candidate_code(c)));
}
