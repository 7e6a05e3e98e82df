// Launches that could be one: what one writes is what another reads, both wait for memory, and
// together they would move it neither out nor in again.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { SECTOR = 32, LAUNCHES_MAX = 64 };
// Of the time of the call that must be spared; a value that is written and read has about the same
// number of bytes on both ways, or is one operand of several.
static const double WORTH = 0.1, BAD = 0.3, SAME = 1.1, OPERAND = 0.3, ARITHMETIC = 0.6;
static const double SMALL_SHARE = 0.03;

static const struct action one[] = {
    MERGE("merge stages, so that no value goes to memory and back"),
    WORDS("one kernel for several: compute on what is in registers before it is written"),
};

struct launch_traffic {
    double share, in, out;
    double per_byte;  // of the call's time
    double calls;
    bool is_written, is_read;  // by another of the list
    int group;                 // those that would be one kernel
};

static struct launch_traffic traffic_of(const struct profile_launch *l, double share,
                                        const struct target *t) {
    struct class_of c = classify_launch(&l->metrics, t);
    double in = SECTOR * launch_get(l, METRIC_LOAD_SECTORS);
    double out = SECTOR * launch_get(l, METRIC_STORE_SECTORS);
    double calls = launch_get(l, METRIC_CALLS);
    bool waits = c.kind == CLASS_MEMORY && c.compute_busy < ARITHMETIC && share > SMALL_SHARE;
    // Of those that only move data tool_layout speaks.
    if (!waits || metrics_only_moves(&l->metrics) || !(in > 0) || !(out > 0))
        return (struct launch_traffic){.share = 0};
    return (struct launch_traffic){.share = share,
                                   .in = in,
                                   .out = out,
                                   .per_byte = share / (in + out),
                                   .calls = isfinite(calls) ? calls : 1};
}

static bool feeds(const struct launch_traffic *x, const struct launch_traffic *y) {
    return x->share > 0 && y->share > 0 && x->calls == y->calls && x->out <= SAME * y->in &&
           x->out >= OPERAND * y->in;
}

static void join(struct launch_traffic *all, int n, int group, int with) {
    for (int i = 0; i < n; i++)
        if (all[i].group == with)
            all[i].group = group;
}

// The launches of a plan come in their order. Those of a program do not, so any other will do; each
// is written for one and read by one.
static double spared(struct launch_traffic *all, int n, bool is_ordered, int *n_pairs) {
    double sum = 0;
    *n_pairs = 0;
    for (int i = 0; i < n; i++)
        all[i].group = i;
    for (int i = 0; i < n; i++)
        for (int j = is_ordered ? i + 1 : 0; j < (is_ordered ? i + 2 : n) && j < n; j++) {
            if (all[i].group == all[j].group || all[i].is_read || all[j].is_written ||
                !feeds(&all[i], &all[j]))
                continue;
            all[i].is_read = all[j].is_written = true;
            join(all, n, all[i].group, all[j].group);
            sum += all[i].out * (all[i].per_byte + all[j].per_byte);
            ++*n_pairs;
        }
    return sum;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct profile *p = s->in->profile;
    struct launch_traffic all[LAUNCHES_MAX];
    int n = p->n_launches < LAUNCHES_MAX ? p->n_launches : LAUNCHES_MAX, n_pairs;
    double *shares = arena_array(a, double, p->n_launches + 1);
    if (n < 2 || (s->kernel && s->kernel->n_stages < 2))
        return false;
    profile_shares(p, shares);
    for (int i = 0; i < n; i++)
        all[i] = traffic_of(&p->launches[i], shares[i], s->target);
    double part = spared(all, n, s->in->candidate != NULL, &n_pairs);
    if (!(part > WORTH) || subject_is_near(s))
        return false;
    f->severity = part > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    // Of a program only the sizes are known, not who reads what.
    f->cause = s->in->candidate
                   ? "kernels that wait for memory write what the next one reads"
                   : "kernels that wait for memory write what others read, by the sizes of both";
    f->evidence = arena_printf(
        a, "%d such pair%s in %d kernels: %.0f%% of the time moves values between them", n_pairs,
        n_pairs == 1 ? "" : "s", p->n_launches, 100 * part);
    f->expected_gain = 1 / (1 - fmin(part, 0.9));
    tool_add_number(f, METRIC_LAUNCHES, p->n_launches, p->n_launches - n_pairs);
    tool_add_actions(f, s, one, ARRAY_LEN(one));
    return true;
}

const struct tool tool_stages = {
    .name = "stages",
    .summary = "kernels that could be one: what one writes the next one reads",
    .devices = ON_GPU,
    .of_several = true,
    .examine = examine,
};
