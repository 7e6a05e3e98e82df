// The parts of the GPU's judge that need no GPU: its kernels read as C, layouts, what is read off
// the assembler's log and off cubins.
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "build/compile_cuda.h"
#include "build/scan.h"
#include "eval/gpu_layout.h"
#include "gpu/nvrtc.h"
#include "oracle/oracle_compare.h"
#include "real_nvrtc.h"
#include "record/profile.h"

// runtime/judge.cu, one thread after the other.
typedef struct {
    float x, y, z, w;
} float4;
typedef struct {
    unsigned x, y, z, w;
} uint4;
#define JUDGE_KERNEL static void
#define JUDGE_FN static inline
#define JUDGE_INFINITY INFINITY
#define JUDGE_BITS(f) bits_of(f)

static unsigned long long thread, n_threads;
static inline unsigned long long first(void) {
    return thread;
}
static inline unsigned long long stride(void) {
    return n_threads;
}
static inline unsigned bits_of(float f) {
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "judge.cu"

enum { THREADS = 39, COUNT = 1003, POISON = 0x7fc12345 };
enum { PARTS = (THREADS + JUDGE_LANES - 1) / JUDGE_LANES };

static struct judge_part fold(const struct judge_part *parts) {
    struct judge_part out;
    n_threads = 1;
    thread = 0;
    judge_fold(parts, PARTS, &out);
    return out;
}

static struct judge_part compare(const float *values, const struct oracle_output *e) {
    struct judge_part parts[PARTS];
    struct judge_expected expected = {e->high, e->low, e->spread, e->stats.limit_max};
    n_threads = THREADS;
    for (thread = 0; thread < THREADS; thread++)
        judge_compare(values, expected, (u64)e->count, POISON, parts);
    return fold(parts);
}

// Truths and values of every kind: on the spot, off by some spreads, nothing, no numbers, huge,
// tiny, poison.
static void fill(float *values, struct oracle_output *e) {
    static const float odd[] = {0, -0.0f, 1, INFINITY, -INFINITY, NAN, FLT_MAX, 1e-40f, FLT_MIN};
    for (int i = 0; i < COUNT; i++) {
        e->high[i] = odd[i % 9] * (i % 5 ? 1 : 3);
        e->low[i] = isfinite(e->high[i]) ? e->high[i] * 1e-9f : 0;
        e->spread[i] = i % 7 == 0 ? 0 : i % 11 == 0 ? NAN : 1e-6f * (float)(i % 13);
        values[i] = i % 3 ? e->high[i] : e->high[i] + e->spread[i] * (float)(i % 17);
        if (i % 97 == 0)
            values[i] = odd[i / 97 % 9];
    }
    for (int i = 5; i < COUNT; i += 300) {
        unsigned poison = POISON;
        memcpy(&values[i], &poison, 4);
    }
}

Test(judge_kernels, count_errors_as_the_oracle_does) {
    static _Alignas(16) float high[COUNT], low[COUNT], spread[COUNT], values[COUNT];
    for (double limit = 0; limit < 20; limit += 4) {
        struct oracle_output e = {.count = COUNT, .high = high, .low = low, .spread = spread};
        struct comparison c;
        fill(values, &e);
        e.stats.limit_max = limit;
        oracle_compare(&e, values, POISON, &c);
        struct judge_part p = compare(values, &e);
        cr_expect_eq(p.n_wrong, (u64)c.n_wrong, "%llu, %lld", p.n_wrong, (long long)c.n_wrong);
        cr_expect_eq(p.n_same, (u64)c.n_unwritten);
        cr_expect_eq(p.max, c.stats.max);
        // Now without those that are infinitely wrong.
        for (int i = 0; i < COUNT; i++)
            if (!isfinite(values[i]) || !isfinite(high[i]) || spread[i] == 0)
                values[i] = high[i] = low[i] = spread[i] = 0;
        oracle_compare(&e, values, POISON, &c);
        p = compare(values, &e);
        cr_expect_float_eq(sqrt(p.sum / COUNT), c.stats.rms, 1e-12 * c.stats.rms);
    }
}

static struct judge_part scan(const unsigned *const *at, const u64 *n, int count, u64 seed) {
    struct judge_part parts[PARTS];
    struct judge_regions r = {.count = count, .poison = POISON};
    for (int i = 0; i < count; i++) {
        r.at[i] = at[i];
        r.n[i] = n[i];
        r.seed[i] = seed + (u64)i;
        r.head[i] = r.tail[i] = ~0u;
        r.asks[i] = JUDGE_SAME | JUDGE_OTHER | JUDGE_DIGEST;
    }
    n_threads = THREADS;
    for (thread = 0; thread < THREADS; thread++)
        judge_scan(r, parts);
    return fold(parts);
}

Test(judge_kernels, see_every_word_and_its_place) {
    static _Alignas(16) unsigned words[64], moved[64];
    for (unsigned i = 0; i < 64; i++)
        words[i] = POISON;
    memcpy(moved + 1, words, 62 * 4);  // not at a multiple of 16 bytes
    const unsigned *at[] = {words, moved + 1};
    struct judge_part p = scan(at, (u64[]){62}, 1, 9);
    cr_expect_eq(p.n_same, 62);
    cr_expect_eq(p.n_other, 0);
    cr_expect_eq(scan(at + 1, (u64[]){62}, 1, 9).digest, p.digest);
    cr_expect_neq(scan(at, (u64[]){62}, 1, 8).digest, p.digest);
    cr_expect_neq(scan(at, (u64[]){61}, 1, 9).digest, p.digest);
    for (int i = 0; i < 62; i++) {
        words[i] ^= 1U << (i % 32);
        struct judge_part q = scan(at, (u64[]){62}, 1, 9);
        cr_expect_eq(q.n_other, 1);
        cr_expect_neq(q.digest, p.digest);
        words[i] ^= 1U << (i % 32);
    }
    // Together they are the sum of each.
    struct judge_part one = scan(at, (u64[]){62}, 1, 9), two = scan(at + 1, (u64[]){62}, 1, 10);
    cr_expect_eq(scan(at, (u64[]){62, 62}, 2, 9).digest, one.digest + two.digest);
    // Two words that change places are seen.
    words[3] = 1;
    words[4] = 2;
    u64 before = scan(at, (u64[]){62}, 1, 9).digest;
    words[3] = 2;
    words[4] = 1;
    cr_expect_neq(scan(at, (u64[]){62}, 1, 9).digest, before);
}

static const struct plan_buffer buffers[] = {
    {.name = "x", .role = BUFFER_INPUT, .size_bytes = 1000},
    {.name = "y", .role = BUFFER_OUTPUT, .size_bytes = 4 << 20},
    {.name = "s", .role = BUFFER_SCRATCH, .size_bytes = 7},
};

Test(gpu_layout, guards_and_buffers_cover_a_slot) {
    for (int slot = 0; slot < GPU_SLOTS_MAX; slot++)
        for (int first_buffer = 0; first_buffer < 3; first_buffer += 2) {
            struct gpu_layout l;
            int n = first_buffer ? 1 : 2;
            gpu_layout_make(&l, buffers, first_buffer, n, slot, 2 << 20);
            cr_expect_eq(l.total_bytes % (2 << 20), 0);
            int64_t end = 0;
            for (int i = 0; i <= n; i++) {
                int64_t offset, bytes;
                gpu_layout_guard(&l, i, &offset, &bytes);
                cr_expect_geq(bytes, GPU_GUARD);
                cr_expect_geq(offset, end);
                cr_expect_lt(offset, end + 4);  // at most a part of a word is not looked at
                if (i == n) {
                    cr_expect_eq(offset + bytes, l.total_bytes);
                    continue;
                }
                int b = first_buffer + i;
                cr_expect_eq(l.offset[b] % GPU_ALIGN, 0);
                cr_expect_eq(offset + bytes, l.offset[b]);
                end = l.offset[b] + buffers[b].size_bytes;
            }
        }
}

Test(gpu_layout, differs_from_slot_to_slot) {
    struct gpu_layout l, m;
    gpu_layout_make(&l, buffers, 0, 2, 0, 2 << 20);
    gpu_layout_make(&m, buffers, 0, 2, 1, 2 << 20);
    cr_expect_neq(l.offset[0], m.offset[0]);
}

Test(compile_cuda, reads_resources_off_the_log) {
    static const char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
        "ptxas         .     8 bytes stack frame, 16 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n"
        "ptxas info    : Compiling entry function 'ab' for 'sm_90a'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 12 registers, used 0 barriers";
    struct metrics p = {0}, ab = {0};
    cuda_read_resources(log, NULL, &p);
    cr_expect_eq(metrics_get(&p, METRIC_REGISTERS), 40);
    cr_expect_eq(metrics_get(&p, METRIC_STATIC_SHARED_BYTES), 1024);
    cr_expect_eq(metrics_get(&p, METRIC_STACK_BYTES), 8);
    cr_expect_eq(metrics_get(&p, METRIC_SPILL_BYTES), 16);
    cuda_read_resources(log, "ab", &ab);
    cr_expect_eq(metrics_get(&ab, METRIC_REGISTERS), 12);
    cr_expect_eq(metrics_get(&ab, METRIC_SPILL_BYTES), 0);
    cr_expect(!metrics_has(&ab, METRIC_STATIC_SHARED_BYTES));
    struct metrics none = {0};
    cuda_read_resources(log, "c", &none);
    cuda_read_resources("no such words: registers, bytes smem\n", NULL, &none);
    cr_expect_eq(metrics_count(&none), 0);
}

Test(scan, refuses_what_cuda_may_not_include) {
    struct arena a = {0};
    bool toolkit = true;
    cr_expect(!scan_cuda_source(&a, "#include \"dev.h\"\n#include <stdint.h>\nint x;", &toolkit));
    cr_expect(!toolkit);
    static const char *const never[] = {
        "<math.h>", "\"/dev/zero\"", "<cuda_runtime.h>", "<cuda/../../../etc/passwd>",
        "<cub>",    "<mma.hpp>"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        cr_expect(scan_cuda_source(&a, arena_printf(&a, "#include %s\n", never[i]), &toolkit), "%s",
                  never[i]);
        cr_expect(!toolkit);
    }
    static const char *const ours[] = {"<cuda_fp16.h>", "\"mma.h\"", "<cuda/barrier>",
                                       "<cub/block/block_reduce.cuh>",
                                       "<cooperative_groups/reduce.h>"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        cr_expect(!scan_cuda_source(&a, arena_printf(&a, "#include %s\n", ours[i]), &toolkit));
        cr_expect(toolkit, "%s", ours[i]);
    }
    cr_expect(scan_cuda_source(&a, "#if __has_include(<x>)\n#endif\n", &toolkit));
    const char *math =
        scan_cuda_source(&a, "static __device__ unsigned __cudart_i2opi_f[6];", &toolkit);
    cr_expect(math && strstr(math, "__cudart"), "%s", math ? math : "fine");
    static const char with[] = "#include <cuda/barrier>\n";
    cr_expect(!scan_cuda_source(
        &a, arena_printf(&a, "%susing namespace cuda;\nnamespace own {}\n", with), &toolkit));
    cr_expect(scan_cuda_source(
        &a, arena_printf(&a, "%snamespace cuda { __device__ int kept; }\n", with), &toolkit));
    arena_reset(&a);
}

Test(scan, finds_the_end_of_the_toolkits_includes) {
    static const char text[] = "// x\n#include <cuda_fp16.h>\n#  include \"cub/a.cuh\"\nint y;\n";
    cr_expect_str_eq(scan_behind_toolkit(text), "int y;\n");
    static const char none[] = "#include \"dev.h\"\nint y;";
    cr_expect_eq(scan_behind_toolkit(none), none);
    cr_expect_str_eq(scan_behind_toolkit("#include <mma.h>"), "");
}

static const char *scan_text(struct arena *a, const struct nvrtc *n, const char *source,
                             bool has_toolkit) {
    struct error err = {0};
    struct nvrtc_result r;
    struct nvrtc_job job = {.source = source, .name = "t.cu", .arch = "sm_90a"};
    cr_assert(nvrtc_compile(a, n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled, "%s", r.log);
    const char *why = scan_cubin(a, r.cubin, r.cubin_bytes, has_toolkit);
    // Cut anywhere, it is refused or read, never read beyond.
    for (size_t len = 0; len < r.cubin_bytes; len += 13) {
        char *cut = malloc(len ? len : 1);
        memcpy(cut, r.cubin, len);
        scan_cubin(a, cut, len, has_toolkit);
        free(cut);
    }
    return why;
}

Test(scan, finds_state_in_cubins) {
    static const struct {
        const char *source, *want;
        bool has_toolkit;
    } cases[] = {
        {"extern \"C\" __global__ void f(float *x) { __shared__ float s[8]; s[0] = *x; *x = s[1]; "
         "}",
         NULL, false},
        {"__constant__ float t[2] = {1, 2}; extern \"C\" __global__ void f(float *x, int i) { *x = "
         "t[i]; }",
         NULL, false},
        {"__device__ float kept; extern \"C\" __global__ void f(float *x) { *x = kept++; }",
         "'kept' in device memory", false},
        // Tables of the mathematical library, alone and next to a variable; and one that only bears
        // such a name.
        {"extern \"C\" __global__ void f(float *x, double *y) { *x = sinf(*x); *y = tan(*y) + "
         "cos(*y); }",
         NULL, false},
        {"__device__ float kept; extern \"C\" __global__ void f(float *x) { *x = sinf(*x) + "
         "kept++; }",
         "'kept' in device memory", false},
        {"__device__ int __cudart_i2opi_f[7]; extern \"C\" __global__ void f(int *x) { *x = "
         "__cudart_i2opi_f[*x]++; }",
         "'__cudart_i2opi_f' in device memory", false},
        {"__device__ float kept = 3; extern \"C\" __global__ void f(float *x) { *x = kept++; }",
         "'kept' in device memory", false},
        {"extern \"C\" __global__ void f(float **x) { *x = (float *)malloc(8); }", "'malloc'",
         false},
        // As the toolkit's headers do it: small, and in their namespace.
        {"namespace cub { __device__ int size = 3; } extern \"C\" __global__ void f(int *x) { *x = "
         "cub::size; }",
         NULL, true},
        {"namespace cub { __device__ int size = 3; } extern \"C\" __global__ void f(int *x) { *x = "
         "cub::size; }",
         "_ZN3cub4sizeE", false},
        {"namespace cub { __device__ int size[9]; } extern \"C\" __global__ void f(int *x) { *x = "
         "cub::size[*x]++; }",
         "_ZN3cub4sizeE", true},
        {"namespace own { __device__ int size = 3; } extern \"C\" __global__ void f(int *x) { *x = "
         "own::size++; }",
         "_ZN3own4sizeE", true},
    };
    struct nvrtc n;
    real_nvrtc_open(&n);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        const char *why = scan_text(&a, &n, cases[i].source, cases[i].has_toolkit);
        cr_expect_eq(!why, !cases[i].want, "%s: %s", cases[i].source, why);
        cr_expect(!why || strstr(why, cases[i].want), "%s", why);
        arena_reset(&a);
    }
    struct arena a = {0};
    cr_expect_str_eq(scan_cubin(&a, "no ELF at all", 13, false), "the cubin cannot be read");
    nvrtc_close(&n);
}
