// Products by CUTLASS without CUTLASS: what a block becomes is computed by the loop language's
// interpreter; every static check refuses what it is for and takes what is next to it; calls come
// back from text and from JSON as they were, and broken ones do not.
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "build/compile.h"
#include "eval/cutlass_objects.h"
#include "family/family.h"
#include "family/moves.h"
#include "family/program.h"
#include "family/source_plan.h"
#include "ir/cutlass.h"
#include "lowering.h"
#include "model/cutlass_path.h"
#include "record/plan.h"

static struct target target_with(const char *version) {
    struct target t;
    cr_assert(target_of_arch("sm_90a", &t));
    snprintf(t.cutlass, sizeof t.cutlass, "%s", version);
    return t;
}

// The problem of a text and its one block, completed; NULL: `err` has the mistake.
static struct kernel *block_of(struct arena *a, const char *text, const struct target *t,
                               struct problem **p, struct error *err) {
    struct lang_source source = {.file = "text", .text = text, .len = strlen(text)};
    struct lang_file file = {0};
    const char *diagnostics;
    cr_assert(lang_parse(a, &source, &file, &diagnostics, err), "%s", diagnostics);
    cr_assert(file.n_problems == 1 && file.n_kernels == 1);
    *p = file.problems[0];
    return lower_check(a, *p, t, file.kernels[0], err) ? file.kernels[0] : NULL;
}

#define BLOCK "kernel for p on sm_90a\nstage y : gemm as cutlass"
#define HEAD(sizes) "problem p\ndim " sizes "\n"
#define HALVES(type) "in x : " type "[M, K]\nin w : " type "[N, K]\n"
#define SIZES "M = 24, N = 16, K = 40, B = 3"

// Every way of reading what lies around a product, and every kind of operation.
Test(cutlass, computes_a_product_and_its_epilogue) {
    static const char *const texts[] = {
        HEAD(SIZES) HALVES("f16") "out y : f16[M, N]\ny = x @ w.T\n" BLOCK "\n",
        HEAD(SIZES) "in x : bf16[K, M]\nin w : bf16[K, N]\nout y : f32[M, N]\ny = x.T @ w\n" BLOCK
                    "  tile 128x128x64  schedule cooperative  scheduler stream_k\n",
        HEAD(SIZES) HALVES("f16") "in b : f32[N]\nin r : f16[M, N]\nout y : f16[M, N]\n"
                                  "y = gelu(x @ w.T * 0.25 + b) + r\n" BLOCK "\n",
        HEAD(SIZES) HALVES("bf16") "in c : f32[M, 1]\nin s : f32[1]\nout y : bf16[M, N]\n"
                                   "y = leaky_relu(x @ w.T + c) * s\n" BLOCK
                                   "  schedule pingpong\n",
        HEAD(SIZES) "precision tf32\n" HALVES("f32") "in r : f32[M, N]\nout y : f32[M, N]\n"
                                                     "y = silu(x @ w.T) * r + tanh(r)\n" BLOCK "\n",
        HEAD(SIZES) "in x : f16[B, M, K]\nin w : f16[B, N, K]\nin b : f16[B, 1, N]\n"
                    "out y : f16[B, M, N]\ny = clamp(einsum(\"bmk,bnk->bmn\", x, w) + b, -1, "
                    "1)\n" BLOCK "\n",
        HEAD(SIZES) "in x : f16[B, M, K]\nin w : f16[K, N]\nin b : f16[N]\nin r : f16[B, M, N]\n"
                    "out y : f16[B, M, N]\ny = (x @ w + b) / (1 + abs(r))\n" BLOCK "\n",
        HEAD(SIZES) "in x : i8[M, 2*M] ~ integers(-128, 127)\nin w : i8[N, 2*M] ~ integers(-128, "
                    "127)\n"
                    "out y : i32[M, N]\ny = x @ w.T\n" BLOCK "\n",
        "problem p\nprecision f8e4m3 accumulate f22\ndim M = 8, N = 16, K = 32\n"
        "in x : f8e4m3[M, K] ~ normal\nin w : f8e4m3[N, K] ~ normal\nin s : f32[N]\n"
        "out y : bf16[M, N]\ny = (x @ w.T) * s\n" BLOCK "\n",
    };
    struct target t = target_with("4.2.0");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct problem *p;
        char message[400] = "";
        struct kernel *k = block_of(&a, texts[i], &t, &p, &err);
        cr_assert(k, "%s: %s", texts[i], err.text);
        struct expectation e;
        expect_open(&e, &a, p, 11);
        double error = expect_execute(&e, &a, p, program_lower(&a, p, &t, k), message, 400);
        expect_close(&e);
        cr_expect(error >= 0 && error < 32, "%s: error %g %s", texts[i], error, message);
        arena_reset(&a);
    }
}

// What a block becomes goes through the judge's reader and to the runner as it was.
Test(cutlass, a_call_is_the_same_after_text_and_json) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = target_with("4.2.0");
    struct problem *p;
    struct candidate c;
    struct plan plan, again;
    struct kernel *k = block_of(
        &a,
        HEAD(SIZES) HALVES("f16") "in b : f32[N]\nout y : f16[M, N]\n"
                                  "y = maximum(x @ w.T * 1e-30 + b, -3) + f32(f16(b))\n" BLOCK "\n",
        &t, &p, &err);
    cr_assert(k && lower_kernel(&a, p, &t, k, &c, &err), "%s", err.text);
    cr_assert(candidate_plan(&a, p, &t, &c, &plan, &err), "%s", err.text);
    cr_assert_eq(plan.steps[0].call->kind, CALL_CUTLASS);
    plan.steps[0].object = "/somewhere/object.so";
    json_t *json = plan_to_json(&plan);
    cr_assert(plan_from_json(&a, json, &again, &err), "%s", err.text);
    cr_expect_eq(memcmp(again.steps[0].call, plan.steps[0].call, sizeof(struct call)), 0);
    cr_expect_str_eq(again.steps[0].object, "/somewhere/object.so");
    cr_expect_eq(again.steps[0].n_args, 5);
    json_decref(json);
    // No source of anybody's, only a block's.
    c.tier = TIER_D;
    cr_expect_not(candidate_plan(&a, p, &t, &c, &plan, &err));
    cr_expect(strstr(err.text, "only a kernel block calls a library"), "%s", err.text);
    arena_reset(&a);
}

struct refusal {
    const char *text, *why;
};

static void expect_refusals(const struct refusal *cases, size_t n, const struct target *t) {
    for (size_t i = 0; i < n; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct problem *p;
        const char *why = cases[i].why;
        struct kernel *k = block_of(&a, cases[i].text, t, &p, &err);
        cr_expect_eq(!k, why != NULL, "%s: %s", cases[i].text, err.text);
        cr_expect(!why || strstr(err.text, why), "%s: %s, not %s", cases[i].text, err.text, why);
        arena_reset(&a);
    }
}

#define PLAIN(type, sizes) HEAD(sizes) HALVES(type) "out y : " type "[M, N]\ny = x @ w.T\n"
#define LARGE "M = 512, N = 512, K = 512"

// Each check by what it refuses, with the nearest choice, and by what it takes next to that.
Test(cutlass, refuses_configurations_before_any_compiling) {
    static const struct refusal cases[] = {
        {PLAIN("f16", LARGE) BLOCK "  tile 64x128x64  schedule cooperative\n",
         "cooperative: a tile has a multiple of 128 rows, up to 256, not 64; take 128, or schedule "
         "pingpong"},
        {PLAIN("f16", LARGE) BLOCK "  tile 64x128x64  schedule pingpong\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  tile 256x128x64  schedule cooperative\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  tile 256x256x64\n",
         "256x256 by cooperative are 256 sums in a thread's registers, which have room for 160: "
         "take 160 columns"},
        {PLAIN("f16", LARGE) BLOCK "  tile 128x192x64  schedule pingpong\n", "take 160 columns"},
        {PLAIN("f16", LARGE) BLOCK "  tile 128x128x256\n",
         "a slice of a tile is 64, 128 or 256 bytes deep: of f16 128 is nearest to 256"},
        {PLAIN("f16", LARGE) BLOCK "  tile 128x128x128\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  tile 128x256x64  cluster 2x1  stages 8\n",
         "8 stages take 401 KiB of shared memory, and a block has 227: take 4, or 0"},
        {PLAIN("f16", LARGE) BLOCK "  tile 128x256x64  cluster 2x1  stages 4\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  cluster 4x4\n", "4x4 are more than 8 blocks; take 2x4"},
        {PLAIN("f16", LARGE) BLOCK "  cluster 4x2\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  schedule pingpong  scheduler stream_k\n",
         "stream_k goes with schedule cooperative, not pingpong"},
        {PLAIN("f16", LARGE) BLOCK "  scheduler stream_k\n", NULL},
        {PLAIN("f16", LARGE) BLOCK "  schedule pingpong_fast\n",
         "pingpong_fast is for products of f8; take pingpong"},
        {HEAD(LARGE) HALVES("f16") "in b : f16[N]\nout y : f16[M, N]\ny = x @ w.T + b\n" BLOCK
                                   "  store direct\n",
         "a visitor tree needs the results in shared memory: store tma"},
        {"problem p\nprecision f8e4m3 accumulate f22\ndim " LARGE
         "\n" HALVES("f8e4m3") "out y : bf16[M, N]\ny = x @ w.T\n" BLOCK
                               "  schedule cooperative  tile 128x256x128\n",
         "128x256 by cooperative are 256 sums in a thread's registers"},
        {"problem p\nprecision f8e4m3 accumulate f22\ndim " LARGE
         "\n" HALVES("f8e4m3") "out y : bf16[M, N]\ny = x @ w.T\n" BLOCK
                               "  schedule cooperative_fast  tile 128x256x128\n",
         NULL},
    };
    struct target t = target_with("4.2.0");
    expect_refusals(cases, sizeof cases / sizeof cases[0], &t);
}

Test(cutlass, refuses_sizes_types_and_epilogues_that_it_does_not_have) {
    static const struct refusal cases[] = {
        {PLAIN("f16", "M = 64, N = 64, K = 60") BLOCK "\n",
         "rows of the left operand have 120 bytes, and the copy engine takes multiples of 16: 4 "
         "elements more would do; or take mma or simt"},
        {PLAIN("f16", "M = 63, N = 64, K = 64") BLOCK "\n", NULL},
        // Rows of results may have any size where they go straight from registers.
        {PLAIN("f16", "M = 64, N = 63, K = 64") BLOCK "\n", NULL},
        {PLAIN("f16", "M = 64, N = 63, K = 64") BLOCK "  store tma\n",
         "rows of the result have 126"},
        {HEAD("M = 64, N = 63, K = 64") HALVES("f16") "in b : f16[N]\nout y : f16[M, N]\n"
                                                      "y = x @ w.T + b\n" BLOCK "\n",
         "rows of the result have 126 bytes"},
        {PLAIN("f32", LARGE) BLOCK "\n", "these are f32 to f32 (not under 'precision tf32')"},
        {HEAD(LARGE) "precision tf32\nin x : f32[M, K]\nin w : f32[K, N]\nout y : f32[M, N]\n"
                     "y = x @ w\n" BLOCK "\n",
         "CUTLASS multiplies tf32 that lies side by side along K on both sides (TN)"},
        {"problem p\nprecision f8e4m3 accumulate f22\ndim " LARGE
         "\nin x : f8e4m3[M, K]\nin w : f8e4m3[K, N]\nout y : bf16[M, N]\ny = x @ w\n" BLOCK "\n",
         "CUTLASS multiplies f8e4m3 that lies side by side along K on both sides (TN)"},
        {PLAIN("f8e4m3", LARGE) BLOCK "\n", "the problem must say 'accumulate f22'"},
        {HEAD(LARGE) "in x : i8[M, K]\nin w : i8[N, K]\nin b : i32[N]\nout y : i32[M, N]\n"
                     "y = x @ w.T + b\n" BLOCK "\n",
         "which an epilogue for CUTLASS does not have"},
        {HEAD(LARGE) HALVES("f16") "in b : f16[N]\nout y : f16[M, N]\ny = sin(x @ w.T) + b\n" BLOCK
                                   "\n",
         "is sin of f32, which an epilogue for CUTLASS does not have; materialise its argument"},
        {HEAD(LARGE) HALVES("f16") "in r : f16[N, M]\nout y : f16[M, N]\ny = x @ w.T + r.T\n" BLOCK
                                   "\n",
         "an epilogue loads matrices by rows; this one lies by columns"},
        {HEAD(LARGE) "in x : f16[M, K]\nin w : f16[N, K]\nout y : f16[M, N]\ny = exp(x) @ "
                     "w.T\n" BLOCK "\n",
         "is computed; a library takes materialised values"},
        {HEAD("M = 64, N = 64, K = 64, B = 4") "in x : f16[M, K]\nin w : f16[B, N, K]\n"
                                               "out y : f16[B, M, N]\n"
                                               "y = einsum(\"mk,bnk->bmn\", x, w)\n" BLOCK "\n",
         "CUTLASS takes distances of a multiple of 16 bytes, not 0"},
    };
    struct target t = target_with("4.2.0");
    expect_refusals(cases, sizeof cases / sizeof cases[0], &t);
}

Test(cutlass, is_absent_where_nobody_names_it) {
    static const struct refusal cases[] = {
        {PLAIN("f16", LARGE) BLOCK "\n",
         "CUTLASS is absent: let CUTLASS_PATH name its directory (with include/cutlass)"}};
    struct target t = target_with("");
    expect_refusals(cases, 1, &t);
    // As every target in a process without the variable.
    struct cutlass_path where;
    unsetenv("CUTLASS_PATH");
    cr_expect_not(cutlass_path_find(&where));
    cr_expect_str_eq(where.why, "CUTLASS_PATH is not set");
    target_of_arch("sm_90a", &t);
    cr_expect_str_empty(t.cutlass);
    setenv("CUTLASS_PATH", "tests/fake", 1);
    cr_expect_not(cutlass_path_find(&where));
    cr_expect(strstr(where.why, "is tests/fake, which has no include/cutlass/version.h"), "%s",
              where.why);
    setenv("CUTLASS_PATH", "tests/fixtures/cutlass_2", 1);
    cr_expect_not(cutlass_path_find(&where));
    cr_expect(strstr(where.why, "CUTLASS 2.11 in tests/fixtures/cutlass_2 is too old"), "%s",
              where.why);
    setenv("CUTLASS_PATH", "tests/fake/cutlass", 1);
    setenv("CUDA_HOME", "tests/fake/cutlass", 1);
    cr_expect(cutlass_path_find(&where), "%s", where.why);
    cr_expect_str_eq(where.version, "4.2.0");
    cr_expect_str_eq(where.nvcc, "tests/fake/cutlass/bin/nvcc");
    target_of_arch("sm_90a", &t);
    cr_expect_str_eq(t.cutlass, "4.2.0");
    target_of_arch("sm_80", &t);
    cr_expect_str_empty(t.cutlass);
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    setenv("PATH", "/nowhere:tests/fake/cutlass/bin", 1);
    cr_expect(cutlass_path_find(&where) && strstr(where.nvcc, "/nvcc"), "%s", where.why);
}

// It takes a minute to compile: neither the default nor a move reaches for it, from it moves lead
// back, and none turns a knob of it.
Test(cutlass, is_no_move_of_the_search) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = target_with("4.2.0");
    struct problem *p;
    struct kernel *k = block_of(&a, PLAIN("f16", LARGE) BLOCK "\n", &t, &p, &err), first;
    int n = 0, n_back = 0;
    cr_assert(k, "%s", err.text);
    lower_default(&a, p, &t, &first);
    cr_expect_not(strstr(kernel_print(&a, &first), "cutlass"));
    const struct kernel *const from[] = {&first, k};
    for (int i = 0; i < 2; i++) {
        struct move *moves = moves_list(&a, p, &t, from[i], &n);
        cr_expect_gt(n, 0);
        for (int m = 0; m < n; m++) {
            bool is_cutlass = strstr(kernel_print(&a, moves[m].kernel), "cutlass") != NULL;
            cr_expect_not(is_cutlass && moves[m].knob, "%s", moves[m].words);
            cr_expect(i == 1 || !is_cutlass, "%s", moves[m].words);
            n_back += i == 1 && !is_cutlass;
        }
    }
    cr_expect_gt(n_back, 0);
    arena_reset(&a);
}

Test(cutlass, steps_of_an_epilogue_are_read_or_refused) {
    static const char *const broken[] = {
        "add 0",
        "add 0 1",
        "add 0 0 0",
        "sin 0",
        "load 3 0 1 0",
        "load 4 0 1",
        "load 10 0 1 0",
        "load 4 0 -1 0",
        "number x",
        "round i8 0",
        "round f16 1",
        "neg",
        ", neg 0",
        "matmul 0 0",
        "neg 0 0",
        "number 1 2",
        "load 4 0 1 99999999999999",
    };
    static const char good[] = "load 4 0 1 0, mul 0 1, number -0x1.8p+1, where 0 2 3, round f16 4";
    struct call_epilogue e;
    struct str text = {0};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        cr_expect_not_null(epilogue_parse(broken[i], strlen(broken[i]), &e), "%s", broken[i]);
    cr_assert_null(epilogue_parse(good, strlen(good), &e));
    epilogue_print(&text, &e);
    cr_expect_str_eq(str_text(&text), good);
    double loaded = 0.1;
    cr_expect_eq(epilogue_evaluate(&e, 2, &loaded), dtype_round(DTYPE_F16, 0.2));
    cr_expect_eq(epilogue_evaluate(&e, 0, &loaded), -3);
    str_reset(&text);
    for (int i = 0; i <= EPILOGUE_STEPS_MAX; i++)
        str_printf(&text, "%sneg 0", i ? ", " : "");
    cr_expect_str_eq(epilogue_parse(str_text(&text), text.len, &e),
                     "its epilogue has too many steps");
    str_reset(&text);
}

// Compiled as the judge does it, and loaded; what CUTLASS's types take of shared memory is in the
// text's static_assert.
static void compile_golden(const char *name, const struct target *t) {
    struct arena a = {0};
    struct error err = {0};
    struct problem *p;
    struct candidate c;
    struct plan plan;
    struct compile_result result;
    const char *text =
        file_read(&a, arena_printf(&a, "tests/lang/cutlass/%s", name), 1 << 16, NULL, &err);
    struct kernel *k = text ? block_of(&a, text, t, &p, &err) : NULL;
    const char *dir = k ? file_scratch_dir(&a, &err) : NULL;
    cr_assert(dir && lower_kernel(&a, p, t, k, &c, &err) &&
                  candidate_plan(&a, p, t, &c, &plan, &err) &&
                  cutlass_objects_build(&a, dir, &plan, &result, &err),
              "%s: %s", name, err.text);
    cr_assert_eq(result.outcome, COMPILE_OK, "%s: %s", name, result.message);
    void *object = dlopen(plan.steps[0].object, RTLD_NOW | RTLD_LOCAL);
    cr_assert(object && dlsym(object, "hone_cutlass_issue") &&
                  dlsym(object, "hone_cutlass_work_bytes"),
              "%s: %s", name, dlerror());
    fprintf(stderr, "%s: %.0f s\n", name, result.seconds);
    file_remove_tree(dir, &err);
    arena_reset(&a);
}

// Minutes: only where HONE_COMPILE_CUTLASS asks for it, with the CUTLASS that CUTLASS_PATH names.
Test(cutlass, compiles_every_golden_configuration) {
    struct target t;
    if (!getenv("HONE_COMPILE_CUTLASS"))
        return;
    cr_assert(target_of_arch("sm_90a", &t) && t.cutlass[0], "there is no CUTLASS: hone doctor");
    DIR *dir = opendir("tests/lang/cutlass");
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strstr(e->d_name, ".hone")) {
            compile_golden(e->d_name, &t);
            n++;
        }
    cr_expect_gt(n, 5);
    closedir(dir);
}

static struct call legal_call(void) {
    struct call c = {.kind = CALL_CUTLASS, .math = CALL_F32};
    const int64_t numbers[] = {64, 64,  64,  1,  64, 1, 0, 1, 64, 0, 64, 1,
                               0,  128, 128, 64, 1,  1, 0, 0, 0,  0, 0,  1};
    memcpy(c.number, numbers, sizeof numbers);
    return c;
}

// Numbers of a plan that nobody's lowering wrote: each is refused before text is made of it.
Test(cutlass, refuses_forged_numbers) {
    const enum dtype types[CALL_BUFFERS_MAX] = {DTYPE_F16, DTYPE_F16, DTYPE_F16, DTYPE_U8};
    const int64_t sizes[CALL_BUFFERS_MAX] = {8192, 8192, 8192, 65536};
    static const struct {
        int place;
        int64_t value;
    } forged[] = {
        {GEMM_M, 65},         {GEMM_LHS, 128},      {GEMM_LHS + 1, 2},     {CUTLASS_TILE, 64},
        {CUTLASS_TILE, 192},  {CUTLASS_TILE, 0},    {CUTLASS_TILE + 1, 8}, {CUTLASS_TILE + 2, 48},
        {CUTLASS_CLUSTER, 3}, {CUTLASS_CLUSTER, 0}, {CUTLASS_CLUSTER, 16}, {CUTLASS_SCHEDULE, 4},
        {CUTLASS_STORE, 2},   {CUTLASS_STAGES, 1},  {CUTLASS_STAGES, 99},  {CUTLASS_SCHEDULER, 2},
        {CUTLASS_RASTER, 3},  {CUTLASS_SWIZZLE, 0}, {CUTLASS_SWIZZLE, 9},  {CUTLASS_STAGES, -1},
        {GEMM_K, INT64_MAX},
    };
    struct cutlass_objection why;
    struct call c = legal_call();
    cr_assert(!call_broken(&c, types, sizes, 4) && cutlass_check(&c, types, &why), "%s", why.text);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        c = legal_call();
        c.number[forged[i].place] = forged[i].value;
        cr_expect(call_broken(&c, types, sizes, 4) || !cutlass_check(&c, types, &why), "%d is %lld",
                  forged[i].place, (long long)forged[i].value);
    }
    // Arguments and what steps load belong together, within the buffers.
    c = legal_call();
    cr_expect_not_null(call_broken(&c, types, sizes, 5));
    cr_assert_null(epilogue_parse("load 4 0 1 0, add 0 1", 21, &c.epilogue));
    cr_expect_not_null(call_broken(&c, types, sizes, 4));
    enum dtype more[CALL_BUFFERS_MAX] = {DTYPE_F16, DTYPE_F16, DTYPE_F16, DTYPE_U8, DTYPE_F32};
    int64_t room[CALL_BUFFERS_MAX] = {8192, 8192, 8192, 65536, 64 * 4};
    cr_expect_null(call_broken(&c, more, room, 5));
    cr_expect(cutlass_check(&c, more, &why), "%s", why.text);
    more[4] = DTYPE_I32;
    cr_expect_not(cutlass_check(&c, more, &why));
    cr_expect_str_eq(why.text, "an epilogue loads f16, bf16 and f32, not i32");
    room[4]--;
    cr_expect_not_null(call_broken(&c, more, room, 5));
}
