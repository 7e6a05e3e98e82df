// Keeps what an index output chooses from: a small problem with that node as its only output is cut
// out of the graph and interpreted; an index is right when its value is within rounding of the
// best.
#include "oracle/oracle_choice.h"

#include <math.h>
#include <stdlib.h>

#include "ir/detail.h"

// How many deviations two values may be apart and still change places: as the interpreter has it.
enum { STRAYS = 4 };

struct oracle_choice {
    double *value, *spread;  // of what is chosen from
    struct shape shape;      // of that
    unsigned axes;           // along which is chosen
    int64_t length;          // of these
    int64_t kept, stride;    // topk: how many are chosen, and how far these are apart; else 1, 1
};

static const struct node *chooser(const struct problem *p, int output) {
    const struct node *n = &p->graph.nodes[p->outputs[output].node];
    while ((n->op == OP_CAST && dtype_is_integer(n->dtype)) || n->op == OP_RESHAPE)
        n = &p->graph.nodes[n->arg[0]];
    return n->op == OP_ARGMAX || n->op == OP_ARGMIN || n->op == OP_TOPK ? n : NULL;
}

bool oracle_choice_is(const struct problem *p, int output) {
    return chooser(p, output) != NULL;
}

static bool is_certain(const struct oracle_output *e) {
    for (int64_t i = 0; i < e->count; i++)
        if (e->unit[i] != 0)
            return false;
    return true;
}

// The same graph, whose only output is what `n` chooses from.
static struct problem before_choice(const struct problem *p, const struct node *n) {
    struct problem before = *p;
    before.n_outputs = 1;
    before.outputs[0] = (struct problem_output){"", n->arg[0]};
    return before;
}

struct oracle_choice *oracle_choice_make(const struct problem *p, const struct oracle_output *e,
                                         int output, const struct interpret_data *data,
                                         int64_t row) {
    const struct node *n = chooser(p, output);
    if (!n || is_certain(e))
        return NULL;
    struct problem before = before_choice(p, n);
    struct interpret_result r;
    if (row >= 0 && !interpret_rows_independent(&before))
        return NULL;
    if (row >= 0)
        interpret_row(&before, data, row, &r);
    else
        interpret(&before, data, &r);
    struct oracle_choice *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    *c = (struct oracle_choice){.value = r.value[0],
                                .spread = r.spread[0],
                                .shape = p->graph.nodes[n->arg[0]].shape,
                                .axes = n->op == OP_TOPK ? 1U << n->detail->axis : n->axes,
                                .length = 1,
                                .kept = 1,
                                .stride = 1};
    if (row >= 0)
        c->shape.size[0] = 1;
    for (int i = 0; i < c->shape.rank; i++)
        c->length *= c->axes >> i & 1 ? c->shape.size[i] : 1;
    if (n->op == OP_TOPK) {
        c->kept = n->shape.size[n->detail->axis];
        for (int i = n->detail->axis + 1; i < n->shape.rank; i++)
            c->stride *= n->shape.size[i];
    }
    r.value[0] = r.spread[0] = NULL;
    interpret_reset(&r);
    return c;
}

void oracle_choice_free(struct oracle_choice *c) {
    if (c) {
        free(c->value);
        free(c->spread);
    }
    free(c);
}

// Step i through the axes in `mask`, row-major.
static int64_t offset(const struct shape *s, unsigned mask, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        if (mask >> axis & 1) {
            at += i % s->size[axis] * stride;
            i /= s->size[axis];
        }
        stride *= s->size[axis];
    }
    return at;
}

// Does another element of the same line name this place?
static bool occurs_twice(const struct oracle_choice *c, const struct oracle_output *e,
                         const void *values, int64_t i, double place) {
    int64_t line = c->kept * c->stride, first = i / line * line + i % c->stride;
    for (int64_t k = 0; k < c->kept; k++) {
        int64_t other = first + k * c->stride;
        if (other != i && dtype_get(e->type, values, other) == place)
            return true;
    }
    return false;
}

bool oracle_choice_allows(const struct oracle_choice *c, const struct oracle_output *e,
                          const void *values, int64_t i) {
    double place = dtype_get(e->type, values, i);
    if (!(place >= 0 && place < (double)c->length))
        return false;
    int64_t group = i / (c->kept * c->stride) * c->stride + i % c->stride;
    int64_t base = offset(&c->shape, ~c->axes, group);
    int64_t ours = base + offset(&c->shape, c->axes, (int64_t)e->truth[i]);
    int64_t theirs = base + offset(&c->shape, c->axes, (int64_t)place);
    double reach = STRAYS * hypot(c->spread[ours], c->spread[theirs]);
    bool is_as_good =
        fabs(c->value[ours] - c->value[theirs]) <= reach || c->value[ours] == c->value[theirs];
    return is_as_good && !(c->kept > 1 && occurs_twice(c, e, values, i, place));
}
