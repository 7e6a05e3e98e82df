// Looks through casts and views to what factors really are, and lists the matrix units that hold
// them exactly or by splitting.
#include "model/realise.h"

enum { SCALES_MAX = 4 };  // one on top of the other

// What an operand is made of, as far as matrix units care.
enum operand_kind {
    OPERAND_INT8,  // whole numbers of at most eight bits
    OPERAND_F8,
    OPERAND_F16,
    OPERAND_BF16,
    OPERAND_TF32,
    OPERAND_F32,
    OPERAND_F64
};

static enum operand_kind kind_of_type(enum dtype t) {
    switch (t) {
    case DTYPE_BOOL:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_I4:
        return OPERAND_INT8;
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
        return OPERAND_F8;
    case DTYPE_F16:
        return OPERAND_F16;
    case DTYPE_BF16:
        return OPERAND_BF16;
    case DTYPE_F64:
        return OPERAND_F64;
    default:
        return OPERAND_F32;
    }
}

static bool is_smaller(const struct graph *g, node_id n, node_id than) {
    while (g->nodes[n].op == OP_VIEW)
        n = g->nodes[n].arg[0];
    while (g->nodes[than].op == OP_VIEW)
        than = g->nodes[than].arg[0];
    return shape_count(&g->nodes[n].shape) < shape_count(&g->nodes[than].shape);
}

static enum operand_kind operand_of(const struct graph *g, node_id id, int depth);

// Narrow numbers times a scale that many of them share: the scale can be applied to the products.
static bool is_scaled(const struct graph *g, const struct node *n, int depth,
                      enum operand_kind *kind) {
    if (depth > SCALES_MAX ||
        (n->op != OP_MUL && n->op != OP_SUB && n->op != OP_DIV && n->op != OP_ADD))
        return false;
    int wide = is_smaller(g, n->arg[0], n->arg[1]) ? 1 : 0;
    if (!is_smaller(g, n->arg[1 - wide], n->arg[wide]) || (wide == 1 && n->op == OP_DIV))
        return false;
    *kind = operand_of(g, n->arg[wide], depth + 1);
    return *kind == OPERAND_INT8 || *kind == OPERAND_F8;
}

// Seen through what only moves elements or widens them.
static enum operand_kind operand_of(const struct graph *g, node_id id, int depth) {
    for (;;) {
        const struct node *n = &g->nodes[id];
        enum op_class class = op_infos[n->op].class;
        enum operand_kind kind = kind_of_type(n->dtype), inner;
        if (class == OP_CLASS_ELEMENTWISE && n->op != OP_CAST)
            return is_scaled(g, n, depth, &inner) ? inner : kind;
        bool moves = class == OP_CLASS_VIEW || n->op == OP_RESHAPE || n->op == OP_SLICE ||
                     class == OP_CLASS_GATHER;
        if (!moves && n->op != OP_CAST)
            return kind;
        const struct dtype_info *from = &dtype_infos[g->nodes[n->arg[0]].dtype];
        const struct dtype_info *to = &dtype_infos[n->dtype];
        if (n->op == OP_CAST && (to->digits < from->digits ||
                                 (to->kind == DTYPE_KIND_FLOAT && from->kind == DTYPE_KIND_FLOAT &&
                                  to->exponent < from->exponent)))
            return kind;
        id = n->arg[0];
    }
}

static enum operand_kind as_precise(enum operand_kind kind, const struct precision *precision) {
    enum operand_kind asked = OPERAND_F64;
    if (precision->operand == PRECISION_TF32)
        asked = OPERAND_TF32;
    else if (precision->operand == PRECISION_TYPE)
        asked = kind_of_type(precision->type);
    return asked < kind ? asked : kind;
}

// Is every value of `kind` also one of the narrow kind?
static bool fits(enum operand_kind kind, enum operand_kind narrow) {
    if (narrow == OPERAND_BF16)
        return kind <= OPERAND_F8 || kind == OPERAND_BF16;
    return kind <= narrow;
}

static int add(struct realisation *list, int n, enum pipe pipe, int products) {
    list[n] = (struct realisation){pipe, products};
    return n + 1;
}

// Operands of matrix units proper: nothing is split, the narrowest common kind is the fastest.
static int add_narrow(struct realisation *list, int count, enum operand_kind a,
                      enum operand_kind b) {
    count = add(list, count, PIPE_TF32, 1);
    if ((fits(a, OPERAND_F16) && fits(b, OPERAND_F16)) ||
        (fits(a, OPERAND_BF16) && fits(b, OPERAND_BF16)))
        count = add(list, count, PIPE_F16, 1);
    if (a == OPERAND_F8 && b == OPERAND_F8)
        count = add(list, count, PIPE_F8, 1);
    if (a == OPERAND_INT8 && b == OPERAND_INT8)
        count = add(list, count, PIPE_I8, 1);
    return count;
}

static int ways(const struct problem *p, const struct node *n, struct realisation *list) {
    const struct graph *g = &p->graph;
    enum operand_kind a = as_precise(operand_of(g, n->arg[0], 0), &p->precision);
    enum operand_kind b = as_precise(operand_of(g, n->arg[1], 0), &p->precision);
    bool is_f64 = n->dtype == DTYPE_F64 && p->precision.operand == PRECISION_STORED;
    if (is_f64 || a == OPERAND_F64 || b == OPERAND_F64)
        return add(list, 0, PIPE_F64, 1);
    int count = add(list, 0, PIPE_F32, 1);
    if (!dtype_is_float(n->dtype))
        return a == OPERAND_INT8 && b == OPERAND_INT8 ? add(list, count, PIPE_I8, 1) : count;
    if (a != OPERAND_F32 && b != OPERAND_F32)
        return add_narrow(list, count, a, b);
    if (p->precision.is_exact)
        return count;
    // Each f32 operand is a sum of two TF32 ones, or of two f16 ones under a scale that is a power
    // of two for each row; the product of the two small parts is left out.
    int products = a == b ? 3 : 2;
    count = add(list, count, PIPE_TF32, products);
    return add(list, count, PIPE_F16, products);
}

struct realisation realise(const struct problem *p, const struct node *n,
                           const double rates[PIPE_COUNT]) {
    struct realisation list[PIPE_COUNT];
    int count = ways(p, n, list);
    struct realisation best = list[0];
    for (int i = 1; i < count; i++)
        if (rates[list[i].pipe] / list[i].products > rates[best.pipe] / best.products)
            best = list[i];
    return best;
}
