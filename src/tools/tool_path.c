// Matrix instructions of single warps on a card where four warps together reach the full rate.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// On compute capability 9.0 mma of a warp reaches this share of the rate of four warps' wgmma
// (2731 of 4096 operations per clock and multiprocessor, by the counters' own peaks).
static const double WARP_SHARE = 2. / 3;

static const struct action by_four[] = {
    EMITTER("wgmma", "lower it to matrix units by four warps"),
    WORDS("wgmma from shared memory by four warps (compile for sm_90a), tiles brought by bulk "
          "copies"),
};
bool subject_is_on_slow_path(const struct tool_subject *s) {
    bool has_groups = s->target->isa && strncmp(s->target->isa, "sm_90", 5) == 0;
    return has_groups && subject_get(s, METRIC_CODE_TENSOR) > 0 &&
           !(subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0);
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double by_warp = subject_get(s, METRIC_CODE_TENSOR);
    if (!subject_is_on_slow_path(s) || s->measured.kind == CLASS_MEMORY ||
        s->analytic.kind == CLASS_MEMORY || subject_is_near(s))
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "matrix instructions of single warps, which do not reach the full rate of this card";
    f->evidence = arena_printf(a, "%.0f of them, none of four warps; they reach %.0f%%", by_warp,
                               100 * WARP_SHARE);
    f->expected_gain = 1 / WARP_SHARE;
    tool_add_number(f, METRIC_CODE_TENSOR, by_warp, NAN);
    tool_add_number(f, METRIC_CODE_TENSOR_GROUP, 0, 1);
    tool_add_actions(f, s, by_four, ARRAY_LEN(by_four));
    return true;
}

const struct tool tool_path = {
    .name = "path",
    .summary = "matrix instructions of the slower kind",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 2,
    .needs = {METRIC_CODE_TENSOR, METRIC_CODE_TENSOR_GROUP},
    .examine = examine,
};
