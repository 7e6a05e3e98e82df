// An exponent per node for scaling, a share per node for linearity, row independence for
// permutations: each one forward pass that gives up where an operation has no law.
#include "ir/relations.h"

#include <stdlib.h>
#include <string.h>

#include "ir/interpret.h"
#include "ir/recurrence.h"

// Even, so that a root halves it; beyond FAR somebody's exponent might not hold it.
enum { STEP = 4, FAR = 24, ANY = 1000 };  // ANY: zero, which stays what it is

static bool is_plain(const struct problem_input *in) {
    bool is_real = in->distribution.kind == DISTRIBUTION_NORMAL ||
                   in->distribution.kind == DISTRIBUTION_UNIFORM;
    return is_real && !in->maker;
}

// Both have the same exponent, or one is zero; the common one into *e.
static bool agree(int a, int b, int *e) {
    *e = a == ANY ? b : a;
    return a == ANY || b == ANY || a == b;
}

static bool halve(int a, int sign, int *e) {
    *e = a == ANY ? ANY : sign * a / 2;
    return a == ANY || a % 2 == 0;
}

// The exponent of an elementwise operation's result, given those of its arguments.
static bool elementwise(enum op op, const int *arg, int n_args, int *e) {
    bool has_zero = arg[0] == ANY || (n_args > 1 && arg[1] == ANY);
    switch (op) {
    case OP_NEG:
    case OP_ABS:
        *e = arg[0];
        return true;
    case OP_ADD:
    case OP_SUB:
    case OP_MAX:
    case OP_MIN:
        return agree(arg[0], arg[1], e);
    case OP_MUL:
        *e = has_zero ? ANY : arg[0] + arg[1];
        return true;
    case OP_DIV:
        *e = has_zero ? ANY : arg[0] - arg[1];
        return arg[1] != ANY;
    case OP_SQRT:
        return halve(arg[0], 1, e);
    case OP_RSQRT:
        return arg[0] != ANY && halve(arg[0], -1, e);
    case OP_SIGN:
        *e = 0;
        return true;
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE: {
        bool ok = agree(arg[0], arg[1], e);
        *e = 0;
        return ok;
    }
    case OP_WHERE:
        return arg[0] == 0 && agree(arg[1], arg[2], e);
    default:
        // Of anything else only that equal arguments give equal results.
        *e = 0;
        for (int i = 0; i < n_args; i++)
            if (arg[i] != 0 && arg[i] != ANY)
                return false;
        return true;
    }
}

static bool scale_leaf(const struct node *n, const int *arg, int *e) {
    (void)arg;
    *e = n->value == 0 ? ANY : 0;
    return n->op == OP_CONST;
}

static bool scale_view(const struct node *n, const int *arg, int *e) {
    (void)n;
    *e = arg[0];
    return true;
}

static bool scale_elementwise(const struct node *n, const int *arg, int *e) {
    return elementwise(n->op, arg, n->n_args, e);
}

static bool scale_reduction(const struct node *n, const int *arg, int *e) {
    *e = n->op == OP_ARGMAX || n->op == OP_ARGMIN ? 0 : arg[0];
    return n->op != OP_RPROD || arg[0] == 0;
}

static bool scale_product(const struct node *n, const int *arg, int *e) {
    (void)n;
    *e = arg[0] == ANY || arg[1] == ANY ? ANY : arg[0] + arg[1];
    return true;
}

static int64_t reduction_length(const struct node *n, const struct shape *in) {
    int64_t result = shape_count(&n->shape);
    enum op joins = op_infos[n->op].joins;
    return joins == OP_ADD || joins == OP_MUL ? shape_count(in) / (result ? result : 1) : 1;
}

static int64_t product_length(const struct node *n, const struct shape *in) {
    (void)n;
    return in->size[in->rank - 1];
}

// A state may be the sum of all that the steps add up.
static int64_t loop_length(const struct node *n, const struct shape *in) {
    (void)in;
    return n->detail->recurrence->n_steps * relations_longest_sum(n->detail->recurrence->body);
}

// What a node is in inputs that are added up.
enum share { SHARE_NONE, SHARE_LINEAR, SHARE_OTHER };

static enum share elementwise_share(enum op op, const enum share *arg, int n_args) {
    bool any = false, all = true;
    for (int i = 0; i < n_args; i++) {
        any = any || arg[i] == SHARE_LINEAR;
        all = all && arg[i] == SHARE_LINEAR;
    }
    switch (op) {
    case OP_NEG:
    case OP_ADD:
    case OP_SUB:
        return all ? SHARE_LINEAR : SHARE_OTHER;  // a constant added to it would be added twice
    case OP_MUL:
        return any && !all ? SHARE_LINEAR : SHARE_OTHER;
    case OP_DIV:
        return arg[1] == SHARE_NONE ? SHARE_LINEAR : SHARE_OTHER;
    default:
        return SHARE_OTHER;
    }
}

static enum share share_linear(const struct node *n, const enum share *arg) {
    (void)n, (void)arg;
    return SHARE_LINEAR;
}

static enum share share_elementwise(const struct node *n, const enum share *arg) {
    return elementwise_share(n->op, arg, n->n_args);
}

static enum share share_reduction(const struct node *n, const enum share *arg) {
    (void)arg;
    return n->op == OP_RSUM ? SHARE_LINEAR : SHARE_OTHER;
}

static enum share share_product(const struct node *n, const enum share *arg) {
    (void)n;
    return arg[0] == SHARE_LINEAR && arg[1] == SHARE_LINEAR ? SHARE_OTHER : SHARE_LINEAR;
}

// What each class keeps of what its arguments are; NULL: nothing is known.
static const struct {
    // Arguments that are scaled by 2^arg[i]: by which power of two the result is, false: by none.
    bool (*exponent)(const struct node *n, const int *arg, int *e);
    // How many terms a result adds up. NULL: no more than its argument has, if it adds up.
    int64_t (*sum_length)(const struct node *n, const struct shape *in);
    // What the result is in inputs that are added up, where some argument is linear in them.
    enum share (*share)(const struct node *n, const enum share *arg);
} by_class[OP_CLASS_COUNT] = {
    [OP_CLASS_LEAF] = {scale_leaf, NULL, NULL},
    [OP_CLASS_VIEW] = {scale_view, NULL, share_linear},
    [OP_CLASS_ELEMENTWISE] = {scale_elementwise, NULL, share_elementwise},
    [OP_CLASS_REDUCE] = {scale_reduction, reduction_length, share_reduction},
    [OP_CLASS_CONTRACT] = {scale_product, product_length, share_product},
    [OP_CLASS_RECUR] = {NULL, loop_length, NULL},
};

static bool exponent_of(const struct node *n, const int *of, int *e) {
    int arg[ARGS_MAX];
    enum op_class class = op_infos[n->op].class;
    for (int i = 0; i < n->n_args; i++)
        arg[i] = of[n->arg[i]];
    *e = 0;
    return by_class[class].exponent && by_class[class].exponent(n, arg, e);
}

static bool has_law(const struct problem *p, struct relations_scaling *s) {
    int *of = calloc((size_t)p->graph.n_nodes, sizeof *of);
    bool ok = of != NULL;
    for (int i = 0; ok && i < p->graph.n_nodes; i++) {
        const struct node *n = &p->graph.nodes[i];
        if (n->op == OP_INPUT) {
            for (int k = 0; k < p->n_inputs; k++)
                of[i] = p->inputs[k].node == i ? s->input[k] : of[i];
            continue;
        }
        ok = exponent_of(n, of, &of[i]) && (of[i] == ANY || abs(of[i]) <= FAR);
        // What rounds by absolute steps, or wraps around, keeps no law.
        ok = ok && (of[i] == 0 || n->dtype == DTYPE_F32);
    }
    for (int i = 0; ok && i < p->n_outputs; i++) {
        int e = of[p->outputs[i].node];
        s->output[i] = e == ANY ? 0 : e;
    }
    free(of);
    return ok;
}

static bool can_scale(const struct problem *p, int input) {
    const struct problem_input *in = &p->inputs[input];
    return is_plain(in) && p->graph.nodes[in->node].dtype == DTYPE_F32;
}

bool relations_find_scaling(const struct problem *p, struct relations_scaling *s) {
    bool can_all = p->n_inputs > 0;
    for (int i = 0; i < p->n_inputs; i++) {
        *s = (struct relations_scaling){0};
        s->input[i] = STEP;
        if (can_scale(p, i) && has_law(p, s))
            return true;
        can_all = can_all && can_scale(p, i);
    }
    for (int i = 0; i < p->n_inputs; i++)
        s->input[i] = STEP;
    return can_all && p->n_inputs > 1 && has_law(p, s);
}

static int64_t sum_length(const struct graph *g, const struct node *n) {
    const struct shape *in = n->n_args ? &g->nodes[n->arg[0]].shape : &n->shape;
    enum op_class class = op_infos[n->op].class;
    if (by_class[class].sum_length)
        return by_class[class].sum_length(n, in);
    return op_infos[n->op].joins == OP_COUNT ? 1 : shape_count(in);  // or less
}

int64_t relations_longest_sum(const struct problem *p) {
    int64_t longest = 1;
    for (int i = 0; i < p->graph.n_nodes; i++) {
        int64_t length = sum_length(&p->graph, &p->graph.nodes[i]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

// Where elements have something to do with one another, rows may have as well.
static bool has_free_rows(const struct problem_input *in) {
    enum distribution_kind kind = in->distribution.kind;
    return !in->maker && in->promise == PROMISE_NONE && kind != DISTRIBUTION_PERMUTATION &&
           kind != DISTRIBUTION_SORTED && kind != DISTRIBUTION_OFFSETS;
}

bool relations_find_permutation(const struct problem *p, bool moves[INPUTS_MAX]) {
    bool *carries = calloc((size_t)p->graph.n_nodes, sizeof *carries);
    bool ok = carries && interpret_carriers(p, carries), any = false;
    for (int i = 0; ok && i < p->graph.n_nodes; i++)
        ok = !carries[i] || !op_class_of(p->graph.nodes[i].op)->is_structural;
    for (int i = 0; ok && i < p->n_inputs; i++) {
        moves[i] = carries[p->inputs[i].node];
        ok = !moves[i] || has_free_rows(&p->inputs[i]);
        any = any || moves[i];
    }
    free(carries);
    return ok && any && p->graph.nodes[p->outputs[0].node].shape.size[0] > 1;
}

static enum share share_of(const struct node *n, const enum share *of) {
    enum share arg[ARGS_MAX];
    bool any = false;
    for (int i = 0; i < n->n_args; i++) {
        arg[i] = of[n->arg[i]];
        any = any || arg[i] != SHARE_NONE;
        if (arg[i] == SHARE_OTHER)
            return SHARE_OTHER;
    }
    if (!any)
        return SHARE_NONE;
    if (n->dtype != DTYPE_F32)  // rounds by steps of its own
        return SHARE_OTHER;
    enum op_class class = op_infos[n->op].class;
    return by_class[class].share ? by_class[class].share(n, arg) : SHARE_OTHER;
}

bool relations_is_linear(const struct problem *p, const bool inputs[INPUTS_MAX]) {
    enum share *of = calloc((size_t)p->graph.n_nodes, sizeof *of);
    bool ok = of != NULL;
    for (int i = 0; ok && i < p->graph.n_nodes; i++) {
        const struct node *n = &p->graph.nodes[i];
        if (n->op != OP_INPUT)
            of[i] = share_of(n, of);
        for (int k = 0; n->op == OP_INPUT && k < p->n_inputs; k++)
            if (p->inputs[k].node == i && inputs[k])
                of[i] = n->dtype == DTYPE_F32 ? SHARE_LINEAR : SHARE_OTHER;
    }
    for (int i = 0; ok && i < p->n_outputs; i++)
        ok = of[p->outputs[i].node] == SHARE_LINEAR;
    free(of);
    return ok;
}
