// Up to three loops, one per width; ranges (loop/range.h) decide which of them would run.
#include "family/sweep.h"

#include "loop/range.h"

// begin + (end - begin) / by * by, or `end` where that is known to be the same.
static const struct loop_expr *whole(struct arena *a, const struct sweep *w, int64_t by) {
    if (w->multiple % by == 0)
        return w->end;
    const struct loop_expr *length = loop_binary(a, LOOP_SUB, w->end, w->begin);
    length = loop_binary(a, LOOP_DIV, length, loop_int(a, by));
    length = loop_binary(a, LOOP_MUL, length, loop_int(a, by));
    return loop_binary(a, LOOP_ADD, w->begin, length);
}

struct part {
    const struct loop_expr *begin, *end;
    int lanes, unroll;
};

static void build_part(struct scope *outer, const struct sweep *w, const struct part *part,
                       sweep_fn fn, void *ctx) {
    struct arena *a = outer->lowering->arena;
    if (range_at_most(part->end, part->begin))
        return;
    struct loop_builder inner, copies;
    struct loop_for f = {w->name, part->begin, part->end, part->lanes * part->unroll, false};
    const struct loop_expr *j = loop_open_for(outer->builder, &f, &inner);
    struct loop_for u = {"copy", loop_int(a, 0), loop_int(a, part->unroll), 1, true};
    const struct loop_expr *copy = loop_open_for(&inner, &u, &copies);

    struct scope s = scope_inside(outer, &copies);
    const struct loop_expr *ahead = loop_binary(a, LOOP_MUL, copy, loop_int(a, part->lanes));
    s.index[w->group] = loop_binary(a, LOOP_ADD, j, ahead);
    if (w->offset)
        s.index[w->group] = loop_binary(a, LOOP_ADD, w->offset, s.index[w->group]);
    s.lane_group = w->group;
    s.lanes = part->lanes;
    fn(ctx, &s, copy);
    loop_close(&inner, &copies);
    loop_close(outer->builder, &inner);
}

static void build_head(struct scope *outer, const struct sweep *w, sweep_fn fn, void *ctx) {
    struct sweep rest = *w;
    rest.begin = loop_binary(outer->lowering->arena, LOOP_ADD, w->begin, w->head);
    rest.head = NULL;
    rest.multiple = 1;
    build_part(outer, w, &(struct part){w->begin, rest.begin, 1, 1}, fn, ctx);
    sweep_build(outer, &rest, fn, ctx);
}

void sweep_build(struct scope *outer, const struct sweep *w, sweep_fn fn, void *ctx) {
    struct arena *a = outer->lowering->arena;
    if (w->head) {
        build_head(outer, w, fn, ctx);
        return;
    }
    const struct loop_expr *unrolled = whole(a, w, (int64_t)w->lanes * w->unroll);
    const struct loop_expr *vectors = whole(a, w, w->lanes);
    build_part(outer, w, &(struct part){w->begin, unrolled, w->lanes, w->unroll}, fn, ctx);
    if (w->unroll > 1)
        build_part(outer, w, &(struct part){unrolled, vectors, w->lanes, 1}, fn, ctx);
    if (w->lanes > 1)
        build_part(outer, w, &(struct part){vectors, w->end, 1, 1}, fn, ctx);
}

const struct loop_expr *sweep_position(const struct sweep *w, const struct scope *s) {
    const struct loop_expr *index = s->index[w->group];
    return w->offset ? loop_binary(s->lowering->arena, LOOP_SUB, index, w->offset) : index;
}

int64_t sweep_multiple(int64_t count, int64_t run) {
    while (run > 0) {
        int64_t rest = count % run;
        count = run;
        run = rest;
    }
    return count;
}

struct sweep_parts sweep_parts(struct arena *a, const struct sweep *w) {
    const struct loop_expr *vectors = whole(a, w, w->lanes);
    return (struct sweep_parts){
        .vectors = w->lanes > 1 && !range_at_most(vectors, w->begin),
        .scalars = w->lanes == 1 || !range_at_most(w->end, vectors),
    };
}
