#include "ops/library_candidate.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "library/blas.h"
#include "library/gpu_calls.h"

// What a GPU's calls need, each once: "cuBLASLt 13.0.2, cuDNN 9.10.2".
static bool name_gpu_libraries(struct str *names, const struct plan *p, struct error *err) {
    const struct gpu_library *const all[] = {&gpu_cublaslt, &gpu_cudnn};
    for (size_t l = 0; l < sizeof all / sizeof all[0]; l++) {
        bool is_called = false;
        for (int i = 0; i < p->n_steps; i++)
            is_called |=
                p->steps[i].kind == STEP_CALL && gpu_library_of(p->steps[i].call) == all[l];
        void *handle = is_called ? gpu_library_open(all[l], err) : NULL;
        char name[64];
        if (is_called && !handle)
            return false;
        if (!is_called)
            continue;
        gpu_library_name(all[l], handle, name, sizeof name);
        str_printf(names, "%s%s", names->len ? ", " : "", name);
    }
    return true;
}

static bool name_libraries(struct str *names, const struct target *t, const struct plan *p,
                           struct error *err) {
    struct blas blas;
    if (t->is_gpu)
        return name_gpu_libraries(names, p, err);
    if (!blas_open(&blas, 1, err))
        return false;
    str_puts(names, blas.name);
    return true;
}

bool library_candidate(struct arena *a, const struct problem *p, const struct target *t,
                       struct candidate *c, struct error *err) {
    struct kernel k;
    struct plan plan;
    struct str names = {0};
    if (!lower_library(a, p, t, &k, err) || !lower_kernel(a, p, t, &k, c, err) ||
        !candidate_plan(a, p, t, c, &plan, err))
        return false;
    bool ok = name_libraries(&names, t, &plan, err);
    c->label = arena_printf(a, "library (%s)", str_text(&names));
    str_reset(&names);
    return ok;
}
