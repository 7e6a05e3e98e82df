// Values that do not stay in registers: spilled by the assembler, or in arrays that are indexed
// by what it does not know.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const struct action fewer_values[] = {
    TURN("minblocks", -1, "allow a thread more registers"),
    TURN("micro", -1, "a smaller tile per thread"),
    TURN("items", -1, "fewer values per thread"),
    TURN("threads", +1, "share a row among more threads"),
    WORD("keep", "shared", "keep the row in shared memory"),
    TURN("vec", -1, "narrower vectors"),
    WORDS("hold fewer values per thread, or allow it more registers (__launch_bounds__)"),
};

static const struct action known_indices[] = {
    WORD("keep", "shared", "keep the row in shared memory"),
    TURN("items", -1, "fewer values per thread"),
    WORDS("unroll, so that every index is known when it is compiled; or keep the array in shared "
          "memory"),
};

// Three cases: registers spilled, in the hot loop or outside it; and arrays that are indexed by
// what the compiler does not know. Without a look at the code any spill may be in the loop.
static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double spilled = subject_get(s, METRIC_SPILL_BYTES), local = subject_get(s, METRIC_LOCAL_BYTES);
    double stack = subject_get(s, METRIC_STACK_BYTES), hot = subject_get(s, METRIC_HOT_LOCAL);
    double registers = subject_get(s, METRIC_REGISTERS), bytes = fmax(local, stack);
    bool spills = spilled > 0, is_cold = hot == 0;
    if (!spills && !(bytes > 0))
        return false;
    // What runs through local memory, of all instructions, where that was counted.
    double traffic = (subject_get(s, METRIC_LOCAL_LOADS) + subject_get(s, METRIC_LOCAL_STORES)) /
                     subject_get(s, METRIC_INSTRUCTIONS);
    is_cold = isfinite(traffic) ? traffic < 0.02 : is_cold;
    f->severity = is_cold                    ? SEVERITY_LOW
                  : spills || traffic > 0.05 ? SEVERITY_HIGH
                                             : SEVERITY_MEDIUM;
    f->cause =
        spills ? "registers spill to memory" : "arrays of a thread lie in memory, not in registers";
    f->evidence =
        spills ? arena_printf(a, "%.0f bytes per thread, at %.0f registers", spilled, registers)
               : arena_printf(a, "%.0f bytes per thread, and no spills", bytes);
    if (isfinite(hot))
        f->evidence =
            is_cold ? arena_printf(a, "%s; none of it in the hot loop", f->evidence)
                    : arena_printf(a, "%s; %.0f of %.0f instructions of the hot loop access it",
                                   f->evidence, hot, subject_get(s, METRIC_HOT_INSTRUCTIONS));
    // An access to local memory costs about what four instructions do, as long as L1 holds it.
    double share = fmin(0.9, 4 * hot / (subject_get(s, METRIC_HOT_INSTRUCTIONS) + 3 * hot));
    f->expected_gain = hot > 0 ? 1 / (1 - share) : NAN;
    tool_add_number(f, METRIC_SPILL_BYTES, spilled, 0);
    tool_add_number(f, METRIC_LOCAL_BYTES, bytes, 0);
    tool_add_number(f, METRIC_HOT_LOCAL, hot, 0);
    tool_add_number(f, METRIC_REGISTERS, registers, NAN);
    if (spills)
        tool_add_actions(f, s, fewer_values, ARRAY_LEN(fewer_values));
    else
        tool_add_actions(f, s, known_indices, ARRAY_LEN(known_indices));
    return true;
}

const struct tool tool_spill = {
    .name = "spill",
    .summary = "values of a thread that lie in memory instead of registers",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
