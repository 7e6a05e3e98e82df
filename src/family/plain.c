// What a careful programmer writes first: one nest per value that the author named, blocks
// over the outermost axis, scalar code in an order that the compiler can vectorise. The
// families do it with one lane; only the product is different (plain_product.c), a family's
// tiles would not be plain. Nothing leaves the machine idle: what reduces few rows is cut
// into its reductions, which blocks share, and what comes after them.
#include "family/plain.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/nest.h"
#include "family/program.h"
#include "family/rows.h"

enum { LONG_ROW = 1 << 16 };  // elements that several threads are worth

static void set_if_there(struct kernel_stage *s, const char *knob, int value) {
    struct kernel_knob *k = kernel_find_knob(s, knob);
    if (k)
        k->part[0] = value;
}

static void add_nest(struct program_state *s, const struct target *t, const struct form *f) {
    const struct region *r = f->region;
    struct lowering l;
    program_prepare(s, r, NULL, &l);
    if (t->is_gpu && f->family->kinds != FORM_ANY) {
        gpu_plain_lower(&l, t, r->value_name[0]);
        program_done(s, r, &l);
        return;
    }
    struct kernel_stage stage = {
        .values = {r->value_name[0]}, .n_values = 1, .family = f->family->name};
    const struct emitter *e = stage_emitter(&stage, t);
    emitter_complete(e, f, t, &stage);
    set_if_there(&stage, "vec", 1);
    set_if_there(&stage, "unroll", 1);
    set_if_there(&stage, "rows", 1);
    set_if_there(&stage, "items", 1);
    if (f->rows) {
        struct objection why;
        // Nobody computes an exponential twice by hand.
        stage_set_word(&stage, "keep", "local");
        if (!emitter_is_legal(e, f, t, &stage, &why))
            stage_set_word(&stage, "keep", "reread");
    }
    if (f->gemm)
        plain_product_lower(&l, f->gemm, t, r->value_name[0]);
    else
        e->lower(&l, f, &stage);
    program_done(s, r, &l);
}

// Fewer rows than threads, each of which could use them all?
static bool has_few_rows(const struct form *f, const struct target *t) {
    return f && f->rows && f->rows->n_rows < t->n_threads && f->rows->n_columns >= LONG_ROW;
}

// What is materialised before the region of a form; -1: nothing.
static node_id find_cut(const struct form *f) {
    if (f->family->kinds == FORM_ANY)
        return nest_cut(f->region);
    // A product reads each operand often, so none is computed on the way in.
    if (f->gemm && !f->gemm->rhs_is_plain)
        return f->gemm->rhs;
    return f->gemm && !f->gemm->lhs_is_plain ? f->gemm->lhs : -1;
}

// Forms that are there for matrix units, or to be like those that are.
static bool is_for_matrix_units(const struct form *f) {
    return family_has(f->family, FAMILY_MATRIX_ONLY) ||
           (f->gemm && (f->gemm->is_whole || f->gemm->is_f8 || f->gemm->is_conv));
}

static void materialise(struct program_state *s, const struct target *t, const char *name) {
    struct kernel_stage stage = {.values = {name}, .n_values = 1};
    for (;;) {
        struct region *r = program_region(s, &stage);
        const struct form *f = family_first_form(r, t);
        struct objection why;
        // No matrix units: it is what others are compared with.
        if (f && is_for_matrix_units(f))
            f = family_form(&families[FAMILY_NEST], r, &why);
        if (!t->is_gpu && has_few_rows(f, t))
            f = family_form(&families[FAMILY_REDUCE], r, &why);
        // A thread for a line, or for a window, is simpler.
        if (f && family_has(f->family, FAMILY_BY_LINES))
            f = family_form(&families[FAMILY_NEST], r, &why);
        bool takes = f && (!t->is_gpu || f->family->kinds == FORM_ANY || gpu_plain_accepts(r));
        node_id cut = takes ? find_cut(f) : region_cut(r);
        if (cut < 0) {
            add_nest(s, t, f);
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
