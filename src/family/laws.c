// One matcher per law, and the table that the names stand in. A matcher looks at the graph through
// views, as its author may have written the pattern in several ways.
#include "family/laws.h"

#include <string.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/work.h"

const char *law_class_name(enum law_class c) {
    static const char *const names[] = {"exact", "reassociates", "approximates"};
    return names[c];
}

// ---- looking at patterns

static const struct node *at(const struct region *r, node_id n) {
    return &r->graph->nodes[n];
}

// What a node is a broadcast or another arrangement of.
static node_id under_views(const struct region *r, node_id n) {
    while (r->is_member[n] && at(r, n)->op == OP_VIEW)
        n = at(r, n)->arg[0];
    return n;
}

static bool is_member_op(const struct region *r, node_id n, enum op op) {
    return r->is_member[n] && at(r, n)->op == op;
}

static bool is_number(const struct region *r, node_id n, double *value) {
    n = under_views(r, n);
    *value = at(r, n)->value;
    return at(r, n)->op == OP_CONST;
}

// How many elements a reduction takes together.
static double reduced_count(const struct region *r, node_id n) {
    return (double)shape_count(&at(r, at(r, n)->arg[0])->shape) /
           (double)shape_count(&at(r, n)->shape);
}

// ---- online softmax: sum(exp(x - max(x)))

// The maximum that is subtracted; logsumexp takes 0 in place of an infinite one.
static node_id guarded_max(const struct region *r, node_id n) {
    n = under_views(r, n);
    return is_member_op(r, n, OP_WHERE) && is_member_op(r, at(r, n)->arg[0], OP_ISINF)
               ? at(r, n)->arg[2]
               : n;
}

static bool match_online_softmax(const struct region *r, node_id n, struct law_match *m) {
    if (!is_member_op(r, n, OP_RSUM))
        return false;
    node_id exp = at(r, n)->arg[0];
    if (!is_member_op(r, exp, OP_EXP))
        return false;
    node_id shifted = at(r, exp)->arg[0];
    if (!is_member_op(r, shifted, OP_SUB))
        return false;
    node_id x = at(r, shifted)->arg[0], max = guarded_max(r, at(r, shifted)->arg[1]);
    if (!is_member_op(r, max, OP_RMAX) || at(r, max)->arg[0] != x ||
        at(r, max)->axes != at(r, n)->axes)
        return false;
    *m = (struct law_match){.node = {x, max, shifted, exp, n}};
    return true;
}

// ---- shifted variance: sum((x - mean)^2), mean = sum(x) / count

// sum / count, or sum * (1 / count), over these axes of x; the sum's node or -1.
static node_id sum_of_mean(const struct region *r, node_id mean, node_id x, unsigned axes) {
    bool divides = is_member_op(r, mean, OP_DIV);
    if (!divides && !is_member_op(r, mean, OP_MUL))
        return -1;
    node_id sum = under_views(r, at(r, mean)->arg[0]);
    double number;
    if (!is_number(r, at(r, mean)->arg[1], &number) || !is_member_op(r, sum, OP_RSUM))
        return -1;
    if (at(r, sum)->arg[0] != x || at(r, sum)->axes != axes)
        return -1;
    double count = reduced_count(r, sum);
    bool is_mean = divides ? number == count : (float)number == (float)(1 / count);
    return is_mean ? sum : -1;
}

static bool match_shifted_variance(const struct region *r, node_id n, struct law_match *m) {
    if (!is_member_op(r, n, OP_RSUM))
        return false;
    node_id square = at(r, n)->arg[0];
    if (!is_member_op(r, square, OP_MUL) || at(r, square)->arg[0] != at(r, square)->arg[1])
        return false;
    node_id centred = at(r, square)->arg[0];
    if (!is_member_op(r, centred, OP_SUB))
        return false;
    node_id x = at(r, centred)->arg[0];
    node_id mean = under_views(r, at(r, centred)->arg[1]);
    node_id sum = sum_of_mean(r, mean, x, at(r, n)->axes);
    if (sum < 0)
        return false;
    *m = (struct law_match){.node = {x, sum, centred, square, n}};
    return true;
}

// ---- split reduction: any reduction or contraction

static bool match_split_reduction(const struct region *r, node_id n, struct law_match *m) {
    bool is_reduction = op_infos[at(r, n)->op].class == OP_CLASS_REDUCE;
    if (!r->is_member[n] || (!is_reduction && !work_is_contraction(at(r, n))))
        return false;
    *m = (struct law_match){.node = {n}};
    return true;
}

// ---- 3xtf32: a product of f32 values

static bool match_tf32x3(const struct region *r, node_id n, struct law_match *m) {
    const struct node *node = at(r, n);
    if (!r->is_member[n] || !work_is_contraction(node) || r->problem->precision.is_exact)
        return false;
    for (int i = 0; i < 2; i++)
        if (at(r, node->arg[i])->dtype != DTYPE_F32)
            return false;
    *m = (struct law_match){.node = {n}};
    return true;
}

static const char *tf32_only_on_gpus(const struct target *t) {
    return t->is_gpu ? NULL : "a CPU has no tf32 products";
}

// ---- winograd: a convolution of 3 by 3 with stride 1

static bool match_winograd(const struct region *r, node_id n, struct law_match *m) {
    if (!is_member_op(r, n, OP_CONV))
        return false;
    const struct window *w = &at(r, n)->detail->window;
    for (int i = 0; i < w->n_axes; i++)
        if (w->n_axes > 2 || w->size[i] != 3 || w->stride[i] != 1 || w->dilation[i] != 1)
            return false;
    *m = (struct law_match){.node = {n}};
    return true;
}

// ---- collapse: sum over rows or columns of a product, with nothing but linear steps between

// One step of a linear chain from `n`: its only user when that keeps it linear, else -1.
static node_id linear_user(const struct region *r, node_id n) {
    node_id user = region_only_user(r, n);
    if (user < 0)
        return -1;
    const struct node *u = at(r, user);
    double number;
    switch (u->op) {
    case OP_ADD:
    case OP_SUB:
        return u->arg[0] != u->arg[1] ? user : -1;
    case OP_NEG:
        return user;
    case OP_MUL:
        return is_number(r, u->arg[0], &number) || is_number(r, u->arg[1], &number) ? user : -1;
    case OP_DIV:
        return u->arg[0] == n && is_number(r, u->arg[1], &number) ? user : -1;
    default:
        return -1;
    }
}

static bool match_collapse(const struct region *r, node_id n, struct law_match *m) {
    if (!r->is_member[n] || op_infos[at(r, n)->op].class != OP_CLASS_CONTRACT)
        return false;
    node_id end = n;
    for (node_id next = n; next >= 0 && !region_is_value(r, next); next = linear_user(r, next))
        end = next;
    if (region_is_value(r, end))
        return false;
    node_id sum = region_only_user(r, end);
    // Batch axes belong to both operands: only rows and columns move, each onto its own.
    unsigned own = 3u << (at(r, n)->shape.rank - 2);
    if (sum < 0 || at(r, sum)->op != OP_RSUM || at(r, sum)->axes & ~own)
        return false;
    *m = (struct law_match){.node = {n, end, sum}};
    return true;
}

const struct law laws[] = {
    {.name = "online_softmax",
     .class = LAW_REASSOCIATES,
     .pattern = "the sum of exp(x - max(x)) over the axes of the maximum",
     .effect = "maximum and sum in one walk, the sum rescaled when the maximum grows",
     .roles = {"x", "max", "shifted", "exp", "sum"},
     .matches = match_online_softmax},
    {.name = "shifted_variance",
     .class = LAW_REASSOCIATES,
     .pattern = "the sum of (x - mean)^2 over the axes of the mean",
     .effect = "sum and sum of squares in one walk, both of x less an element of it",
     .roles = {"x", "sum", "centred", "square", "squares"},
     .matches = match_shifted_variance},
    {.name = "split_reduction",
     .class = LAW_REASSOCIATES,
     .pattern = "a reduction or a contraction",
     .effect = "parts of it by different blocks, which 'combine' brings together",
     .roles = {"whole"},
     .matches = match_split_reduction},
    {.name = "tf32x3",
     .class = LAW_APPROXIMATES,
     .pattern = "a product of f32 values, in a problem that does not say 'precision f32 exact'",
     .effect = "three tf32 products of high and low halves; the product of the low ones is left "
               "out",
     .roles = {"product"},
     .matches = match_tf32x3,
     .why_not_on = tf32_only_on_gpus},
    {.name = "winograd",
     .class = LAW_APPROXIMATES,
     .pattern = "a convolution of 3 or 3x3 with stride 1 and dilation 1",
     .effect = "F(2, 3) by each axis: fewer products of transformed tiles",
     .roles = {"conv"},
     .matches = match_winograd},
    {.name = "collapse",
     .class = LAW_REASSOCIATES,
     .pattern = "the sum over rows or columns of a product, with only linear steps between",
     .effect = "the sum goes onto the operands before the product",
     .roles = {"product", "last", "sum"},
     .matches = match_collapse},
    {0},
};

const struct law *law_find(const char *name) {
    for (const struct law *l = laws; l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

bool law_use(const struct law *l, const struct region *r, struct law_uses *uses) {
    int before = uses->n_matches;
    for (node_id n = 0; n < r->graph->n_nodes && uses->n_matches < LAW_MATCHES_MAX; n++) {
        struct law_match m;
        if (!r->is_member[n] || !l->matches(r, n, &m))
            continue;
        m.law = l;
        uses->match[uses->n_matches++] = m;
    }
    return uses->n_matches > before;
}

bool law_is_used(const struct law_uses *uses, const char *name) {
    for (int i = 0; i < uses->n_matches; i++)
        if (strcmp(uses->match[i].law->name, name) == 0)
            return true;
    return false;
}

static bool has_role(const struct law_match *m, node_id n, const char *role) {
    for (int i = 0; i < LAW_NODES_MAX && m->law->roles[i]; i++)
        if (m->node[i] == n && strcmp(m->law->roles[i], role) == 0)
            return true;
    return false;
}

bool law_is_inner(const struct law_uses *uses, node_id n) {
    for (int i = 0; i < uses->n_matches; i++) {
        const struct law_match *m = &uses->match[i];
        if (has_role(m, n, "shifted") || has_role(m, n, "exp") || has_role(m, n, "centred") ||
            has_role(m, n, "square"))
            return true;
    }
    return false;
}

bool law_is_moved(const struct law_uses *uses, node_id n) {
    for (int i = 0; i < uses->n_matches; i++)
        if (strcmp(uses->match[i].law->name, "collapse") == 0 &&
            has_role(&uses->match[i], n, "sum"))
            return true;
    return false;
}
