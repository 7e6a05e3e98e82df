// Narrow accesses on a GPU: a memory-bound kernel that moves less than 16 bytes at once needs
// more instructions, and more of them under way, for the same traffic.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { WIDEST_BYTES = 16, ELEMENT_BYTES = 4 };
static const double NEAR = 0.95;

static const struct action wider[] = {
    {"load and store wider vectors", "vec", +1, NULL},
    {"more vectors per thread, so that more is under way", "items", +1, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    double gap = profile_get(in->profile, METRIC_TIME) / in->bound->reach_s;
    int vec = tool_knob(in->candidate, "vec");
    // The width is the kernel block's: without one there is nothing to read it off.
    if (room < 1 || !in->target->is_gpu || in->bound->side != BOUND_MEMORY || vec < 1 ||
        vec * ELEMENT_BYTES >= WIDEST_BYTES || !(1 / gap < NEAR))
        return 0;
    *out = (struct finding){
        .tool = "narrow",
        .severity = 1 / gap < 0.8 ? SEVERITY_MEDIUM : SEVERITY_LOW,
        .cause = "accesses to memory are narrow",
        .evidence =
            arena_printf(a, "%d bytes at once; %d are possible", vec * ELEMENT_BYTES, WIDEST_BYTES),
        .expected_gain = NAN,
    };
    tool_add_actions(out, in->candidate, wider, ARRAY_LEN(wider));
    return 1;
}

const struct tool tool_narrow = {
    .name = "narrow",
    .summary = "accesses to memory narrower than they could be",
    .examine = examine,
};
