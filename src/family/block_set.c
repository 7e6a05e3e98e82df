// A hash table with open addressing, at most half full.
#include "family/block_set.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

struct block_set {
    struct arena *arena;
    struct block_entry **slots;
    int n, room;  // room: a power of two
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

struct arena *block_set_arena(struct block_set *s) {
    return s->arena;
}
