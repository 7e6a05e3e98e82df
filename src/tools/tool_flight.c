// Too few loads under way: to keep memory busy, latency times bandwidth must be on its way at any
// time. What a thread has under way is in its code (what waits for which load), how many threads
// there are is the occupancy.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Cycles from a load to its data when it comes from memory, on cards from 8.0 to 10.0: 600 to 900.
enum { LATENCY_CYCLES = 700 };
static const double ENOUGH = 0.8, BAD = 0.4;

static const struct action more[] = {
    TURN("items", +1, "more vectors per thread"),
    TURN("vec", +1, "wider loads"),
    TURN("unroll", +1, "more loads per turn"),
    TURN("threads", +1, "more threads per row"),
    TURN("minblocks", +1, "more blocks at a time"),
    WORDS(
        "several loads per thread before the first is used: unroll, and load into registers before "
        "the arithmetic"),
    WORDS("wider loads (16 bytes), or asynchronous copies of several slices"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct target *t = s->target;
    double each = subject_get(s, METRIC_BYTES_IN_FLIGHT), share = subject_get(s, METRIC_OCCUPANCY);
    double blocks = subject_get(s, METRIC_BLOCKS), sms = t->sms;
    double threads = share * t->threads_per_sm;
    // A grid that does not fill the card has fewer.
    if (blocks > 0 && sms > 0)
        threads = fmin(threads, ceil(blocks / sms) * subject_get(s, METRIC_BLOCK_THREADS));
    double need = t->peak_bytes_per_s / sms * LATENCY_CYCLES / t->top_clock_hz;
    double have = each * threads, part = have / need;
    bool is_memory = s->analytic.kind == CLASS_MEMORY || s->analytic.kind == CLASS_UNKNOWN;
    bool is_busy = s->measured.memory_busy > ENOUGH || s->measured.kind == CLASS_COMPUTE;
    if (!(part < ENOUGH) || !is_memory || is_busy || subject_is_near(s) ||
        !subject_awaits_memory(s))
        return false;
    // Values in local memory are loads too, and too few threads or narrow loads are the cause where
    // they weigh more.
    bool is_local = subject_get(s, METRIC_HOT_LOCAL) > 0;
    bool is_crowded = 1 / share > need / (each * t->threads_per_sm) && share < 0.25;
    bool is_narrow = subject_get(s, METRIC_HOT_LOAD_BYTES) < 4;
    if (is_local || (is_crowded && isfinite(s->measured.memory_busy)))
        return false;
    f->severity = part < BAD && !is_narrow ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "too few loads are under way to keep memory busy";
    f->evidence =
        arena_printf(a,
                     "%.0f byte%s a thread, %.1f KiB a multiprocessor; about %.1f KiB are "
                     "needed to cover the latency",
                     each, each == 1 ? "" : "s", have / 1024, need / 1024);
    f->expected_gain = subject_cap_gain(s, 1 / part);
    tool_add_number(f, METRIC_BYTES_IN_FLIGHT, each, need / threads);
    tool_add_number(f, METRIC_LOADS_IN_FLIGHT, subject_get(s, METRIC_LOADS_IN_FLIGHT), NAN);
    tool_add_number(f, METRIC_OCCUPANCY, share, NAN);
    tool_add_actions(f, s, more, ARRAY_LEN(more));
    return true;
}

const struct tool tool_flight = {
    .name = "flight",
    .summary = "too few loads under way for the latency of memory",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 4,
    .needs = {METRIC_BYTES_IN_FLIGHT, METRIC_OCCUPANCY, METRIC_BLOCKS, METRIC_BLOCK_THREADS},
    .examine = examine,
};
