// The probe of the sandbox can tell: outside of it the same attempts are not refused.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "build/compile.h"
#include "scratch.h"

Test(probe, is_not_refused_outside_the_sandbox) {
    static const char *const functions[] = {
        "probe_process", "probe_exec",         "probe_socket", "probe_ptrace",   "probe_signal",
        "probe_open",    "probe_open_loading", "probe_remove", "probe_write",    "probe_close",
        "probe_map",     "probe_handler",      "probe_filter", "probe_namespace"};
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    struct error err = {0};
    struct compile_result r;
    struct compile_spec spec = {.source = embedded_text("probe.c"),
                                .cc = "cc",
                                .machine = "",
                                .cache = cache,
                                .skip_scans = true};
    cr_assert(compile(&a, &spec, &r, &err), "%s", err.text);
    cr_assert_eq(r.outcome, COMPILE_OK, "%s", r.message);
    void *object = dlopen(r.object, RTLD_NOW);
    cr_assert(object, "%s", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void (*attempt)(long, const float *, float *);
        void *symbol = dlsym(object, functions[i]);
        cr_assert(symbol, "%s", functions[i]);
        memcpy(&attempt, &symbol, sizeof symbol);
        float x[16] = {0}, y[16] = {0};
        // Containers are known to forbid this one to everybody.
        if (strcmp(functions[i], "probe_namespace") == 0 && unshare(0) != 0)
            continue;
        attempt(0, x, y);
        cr_expect(y[0] == 1 || (y[0] < 0 && y[0] != -EPERM && y[0] != -EACCES && y[0] != -ENOMEM),
                  "%s gave %g", functions[i], y[0]);
    }
    scratch_remove(cache);
    arena_reset(&a);
}
