#include "ops/library_candidate.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "eval/blas.h"
#include "family/lower.h"

// "library (OpenBLAS 0.3.21)".
static bool find_label(struct arena *a, const struct target *t, const char **label,
                       struct error *err) {
    struct blas blas;
    if (t->is_gpu)
        return error_set(err, ERROR_UNSUPPORTED, "no library is called on a GPU yet");
    if (!blas_open(&blas, 1, err))
        return false;
    *label = arena_printf(a, "library (%s)", blas.name);
    return true;
}

bool library_candidate(struct arena *a, const struct problem *p, const struct target *t,
                       struct candidate *c, struct error *err) {
    struct kernel k;
    const char *label = NULL;
    if (!lower_library(a, p, t, &k, err) || !find_label(a, t, &label, err) ||
        !lower_kernel(a, p, t, &k, c, err))
        return false;
    c->label = label;
    return true;
}
