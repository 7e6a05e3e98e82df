// Index expressions: what a reshape of a reshape becomes, and which intervals are known.
#include "family/index.h"

#include <criterion/criterion.h>

#include "base/arena.h"
#include "family/access.h"
#include "lowering.h"

// x in one row of a [8, 16] matrix: row * 16 + column.
static const struct index *flat(struct arena *a) {
    return index_add(a, index_scale(a, index_axis(a, 0, 8), 16), index_axis(a, 1, 16));
}

Test(index, takes_a_split_back) {
    struct arena a = {0};
    const struct index *i = index_axis(&a, 3, 96);
    const struct index *high = index_quotient(&a, i, 12), *low = index_remainder(&a, i, 12);
    cr_assert(index_same(index_add(&a, index_scale(&a, high, 12), low), i));
    // Three digits, in any order.
    const struct index *middle = index_remainder(&a, index_quotient(&a, i, 4), 3);
    const struct index *last = index_remainder(&a, i, 4);
    const struct index *sum = index_add(&a, last, index_scale(&a, high, 12));
    cr_assert(index_same(index_add(&a, sum, index_scale(&a, middle, 4)), i));
    arena_reset(&a);
}

Test(index, divides_sums_by_their_parts) {
    struct arena a = {0};
    cr_assert(index_same(index_quotient(&a, flat(&a), 16), index_axis(&a, 0, 8)));
    cr_assert(index_same(index_remainder(&a, flat(&a), 16), index_axis(&a, 1, 16)));
    // A part of a quotient: (row * 16 + column) / 4 % 4 is column / 4.
    const struct index *x = index_remainder(&a, index_quotient(&a, flat(&a), 4), 4);
    cr_assert(index_same(x, index_quotient(&a, index_axis(&a, 1, 16), 4)));
    cr_assert(x->low == 0 && x->high == 3);
    arena_reset(&a);
}

// (c * 12 + h * 4 + w) / 24 is c / 2, and its rest (c % 2) * 12 + h * 4 + w.
Test(index, divides_by_what_several_axes_make) {
    struct arena a = {0};
    const struct index *c = index_axis(&a, 0, 10);
    const struct index *within =
        index_add(&a, index_scale(&a, index_axis(&a, 1, 3), 4), index_axis(&a, 2, 4));
    const struct index *x = index_add(&a, index_scale(&a, c, 12), within);
    cr_assert(index_same(index_quotient(&a, x, 24), index_quotient(&a, c, 2)));
    const struct index *rest =
        index_add(&a, index_scale(&a, index_remainder(&a, c, 2), 12), within);
    cr_assert(index_same(index_remainder(&a, x, 24), rest));
    arena_reset(&a);
}

Test(index, knows_its_interval) {
    struct arena a = {0};
    int64_t value;
    const struct index *x = index_shift(&a, index_scale(&a, index_axis(&a, 0, 10), -2), 3);
    cr_assert(x->low == -15 && x->high == 3);
    cr_assert(index_within(&a, x, 0, 2)->low == 0 && index_within(&a, x, 0, 2)->high == 2);
    cr_assert_eq(index_within(&a, x, -20, 20), x);
    cr_assert(index_constant(index_within(&a, x, 7, 9), &value) && value == 7);
    cr_assert(index_constant(index_axis(&a, 0, 1), &value) && value == 0);
    cr_assert(index_constant(index_add(&a, x, index_scale(&a, x, -1)), &value) && value == 0);
    arena_reset(&a);
}

Test(index, tells_affine_axes_from_others) {
    struct arena a = {0};
    const struct index *x = index_add(&a, index_scale(&a, index_axis(&a, 0, 8), 6),
                                      index_quotient(&a, index_axis(&a, 1, 16), 4));
    cr_assert(index_uses(x, 0) && index_is_affine(x, 0) && index_factor(x, 0) == 6);
    cr_assert(index_uses(x, 1) && !index_is_affine(x, 1));
    cr_assert(!index_uses(x, 2) && index_factor(x, 2) == 0);
    arena_reset(&a);
}

// Group norm reads [B, C, H, W] as [B, G, rest]: for memory that is no change at all.
Test(index, a_reshape_of_whole_groups_is_affine) {
    struct arena a = {0};
    struct problem *p = problem_from(
        &a,
        "problem p\nin x : f32[3, 8, 4, 5]\nout y : f32[3, 2, 80]\ny = reshape(x, (3, 2, -1))\n");
    const char *name = "y";
    bool *ready = arena_array(&a, bool, p->graph.n_nodes);
    struct region *r = region_build(&a, p, &name, 1, ready);
    struct axis_map map = map_identity(3);
    struct access x;
    access_find(r, r->value[0], &map, &x);
    const struct node *n = &p->graph.nodes[r->value[0]];
    const struct index *at = map_flat(&a, &p->graph.nodes[n->arg[0]].shape, &x.map[0]);
    for (int i = 0; i < 3; i++)
        cr_assert(index_is_affine(at, i));
    cr_assert(index_factor(at, 0) == 160 && index_factor(at, 1) == 80 && index_factor(at, 2) == 1);
    arena_reset(&a);
}
