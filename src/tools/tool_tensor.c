// Matrix units: left unused where the problem is bounded by them, or fed warp by warp on a card
// where four warps together reach the full rate, or waiting for data.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// On compute capability 9.0 mma of a warp reaches this share of the rate of four warps' wgmma
// (2731 of 4096 operations per clock and multiprocessor, by the counters' own peaks).
static const double WARP_SHARE = 2. / 3;
static const double STARVED = 0.5;

static const struct action use_them[] = {
    EMITTER("wgmma", "lower it to matrix units by four warps"),
    EMITTER("mma", "lower it to matrix units"),
    WORDS("use the matrix units (mma, wgmma), where the precision that the problem asks for allows "
          "it; f32 by three products in TF32"),
};
static const struct action by_four[] = {
    EMITTER("wgmma", "lower it to matrix units by four warps"),
    WORDS("wgmma from shared memory by four warps (compile for sm_90a), tiles brought by bulk "
          "copies"),
};
static const struct action feed[] = {
    TURN("stages", +1, "more slices on their way"),
    TURN("tile", +1, "larger tiles: more products for each value loaded"),
    WORDS("more slices in shared memory, loaded by asynchronous copies or a warp that does nothing "
          "else"),
};

static bool is_unused(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double fma = subject_get(s, METRIC_HOT_FMA);
    const double *peak = s->target->peak_per_s;
    if (s->analytic.part != PART_TENSOR || subject_get(s, METRIC_CODE_TENSOR) > 0 ||
        subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0 || !(fma > 0))
        return false;
    f->severity = SEVERITY_HIGH;
    f->cause = "the matrix units are not used";
    f->evidence = arena_printf(a,
                               "%.0f multiply-adds of threads in the hot loop, no matrix "
                               "instruction in the kernel",
                               fma);
    f->expected_gain = peak[PIPE_TF32] > 0 ? peak[PIPE_TF32] / peak[PIPE_F32] / 3 : NAN;
    tool_add_number(f, METRIC_CODE_TENSOR, 0, 1);
    tool_add_number(f, METRIC_HOT_FMA, fma, NAN);
    tool_add_actions(f, s, use_them, ARRAY_LEN(use_them));
    return true;
}

static bool is_by_warp(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double by_warp = subject_get(s, METRIC_CODE_TENSOR);
    bool has_groups = s->target->isa && strncmp(s->target->isa, "sm_90", 5) == 0;
    if (!has_groups || !(by_warp > 0) || subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0 ||
        s->measured.kind == CLASS_MEMORY || s->analytic.kind == CLASS_MEMORY || subject_is_near(s))
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

static bool is_starved(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double busy = subject_get(s, METRIC_PIPE_TENSOR_BUSY);
    bool has_some =
        subject_get(s, METRIC_CODE_TENSOR) > 0 || subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0;
    if (!has_some || !(busy < STARVED) || s->measured.kind != CLASS_LATENCY)
        return false;
    f->severity = busy < STARVED / 2 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the matrix units wait for data";
    f->evidence =
        arena_printf(a, "they are busy %.0f%% of the time, and nothing else is either", 100 * busy);
    f->expected_gain = STARVED / busy;
    tool_add_number(f, METRIC_PIPE_TENSOR_BUSY, busy, STARVED);
    tool_add_actions(f, s, feed, ARRAY_LEN(feed));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    return is_unused(a, s, f) || is_starved(a, s, f) || is_by_warp(a, s, f);
}

const struct tool tool_tensor = {
    .name = "tensor",
    .summary = "matrix units that are not used, not fully, or not fed",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_CODE_TENSOR, METRIC_CODE_TENSOR_GROUP, METRIC_HOT_FMA},
    .examine = examine,
};
