// `hone gc`: options over ops/op_gc.h.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "ops/op_gc.h"

struct gc_options {
    const char *store;
    int64_t keep_mb;
};

static const struct option_row rows[] = {
    {.name = "keep",
     .type = OPTION_INT,
     .value = "MB",
     .summary = "compiled kernels that stay, those used last (64); 0 removes all",
     .offset = offsetof(struct gc_options, keep_mb)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct gc_options, store)},
    {0},
};

static const struct command_options options = {
    .command = "gc",
    .arguments = "",
    .summary = "remove compiled kernels not used for long, and make the store smaller",
    .text = "No run is lost: hone runs rm RUN removes one. What is compiled again costs a moment.\n"
            "Ceilings stay.",
    .rows = rows,
};

static void say(const char *path, int64_t before, int64_t after) {
    printf("%-40s %8.1f MB, was %.1f MB\n", path, (double)after / 1e6, (double)before / 1e6);
}

static bool run(int argc, char **argv, struct error *err) {
    enum { KEEP_MB = 64 };
    struct gc_options o = {.keep_mb = KEEP_MB};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    struct arena a = {0};
    struct gc_request q = {.store = o.store, .keep_bytes = o.keep_mb * 1000000};
    struct gc_outcome out;
    bool ok = op_gc(&a, &q, &out, err) || error_wrap(err, "gc");
    if (ok) {
        say(out.cache, out.cache_before, out.cache_after);
        if (out.store)
            say(out.store, out.store_before, out.store_after);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_gc = {.group = GROUP_MACHINE, .options = &options, .run = run};
