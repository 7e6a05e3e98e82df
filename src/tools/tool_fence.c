// Memory fences: a warp that asks for one waits until all its writes are seen by others.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.15;

static const struct action fewer[] = {
    WORDS("fewer fences: one after all writes instead of one after each"),
    WORDS("a weaker one: __threadfence_block within a block, release and acquire at one flag "
          "(cuda::atomic_ref) instead of a fence for everything"),
};

// What the code says of it where nobody counted: fences in a loop, or one after the other. One at
// the end, before a flag is set, is how it should be.
static bool examine_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    enum { SEVERAL = 4 };
    static const double MANY = 0.02;  // of the instructions
    double fences = subject_get(s, METRIC_HOT_FENCES),
           all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    bool is_loop = subject_get(s, METRIC_CODE_LOOPS) > 0;
    if (!(fences >= (is_loop ? 1 : SEVERAL)))
        return false;
    f->severity = fences > MANY * all ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = is_loop ? "memory fences in the hot loop" : "several memory fences";
    f->evidence = arena_printf(a, "%.0f of %.0f instructions%s", fences, all,
                               is_loop ? " of the hot loop" : "");
    tool_add_number(f, METRIC_HOT_FENCES, fences, NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    if (!metrics_has(s->metrics, METRIC_STALL_MEMBAR))
        return examine_code(a, s, f);
    double cycles = subject_get(s, METRIC_STALL_MEMBAR), all = subject_stalls(s);
    double share = cycles / all, issue = subject_get(s, METRIC_ISSUE_BUSY);
    if (!(share > MUCH))
        return false;
    f->severity = share > 0.5 && !(issue > 0.4) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for memory fences";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    f->expected_gain = subject_cap_gain(s, 1 / (1 - fmin(share, 0.95)));
    tool_add_number(f, METRIC_STALL_MEMBAR, cycles, MUCH * all);
    tool_add_number(f, METRIC_ISSUE_BUSY, issue, NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_fence = {
    .name = "fence",
    .summary = "time at memory fences",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
