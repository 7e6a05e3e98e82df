#include "ops/op_emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "family/lower.h"
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

bool op_emit(struct arena *a, const struct emit_request *request, struct candidate *out,
             struct error *err) {
    struct loaded loaded;
    struct target target;
    if (!op_load(a, request->file, request->dims, &loaded, err) ||
        !target_read_cpu(a, 0, "cc", &target, err))
        return false;
    if (request->plain) {
        lower_plain(a, loaded.problem, &target, out);
        return true;
    }
    struct kernel fallback;
    const struct kernel *k = loaded.n_kernels > 0 ? loaded.kernels[0] : NULL;
    if (request->kernel_file && !load_kernel(a, request->kernel_file, &k, err))
        return false;
    if (!k) {
        lower_default(a, loaded.problem, &target, &fallback);
        k = &fallback;
    }
    return lower_kernel(a, loaded.problem, &target, k, out, err);
}
