// Which block and which target follow from what the command names; then family/lower.h.
#include "ops/op_emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "family/lower.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"

enum { KERNEL_FILE_MAX = 16 << 20 };

// The kernel block of a file of its own, which may hold nothing else.
static bool load_kernel(struct arena *a, const char *path, const struct kernel **k,
                        struct error *err) {
    struct lang_source source = {.file = path};
    struct lang_file file;
    const char *diagnostics;
    source.text = file_read(a, path, KERNEL_FILE_MAX, &source.len, err);
    if (!source.text || !lang_parse(a, &source, &file, &diagnostics, err))
        return false;
    if (file.n_kernels != 1)
        return error_set(err, ERROR_PARSE, "%s: %d kernel blocks where one is wanted", path,
                         file.n_kernels);
    *k = file.kernels[0];
    return true;
}

// The block to lower: the one of its own file, or the file's first for the target.
static bool choose_kernel(struct arena *a, const struct emit_request *request,
                          const struct loaded *loaded, const struct target *t,
                          const struct kernel **k, struct error *err) {
    if (request->kernel_file)
        return load_kernel(a, request->kernel_file, k, err);
    for (int i = 0; i < loaded->n_kernels && !*k; i++)
        if (!request->target || strcmp(loaded->kernels[i]->target, target_kernel_name(t)) == 0)
            *k = loaded->kernels[i];
    return true;
}

// The target asked for, else that of the block which will be lowered, else the default.
static bool choose_target(struct arena *a, const struct emit_request *request,
                          const struct loaded *loaded, struct target *t, struct error *err) {
    const struct kernel *k = NULL;
    if (request->target)
        return op_code_target(a, request->target, t, err);
    if (!request->plain && !choose_kernel(a, request, loaded, t, &k, err))
        return false;
    if (k && target_of_arch(k->target, t))
        return true;
    return op_code_target(a, k ? "cpu" : NULL, t, err);
}

bool op_emit(struct arena *a, const struct emit_request *request, struct candidate *out,
             struct error *err) {
    struct loaded loaded;
    struct target target = {0};
    if (!op_load_runnable(a, request->file, request->dims, &loaded, err) ||
        !choose_target(a, request, &loaded, &target, err))
        return false;
    if (request->plain) {
        lower_plain(a, loaded.problem, &target, out);
        return true;
    }
    struct kernel fallback;
    const struct kernel *k = NULL;
    if (!choose_kernel(a, request, &loaded, &target, &k, err))
        return false;
    if (!k) {
        lower_default(a, loaded.problem, &target, &fallback);
        k = &fallback;
    }
    return lower_kernel(a, loaded.problem, &target, k, out, err);
}
