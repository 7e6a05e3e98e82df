// Finds the one convolution of a region and its classes.
#include "family/conv_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/in_place.h"

// ---- classes

static int64_t divisor(int64_t a, int64_t b) {
    return b == 0 ? a : divisor(b, a % b);
}

static struct conv_axis plain_axis(const struct window *w, int i, int64_t out) {
    return (struct conv_axis){.out = out,
                              .out_step = 1,
                              .taps = w->size[i],
                              .tap_step = 1,
                              .in_first = -w->before[i],
                              .in_step = w->stride[i],
                              .in_tap = w->dilation[i]};
}

// Results r, r + s, r + 2 s ...: tap j reaches them if r + before - j dilation is a multiple of s,
// from place (r + before - j dilation) / s on. Taps go from the last to the first, so that places
// rise. No tap at all: false.
static bool residue_axis(const struct window *w, int i, int64_t out, int64_t r,
                         struct conv_axis *x) {
    int64_t s = w->stride[i], d = w->dilation[i], step = s / divisor(s, d);
    int64_t last = w->size[i] - 1;
    while (last >= 0 && (r + w->before[i] - last * d) % s != 0)
        last--;
    if (last < 0)
        return false;
    *x = (struct conv_axis){.out = out > r ? (out - r + s - 1) / s : 0,
                            .out_first = r,
                            .out_step = s,
                            .taps = last / step + 1,
                            .tap_first = last,
                            .tap_step = -step,
                            .in_first = (r + w->before[i] - last * d) / s,
                            .in_step = 1,
                            .in_tap = step * d / s};
    return true;
}

// Class number `number` of a transposed convolution. False: no tap reaches its results.
static bool find_class(const struct node *n, int64_t number, struct conv_class *c) {
    const struct window *w = &n->detail->window;
    c->places = c->taps = 1;
    for (int i = w->n_axes - 1; i >= 0; i--) {
        int64_t out = n->shape.size[2 + i], r = 0;
        if (n->op == OP_CONV_T) {
            r = number % w->stride[i];
            number /= w->stride[i];
        }
        if (n->op == OP_CONV)
            c->axis[i] = plain_axis(w, i, out);
        else if (!residue_axis(w, i, out, r, &c->axis[i]))
            return false;
        c->places *= c->axis[i].out;
        c->taps *= c->axis[i].taps;
    }
    return true;
}

// Padding as all classes need it, and their places in what is padded.
static void find_padding(struct conv_form *f, struct conv_class *classes) {
    for (int i = 0; i < f->n_axes; i++) {
        f->low[i] = 0;
        f->padded[i] = 1;
        for (int k = 0; k < f->n_classes; k++)
            if (-classes[k].axis[i].in_first > f->low[i])
                f->low[i] = -classes[k].axis[i].in_first;
        for (int k = 0; k < f->n_classes; k++) {
            struct conv_axis *x = &classes[k].axis[i];
            x->in_first += f->low[i];
            int64_t end = x->in_first + (x->out - 1) * x->in_step + (x->taps - 1) * x->in_tap + 1;
            f->padded[i] = end > f->padded[i] ? end : f->padded[i];
        }
    }
}

enum { CLASSES_MAX = 27 };

static bool find_classes(const struct region *r, struct conv_form *f, struct objection *why) {
    const struct node *n = &r->graph->nodes[f->anchor];
    const struct window *w = &n->detail->window;
    int64_t count = 1;
    for (int i = 0; i < f->n_axes && f->transposed && count <= CLASSES_MAX; i++)
        count *= w->stride[i];
    if (count > CLASSES_MAX)
        return objection(why, NULL, "conv takes transposed convolutions of %d residues at most",
                         CLASSES_MAX);
    struct conv_class *classes = arena_array(r->arena, struct conv_class, count);
    for (int64_t k = 0; k < count; k++) {
        struct conv_class c;
        if (!find_class(n, k, &c))
            return objection(why, NULL, "no tap of %s reaches some of its results; take nest",
                             n->name);
        for (int i = 0; i < f->n_axes; i++)
            f->is_strided |= c.axis[i].out_step > 1;
        if (c.places > 0)
            classes[f->n_classes++] = c;
    }
    f->classes = classes;
    find_padding(f, classes);
    return true;
}

static bool is_pointwise(const struct region *r, const struct conv_form *f) {
    const struct conv_class *c = &f->classes[0];
    bool ok = !f->transposed && c->taps == 1 && r->is_leaf[f->x] && r->is_leaf[f->w];
    for (int i = 0; i < f->n_axes && ok; i++)
        ok = c->axis[i].in_step == 1 && f->low[i] == 0 && f->padded[i] == f->size[i];
    return ok;
}

// ---- the region

bool conv_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    if (r->n_anchors != 1)
        return objection(why, NULL, "conv takes one convolution; materialise %s first",
                         g->nodes[r->anchor[0]].name);
    if (!in_place_check(r, form->anchor, why))
        return false;
    const struct node *n = &g->nodes[form->anchor];
    const struct window *w = &n->detail->window;
    struct conv_form *f = arena_new(r->arena, struct conv_form);
    *f = (struct conv_form){.anchor = form->anchor,
                            .x = n->arg[0],
                            .w = n->arg[1],
                            .transposed = n->op == OP_CONV_T,
                            .n_axes = w->n_axes,
                            .batch = n->shape.size[0],
                            .groups = w->groups,
                            .in = g->nodes[n->arg[0]].shape.size[1] / w->groups,
                            .out = n->shape.size[1] / w->groups};
    for (int i = 0; i < f->n_axes; i++)
        f->size[i] = g->nodes[f->x].shape.size[2 + i];
    if (!find_classes(r, f, why))
        return false;
    f->is_pointwise = is_pointwise(r, f);
    form->conv = f;
    return true;
}

int64_t conv_positions(const struct conv_form *f) {
    int64_t n = 1;
    for (int i = 0; i < f->n_axes; i++)
        n *= f->padded[i];
    return n;
}

// ---- the space of results

int conv_build_space(struct lowering *l, const struct conv_form *f) {
    const struct shape *shape = &l->region->graph->nodes[f->anchor].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_join(&l->space, 2, f->n_axes);
    point_cut_epilogue(l, f->anchor);
    for (int i = 0; i < f->n_axes && f->is_strided; i++)
        space_separate(&l->space, 2 + i);
    for (int i = 0; i < 3 && i < shape->rank; i++)
        l->space.is_joined[i] = false;
    space_finish(l->arena, &l->space);
    return l->space.group[2];
}
