// Threads idle: too few blocks to share out evenly, or blocks so small that handing them
// out is the work.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Below BUSY of the time in blocks there is something to gain. With fewer than FEW blocks per
// thread the last ones leave threads waiting; with more than MANY the handing out shows.
static const double BUSY = 0.9, FEW = 8, MANY = 64;

static const struct action smaller[] = {
    TURN("grain", -1, "smaller blocks: less work per block"),
    TURN("rows", -1, "smaller blocks: fewer rows each"),
    TURN("tile", -1, "smaller tiles: more blocks"),
    WORDS("a larger grid of smaller blocks, several for each thread"),
};

static const struct action even[] = {
    TURN("grain", -1, "smaller blocks: one that ends late holds less"),
    TURN("rows", -1, "smaller blocks: fewer rows each"),
    WORDS("equal work for each block, or more and smaller ones: they are handed out one by one"),
};

static const struct action larger[] = {
    TURN("grain", +1, "larger blocks: fewer to hand out"),
    TURN("rows", +1, "larger blocks: more rows each"),
    TURN("tile", +1, "larger tiles: fewer blocks"),
    WORDS("a smaller grid of larger blocks"),
};

// Of the call's time, what threads lose in launches with fewer blocks than there are threads: a
// fact of the plan, whatever else the machine does. The launch that loses most is named.
static double lost_in_small_grids(struct arena *a, const struct tool_subject *s, int *worst) {
    const struct profile *p = s->in->profile;
    double *shares = arena_array(a, double, p->n_launches + 1), lost = 0, most = 0;
    double threads = subject_get(s, METRIC_THREADS);
    profile_shares(p, shares);
    for (int i = 0; i < p->n_launches; i++) {
        double blocks = launch_get(&p->launches[i], METRIC_BLOCKS);
        double part = blocks < threads ? shares[i] * (1 - blocks / threads) : 0;
        lost += part > 0 ? part : 0;
        if (part > most) {
            most = part;
            *worst = i;
        }
    }
    return lost;
}

static bool find_small_grid(struct arena *a, const struct tool_subject *s, struct finding *f) {
    int worst = 0;
    double lost = lost_in_small_grids(a, s, &worst), threads = subject_get(s, METRIC_THREADS);
    if (!(lost > 1 - BUSY))
        return false;
    const struct profile_launch *l = &s->in->profile->launches[worst];
    double blocks = launch_get(l, METRIC_BLOCKS);
    double share = launch_get(l, METRIC_TIME) / subject_get(s, METRIC_TIME);
    f->severity = lost > 0.25 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "threads have no work: a launch has fewer blocks than there are threads";
    f->launch = l->name;
    f->evidence =
        arena_printf(a, "launch %s, %.0f%% of the time, has %.0f block%s for %.0f threads", l->name,
                     100 * share, blocks, blocks == 1 ? "" : "s", threads);
    f->expected_gain = 1 / (1 - fmin(lost, 0.9));
    tool_add_number(f, METRIC_BLOCKS, blocks, threads);
    tool_add_actions(f, s, smaller, ARRAY_LEN(smaller));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    if (s->in->profile->n_launches > 1 && find_small_grid(a, s, f))
        return true;
    double busy = subject_get(s, METRIC_THREAD_BUSY), blocks = subject_get(s, METRIC_BLOCKS);
    double threads = subject_get(s, METRIC_THREADS), each = blocks / threads;
    if (!(busy > 0 && busy < BUSY) || !isfinite(each))
        return false;
    bool is_few = each<FEW, is_many = each> MANY;
    // One thread waits for no other.
    if (!(threads > 1) && !is_many)
        return false;
    bool is_shared = subject_is_disturbed(s);
    f->severity = is_shared ? SEVERITY_LOW : busy < 0.6 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = is_shared ? "threads wait, and other work takes the processors: measure again alone"
               : is_few  ? "threads wait at the end: too few blocks to share out"
               : is_many ? "threads wait between blocks: so many small ones"
                         : "threads wait: blocks take unequal time";
    f->evidence =
        arena_printf(a, "threads are busy %.0f%% of the time; %.0f block%s for %.0f thread%s",
                     100 * busy, blocks, blocks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
    f->expected_gain = 1 / busy;
    tool_add_number(f, METRIC_THREAD_BUSY, busy, BUSY);
    tool_add_number(f, METRIC_BLOCKS, blocks, NAN);
    if (is_shared)
        return true;  // first it has to be measured
    if (is_few)
        tool_add_actions(f, s, smaller, ARRAY_LEN(smaller));
    else if (is_many)
        tool_add_actions(f, s, larger, ARRAY_LEN(larger));
    else
        tool_add_actions(f, s, even, ARRAY_LEN(even));
    return true;
}

const struct tool tool_idle = {
    .name = "idle",
    .summary = "threads that wait for others or for work",
    .devices = ON_CPU,
    .n_needs = 3,
    .needs = {METRIC_THREAD_BUSY, METRIC_BLOCKS, METRIC_THREADS},
    .examine = examine,
};
