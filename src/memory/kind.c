#include "memory/kind.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "ir/problem.h"

enum { FORM_HEX = 16 };
enum { OUTPUT_SIZES = 3 };  // before those of anchors, see fill_sizes

struct walk {
    const struct graph *g;
    bool *seen;
    node_id *order;
    int n;
};

node_id kind_uncast(const struct graph *g, node_id n) {
    while (g->nodes[n].op == OP_CAST)
        n = g->nodes[n].arg[0];
    return n;
}

// Depth first without recursion: a network's graph is deep.
static void visit(struct walk *w, struct arena *a, node_id from) {
    node_id *stack = arena_array(a, node_id, w->g->n_nodes + 1);
    int *next = arena_array(a, int, w->g->n_nodes + 1), depth = 0;
    if (w->seen[from])
        return;
    w->seen[from] = true;
    stack[0] = from;
    while (depth >= 0) {
        const struct node *n = &w->g->nodes[stack[depth]];
        if (next[depth] == n->n_args) {
            w->order[w->n++] = stack[depth--];
            continue;
        }
        node_id arg = kind_uncast(w->g, n->arg[next[depth]++]);
        if (w->seen[arg])
            continue;
        w->seen[arg] = true;
        stack[++depth] = arg;
        next[depth] = 0;
    }
}

int kind_order(const struct problem *p, node_id *order) {
    struct arena a = {0};
    struct walk w = {&p->graph, arena_array(&a, bool, p->graph.n_nodes + 1), order, 0};
    for (int i = 0; i < p->n_outputs; i++)
        visit(&w, &a, kind_uncast(&p->graph, p->outputs[i].node));
    arena_reset(&a);
    return w.n;
}

static bool is_anchor(const struct node *n) {
    return op_class_of(n->op)->role == OP_ROLE_ANCHOR;
}

// A line per node: operation, arguments by place, axes.
static const char *form_hash(struct arena *a, const struct problem *p, const node_id *order,
                             int n) {
    const struct graph *g = &p->graph;
    struct arena scratch = {0};
    int *place = arena_array(&scratch, int, g->n_nodes + 1);
    struct str text = {0};
    for (int i = 0; i < n; i++) {
        const struct node *node = &g->nodes[order[i]];
        place[order[i]] = i;
        str_printf(&text, "%s %d %x", op_infos[node->op].name, node->shape.rank, node->axes);
        for (int j = 0; j < node->n_args; j++)
            str_printf(&text, " %d", place[kind_uncast(g, node->arg[j])]);
        for (int j = 0; node->op == OP_VIEW && j < node->shape.rank; j++)
            str_printf(&text, " v%d", node->view[j]);
        str_puts(&text, "\n");
    }
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(&text, "out %d\n", place[kind_uncast(g, p->outputs[i].node)]);
    const char *hash = hash_text(&scratch, str_text(&text));
    const char *form = arena_strndup(a, hash, FORM_HEX);
    str_reset(&text);
    arena_reset(&scratch);
    return form;
}

// Names of operations; those that anchor regions, or all but leaves and views.
static const char *names(struct arena *a, const struct graph *g, const node_id *order, int n,
                         bool anchors) {
    struct str text = {.max = 400};
    for (int i = 0; i < n; i++) {
        const struct node *node = &g->nodes[order[i]];
        enum op_role role = op_class_of(node->op)->role;
        if (role == OP_ROLE_ANCHOR || (!anchors && role == OP_ROLE_ELEMENTWISE))
            str_printf(&text, "%s%s", text.len ? " " : "", op_infos[node->op].name);
    }
    if (text.len == 0)
        str_puts(&text, anchors ? "map" : "move");
    return str_take(a, &text);
}

static const char *types_text(struct arena *a, const struct problem *p) {
    const struct graph *g = &p->graph;
    struct str text = {.max = 400};
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(&text, "%s%s", i ? ", " : "", dtype_name(g->nodes[p->inputs[i].node].dtype));
    str_puts(&text, " ->");
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(&text, "%s %s", i ? "," : "", dtype_name(g->nodes[p->outputs[i].node].dtype));
    if (p->precision.operand == PRECISION_TF32)
        str_puts(&text, " by tf32");
    else if (p->precision.operand == PRECISION_TYPE)
        str_printf(&text, " by %s%s", dtype_name(p->precision.type),
                   p->precision.short_sums ? ", sums of f22" : "");
    return str_take(a, &text);
}

static void add_size(struct problem_kind *k, double count) {
    if (k->n_sizes < KIND_SIZES_MAX)
        k->sizes[k->n_sizes++] = log2(count > 1 ? count : 1);
}

static int64_t innermost(const struct shape *s) {
    return s->rank > 0 ? s->size[s->rank - 1] : 1;
}

// Of the first output its elements, its innermost extent, which vectors lie along, and the largest
// power of two in that; then of every anchor how much it makes and what it makes it of.
static void fill_sizes(const struct problem *p, const node_id *order, int n,
                       struct problem_kind *k) {
    const struct graph *g = &p->graph;
    const struct shape *out = &g->nodes[p->outputs[0].node].shape;
    int64_t last = innermost(out), power = 1;
    while (last % (2 * power) == 0 && power < 64)
        power *= 2;
    add_size(k, (double)shape_count(out));
    add_size(k, (double)last);
    add_size(k, (double)power);
    for (int i = 0; i < n; i++) {
        const struct node *node = &g->nodes[order[i]];
        if (!is_anchor(node))
            continue;
        add_size(k, (double)shape_count(&node->shape));
        for (int j = 0; j < node->n_args && j < 2; j++)
            add_size(k, (double)shape_count(&g->nodes[node->arg[j]].shape));
    }
}

void kind_of(struct arena *a, const struct problem *p, struct problem_kind *k) {
    struct arena scratch = {0};
    node_id *order = arena_array(&scratch, node_id, p->graph.n_nodes + 1);
    int n = kind_order(p, order);
    *k = (struct problem_kind){.form = form_hash(a, p, order, n),
                               .skeleton = names(a, &p->graph, order, n, true),
                               .ops = names(a, &p->graph, order, n, false),
                               .types = types_text(a, p)};
    fill_sizes(p, order, n, k);
    arena_reset(&scratch);
}

// The operation whose name begins the text; OP_COUNT: there is none.
static enum op op_at(const char *text) {
    size_t len = strcspn(text, " ");
    enum op op = 0;
    while (op < OP_COUNT &&
           (strlen(op_infos[op].name) != len || strncmp(op_infos[op].name, text, len) != 0))
        op++;
    return op;
}

// What is compared: for an anchor with one argument the terms of each result in place of the
// argument's elements. Rows of one length ask for the same kernel, however many rows there are; by
// elements a change of the rows would count twice.
static int extents_of(const struct problem_kind *k, double *extents) {
    const char *at = k->skeleton;
    memcpy(extents, k->sizes, sizeof *extents * (size_t)k->n_sizes);
    for (int i = OUTPUT_SIZES; i + 1 < k->n_sizes && *at;) {
        enum op op = op_at(at);
        if (op == OP_COUNT || op_infos[op].arity < 0)
            break;
        if (op_infos[op].arity == 1)
            extents[i + 1] = fabs(extents[i + 1] - extents[i]);
        i += 1 + (op_infos[op].arity < 2 ? op_infos[op].arity : 2);
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return k->n_sizes;
}

double kind_distance(const struct problem_kind *x, const struct problem_kind *y) {
    if (strcmp(x->skeleton, y->skeleton) != 0)
        return INFINITY;
    double d = 0, of_x[KIND_SIZES_MAX], of_y[KIND_SIZES_MAX];
    int n_x = extents_of(x, of_x), n_y = extents_of(y, of_y), n = n_x < n_y ? n_x : n_y;
    for (int i = 0; i < n; i++)
        d += fabs(of_x[i] - of_y[i]);
    d = n > 0 ? d / n / 4 : 0;
    d = d < 0.6 ? d : 0.6;
    d += strcmp(x->types, y->types) == 0 ? 0 : 0.3;
    return d + (strcmp(x->form, y->form) == 0 ? 0 : 1);
}

const char *kind_shape_text(struct arena *a, const struct problem *p) {
    struct str text = {.max = 200};
    for (int i = 0; i < p->graph.n_dims; i++)
        str_printf(&text, "%s%s=%lld", i ? " " : "", p->graph.dims[i].name,
                   (long long)p->graph.dims[i].size);
    return str_take(a, &text);
}
