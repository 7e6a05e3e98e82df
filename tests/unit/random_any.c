// Random problems over all operations and types: a value goes through a few random operations,
// each of which knows what shape and type it leaves behind. Sizes are small and odd; what makes
// results depend on rounding (a comparison of computed values) is left to inputs.
#include "random_any.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/types.h"
#include "random_maker.h"

uint64_t maker_below(struct maker *m, uint64_t n) {
    return rng_below(m->r, n);
}

int64_t maker_size(struct maker *m) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12};
    return sizes[maker_below(m, 10)];
}

int64_t maker_count(const struct maker *m) {
    int64_t n = 1;
    for (int i = 0; i < m->rank; i++)
        n *= m->size[i];
    return n;
}

const char *maker_shape(struct maker *m, int rank, const int64_t *size) {
    struct str out = {0};
    if (rank == 0)
        return "";
    str_puts(&out, "[");
    for (int i = 0; i < rank; i++)
        str_printf(&out, "%s%lld", i ? ", " : "", (long long)size[i]);
    str_puts(&out, "]");
    return str_take(m->arena, &out);
}

static const char *draw_of(enum dtype t) {
    switch (t) {
    case DTYPE_I4:
        return "integers(-8, 7)";
    case DTYPE_I8:
        return "integers(-20, 20)";
    case DTYPE_U8:
        return "integers(0, 40)";
    case DTYPE_I32:
    case DTYPE_I64:
        return "integers(-9, 9)";
    case DTYPE_BOOL:
        return "bernoulli(0.4)";
    default:
        return "normal(0.3, 1)";
    }
}

const char *maker_input(struct maker *m, enum dtype t, int rank, const int64_t *size,
                        const char *draw) {
    const char *name = arena_printf(m->arena, "a%d", m->n_inputs++);
    const char *shape = maker_shape(m, rank, size);
    if (!draw && m->is_special && dtype_is_float(t) && maker_below(m, 2))
        str_printf(&m->inputs,
                   "in %s : %s%s = where(u < 0.04, inf, where(u < 0.08, -inf, where(u < 0.12, "
                   "log(-u), n))) where u : f32%s ~ uniform(0, 1), n : f32%s ~ normal(0.3, 1)\n",
                   name, dtype_name(t), shape, shape, shape);
    else
        str_printf(&m->inputs, "in %s : %s%s ~ %s\n", name, dtype_name(t), shape,
                   draw ? draw : draw_of(t));
    return name;
}

const char *maker_weights(struct maker *m, enum dtype t, int rank, const int64_t *size) {
    return maker_input(m, t, rank, size, draw_of(t));
}

// v = <expression with the value in the place of %s>
void maker_bind(struct maker *m, const char *expression) {
    const char *name = arena_printf(m->arena, "v%d", m->n_values++);
    str_printf(&m->lines, "%s = %s\n", name, expression);
    m->value = name;
}

bool maker_is_float(const struct maker *m) {
    return dtype_is_float(m->type);
}

enum dtype maker_promoted(enum dtype t) {
    return dtype_promote(t, t);
}

// ---- by element

static void do_unary(struct maker *m) {
    static const char *const floats[] = {"exp2(%s * 0.3)",
                                         "tanh(%s)",
                                         "sin(%s)",
                                         "cos(%s * 3)",
                                         "atan(%s)",
                                         "sinh(%s * 0.5)",
                                         "cosh(%s)",
                                         "erf(%s)",
                                         "erfc(%s)",
                                         "expm1(%s * 0.5)",
                                         "abs(%s)",
                                         "sqrt(abs(%s))",
                                         "log1p(abs(%s))",
                                         "rsqrt(abs(%s) + 1)",
                                         "relu(%s)",
                                         "gelu(%s)",
                                         "sigmoid(%s)",
                                         "softplus(%s)",
                                         "1 / (abs(%s) + 0.5)",
                                         "square(%s)",
                                         "pow(abs(%s) + 0.1, 1.5)",
                                         "asin(tanh(%s) * 0.9)",
                                         "log2(abs(%s) + 1)",
                                         "log10(abs(%s) + 1)",
                                         "tan(%s * 0.2)",
                                         "exp(-abs(%s))",
                                         "acos(tanh(%s) * 0.9)",
                                         "atan2(%s, 1.5)",
                                         "elu(%s)",
                                         "hardswish(%s)"};
    static const char *const wholes[] = {
        "abs(%s)",      "-%s",           "%s * 3 + 1",        "bitand(%s, 13)",
        "bitor(%s, 5)", "bitxor(%s, 3)", "shift_left(%s, 2)", "shift_right(%s, 1)",
        "%s // 3",      "%s %% 5",       "sign(%s)",          "maximum(%s, 2)"};
    const char *form = maker_is_float(m) ? floats[maker_below(m, sizeof floats / sizeof *floats)]
                                         : wholes[maker_below(m, sizeof wholes / sizeof *wholes)];
    struct str out = {0};
    const char *at = strstr(form, "%s");
    str_append(&out, form, (size_t)(at - form));
    str_puts(&out, m->value);
    for (const char *c = at + 2; *c; c++) {
        if (c[0] == '%' && c[1] == '%')
            c++;
        str_append(&out, c, 1);
    }
    maker_bind(m, str_take(m->arena, &out));
    m->type = maker_promoted(m->type);
}

static void do_binary(struct maker *m) {
    static const char *const forms[] = {"%s + %s", "%s - %s", "%s * %s", "maximum(%s, %s)",
                                        "minimum(%s, %s)"};
    // Broadcast: the other operand lacks leading axes, or has axes of one element.
    int64_t size[RANK_MAX];
    int drop = m->rank ? (int)maker_below(m, (uint64_t)m->rank) : 0, rank = m->rank - drop;
    for (int i = 0; i < rank; i++)
        size[i] = maker_below(m, 4) ? m->size[drop + i] : 1;
    static const enum dtype floats[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F8E4M3};
    static const enum dtype wholes[] = {DTYPE_I32, DTYPE_I8, DTYPE_U8, DTYPE_I64};
    enum dtype t = maker_is_float(m) ? floats[maker_below(m, 5)] : wholes[maker_below(m, 4)];
    const char *other = maker_input(m, t, rank, size, NULL);
    maker_bind(m, arena_printf(m->arena, forms[maker_below(m, 5)], m->value, other));
    m->type = dtype_promote(m->type, t);
}

static void do_where(struct maker *m) {
    const char *a = maker_input(m, DTYPE_F32, m->rank, m->size, NULL);
    maker_bind(m, arena_printf(m->arena, "where(%s %s 0.25, %s, 1)", a,
                               (const char *const[]){"<", "<=", "!=", ">"}[maker_below(m, 4)],
                               m->value));
    m->type = maker_promoted(m->type);
}

static void do_cast(struct maker *m) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16,    DTYPE_BF16,   DTYPE_F64,
                                       DTYPE_I32, DTYPE_I64,    DTYPE_I8,     DTYPE_U8,
                                       DTYPE_F16, DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F32};
    // A float that is cut to a whole number depends on its rounding.
    uint64_t n = sizeof types / sizeof *types;
    enum dtype t = types[maker_below(m, n)];
    if (maker_is_float(m) && !dtype_is_float(t))
        t = DTYPE_F16;
    maker_bind(m, arena_printf(m->arena, "%s(%s)", dtype_name(t), m->value));
    m->type = t;
}

// ---- what moves data

static void do_slice(struct maker *m) {
    struct str out = {0};
    str_printf(&out, "%s[", m->value);
    for (int i = 0; i < m->rank; i++) {
        int64_t n = m->size[i], start = (int64_t)maker_below(m, (uint64_t)n);
        int64_t stop = start + 1 + (int64_t)maker_below(m, (uint64_t)(n - start));
        int64_t step = 1 + (int64_t)maker_below(m, 3);
        str_puts(&out, i ? ", " : "");
        switch (maker_below(m, 3)) {
        case 0:
            str_puts(&out, ":");
            break;
        case 1:
            str_puts(&out, "::-1");
            break;
        default:
            str_printf(&out, "%lld:%lld:%lld", (long long)start, (long long)stop, (long long)step);
            m->size[i] = (stop - start + step - 1) / step;
        }
    }
    str_puts(&out, "]");
    maker_bind(m, str_take(m->arena, &out));
}

static void do_transpose(struct maker *m) {
    maker_bind(m, arena_printf(m->arena, "transpose(%s)", m->value));
    for (int i = 0; i < m->rank / 2; i++) {
        int64_t t = m->size[i];
        m->size[i] = m->size[m->rank - 1 - i];
        m->size[m->rank - 1 - i] = t;
    }
}

static void do_reshape(struct maker *m) {
    int64_t n = maker_count(m);
    int rank = 1 + (int)maker_below(m, 3);
    for (int i = 0; i < rank - 1; i++) {
        int64_t by = maker_size(m);
        while (n % by)
            by--;
        m->size[i] = by;
        n /= by;
    }
    m->size[rank - 1] = n;
    m->rank = rank;
    struct str list = {0};
    for (int i = 0; i < rank; i++)
        str_printf(&list, "%s%lld", i ? ", " : "", (long long)m->size[i]);
    maker_bind(m, arena_printf(m->arena, rank == 1 ? "reshape(%s, %s)" : "reshape(%s, (%s))",
                               m->value, str_text(&list)));
    str_reset(&list);
}

static void do_pad(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank), before = (int)maker_below(m, 3),
        after = (int)maker_below(m, 3);
    struct str out = {0};
    str_printf(&out, "pad(%s, (", m->value);
    for (int i = 0; i < m->rank; i++)
        str_printf(&out, "%s(%d, %d)", i ? ", " : "", i == axis ? before : 0,
                   i == axis ? after : 0);
    str_printf(&out, "%s), value=%d)", m->rank == 1 ? "," : "", (int)maker_below(m, 3));
    // A list of one pair is written as a list of two numbers.
    if (m->rank == 1) {
        str_reset(&out);
        str_printf(&out, "pad(%s, 1, value=2)", m->value);
        before = after = 1;
    }
    maker_bind(m, str_take(m->arena, &out));
    m->size[axis] += before + after;
}

static void do_join(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    switch (maker_below(m, 4)) {
    case 0:
        maker_bind(m, arena_printf(m->arena, "concat(%s, flip(%s, axis=%d), axis=%d)", m->value,
                                   m->value, axis, axis));
        m->size[axis] *= 2;
        return;
    case 1:
        maker_bind(m, arena_printf(m->arena, "repeat(%s, 2, axis=%d)", m->value, axis));
        m->size[axis] *= 2;
        return;
    case 2:
        maker_bind(m, arena_printf(m->arena, "flip(%s, axis=%d)", m->value, axis));
        return;
    default:
        if (m->rank < 4) {
            maker_bind(m, arena_printf(m->arena, "stack(%s, %s, axis=0)", m->value, m->value));
            memmove(m->size + 1, m->size, sizeof *m->size * (size_t)m->rank);
            m->size[0] = 2;
            m->rank++;
        }
    }
}

static void do_take(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    int64_t n = 1 + (int64_t)maker_below(m, 5);
    const char *draw = arena_printf(m->arena, "index(%lld)", (long long)m->size[axis]);
    const char *index = maker_input(m, maker_below(m, 2) ? DTYPE_I32 : DTYPE_I64, 1, &n, draw);
    maker_bind(m, arena_printf(m->arena, "take(%s, %s, axis=%d)", m->value, index, axis));
    m->size[axis] = n;
}

static void do_scatter(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    int64_t size[RANK_MAX], target = maker_size(m);
    memcpy(size, m->size, sizeof size);
    const char *draw = arena_printf(m->arena, "index(%lld)", (long long)target);
    bool by_rows = maker_below(m, 2);
    const char *index =
        maker_input(m, DTYPE_I32, by_rows ? 1 : m->rank, by_rows ? &m->size[axis] : m->size, draw);
    size[axis] = target;
    const char *base = maker_input(m, maker_promoted(m->type), m->rank, size, NULL);
    maker_bind(m, arena_printf(m->arena, "%s(%s, %s, %s(%s), axis=%d)",
                               by_rows ? "index_add" : "scatter_add", base, index,
                               dtype_name(maker_promoted(m->type)), m->value, axis));
    m->type = maker_promoted(m->type);
    m->size[axis] = target;
}

// ---- reductions and the like

void maker_drop_axis(struct maker *m, int axis) {
    for (int i = axis; i + 1 < m->rank; i++)
        m->size[i] = m->size[i + 1];
    m->rank--;
}

static void do_reduce(struct maker *m) {
    static const char *const ops[] = {"sum", "max", "min", "prod", "argmax", "argmin"};
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    const char *op = ops[maker_below(m, 6)];
    if (strcmp(op, "prod") == 0 && (!maker_is_float(m) || m->size[axis] > 6))
        op = "sum";
    bool positions = strncmp(op, "arg", 3) == 0;
    bool keep = maker_below(m, 3) == 0, all = maker_below(m, 6) == 0 && !positions;
    int64_t count = 1;
    for (int i = 0; i < m->rank; i++)
        count *= m->size[i];
    // A long product may overflow on the way in one order and not in another.
    if (all && strcmp(op, "prod") == 0 && count > 36)
        op = "sum";
    if (all) {
        maker_bind(m, arena_printf(m->arena, "%s(%s)", op, m->value));
        m->rank = 0;
    } else {
        maker_bind(m, arena_printf(m->arena, "%s(%s, axis=%d%s)", op, m->value, axis,
                                   keep ? ", keepdims=true" : ""));
        if (keep)
            m->size[axis] = 1;
        else
            maker_drop_axis(m, axis);
    }
    m->type = positions ? DTYPE_I64 : maker_promoted(m->type);
}

static void do_truth(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    const char *a = maker_input(m, DTYPE_BOOL, m->rank, m->size, NULL);
    const char *value = m->value;
    maker_bind(m, arena_printf(m->arena, "%s(%s, axis=%d, keepdims=true)",
                               maker_below(m, 2) ? "any" : "all", a, axis));
    maker_bind(m, arena_printf(m->arena, "where(%s, %s, 2)", m->value, value));
    m->type = maker_promoted(m->type);
}

static void do_rows(struct maker *m) {
    static const char *const forms[] = {"softmax(%s, axis=%d)", "log_softmax(%s, axis=%d)",
                                        "rmsnorm(%s, axis=%d)", "layernorm(%s, axis=%d)",
                                        "logsumexp(%s, axis=%d, keepdims=true)"};
    int axis = (int)maker_below(m, (uint64_t)m->rank), form = (int)maker_below(m, 5);
    if (!maker_is_float(m))
        return;
    maker_bind(m, arena_printf(m->arena, forms[form], m->value, axis));
    m->type = maker_promoted(m->type);
    if (form == 4)
        m->size[axis] = 1;
}

static void do_scan(struct maker *m) {
    static const char *const flags[] = {"", ", reverse=true", ", exclusive=true"};
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    bool product = maker_is_float(m) && m->size[axis] <= 6 && maker_below(m, 3) == 0;
    maker_bind(m, arena_printf(m->arena, "%s(%s, axis=%d%s)", product ? "cumprod" : "cumsum",
                               m->value, axis, flags[maker_below(m, 3)]));
    m->type = maker_promoted(m->type);
}

static void do_order(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    int64_t k = 1 + (int64_t)maker_below(m, (uint64_t)m->size[axis]);
    if (maker_below(m, 3) == 0) {
        maker_bind(m, arena_printf(m->arena, "sort(%s, axis=%d%s)", m->value, axis,
                                   maker_below(m, 2) ? ", descending=true" : ""));
        return;
    }
    maker_bind(m, arena_printf(m->arena, "topk(%s, %lld, axis=%d%s)", m->value, (long long)k, axis,
                               maker_below(m, 2) ? ", largest=false" : ""));
    m->size[axis] = k;
}

// ---- products and windows

static void do_matmul(struct maker *m) {
    if (m->rank < 2)
        return;
    int64_t size[2] = {m->size[m->rank - 1], maker_size(m)};
    enum dtype t = maker_is_float(m) ? (maker_below(m, 2) ? DTYPE_F16 : DTYPE_F32) : DTYPE_I8;
    const char *w = maker_input(m, t, 2, size, NULL);
    maker_bind(m, arena_printf(m->arena, "%s @ %s", m->value, w));
    m->size[m->rank - 1] = size[1];
    m->type = dtype_promote(m->type, t);
}

void maker_image(struct maker *m, int n_axes) {
    int64_t n = maker_count(m), channels = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
    int rank = n_axes + 2;
    m->rank = rank;
    m->size[0] = 1;
    m->size[1] = channels;
    n /= channels;
    for (int i = 2; i < rank; i++) {
        int64_t by = i == rank - 1 ? n : 3;
        while (n % by)
            by--;
        m->size[i] = by;
        n /= by;
    }
    struct str list = {0};
    for (int i = 0; i < rank; i++)
        str_printf(&list, "%s%lld", i ? ", " : "", (long long)m->size[i]);
    maker_bind(m, arena_printf(m->arena, "reshape(%s, (%s))", m->value, str_text(&list)));
    str_reset(&list);
}

static void do_conv(struct maker *m) {
    int n_axes = 1 + (int)maker_below(m, 3);
    maker_image(m, n_axes);
    int64_t groups = m->size[1] > 1 && maker_below(m, 2) ? 2 : 1,
            out = groups * (1 + (int64_t)maker_below(m, 3));
    bool transposed = maker_below(m, 2);
    int64_t stride = 1 + (int64_t)maker_below(m, 2), padding = transposed ? 0 : 1,
            k = 1 + (int64_t)maker_below(m, 3);
    int64_t dilation = 1 + (int64_t)maker_below(m, 2);
    for (int i = 2; i < m->rank; i++)
        if (m->size[i] + 2 * padding < dilation * (k - 1) + 1)
            k = 1;
    int64_t w[RANK_MAX] = {transposed ? m->size[1] : out, (transposed ? out : m->size[1]) / groups,
                           k, k, k};
    const char *weights = maker_weights(m, maker_below(m, 2) ? DTYPE_F32 : DTYPE_BF16, m->rank, w);
    maker_bind(m, arena_printf(m->arena,
                               "conv%s%dd(%s, %s, stride=%lld, padding=%lld, dilation=%lld, "
                               "groups=%lld)",
                               transposed ? "_transpose" : "", n_axes, m->value, weights,
                               (long long)stride, (long long)padding, (long long)dilation,
                               (long long)groups));
    m->size[1] = out;
    for (int i = 2; i < m->rank; i++) {
        int64_t wide = dilation * (k - 1) + 1;
        m->size[i] = transposed ? (m->size[i] - 1) * stride + wide - 2 * padding
                                : (m->size[i] + 2 * padding - wide) / stride + 1;
    }
    m->type = dtype_promote(m->type, DTYPE_F32);
}

static void do_pool(struct maker *m) {
    int n_axes = 1 + (int)maker_below(m, 2);
    if (!maker_is_float(m))
        return;
    maker_image(m, n_axes);
    int64_t stride = 1 + (int64_t)maker_below(m, 3);
    bool average = maker_below(m, 2);
    maker_bind(m, arena_printf(m->arena, "%s_pool%dd(%s, 2, stride=%lld, padding=1)",
                               average ? "avg" : "max", n_axes, m->value, (long long)stride));
    for (int i = 2; i < m->rank; i++)
        m->size[i] = m->size[i] / stride + 1;
    if (average)
        m->type = maker_promoted(m->type);
}

static void do_ragged(struct maker *m) {
    if (m->rank != 2 || !maker_is_float(m))
        return;
    int64_t groups = 1 + (int64_t)maker_below(m, 3), offsets = groups + 1, n = maker_size(m);
    int64_t w[3] = {groups, m->size[1], n};
    const char *draw = arena_printf(m->arena, "offsets(%lld)", (long long)m->size[0]);
    const char *at = maker_input(m, DTYPE_I32, 1, &offsets, draw);
    if (maker_below(m, 2)) {
        const char *weights = maker_input(m, DTYPE_F32, 3, w, NULL);
        maker_bind(m, arena_printf(m->arena, "ragged_matmul(%s, %s, %s)", m->value, weights, at));
        m->size[1] = n;
    } else {
        int64_t g[2] = {m->size[0], n};
        const char *other = maker_input(m, DTYPE_F16, 2, g, NULL);
        maker_bind(m, arena_printf(m->arena, "ragged_outer(%s, %s, %s)", m->value, other, at));
        memcpy(m->size, w, sizeof w);
        m->rank = 3;
    }
    m->type = maker_promoted(m->type);
}

void maker_begin(struct maker *m, struct arena *a, struct rng *r) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F32,    DTYPE_F32,    DTYPE_F16, DTYPE_BF16,
                                       DTYPE_F64, DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_I32, DTYPE_I64,
                                       DTYPE_I8,  DTYPE_U8,     DTYPE_I4};
    static const int64_t long_sizes[] = {17, 31, 33, 64, 65, 100, 257};
    m->arena = a;
    m->r = r;
    m->rank = 1 + (int)maker_below(m, 3);
    for (int i = 0; i < m->rank; i++)
        m->size[i] = maker_size(m);
    if (m->is_wide && maker_below(m, 3) == 0)
        m->size[m->rank - 1] = long_sizes[maker_below(m, sizeof long_sizes / sizeof *long_sizes)];
    m->type = types[maker_below(m, sizeof types / sizeof *types)];
    m->value = maker_input(m, m->type, m->rank, m->size, NULL);
}

void maker_step(struct maker *m) {
    static const maker_fn steps[] = {do_unary,     do_binary,  do_where,  do_cast,   do_slice,
                                     do_transpose, do_reshape, do_pad,    do_join,   do_take,
                                     do_scatter,   do_reduce,  do_rows,   do_scan,   do_order,
                                     do_matmul,    do_conv,    do_pool,   do_ragged, do_truth,
                                     do_unary,     do_binary,  do_reduce, do_conv,   do_reduce};
    steps[maker_below(m, sizeof steps / sizeof *steps)](m);
}

const char *maker_end(struct maker *m) {
    const char *last = m->value;
    enum dtype out = m->type == DTYPE_F32 && maker_below(m, 3) == 0 ? DTYPE_BF16 : m->type;
    str_printf(&m->lines, "y = %s(%s)\n", dtype_name(out), last);
    return arena_printf(m->arena, "problem any\n%sout y : %s%s\n%s", str_take(m->arena, &m->inputs),
                        dtype_name(out), maker_shape(m, m->rank, m->size),
                        str_take(m->arena, &m->lines));
}

const char *random_any(struct arena *a, struct rng *r) {
    struct maker m = {0};
    maker_begin(&m, a, r);
    int n = 1 + (int)maker_below(&m, 5);
    for (int i = 0; i < n; i++)
        if (m.rank > 0 && maker_count(&m) <= MAKER_COUNT_MAX)
            maker_step(&m);
    return maker_end(&m);
}
