// Random problems of what random_any.c has not: the other functions of the language, loops with
// state, inputs with infinities and NaN, axes beyond a vector, and two outputs.
#include <string.h>

#include "random_any.h"
#include "random_maker.h"

static const char *loose_input(struct maker *m, enum dtype t, const int64_t *size) {
    int64_t some[RANK_MAX];
    for (int i = 0; i < m->rank; i++)
        some[i] = maker_below(m, 4) ? size[i] : 1;
    return maker_input(m, t, m->rank, some, NULL);
}

// v = <form>: '$' is the value, '?' an input that broadcasts to it.
static void bind_form(struct maker *m, const char *form) {
    static const enum dtype floats[] = {DTYPE_F32, DTYPE_F16, DTYPE_F32, DTYPE_BF16};
    static const enum dtype wholes[] = {DTYPE_I32, DTYPE_I8, DTYPE_U8};
    struct str out = {0};
    for (const char *c = form; *c; c++) {
        if (*c == '$')
            str_puts(&out, m->value);
        else if (*c == '?')
            str_puts(&out, loose_input(m,
                                       maker_is_float(m) ? floats[maker_below(m, 4)]
                                                         : wholes[maker_below(m, 3)],
                                       m->size));
        else
            str_append(&out, c, 1);
    }
    maker_bind(m, str_take(m->arena, &out));
    m->type = maker_promoted(m->type);
}

// ---- by element: what jumps, jumps at an input, which has no error that could tip the balance

static void do_element(struct maker *m) {
    static const char *const floats[] = {"exp($ * 0.2)",
                                         "log(abs($) + 0.1)",
                                         "relu6($)",
                                         "reciprocal(abs($) + 1)",
                                         "selu($)",
                                         "celu($, alpha=2)",
                                         "gelu_tanh($)",
                                         "logsigmoid($)",
                                         "silu($)",
                                         "mish($)",
                                         "softsign($)",
                                         "leaky_relu($, 0.2)",
                                         "prelu($, ?)",
                                         "hardtanh($)",
                                         "hardsigmoid($)",
                                         "softshrink($, 0.3)",
                                         "tanhshrink($)",
                                         "lerp($, ?, 0.25)",
                                         "clamp($, -0.5, 1)",
                                         "hypot($, ?)",
                                         "logaddexp($, ?)",
                                         "xlogy($, abs(?) + 0.5)",
                                         "$ + floor(?)",
                                         "$ * ceil(?)",
                                         "$ - round(? * 2)",
                                         "$ + trunc(? * 3)",
                                         "$ * sign(?)",
                                         "$ + hardshrink(?, 0.3)",
                                         "$ / (abs(?) + 0.5)",
                                         "$ + threshold(?, 0.1, 2)",
                                         "$ + ? // 0.5",
                                         "$ - ? % 0.75",
                                         "where(isnan(?), 2, $)",
                                         "where(isinf(?), $, 1)",
                                         "maximum($, ?)",
                                         "minimum(?, $)",
                                         "-$",
                                         "where(isfinite(?), $, 3)",
                                         "pow(abs($) + 0.1, ?)",
                                         "where(logical_and(? > 0, ? < 0.5), $, 1)",
                                         "$ + ? * $",
                                         "where(logical_xor(? >= 0, ? != 0.5), $, $ * 2)",
                                         "atan2($, abs(?) + 1)",
                                         "where(logical_not(? <= 0.2), $, -1)"};
    static const char *const wholes[] = {"$ // ?",
                                         "$ % ?",
                                         "shift_left($, bitand(?, 7))",
                                         "shift_right($, bitand(?, 15))",
                                         "clamp($, -3, 5)",
                                         "where(? == 2, $, 1)",
                                         "where(? < ?, $, -$)",
                                         "square($)",
                                         "minimum($, ?) - maximum(?, $)",
                                         "bitxor(bitand($, ?), bitor($, ?))"};
    bind_form(m, maker_is_float(m) ? floats[maker_below(m, sizeof floats / sizeof *floats)]
                                   : wholes[maker_below(m, sizeof wholes / sizeof *wholes)]);
}

// ---- reductions

// One axis, two or all; what is left of the shape.
static const char *fold_axes(struct maker *m, bool keep) {
    int first = (int)maker_below(m, (uint64_t)m->rank), last = first;
    const char *text = arena_printf(m->arena, ", axis=%d", first);
    switch (maker_below(m, 4)) {
    case 0:
        first = 0;
        last = m->rank - 1;
        text = "";
        break;
    case 1:
        if (first + 1 < m->rank) {
            last = first + 1;
            text = arena_printf(m->arena, ", axis=(%d, %d)", last, first);
        }
        break;
    }
    for (int i = last; i >= first; i--)
        if (keep)
            m->size[i] = 1;
        else
            maker_drop_axis(m, i);
    return text;
}

static void do_fold(struct maker *m) {
    static const char *const folds[] = {"mean", "var",      "std",       "norm", "norm1",
                                        "sum",  "norm_inf", "logsumexp", "max",  "min"};
    if (!maker_is_float(m))
        return;
    const char *fold = folds[maker_below(m, 10)], *value = m->value;
    bool keep = maker_below(m, 2);
    const char *axes = fold_axes(m, keep);
    maker_bind(
        m, arena_printf(m->arena, "%s(%s%s%s)", fold, value, axes, keep ? ", keepdims=true" : ""));
    m->type = maker_promoted(m->type);
}

// Of whole numbers and truth values, spread again.
static void do_counts(struct maker *m) {
    static const char *const forms[] = {"%s + count_nonzero(floor(%s), axis=%d, keepdims=true)",
                                        "where(any(%s > 1, axis=%d, keepdims=true), %s, 2)",
                                        "where(all(%s > -1, axis=%d, keepdims=true), %s, 2)"};
    int axis = (int)maker_below(m, (uint64_t)m->rank), form = (int)maker_below(m, 3);
    const char *a = loose_input(m, DTYPE_F32, m->size);
    maker_bind(m, form ? arena_printf(m->arena, forms[form], a, axis, m->value)
                       : arena_printf(m->arena, forms[0], m->value, a, axis));
    m->type = maker_promoted(m->type);
}

// ---- composites

static const char *vector_of(struct maker *m, int axis) {
    return maker_input(m, maker_below(m, 2) ? DTYPE_F32 : DTYPE_BF16, 1, &m->size[axis], NULL);
}

static void do_norm(struct maker *m) {
    int last = m->rank - 1, axis = (int)maker_below(m, (uint64_t)m->rank);
    if (!maker_is_float(m))
        return;
    const char *v = m->value, *made = NULL;
    switch (maker_below(m, 8)) {
    case 0:
        made = arena_printf(m->arena, "softmin(%s, axis=%d)", v, axis);
        break;
    case 1:
        made = arena_printf(m->arena, "l2_normalize(%s, axis=%d)", v, axis);
        break;
    case 2:
        made = arena_printf(m->arena, "layernorm(%s, %s, %s)", v, vector_of(m, last),
                            vector_of(m, last));
        break;
    case 3:
        made = arena_printf(m->arena, "rmsnorm(%s, %s)", v, vector_of(m, last));
        break;
    case 4:
        if (m->rank >= 2)
            made = arena_printf(m->arena, "batchnorm(%s, %s, %s)", v, vector_of(m, 1),
                                vector_of(m, 1));
        break;
    case 5:
        if (m->rank >= 3)
            made = arena_printf(m->arena, "instancenorm(%s)", v);
        break;
    case 6:
        if (m->rank >= 2)
            made = arena_printf(m->arena, "groupnorm(%s, %s, %s, groups=%d)", v, vector_of(m, 1),
                                vector_of(m, 1), m->size[1] % 3 ? m->size[1] % 2 ? 1 : 2 : 3);
        break;
    default:
        made = arena_printf(m->arena, "cosine_similarity(%s, %s)", v,
                            loose_input(m, DTYPE_F32, m->size));
    }
    if (!made)
        return;
    maker_bind(m, made);
    m->type = maker_promoted(m->type);
    if (strncmp(made, "cosine", 6) == 0)
        maker_drop_axis(m, last);
}

static void do_loss(struct maker *m) {
    static const char *const forms[] = {"mse_loss($, ?)",
                                        "l1_loss($, ?)",
                                        "smooth_l1_loss($, ?, 0.5)",
                                        "huber_loss($, ?, delta=2)",
                                        "soft_margin_loss($, ?)",
                                        "hinge_loss($, ?)",
                                        "bce_with_logits_loss($, sigmoid(?))",
                                        "bce_loss(sigmoid($), abs(?))",
                                        "kl_div_loss($, abs(?) + 0.1)",
                                        "poisson_nll_loss($ * 0.1, abs(?))",
                                        "gaussian_nll_loss($, ?, abs(?) + 0.5)",
                                        "margin_ranking_loss($, ?, sign(?))",
                                        "triplet_margin_loss($, ?, ?)"};
    if (!maker_is_float(m))
        return;
    if (m->rank >= 2 && maker_below(m, 2)) {
        int64_t size[RANK_MAX] = {m->size[0]};
        for (int i = 2; i < m->rank; i++)
            size[i - 1] = m->size[i];
        const char *t = maker_input(m, maker_below(m, 2) ? DTYPE_I32 : DTYPE_I64, m->rank - 1, size,
                                    arena_printf(m->arena, "index(%lld)", (long long)m->size[1]));
        maker_bind(m, arena_printf(m->arena, "%s(%s, %s)",
                                   maker_below(m, 2) ? "cross_entropy" : "nll_loss", m->value, t));
        m->type = maker_promoted(m->type);
    } else {
        const char *form = forms[maker_below(m, sizeof forms / sizeof *forms - (m->rank < 2))];
        // Operands of a loss have one shape.
        struct str out = {0};
        for (const char *c = form; *c; c++)
            if (*c == '$')
                str_puts(&out, m->value);
            else if (*c == '?')
                str_puts(&out, maker_input(m, DTYPE_F32, m->rank, m->size, NULL));
            else
                str_append(&out, c, 1);
        maker_bind(m, str_take(m->arena, &out));
        m->type = maker_promoted(m->type);
    }
    m->rank = 0;
}

static void do_attention(struct maker *m) {
    int64_t k[RANK_MAX], v[RANK_MAX], mask[2];
    if (!maker_is_float(m) || m->rank < 2)
        return;
    int last = m->rank - 1;
    memcpy(k, m->size, sizeof k);
    memcpy(v, m->size, sizeof v);
    k[last - 1] = v[last - 1] = mask[1] = maker_size(m);
    mask[0] = m->size[last - 1];
    v[last] = maker_size(m);
    enum dtype t = maker_below(m, 2) ? DTYPE_F32 : DTYPE_BF16;
    const char *key = maker_input(m, t, m->rank, k, NULL),
               *value = maker_input(m, t, m->rank, v, NULL);
    if (maker_below(m, 3) == 0)
        maker_bind(m, arena_printf(m->arena, "attention(%s, %s, %s, %s)", m->value, key, value,
                                   maker_input(m, DTYPE_BOOL, 2, mask, "bernoulli(0.7)")));
    else
        maker_bind(m, arena_printf(m->arena, "%sattention(%s, %s, %s)",
                                   maker_below(m, 2) ? "causal_" : "", m->value, key, value));
    m->size[last] = v[last];
    m->type = maker_promoted(m->type);
}

// ---- products

static void do_linear(struct maker *m) {
    if (m->rank < 2 || !maker_is_float(m))
        return;
    int64_t w[2] = {maker_size(m), m->size[m->rank - 1]}, group = w[1] % 3 == 0 ? 3 : 1;
    int64_t scales[2] = {w[0], w[1] / group};
    switch (maker_below(m, 3)) {
    case 0:
        maker_bind(m, arena_printf(m->arena, "linear(%s, %s)", m->value,
                                   maker_input(m, DTYPE_F16, 2, w, NULL)));
        break;
    case 1:
        maker_bind(m, arena_printf(m->arena, "linear(%s, %s, %s)", m->value,
                                   maker_input(m, DTYPE_F32, 2, w, NULL),
                                   maker_input(m, DTYPE_F32, 1, w, NULL)));
        break;
    default: {
        const char *q = maker_input(m, maker_below(m, 2) ? DTYPE_I4 : DTYPE_I8, 2, w, NULL);
        const char *s = maker_input(m, DTYPE_F32, group > 1 ? 2 : 1, scales, NULL);
        maker_bind(m, arena_printf(m->arena, "qmatmul(%s, %s, %s%s)", m->value, q, s,
                                   group > 1 ? ", group=3" : ""));
    }
    }
    m->size[m->rank - 1] = w[0];
    m->type = maker_promoted(m->type);
}

static void do_einsum(struct maker *m) {
    int64_t a = m->size[0], b = m->rank > 1 ? m->size[1] : 1, c = m->rank > 2 ? m->size[2] : 1,
            n = maker_size(m);
    const struct {
        int rank, other_rank, out_rank;
        const char *letters;
        int64_t other[3], out[3];
    } forms[] = {
        {1, 1, 2, "i,j->ij", {n}, {a, n}},       {1, 1, 0, "i,i->", {a}, {0}},
        {1, 2, 1, "i,ki->k", {n, a}, {n}},       {2, 2, 2, "ij,kj->ik", {n, b}, {a, n}},
        {2, 2, 1, "ij,ij->j", {a, b}, {b}},      {2, 2, 3, "ij,ik->jki", {a, n}, {b, n, a}},
        {2, 1, 1, "ij,j->i", {b}, {a}},          {3, 3, 3, "bij,bjk->bik", {a, c, n}, {a, b, n}},
        {3, 2, 2, "bij,kj->ki", {n, c}, {n, b}}, {3, 3, 3, "bij,bkj->kbi", {a, n, c}, {n, a, b}}};
    int at = (int)maker_below(m, sizeof forms / sizeof *forms);
    if (forms[at].rank != m->rank)
        return;
    const char *other = maker_input(m, maker_is_float(m) ? DTYPE_F32 : DTYPE_I8,
                                    forms[at].other_rank, forms[at].other, NULL);
    maker_bind(
        m, arena_printf(m->arena, "einsum(\"%s\", %s, %s)", forms[at].letters, m->value, other));
    m->rank = forms[at].out_rank;
    memcpy(m->size, forms[at].out, sizeof forms[at].out);
    m->type = maker_promoted(m->type);
}

// ---- windows

static int64_t pooled(int64_t n, int64_t k, int64_t stride, int64_t padding, int64_t dilation,
                      bool ceil_mode) {
    int64_t room = n + 2 * padding - dilation * (k - 1) - 1;
    int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    return ceil_mode && (out - 1) * stride >= n + padding ? out - 1 : out;
}

static void do_pool(struct maker *m) {
    int n_axes = 1 + (int)maker_below(m, 3);
    if (!maker_is_float(m))
        return;
    maker_image(m, n_axes);
    bool is_max = maker_below(m, 2), up = maker_below(m, 2), counts = maker_below(m, 2);
    int64_t k = 2 + (int64_t)maker_below(m, 2), stride = 1 + (int64_t)maker_below(m, 3),
            dilation = is_max ? 1 + (int64_t)maker_below(m, 2) : 1, padding = 1;
    for (int i = 2; i < m->rank; i++)
        if (m->size[i] + 2 * padding < dilation * (k - 1) + 1)
            return;
    maker_bind(m, arena_printf(m->arena, "%s_pool%dd(%s, %d, stride=%d, padding=1, ceil_mode=%s%s)",
                               is_max ? "max" : "avg", n_axes, m->value, (int)k, (int)stride,
                               up ? "true" : "false",
                               is_max   ? arena_printf(m->arena, ", dilation=%d", (int)dilation)
                               : counts ? ", count_include_pad=true"
                                        : ", count_include_pad=false"));
    for (int i = 2; i < m->rank; i++)
        m->size[i] = pooled(m->size[i], k, stride, padding, dilation, up);
    if (!is_max)
        m->type = maker_promoted(m->type);
}

static void do_adaptive(struct maker *m) {
    int n_axes = 1 + (int)maker_below(m, 3);
    if (!maker_is_float(m))
        return;
    maker_image(m, n_axes);
    int64_t size = 1;
    if (maker_below(m, 2))
        for (int64_t s = 2; s < 4; s++) {
            bool divides = true;
            for (int i = 2; i < m->rank; i++)
                divides = divides && m->size[i] % s == 0;
            size = divides ? s : size;
        }
    maker_bind(m,
               arena_printf(m->arena, "adaptive_avg_pool%dd(%s, %d)", n_axes, m->value, (int)size));
    for (int i = 2; i < m->rank; i++)
        m->size[i] = size;
    m->type = maker_promoted(m->type);
}

static void do_conv(struct maker *m) {
    int n_axes = 1 + (int)maker_below(m, 3);
    maker_image(m, n_axes);
    int64_t out = 1 + (int64_t)maker_below(m, 4), k = 2 + (int64_t)maker_below(m, 2),
            stride = 1 + (int64_t)maker_below(m, 3);
    bool is_transposed = maker_below(m, 2);
    int64_t w[RANK_MAX] = {is_transposed ? m->size[1] : out, is_transposed ? out : m->size[1], k, k,
                           k};
    const char *weights = maker_weights(m, DTYPE_F32, m->rank, w),
               *bias = maker_input(m, DTYPE_F32, 1, &out, NULL);
    int64_t more = stride > 1 ? (int64_t)maker_below(m, 2) : 0;
    for (int i = 2; i < m->rank; i++)
        if (is_transposed && (m->size[i] - 1) * stride + k + more - 2 < 1)
            more = -1;
    if (is_transposed && more >= 0) {
        maker_bind(m, arena_printf(m->arena,
                                   "conv_transpose%dd(%s, %s, %s, stride=%d, padding=1, "
                                   "output_padding=%d)",
                                   n_axes, m->value, weights, bias, (int)stride, (int)more));
        for (int i = 2; i < m->rank; i++)
            m->size[i] = (m->size[i] - 1) * stride + k + more - 2;
    } else if (is_transposed) {
        maker_bind(m, arena_printf(m->arena, "conv_transpose%dd(%s, %s, %s)", n_axes, m->value,
                                   weights, bias));
        for (int i = 2; i < m->rank; i++)
            m->size[i] += k - 1;
    } else {
        maker_bind(m, arena_printf(m->arena, "conv%dd(%s, %s, %s, padding=\"same\")", n_axes,
                                   m->value, weights, bias));
    }
    m->size[1] = out;
    m->type = dtype_promote(m->type, DTYPE_F32);
}

// ---- looking up, places, moving

static void do_lookup(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank), last = m->rank - 1;
    enum dtype whole = maker_below(m, 2) ? DTYPE_I32 : DTYPE_I64;
    int64_t size[RANK_MAX], n = 1 + (int64_t)maker_below(m, 5);
    memcpy(size, m->size, sizeof size);
    switch (maker_below(m, 4)) {
    case 0: {
        size[axis] = n;
        const char *i =
            maker_input(m, whole, m->rank, size,
                        arena_printf(m->arena, "index(%lld)", (long long)m->size[axis]));
        maker_bind(m,
                   arena_printf(m->arena, "take_along_axis(%s, %s, axis=%d)", m->value, i, axis));
        m->size[axis] = n;
        return;
    }
    case 1: {
        if (m->rank != 2)
            return;
        int64_t shape[2] = {n, 3};
        const char *i = maker_input(m, whole, 2, shape,
                                    arena_printf(m->arena, "zipf(1.1, %lld)", (long long)size[0]));
        maker_bind(m, arena_printf(m->arena, "embedding(%s, %s)", m->value, i));
        m->rank = 3;
        m->size[2] = size[1];
        m->size[0] = n;
        m->size[1] = 3;
        return;
    }
    case 2: {
        const char *i = maker_input(m, whole, m->rank - 1, size,
                                    arena_printf(m->arena, "index(%lld)", (long long)size[last]));
        maker_bind(m, arena_printf(m->arena, "%s * 0.3 + one_hot(%s, %lld)", m->value, i,
                                   (long long)size[last]));
        m->type = dtype_promote(m->type, DTYPE_F32);
        return;
    }
    default: {
        if (!maker_is_float(m))
            return;
        int64_t entries = 30, lists = 5, offsets = 6, docs = 1 + (int64_t)maker_below(m, 12);
        const char *d = maker_input(m, whole, 1, &entries,
                                    arena_printf(m->arena, "index(%lld)", (long long)docs));
        const char *w = maker_input(m, DTYPE_F32, 1, &entries, NULL),
                   *o = maker_input(m, DTYPE_I32, 1, &offsets, "offsets(30)"),
                   *l = maker_input(m, whole, m->rank, size,
                                    arena_printf(m->arena, "index(%lld)", (long long)lists));
        maker_bind(m, arena_printf(m->arena, "ragged_scatter(%s, %s, %s, %s, %s, %lld)", d, w, o, l,
                                   m->value, (long long)docs));
        m->size[last] = docs;
        m->type = maker_promoted(m->type);
    }
    }
}

static void do_places(struct maker *m) {
    int axis = (int)maker_below(m, (uint64_t)m->rank), last = m->rank - 1;
    switch (maker_below(m, 4)) {
    case 0:
        maker_bind(m,
                   arena_printf(m->arena, "%s + arange(%lld)", m->value, (long long)m->size[last]));
        m->type = dtype_promote(m->type, DTYPE_I64);
        return;
    case 1:
        if (m->rank >= 2) {
            maker_bind(m,
                       arena_printf(m->arena, "%s(%s, k=%d)", maker_below(m, 2) ? "triu" : "tril",
                                    m->value, (int)maker_below(m, 4) - 1));
            m->type = maker_promoted(m->type);
        }
        return;
    case 2:
        maker_bind(m, arena_printf(m->arena, "topk_index(%s, %lld, axis=%d)", m->value,
                                   (long long)m->size[axis], axis));
        m->type = DTYPE_I64;
        return;
    default:
        if (m->size[axis] < 3)
            return;
        maker_bind(m, arena_printf(m->arena, "%s + %s(%s, axis=%d, keepdims=true)", m->value,
                                   maker_below(m, 2) ? "argmax" : "argmin", m->value, axis));
        m->type = dtype_promote(m->type, DTYPE_I64);
    }
}

static void do_move(struct maker *m) {
    struct str out = {0};
    int axis = (int)maker_below(m, (uint64_t)m->rank);
    switch (maker_below(m, m->rank < 4 ? 3 : 2)) {
    case 0:
        str_printf(&out, "tile(%s, (", m->value);
        for (int i = 0; i < m->rank; i++)
            str_printf(&out, "%s%d", i ? ", " : "", i == axis ? 3 : 1);
        str_puts(&out, m->rank == 1 ? ",))" : "))");
        m->size[axis] *= 3;
        break;
    case 1: {
        int64_t size[RANK_MAX];
        memcpy(size, m->size, sizeof size);
        size[axis] = maker_size(m);
        const char *other = maker_input(m, m->type, m->rank, size, NULL);
        str_printf(&out, "concat(%s(%s), %s, axis=%d)", dtype_name(m->type), m->value, other, axis);
        m->size[axis] += size[axis];
        break;
    }
    default:
        str_printf(&out, "%s[", m->value);
        for (int i = 0; i < m->rank; i++)
            str_printf(&out, "%s%s", i ? ", " : "", i != axis ? ":" : ":, None");
        str_puts(&out, "]");
        memmove(m->size + axis + 2, m->size + axis + 1,
                sizeof *m->size * (size_t)(m->rank - axis - 1));
        m->size[axis + 1] = 1;
        m->rank++;
    }
    maker_bind(m, str_take(m->arena, &out));
}

// ---- state along an axis

static void do_loop(struct maker *m) {
    int axis = maker_below(m, 2) ? 0 : m->rank - 1;
    int64_t steps = m->size[axis], rest[RANK_MAX];
    int n_rest = 0;
    struct str place = {0};
    for (int i = 0; i < m->rank; i++) {
        str_printf(&place, "%s%s", i ? ", " : "", i == axis ? "t" : ":");
        if (i != axis)
            rest[n_rest++] = m->size[i];
    }
    enum dtype type = maker_promoted(m->type);
    const char *at = str_take(m->arena, &place), *state = maker_shape(m, n_rest, rest);
    const char *name = arena_printf(m->arena, "v%d", m->n_values++);
    const char *next = maker_is_float(m) ? "tanh(%s[%s] + h%d * 0.5)" : "%s[%s] - h%d";
    int64_t square[2] = {rest[1], rest[1]};
    if (maker_is_float(m) && n_rest == 2 && maker_below(m, 2))
        next = arena_printf(m->arena, "sigmoid(%%s[%%s] + h%%d @ %s)",
                            maker_input(m, DTYPE_F32, 2, square, NULL));
    int number = m->n_values;
    const char *order = maker_below(m, 2) ? "reversed(%lld)" : "%lld";
    str_printf(&m->lines, "for t in %s with h%d : %s%s = %d:\n    h%d = ",
               arena_printf(m->arena, order, (long long)steps), number, dtype_name(type), state,
               (int)maker_below(m, 2), number);
    str_printf(&m->lines, next, m->value, at, number);
    str_printf(&m->lines, "\n    %s[%s] = h%d\n", name, at, number);
    m->value = name;
    m->type = type;
}

static void wide_step(struct maker *m) {
    static const maker_fn steps[] = {
        do_element, do_element, do_element,   do_fold,   do_fold,   do_counts, do_norm,
        do_norm,    do_loss,    do_attention, do_linear, do_einsum, do_pool,   do_adaptive,
        do_conv,    do_lookup,  do_lookup,    do_places, do_move,   do_loop,   do_loop};
    steps[maker_below(m, sizeof steps / sizeof *steps)](m);
}

const char *random_wide(struct arena *a, struct rng *r) {
    struct maker m = {.is_wide = true};
    m.is_special = rng_below(r, 4) == 0;
    maker_begin(&m, a, r);
    int n = 1 + (int)maker_below(&m, 5);
    for (int i = 0; i < n; i++)
        if (m.rank > 0 && maker_count(&m) <= MAKER_COUNT_MAX) {
            if (maker_below(&m, 3))
                wide_step(&m);
            else
                maker_step(&m);
        }
    return maker_end(&m);
}
