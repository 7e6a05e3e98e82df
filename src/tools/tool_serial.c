// Products of four warps (wgmma) go on by themselves, several at a time. Where the assembler cannot
// see that nobody touches their sums meanwhile, it waits for each before the next begins, and says
// so.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const struct action leave_sums_alone[] = {
    WORDS("touch the sums of wgmma only between wgmma.wait_group and the next wgmma.fence"),
    WORDS("keep sums in one array with constant indices, in loops that are unrolled, and asm "
          "volatile; "
          "no branch chooses between two of them"),
    WORDS("where registers are short, a smaller tile, or more of them by setmaxnreg"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double n = subject_get(s, METRIC_SERIALIZED);
    if (!(n > 0))
        return false;
    f->severity = SEVERITY_HIGH;
    f->cause = "products of warpgroups wait for one another";
    f->evidence = arena_printf(a, "%.0f %s of the assembler that wgmma is serialized", n,
                               n > 1 ? "advisories" : "advisory");
    f->expected_gain = NAN;
    tool_add_number(f, METRIC_SERIALIZED, n, 0);
    tool_add_actions(f, s, leave_sums_alone, ARRAY_LEN(leave_sums_alone));
    return true;
}

const struct tool tool_serial = {
    .name = "serial",
    .summary = "products of warpgroups that the assembler lets wait for one another",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 1,
    .needs = {METRIC_SERIALIZED},
    .examine = examine,
};
