// The compiler for GPUs, for tests of what it makes of our texts. Where it is absent they are
// skipped, or fail, when HONE_NEED_NVRTC says that it must be there.
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/error.h"
#include "gpu/nvrtc.h"

static inline void real_nvrtc_open(struct nvrtc *n) {
    struct error err = {0};
    if (nvrtc_open(n, &err))
        return;
    const char *need = getenv("HONE_NEED_NVRTC");
    bool may_be_absent = !need || !*need;
    cr_assert(err.kind == ERROR_UNSUPPORTED, "%s", err.text);
    cr_assert(may_be_absent, "HONE_NEED_NVRTC is set, but %s", err.text);
    cr_skip_test("%s", err.text);
}

// Options by which a text that is compiled only to see that it can be is compiled in half the time:
// fewer optimisations, and of the runtime's declarations only what we use. NVRTC 12 knows not all
// of them. At most two; returns how many.
static inline int real_nvrtc_quick(const struct nvrtc *n, const char **options) {
    if (n->major < 13)
        return 0;
    options[0] = "--minimal";
    options[1] = "--Ofast-compile=mid";
    return 2;
}
