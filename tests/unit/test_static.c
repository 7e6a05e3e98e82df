// What the assembler makes of kernels that hone begins with: facts that no card is needed for.
#include <criterion/criterion.h>
#include <string.h>

#include "base/embedded.h"
#include "base/file.h"
#include "build/compile_cuda.h"
#include "family/lower.h"
#include "lowering.h"
#include "profile/sass.h"
#include "real_nvrtc.h"

enum { HEADERS_MAX = 64, OPTIONS_MAX = 16 };

// The default kernel for sm_90a of a worked problem, compiled as hone does.
static void compile_default(struct arena *a, const struct nvrtc *n, const char *problem,
                            struct nvrtc_result *r) {
    struct error err = {0};
    struct target t;
    struct candidate c;
    const char *names[HEADERS_MAX], *texts[HEADERS_MAX], *options[OPTIONS_MAX];
    const char *path = arena_printf(a, "problems/%s.hone", problem);
    const char *text = file_read(a, path, 1 << 20, NULL, &err);
    cr_assert(text, "%s", err.text);
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(a, text);
    struct kernel *k = lower_initial(a, p, &t);
    cr_assert(lower_kernel(a, p, &t, k, &c, &err), "%s", err.text);
    struct nvrtc_job job = {.source = c.source, .name = "kernel.cu", .arch = "sm_90a"};
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        const char *end = strrchr(f->name, '.');
        if (!end || strcmp(end, ".h") != 0)
            continue;
        names[job.n_headers] = f->name;
        texts[job.n_headers++] = f->text;
    }
    for (; cuda_compile_flags[job.n_options]; job.n_options++)
        options[job.n_options] = cuda_compile_flags[job.n_options];
    job.header_names = names;
    job.header_texts = texts;
    job.options = options;
    cr_assert(nvrtc_compile(a, n, &job, r, &err), "%s", err.text);
    cr_assert(r->compiled, "%s: %s", problem, r->log);
}

// Products of a warpgroup keep their sums in nearly all registers that a thread can have: one too
// many, and they go to memory and back.
Test(static_code, products_of_warpgroups_spill_nothing, .timeout = 120) {
    static const struct {
        const char *problem, *kernel;
    } cases[] = {
        {"gemm_bias_relu_tf32", "y_gemm"},  // 128 sums, two factors and a bias for each column
        {"gemm_logsumexp", "t_gemm"},       // 192 sums, so 24 registers for the thread that copies
        {"attention", "o_attention"},
    };
    struct arena a = {0};
    struct nvrtc n;
    real_nvrtc_open(&n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvrtc_result r;
        struct metrics m = {0};
        struct sass sass;
        struct error err = {0};
        compile_default(&a, &n, cases[i].problem, &r);
        cuda_read_resources(r.log, cases[i].kernel, &m);
        cr_expect(metrics_get(&m, METRIC_SPILL_BYTES) == 0, "%s: %g bytes", cases[i].problem,
                  metrics_get(&m, METRIC_SPILL_BYTES));
        cr_expect(metrics_get(&m, METRIC_STACK_BYTES) == 0, "%s: %g bytes", cases[i].problem,
                  metrics_get(&m, METRIC_STACK_BYTES));
        // The assembler's advisories: products that wait for one another, limits that it ignores.
        cr_expect(!strstr(r.log, "C75"), "%s", r.log);
        // The hot part is the main loop, not the loops that compute some results anew where numbers
        // were too large for f16.
        cr_assert(sass_read(&a, r.cubin, r.cubin_bytes, &sass, &err), "%s", err.text);
        struct sass_kernel *k = sass_find(&sass, cases[i].kernel);
        cr_assert(k);
        sass_metrics(k, &m);
        cr_expect(k->n_unknown == 0, "%s: %d instructions are not known", cases[i].problem,
                  k->n_unknown);
        cr_expect_gt(metrics_get(&m, METRIC_HOT_TENSOR_GROUP), 0, "%s", cases[i].problem);
        cr_expect(metrics_get(&m, METRIC_HOT_LOCAL) == 0);
        cr_expect(metrics_get(&m, METRIC_HOT_DIVISIONS) == 0);
        arena_reset(&a);
    }
    nvrtc_close(&n);
}
