// A hash table with open addressing, at most half full.
#include "family/block_set.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

struct block_set {
    struct arena *arena;
    struct block_entry **slots;
    int n, room;        // room: a power of two
    const char *first;  // that was added; NULL: none was
};

struct block_set *block_set_new(struct arena *a) {
    struct block_set *s = arena_new(a, struct block_set);
    s->arena = a;
    s->room = 64;
    s->slots = arena_array(a, struct block_entry *, s->room);
    return s;
}

// Where the text is, or would be.
static struct block_entry **slot_of(const struct block_set *s, const char *text) {
    uint64_t at = hash_bytes(text, strlen(text), 1);
    for (;; at++) {
        struct block_entry **slot = &s->slots[at & (uint64_t)(s->room - 1)];
        if (!*slot || strcmp((*slot)->text, text) == 0)
            return slot;
    }
}

static void grow(struct block_set *s) {
    struct block_entry **old = s->slots;
    int n_old = s->room;
    s->room *= 2;
    s->slots = arena_array(s->arena, struct block_entry *, s->room);
    for (int i = 0; i < n_old; i++)
        if (old[i])
            *slot_of(s, old[i]->text) = old[i];
}

struct block_entry *block_set_add(struct block_set *s, const char *text) {
    struct block_entry **slot = slot_of(s, text), *entry = *slot;
    if (entry)
        return entry;
    *slot = entry = arena_new(s->arena, struct block_entry);
    entry->text = text;
    if (!s->first)
        s->first = text;
    if (2 * ++s->n > s->room)
        grow(s);
    return entry;
}

struct block_entry *block_set_find(struct block_set *s, const char *text) {
    return *slot_of(s, text);
}

bool block_set_has(const struct block_set *s, const char *text) {
    return *slot_of(s, text) != NULL;
}

const char *block_set_first(const struct block_set *s) {
    return s->first;
}

struct block_entry *block_set_next(struct block_set *s, int *at) {
    while (*at < s->room && !s->slots[*at])
        ++*at;
    return *at < s->room ? s->slots[(*at)++] : NULL;
}

struct arena *block_set_arena(struct block_set *s) {
    return s->arena;
}

// 0 for the same word, 1 for another; numbers that are near are nearly the same.
static double word_distance(const char *x, size_t n, const char *y, size_t m) {
    if (n == m && memcmp(x, y, n) == 0)
        return 0;
    double p = strtod(x, NULL), q = strtod(y, NULL);
    double d = p > 0 && q > 0 ? fabs(log2(p / q)) / 8 + 0.125 : 1;
    return d < 1 ? d : 1;
}

// INFINITY: one has more words than the other.
static double text_distance(const char *x, const char *y) {
    double d = 0;
    for (;;) {
        x += strspn(x, " \n");
        y += strspn(y, " \n");
        size_t n = strcspn(x, " \n"), m = strcspn(y, " \n");
        if (n == 0 || m == 0)
            return n == m ? d : INFINITY;
        d += word_distance(x, n, y, m);
        x += n;
        y += m;
    }
}

const char *block_set_nearest(const struct block_set *s, const char *text) {
    const char *nearest = NULL;
    double least = INFINITY;
    for (int i = 0; i < s->room; i++) {
        const char *other = s->slots[i] ? s->slots[i]->text : NULL;
        double d = other ? text_distance(text, other) : INFINITY;
        if (d < least || (d == least && nearest && strcmp(other, nearest) < 0)) {
            least = d;
            nearest = other;
        }
    }
    return nearest;
}
