// A resolved block for a person.
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/block_private.h"
#include "lang/unparse.h"

// What a part of a form is called, in the order of the walk through it.
static const char *const part_names[PART_COUNT] = {"",         "prologue",  "anchor", "sibling",
                                                   "epilogue", "reduction", "finish"};

static void print_line(struct str *out, const char *label, const char *text) {
    if (*text)
        str_printf(out, "    %-10s %s\n", label, text);
}

// "3.2 Mflop", "12 B"
static const char *amount(struct arena *a, double x, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    for (; x >= 1000 && i < 5; i++)
        x /= 1000;
    return arena_printf(a,
                        x < 10 && i    ? "%.2f %s%s"
                        : x < 100 && i ? "%.1f %s%s"
                                       : "%.0f %s%s",
                        x, prefixes[i], unit);
}

// The last axis moves fastest: "N, H, W, C".
static const char *layout_text(struct arena *a, const struct block *b,
                               const struct block_value *v) {
    const struct graph *g = &b->problem->graph;
    const struct shape *s = &g->nodes[v->node].shape;
    struct str out = {0};
    for (int i = 0; i < s->rank; i++) {
        int axis = v->axis[i];
        str_puts(&out, i ? "," : " layout ");
        if (s->dim[axis] >= 0)
            str_puts(&out, g->dims[s->dim[axis]].name);
        else
            str_printf(&out, "%d", axis);
    }
    return str_take(a, &out);
}

static const char *value_text(struct arena *a, const struct block *b, const char *name,
                              const struct block_value *v) {
    const struct graph *g = &b->problem->graph;
    return arena_printf(a, "%s : %s%s%s", name, dtype_name(v->dtype),
                        shape_print(a, g, &g->nodes[v->node].shape),
                        v->is_permuted ? layout_text(a, b, v) : "");
}

static bool is_param(const struct problem *p, node_id n) {
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == n)
            return p->inputs[i].is_param;
    return false;
}

static void print_reads(struct arena *a, struct str *out, const struct block *b, int stage) {
    const struct graph *g = &b->problem->graph;
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (!b->stages[stage].region->is_leaf[n])
            continue;
        struct block_value plain = {.node = n, .dtype = g->nodes[n].dtype};
        const struct block_value *v = &plain;
        int maker = block_maker(b, n, stage);
        for (int j = 0; maker >= 0 && j < b->kernel->stages[maker]->n_values; j++)
            if (b->stages[maker].value[j].node == n)
                v = &b->stages[maker].value[j];
        const char *origin = maker >= 0                ? arena_printf(a, "stage %d", maker + 1)
                             : is_param(b->problem, n) ? "param"
                                                       : "input";
        print_line(out, "reads",
                   arena_printf(a, "%s, %s", value_text(a, b, g->nodes[n].name, v), origin));
    }
}

static void print_writes(struct arena *a, struct str *out, const struct block *b, int stage) {
    const struct kernel_stage *s = b->stages[stage].text;
    for (int i = 0; i < s->n_values; i++)
        print_line(out, "writes",
                   arena_printf(a, "%s%s",
                                value_text(a, b, s->values[i], &b->stages[stage].value[i]),
                                block_is_output(b->problem, s->values[i]) ? ", output" : ""));
}

// "contraction over K", "2 reductions over N"
static const char *form_text(struct arena *a, const struct block_stage *s) {
    const struct form *f = s->form;
    const struct graph *g = f->region->graph;
    if (f->kind == ANCHOR_NONE)
        return f->region->n_members ? "no anchor" : "no anchor: a copy";
    if (f->kind == ANCHOR_ATTENTION)
        return "attention: product, softmax of its rows, product";
    const struct node *n = &g->nodes[f->anchor];
    const struct shape *arg = &g->nodes[n->arg[0]].shape;
    if (f->kind == ANCHOR_ROWS)
        return arena_printf(a, "rows, reduced over %s", form_axes_print(a, g, arg, n->axes));
    if (f->kind == ANCHOR_REDUCTION)
        return arena_printf(a, "reduction over %s", form_axes_print(a, g, arg, n->axes));
    if (n->op == OP_MATMUL)
        return arena_printf(a, "contraction over %s",
                            form_axes_print(a, g, arg, 1u << (arg->rank - 1)));
    return anchor_kind_name(f->kind);
}

// What the stage's own work takes at the least.
static const char *work_text(struct arena *a, const struct region *r) {
    struct region_work w;
    region_count(r, &w);
    return arena_printf(a, "%s read, %s written, %s", amount(a, w.bytes_read, "B"),
                        amount(a, w.bytes_written, "B"), amount(a, w.flops, "flop"));
}

static void print_part(struct arena *a, struct str *out, const struct block_stage *s,
                       enum form_part part) {
    const struct graph *g = s->region->graph;
    struct str names = {0};
    int n = 0, more = 0;
    for (node_id i = 0; i < g->n_nodes; i++) {
        if (s->form->part[i] != part || g->nodes[i].op == OP_CONST || g->nodes[i].op == OP_VIEW)
            continue;
        if (n++ >= 12) {
            more++;
            continue;
        }
        str_printf(&names, "%s%s", names.len ? ", " : "", g->nodes[i].name);
        if (part == PART_ANCHOR || part == PART_REDUCTION)
            str_printf(&names, " (%s)", op_infos[g->nodes[i].op].name);
    }
    if (more)
        str_printf(&names, " and %d more", more);
    print_line(out, part_names[part], str_take(a, &names));
}

static void print_recomputed(struct arena *a, struct str *out, const struct block_stage *s) {
    const struct graph *g = s->region->graph;
    struct str names = {0};
    int n = 0;
    for (node_id i = 0; i < g->n_nodes; i++)
        if (s->is_recomputed[i] && n++ < 8)
            str_printf(&names, "%s%s", names.len ? ", " : "", g->nodes[i].name);
    if (n == 0)
        return;
    if (n > 8)
        str_printf(&names, " and %d more", n - 8);
    const char *list = str_take(a, &names);
    print_line(out, "again",
               arena_printf(a, "%s: %s computed and %s read again", list,
                            amount(a, s->again_flops, "flop"), amount(a, s->again_bytes, "B")));
}

static void print_laws(struct arena *a, struct str *out, const struct block_stage *s) {
    const struct graph *g = s->region->graph;
    for (int i = 0; i < s->laws.n_matches; i++) {
        const struct law_match *m = &s->laws.match[i];
        struct str nodes = {0};
        for (int j = 0; j < LAW_NODES_MAX && m->law->roles[j]; j++)
            str_printf(&nodes, "%s%s %s", j ? ", " : "", m->law->roles[j],
                       g->nodes[m->node[j]].name);
        print_line(out, "law",
                   arena_printf(a, "%s (%s): %s; %s", m->law->name, law_class_name(m->law->class),
                                str_take(a, &nodes), m->law->effect));
    }
}

static bool is_given(const struct kernel_stage *s, const char *knob) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, knob) == 0)
            return true;
    return false;
}

static void print_knobs(struct arena *a, struct str *out, const struct block_stage *s) {
    struct str given = {0}, defaults = {0};
    for (int i = 0; i < s->complete.n_knobs; i++) {
        const struct kernel_knob *k = &s->complete.knobs[i];
        struct str *to = is_given(s->text, k->name) ? &given : &defaults;
        str_puts(to, to->len ? "  " : "");
        print_knob(to, k);
    }
    print_line(out, "knobs", str_take(a, &given));
    print_line(out, "defaults", str_take(a, &defaults));
    if (s->text->combine)
        print_line(out, "combine", combine_name(s->text->combine));
}

static void print_stage_block(struct arena *a, struct str *out, const struct block *b, int i) {
    const struct block_stage *s = &b->stages[i];
    str_printf(out, "  stage %d:", i + 1);
    for (int j = 0; j < s->text->n_values; j++)
        str_printf(out, "%s %s", j ? "," : "", s->text->values[j]);
    str_printf(out, " by %s%s%s%s\n", s->text->family, s->complete.emitter ? " as " : "",
               s->complete.emitter ? s->complete.emitter : "",
               s->is_prepare ? ", prepare: params alone" : "");
    print_reads(a, out, b, i);
    print_writes(a, out, b, i);
    print_line(out, "form", form_text(a, s));
    for (enum form_part part = PART_PROLOGUE; part < PART_COUNT; part++)
        print_part(a, out, s, part);
    print_line(out, "least", work_text(a, s->region));
    print_recomputed(a, out, s);
    print_laws(a, out, s);
    print_knobs(a, out, s);
    print_line(out, "lowering", s->no_emitter ? s->no_emitter : "");
}

const char *block_print(struct arena *a, const struct block *b) {
    struct str out = {0};
    str_printf(&out, "kernel for %s on %s\n", b->problem->name, b->kernel->target);
    str_printf(&out, "  limits: %s\n", target_limits(a, b->target));
    for (int i = 0; i < b->n_stages; i++)
        print_stage_block(a, &out, b, i);
    return str_take(a, &out);
}
