// Contractions written with letters (einsum) or with packed weights: both become views and
// matrix products.
#include <string.h>

#include "base/arena.h"
#include "lang/structure.h"

// ---- einsum

enum { LETTERS = 26 };

// A value and the letter of each of its axes.
struct term {
    node_id node;
    char axes[RANK_MAX + 1];
};

static bool has(const char *letters, char c) {
    return c && strchr(letters, c);
}

static const char *shape_text(const struct structure_call *c, node_id id) {
    return shape_print(c->builder->arena, c->builder->graph, &build_get(c->builder, id)->shape);
}

// One side of a comma: letters; one that stands twice is a diagonal.
static const char *read_letters(const struct structure_call *c, const char *at, char *out) {
    const struct expr *e = c->expr->args[0];
    int n = 0;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (*at == ' ')
            continue;
        if (*at < 'a' || *at > 'z')
            structure_fail(c, e, "axes are called by small letters, as in \"ij,jk->ik\"");
        if (n == RANK_MAX)
            structure_fail(c, e, "no value has more than %d axes", RANK_MAX);
        out[n++] = *at;
    }
    out[n] = '\0';
    return at;
}

// The letters' sizes agree, and every letter of the result occurs.
static void check_letters(const struct structure_call *c, const struct term *terms, int n,
                          const char *result) {
    const struct expr *e = c->expr->args[0];
    int64_t sizes[LETTERS] = {0};
    for (int i = 0; i < n; i++) {
        const struct shape *s = &build_get(c->builder, terms[i].node)->shape;
        if (s->rank != (int)strlen(terms[i].axes))
            structure_fail(c, c->expr->args[i + 1], "'%s' names %d axes, and the value is %s",
                           terms[i].axes, (int)strlen(terms[i].axes), shape_text(c, terms[i].node));
        structure_need_number(c, i + 1);
        for (int k = 0; k < s->rank; k++) {
            int64_t *size = &sizes[terms[i].axes[k] - 'a'];
            if (*size && *size != s->size[k])
                structure_fail(c, c->expr->args[i + 1], "axis '%c' is %lld here, and %lld before",
                               terms[i].axes[k], (long long)s->size[k], (long long)*size);
            *size = s->size[k];
        }
    }
    for (int i = 0; result[i]; i++) {
        if (!sizes[result[i] - 'a'])
            structure_fail(c, e, "axis '%c' of the result is in no value", result[i]);
        if (strchr(&result[i + 1], result[i]))
            structure_fail(c, e, "axis '%c' stands twice in the result", result[i]);
    }
}

static int read_spec(const struct structure_call *c, struct term *terms, char *result) {
    const struct expr *e = c->expr->args[0];
    if (e->kind != EXPR_STRING)
        structure_fail(c, e, "einsum begins with its axes: einsum(\"ij,jk->ik\", a, b)");
    const char *at = e->text;
    int n = 0;
    for (;; at++) {
        if (n == c->n_values - 1)
            structure_fail(c, e, "there are more terms than the %d values", n);
        terms[n].node = c->values[n + 1];
        at = read_letters(c, at, terms[n++].axes);
        if (*at != ',')
            break;
    }
    if (n != c->n_values - 1)
        structure_fail(c, e, "there are %d terms for %d values", n, c->n_values - 1);
    if (strncmp(at, "->", 2) != 0)
        structure_fail(c, e, "'->' and the axes of the result are missing");
    at = read_letters(c, at + 2, result);
    if (*at)
        structure_fail(c, e, "the result is the last: \"ij,jk->ik\"");
    return n;
}

// The value with its axes in the order of `axes`; letters that it lacks become new axes, of the
// size that `other` has or of 1.
static struct term arranged(const struct structure_call *c, const struct label *l, struct term t,
                            const char *axes, const struct term *other) {
    struct shape from = build_get(c->builder, t.node)->shape, to = {0};
    int view[RANK_MAX];
    for (; axes[to.rank]; to.rank++) {
        const char *own = strchr(t.axes, axes[to.rank]);
        const char *theirs = other && !own ? strchr(other->axes, axes[to.rank]) : NULL;
        view[to.rank] = own ? (int)(own - t.axes) : -1;
        to.size[to.rank] = own ? from.size[own - t.axes] : 1;
        to.dim[to.rank] = own ? from.dim[own - t.axes] : -1;
        if (theirs) {
            const struct shape *s = &build_get(c->builder, other->node)->shape;
            to.size[to.rank] = s->size[theirs - other->axes];
            to.dim[to.rank] = s->dim[theirs - other->axes];
        }
    }
    struct term result = {.node = build_view(c->builder, l, t.node, &to, view).node};
    memcpy(result.axes, axes, strlen(axes) + 1);
    return result;
}

// Sum over the axes that neither `kept` nor `also` has.
static struct term summed(const struct structure_call *c, const char *suffix, struct term t,
                          const char *kept, const char *also) {
    unsigned axes = 0;
    struct term r = {0};
    int n = 0;
    for (int i = 0; t.axes[i]; i++) {
        if (has(kept, t.axes[i]) || has(also, t.axes[i]))
            r.axes[n++] = t.axes[i];
        else
            axes |= 1u << i;
    }
    if (!axes)
        return t;
    struct label l = structure_label(c, suffix);
    r.node = build_reduce(c->builder, &l, OP_RSUM, t.node, axes).node;
    return r;
}

// The diagonal of the last two axes, of n elements each: every (n + 1)st of the n * n.
static node_id diagonal(const struct structure_call *c, node_id id) {
    struct shape s = build_get(c->builder, id)->shape;
    int last = --s.rank - 1, dim = s.dim[last];
    int64_t n = s.size[last];
    s.size[last] = n * n;
    s.dim[last] = -1;
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    for (int i = 0; i < last; i++)
        d->step[i] = 1;
    d->step[last] = n + 1;
    struct node slice = {
        .op = OP_SLICE, .arg = {structure_reshape(c, "", id, &s).node}, .detail = d};
    slice.dtype = build_get(c->builder, id)->dtype;
    slice.shape = s;
    slice.shape.size[last] = n;
    slice.shape.dim[last] = dim;
    return structure_add(c, "", &slice).node;
}

// The term with every letter once: axes of the same letter come last, and only their diagonal
// stays.
static struct term without_twins(const struct structure_call *c, struct term t) {
    for (int i = 0; t.axes[i]; i++) {
        const char *twin = strchr(&t.axes[i + 1], t.axes[i]);
        if (!twin)
            continue;
        struct shape from = build_get(c->builder, t.node)->shape, to = {.rank = from.rank};
        int twins[] = {i, (int)(twin - t.axes)}, view[RANK_MAX], n = 0;
        struct term r = {0};
        for (int k = 0; k < from.rank; k++)
            if (k != twins[0] && k != twins[1])
                view[n++] = k;
        memcpy(&view[n], twins, sizeof twins);
        for (int k = 0; k < from.rank; k++) {
            to.size[k] = from.size[view[k]];
            to.dim[k] = from.dim[view[k]];
            r.axes[k] = k + 1 < from.rank ? t.axes[view[k]] : '\0';
        }
        struct label l = structure_label(c, "");
        r.node = diagonal(c, build_view(c->builder, &l, t.node, &to, view).node);
        t = r;
        i = -1;  // what is left may have others
    }
    return t;
}

// Letters of `from` that are (or are not) in `in`, and in `also` where that is given.
static void select(char *out, const char *from, const char *in, bool is_in, const char *also) {
    size_t n = strlen(out);
    for (; *from; from++) {
        bool wanted = (strchr(in, *from) != NULL) == is_in && (!also || strchr(also, *from));
        if (!wanted || strchr(out, *from) || n == LETTERS)
            continue;
        out[n++] = *from;
        out[n] = '\0';
    }
}

static void check_room(const struct structure_call *c, const char *axes) {
    if (strlen(axes) > RANK_MAX)
        structure_fail(c, c->expr->args[0],
                       "on the way there is a value with axes '%s', and %d is the most", axes,
                       RANK_MAX);
}

// Several axes at the end (two < n) become one: "bmkl" with 2 gives "bmk".
static struct term merged(const struct structure_call *c, struct term t, int at, int n) {
    struct shape s = build_get(c->builder, t.node)->shape;
    for (int i = 1; i < n; i++) {
        s.size[at] *= s.size[at + 1];
        s.dim[at] = -1;
        memmove(&s.size[at + 1], &s.size[at + 2], sizeof s.size[0] * (size_t)(s.rank - at - 2));
        memmove(&s.dim[at + 1], &s.dim[at + 2], sizeof s.dim[0] * (size_t)(s.rank - at - 2));
        memmove(&t.axes[at + 1], &t.axes[at + 2], strlen(&t.axes[at + 1]));
        s.rank--;
    }
    if (n > 1)
        t.node = structure_reshape(c, "", t.node, &s).node;
    return t;
}

// The label of a value with these axes: the result's where they are the result's.
static struct label label_for(const struct structure_call *c, const char *axes,
                              const char *result) {
    return structure_label(c, result && strcmp(axes, result) == 0 ? NULL : "");
}

static struct term multiplied(const struct structure_call *c, struct term a, struct term b,
                              const char *all, const char *result) {
    struct label l = structure_label(c, ""), own = label_for(c, all, result);
    struct operand args[2] = {{.node = arranged(c, &l, a, all, NULL).node},
                              {.node = arranged(c, &l, b, all, NULL).node}};
    struct term t = {.node = build_elementwise(c->builder, &own, OP_MUL, args).node};
    memcpy(t.axes, all, strlen(all) + 1);
    return t;
}

// Both terms as one with the axes that `kept` asks for; `result` is not NULL for the last ones.
// Axes of one side alone are m or n of a product; of several, all but one become batch axes of
// the product, along which the other side is broadcast.
static struct term contracted(const struct structure_call *c, struct term a, struct term b,
                              const char *kept, const char *result) {
    struct label l = structure_label(c, "");
    char batch[2 * LETTERS] = "", m[LETTERS + 1] = "", n[LETTERS + 1] = "", k[LETTERS + 1] = "";
    a = summed(c, "", a, kept, b.axes);
    b = summed(c, "", b, kept, a.axes);
    select(batch, a.axes, kept, true, b.axes);
    select(k, a.axes, kept, false, b.axes);
    select(m, a.axes, b.axes, false, NULL);
    select(n, b.axes, a.axes, false, NULL);
    char all[4 * LETTERS] = "";
    select(all, batch, "", false, NULL);
    select(all, m, "", false, NULL);
    select(all, n, "", false, NULL);
    check_room(c, all);
    if (!*k)
        return multiplied(c, a, b, all, result);
    // The last of m and of n stay; where there is none, an axis of size 1 stands in.
    char last_m[2] = {*m ? m[strlen(m) - 1] : 'A', 0}, last_n[2] = {*n ? n[strlen(n) - 1] : 'B', 0};
    char lead[4 * LETTERS] = "", left[4 * LETTERS] = "", right[4 * LETTERS] = "";
    select(lead, all, (char[]){last_m[0], last_n[0], 0}, false, NULL);
    select(left, lead, "", false, NULL);
    select(right, lead, "", false, NULL);
    select(left, last_m, "", false, NULL);
    select(left, k, "", false, NULL);
    select(right, k, "", false, NULL);
    select(right, last_n, "", false, NULL);
    check_room(c, left);
    check_room(c, right);
    int n_lead = (int)strlen(lead), n_k = (int)strlen(k);
    struct term x = merged(c, arranged(c, &l, a, left, &b), n_lead + 1, n_k);
    struct term y = merged(c, arranged(c, &l, b, right, &a), n_lead, n_k);
    struct term product = {0};
    memcpy(product.axes, lead, (size_t)n_lead);
    product.axes[n_lead] = last_m[0];
    product.axes[n_lead + 1] = last_n[0];
    l = label_for(c, product.axes, result);
    product.node = build_matmul(c->builder, &l, x.node, y.node).node;
    l = label_for(c, all, result);
    return *m && *n ? product : arranged(c, &l, product, all, NULL);
}

// Letters that some term from `first` on, or the result, still needs.
static void needed(const struct term *terms, int first, int n, const char *result, char *out) {
    out[0] = '\0';
    select(out, result, "", false, NULL);
    for (int i = first; i < n; i++)
        select(out, terms[i].axes, "", false, NULL);
}

struct operand build_einsum(struct structure_call *c) {
    struct term terms[CALL_ARGS_MAX] = {{0}};
    char result[RANK_MAX + 1], kept[LETTERS + 1];
    int n = read_spec(c, terms, result);
    check_letters(c, terms, n, result);
    c->label.composite = c->expr->text;
    for (int i = 0; i < n; i++)
        terms[i] = without_twins(c, terms[i]);
    struct term t = terms[0];
    for (int i = 1; i < n; i++) {
        needed(terms, i + 1, n, result, kept);
        t = contracted(c, t, terms[i], kept, i + 1 == n ? result : NULL);
    }
    bool is_done = n > 1 && strcmp(t.axes, result) == 0;
    t = summed(c, "", t, result, "");
    return is_done ? (struct operand){.node = t.node}
                   : (struct operand){.node = arranged(c, &c->label, t, result, NULL).node};
}

// ---- quantised weights

// w[N, K] in whole numbers, a scale for each row or for each group of a row.
struct operand build_qmatmul(struct structure_call *c) {
    struct builder *b = c->builder;
    struct shape w = structure_shape_of(c, 1), s = structure_shape_of(c, 2);
    c->label.composite = c->expr->text;
    struct label l = structure_label(c, "");
    for (int i = 0; i < 3; i++)
        structure_need_number(c, i);
    if (!dtype_is_integer(build_get(b, c->values[1])->dtype) || w.rank != 2)
        structure_fail(c, c->given[1], "qmatmul(x, w, scales) takes w as i8 or i4 [N, K], not %s",
                       structure_type(c, 1));
    int64_t groups = s.rank == 2 ? s.size[1] : 1;
    if (s.rank < 1 || s.rank > 2 || s.size[0] != w.size[0] || w.size[1] % groups != 0)
        structure_fail(c, c->given[2],
                       "scales are [N], or [N, K / group] for w[N, K], and this is %s",
                       structure_type(c, 2));
    int64_t group = structure_whole(c, "group", w.size[1] / groups);
    if (group * groups != w.size[1])
        structure_fail(c, structure_given(c, "group"),
                       "%lld groups of %lld do not make up the %lld columns of w",
                       (long long)groups, (long long)group, (long long)w.size[1]);
    struct operand wide = {.node = c->values[1]}, scales = {.node = c->values[2]};
    struct shape split = {.rank = 3, .size = {w.size[0], groups, group}, .dim = {w.dim[0], -1, -1}};
    struct shape tall = split;
    tall.size[2] = 1;
    if (groups > 1) {
        wide = structure_reshape(c, "", wide.node, &split);
    } else {
        split.rank = 2;
        tall = (struct shape){.rank = 2, .size = {w.size[0], 1}, .dim = {w.dim[0], -1}};
    }
    if (s.rank == 1)
        scales = build_view(b, &l, scales.node, &tall, (int[]){0, -1});
    else if (groups > 1)
        scales = build_view(b, &l, scales.node, &tall, (int[]){0, 1, -1});
    struct label weights = structure_label(c, groups > 1 ? "" : "weights");
    wide = build_elementwise(b, &weights, OP_MUL, (struct operand[]){wide, scales});
    if (groups > 1)
        wide = structure_reshape(c, "weights", wide.node, &w);
    struct shape turned = {.rank = 2, .size = {w.size[1], w.size[0]}, .dim = {w.dim[1], w.dim[0]}};
    wide = build_view(b, &l, wide.node, &turned, (int[]){1, 0});
    return build_matmul(b, &c->label, c->values[0], wide.node);
}
