// Atomics on memory in the loop, where one at its end would do.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of all instructions, executed or in the loop.
static const double MANY = 0.02, BAD = 0.1;

static const struct action fewer[] = {
    TURN("combine", 0, "bring results together another way"),
    WORDS("sum in registers first, then in the warp (shuffles) and the block (shared memory); one "
          "atomic for a block"),
    WORDS("spread atomics over several addresses, and sum those in a second launch"),
};

static const struct action fewer_shared[] = {
    WORDS("count in registers and add once; or sum in the warp first (shuffles, "
          "__reduce_add_sync)"),
    WORDS("several copies of what is counted, one for each warp, summed at the end"),
};

// On shared memory: threads of a warp that meet at an address go one after another.
static bool is_shared(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double share = subject_get(s, METRIC_SHARED_ATOMICS) / subject_get(s, METRIC_INSTRUCTIONS);
    if (!(share > 5 * MANY) || !(subject_get(s, METRIC_L1_BUSY) > 0.5))
        return false;
    f->severity = share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "atomics fill the path to shared memory";
    f->evidence = arena_printf(a, "%.1f%% of the instructions are such atomics; it is %.0f%% busy",
                               100 * share, 100 * subject_get(s, METRIC_L1_BUSY));
    f->expected_gain = 1 / (1 - fmin(0.9, 1.5 * share));
    tool_add_number(f, METRIC_SHARED_ATOMICS, subject_get(s, METRIC_SHARED_ATOMICS), NAN);
    tool_add_actions(f, s, fewer_shared, ARRAY_LEN(fewer_shared));
    return true;
}

// The same read off the code, where nobody counted.
static bool is_shared_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double hot = subject_get(s, METRIC_HOT_SHARED_ATOMICS);
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    bool is_loop = subject_get(s, METRIC_CODE_LOOPS) > 0;
    if (metrics_has(s->metrics, METRIC_SHARED_ATOMICS) || !is_loop || !(hot > 5 * MANY * all))
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "atomics on shared memory in the hot loop: threads that meet at one go one by one";
    f->evidence = arena_printf(a, "%.0f of %.0f instructions of the hot loop", hot, all);
    tool_add_number(f, METRIC_HOT_SHARED_ATOMICS, hot, 5 * MANY * all);
    tool_add_actions(f, s, fewer_shared, ARRAY_LEN(fewer_shared));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double requests =
        subject_get(s, METRIC_ATOMIC_REQUESTS) + subject_get(s, METRIC_REDUCTION_REQUESTS);
    double executed = requests / subject_get(s, METRIC_INSTRUCTIONS);
    double hot = subject_get(s, METRIC_HOT_ATOMICS);
    double code =
        subject_get(s, METRIC_CODE_LOOPS) > 0 ? hot / subject_get(s, METRIC_HOT_INSTRUCTIONS) : 0;
    double share = isfinite(executed) ? executed : code;
    if (!(share > MANY))
        return is_shared(a, s, f) || is_shared_code(a, s, f);
    // Where nothing is busy the warps wait, and what they wait for are these.
    bool is_waiting = isfinite(executed) && s->measured.kind == CLASS_LATENCY;
    f->severity = share > BAD || is_waiting ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = is_waiting ? "warps wait for atomics on memory"
                          : "atomics on memory, each as slow as many other instructions";
    f->evidence = isfinite(executed)
                      ? arena_printf(a, "%.1f%% of the instructions are atomics", 100 * share)
                      : arena_printf(a, "%.0f of %.0f instructions of the hot loop", hot,
                                     subject_get(s, METRIC_HOT_INSTRUCTIONS));
    if (is_waiting)
        f->expected_gain = 1 / fmax(0.1, s->measured.busy);
    tool_add_number(f, METRIC_HOT_ATOMICS, hot, 0);
    tool_add_number(f, METRIC_REDUCTION_REQUESTS, subject_get(s, METRIC_REDUCTION_REQUESTS), NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_atomics = {
    .name = "atomics",
    .summary = "atomics on memory or shared memory in the hot loop",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
