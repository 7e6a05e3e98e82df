// What attention's emitters share: the kernel that is being built, shorthands for its expressions,
// and the softmax, which is the same for both, since warps and warpgroups have scores alike: of 16
// rows of a warp a thread has two (g and g + 8, "halves"), and two of every eight columns, as pairs
// [column / 8][half].
#pragma once

#include "base/arena.h"
#include "family/attention_mma.h"
#include "family/gpu.h"

// 16-bit rows of an operand in shared memory.
struct attention_tile {
    const struct attention_side *side;
    struct loop_buffer *buffer;
    int group_row, group_column;             // of the space
    int64_t rows, size, width, length;       // in all, elements of a row, and with what fills it up
    struct loop_buffer *map, *full, *empty;  // wgmma: the copy engine's view, barriers of slots
    int64_t box_rows;
};

struct attention_build {
    struct lowering *l;
    struct arena *a;
    const struct attention_form *f;
    struct attention_sizes z;
    struct scope *outer;                                  // batch fixed
    const struct loop_expr *thread, *lane, *first, *own;  // first query of the block, of the warp
    struct attention_tile q, k, v;
    struct loop_buffer *queries, *fragment, *probs[3], *single;
    // Pairs of two columns: scores, results, largest so far, its successor, what scales, sums.
    struct loop_buffer *score, *sum, *top, *next, *scale, *total;
};

#define BUILD struct attention_build
#include "family/index_arithmetic.h"

static inline const struct loop_expr *get(const struct attention_build *x,
                                          const struct loop_buffer *b, const struct loop_expr *i) {
    return loop_load(x->a, b, i, 2, 1);
}

static inline const struct loop_expr *op(const struct attention_build *x, enum loop_op op,
                                         const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->a, op, p, q);
}

static inline void clear(const struct attention_build *x, struct loop_builder *b,
                         const struct loop_buffer *to, double value) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", to->count, &inner);
    loop_store(&inner, to, i, loop_broadcast(x->a, loop_real(x->a, value), 2), false);
    loop_close(b, &inner);
}

// Scores, results and what the softmax keeps; `width` of results with what fills them up.
void attention_make_registers(struct attention_build *x, int64_t width);

// How many tiles of keys the block walks over.
const struct loop_expr *attention_count_tiles(const struct attention_build *x,
                                              struct loop_builder *b);

// What is computed of the scores of tile number `tile`, by element; keys beyond the last are as
// good as nothing.
void attention_finish_scores(const struct attention_build *x, struct loop_builder *b,
                             const struct loop_expr *tile, bool is_first);
// The largest of each row so far, and what everything before is scaled by; then exponentials in
// place of scores, added up.
void attention_find_largest(const struct attention_build *x, struct loop_builder *b);
void attention_find_powers(const struct attention_build *x, struct loop_builder *b);
// Their parts as fragments, and results scaled.
void attention_pack(const struct attention_build *x, struct loop_builder *b);
void attention_scale_results(const struct attention_build *x, struct loop_builder *b);
// Divided by the sums, and what follows by element.
void attention_store_results(const struct attention_build *x, struct loop_builder *b);
