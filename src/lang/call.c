#include "lang/call.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/lang.h"
#include "lang/structure.h"

// What a composite builds with: the label of its result, the axes it was given.
struct call {
    struct builder *builder;
    const struct label *label;
    const struct operand *args;
    unsigned axes;
    bool keepdims;
    enum op op;
};

typedef struct operand (*expand_fn)(const struct call *c);

struct function {
    const char *name;
    int n_args;
    enum op op;
    expand_fn expand;   // NULL: the elementwise operation `op`
    bool has_axis;      // takes axis=
    bool has_keepdims;  // takes keepdims=
    bool last_axis;     // over the last axis by default, else over all
};

static struct operand number(double value) {
    return (struct operand){.is_number = true, .number = value};
}

// An inner part of the result: y.max.
static struct operand part(const struct call *c, const char *suffix, enum op op, struct operand x,
                           struct operand y) {
    struct builder *b = c->builder;
    struct label l = *c->label;
    l.name = arena_printf(b->arena, "%s.%s", l.name, suffix);
    if (op_infos[op].class == OP_CLASS_REDUCE)
        return build_reduce(b, &l, op, x.node, c->axes);
    return build_elementwise(b, &l, op, (struct operand[]){x, y});
}

static struct operand result(const struct call *c, enum op op, struct operand x, struct operand y) {
    return build_elementwise(c->builder, c->label, op, (struct operand[]){x, y});
}

// A reduced part stretched back to the shape of `like`.
static struct operand stretched(const struct call *c, struct operand reduced, struct operand like) {
    struct shape shape = build_look(c->builder, like.node)->shape;
    struct label l = {.at = c->label->at, .composite = c->label->composite};
    return build_unreduce(c->builder, &l, reduced.node, &shape, c->axes);
}

// The label of a reduction: the result's own, or with keepdims that of an inner part.
static struct operand finish_reduce(const struct call *c, struct operand reduced,
                                    struct operand arg) {
    if (!c->keepdims)
        return reduced;
    struct shape shape = build_look(c->builder, arg.node)->shape;
    for (int i = 0; i < shape.rank; i++)
        if (c->axes >> i & 1) {
            shape.size[i] = 1;
            shape.dim[i] = -1;
        }
    return build_unreduce(c->builder, c->label, reduced.node, &shape, c->axes);
}

static struct operand expand_reduce(const struct call *c) {
    struct operand none = {0};
    if (c->keepdims)
        return finish_reduce(c, part(c, op_infos[c->op].name, c->op, c->args[0], none), c->args[0]);
    return build_reduce(c->builder, c->label, c->op, c->args[0].node, c->axes);
}

static struct operand expand_mean(const struct call *c) {
    struct shape shape = build_look(c->builder, c->args[0].node)->shape;
    double count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= c->axes >> i & 1 ? (double)shape.size[i] : 1;
    struct operand sum = part(c, "sum", OP_RSUM, c->args[0], (struct operand){0});
    if (c->keepdims)
        return finish_reduce(c, part(c, "mean", OP_DIV, sum, number(count)), c->args[0]);
    return result(c, OP_DIV, sum, number(count));
}

static struct operand expand_softmax(const struct call *c) {
    struct operand none = {0}, x = c->args[0];
    struct operand max = part(c, "max", OP_RMAX, x, none);
    struct operand shifted = part(c, "shifted", OP_SUB, x, stretched(c, max, x));
    struct operand exp = part(c, "exp", OP_EXP, shifted, none);
    struct operand sum = part(c, "sum", OP_RSUM, exp, none);
    return result(c, OP_DIV, exp, stretched(c, sum, x));
}

// 0.5 x (1 + erf(x / sqrt 2)): the exact form, not the tanh approximation.
static struct operand expand_gelu(const struct call *c) {
    struct operand x = c->args[0];
    struct operand scaled = part(c, "scaled", OP_MUL, x, number(0.70710678118654752));
    struct operand erf = part(c, "erf", OP_ERF, scaled, (struct operand){0});
    struct operand gate = part(c, "gate", OP_ADD, erf, number(1));
    struct operand half = part(c, "half", OP_MUL, x, number(0.5));
    return result(c, OP_MUL, half, gate);
}

static struct operand sigmoid_denominator(const struct call *c) {
    struct operand none = {0};
    struct operand neg = part(c, "neg", OP_NEG, c->args[0], none);
    struct operand exp = part(c, "exp", OP_EXP, neg, none);
    return part(c, "sum", OP_ADD, exp, number(1));
}

static struct operand expand_sigmoid(const struct call *c) {
    return result(c, OP_DIV, number(1), sigmoid_denominator(c));
}

static struct operand expand_silu(const struct call *c) {
    return result(c, OP_DIV, c->args[0], sigmoid_denominator(c));
}

static struct operand expand_relu(const struct call *c) {
    return result(c, OP_MAX, c->args[0], number(0));
}

// clang-format off
static const struct function functions[] = {
    {"exp",     1, .op = OP_EXP},
    {"log",     1, .op = OP_LOG},
    {"sqrt",    1, .op = OP_SQRT},
    {"rsqrt",   1, .op = OP_RSQRT},
    {"tanh",    1, .op = OP_TANH},
    {"erf",     1, .op = OP_ERF},
    {"abs",     1, .op = OP_ABS},
    {"maximum", 2, .op = OP_MAX},
    {"minimum", 2, .op = OP_MIN},
    {"where",   3, .op = OP_WHERE},
    {"sum",     1, .op = OP_RSUM,  .expand = expand_reduce, .has_axis = true, .has_keepdims = true},
    {"max",     1, .op = OP_RMAX,  .expand = expand_reduce, .has_axis = true, .has_keepdims = true},
    {"min",     1, .op = OP_RMIN,  .expand = expand_reduce, .has_axis = true, .has_keepdims = true},
    {"prod",    1, .op = OP_RPROD, .expand = expand_reduce, .has_axis = true, .has_keepdims = true},
    {"mean",    1, .expand = expand_mean, .has_axis = true, .has_keepdims = true},
    {"softmax", 1, .expand = expand_softmax, .has_axis = true, .last_axis = true},
    {"gelu",    1, .expand = expand_gelu},
    {"sigmoid", 1, .expand = expand_sigmoid},
    {"silu",    1, .expand = expand_silu},
    {"relu",    1, .expand = expand_relu},
};
// clang-format on

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

// In the order of `functions`; a test compares the two.
static const char *const function_names[] = {
    "exp", "log", "sqrt", "rsqrt", "tanh", "erf",     "abs",  "maximum", "minimum", "where",
    "sum", "max", "min",  "prod",  "mean", "softmax", "gelu", "sigmoid", "silu",    "relu",
#define STRUCTURE(name, required, values, build, params) name,
#include "lang/structure.def"
#undef STRUCTURE
    NULL};
enum {
    N_STRUCTURES = 0
#define STRUCTURE(name, required, values, build, params) +1
#include "lang/structure.def"
#undef STRUCTURE
};
_Static_assert(sizeof function_names / sizeof *function_names == N_FUNCTIONS + N_STRUCTURES + 1,
               "both lists");

const char *const *lang_function_names(void) {
    return function_names;
}

static const struct function *find_function(const char *name) {
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool call_is_function(const char *name) {
    enum dtype type;
    return find_function(name) != NULL || structure_is(name) || dtype_find(name, &type);
}

// A type called like a function: f16(x).
static bool is_cast(const struct expr *e, enum dtype *type) {
    return dtype_find(e->text, type);
}

static void check_cast(struct builder *b, const struct expr *e) {
    if (e->n_args != 1 || e->n_keywords)
        mistake_fail(b->mistakes, e->at, NULL, "%s() takes one value and no keyword", e->text);
}

void call_check(struct builder *b, const struct expr *e) {
    const struct function *f = find_function(e->text);
    enum dtype type;
    if (is_cast(e, &type)) {
        check_cast(b, e);
        return;
    }
    if (!f)
        mistake_fail(b->mistakes, e->at, str_nearest(e->text, function_names),
                     "no function is named '%s'", e->text);
    if (f->has_axis && e->n_args > 1)
        mistake_fail(b->mistakes, e->args[1]->at, NULL, "%s() takes one value; %s", e->text,
                     f->op == OP_RMAX   ? "maximum(a, b) takes two, and an axis is axis=1"
                     : f->op == OP_RMIN ? "minimum(a, b) takes two, and an axis is axis=1"
                                        : "an axis is written axis=1");
    if (e->n_args != f->n_args)
        mistake_fail(b->mistakes, e->at, NULL, "%s() takes %d value%s, not %d", e->text, f->n_args,
                     f->n_args == 1 ? "" : "s", e->n_args);
    static const char *const keyword_names[] = {"axis", "keepdims", NULL};
    for (int i = 0; i < e->n_keywords; i++) {
        const struct keyword *k = &e->keywords[i];
        bool known = (f->has_axis && strcmp(k->name, "axis") == 0) ||
                     (f->has_keepdims && strcmp(k->name, "keepdims") == 0);
        if (!known)
            mistake_fail(b->mistakes, k->at,
                         f->has_keepdims ? str_nearest(k->name, keyword_names) : NULL,
                         "%s() has no keyword '%s'", e->text, k->name);
        for (int j = 0; j < i; j++)
            if (strcmp(e->keywords[j].name, k->name) == 0)
                mistake_fail(b->mistakes, k->at, NULL, "'%s' is given twice", k->name);
    }
}

static int named_axis(struct builder *b, const struct keyword_item *it, const struct shape *s) {
    int found = -1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0 || strcmp(b->graph->dims[s->dim[i]].name, it->name) != 0)
            continue;
        if (found >= 0)
            mistake_fail(b->mistakes, it->at, NULL, "two axes are called '%s'; give a number",
                         it->name);
        found = i;
    }
    if (found < 0)
        mistake_fail(b->mistakes, it->at, NULL, "no axis is called '%s' in a value of shape %s",
                     it->name, shape_print(b->arena, b->graph, s));
    return found;
}

static unsigned read_axes(struct builder *b, const struct keyword *k, const struct shape *s) {
    unsigned axes = 0;
    if (k->n_items == 0)
        mistake_fail(b->mistakes, k->value->at, NULL, "expected a whole number or a dim's name");
    for (int i = 0; i < k->n_items; i++) {
        const struct keyword_item *it = &k->items[i];
        int64_t axis = it->name ? named_axis(b, it, s) : it->number;
        if (axis < -s->rank || axis >= s->rank)
            mistake_fail(b->mistakes, it->at, NULL,
                         "axis %lld does not exist in a value of shape %s", (long long)axis,
                         shape_print(b->arena, b->graph, s));
        unsigned bit = 1u << (axis < 0 ? axis + s->rank : axis);
        if (axes & bit)
            mistake_fail(b->mistakes, it->at, NULL, "this axis is named twice");
        axes |= bit;
    }
    return axes;
}

static void read_keywords(struct call *c, const struct function *f, const struct expr *e,
                          const struct shape *s) {
    struct builder *b = c->builder;
    if (s->rank == 0)
        mistake_fail(b->mistakes, e->at, NULL, "%s() needs a value with at least one axis",
                     f->name);
    c->axes = f->last_axis ? 1u << (s->rank - 1) : (1u << s->rank) - 1;
    for (int i = 0; i < e->n_keywords; i++) {
        const struct keyword *k = &e->keywords[i];
        if (strcmp(k->name, "axis") == 0) {
            if (f->last_axis && k->n_items > 1)
                mistake_fail(b->mistakes, k->at, NULL, "%s() goes along one axis", f->name);
            c->axes = read_axes(b, k, s);
            continue;
        }
        const char *word = k->items[0].name;
        c->keepdims = word && strcmp(word, "true") == 0;
        if (k->n_items != 1 || !word || (!c->keepdims && strcmp(word, "false") != 0))
            mistake_fail(b->mistakes, k->at, NULL, "keepdims is true or false");
    }
}

struct operand call_build(struct builder *b, const struct label *l, const struct expr *e,
                          const struct operand *args) {
    const struct function *f = find_function(e->text);
    enum dtype type;
    if (is_cast(e, &type))
        return build_cast(b, l, args[0], type);
    if (!f->expand)
        return build_elementwise(b, l, f->op, args);

    struct operand nodes[ARGS_MAX];
    struct label own = *l;
    for (int i = 0; i < e->n_args; i++)
        nodes[i].node = build_node(b, &(struct label){.at = e->args[i]->at}, args[i]);
    for (int i = 0; i < e->n_args; i++)
        nodes[i].is_number = false;
    struct call c = {.builder = b, .label = &own, .args = nodes, .op = f->op};
    if (f->has_axis)
        read_keywords(&c, f, e, &build_look(b, nodes[0].node)->shape);
    // A plain reduction is one node; everything else is a composite with inner parts.
    if (f->expand != expand_reduce)
        own.composite = f->name;
    if (!own.name)
        own.name = build_part_name(b);
    return f->expand(&c);
}
