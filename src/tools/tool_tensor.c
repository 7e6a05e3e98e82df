// Matrix units left unused: where the problem is bounded by them, or, of a program whose problem
// nobody knows, where a product of halves is done by threads.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the instructions of a hot loop that is a product of matrices by threads.
static const double FMA_MUCH = 0.3, HALF_MUCH = 0.05;

static const struct action use_them[] = {
    EMITTER("wgmma", "lower it to matrix units by four warps"),
    EMITTER("mma", "lower it to matrix units"),
    WORDS("use the matrix units (mma, wgmma), where the precision that the problem asks for allows "
          "it; f32 by three products in TF32"),
};
// Multiply-adds over values from shared memory, made from halves: a product that matrix units take.
static bool is_product_of_halves(const struct tool_subject *s) {
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS), fma = subject_get(s, METRIC_HOT_FMA);
    return s->analytic.kind == CLASS_UNKNOWN && fma > FMA_MUCH * all && fma >= 8 &&
           subject_get(s, METRIC_HOT_SHARED_LOADS) > 0 &&
           subject_get(s, METRIC_HOT_F16) > HALF_MUCH * all && s->measured.kind != CLASS_MEMORY;
}

// Do other launches of the call, with more of its time, use them? Then this one prepares or
// finishes their work, and is no product itself.
static bool is_done_elsewhere(const struct tool_subject *s) {
    const struct profile *p = s->in->profile;
    double theirs = 0, ours = subject_get(s, METRIC_TIME);
    for (int i = 0; i < p->n_launches; i++)
        if (launch_get(&p->launches[i], METRIC_CODE_TENSOR) > 0 ||
            launch_get(&p->launches[i], METRIC_CODE_TENSOR_GROUP) > 0)
            theirs += launch_get(&p->launches[i], METRIC_TIME);
    return theirs > ours;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double fma = subject_get(s, METRIC_HOT_FMA);
    const double *peak = s->target->peak_per_s;
    bool is_halves = is_product_of_halves(s);
    if ((s->analytic.part != PART_TENSOR && !is_halves) || subject_get(s, METRIC_CODE_TENSOR) > 0 ||
        subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0 || !(fma > 0) || is_done_elsewhere(s))
        return false;
    f->severity = SEVERITY_HIGH;
    f->cause = "the matrix units are not used";
    f->evidence = arena_printf(a,
                               "%.0f multiply-adds of threads in the hot loop%s, no matrix "
                               "instruction in the kernel",
                               fma, is_halves ? ", on halves from shared memory" : "");
    f->expected_gain = is_halves             ? 4
                       : peak[PIPE_TF32] > 0 ? peak[PIPE_TF32] / peak[PIPE_F32] / 3
                                             : NAN;
    tool_add_number(f, METRIC_CODE_TENSOR, 0, 1);
    tool_add_number(f, METRIC_HOT_FMA, fma, NAN);
    tool_add_actions(f, s, use_them, ARRAY_LEN(use_them));
    return true;
}

const struct tool tool_tensor = {
    .name = "tensor",
    .summary = "matrix units that are not used",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_CODE_TENSOR, METRIC_CODE_TENSOR_GROUP, METRIC_HOT_FMA},
    .examine = examine,
};
