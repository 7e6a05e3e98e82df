// What the assembler makes of kernels that hone begins with: facts that no card is needed for.
#include <criterion/criterion.h>
#include <string.h>

#include "base/embedded.h"
#include "base/file.h"
#include "build/compile_cuda.h"
#include "family/lower.h"
#include "loop/print_cuda.h"
#include "lowering.h"
#include "profile/sass.h"
#include "real_nvrtc.h"

enum { HEADERS_MAX = 64, OPTIONS_MAX = 16 };

// As hone compiles it.
static void compile_text(struct arena *a, const struct nvrtc *n, const char *source,
                         struct nvrtc_result *r) {
    struct error err = {0};
    const char *names[HEADERS_MAX], *texts[HEADERS_MAX], *options[OPTIONS_MAX];
    struct nvrtc_job job = {.source = source, .name = "kernel.cu", .arch = "sm_90a"};
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
    cr_assert(r->compiled, "%s\n%s", r->log, source);
}

// The default kernel of a worked problem.
static void compile_default(struct arena *a, const struct nvrtc *n, const char *problem,
                            struct nvrtc_result *r) {
    struct error err = {0};
    struct target t;
    struct candidate c;
    const char *path = arena_printf(a, "problems/%s.hone", problem);
    const char *text = file_read(a, path, 1 << 20, NULL, &err);
    cr_assert(text, "%s", err.text);
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(a, text);
    struct kernel *k = lower_initial(a, p, &t);
    cr_assert(lower_kernel(a, p, &t, k, &c, &err), "%s", err.text);
    compile_text(a, n, c.source, r);
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

// Silu of an operand on its way to a product takes three warps longer than the product: an exact
// division, with its branch for numbers near the ends of f32, is left out where 16 bits remain.
Test(static_code, operands_of_16_bits_are_computed_without_exact_divisions) {
    struct arena a = {0};
    struct nvrtc n;
    struct nvrtc_result r;
    struct error err = {0};
    struct sass sass;
    real_nvrtc_open(&n);
    compile_default(&a, &n, "swiglu_down", &r);
    cr_assert(sass_read(&a, r.cubin, r.cubin_bytes, &sass, &err), "%s", err.text);
    const struct sass_kernel *k = sass_find(&sass, "y_gemm");
    cr_assert(k);
    for (int i = 0; i < k->n; i++)
        cr_assert(k->code[i].kind != SASS_DIVISION && k->code[i].kind != SASS_CALL, "%d", i);
    nvrtc_close(&n);
    arena_reset(&a);
}

// 16 blocks of 1024 threads: the assembler keeps to 32 registers, so that two would fit on a
// multiprocessor, and spilled 60 bytes.
Test(static_code, blocks_that_are_alone_have_all_registers) {
    struct arena a = {0};
    struct nvrtc n;
    struct nvrtc_result r;
    struct metrics m = {0};
    real_nvrtc_open(&n);
    compile_default(&a, &n, "ssm_scan", &r);
    cuda_read_resources(r.log, "last_steps", &m);
    cr_expect(metrics_get(&m, METRIC_SPILL_BYTES) == 0);
    cr_expect(metrics_get(&m, METRIC_REGISTERS) > 32);
    nvrtc_close(&n);
    arena_reset(&a);
}

// Sums that are touched while a product adds to them: the assembler lets products wait, and says
// so.
Test(static_code, products_that_wait_for_one_another_are_counted) {
    static const char text[] = "#include \"dev.h\"\n"
                               "HONE_KERNEL_OF(128, 1) waits(float *y, int n) {\n"
                               "    HONE_DYNAMIC_OF(unsigned short, lhs, 0, 64 * 64);\n"
                               "    HONE_DYNAMIC_OF(unsigned short, rhs, 8192, 64 * 64);\n"
                               "    f32x2 sum[16];\n"
                               "    for (int i = 0; i < 16; i++)\n"
                               "        sum[i] = hone_all2(0.0f);\n"
                               "    for (int i = 0; i < n; i++) {\n"
                               "        hone_wgmma_fence();\n"
                               "        hone_wgmma_f16_64(&sum[0], &lhs[0], &rhs[0], 0, 0, 1);\n"
                               "        for (int j = 0; j < 16; j++)\n"
                               "            sum[j] += 1.0f;\n"
                               "        hone_wgmma_f16_64(&sum[0], &lhs[16], &rhs[16], 0, 0, 1);\n"
                               "        hone_wgmma_commit();\n"
                               "        hone_wgmma_wait(0);\n"
                               "    }\n"
                               "    for (int i = 0; i < 16; i++)\n"
                               "        hone_store2(&y[hone_thread() * 32 + 2 * i], sum[i]);\n"
                               "}\n"
                               "HONE_KERNEL(128) plain(float *y) {\n"
                               "    y[hone_thread()] = 1.0f;\n"
                               "}\n";
    struct arena a = {0};
    struct nvrtc n;
    struct nvrtc_result r;
    struct metrics waits = {0}, plain = {0}, all = {0};
    real_nvrtc_open(&n);
    compile_text(&a, &n, text, &r);
    cuda_read_resources(r.log, "waits", &waits);
    cuda_read_resources(r.log, "plain", &plain);
    cuda_read_resources(r.log, NULL, &all);
    cr_expect_eq(metrics_get(&waits, METRIC_SERIALIZED), 1, "%s", r.log);
    cr_expect_not(metrics_has(&plain, METRIC_SERIALIZED));
    cr_expect_eq(metrics_get(&all, METRIC_SERIALIZED), 1);
    nvrtc_close(&n);
    arena_reset(&a);
}

// Pointers that are renewed behind a wait are still known to be global.
Test(static_code, launches_that_overlap_load_from_global_memory) {
    enum { GENERIC_LOAD = 0x180, ACQBULK = 0x2e };
    struct arena a = {0};
    struct nvrtc n;
    struct nvrtc_result r;
    struct error err = {0};
    struct sass sass;
    int waits = 0;
    real_nvrtc_open(&n);
    compile_default(&a, &n, "gemm", &r);
    cr_assert(sass_read(&a, r.cubin, r.cubin_bytes, &sass, &err), "%s", err.text);
    const struct sass_kernel *k = sass_find(&sass, "c_gemm");
    cr_assert(k);
    for (int i = 0; i < k->n; i++) {
        cr_expect_neq(k->code[i].code, GENERIC_LOAD, "%d", i);
        waits += k->code[i].code == ACQBULK;
        cr_expect(waits > 0 || k->code[i].kind != SASS_GLOBAL_LOAD, "%d", i);
    }
    cr_expect_eq(waits, 1);
    nvrtc_close(&n);
    arena_reset(&a);
}

// s[t] = 2 s[t + 1], a barrier, y[t] = s[t + 1] before it and after it: another number each, though
// no thread writes what it reads.
static const char *exchange(struct arena *a) {
    struct loop_builder b;
    struct loop_program *p = loop_program_new(a);
    struct loop_size size[] = {{33, NULL}};
    struct loop_buffer *s = loop_global_of(p, "s", LOOP_SCRATCH, DTYPE_F32, size, 1);
    struct loop_buffer *y = loop_global_of(p, "y", LOOP_OUTPUT, DTYPE_F32, size, 1);
    struct loop_kernel *k = loop_kernel_new(p, "exchange", loop_int(a, 1), &b);
    const struct loop_expr *t = loop_kernel_threads(p, k, 32);
    const struct loop_expr *next = loop_binary(a, LOOP_ADD, t, loop_int(a, 1));
    const struct loop_expr *before = loop_let(&b, "before", loop_load(a, s, next, 1, 1));
    loop_store(&b, s, t, loop_binary(a, LOOP_MUL, before, loop_real(a, 2)), false);
    loop_barrier(&b);
    loop_store(&b, y, t, loop_binary(a, LOOP_SUB, loop_load(a, s, next, 1, 1), before), false);
    return print_cuda(a, p);
}

// With __restrict__ the compiler takes it that other threads do not write what this one reads, and
// drops the second load: y was 0.
Test(static_code, what_other_threads_wrote_is_read_after_a_barrier) {
    struct arena a = {0};
    struct nvrtc n;
    struct nvrtc_result r;
    struct error err = {0};
    struct sass sass;
    int loads = 0;
    const char *text = exchange(&a);
    cr_expect(strstr(text, "(float *__restrict__ y, float *s)") ||
                  strstr(text, "(float *s, float *__restrict__ y)"),
              "%s", text);
    real_nvrtc_open(&n);
    compile_text(&a, &n, text, &r);
    cr_assert(sass_read(&a, r.cubin, r.cubin_bytes, &sass, &err), "%s", err.text);
    const struct sass_kernel *k = sass_find(&sass, "exchange");
    cr_assert(k);
    for (int i = 0; i < k->n; i++)
        loads += k->code[i].kind == SASS_GLOBAL_LOAD;
    cr_expect_eq(loads, 2);
    nvrtc_close(&n);
    arena_reset(&a);
}
