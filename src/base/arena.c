// A chain of blocks, the newest first, which alone is filled. Blocks begin small and double, since
// most arenas hold little and zeroing is what a block costs. Under AddressSanitizer every
// allocation is a block of its own.
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 2 * 1024, BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char data[];
};

// Under AddressSanitizer every allocation gets a block of its own, so that an
// overrun into the neighbour is seen (libgit2 does this for its pools).
#if defined(__SANITIZE_ADDRESS__)
enum { IS_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#else
enum { IS_SANITIZED = 0 };
#endif

static struct arena_block *new_block(const struct arena_block *last, size_t min_size) {
    size_t size = !last ? FIRST_SIZE : last->size < BLOCK_SIZE / 2 ? 2 * last->size : BLOCK_SIZE;
    size = IS_SANITIZED || min_size > size ? min_size : size;
    struct arena_block *b = calloc(1, sizeof *b + size);
    if (!b) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    b->size = size;
    return b;
}

void *arena_alloc(struct arena *a, size_t size) {
    if (size > SIZE_MAX / 2) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!a->head || a->head->size - a->head->used < size) {
        struct arena_block *b = new_block(a->head, size);
        b->next = a->head;
        a->head = b;
    }
    void *p = a->head->data + a->head->used;
    a->head->used += size;
    return p;
}

void *arena_copy(struct arena *a, const void *p, size_t size) {
    void *copy = arena_alloc(a, size);
    if (size > 0)
        memcpy(copy, p, size);
    return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t len) {
    char *copy = arena_alloc(a, len + 1);
    memcpy(copy, s, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s) {
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    // Counting first would cost more than the copy: glibc counts long texts slowly.
    char *printed;
    va_list ap;
    va_start(ap, fmt);
    int len = vasprintf(&printed, fmt, ap);
    va_end(ap);
    if (len < 0) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    char *text = arena_strndup(a, printed, (size_t)len);
    free(printed);
    return text;
}

void arena_reset(struct arena *a) {
    while (a->head) {
        struct arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
}
