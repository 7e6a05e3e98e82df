#include "memory/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/moves_far.h"
#include "memory/kind.h"
#include "memory/transfer.h"
#include "model/target.h"
#include "record/move_kind.h"

// Another device of the same kind is as far away as twice every extent, and some.
static const double OTHER_DEVICE = 0.5;

struct sibling {
    const struct lesson *lesson;
    double distance;
};

static int by_distance(const void *x, const void *y) {
    const struct sibling *p = x, *q = y;
    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    double a = p->lesson->time_s, b = q->lesson->time_s;
    if (isnan(a) != isnan(b))
        return isnan(a) - isnan(b);
    return a != b && !isnan(a) ? (a > b) - (a < b) : strcmp(p->lesson->run, q->lesson->run);
}

// A trial on a sibling is worth so many here.
static double worth(double distance) {
    return 1 / (1 + distance) / (1 + distance);
}

struct sums {
    struct advice_prior *priors;  // gain is the weighted sum of logarithms until the end
    int n, room;
};

static bool same(const char *x, const char *y) {
    return x == y || (x && y && strcmp(x, y) == 0);
}

static struct advice_prior *find(struct arena *a, struct sums *s, const char *kind,
                                 const char *tool, const char *bottleneck) {
    for (int i = 0; i < s->n; i++) {
        struct advice_prior *p = &s->priors[i];
        if (same(p->tool, tool) && same(p->bottleneck, bottleneck) && strcmp(p->move, kind) == 0)
            return p;
    }
    if (s->n == s->room) {
        int room = s->room ? 2 * s->room : 64;
        struct advice_prior *more = arena_array(a, struct advice_prior, room);
        if (s->n > 0)
            memcpy(more, s->priors, sizeof *more * (size_t)s->n);
        s->priors = more;
        s->room = room;
    }
    s->priors[s->n] = (struct advice_prior){
        .move = arena_strdup(a, kind), .tool = tool, .bottleneck = bottleneck};
    return &s->priors[s->n++];
}

static void add_outcome(struct arena *a, struct sums *s, const struct outcome *o, double weight) {
    struct arena scratch = {0};
    const char *kind = move_kind(&scratch, arena_printf(&scratch, "x: %s", o->move));
    if (!kind)
        kind = move_kind(&scratch, arena_printf(&scratch, "%s x into at for y", o->move));
    // With and without the tool, with and without the class.
    for (int i = 0; kind && o->n_timed > 0 && i < 4; i++) {
        const char *tool = i & 1 ? o->tool : NULL, *bottleneck = i & 2 ? o->bottleneck : NULL;
        if ((i & 1 && !tool) || (i & 2 && !bottleneck))
            continue;
        struct advice_prior *p = find(a, s, kind, tool, bottleneck);
        p->gain += weight * o->log_sum;
        p->weight += weight * o->n_timed;
        p->n_timed += o->n_timed;
        p->n_better += outcome_n_better(o);
    }
    arena_reset(&scratch);
}

static void add_priors(struct arena *a, const struct sibling *near, int n, struct advice *out) {
    struct sums s = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < near[i].lesson->n_outcomes; j++)
            add_outcome(a, &s, &near[i].lesson->outcomes[j], worth(near[i].distance));
    for (int i = 0; i < s.n; i++) {
        s.priors[i].gain = exp(s.priors[i].gain / s.priors[i].weight);
        advice_describe(a, &s.priors[i]);
    }
    out->priors = s.priors;
    out->n_priors = s.n;
}

static bool is_there(const struct advice *d, const char *kernel) {
    for (int i = 0; i < d->n_starts; i++)
        if (strcmp(d->starts[i].kernel, kernel) == 0)
            return true;
    return false;
}

static const char *origin(struct arena *a, const struct lesson *l) {
    struct str text = {0};
    str_printf(&text, "%s%s%s, %s", l->problem, *l->shape ? " " : "", l->shape, l->kind.types);
    if (isfinite(l->speedup))
        str_printf(&text, ", %.2fx there", l->speedup);
    return str_take(a, &text);
}

// Of a sibling's blocks those count as equal that are as near to its champion as times are known,
// and no more of them are looked at.
static const double EQUAL = 0.03;
enum { EQUALS_MAX = 8 };

static double prior_of(struct arena *a, const struct problem *p, const struct target *t,
                       const char *text) {
    struct kernel *k = transfer_read(a, text);
    struct error ignored = {0};
    return k && lower_check(a, p, t, k, &ignored) ? moves_prior(p, t, k) : -INFINITY;
}

// The sibling's best block for this problem: what it brought there beyond what the closed form says
// there, and what the closed form says here. *gain: by how much it is expected to be faster here
// than the default kernel, as a logarithm, if that was as good there as the closed form says.
static const char *best_start(struct arena *a, const struct problem *p, const struct target *t,
                              const struct lesson *l, double default_prior, double *gain) {
    const char *best = l->block || l->n_blocks == 0 ? transfer_block(a, l, p, t) : NULL;
    double over_default = isfinite(l->speedup) ? log(fmax(l->speedup, 1)) : INFINITY;
    *gain = INFINITY;
    for (int i = 0; i < l->n_blocks && i < EQUALS_MAX; i++) {
        struct lesson with = *l;
        const struct lesson_block *b = &l->blocks[i], *first = &l->blocks[0];
        double loss = log(b->time_s / first->time_s);
        with.block = b->kernel;
        const char *text = loss <= EQUAL ? transfer_block(a, &with, p, t) : NULL;
        double here = text ? prior_of(a, p, t, text) : -INFINITY;
        double expected = over_default - loss - (b->prior - first->prior) + here - default_prior;
        if (!isfinite(here) || (isfinite(*gain) && expected <= *gain))
            continue;
        *gain = expected;
        best = text;
    }
    return best;
}

static void add_start(struct advice *out, struct advice_start start) {
    if (start.kernel && out->n_starts < ADVICE_STARTS_MAX && !is_there(out, start.kernel))
        out->starts[out->n_starts++] = start;
}

static int by_size(const void *x, const void *y) {
    const double *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

// What the closed form errs by where it says how much slower than the champion a block is, as the
// sibling's own times show it: the median, so that a few odd blocks do not decide. 0: no other
// block was timed, and nothing refutes it.
static double error_of_closed_form(const struct lesson *l) {
    double errors[LESSON_BLOCKS_MAX];
    const struct lesson_block *first = l->blocks;
    int n = l->n_blocks < LESSON_BLOCKS_MAX ? l->n_blocks : LESSON_BLOCKS_MAX;
    if (n < 2)
        return 0;
    for (int i = 1; i < n; i++)
        errors[i - 1] =
            fabs(log(l->blocks[i].time_s / first->time_s) + l->blocks[i].prior - first->prior);
    qsort(errors, (size_t)n - 1, sizeof *errors, by_size);
    return n % 2 ? (errors[n / 2 - 1] + errors[n / 2]) / 2 : errors[n / 2 - 1];
}

// Of each sibling one; before the nearest one's the default kernel, unless the sibling's should be
// faster here by more than the closed form errs by, which is all that says so: other types or
// extents may ask for what the families know and the sibling does not.
static void add_starts(struct arena *a, const struct problem *p, const struct target *t,
                       const struct sibling *near, int n, struct advice *out) {
    const struct kernel *first = n > 0 ? lower_initial(a, p, t) : NULL;
    double prior = first ? moves_prior(p, t, first) : -INFINITY, gain;
    for (int i = 0; i < n && out->n_starts < ADVICE_STARTS_MAX; i++) {
        const char *kernel = best_start(a, p, t, near[i].lesson, prior, &gain);
        double least = error_of_closed_form(near[i].lesson);
        if (kernel && first && out->n_starts == 0 && gain < least)
            add_start(out, (struct advice_start){kernel_print(a, first), "default kernel", true});
        if (kernel && first && out->n_starts == 0)
            out->is_start_first = isfinite(gain) && gain > least;
        add_start(out, (struct advice_start){kernel, origin(a, near[i].lesson), false});
    }
}

// Of one sibling at most half as long as there are others.
static void add_blocks(struct arena *a, const struct problem *p, const struct target *t,
                       const struct sibling *near, int n, struct advice *out) {
    int sibling = 0, most = n > 1 ? ADVICE_BLOCKS_MAX / 2 : ADVICE_BLOCKS_MAX;
    out->blocks = arena_array(a, struct advice_block, ADVICE_BLOCKS_MAX);
    for (int i = 0; i < n && out->n_blocks < ADVICE_BLOCKS_MAX; i++) {
        const struct lesson *l = near[i].lesson;
        sibling += l->n_blocks > 0;
        for (int j = 0; j < l->n_blocks && j < most && out->n_blocks < ADVICE_BLOCKS_MAX; j++) {
            const char *kernel = transfer_names(a, l, l->blocks[j].kernel, p, t);
            if (kernel)
                out->blocks[out->n_blocks++] = (struct advice_block){
                    kernel, log(l->blocks[j].time_s), l->blocks[j].prior, sibling};
        }
    }
}

void advise(struct arena *a, const struct problem *p, const struct target *t,
            const struct lesson *lessons, int n, struct advice *out) {
    struct problem_kind kind;
    struct sibling *near = arena_array(a, struct sibling, n + 1);
    int n_near = 0;
    kind_of(a, p, &kind);
    for (int i = 0; i < n; i++) {
        double distance = kind_distance(&kind, &lessons[i].kind);
        if (isinf(distance))
            continue;
        if (strcmp(lessons[i].device, t->device) != 0)
            distance += OTHER_DEVICE;
        near[n_near++] = (struct sibling){&lessons[i], distance};
    }
    qsort(near, (size_t)n_near, sizeof *near, by_distance);
    out->n_lessons = n_near;
    out->is_weighed = true;
    add_priors(a, near, n_near, out);
    add_starts(a, p, t, near, n_near, out);
    add_blocks(a, p, t, near, n_near, out);
}
