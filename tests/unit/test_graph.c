#include <criterion/criterion.h>

#include "ir/graph.h"
#include "ir/problem.h"
#include "ir/simplify.h"
#include "parsed.h"

static const char *const SMALL =
    "problem p\n"
    "dim M = 4, N = 8\n"
    "in x : f32[M, N]\n"
    "in w : f32[N, 3]\n"
    "out y : f32[M, 3]\n"
    "y = maximum(x @ w, sum(x, axis=1)[:, None]) + where(x @ w < 2, 1, 0)\n";

Test(graph, finds_nodes_by_name) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, SMALL);
    cr_assert_eq(graph_find(&p->graph, "x"), p->inputs[0].node);
    cr_assert_eq(graph_find(&p->graph, "y"), p->outputs[0].node);
    cr_assert_eq(graph_find(&p->graph, "z"), -1);
    arena_reset(&a);
}

Test(graph, prints_shapes_with_the_names_of_dims) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, SMALL);
    cr_assert_str_eq(shape_print(&a, &p->graph, &p->graph.nodes[p->inputs[1].node].shape),
                     "[N, 3]");
    struct shape scalar = {0};
    cr_assert_str_eq(shape_print(&a, &p->graph, &scalar), "[]");
    cr_assert_eq(shape_count(&scalar), 1);
    arena_reset(&a);
}

Test(graph, prints_one_line_per_node) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\n"
                                         "in x : f32[2, 3]\n"
                                         "out y : f32[3]\n"
                                         "y = max(x, axis=0) * 0.5\n");
    cr_assert_str_eq(graph_print(&a, &p->graph), "x : f32[2, 3] = input\n"
                                                 "t.1 : f32[3] = max x over 0\n"
                                                 "c.1 : f32[] = const 0.5\n"
                                                 "v.1 : f32[3] = view c.1 axes (-)\n"
                                                 "y : f32[3] = mul t.1, v.1\n");
    arena_reset(&a);
}

Test(graph, knows_every_operation) {
    for (int i = 0; i < OP_COUNT; i++)
        cr_assert(op_infos[i].name && op_infos[i].arity <= ARGS_MAX);
    cr_assert_str_eq(op_infos[OP_MATMUL].name, "matmul");
    cr_assert_eq(op_infos[OP_WHERE].arity, 3);
    cr_assert_eq(dtype_size(DTYPE_F32, 3), 12);
    cr_assert_eq(dtype_size(DTYPE_BOOL, 3), 3);
    cr_assert_str_eq(dtype_name(DTYPE_BOOL), "bool");
}

// Break one thing at a time; each must be found.
static void breaks(const char *node, void (*damage)(struct graph *g, struct node *n),
                   const char *rule) {
    struct arena a = {0};
    struct error err = {0};
    struct problem *p = parsed(&a, SMALL);
    cr_assert(graph_verify(&p->graph, &err));
    damage(&p->graph, &p->graph.nodes[graph_find(&p->graph, node)]);
    cr_assert_not(graph_verify(&p->graph, &err), "%s", rule);
    cr_assert(strstr(err.text, rule), "got '%s', wanted '%s'", err.text, rule);
    arena_reset(&a);
}

#define DAMAGE(name, code)                              \
    static void name(struct graph *g, struct node *n) { \
        (void)g;                                        \
        code;                                           \
    }

DAMAGE(no_op, n->op = OP_COUNT)
DAMAGE(no_name, n->name = NULL)
DAMAGE(same_name, n->name = "x")
DAMAGE(one_arg, n->n_args = 1)
DAMAGE(later_arg, n->arg[0] = g->n_nodes - 1)
DAMAGE(big_rank, n->shape.rank = RANK_MAX + 1)
DAMAGE(no_size, n->shape.size[0] = 0)
DAMAGE(bad_dim, n->shape.dim[0] = 7)
DAMAGE(other_size, n->shape.size[0] = 5)
DAMAGE(bool_leaf, n->dtype = DTYPE_BOOL)
DAMAGE(other_shape, n->shape.size[1] = 2)
DAMAGE(bool_sum, n->dtype = DTYPE_BOOL)
DAMAGE(swap_args, n->arg[1] = n->arg[0])
DAMAGE(wrong_axes, n->axes = 1)
DAMAGE(far_axes, n->axes = 2 | 1 << 5)
DAMAGE(axis_twice, n->view[1] = 0)
DAMAGE(axis_far, n->view[1] = 3)
DAMAGE(axis_dropped, n->view[0] = -1)
DAMAGE(where_number, n->arg[0] = n->arg[1])

// What an operation folds with is a function of two numbers, and from its identity on nothing
// changes.
Test(graph, a_fold_begins_with_what_changes_nothing) {
    static const double numbers[] = {-2.5, 0, 1, 3};
    for (enum op op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = &op_infos[op];
        bool compares = op == OP_ARGMAX || op == OP_ARGMIN;
        bool folds = info->joins != OP_COUNT;
        cr_expect(folds || compares || !op_class_of(op)->has_terms, "%s", info->name);
        cr_expect(!folds || op_class_of(op)->role == OP_ROLE_ANCHOR, "%s", info->name);
        if (!folds)
            continue;
        const struct op_info *joins = &op_infos[info->joins];
        cr_expect(joins->class == OP_CLASS_ELEMENTWISE && joins->arity == 2, "%s", info->name);
        for (int i = joins->types == OP_TYPES_LOGIC ? 1 : 0; i < 4; i++) {
            double x = joins->types == OP_TYPES_LOGIC ? numbers[i] != 0 : numbers[i];
            cr_expect_eq(op_evaluate(info->joins, info->identity, x), x, "%s", info->name);
            cr_expect_eq(op_evaluate(info->joins, x, info->identity), x, "%s", info->name);
        }
    }
}

Test(graph, verify_finds_every_broken_rule) {
    breaks("y", no_op, "unknown operation");
    breaks("y", no_name, "no name");
    breaks("y", same_name, "two nodes are named x");
    breaks("y", one_arg, "number of arguments");
    breaks("y", later_arg, "before its user");
    breaks("y", big_rank, "rank");
    breaks("y", no_size, "below 1");
    breaks("y", bad_dim, "dim is unknown");
    breaks("y", other_size, "not its dim's");
    breaks("x", bool_leaf, "argument has the wrong type");
    breaks("y", other_shape, "another shape");
    breaks("y", bool_sum, "result has the wrong type");
    breaks("t.1", swap_args, "inner sizes");
    breaks("t.1", bool_sum, "result has the wrong type");
    breaks("t.2", wrong_axes, "keep its other axes");
    breaks("t.2", far_axes, "axis that its argument lacks");
    breaks("v.2", axis_twice, "walks an axis twice");
    breaks("v.2", axis_far, "axis that its argument lacks");
    breaks("v.2", axis_dropped, "drops an axis");
    breaks("t.6", where_number, "argument has the wrong type");
}

Test(simplify, makes_one_view_of_a_view_of_a_view) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\n"
                                         "in x : f32[2, 3]\n"
                                         "out y : f32[3, 4, 2]\n"
                                         "in z : f32[4, 2]\n"
                                         "y = x.T[:, None, :] + z\n");
    const struct node *y = &p->graph.nodes[p->outputs[0].node];
    const struct node *view = &p->graph.nodes[y->arg[0]];
    cr_assert_eq(view->op, OP_VIEW);
    cr_assert_eq(view->arg[0], p->inputs[0].node);
    cr_assert(view->view[0] == 1 && view->view[1] == -1 && view->view[2] == 0);
    cr_assert_eq(p->graph.n_nodes, 5);
    arena_reset(&a);
}

Test(simplify, drops_views_that_change_nothing_but_keeps_named_ones) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\n"
                                         "in x : f32[2, 3]\n"
                                         "out y : f32[2, 3]\n"
                                         "t = x\n"
                                         "y = t.T.T + x[:, :]\n");
    cr_assert_eq(p->graph.n_nodes, 3);
    cr_assert_eq(p->graph.nodes[1].op, OP_VIEW);
    cr_assert_str_eq(p->graph.nodes[1].name, "t");
    const struct node *y = &p->graph.nodes[2];
    cr_assert(y->arg[0] == 1 && y->arg[1] == 0);
    arena_reset(&a);
}
