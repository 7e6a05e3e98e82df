// Arena: allocate freely, release everything at once.
//
// Lifetimes in hone are few and nested: the command, one candidate inside it,
// one function inside that. Each has an arena; a function that builds a result
// takes the arena that the result shall live in as its first argument. That is
// the whole ownership rule. Allocation cannot fail (out of memory aborts) and
// memory is zeroed.
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head;  // newest block; older ones chain behind it
};

void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Copy of `size` bytes at `p`.
void *arena_copy(struct arena *a, const void *p, size_t size);

// Free every block. The arena is empty and ready for use again.
void arena_reset(struct arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))
