#include "eval/cutlass_objects.h"

#include "base/error.h"
#include "build/compile_nvcc.h"
#include "ir/cutlass.h"
#include "model/cutlass_path.h"
#include "record/plan.h"

bool cutlass_objects_build(struct arena *a, const char *cache, struct plan *p,
                           struct compile_result *result, struct error *err) {
    struct cutlass_path where;
    double seconds = 0;
    *result = (struct compile_result){0};
    for (int i = 0; i < p->n_steps && result->outcome == COMPILE_OK; i++) {
        struct plan_step *s = &p->steps[i];
        enum dtype types[CALL_BUFFERS_MAX];
        if (s->kind != STEP_CALL || s->call->kind != CALL_CUTLASS)
            continue;
        if (!cutlass_path_find(&where))
            return error_set(err, ERROR_UNSUPPORTED, "CUTLASS is absent: %s", where.why);
        plan_call_types(p, s, types);
        struct nvcc_spec spec = {.text = cutlass_text(a, s->call, types),
                                 .nvcc = where.nvcc,
                                 .include = where.include,
                                 .version = where.version,
                                 .arch = "sm_90a",
                                 .cache = cache};
        if (!compile_nvcc(a, &spec, result, err))
            return false;
        s->object = result->object;
        seconds += result->seconds;
    }
    result->seconds = seconds;
    return true;
}
