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

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double spilled = subject_get(s, METRIC_SPILL_BYTES), local = subject_get(s, METRIC_LOCAL_BYTES);
    double registers = subject_get(s, METRIC_REGISTERS);
    bool spills = spilled > 0;
    if (!spills && !(local > 0))
        return false;
    f->severity = spills ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause =
        spills ? "registers spill to memory" : "arrays of a thread lie in memory, not in registers";
    f->evidence =
        spills ? arena_printf(a, "%.0f bytes per thread, at %.0f registers", spilled, registers)
               : arena_printf(a, "%.0f bytes per thread, and no spills", local);
    tool_add_number(f, METRIC_SPILL_BYTES, spilled, 0);
    tool_add_number(f, METRIC_LOCAL_BYTES, local, 0);
    tool_add_number(f, METRIC_REGISTERS, registers, NAN);
    tool_add_actions(f, s, fewer_values, ARRAY_LEN(fewer_values));
    if (!spills && f->n_actions < FINDING_ACTIONS_MAX)
        f->actions[f->n_actions++] =
            (struct action){.words = "unroll, so that every index is known when it is compiled"};
    return true;
}

const struct tool tool_spill = {
    .name = "spill",
    .summary = "values of a thread that lie in memory instead of registers",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
