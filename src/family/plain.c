// What a careful programmer writes first: one nest per value that the author named, blocks
// over the outermost axis, scalar code in an order that the compiler can vectorise. The
// families do it with one lane; only the product is different, a family's tiles would not
// be plain.
#include "family/plain.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/nest.h"
#include "family/program.h"

enum { ROW_MAX = 1 << 17 };  // elements of a row of sums that may live on the stack

struct product_nest {
    struct lowering *l;
    struct gemm_form form;
    struct loop_buffer *sum;  // one row of the product, or one element
};

static const struct loop_expr *product(struct product_nest *n, struct scope *s) {
    const struct loop_expr *x = point_value(s, n->form.lhs, &n->form.lhs_map);
    const struct loop_expr *y = point_value(s, n->form.rhs, &n->form.rhs_map);
    return loop_binary(n->l->arena, LOOP_MUL, x, y);
}

static void store_values(struct product_nest *n, struct scope *s, const struct loop_expr *at) {
    const struct region *r = n->l->region;
    struct axis_map map = map_identity(r->graph->nodes[n->form.anchor].shape.rank);
    const struct loop_expr *e = loop_load(n->l->arena, n->sum, at, 1, 1);
    point_define(s, n->form.anchor, &n->form.at,
                 loop_let(s->builder, r->graph->nodes[n->form.anchor].name, e));
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

// A loop over one group, called j or k after it.
static const struct loop_expr *open(struct product_nest *n, struct scope *outer, int group,
                                    struct loop_builder *b, struct scope *s) {
    struct arena *a = n->l->arena;
    const char *name = group == n->form.group_k ? "k" : "j";
    struct loop_for f = {name, loop_int(a, 0), n->l->space.extent[group], 1, false};
    const struct loop_expr *index = loop_open_for(outer->builder, &f, b);
    *s = scope_inside(outer, b);
    s->index[group] = index;
    return index;
}

// for k, for j: sum[j] += a[i, k] * b[k, j], which reads rows of b.
static void build_by_rows(struct product_nest *n, struct scope *row) {
    struct arena *a = n->l->arena;
    struct loop_builder b, c;
    struct scope s, t;
    const struct loop_expr *j = open(n, row, n->form.group_n, &b, &s);
    loop_store(&b, n->sum, j, loop_real(a, 0), false);
    loop_close(row->builder, &b);
    open(n, row, n->form.group_k, &b, &s);
    j = open(n, &s, n->form.group_n, &c, &t);
    const struct loop_expr *e = product(n, &t);
    loop_store(&c, n->sum, j, loop_binary(a, LOOP_ADD, loop_load(a, n->sum, j, 1, 1), e), false);
    loop_close(&b, &c);
    loop_close(row->builder, &b);
    j = open(n, row, n->form.group_n, &b, &s);
    store_values(n, &s, j);
    loop_close(row->builder, &b);
}

// for j: the dot product of a row of a and a row of b transposed.
static void build_by_dots(struct product_nest *n, struct scope *row) {
    struct arena *a = n->l->arena;
    const struct loop_expr *zero = loop_int(a, 0);
    struct loop_builder b, c;
    struct scope s, t;
    open(n, row, n->form.group_n, &b, &s);
    loop_store(&b, n->sum, zero, loop_real(a, 0), false);
    open(n, &s, n->form.group_k, &c, &t);
    const struct loop_expr *e = product(n, &t);
    loop_store(&c, n->sum, zero, loop_binary(a, LOOP_ADD, loop_load(a, n->sum, zero, 1, 1), e),
               false);
    loop_close(&b, &c);
    store_values(n, &s, zero);
    loop_close(row->builder, &b);
}

static void lower_product(struct lowering *l, const char *name) {
    struct arena *a = l->arena;
    struct product_nest n = {.l = l};
    struct objection why;
    bool ok = gemm_find_form(l->region, &n.form, &why);
    assert(ok);
    gemm_build_space(l, &n.form);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    struct loop_builder b;
    int end = n.form.group_m + 1;
    struct loop_kernel *k = loop_kernel_new(l->program, arena_printf(a, "%s_product", name),
                                            scope_count(&outer, 0, end), &b);
    outer.builder = &b;
    struct scope row = scope_inside(&outer, &b);
    scope_split(&row, loop_ref(a, k->block), 0, end);
    struct loop_size size = point_size(l, &l->region->graph->nodes[n.form.anchor].shape,
                                       l->region->graph->nodes[n.form.anchor].shape.rank - 1);
    if (n.form.rhs_is_contiguous && size.value <= ROW_MAX) {
        n.sum = loop_local(l->program, "sum", &size, 1);
        build_by_rows(&n, &row);
    } else {
        n.sum = loop_register(l->program, "sum", 1, 1);
        build_by_dots(&n, &row);
    }
}

static void set_if_there(struct kernel_stage *s, const char *knob, int value) {
    struct kernel_knob *k = kernel_find_knob(s, knob);
    if (k)
        k->part[0] = value;
}

static void add_nest(struct program_state *s, const struct target *t, const struct region *r,
                     const struct family *f) {
    struct lowering l;
    program_prepare(s, r, NULL, &l);
    if (t->is_gpu && !f->takes_all) {
        gpu_plain_lower(&l, r->value_name[0]);
        program_done(s, r, &l);
        return;
    }
    struct kernel_stage stage = {.values = {r->value_name[0]}, .n_values = 1, .family = f->name};
    f = family_on(f, t);
    family_complete(f, r, t, &stage);
    set_if_there(&stage, "vec", 1);
    set_if_there(&stage, "unroll", 1);
    set_if_there(&stage, "rows", 1);
    if (f == &family_rowwise) {
        struct objection why;
        // Nobody computes an exponential twice by hand.
        stage_set_word(&stage, "keep", "local");
        if (!family_is_legal(f, r, t, &stage, &why))
            stage_set_word(&stage, "keep", "reread");
    }
    if (f == &family_gemm)
        lower_product(&l, r->value_name[0]);
    else
        f->lower(&l, &stage);
    program_done(s, r, &l);
}

static void materialise(struct program_state *s, const struct target *t, const char *name) {
    struct kernel_stage stage = {.values = {name}, .n_values = 1};
    for (;;) {
        struct region *r = program_region(s, &stage);
        const struct family *f = family_for(r);
        bool takes = f && (!t->is_gpu || f->takes_all || gpu_plain_accepts(r));
        node_id cut = !takes ? region_cut(r) : f->takes_all ? nest_cut(r) : -1;
        struct gemm_form form;
        struct objection why;
        // A product reads each operand often, so none is computed on the way in.
        if (f == &family_gemm && gemm_find_form(r, &form, &why)) {
            cut = form.lhs_is_plain ? -1 : form.lhs;
            cut = form.rhs_is_plain ? cut : form.rhs;
        }
        if (cut < 0) {
            add_nest(s, t, r, f);
            return;
        }
        materialise(s, t, s->problem->graph.nodes[cut].name);
    }
}

// Is the node needed for an output?
static void mark_needed(const struct problem *p, bool *needed) {
    for (int i = 0; i < p->n_outputs; i++)
        needed[p->outputs[i].node] = true;
    for (node_id n = p->graph.n_nodes - 1; n >= 0; n--)
        for (int k = 0; needed[n] && k < p->graph.nodes[n].n_args; k++)
            needed[p->graph.nodes[n].arg[k]] = true;
}

struct loop_program *plain_program(struct arena *a, const struct problem *p,
                                   const struct target *t) {
    struct program_state s;
    program_begin(&s, a, p);
    s.program->libm = !t->is_gpu;
    bool *needed = arena_array(a, bool, p->graph.n_nodes);
    mark_needed(p, needed);
    for (node_id n = 0; n < p->graph.n_nodes; n++) {
        const struct node *node = &p->graph.nodes[n];
        bool is_output = false;
        for (int i = 0; i < p->n_outputs; i++)
            if (p->outputs[i].node == n) {
                materialise(&s, t, p->outputs[i].name);
                is_output = true;
            }
        if (!is_output && needed[n] && node->is_named && node->op != OP_INPUT &&
            node->op != OP_CONST)
            materialise(&s, t, node->name);
    }
    return s.program;
}
