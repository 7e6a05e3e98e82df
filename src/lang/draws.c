// Rows of distributions with the numbers they take, and whether what they draw fits the input's
// type.
#include "lang/draws.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/lang.h"

// In the order of enum distribution_kind, as are the rows below.
static const char *const names[] = {"normal", "uniform",   "integers", "sign",
                                    "index",  "bernoulli", "zipf",     "permutation",
                                    "sorted", "offsets",   "constant", NULL};
static const struct {
    int n_args;
    bool may_be_bare;
    const char *usage;
} rows[] = {
    {2, true, "normal(mean, deviation)"},
    {2, false, "uniform(a, b)"},
    {2, false, "integers(lo, hi)"},
    {0, true, "sign"},
    {1, false, "index(N)"},
    {1, false, "bernoulli(p)"},
    {2, false, "zipf(exponent, N)"},
    {0, true, "permutation"},
    {2, true, "sorted(a, b)"},
    {1, false, "offsets(total)"},
    {1, false, "constant(value)"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert(sizeof names / sizeof *names == N_ROWS + 1, "a name for each row");
_Static_assert((int)N_ROWS == (int)DISTRIBUTION_CONSTANT + 1, "all that can be named");

const char *const *lang_distribution_names(void) {
    return names;
}

static noreturn void fail(struct value_scope *s, struct spot at, const char *text) {
    mistake_fail(s->builder.mistakes, at, NULL, "%s", text);
}

static noreturn void fail_unknown(struct value_scope *s, const struct distribution_syntax *d) {
    const char *near = str_nearest(d->name, names);
    struct str all = {0};
    for (int i = 0; !near && names[i]; i++)
        str_printf(&all, "%s%s", i ? ", " : "; there are ", names[i]);
    mistake_fail(s->builder.mistakes, d->at, near, "no distribution is named '%s'%s", d->name,
                 str_take(s->builder.arena, &all));
}

static enum distribution_kind find_kind(struct value_scope *s,
                                        const struct distribution_syntax *d) {
    int kind = 0;
    while (kind < N_ROWS && strcmp(names[kind], d->name) != 0)
        kind++;
    if (kind == N_ROWS)
        fail_unknown(s, d);
    if (d->n_args != rows[kind].n_args && !(d->n_args == 0 && rows[kind].may_be_bare))
        mistake_fail(s->builder.mistakes, d->at, NULL, "%s takes %s", d->name,
                     rows[kind].n_args == 0   ? "no numbers"
                     : rows[kind].n_args == 1 ? "a number in parentheses"
                                              : "two numbers in parentheses");
    return (enum distribution_kind)kind;
}

static double read_number(struct value_scope *s, const struct expr *e) {
    struct operand x = value_operand(s, &(struct label){.at = e->at}, e);
    if (!x.is_number)
        fail(s, e->at, "expected a number");
    // Keeps every draw, and the width of the range, finite in f32.
    if (fabs(x.number) > 1e30)
        fail(s, e->at, "a number here is at most 1e30");
    return x.number;
}

static bool is_whole(double v) {
    return v == floor(v) && fabs(v) <= 2147483648.0;
}

// What the numbers must be, whatever the type.
static const char *wrong_numbers(const struct distribution *d) {
    double a = d->a, b = d->b;
    switch (d->kind) {
    case DISTRIBUTION_NORMAL:
        return b < 0 ? "normal(mean, deviation): the deviation is negative" : NULL;
    case DISTRIBUTION_UNIFORM:
        return a < b ? NULL : "uniform(a, b) needs a < b";
    case DISTRIBUTION_SORTED:
        return a < b ? NULL : "sorted(a, b) needs a < b";
    case DISTRIBUTION_INTEGERS:
        return is_whole(a) && is_whole(b) && a <= b
                   ? NULL
                   : "integers(lo, hi) needs whole numbers lo <= hi within 2^31 of zero";
    case DISTRIBUTION_INDEX:
        return is_whole(a) && a >= 1 ? NULL : "index(N) needs a whole number above zero";
    case DISTRIBUTION_OFFSETS:
        return is_whole(a) && a >= 0 && a < 2147483648.0 ? NULL
                                                         : "offsets(total) needs a whole number";
    case DISTRIBUTION_BERNOULLI:
        return a >= 0 && a <= 1 ? NULL : "bernoulli(p) needs a probability from 0 to 1";
    case DISTRIBUTION_ZIPF:
        return a >= 0 && a <= 2 && is_whole(b) && b >= 1 && b < 2147483648.0
                   ? NULL
                   : "zipf(exponent, N) needs an exponent from 0 to 2 and a whole number";
    default:
        return NULL;
    }
}

// The ends of what is drawn, and whether only whole numbers are.
struct extent {
    double low, high;
    bool is_whole;
};

static struct extent extent_of(const struct distribution *d, enum dtype t, const struct shape *s) {
    double columns = s->rank ? (double)s->size[s->rank - 1] : 1;
    switch (d->kind) {
    case DISTRIBUTION_NORMAL:
        return (struct extent){d->a - 6.5 * d->b, d->a + 6.5 * d->b, false};
    case DISTRIBUTION_UNIFORM:
        return (struct extent){d->a, d->b, false};
    case DISTRIBUTION_SORTED:
        return (struct extent){d->a, d->b, dtype_is_integer(t) && is_whole(d->a) && is_whole(d->b)};
    case DISTRIBUTION_INTEGERS:
        return (struct extent){d->a, d->b, true};
    case DISTRIBUTION_SIGN:
        return (struct extent){-1, 1, true};
    case DISTRIBUTION_INDEX:
        return (struct extent){0, d->a - 1, true};
    case DISTRIBUTION_OFFSETS:
        return (struct extent){0, d->a, true};
    case DISTRIBUTION_ZIPF:
        return (struct extent){0, d->b - 1, true};
    case DISTRIBUTION_PERMUTATION:
        return (struct extent){0, columns - 1, true};
    case DISTRIBUTION_CONSTANT:
        return (struct extent){d->a, d->a, is_whole(d->a)};
    default:
        return (struct extent){0, 1, true};
    }
}

static void check_fit(struct value_scope *s, const struct distribution *d, enum dtype t,
                      const struct shape *shape, struct spot at) {
    struct extent e = extent_of(d, t, shape);
    struct mistakes *m = s->builder.mistakes;
    const char *name = dtype_name(t);
    if (!dtype_is_float(t) && !e.is_whole)
        mistake_fail(m, at, NULL, "%s holds whole numbers, and %s draws others", name,
                     names[d->kind]);
    // Beyond 2^digits a float leaves whole numbers out.
    double limit = dtype_is_float(t) && e.is_whole ? ldexp(1, dtype_infos[t].digits) : dtype_max(t);
    double low = dtype_is_float(t) ? -limit : dtype_min(t);
    if (e.low < low || e.high > limit)
        mistake_fail(
            m, at, NULL, "%s holds %s from %.15g to %.15g, and %s draws from %.15g to %.15g", name,
            e.is_whole ? "whole numbers" : "numbers", low, limit, names[d->kind], e.low, e.high);
}

// What an input of that type is drawn from when nothing is said.
static struct distribution natural(enum dtype t) {
    if (t == DTYPE_BOOL)
        return (struct distribution){DISTRIBUTION_BERNOULLI, 0.5, 0};
    if (dtype_is_float(t))
        return (struct distribution){DISTRIBUTION_NORMAL, 0, 1};
    if (dtype_infos[t].bits <= 8)
        return (struct distribution){DISTRIBUTION_INTEGERS, dtype_min(t), dtype_max(t)};
    return (struct distribution){DISTRIBUTION_INTEGERS, 0, 99};
}

struct distribution draws_check(struct value_scope *s, const struct distribution_syntax *d,
                                enum dtype type, const struct shape *shape) {
    if (!d->name)
        return natural(type);
    struct distribution result = {.kind = find_kind(s, d)};
    if (result.kind == DISTRIBUTION_NORMAL || result.kind == DISTRIBUTION_SORTED)
        result.b = 1;
    for (int i = 0; i < d->n_args; i++)
        *(i ? &result.b : &result.a) = read_number(s, d->args[i]);
    const char *wrong = wrong_numbers(&result);
    if (wrong)
        fail(s, d->at, wrong);
    check_fit(s, &result, type, shape, d->at);
    return result;
}

enum promise draws_promise(struct value_scope *s, const struct promise_syntax *m,
                           const struct shape *shape) {
    static const struct {
        const char *first, *second;
        enum promise promise;
    } known[] = {{"triangular", "upper", PROMISE_UPPER},
                 {"triangular", "lower", PROMISE_LOWER},
                 {"diagonal", "", PROMISE_DIAGONAL},
                 {"symmetric", "", PROMISE_SYMMETRIC}};
    if (!m->words[0])
        return PROMISE_NONE;
    const char *second = m->words[1] ? m->words[1] : "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].first, m->words[0]) != 0 || strcmp(known[i].second, second) != 0)
            continue;
        int rank = shape->rank;
        if (rank < 2 || shape->size[rank - 1] != shape->size[rank - 2])
            mistake_fail(s->builder.mistakes, m->at, NULL,
                         "only a square matrix can be %s, and this has shape %s", m->words[0],
                         shape_print(s->builder.arena, s->builder.graph, shape));
        return known[i].promise;
    }
    fail(s, m->at,
         "expected '~', or a promise: triangular upper, triangular lower, diagonal, symmetric");
}

void draws_canonical(struct arena *a, struct distribution_syntax *out,
                     const struct distribution *d) {
    double values[2] = {d->a, d->b};
    bool is_standard = rows[d->kind].may_be_bare && d->a == 0 && d->b == 1;
    *out = (struct distribution_syntax){.name = names[d->kind]};
    out->n_args = is_standard ? 0 : rows[d->kind].n_args;
    for (int i = 0; i < out->n_args; i++) {
        struct expr *e = arena_new(a, struct expr);
        *e = (struct expr){.kind = EXPR_NUMBER, .number = fabs(values[i])};
        out->args[i] = e;
        if (values[i] < 0) {
            out->args[i] = arena_new(a, struct expr);
            *out->args[i] = (struct expr){.kind = EXPR_NEGATE, .n_args = 1};
            out->args[i]->args = arena_array(a, struct expr *, 1);
            out->args[i]->args[0] = e;
        }
    }
}
