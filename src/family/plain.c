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

static void add_nest(struct program_state *s, const struct target *t, const struct region *r,
                     const struct family *f) {
    struct lowering l;
    program_prepare(s, r, NULL, &l);
    if (t->is_gpu && f->kinds != FORM_ANY) {
        gpu_plain_lower(&l, t, r->value_name[0]);
        program_done(s, r, &l);
        return;
    }
    struct kernel_stage stage = {.values = {r->value_name[0]}, .n_values = 1, .family = f->name};
    const struct emitter *e = stage_emitter(&stage, t);
    emitter_complete(e, r, t, &stage);
    set_if_there(&stage, "vec", 1);
    set_if_there(&stage, "unroll", 1);
    set_if_there(&stage, "rows", 1);
    set_if_there(&stage, "items", 1);
    if (f == &families[FAMILY_ROWWISE]) {
        struct objection why;
        // Nobody computes an exponential twice by hand.
        stage_set_word(&stage, "keep", "local");
        if (!emitter_is_legal(e, r, t, &stage, &why))
            stage_set_word(&stage, "keep", "reread");
    }
    if (f == &families[FAMILY_GEMM])
        plain_product_lower(&l, t, r->value_name[0]);
    else
        e->lower(&l, &stage);
    program_done(s, r, &l);
}

// Fewer rows than threads, each of which could use them all?
static bool has_few_rows(const struct region *r, const struct family *f, const struct target *t) {
    struct rows_form form;
    struct objection why;
    if (f != &families[FAMILY_ROWWISE] || !rows_find_form(r, &form, &why))
        return false;
    int64_t n_columns = form.full->size[form.column];
    return shape_count(form.full) / n_columns < t->n_threads && n_columns >= LONG_ROW;
}

static void materialise(struct program_state *s, const struct target *t, const char *name) {
    struct kernel_stage stage = {.values = {name}, .n_values = 1};
    for (;;) {
        struct region *r = program_region(s, &stage);
        const struct family *f = family_for(r);
        struct gemm_form form;
        struct objection why;
        if (!t->is_gpu && has_few_rows(r, f, t))
            f = family_accepts(&families[FAMILY_REDUCE], r, &why) ? &families[FAMILY_REDUCE] : NULL;
        bool takes = f && (!t->is_gpu || f->kinds == FORM_ANY || gpu_plain_accepts(r));
        node_id cut = !takes ? region_cut(r) : f->kinds == FORM_ANY ? nest_cut(r) : -1;
        // A product reads each operand often, so none is computed on the way in.
        if (f == &families[FAMILY_GEMM] && gemm_find_form(r, &form, &why)) {
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
