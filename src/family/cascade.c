// Nested conditions on the number of chunks so far: a level is carried when it holds `radix` sums.
#include "family/cascade.h"

struct cascade cascade_for(int64_t n_chunks, int radix) {
    struct cascade c = {.n_levels = 1, .radix = radix};
    for (; n_chunks > radix && c.n_levels < CASCADE_LEVELS_MAX; c.n_levels++)
        n_chunks = (n_chunks + radix - 1) / radix;
    return c;
}

static void carry_from(const struct cascade *c, struct loop_builder *b,
                       const struct loop_expr *number, int level, cascade_fn carry, void *ctx) {
    struct arena *a = b->program->arena;
    int64_t full = 1;
    if (level == c->n_levels)
        return;
    for (int i = 0; i < level; i++)
        full *= c->radix;
    struct loop_builder inner;
    loop_open_if(b, loop_binary(a, LOOP_MOD, number, loop_int(a, full)), loop_int(a, 1), &inner);
    carry(ctx, &inner, level);
    carry_from(c, &inner, number, level + 1, carry, ctx);
    loop_close(b, &inner);
}

void cascade_carry(const struct cascade *c, struct loop_builder *b, const struct loop_expr *chunk,
                   cascade_fn carry, void *ctx) {
    struct arena *a = b->program->arena;
    if (c->n_levels > 1)
        carry_from(c, b, loop_binary(a, LOOP_ADD, chunk, loop_int(a, 1)), 1, carry, ctx);
}
