// Inside the machine of execute.c: the state of what goes on by itself (execute_async.c), shared
// with the products of a warpgroup (execute_wgmma.c).
#pragma once

#include "loop/execute_machine.h"

enum {
    GROUP = 128,
    STEP_MAX = 32,
    ROWS = 64,
    BARRIERS_MAX = 256,
    BULK_MAX = 256,
    PRODUCTS_MAX = 64
};
enum { GROUPS_MAX = 8 * 1024 / GROUP, BOX_ELEMENTS = 64 * 64 };

struct mbarrier {
    const struct loop_buffer *buffer;
    int64_t index;
    int64_t arrivals, pending, bytes, phase;
    int maker, epoch;  // who made it, after how many barriers of the block
};

struct bulk {
    const struct loop_buffer *to;
    const struct loop_map *map;
    int64_t to_index, coordinate[LOOP_MAP_RANK_MAX];
    struct mbarrier *barrier;
    int64_t base, self;  // where the block's own memory begins; the block as a writer
    int warp;            // that stores it, from `to`
};

struct matrix {
    const struct loop_buffer *buffer;
    int64_t at;
    bool across;
    int size;  // rows of A, columns of B
};

struct product {
    struct matrix a, b;
    const struct loop_buffer *words;  // A, where it is in registers, from this index on
    int64_t first_word;
    const struct loop_buffer *sums;
    int64_t first;  // of the sums
    bool adds;
    int group, block;  // the block of its block group
};

struct warpgroup {
    struct product products[PRODUCTS_MAX];
    int n, group;
    bool is_fenced;
};

struct async {
    struct mbarrier barriers[BARRIERS_MAX];
    int n_barriers;
    struct bulk bulk[BULK_MAX];
    int n_bulk;
    struct bulk stores[BULK_MAX];  // that shared memory is still read for
    int n_stores;
    struct warpgroup groups[GROUPS_MAX];
    int64_t events;
};

void async_fail(struct machine *m, const char *what);

int async_block_of(const struct machine *m);  // of the thread whose turn it is, in its block group
// Where the shared memory of the thread's block begins, among that of its block group.
int64_t async_base_of(const struct machine *m, const struct loop_buffer *b);
// Where element `i` lies: pieces of 16 bytes of rows of 128 change places.
int64_t async_swizzled(const struct loop_buffer *b, int64_t i);

// execute_wgmma.c
void async_start_product(struct machine *m, const struct loop_stmt *s, int first);
void async_wait_products(struct machine *m, const struct loop_stmt *s, int first);
// Does a product that is under way read this element?
bool async_product_reads(const struct machine *m, const struct loop_buffer *b, int64_t at);
