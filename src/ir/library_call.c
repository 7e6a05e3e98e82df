// Tables of names and clauses, and the bounds of what a call touches.
#include "ir/library_call.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

static const char *const kind_names[] = {
    [CALL_GEMM] = "gemm", [CALL_CONV] = "conv", [CALL_CUTLASS] = "cutlass"};
static const char *const math_names[] = {
    [CALL_F32] = "f32", [CALL_TF32] = "tf32", [CALL_F64] = "f64", [CALL_I32] = "i32"};

const struct call_clause *call_clauses(enum call_kind kind) {
    static const struct call_clause gemm[] = {
        {"size", GEMM_M, 4}, {"lhs", GEMM_LHS, 3}, {"rhs", GEMM_RHS, 3}, {"out", GEMM_OUT, 3}, {0}};
    static const struct call_clause conv[] = {
        {"size", CONV_BATCH, 4},      {"transposed", CONV_TRANSPOSED, 1},
        {"axes", CONV_AXES, 1},       {"image", CONV_IMAGE, 3},
        {"window", CONV_WINDOW, 3},   {"stride", CONV_STRIDE, 3},
        {"padding", CONV_PADDING, 3}, {"dilation", CONV_DILATION, 3},
        {"result", CONV_RESULT, 3},   {0}};
    static const struct call_clause cutlass[] = {{"size", GEMM_M, 4},
                                                 {"lhs", GEMM_LHS, 3},
                                                 {"rhs", GEMM_RHS, 3},
                                                 {"out", GEMM_OUT, 3},
                                                 {"tile", CUTLASS_TILE, 3},
                                                 {"cluster", CUTLASS_CLUSTER, 2},
                                                 {"schedule", CUTLASS_SCHEDULE, 1},
                                                 {"store", CUTLASS_STORE, 1},
                                                 {"stages", CUTLASS_STAGES, 1},
                                                 {"scheduler", CUTLASS_SCHEDULER, 1},
                                                 {"raster", CUTLASS_RASTER, 1},
                                                 {"swizzle", CUTLASS_SWIZZLE, 1},
                                                 {0}};
    return kind == CALL_GEMM ? gemm : kind == CALL_CONV ? conv : cutlass;
}

int call_numbers(enum call_kind kind) {
    return kind == CALL_GEMM ? GEMM_NUMBERS : kind == CALL_CONV ? CONV_NUMBERS : CUTLASS_NUMBERS;
}

const char *call_kind_name(enum call_kind kind) {
    return kind_names[kind];
}

const char *call_math_name(enum call_math math) {
    return math_names[math];
}

bool call_kind_find(const char *name, enum call_kind *kind) {
    for (int i = 0; i < CALL_KIND_COUNT; i++)
        if (strcmp(name, kind_names[i]) == 0) {
            *kind = (enum call_kind)i;
            return true;
        }
    return false;
}

bool call_math_find(const char *name, enum call_math *math) {
    for (int i = 0; i < CALL_MATH_COUNT; i++)
        if (strcmp(name, math_names[i]) == 0) {
            *math = (enum call_math)i;
            return true;
        }
    return false;
}

void call_print(struct str *out, const struct call *c) {
    str_printf(out, "call %s math(%s)", kind_names[c->kind], math_names[c->math]);
    for (const struct call_clause *k = call_clauses(c->kind); k->name; k++) {
        str_printf(out, " %s(", k->name);
        for (int i = 0; i < k->n; i++)
            str_printf(out, "%s%lld", i ? ", " : "", (long long)c->number[k->first + i]);
        str_puts(out, ")");
    }
    if (c->kind != CALL_CUTLASS || c->epilogue.n_steps == 0)
        return;
    str_puts(out, " epilogue(");
    epilogue_print(out, &c->epilogue);
    str_puts(out, ")");
}

// Far beyond any buffer; of convolutions, products of two of them stay within 64 bits.
static const int64_t number_max = (int64_t)1 << 40, conv_number_max = 1 << 30;

// Elements from the first to the last that is touched, and one; 0: beyond 64 bits.
static int64_t span(const int64_t *sizes, const int64_t *strides, int n) {
    int64_t last = 0, step;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return 0;
    return last < INT64_MAX ? last + 1 : 0;
}

static bool fits(int64_t elements, enum dtype type, int64_t size_bytes) {
    return elements > 0 && elements <= number_max && dtype_size(type, elements) <= size_bytes;
}

static bool gemm_fits(const int64_t *z, const enum dtype *types, const int64_t *bytes) {
    const int64_t lhs[] = {z[GEMM_M], z[GEMM_K], z[GEMM_BATCH]};
    const int64_t rhs[] = {z[GEMM_K], z[GEMM_N], z[GEMM_BATCH]};
    const int64_t out[] = {z[GEMM_M], z[GEMM_N], z[GEMM_BATCH]};
    return fits(span(lhs, z + GEMM_LHS, 3), types[CALL_LHS], bytes[CALL_LHS]) &&
           fits(span(rhs, z + GEMM_RHS, 3), types[CALL_RHS], bytes[CALL_RHS]) &&
           fits(span(out, z + GEMM_OUT, 3), types[CALL_OUT], bytes[CALL_OUT]);
}

static int64_t product(const int64_t *x, int n) {
    int64_t all = 1;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(all, x[i], &all))
            return 0;
    return all;
}

static bool conv_fits(const int64_t *z, const enum dtype *types, const int64_t *bytes) {
    const int64_t image[] = {z[CONV_BATCH],     z[CONV_GROUPS],    z[CONV_IN],
                             z[CONV_IMAGE + 0], z[CONV_IMAGE + 1], z[CONV_IMAGE + 2]};
    const int64_t window[] = {z[CONV_GROUPS],     z[CONV_IN],         z[CONV_OUT],
                              z[CONV_WINDOW + 0], z[CONV_WINDOW + 1], z[CONV_WINDOW + 2]};
    const int64_t result[] = {z[CONV_BATCH],      z[CONV_GROUPS],     z[CONV_OUT],
                              z[CONV_RESULT + 0], z[CONV_RESULT + 1], z[CONV_RESULT + 2]};
    return fits(product(image, 6), types[CALL_LHS], bytes[CALL_LHS]) &&
           fits(product(window, 6), types[CALL_RHS], bytes[CALL_RHS]) &&
           fits(product(result, 6), types[CALL_OUT], bytes[CALL_OUT]);
}

// Does every window of a plain convolution lie in the padded image, and is every result of a
// transposed one reached as its sizes say?
static bool conv_is_whole(const int64_t *z) {
    for (int i = 0; i < 3; i++) {
        int64_t reach = (z[CONV_WINDOW + i] - 1) * z[CONV_DILATION + i] + 1;
        int64_t from = z[z[CONV_TRANSPOSED] ? CONV_RESULT + i : CONV_IMAGE + i];
        int64_t to = z[z[CONV_TRANSPOSED] ? CONV_IMAGE + i : CONV_RESULT + i];
        int64_t room = from + 2 * z[CONV_PADDING + i] - reach;
        if (room < 0 || room / z[CONV_STRIDE + i] + 1 != to)
            return false;
    }
    return true;
}

// What steps load lies within the buffers, each of which one of them loads.
static const char *loads_broken(const struct call *c, const enum dtype *types, const int64_t *bytes,
                                int n) {
    const int64_t sizes[] = {c->number[GEMM_M], c->number[GEMM_N], c->number[GEMM_BATCH]};
    int next = CALL_LOADED;
    for (int i = 0; i < c->epilogue.n_steps; i++) {
        const struct epilogue_step *s = &c->epilogue.steps[i];
        if (s->kind != EPILOGUE_LOAD)
            continue;
        if (s->arg[0] != next++ || next > n)
            return "its epilogue loads what is no argument, or not in their order";
        if (!fits(span(sizes, s->stride, 3), types[s->arg[0]], bytes[s->arg[0]]))
            return "what its epilogue loads does not fit its buffer";
    }
    return next == n ? NULL : "it has an argument that its epilogue does not load";
}

static bool may_be_zero(enum call_kind kind, int i) {
    switch (kind) {
    case CALL_CONV:
        return i == CONV_TRANSPOSED || (i >= CONV_PADDING && i < CONV_DILATION);
    case CALL_CUTLASS:
        return (i >= GEMM_LHS && i < CUTLASS_TILE) ||
               (i >= CUTLASS_SCHEDULE && i < CUTLASS_SWIZZLE);
    default:
        return i >= GEMM_LHS;
    }
}

const char *call_broken(const struct call *c, const enum dtype *types, const int64_t *sizes_bytes,
                        int n) {
    const int64_t *z = c->number;
    int64_t most = c->kind == CALL_CONV ? conv_number_max : number_max;
    for (int i = 0; i < call_numbers(c->kind); i++)
        if (z[i] < !may_be_zero(c->kind, i) || z[i] > most)
            return "a size is out of range";
    if (types[CALL_LHS] != types[CALL_RHS])
        return "its operands have different types";
    if (c->kind == CALL_CONV) {
        if (z[CONV_AXES] > 3 || z[CONV_TRANSPOSED] > 1)
            return "a size is out of range";
        if (!conv_is_whole(z))
            return "image, window and result do not fit each other";
        return conv_fits(z, types, sizes_bytes) ? NULL : "it does not fit its buffers";
    }
    if (!gemm_fits(z, types, sizes_bytes))
        return "it does not fit its buffers";
    return c->kind == CALL_CUTLASS ? loads_broken(c, types, sizes_bytes, n) : NULL;
}
