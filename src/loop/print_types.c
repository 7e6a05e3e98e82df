// Printing what depends on types: how C calls them, constants, functions by type, conversions,
// loads and stores. Functions of one float end in their lanes (hone_exp8), those of another type
// in its name (hone_exp_f64), and memory of another type than f32 ends in both (hone_load8_f16).
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "loop/print_text.h"
#include "loop/range.h"

static const char *const type_names[LOOP_DTYPE_COUNT] = {
    [LOOP_F32] = "float",     [LOOP_F64] = "double", [LOOP_I32] = "int",
    [LOOP_I64] = "long long", [LOOP_MASK] = "int",   [LOOP_INDEX] = "long"};
static const char *const type_suffixes[LOOP_DTYPE_COUNT] = {
    [LOOP_F32] = "f32", [LOOP_F64] = "f64", [LOOP_I32] = "i32", [LOOP_I64] = "i64"};

const char *text_type(struct printer *p, enum loop_dtype dtype, int lanes) {
    if (lanes == 1)
        return type_names[dtype];
    return arena_printf(p->arena, "%s32x%d", dtype == LOOP_F32 ? "f" : "i", lanes);
}

const char *text_storage(enum dtype t) {
    switch (t) {
    case DTYPE_F32:
        return "float";
    case DTYPE_F64:
        return "double";
    case DTYPE_F16:
    case DTYPE_BF16:
        return "unsigned short";
    case DTYPE_I64:
        return "long long";
    case DTYPE_I32:
        return "int";
    case DTYPE_I8:
        return "signed char";
    default:
        return "unsigned char";
    }
}

// ---- constants

static void real(struct printer *p, enum loop_dtype t, double v) {
    const char *f = t == LOOP_F32 ? "f" : "";
    if (isnan(v) && p->is_cuda) {
        str_puts(&p->out, "HONE_NAN");
    } else if (isnan(v)) {
        str_printf(&p->out, "__builtin_nan%s(\"\")", f);
    } else if (isinf(v)) {
        str_puts(&p->out, v < 0 ? "-" : "");
        if (p->is_cuda)
            str_puts(&p->out, "HONE_INFINITY");
        else
            str_printf(&p->out, "__builtin_inf%s()", f);
    } else {
        char text[64];
        snprintf(text, sizeof text, t == LOOP_F32 ? "%.9g" : "%.17g", v);
        str_printf(&p->out, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", f);
    }
}

// The least number of a type has no literal of its own.
static void whole(struct printer *p, enum loop_dtype t, int64_t v) {
    const char *suffix = t == LOOP_I64 ? "LL" : "";
    int64_t least = t == LOOP_I64 ? INT64_MIN : INT32_MIN;
    if (v == least)
        str_printf(&p->out, "(%lld%s - 1)", (long long)(v + 1), suffix);
    else
        str_printf(&p->out, "%lld%s", (long long)v, suffix);
}

void text_constant(struct printer *p, const struct loop_expr *e) {
    if (e->dtype == LOOP_F32 || e->dtype == LOOP_F64)
        real(p, e->dtype, e->real);
    else if (e->dtype == LOOP_I32 || e->dtype == LOOP_I64)
        whole(p, e->dtype, e->integer);
    else if (e->name)
        str_puts(&p->out, e->name);
    else
        str_printf(&p->out, "%lld", (long long)e->integer);
}

// ---- calls

static void arguments(struct printer *p, const struct loop_expr *e) {
    for (int i = 0; i < loop_ops[e->op].arity; i++) {
        str_puts(&p->out, i ? ", " : "");
        text_expr(p, e->arg[i], BIND_ANY);
    }
    str_puts(&p->out, ")");
}

// The stem of a function's name where C has an operator for other types.
static const char *stem(enum loop_op op) {
    switch (op) {
    case LOOP_ADD:
        return "add";
    case LOOP_SUB:
        return "sub";
    case LOOP_MUL:
        return "mul";
    case LOOP_NEG:
        return "neg";
    case LOOP_MOD:
        return "mod";
    default:
        return loop_ops[op].text;
    }
}

static bool is_in_library(const struct loop_expr *e) {
    if (e->op == LOOP_MOD || e->op == LOOP_FLOORDIV)
        return false;
    // The larger and the smaller of floats stand at the head of the text.
    return e->dtype == LOOP_F32 || (e->dtype == LOOP_F64 && e->op != LOOP_MAX && e->op != LOOP_MIN);
}

static void library_call(struct printer *p, const struct loop_expr *e) {
    const char *f = e->dtype == LOOP_F32 ? "f" : "";
    if (e->op == LOOP_RSQRT) {
        str_printf(&p->out, "(1.0%s / sqrt%s(", f, f);
        arguments(p, e);
        str_puts(&p->out, ")");
        return;
    }
    str_printf(&p->out, "%s%s(", e->op == LOOP_ABS ? "fabs" : loop_ops[e->op].text, f);
    arguments(p, e);
}

void text_call(struct printer *p, const struct loop_expr *e) {
    enum loop_dtype t = e->arg[loop_ops[e->op].arity - 1]->dtype;
    const char *name = stem(e->op);
    bool across_threads = e->op >= LOOP_WARP_SUM && e->op <= LOOP_WARP_LAST;
    if (p->program->libm && is_in_library(e)) {
        library_call(p, e);
        return;
    }
    if (e->op == LOOP_LANE && e->dtype == LOOP_I32)
        t = LOOP_I32;
    if (e->op == LOOP_LANES_EVEN || e->op == LOOP_LANES_ODD || e->op == LOOP_LANES_SLID)
        str_printf(&p->out, "hone_%s%lld_%d(", name, (long long)e->stride, e->lanes);
    else if (across_threads && (t == LOOP_F32 || t == LOOP_MASK))
        str_printf(&p->out, "hone_%s(", name);
    else if (t == LOOP_F64 || t == LOOP_I32 || t == LOOP_I64)
        str_printf(&p->out, "hone_%s_%s(", name, type_suffixes[t]);
    else
        str_printf(&p->out, "hone_%s%s%s%d(", name,
                   (e->op == LOOP_BROADCAST || e->op == LOOP_SELECT) && t == LOOP_MASK ? "_mask"
                                                                                       : "",
                   isdigit((unsigned char)name[strlen(name) - 1]) ? "_" : "",
                   e->arg[0]->lanes > e->lanes ? e->arg[0]->lanes : e->lanes);
    arguments(p, e);
}

// ---- conversions

void text_cast(struct printer *p, const struct loop_expr *e, int bind) {
    const struct loop_expr *x = e->arg[0];
    bool from_float = x->dtype == LOOP_F32 || x->dtype == LOOP_F64;
    bool to_whole = e->dtype == LOOP_I32 || e->dtype == LOOP_I64;
    if (e->lanes > 1 && x->dtype == LOOP_I32) {
        str_puts(&p->out, "hone_floats_i32(");
        arguments(p, e);
    } else if (e->lanes > 1) {
        str_printf(&p->out, e->dtype == LOOP_MASK ? "hone_is_true%d(" : "hone_number%d(", e->lanes);
        arguments(p, e);
    } else if (from_float && to_whole) {
        str_printf(&p->out, "hone_%s_of_%s(", type_suffixes[e->dtype], type_suffixes[x->dtype]);
        arguments(p, e);
    } else if (e->dtype == LOOP_MASK) {
        str_puts(&p->out, "(");
        text_expr(p, x, BIND_ADD);
        str_puts(&p->out, " != 0)");
    } else {
        str_printf(&p->out, "%s(%s)", bind > BIND_UNARY ? "(" : "", type_names[e->dtype]);
        text_expr(p, x, BIND_UNARY + 1);
        str_puts(&p->out, bind > BIND_UNARY ? ")" : "");
    }
}

void text_round_to(struct printer *p, const struct loop_expr *e) {
    str_puts(&p->out, "hone_round");
    if (e->lanes > 1)
        str_printf(&p->out, "%d", e->lanes);
    else if (e->arg[0]->dtype == LOOP_F64)
        str_puts(&p->out, "64");
    str_printf(&p->out, "_%s(", dtype_name(e->storage));
    arguments(p, e);
}

void text_to_index(struct printer *p, const struct loop_expr *e) {
    bool wide = text_is_wide(p, e);
    str_puts(&p->out, wide ? "hone_to_long(" : "hone_to_int(");
    text_expr(p, e->arg[0], BIND_ANY);
    str_puts(&p->out, ", ");
    whole(p, wide ? LOOP_I64 : LOOP_I32, e->low);
    str_puts(&p->out, ", ");
    whole(p, wide ? LOOP_I64 : LOOP_I32, e->high);
    str_puts(&p->out, ")");
}

// ---- memory

void text_element(struct printer *p, const struct loop_buffer *b, const struct loop_expr *index) {
    int64_t i;
    if (b->space == LOOP_REGISTER && range_constant(index, &i)) {
        str_puts(&p->out, text_register(p, b, i));
        return;
    }
    bool packed = b->space != LOOP_REGISTER && b->dtype == DTYPE_I4;
    str_printf(&p->out, "%s[", b->name);
    text_expr(p, index, packed ? BIND_MUL : BIND_ANY);
    str_puts(&p->out, packed ? " / 2]" : "]");
}

// `_f16` behind the name of a function that accesses memory of that type.
static const char *memory_suffix(struct printer *p, const struct loop_buffer *b) {
    return b->dtype == DTYPE_F32 ? "" : arena_printf(p->arena, "_%s", dtype_name(b->dtype));
}

static bool is_small_float(enum dtype t) {
    return dtype_is_float(t) && t != DTYPE_F32 && t != DTYPE_F64;
}

static void load_scalar(struct printer *p, const struct loop_expr *e, int bind) {
    const struct loop_buffer *b = e->buffer;
    if (b->space != LOOP_REGISTER && b->dtype == DTYPE_I4) {
        str_printf(&p->out, "hone_get_i4(%s, ", b->name);
        text_expr(p, e->arg[0], BIND_ANY);
        str_puts(&p->out, ")");
        return;
    }
    bool is_bool = b->space != LOOP_REGISTER && b->dtype == DTYPE_BOOL;
    bool converts = b->space != LOOP_REGISTER && is_small_float(b->dtype);
    if (converts)
        str_printf(&p->out, "hone_from%s(", memory_suffix(p, b));
    str_puts(&p->out, is_bool && bind > BIND_ANY ? "(" : "");
    text_element(p, b, e->arg[0]);
    str_puts(&p->out, is_bool ? " != 0" : "");
    str_puts(&p->out, converts || (is_bool && bind > BIND_ANY) ? ")" : "");
}

void text_load(struct printer *p, const struct loop_expr *e, int bind) {
    if (e->buffer->space == LOOP_REGISTER || e->lanes == 1) {
        load_scalar(p, e, bind);
        return;
    }
    str_printf(&p->out, "hone_%s%d%s(&", e->stride == 1 ? "load" : "gather", e->lanes,
               memory_suffix(p, e->buffer));
    text_element(p, e->buffer, e->arg[0]);
    if (e->stride != 1)
        str_printf(&p->out, ", %lld", (long long)e->stride);
    str_puts(&p->out, ")");
}

static void store_scalar(struct printer *p, const struct loop_stmt *s) {
    const struct loop_buffer *b = s->buffer;
    if (b->space != LOOP_REGISTER && b->dtype == DTYPE_I4) {
        str_printf(&p->out, "hone_put_i4(%s, ", b->name);
        text_expr(p, s->index, BIND_ANY);
        str_puts(&p->out, ", ");
        text_expr(p, s->value, BIND_ANY);
        str_puts(&p->out, ");\n");
        return;
    }
    bool converts = b->space != LOOP_REGISTER && is_small_float(b->dtype);
    text_element(p, b, s->index);
    str_puts(&p->out, " = ");
    if (converts)
        str_printf(&p->out, "hone_to%s(", memory_suffix(p, b));
    text_expr(p, s->value, BIND_ANY);
    str_puts(&p->out, converts ? ");\n" : ";\n");
}

void text_store(struct printer *p, const struct loop_stmt *s) {
    const struct loop_buffer *b = s->buffer;
    bool streams_one = s->stream && p->is_cuda && b->dtype == DTYPE_F32;
    bool vector = b->space != LOOP_REGISTER && (s->value->lanes > 1 || streams_one);
    if (!vector) {
        store_scalar(p, s);
        return;
    }
    str_printf(&p->out, "hone_%s%d%s(&", s->stream ? "stream" : "store", s->value->lanes,
               memory_suffix(p, b));
    text_element(p, b, s->index);
    str_puts(&p->out, ", ");
    text_expr(p, s->value, BIND_ANY);
    str_puts(&p->out, ");\n");
}

void text_store_pair(struct printer *p, const struct loop_stmt *first,
                     const struct loop_stmt *second) {
    str_printf(&p->out, "hone_stream_pair%d%s(&", first->value->lanes,
               memory_suffix(p, first->buffer));
    text_element(p, first->buffer, first->index);
    str_puts(&p->out, ", ");
    text_expr(p, first->value, BIND_ANY);
    str_puts(&p->out, ", ");
    text_expr(p, second->value, BIND_ANY);
    str_puts(&p->out, ");\n");
}
