// Every golden CUDA text compiles for every architecture, with the real compiler where there is
// one. No GPU is needed.
#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "gpu/nvrtc.h"

static const char *const directory = "tests/lang/emit";

static void compile(const struct nvrtc *n, const char *name, const char *arch) {
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc_result r;
    const char *const names[] = {"dev.h"}, *const texts[] = {embedded_text("dev.h")};
    // The plan's lines are not the compiler's.
    const char *const options[] = {"--diag-suppress=161"};
    struct nvrtc_job job = {.name = name,
                            .arch = arch,
                            .header_names = names,
                            .header_texts = texts,
                            .n_headers = 1,
                            .options = options,
                            .n_options = 1};
    job.source = file_read(&a, arena_printf(&a, "%s/%s", directory, name), 1 << 20, NULL, &err);
    cr_assert_not_null(job.source, "%s", err.text);
    cr_assert(nvrtc_compile(&a, n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled, "%s for %s:\n%s", name, arch, r.log);
    cr_assert_null(strstr(r.log, "warning"), "%s for %s:\n%s", name, arch, r.log);
    cr_assert_null(strstr(r.log, "error"), "%s for %s:\n%s", name, arch, r.log);
    arena_reset(&a);
}

Test(nvrtc, compiles_every_golden_text) {
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};
    struct nvrtc n;
    struct error err = {0};
    if (!nvrtc_open(&n, &err))
        cr_skip_test("%s", err.text);
    DIR *dir = opendir(directory);
    cr_assert_not_null(dir);
    int n_texts = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        size_t len = strlen(e->d_name);
        if (len < 3 || strcmp(e->d_name + len - 3, ".cu") != 0)
            continue;
        for (int i = 0; i < 3; i++)
            compile(&n, e->d_name, archs[i]);
        n_texts++;
    }
    closedir(dir);
    cr_assert_geq(n_texts, 10);
    nvrtc_close(&n);
}
