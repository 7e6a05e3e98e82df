// What an operand is made of that is computed on its way (gemm_operand.h).
#include "family/gemm_operand.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/access.h"
#include "ir/detail.h"

struct reading {
    const struct form *form;
    struct gemm_operand *o;
    int stays;  // the axis of the space
    int64_t along, across;
};

static int64_t axis_size(const struct form *f, int axis) {
    const struct gemm_form *g = f->gemm;
    return axis == g->axis_k ? g->k : axis == g->axis_m ? g->m : g->n;
}

// Does an element's place in the leaf move by one along `side`, and along `other` at all, in both
// evenly? Where there is one row only, a vector is no matrix.
static bool lies_along(const struct form *f, const struct gemm_source *s, int side, int other) {
    bool is_line = axis_size(f, side) == 1 || axis_size(f, other) == 1;
    if (is_line && form_node(f, s->leaf)->shape.rank < 2)
        return false;
    struct arena scratch = {0};
    const struct index *flat = map_flat(&scratch, &form_node(f, s->leaf)->shape, &s->map);
    bool ok = index_is_affine(flat, side) && index_is_affine(flat, other) &&
              (index_factor(flat, side) == 1 || axis_size(f, side) == 1) &&
              (index_factor(flat, other) > 0 || axis_size(f, other) == 1);
    arena_reset(&scratch);
    return ok;
}

static bool is_float(enum dtype t) {
    return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

static bool measure(void *ctx, node_id n, const struct axis_map *map) {
    struct reading *r = ctx;
    const struct node *node = form_node(r->form, n);
    struct gemm_source s = {n, *map};
    if (r->form->region->is_leaf[n]) {
        int64_t count = shape_count(&node->shape);
        if (lies_along(r->form, &s, r->form->gemm->axis_k, r->stays))
            r->along += count;
        else if (lies_along(r->form, &s, r->stays, r->form->gemm->axis_k))
            r->across += count;
        return true;
    }
    r->o->ops += region_is_slow(node->op) ? 12 : op_infos[node->op].flops;
    return true;
}

static bool find_source(void *ctx, node_id n, const struct axis_map *map) {
    struct reading *r = ctx;
    const struct node *node = form_node(r->form, n);
    struct gemm_operand *o = r->o;
    struct gemm_source s = {n, *map};
    int k = r->form->gemm->axis_k;
    if (!r->form->region->is_leaf[n])
        return true;
    if (is_float(node->dtype) && o->n_sources < SOURCES_MAX &&
        lies_along(r->form, &s, o->along_k ? k : r->stays, o->along_k ? r->stays : k))
        o->source[o->n_sources++] = s;
    else if (map_uses(map, node->shape.rank, k) && map_uses(map, node->shape.rank, r->stays))
        o->direct_bytes += (double)dtype_size(node->dtype, 1);
    return true;
}

void gemm_operand_read(const struct form *f, bool is_lhs, struct gemm_operand *o) {
    const struct gemm_form *g = f->gemm;
    *o = (struct gemm_operand){.node = is_lhs ? g->lhs : g->rhs,
                               .map = is_lhs ? &g->lhs_map : &g->rhs_map};
    struct reading r = {.form = f, .o = o, .stays = is_lhs ? g->axis_m : g->axis_n};
    struct point_visit visit = {f->region, -1, measure, &r};
    point_visit(&visit, o->node, o->map);
    o->along_k = r.along >= r.across;
    o->lanes = o->along_k ? g->lanes_k : is_lhs ? g->lanes_m : g->lanes_n;
    visit.fn = find_source;
    point_visit(&visit, o->node, o->map);
}

// ---- types

// Has the type every value of that one?
static bool includes(enum dtype t, enum dtype of) {
    return of == t || of == DTYPE_F8E4M3 || of == DTYPE_F8E5M2 || of == DTYPE_I8 ||
           of == DTYPE_I4 || of == DTYPE_BOOL;
}

static bool has_number(enum dtype t, double value) {
    return isnan(value) || dtype_round(t, value) == value;
}

// Operations whose results are among their arguments, or negatives of them.
static bool selects(enum op op) {
    return op == OP_NEG || op == OP_ABS || op == OP_MAX || op == OP_MIN || op == OP_WHERE;
}

// Is every value that the node can have one of type `t`?
static bool is_exact(const struct region *r, node_id n, enum dtype t) {
    const struct node *node = &r->graph->nodes[n];
    if (node->op == OP_CONST)
        return has_number(t, node->value);
    if (r->is_leaf[n] || includes(t, node->dtype))
        return includes(t, node->dtype);
    if (!r->is_member[n])
        return false;
    if (node->op == OP_VIEW || (node->op == OP_CAST && node->dtype == DTYPE_F32))
        return is_exact(r, node->arg[0], t);
    bool moves = access_moves(node) && node->op != OP_IOTA;
    if (!moves && !selects(node->op))
        return false;
    if (moves && node->detail && !has_number(t, node->detail->value))
        return false;
    // Places and conditions are no results.
    int first = node->op == OP_WHERE ? 1 : 0;
    int end = op_infos[node->op].class == OP_CLASS_GATHER ? 1 : node->n_args;
    for (int i = first; i < end; i++)
        if (!is_exact(r, node->arg[i], t))
            return false;
    return true;
}

bool gemm_operand_admits(const struct form *f, bool is_lhs, enum dtype t) {
    const struct precision *p = &f->region->problem->precision;
    node_id n = is_lhs ? f->gemm->lhs : f->gemm->rhs;
    if (p->operand == PRECISION_TYPE && p->type == t && is_float(form_node(f, n)->dtype))
        return true;
    return is_exact(f->region, n, t);
}

bool gemm_operands_narrow(const struct form *f, enum dtype *t) {
    static const enum dtype narrow[] = {DTYPE_F16, DTYPE_BF16};
    const struct precision *p = &f->region->problem->precision;
    for (int i = 0; i < 2; i++) {
        *t = narrow[i];
        bool other = p->operand == PRECISION_TYPE && p->type != *t && p->type != DTYPE_F32;
        if (!other && gemm_operand_admits(f, true, *t) && gemm_operand_admits(f, false, *t))
            return true;
    }
    return false;
}

int gemm_operand_vec(const struct gemm_operand *o, int element_bytes) {
    int vec = 16 / element_bytes;
    while (o->lanes % vec != 0)
        vec /= 2;
    return vec;
}

// Four instructions besides: to shared memory and back, conversions. 128 results a clock.
double gemm_operand_seconds(const struct gemm_operand *o, const struct target *t) {
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    return (o->ops + 4 + o->direct_bytes) / (128 * clock);
}
