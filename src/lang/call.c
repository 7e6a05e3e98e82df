// Keywords of calls and reductions over the names of ops.def; "did you mean" for what others call
// them.
#include "lang/call.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/composite.h"
#include "lang/lang.h"
#include "lang/names.h"
#include "lang/parser.h"
#include "lang/structure.h"

// Names of what can be called. Every elementwise operation and reduction of ops.def is a
// function of its own name.
#define OP_NAME_LEAF(name)
#define OP_NAME_VIEW(name)
#define OP_NAME_ELEMENTWISE(name)
#define OP_NAME_REDUCE(name) name,
#define OP_NAME_CONTRACT(name)
#define OP_NAME_IOTA(name)
#define OP_NAME_MOVE(name)
#define OP_NAME_GATHER(name)
#define OP_NAME_SCATTER(name)
#define OP_NAME_SCAN(name)
#define OP_NAME_ORDER(name)
#define OP_NAME_WINDOW(name)
#define OP_NAME_RAGGED(name)
#define OP_NAME_RECUR(name)
#define OP(id, name, class, arity, types, flops, pipe) OP_NAME_##class(name)
#define UNARY(id, name, types, flops, pipe, value, slope) name,
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) name,
#define STEP1(id, name, types, flops, pipe, value) name,
#define STEP2(id, name, types, flops, pipe, value) name,
#define PICK(id, name, flops, takes_a) name,
#define TEST(id, name, arity, types, value) name,

static const char *const reserved_names[] = {"where",
#include "ir/ops.def"
                                             NULL};

static const char *const function_names[] = {"where",
#include "ir/ops.def"
#include "ir/ops_end.h"
#define STRUCTURE(name, required, values, build, params) name,
#include "lang/structure.def"
#undef STRUCTURE
#define COMPOSITE(name, values, keywords, body) name,
#include "lang/composites.def"
#undef COMPOSITE
                                             NULL};

const char *const *lang_function_names(void) {
    return function_names;
}

const char *const *lang_reserved_names(void) {
    return reserved_names;
}

// The operation of that name that can be called, or OP_COUNT.
static enum op find_op(const char *name) {
    for (int op = 0; op < OP_COUNT; op++) {
        enum op_class class = op_infos[op].class;
        if ((class == OP_CLASS_ELEMENTWISE || class == OP_CLASS_REDUCE) && op != OP_CAST &&
            strcmp(op_infos[op].name, name) == 0)
            return (enum op)op;
    }
    return OP_COUNT;
}

bool call_is_function(const char *name) {
    enum dtype type;
    return find_op(name) != OP_COUNT || structure_is(name) || composite_is(name) ||
           dtype_find(name, &type);
}

// A type called like a function: f16(x).
static bool is_cast(const struct expr *e, enum dtype *type) {
    return dtype_find(e->text, type);
}

// What others call it, where that is too far from our word to be seen as near.
static const struct synonym {
    const char *theirs, *ours;
} functions_elsewhere[] =
    {
        {"cat", "concat"},
        {"concatenate", "concat"},
        {"permute", "transpose"},
        {"view", "reshape"},
        {"flatten", "reshape"},
        {"expand", "broadcast_to"},
        {"unsqueeze", "x[:, None]"},
        {"squeeze", "x[:, 0]"},
        {"gather", "take_along_axis"},
        {"index_select", "take"},
        {"masked_fill", "where"},
        {"matmul", "a @ b"},
        {"mm", "a @ b"},
        {"bmm", "a @ b"},
        {"dot", "a @ b"},
        {"amax", "max"},
        {"amin", "min"},
        {"power", "pow"},
        {"swish", "silu"},
        {"range", "arange"},
        {"float", "f32"},
        {"int", "i32"},
        {"scaled_dot_product_attention", "attention"},
        {"sdpa", "attention"},
        {"glu", "a * sigmoid(b)"},
        {"clip", "clamp"},
        {"normalize", "l2_normalize"},
        {"logit", "log(x / (1 - x))"},
        {"addmm", "c + a @ b"},
        {"roll", "concat"},
},
  keywords_elsewhere[] = {{"dim", "axis"}, {"keepdim", "keepdims"}};

static const char *near_function(const char *name) {
    for (size_t i = 0; i < sizeof functions_elsewhere / sizeof *functions_elsewhere; i++)
        if (strcmp(functions_elsewhere[i].theirs, name) == 0)
            return functions_elsewhere[i].ours;
    return str_nearest(name, function_names);
}

const char *call_near_keyword(const char *name, const char *const *names) {
    for (size_t i = 0; i < sizeof keywords_elsewhere / sizeof *keywords_elsewhere; i++)
        for (int k = 0; names[k]; k++)
            if (strcmp(keywords_elsewhere[i].theirs, name) == 0 &&
                strcmp(keywords_elsewhere[i].ours, names[k]) == 0)
                return names[k];
    return str_nearest(name, names);
}

const struct expr *call_by_position(struct builder *b, const struct expr *e, int n_values,
                                    const char *const *names) {
    struct expr *copy = arena_new(b->arena, struct expr);
    *copy = *e;
    copy->n_args = n_values;
    copy->keywords = arena_array(b->arena, struct keyword, 2 * KEYWORDS_MAX);
    for (int i = 0; i < e->n_keywords; i++)
        copy->keywords[i] = e->keywords[i];
    for (int i = 0; i < e->n_args - n_values && names[i]; i++) {
        struct expr *value = e->args[n_values + i];
        struct keyword *k = &copy->keywords[copy->n_keywords++];
        *k = (struct keyword){.at = value->at, .name = names[i], .value = value};
        parser_list_items(k);
    }
    return copy;
}

bool call_is_plain(const struct builder *b, const struct expr *e) {
    const struct expr *digits = e->kind == EXPR_NEGATE ? e->args[0] : e;
    bool is_dim = false;
    for (int i = 0; e->kind == EXPR_NAME && i < b->graph->n_dims; i++)
        is_dim |= strcmp(b->graph->dims[i].name, e->text) == 0;
    is_dim |= e->kind == EXPR_NAME && names_truth(e->text) >= 0;
    return digits->kind == EXPR_NUMBER || e->kind == EXPR_TUPLE || is_dim;
}

const struct expr *call_reduction(struct builder *b, const struct expr *e) {
    static const char *const names[] = {"axis", NULL};
    enum op op = find_op(e->text);
    bool reduces = op != OP_COUNT && op_infos[op].class == OP_CLASS_REDUCE;
    return reduces && e->n_args == 2 && call_is_plain(b, e->args[1])
               ? call_by_position(b, e, 1, names)
               : e;
}

static void check_reduce_keywords(struct builder *b, const struct expr *e) {
    static const char *const keyword_names[] = {"axis", "keepdims", NULL};
    for (int i = 0; i < e->n_keywords; i++) {
        const struct keyword *k = &e->keywords[i];
        if (strcmp(k->name, "axis") != 0 && strcmp(k->name, "keepdims") != 0)
            mistake_fail(b->mistakes, k->at, call_near_keyword(k->name, keyword_names),
                         "%s() has no keyword '%s'", e->text, k->name);
        for (int j = 0; j < i; j++)
            if (strcmp(e->keywords[j].name, k->name) == 0)
                mistake_fail(b->mistakes, k->at, NULL, "'%s' is given twice", k->name);
    }
}

void call_check(struct builder *b, const struct expr *e) {
    enum op op = find_op(e->text);
    enum dtype type;
    bool cast = is_cast(e, &type), reduces = false;
    if (op == OP_COUNT && !cast)
        mistake_fail(b->mistakes, e->at, near_function(e->text), "no function is named '%s'",
                     e->text);
    int n_args = cast ? 1 : op_infos[op].arity;
    reduces = !cast && op_infos[op].class == OP_CLASS_REDUCE;
    if (reduces && e->n_args > 1)
        mistake_fail(b->mistakes, e->args[1]->at, NULL, "%s() takes one value; %s", e->text,
                     op == OP_RMAX   ? "maximum(a, b) takes two, and an axis is axis=1"
                     : op == OP_RMIN ? "minimum(a, b) takes two, and an axis is axis=1"
                                     : "an axis is written axis=1");
    if (e->n_args != n_args)
        mistake_fail(b->mistakes, e->at, NULL, "%s() takes %d value%s, not %d", e->text, n_args,
                     n_args == 1 ? "" : "s", e->n_args);
    if (reduces)
        check_reduce_keywords(b, e);
    else if (e->n_keywords)
        mistake_fail(b->mistakes, e->keywords[0].at, NULL, "%s() has no keyword '%s'", e->text,
                     e->keywords[0].name);
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

// `axis`, `others` and `spatial` inside a composite's body.
static bool frame_axes(const struct builder *b, const struct keyword *k, const struct shape *s,
                       unsigned *axes) {
    const char *name = k->n_items == 1 ? k->items[0].name : NULL;
    unsigned all = (1u << s->rank) - 1;
    if (!b->frame || !name)
        return false;
    if (strcmp(name, "axis") == 0)
        *axes = b->frame->axes;
    else if (strcmp(name, "others") == 0)
        *axes = all & ~b->frame->axes;
    else if (strcmp(name, "spatial") == 0)
        *axes = all & ~3u;
    else
        return false;
    return true;
}

unsigned call_axes(struct builder *b, const struct keyword *k, const struct shape *s) {
    unsigned axes = 0;
    if (frame_axes(b, k, s, &axes))
        return axes;
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

// Axes and keepdims of a reduction.
static unsigned read_keywords(struct builder *b, const struct expr *e, const struct shape *s,
                              bool *keepdims) {
    if (s->rank == 0)
        mistake_fail(b->mistakes, e->at, NULL, "%s() needs a value with at least one axis",
                     e->text);
    unsigned axes = (1u << s->rank) - 1;
    for (int i = 0; i < e->n_keywords; i++) {
        const struct keyword *k = &e->keywords[i];
        if (strcmp(k->name, "axis") == 0) {
            axes = call_axes(b, k, s);
            continue;
        }
        int truth = k->n_items == 1 ? names_truth(k->items[0].name) : -1;
        *keepdims = truth > 0;
        if (truth < 0)
            mistake_fail(b->mistakes, k->at, NULL, "keepdims is true or false");
    }
    return axes;
}

static struct operand build_reduction(struct builder *b, const struct label *l,
                                      const struct expr *e, node_id arg) {
    bool keepdims = false;
    enum op op = find_op(e->text);
    struct shape shape = build_get(b, arg)->shape;
    unsigned axes = read_keywords(b, e, &shape, &keepdims);
    if (!keepdims)
        return build_reduce(b, l, op, arg, axes);
    struct label own = *l, part = *l;
    if (!own.name)
        own.name = build_part_name(b);
    part.name = arena_printf(b->arena, "%s.%s", own.name, op_infos[op].name);
    struct operand reduced = build_reduce(b, &part, op, arg, axes);
    for (int i = 0; i < shape.rank; i++)
        if (axes >> i & 1) {
            shape.size[i] = 1;
            shape.dim[i] = -1;
        }
    return build_unreduce(b, &own, reduced.node, &shape, axes);
}

struct operand call_build(struct builder *b, const struct label *l, const struct expr *e,
                          const struct operand *args) {
    enum dtype type;
    if (is_cast(e, &type))
        return build_cast(b, l, args[0], type);
    enum op op = find_op(e->text);
    if (op_infos[op].class == OP_CLASS_ELEMENTWISE)
        return build_elementwise(b, l, op, args);
    return build_reduction(b, l, e, build_node(b, &(struct label){.at = e->args[0]->at}, args[0]));
}
