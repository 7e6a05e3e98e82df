// The GPU libraries: the real NVRTC where there is one, a fake driver for everything that a
// driver can do wrong.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "eval/gpu_runner.h"
#include "gpu/cuda.h"
#include "gpu/library.h"
#include "gpu/nvrtc.h"
#include "library/gpu_calls.h"
#include "real_nvrtc.h"

// The fake stands where CUDA_HOME points: in lib64 next to the test binary.
static void use_fake(const char *fault) {
    setenv("CUDA_HOME", HONE_FAKE_CUDA, 1);
    if (fault)
        setenv("FAKE_CUDA", fault, 1);
}

Test(cuda, reads_facts_off_the_device) {
    use_fake(NULL);
    struct arena a = {0};
    struct error err = {0};
    struct cuda cu;
    struct cuda_facts f;
    cr_assert(cuda_open(&cu, &err), "%s", err.text);
    cr_assert(cuda_read_facts(&a, &cu, 0, &f, &err), "%s", err.text);
    cr_assert_str_eq(f.name, "Fake 9000");
    cr_assert_str_eq(f.arch, "sm_90a");
    cr_assert_str_eq(f.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    cr_assert(eq(int, f.sms, 100));
    cr_assert(eq(dbl, f.dram_bytes_per_s, 4096 / 8 * 2 * 3e9));
    cuda_close(&cu);
    arena_reset(&a);
}

Test(cuda, says_what_is_wrong_with_the_driver) {
    static const struct {
        const char *fault, *want;
        enum error_kind kind;
    } cases[] = {
        {"old", "the driver speaks CUDA 11.4, hone needs 12.0", ERROR_UNSUPPORTED},
        {"none", "the driver sees no GPU", ERROR_UNSUPPORTED},
        {"no-device",
         "start the CUDA driver: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100)",
         ERROR_UNSUPPORTED},
        {"init", "start the CUDA driver: unknown error (CUDA_ERROR_OTHER, 999)", ERROR_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        use_fake(cases[i].fault);
        struct error err = {0};
        struct cuda cu;
        cr_assert(not(cuda_open(&cu, &err)));
        cr_assert_str_eq(err.text, cases[i].want);
        cr_assert(eq(int, err.kind, cases[i].kind));
    }
}

Test(cuda, an_attribute_that_fails_is_an_error) {
    use_fake("attribute");
    struct arena a = {0};
    struct error err = {0};
    struct cuda cu;
    struct cuda_facts f;
    cr_assert(cuda_open(&cu, &err));
    cr_assert(not(cuda_read_facts(&a, &cu, 0, &f, &err)));
    cr_assert(strstr(err.text, "read a device attribute") != NULL);
    cuda_close(&cu);
    arena_reset(&a);
}

Test(library, names_the_library_or_symbol_that_is_missing) {
    use_fake(NULL);
    struct error err = {0};
    void *slot;
    static const char *const nowhere[] = {"libhone-is-not-here.so.1", NULL};
    static const char *const fake[] = {"libcuda.so.1", NULL};
    struct library_symbol symbol = {"cuNotThere", NULL, &slot, false};
    cr_assert_null(library_open(nowhere, &symbol, 1, &err));
    cr_assert_str_eq(err.text, "libhone-is-not-here.so.1 is not installed");
    cr_assert(eq(int, err.kind, ERROR_UNSUPPORTED));
    cr_assert_null(library_open(fake, &symbol, 1, &err));
    cr_assert_str_eq(err.text, "libcuda.so.1 lacks cuNotThere: too old for hone");
}

Test(library, optional_symbols_stay_null_and_older_names_serve) {
    use_fake(NULL);
    struct error err = {0};
    void *optional = &err, *older = NULL;
    static const char *const fake[] = {"libcuda.so.1", NULL};
    const struct library_symbol symbols[] = {
        {"cuNotThere", NULL, &optional, true},
        {"cuEventElapsedTime_v2", "cuEventElapsedTime", &older, false},
    };
    void *handle = library_open(fake, symbols, 2, &err);
    cr_assert(handle != NULL, "%s", err.text);
    cr_assert(optional == NULL);
    cr_assert(older != NULL);
    library_close(handle);
}

Test(nvrtc, compiles_for_every_architecture_without_a_gpu) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};
    static const char *const names[] = {"one.h"}, *const texts[] = {"#define ONE 1.0f\n"};
    for (int i = 0; i < 3; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct nvrtc_result r;
        struct nvrtc_job job = {
            .source = "#include \"one.h\"\nextern \"C\" __global__ void f(float *x) { *x += ONE; }",
            .name = "f.cu",
            .arch = archs[i],
            .header_names = names,
            .header_texts = texts,
            .n_headers = 1,
        };
        cr_assert(nvrtc_compile(&a, &n, &job, &r, &err), "%s", err.text);
        cr_assert(r.compiled, "%s", r.log);
        cr_assert(memcmp(r.cubin, "\177ELF", 4) == 0);
        cr_assert(strstr(r.log, "registers") != NULL, "%s", r.log);
        arena_reset(&a);
    }
    nvrtc_close(&n);
}

Test(nvrtc, takes_a_size_for_every_dim) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc_result r;
    const char *options[62];
    for (int i = 0; i < 62; i++)
        options[i] = arena_printf(&a, "-DD%d=%d", i, i);
    struct nvrtc_job job = {.source = "extern \"C\" __global__ void f(float *x) { *x = D0 + D59; }",
                            .name = "f.cu",
                            .arch = "sm_90a",
                            .options = options,
                            .n_options = 61};
    cr_assert(nvrtc_compile(&a, &n, &job, &r, &err), "%s", err.text);
    cr_assert(r.compiled, "%s", r.log);
    job.n_options = 62;
    cr_assert(not(nvrtc_compile(&a, &n, &job, &r, &err)));
    cr_assert_str_eq(err.text, "NVRTC: 62 options are too many");
    arena_reset(&a);
    nvrtc_close(&n);
}

Test(nvrtc, a_mistake_is_data_with_its_message) {
    struct nvrtc n;
    real_nvrtc_open(&n);
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc_result r;
    struct nvrtc_job job = {
        .source = "__global__ void f() { y = 1; }", .name = "f.cu", .arch = "sm_90a"};
    cr_assert(nvrtc_compile(&a, &n, &job, &r, &err), "%s", err.text);
    cr_assert(not(r.compiled));
    cr_assert(strstr(r.log, "f.cu(1): error: identifier \"y\" is undefined") != NULL, "%s", r.log);
    job.arch = "sm_1";
    cr_assert(not(nvrtc_compile(&a, &n, &job, &r, &err)));
    cr_assert(strstr(err.text, "NVRTC: compile") != NULL, "%s", err.text);
    arena_reset(&a);
    nvrtc_close(&n);
}

// Slots may be prepared for calls already when a candidate is loaded: trials write elsewhere. Of
// the algorithms that the fake proposes the first does not run.
Test(cuda, algorithms_of_libraries_are_tried_out_in_memory_of_their_own) {
    use_fake(NULL);
    struct error err = {0};
    struct cuda cu;
    struct gpu_calls *calls;
    cuda_context context;
    cuda_stream stream;
    enum { M = 3, N = 2, K = 2, WORK = 32 << 20 };
    static const float x[M * K] = {1, 2, 3, 4, 5, 6}, w[K * N] = {1, 0, 2, 1};
    static const float expected[M * N] = {5, 2, 11, 4, 17, 6};
    float y[M * N];
    struct call call = {.number = {M, N, K, 1, K, 1, 0, N, 1, 0, N, 1, 0}};
    struct plan_buffer buffers[] = {{"x", BUFFER_INPUT, sizeof x, false, DTYPE_F32},
                                    {"w", BUFFER_INPUT, sizeof w, false, DTYPE_F32},
                                    {"y", BUFFER_OUTPUT, sizeof y, false, DTYPE_F32},
                                    {"work", BUFFER_SCRATCH, WORK, false, DTYPE_U8}};
    int args[] = {0, 1, 2, 3};
    struct plan_step step = {.kind = STEP_CALL, .args = args, .n_args = 4, .call = &call};
    struct plan plan = {.buffers = buffers, .n_buffers = 4, .steps = &step, .n_steps = 1};
    cuda_pointer at[4];
    cr_assert(cuda_open(&cu, &err), "%s", err.text);
    cr_assert_eq(
        cu.context_retain(&context, 0) + cu.context_set(context) + cu.stream_create(&stream, 0), 0);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(cu.allocate(&at[i], (size_t)buffers[i].size_bytes), 0);
    cr_assert_eq(cu.copy_to(at[0], x, sizeof x) + cu.copy_to(at[1], w, sizeof w) +
                     cu.fill32(at[2], 0x7fc00000, M * N),
                 0);
    cr_assert(gpu_calls_open(&calls, &cu, &plan, &err), "%s", err.text);
    cr_assert(gpu_calls_tune(calls, stream, at, &err), "%s", err.text);
    cr_assert_eq(cu.copy_from(y, at[2], sizeof y), 0);
    for (int i = 0; i < M * N; i++)
        cr_expect(y[i] != y[i], "%d was written", i);
    cr_assert_eq(gpu_calls_issue(calls, 0, stream, at), 0);
    cr_assert_eq(cu.copy_from(y, at[2], sizeof y), 0);
    for (int i = 0; i < M * N; i++)
        cr_expect_eq(y[i], expected[i], "%d: %g", i, y[i]);
    gpu_calls_close(calls);
    cuda_close(&cu);
}

// ---- a plan's launches

static struct cuda_launch_config launched[2];
static struct cuda_launch_attribute launched_with[2][3];
static int n_launched;

static cuda_result note_launch(const struct cuda_launch_config *config, cuda_function function,
                               void **arguments, void **extra) {
    (void)function, (void)arguments, (void)extra;
    launched[n_launched] = *config;
    for (unsigned i = 0; i < config->n_attributes; i++)
        launched_with[n_launched][i] = config->attributes[i];
    n_launched++;
    return 0;
}

// Drivers whose graphs do not know launches that begin early get them without: they then find that
// there is nothing to wait for.
Test(gpu_graph, launches_begin_early_where_the_driver_can) {
    struct plan_step steps[2] = {
        {.kind = STEP_LAUNCH, .shape = {.grid = {4, 1, 1}, .block = {32, 1, 1}}},
        {.kind = STEP_LAUNCH,
         .shape = {.grid = {4, 1, 1},
                   .block = {32, 1, 1},
                   .cluster = {2, 1, 1},
                   .is_programmatic = true}}};
    struct plan plan = {.steps = steps, .n_steps = 2};
    struct cuda cu = {.launch_with = note_launch};
    static struct gpu_program p;
    const struct plan_tensormap *refused;
    p = (struct gpu_program){.cu = &cu, .plan = &plan};
    for (int is_new = 0; is_new < 2; is_new++) {
        cu.version = is_new ? 12030 : 12020;
        n_launched = 0;
        cr_assert(eq(int, gpu_program_issue(&p, NULL, NULL, NULL, &refused), 0));
        cr_assert(eq(int, n_launched, 2));
        cr_expect(eq(int, (int)launched[0].n_attributes, 0));
        cr_assert(eq(int, (int)launched[1].n_attributes, is_new ? 2 : 1));
        cr_expect(eq(int, launched_with[1][0].id, CUDA_ATTRIBUTE_CLUSTER));
        if (!is_new)
            continue;
        cr_expect(eq(int, launched_with[1][1].id, CUDA_ATTRIBUTE_PROGRAMMATIC));
        cr_expect(eq(int, launched_with[1][1].value.programmatic, 1));
    }
}
