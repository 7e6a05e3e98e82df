// Narrow accesses on a GPU: a memory-bound kernel that moves less than 16 bytes at once needs
// more instructions, and more of them under way, for the same traffic.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { WIDEST_BYTES = 16, ELEMENT_BYTES = 4 };

static const struct action wider[] = {
    TURN("vec", +1, "load and store wider vectors"),
    TURN("items", +1, "more vectors per thread, so that more is under way"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    int vec = tool_knob(s->kernel, "vec");
    // The width is the kernel block's: without one there is nothing to read it off.
    if (vec < 1 || vec * ELEMENT_BYTES >= WIDEST_BYTES || !(1 / s->gap < NEAR_REACH))
        return false;
    f->severity = 1 / s->gap < 0.8 ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = "accesses to memory are narrow";
    f->evidence =
        arena_printf(a, "%d bytes at once; %d are possible", vec * ELEMENT_BYTES, WIDEST_BYTES);
    tool_add_actions(f, s, wider, ARRAY_LEN(wider));
    return true;
}

const struct tool tool_narrow = {
    .name = "narrow",
    .summary = "accesses to memory narrower than they could be",
    .devices = ON_GPU,
    .classes = CLASS_BIT(CLASS_MEMORY),
    .n_needs = 1,
    .needs = {METRIC_TIME},
    .examine = examine,
};
