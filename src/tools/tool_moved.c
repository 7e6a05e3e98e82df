// More bytes than the problem needs, on a CPU: what the launches of a plan name, each time anew,
// against the least; or, where the processor's counters could be read and say more, the lines that
// missed the caches. Values between stages that the caches hold cost little and are left out.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Bytes over the least; and of the time that they take.
enum { LINE = 64 };
static const double TOLERATED = 1.2, WORTH = 0.1, BAD = 0.4;

static const struct action fewer[] = {
    MERGE("merge stages, so that no value goes to memory and back"),
    TURN("pack", 0, "read the operand as it lies, without a copy of it"),
    WORDS("bring loops over the same data together: a value that one launch writes and the next "
          "one reads goes through memory twice"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct bound *b = s->in->bound;
    double named = subject_get(s, METRIC_PLAN_BYTES);
    double missed = LINE * subject_get(s, METRIC_CPU_CACHE_MISSES);
    bool is_counted = missed > named;
    double moved = is_counted ? missed : named, time_s = subject_get(s, METRIC_TIME);
    double least = b ? b->work.bytes_read + b->work.bytes_written : NAN, spare = moved - least;
    double rate = s->target->ceilings.present ? ceilings_bandwidth(&s->target->ceilings, 0.5) : NAN;
    double part = spare / rate / time_s;
    if (!(moved > TOLERATED * least) || !(spare > (double)s->target->llc_bytes) ||
        !(part > WORTH) || subject_is_near(s))
        return false;
    f->severity = part > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "more is moved from and to memory than the problem needs";
    f->evidence =
        arena_printf(a, "%s %s, %.2f times the least (%s)",
                     is_counted ? "lines that missed the caches are" : "launches name",
                     bound_quantity(a, moved, "B"), moved / least, bound_quantity(a, least, "B"));
    f->expected_gain = 1 / (1 - fmin(part, 0.9));
    if (is_counted)
        tool_add_number(f, METRIC_CPU_CACHE_MISSES, missed / LINE, least / LINE);
    else
        tool_add_number(f, METRIC_PLAN_BYTES, moved, least);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_moved = {
    .name = "moved",
    .summary = "bytes beyond the least that the problem needs",
    .devices = ON_CPU,
    .n_needs = 2,
    .needs = {METRIC_PLAN_BYTES, METRIC_TIME},
    .examine = examine,
};
