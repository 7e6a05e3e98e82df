// Types and shapes by operation, and graph_verify: one rule after the other for each node.
#include "ir/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "ir/detail.h"
#include "ir/recurrence.h"

int64_t shape_count(const struct shape *s) {
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++)
        count *= s->size[i];
    return count;
}

bool shape_equal(const struct shape *a, const struct shape *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->size[i] != b->size[i])
            return false;
    return true;
}

static void print_shape(struct str *out, const struct graph *g, const struct shape *s) {
    str_puts(out, "[");
    for (int i = 0; i < s->rank; i++) {
        str_puts(out, i ? ", " : "");
        if (s->dim[i] >= 0)
            str_puts(out, g->dims[s->dim[i]].name);
        else
            str_printf(out, "%lld", (long long)s->size[i]);
    }
    str_puts(out, "]");
}

const char *shape_print(struct arena *a, const struct graph *g, const struct shape *s) {
    struct str out = {0};
    print_shape(&out, g, s);
    return str_take(a, &out);
}

bool op_result_type(enum op op, const enum dtype *args, enum dtype *result) {
    const struct op_info *info = &op_infos[op];
    if (op == OP_WHERE) {
        *result = dtype_promote(args[1], args[2]);
        return args[0] == DTYPE_BOOL && args[1] != DTYPE_BOOL && args[2] != DTYPE_BOOL;
    }
    if (op == OP_ARGMAX || op == OP_ARGMIN) {
        *result = DTYPE_I64;
        return args[0] != DTYPE_BOOL;
    }
    assert(info->types != OP_TYPES_OWN);
    *result = dtype_promote(args[0], args[info->arity - 1]);
    for (int i = 0; i < info->arity; i++)
        if ((args[i] == DTYPE_BOOL) != (info->types == OP_TYPES_LOGIC))
            return false;
    if (info->types == OP_TYPES_WHOLE && !dtype_is_integer(*result))
        return false;
    if (info->types == OP_TYPES_REAL && dtype_is_integer(*result))
        *result = DTYPE_F32;
    if (info->types == OP_TYPES_TESTS || info->types == OP_TYPES_LOGIC)
        *result = DTYPE_BOOL;
    return true;
}

node_id graph_find(const struct graph *g, const char *name) {
    for (node_id i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return i;
    return -1;
}

// Every axis of the result walks along one axis of the argument of the same size, or
// along none; an axis of the argument that nobody walks has size 1.
static const char *broken_view(const struct graph *g, const struct node *n) {
    const struct node *arg = &g->nodes[n->arg[0]];
    unsigned walked = 0;
    for (int i = 0; i < n->shape.rank; i++) {
        int axis = n->view[i];
        if (axis < -1 || axis >= arg->shape.rank)
            return "the view names an axis that its argument lacks";
        if (axis < 0)
            continue;
        if (walked >> axis & 1)
            return "the view walks an axis twice";
        walked |= 1u << axis;
        if (n->shape.size[i] != arg->shape.size[axis])
            return "the view changes the size of an axis";
    }
    for (int i = 0; i < arg->shape.rank; i++)
        if (!(walked >> i & 1) && arg->shape.size[i] != 1)
            return "the view drops an axis";
    return n->dtype == arg->dtype ? NULL : "the view changes the type";
}

// Does the type follow from those of the arguments?
static const char *broken_type(const struct graph *g, const struct node *n) {
    enum dtype args[ARGS_MAX], result;
    for (int i = 0; i < n->n_args; i++)
        args[i] = g->nodes[n->arg[i]].dtype;
    if (n->op == OP_CAST)
        return NULL;
    if (!op_result_type(n->op, args, &result))
        return "an argument has the wrong type";
    return n->dtype == result ? NULL : "the result has the wrong type";
}

static const char *broken_elementwise(const struct graph *g, const struct node *n) {
    for (int i = 0; i < n->n_args; i++)
        if (!shape_equal(&n->shape, &g->nodes[n->arg[i]].shape))
            return "an argument has another shape than the result";
    return broken_type(g, n);
}

static const char *broken_reduce(const struct graph *g, const struct node *n) {
    const struct node *arg = &g->nodes[n->arg[0]];
    int kept = 0;
    for (int i = 0; i < arg->shape.rank; i++) {
        if (n->axes >> i & 1)
            continue;
        if (kept >= n->shape.rank || n->shape.size[kept] != arg->shape.size[i])
            return "the reduction does not keep its other axes";
        kept++;
    }
    if (n->axes >> arg->shape.rank || kept != n->shape.rank)
        return "the reduction names an axis that its argument lacks";
    return broken_type(g, n);
}

static const char *broken_matmul(const struct graph *g, const struct node *n) {
    const struct node *l = &g->nodes[n->arg[0]], *r = &g->nodes[n->arg[1]];
    int rank = n->shape.rank;
    if (rank < 2 || l->shape.rank != rank || r->shape.rank != rank)
        return "a matmul takes arguments of its own rank, at least 2";
    for (int i = 0; i < rank - 2; i++)
        if (l->shape.size[i] != n->shape.size[i] || r->shape.size[i] != n->shape.size[i])
            return "the batch axes differ";
    if (l->shape.size[rank - 1] != r->shape.size[rank - 2])
        return "the inner sizes differ";
    if (n->shape.size[rank - 2] != l->shape.size[rank - 2] ||
        n->shape.size[rank - 1] != r->shape.size[rank - 1])
        return "the outer sizes differ";
    return broken_type(g, n);
}

static const char *broken_shape(const struct graph *g, const struct shape *s) {
    if (s->rank < 0 || s->rank > RANK_MAX)
        return "the rank is out of range";
    for (int i = 0; i < s->rank; i++) {
        if (s->size[i] < 1)
            return "a size is below 1";
        if (s->dim[i] < -1 || s->dim[i] >= g->n_dims)
            return "a dim is unknown";
        if (s->dim[i] >= 0 && g->dims[s->dim[i]].size != s->size[i])
            return "a size is not its dim's";
    }
    return NULL;
}

static const char *broken_leaf(const struct graph *g, const struct node *n) {
    (void)g, (void)n;
    return NULL;
}

// The rules of each class; those that are not here have details, which have rules of their own.
static const char *(*const rules[OP_CLASS_COUNT])(const struct graph *g, const struct node *n) = {
    [OP_CLASS_LEAF] = broken_leaf,
    [OP_CLASS_VIEW] = broken_view,
    [OP_CLASS_ELEMENTWISE] = broken_elementwise,
    [OP_CLASS_REDUCE] = broken_reduce,
    [OP_CLASS_CONTRACT] = broken_matmul,
};

// The rule that node `id` breaks, or NULL. requires: the nodes before it hold.
static const char *broken_rule(const struct graph *g, node_id id) {
    const struct node *n = &g->nodes[id];
    if ((unsigned)n->op >= OP_COUNT || (unsigned)n->dtype >= DTYPE_COUNT)
        return "unknown operation or type";
    int arity = op_infos[n->op].arity;
    if (arity < 0 ? n->n_args < 0 || n->n_args > ARGS_MAX : n->n_args != arity)
        return "wrong number of arguments";
    for (int i = 0; i < n->n_args; i++)
        if (n->arg[i] < 0 || n->arg[i] >= id)
            return "an argument does not stand before its user";
    const char *rule = broken_shape(g, &n->shape);
    if (rule)
        return rule;
    enum op_class class = op_infos[n->op].class;
    return rules[class] ? rules[class](g, n) : detail_broken(g, n);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool graph_verify(const struct graph *g, struct error *err) {
    struct arena scratch = {0};
    const char **names = arena_array(&scratch, const char *, g->n_nodes + 1);
    const char *rule = NULL;
    node_id id = 0;
    for (; id < g->n_nodes; id++) {
        rule = g->nodes[id].name ? broken_rule(g, id) : "it has no name";
        if (rule)
            break;
        names[id] = g->nodes[id].name;
    }
    bool ok = true;
    if (rule)
        ok = error_set(err, ERROR_PARSE, "node %d (%s): %s", id,
                       g->nodes[id].name ? g->nodes[id].name : "?", rule);
    if (ok) {
        qsort(names, (size_t)g->n_nodes, sizeof *names, compare_names);
        for (int i = 1; i < g->n_nodes && ok; i++)
            if (strcmp(names[i - 1], names[i]) == 0)
                ok = error_set(err, ERROR_PARSE, "two nodes are named %s", names[i]);
    }
    arena_reset(&scratch);
    return ok;
}

static void print_details(struct str *out, const struct graph *g, const struct node *n) {
    if (n->op == OP_CONST)
        str_printf(out, " %.9g", n->value);
    for (int i = 0; i < n->n_args; i++)
        str_printf(out, "%s%s", i ? ", " : " ", g->nodes[n->arg[i]].name);
    const char *sep = "";
    if (op_infos[n->op].class == OP_CLASS_REDUCE) {
        str_puts(out, " over ");
        for (int i = 0; i < g->nodes[n->arg[0]].shape.rank; i++)
            if (n->axes >> i & 1) {
                str_printf(out, "%s%d", sep, i);
                sep = ",";
            }
    } else if (n->op == OP_VIEW) {
        str_puts(out, " axes (");
        for (int i = 0; i < n->shape.rank; i++) {
            str_puts(out, sep);
            if (n->view[i] < 0)
                str_puts(out, "-");
            else
                str_printf(out, "%d", n->view[i]);
            sep = ",";
        }
        str_puts(out, ")");
    } else {
        detail_print(out, g, n);
    }
}

const char *graph_print(struct arena *a, const struct graph *g) {
    struct str out = {0};
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        str_printf(&out, "%s : %s", n->name, dtype_name(n->dtype));
        print_shape(&out, g, &n->shape);
        str_printf(&out, " = %s", op_infos[n->op].name);
        print_details(&out, g, n);
        if (n->composite)
            str_printf(&out, "  # %s", n->composite);
        str_puts(&out, "\n");
        if (n->op == OP_RECUR && recurrence_first(g, i) == i)
            recurrence_print(&out, n->detail->recurrence, "    ");
    }
    return str_take(a, &out);
}
