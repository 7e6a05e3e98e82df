// Every golden CUDA text compiles for every architecture, with the real compiler where there is
// one. No GPU is needed.
#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "dev_headers.h"
#include "gpu/nvrtc.h"
#include "lowering.h"
#include "ops/export_text.h"
#include "real_nvrtc.h"

static const char *const directory = "tests/lang/emit";

// As candidates are compiled for the architecture that a text says it is for, and in half the time
// for others, where it only has to be legal.
static void compile(const struct nvrtc *n, const char *name, const char *arch, const char *source) {
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc_result r;
    const struct dev_headers headers = dev_headers();
    // The plan's lines are not the compiler's.
    const char *options[3] = {"--diag-suppress=161"};
    bool is_made_for_it = strstr(source, arena_printf(&a, " on %s\n", arch)) != NULL;
    struct nvrtc_job job = {.source = source,
                            .name = name,
                            .arch = arch,
                            .header_names = headers.names,
                            .header_texts = headers.texts,
                            .n_headers = headers.n,
                            .options = options,
                            .n_options = 1};
    // The first of both leaves optimisations as they are.
    int n_quick = real_nvrtc_quick(n, options + 1);
    job.n_options += is_made_for_it ? n_quick / 2 : n_quick;
    cr_assert(nvrtc_compile(&a, n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled, "%s for %s:\n%s\n%s", name, arch, r.log, source);
    cr_assert_null(strstr(r.log, "warning"), "%s for %s:\n%s", name, arch, r.log);
    cr_assert_null(strstr(r.log, "error"), "%s for %s:\n%s", name, arch, r.log);
    arena_reset(&a);
}

static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};

Test(nvrtc, compiles_every_golden_text) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    DIR *dir = opendir(directory);
    cr_assert_not_null(dir);
    int n_texts = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        size_t len = strlen(e->d_name);
        if (len < 3 || strcmp(e->d_name + len - 3, ".cu") != 0)
            continue;
        struct arena a = {0};
        struct error err = {0};
        const char *path = arena_printf(&a, "%s/%s", directory, e->d_name);
        const char *source = file_read(&a, path, 1 << 20, NULL, &err);
        cr_assert_not_null(source, "%s", err.text);
        // What only one architecture has, and what the first has not.
        bool is_of_90a = strstr(source, "hone_wgmma_") != NULL;
        bool is_later = strstr(source, " cluster(") || strstr(source, "hone_mma_e4m3") ||
                        strstr(source, "hone_mma_e5m2");
        for (int i = 0; i < 3; i++)
            if ((!is_of_90a || strcmp(archs[i], "sm_90a") == 0) &&
                (!is_later || strcmp(archs[i], "sm_80") != 0))
                compile(&n, e->d_name, archs[i], source);
        arena_reset(&a);
        n_texts++;
    }
    closedir(dir);
    cr_assert_geq(n_texts, 10);
    nvrtc_close(&n);
}

// The judge's own: everything that is embedded can be included. The tests of commands compile them
// as the judge does.
static void compile_ours(const struct nvrtc *n, const char *name, const char *arch) {
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc_result r;
    const char *names[96], *texts[96];
    int n_headers = 0;
    for (const struct embedded_file *f = embedded_files; f->name; f++, n_headers++) {
        cr_assert(n_headers < 96);
        names[n_headers] = f->name;
        texts[n_headers] = f->text;
    }
    const char *options[3] = {"-DHONE_WGMMA"};
    struct nvrtc_job job = {.source = embedded_text(name),
                            .name = name,
                            .arch = arch,
                            .header_names = names,
                            .header_texts = texts,
                            .n_headers = n_headers,
                            .options = options};
    bool has_wgmma = strcmp(arch, "sm_90a") == 0;
    job.options += !has_wgmma;
    job.n_options = has_wgmma + real_nvrtc_quick(n, options + 1);
    cr_assert(nvrtc_compile(&a, n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled, "%s for %s:\n%s", name, arch, r.log);
    cr_assert_null(strstr(r.log, "warning"), "%s for %s:\n%s", name, arch, r.log);
    arena_reset(&a);
}

// oracle.cu takes seconds: the other architectures are left to the long tests.
Test(nvrtc, compiles_our_own_kernels) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    for (int i = 0; i < 3; i++) {
        compile_ours(&n, "judge.cu", archs[i]);
        compile_ours(&n, "ceilings.cu", archs[i]);
    }
    compile_ours(&n, "oracle.cu", "sm_80");
    nvrtc_close(&n);
}

Test(nvrtc, compiles_the_oracle_for_newer_cards) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    for (int i = 1; i < 3; i++)
        compile_ours(&n, "oracle.cu", archs[i]);
    nvrtc_close(&n);
}

// What is legal builds: a launch bound that leaves too few registers, or too large arrays in
// shared memory, would be an error.
Test(nvrtc, compiles_random_legal_blocks) {
    static const char *const files[] = {
        "problems/softmax.hone", "problems/gelu.hone", "problems/gemm.hone",
        "tests/lang/emit/cuda_reduce_along.hone", "tests/lang/emit/cuda_norm_shared.hone"};
    struct nvrtc n;
    struct rng r;
    real_nvrtc_open(&n);
    rng_init(&r, 20261117);
    for (int i = 0; i < 15; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t;
        struct candidate c;
        const char *file = files[i % 5], *arch = archs[(int)rng_below(&r, 3)];
        target_of_arch(arch, &t);
        struct problem *p = problem_from(&a, file_read(&a, file, 1 << 20, NULL, &err));
        struct kernel *k = random_kernel(&a, &r, p, &t, 2);
        cr_assert(lower_kernel(&a, p, &t, k, &c, &err), "%s", err.text);
        compile(&n, file, arch, c.source);
        arena_reset(&a);
    }
    nvrtc_close(&n);
}

// Kernels that are judged on cards only: here they can at least be built, but for those that are
// there to be refused. Clusters and tensor maps begin with sm_90.
static int compile_directory(const struct nvrtc *n, const char *dir) {
    static const char *const refused[] = {"no_compile.cu", "include_file.cu"};
    const char *options[6] = {"-DM=1024", "-DN=1024", "-DK=512", "--diag-suppress=161"};
    int n_options = 4 + real_nvrtc_quick(n, options + 4);
    int n_texts = 0;
    DIR *d = opendir(dir);
    cr_assert_not_null(d, "%s", dir);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct arena a = {0};
        struct error err = {0};
        size_t len = strlen(e->d_name);
        if (len < 3 || strcmp(e->d_name + len - 3, ".cu") != 0 ||
            strcmp(e->d_name, refused[0]) == 0 || strcmp(e->d_name, refused[1]) == 0)
            continue;
        struct nvrtc_job job = {.name = e->d_name, .options = options, .n_options = n_options};
        struct nvrtc_result r;
        job.source = file_read(&a, arena_printf(&a, "%s/%s", dir, e->d_name), 1 << 20, NULL, &err);
        job.arch = archs[1 + n_texts++ % 2];
        cr_assert_not_null(job.source, "%s", err.text);
        cr_assert(nvrtc_compile(&a, n, &job, &r, &err), "%s", err.text);
        cr_assert(r.compiled, "%s for %s:\n%s", e->d_name, job.arch, r.log);
        arena_reset(&a);
    }
    closedir(d);
    return n_texts;
}

Test(nvrtc, compiles_the_kernels_that_cards_are_tested_with) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    cr_assert_geq(compile_directory(&n, "tests/exploits/device/honest"), 8);
    cr_assert_geq(compile_directory(&n, "tests/exploits/device/cheat"), 15);
    cr_assert_geq(compile_directory(&n, "bench/kernels"), 2);
    nvrtc_close(&n);
}

// An exported kernel brings its sizes, and kernels of its own for the plan's fills.
Test(nvrtc, compiles_an_exported_kernel) {
    struct nvrtc n;
    struct arena a = {0};
    real_nvrtc_open(&n);
    struct problem p = {.name = "p"};
    p.graph.dims[p.graph.n_dims++] = (struct dim){.name = "N", .size = 1000};
    struct search_node node = {
        .candidate = {.source =
                          "#pragma hone fill y -0.25\n"
                          "#pragma hone launch add grid(ceildiv(N, 32)) block(32) args(x, y)\n"
                          "extern \"C\" __global__ void add(const float *x, float *y) {\n"
                          "    int i = blockIdx.x * 32 + threadIdx.x;\n"
                          "    if (i < N)\n        y[i] += x[i];\n}\n"}};
    struct plan_buffer buffers[2] = {{0}, {.size_bytes = 4000}};
    struct plan_step step = {STEP_FILL, .fill_buffer = 1, .fill_value = -0.25};
    struct plan plan = {.buffers = buffers, .n_buffers = 2, .steps = &step, .n_steps = 1};
    struct target target = {.is_gpu = true};
    struct export_view e = {
        .champion = &node, .problem = &p, .target = &target, .plan = &plan, .symbol = "p"};
    const char *source = export_kernel(&a, &e);
    cr_assert(strstr(source, "HONE_KERNEL(256) p_fill_0("), "%s", source);
    for (int i = 0; i < 3; i++)
        compile(&n, "kernel.cu", archs[i], source);
    arena_reset(&a);
    nvrtc_close(&n);
}

Test(nvrtc, prefers_the_one_that_the_driver_understands) {
    cr_expect_str_eq(nvrtc_sonames(13000)[0], "libnvrtc.so.13");
    cr_expect_str_eq(nvrtc_sonames(12040)[0], "libnvrtc.so.12");
    cr_expect_str_eq(nvrtc_sonames(12040)[1], "libnvrtc.so.13");
    cr_expect_str_eq(nvrtc_sonames(0)[0], "libnvrtc.so.13");
}
