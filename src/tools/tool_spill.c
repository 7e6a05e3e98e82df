// Values that do not stay in registers: spilled by the assembler, or in arrays that are indexed
// by what it does not know.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const struct action fewer_values[] = {
    {"allow a thread more registers", "minblocks", -1, NULL},
    {"a smaller tile per thread", "micro", -1, NULL},
    {"fewer values per thread", "items", -1, NULL},
    {"share a row among more threads", "threads", +1, NULL},
    {"keep the row in shared memory", "keep", 0, "shared"},
    {"narrower vectors", "vec", -1, NULL},
    {"hold fewer values per thread, or allow it more registers (__launch_bounds__)", NULL, 0, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    const struct profile *p = in->profile;
    double spilled = profile_get(p, METRIC_SPILL_BYTES), local = profile_get(p, METRIC_LOCAL_BYTES);
    bool spills = spilled > 0;
    if (room < 1 || !(spills || local > 0))
        return 0;
    double registers = profile_get(p, METRIC_REGISTERS);
    *out = (struct finding){
        .tool = "spill",
        .severity = spills ? SEVERITY_HIGH : SEVERITY_MEDIUM,
        .cause = spills ? "registers spill to memory"
                        : "arrays of a thread lie in memory, not in registers",
        .evidence =
            spills ? arena_printf(a, "%.0f bytes per thread, at %.0f registers", spilled, registers)
                   : arena_printf(a, "%.0f bytes per thread, and no spills", local),
        .expected_gain = NAN,
    };
    tool_add_actions(out, in->candidate, fewer_values, ARRAY_LEN(fewer_values));
    if (!spills && out->n_actions < FINDING_ACTIONS_MAX)
        out->actions[out->n_actions++] =
            (struct action){.words = "unroll, so that every index is known when it is compiled"};
    return 1;
}

const struct tool tool_spill = {
    .name = "spill",
    .summary = "values of a thread that lie in memory instead of registers",
    .examine = examine,
};
