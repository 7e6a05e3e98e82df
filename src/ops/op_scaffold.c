#include "ops/op_scaffold.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"

// The target that a scaffold is written for; tier D needs no GPU to be written.
static bool scaffold_target(struct arena *a, const struct scaffold_request *q, struct target *t,
                            struct error *err) {
    // Without a tier or a target the file that it is written to decides, and then the default.
    bool asks = !q->tier && !q->target && q->output;
    bool wants_c = q->tier ? strcmp(q->tier, "C") == 0 : asks && str_ends_with(q->output, ".c");
    bool wants_d = q->tier ? strcmp(q->tier, "D") == 0 : asks && str_ends_with(q->output, ".cu");
    if (q->tier && !wants_c && !wants_d)
        return error_set(err, ERROR_USAGE,
                         "unknown tier '%s'; a scaffold is C for the CPU or D, CUDA", q->tier);
    const char *by_tier = wants_d ? "sm_90a" : wants_c ? "cpu" : NULL;
    if (!op_code_target(a, q->target ? q->target : by_tier, t, err))
        return false;
    if ((wants_c && t->is_gpu) || (wants_d && !t->is_gpu))
        return error_set(err, ERROR_USAGE, "tier %s is not for target %s", q->tier, q->target);
    return true;
}

bool op_scaffold(struct arena *a, const struct scaffold_request *q, const char **source,
                 struct error *err) {
    struct loaded loaded;
    struct target t;
    if (!op_load(a, q->problem, q->dims, &loaded, err) || !scaffold_target(a, q, &t, err))
        return false;
    *source = lower_scaffold(a, loaded.problem, &t);
    return true;
}
