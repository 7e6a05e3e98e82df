// What an exported directory has of its own when its kernel is CUDA: the host function over the
// CUDA runtime.
//
// The host function is plain C: kernels are extern "C", the runtime knows them by their address,
// and cudaLaunchKernelExC takes arguments by address too, so nothing but the kernels needs nvcc's
// language. It allocates nothing and waits for nothing, so that it can be captured in a graph.
// The plan's buffers are one array, numbered as in the plan: no name of the problem's can meet
// one of ours.
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "ops/export_text.h"

// Emitted kernels read 16 bytes at once; others were only ever given buffers at multiples of 256.
enum { ALIGN_OURS = 16, ALIGN_JUDGED = 256, PORTABLE_CLUSTER = 8 };

// Our kernels, but those that the copy engine feeds, are compiled a second time, without vectors
// (kernel_any.cu), for arrays that begin anywhere.
bool export_cuda_takes_any(const struct export_view *e) {
    return e->target->is_gpu && e->champion->candidate.tier == TIER_K && !e->plan->n_tensormaps;
}

static int alignment(const struct export_view *e) {
    return e->champion->candidate.tier == TIER_K ? ALIGN_OURS : ALIGN_JUDGED;
}

const char *export_cuda_alignment_note(struct arena *a, const struct export_view *e) {
    if (export_cuda_takes_any(e))
        return arena_printf(a,
                            "// Arrays at multiples of %d bytes are fastest. Others, wherever an "
                            "element may begin, are used\n// in place too, by a slower kernel "
                            "without vectors.\n",
                            alignment(e));
    return arena_printf(a,
                        "// Arrays begin at multiples of %d bytes; cudaErrorMisalignedAddress "
                        "otherwise.\n",
                        alignment(e));
}

static bool is_launch_of(const struct plan_step *s, const char *function) {
    return s->kind == STEP_LAUNCH && strcmp(s->function, function) == 0;
}

static bool is_first_launch(const struct plan *plan, int step) {
    bool first = plan->steps[step].kind == STEP_LAUNCH;
    for (int i = 0; i < step && first; i++)
        first = !is_launch_of(&plan->steps[i], plan->steps[step].function);
    return first;
}

const char *export_cuda_kernel_any(struct arena *a, const struct export_view *e) {
    struct str out = {0}, end = {0};
    str_puts(&out, "// kernel.cu again, for arrays that begin anywhere.\n"
                   "#define HONE_ANY_ALIGNMENT\n");
    for (int i = 0; i < e->plan->n_steps; i++) {
        const char *name = is_first_launch(e->plan, i) ? e->plan->steps[i].function
                           : e->plan->steps[i].kind == STEP_FILL
                               ? arena_printf(a, "%s_fill_%d", e->symbol, i)
                               : NULL;
        if (!name)
            continue;
        str_printf(&out, "#define %s %s_any\n", name, name);
        str_printf(&end, "#undef %s\n", name);
    }
    str_puts(&out, "#include \"kernel.cu\"\n");
    str_puts(&out, str_take(a, &end));
    return str_take(a, &out);
}

// The runtime fills with bytes, so anything but zero takes a kernel of our own.
static bool needs_kernel(const struct plan *plan, const struct plan_step *s) {
    return s->kind == STEP_FILL &&
           plan_fill_word(plan->buffers[s->fill_buffer].type, s->fill_value) != 0;
}

static long long fill_blocks(const struct plan *plan, const struct plan_step *s) {
    // One element of f32 for each thread, of other types eight bytes.
    const struct plan_buffer *b = &plan->buffers[s->fill_buffer];
    int64_t each = b->type == DTYPE_F32 ? 4 : 8;
    return (long long)((b->size_bytes + each - 1) / each + EXPORT_FILL_THREADS - 1) /
           EXPORT_FILL_THREADS;
}

// Eight bytes for each thread, the last of which may have fewer.
static void fill_typed(struct str *out, const struct export_view *e, int step) {
    const struct plan_step *s = &e->plan->steps[step];
    const struct plan_buffer *b = &e->plan->buffers[s->fill_buffer];
    str_printf(out,
               "HONE_KERNEL(%d) %s_fill_%d(unsigned char *to) {  // %s: %g\n"
               "    long long i = hone_block() * %dLL + hone_thread();\n"
               "    if (i < %lld && (unsigned long long)to %% 8 == 0)\n"
               "        ((unsigned long long *)to)[i] = 0x%016llxull;\n"
               "    else if (i <= %lld)\n"
               "        for (int k = 0; k < (i < %lld ? 8 : %d); k++)\n"
               "            to[8 * i + k] = (unsigned char)(0x%016llxull >> 8 * k);\n}\n",
               EXPORT_FILL_THREADS, e->symbol, step, dtype_name(b->type), s->fill_value,
               EXPORT_FILL_THREADS, (long long)(b->size_bytes / 8),
               (unsigned long long)plan_fill_word(b->type, s->fill_value),
               (long long)(b->size_bytes / 8), (long long)(b->size_bytes / 8),
               (int)(b->size_bytes % 8),
               (unsigned long long)plan_fill_word(b->type, s->fill_value));
}

void export_cuda_fills(struct str *out, const struct export_view *e) {
    const struct plan *plan = e->plan;
    bool first = true;
    for (int i = 0; i < plan->n_steps; i++) {
        const struct plan_step *s = &plan->steps[i];
        if (!needs_kernel(plan, s))
            continue;
        if (first)
            str_puts(out, "\n// The plan's fills; the runtime itself can only fill with bytes.\n"
                          "#include \"dev.h\"\n");
        first = false;
        if (plan->buffers[s->fill_buffer].type != DTYPE_F32) {
            fill_typed(out, e, i);
            continue;
        }
        str_printf(out,
                   "HONE_KERNEL(%d) %s_fill_%d(float *to) {\n"
                   "    long long i = hone_block() * %dLL + hone_thread();\n"
                   "    if (i < %lld)\n        to[i] = %af;\n}\n",
                   EXPORT_FILL_THREADS, e->symbol, i, EXPORT_FILL_THREADS,
                   (long long)(plan->buffers[s->fill_buffer].size_bytes / 4), s->fill_value);
    }
}

// A parameter's name that no buffer of the problem has.
static const char *free_name(struct arena *a, const struct plan *plan, const char *name) {
    for (int i = 0; i < plan->n_buffers; i++)
        if (strcmp(plan->buffers[i].name, name) == 0)
            return free_name(a, plan, arena_printf(a, "%s_", name));
    return name;
}

const char *export_cuda_workspace(struct arena *a, const struct export_view *e) {
    return free_name(a, e->plan, "workspace");
}

const char *export_cuda_stream(struct arena *a, const struct export_view *e) {
    return free_name(a, e->plan, "stream");
}

// Where a scratch buffer begins in the workspace; for n_buffers, how large that is.
static long long workspace_offset(const struct plan *plan, int buffer) {
    int64_t at = 0;
    for (int i = 0; i < buffer; i++)
        if (plan->buffers[i].role == BUFFER_SCRATCH)
            at += (plan->buffers[i].size_bytes + ALIGN_JUDGED - 1) / ALIGN_JUDGED * ALIGN_JUDGED;
    return at;
}

static void declarations(struct str *out, const struct export_view *e) {
    const struct plan *plan = e->plan;
    str_puts(out, "// Kernels, known to the runtime by their address.\n");
    for (int i = 0; i < plan->n_steps; i++) {
        bool first = is_first_launch(plan, i);
        if (needs_kernel(plan, &plan->steps[i]))
            str_printf(out, "void %s_fill_%d(void);\n", e->symbol, i);
        else if (first)
            str_printf(out, "void %s(void);\n", plan->steps[i].function);
        if (first && export_cuda_takes_any(e))
            str_printf(out, "void %s_any(void);\n", plan->steps[i].function);
    }
    str_puts(out, "\n");
}

// ---- tensor maps

static const char encoder_text[] =
    "typedef CUresult (*encode_fn)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,\n"
    "                              const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,\n"
    "                              const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,\n"
    "                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);\n\n"
    "// The driver's function, asked for by name, so that nothing links against the driver.\n"
    "static cudaError_t find_encoder(encode_fn *encode) {\n"
    "    enum cudaDriverEntryPointQueryResult found;\n"
    "    void *function = NULL;\n"
    "#if CUDART_VERSION >= 12050\n"
    "    cudaError_t error = cudaGetDriverEntryPointByVersion(\n"
    "        \"cuTensorMapEncodeTiled\", &function, 12000, cudaEnableDefault, &found);\n"
    "#else\n"
    "    cudaError_t error = cudaGetDriverEntryPoint(\"cuTensorMapEncodeTiled\", &function,\n"
    "                                                cudaEnableDefault, &found);\n"
    "#endif\n"
    "    if (error != cudaSuccess)\n        return error;\n"
    "    if (found != cudaDriverEntryPointSuccess)\n        return cudaErrorSymbolNotFound;\n"
    "    *encode = (encode_fn)function;\n    return cudaSuccess;\n}\n\n";

static void list(struct str *out, const char *declaration, const int64_t *values, int n) {
    str_printf(out, "        const %s[] = {", declaration);
    for (int i = 0; i < n; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)values[i]);
    str_puts(out, n ? "};\n" : "0};\n");
}

static void encode_map(struct arena *a, struct str *out, const struct plan *plan, int number) {
    static const int64_t ones[TENSORMAP_RANK_MAX] = {1, 1, 1, 1, 1};
    const struct plan_tensormap *m = &plan->tensormaps[number];
    str_printf(out, "    {  // %s\n", m->name);
    list(out, "cuuint64_t dims", m->dims, m->rank);
    list(out, "cuuint64_t strides", m->strides_bytes, m->rank - 1);
    list(out, "cuuint32_t box", m->box, m->rank);
    list(out, "cuuint32_t steps", ones, m->rank);
    str_printf(
        out,
        "        int refused = encode(&maps[%d], CU_TENSOR_MAP_DATA_TYPE_%s, %d, buffers[%d], "
        "dims,\n"
        "                             strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,\n"
        "                             CU_TENSOR_MAP_SWIZZLE_%s, CU_TENSOR_MAP_L2_PROMOTION_%s,\n"
        "                             CU_TENSOR_MAP_FLOAT_OOB_FILL_%s);\n"
        "        if (refused)\n            return refused;  // driver and runtime count alike\n"
        "    }\n",
        number, plan_map_type(plan->buffers[m->buffer].type)->name, m->rank, m->buffer,
        m->swizzle_bytes ? arena_printf(a, "%dB", m->swizzle_bytes) : "NONE",
        m->promote_bytes ? arena_printf(a, "L2_%dB", m->promote_bytes) : "NONE",
        m->is_nan_outside ? "NAN_REQUEST_ZERO_FMA" : "NONE");
}

// ---- steps

static void attribute(struct str *out, const char *name, const char *function, long long value) {
    str_printf(out,
               "    error = cudaFuncSetAttribute(%s,\n"
               "                                 cudaFuncAttribute%s, %lld);\n"
               "    if (error != cudaSuccess)\n        return error;\n",
               function, name, value);
}

static void launch_attributes(struct str *out, const struct plan_shape *h) {
    if (!h->cluster[0] && !h->is_cooperative && !h->is_programmatic)
        return;
    str_puts(out, "        cudaLaunchAttribute attributes[] = {\n");
    if (h->cluster[0])
        str_printf(out,
                   "            {.id = cudaLaunchAttributeClusterDimension,\n"
                   "             .val.clusterDim = {%lld, %lld, %lld}},\n",
                   (long long)h->cluster[0], (long long)h->cluster[1], (long long)h->cluster[2]);
    if (h->is_cooperative)
        str_puts(out,
                 "            {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1},\n");
    if (h->is_programmatic)
        str_puts(out, "            {.id = cudaLaunchAttributeProgrammaticStreamSerialization,\n"
                      "             .val.programmaticStreamSerializationAllowed = 1},\n");
    str_puts(out, "        };\n");
}

// The launch of a kernel whose arguments are named in `arguments`.
static void launch(struct str *out, const char *function, const struct plan_shape *h,
                   const char *arguments) {
    int n_attributes = (h->cluster[0] > 0) + h->is_cooperative + h->is_programmatic;
    // What the kernel declares itself counts too, so less than 48 KiB can be too much unasked.
    if (h->shared_bytes > 0)
        attribute(out, "MaxDynamicSharedMemorySize", function, (long long)h->shared_bytes);
    if (h->cluster[0] * h->cluster[1] * h->cluster[2] > PORTABLE_CLUSTER)
        attribute(out, "NonPortableClusterSizeAllowed", function, 1);
    str_printf(out, "    {\n        void *arguments[] = {%s};\n", arguments);
    launch_attributes(out, h);
    str_printf(out,
               "        cudaLaunchConfig_t config = {.gridDim = {%lld, %lld, %lld},\n"
               "                                     .blockDim = {%lld, %lld, %lld},\n"
               "                                     .dynamicSmemBytes = %lld,\n"
               "                                     .stream = stream%s",
               (long long)h->grid[0], (long long)h->grid[1], (long long)h->grid[2],
               (long long)h->block[0], (long long)h->block[1], (long long)h->block[2],
               (long long)h->shared_bytes, n_attributes ? "," : "};\n");
    if (n_attributes)
        str_printf(out,
                   "\n                                     .attrs = attributes,\n"
                   "                                     .numAttrs = %d};\n",
                   n_attributes);
    str_printf(out,
               "        error = cudaLaunchKernelExC(&config, %s, arguments);\n"
               "        if (error != cudaSuccess)\n            return error;\n    }\n",
               function);
}

static void launch_step(struct arena *a, struct str *out, const struct export_view *e,
                        const struct plan_step *s) {
    const char *function = arena_printf(a, "(const void *)%s", s->function);
    if (export_cuda_takes_any(e))
        function = arena_printf(a, "is_any ? (const void *)%s_any : (const void *)%s", s->function,
                                s->function);
    struct str arguments = {0};
    for (int i = 0; i < s->n_args; i++)
        if (s->args[i] >= 0)
            str_printf(&arguments, "%s(void *)&buffers[%d]", i ? ", " : "", s->args[i]);
        else
            str_printf(&arguments, "%s&maps[%d]", i ? ", " : "", -1 - s->args[i]);
    launch(out, function, &s->shape, str_take(a, &arguments));
}

static void clear(struct str *out, const struct plan *plan, int buffer) {
    str_printf(out,
               "    error = cudaMemsetAsync(buffers[%d], 0, %lld, stream);  // %s\n"
               "    if (error != cudaSuccess)\n        return error;\n",
               buffer, (long long)plan->buffers[buffer].size_bytes, plan->buffers[buffer].name);
}

static void step(struct arena *a, struct str *out, const struct export_view *e, int number) {
    const struct plan_step *s = &e->plan->steps[number];
    if (s->kind == STEP_LAUNCH) {
        launch_step(a, out, e, s);
        return;
    }
    if (!needs_kernel(e->plan, s)) {
        clear(out, e->plan, s->fill_buffer);
        return;
    }
    const struct plan_shape shape = {.grid = {fill_blocks(e->plan, s), 1, 1},
                                     .block = {EXPORT_FILL_THREADS, 1, 1}};
    launch(out, arena_printf(a, "(const void *)%s_fill_%d", e->symbol, number), &shape,
           arena_printf(a, "(void *)&buffers[%d]", s->fill_buffer));
}

static void run_function(struct arena *a, struct str *out, const struct export_view *e) {
    const struct plan *plan = e->plan;
    str_puts(out, "// The plan's buffers:");
    for (int i = 0; i < plan->n_buffers; i++)
        str_printf(out, "%s %d %s", i ? "," : "", i, plan->buffers[i].name);
    str_printf(out,
               ".\nstatic int run_plan(void *const *buffers, cudaStream_t stream) {\n"
               "    cudaError_t error = cudaSuccess;\n"
               "    int is_any = 0;\n"
               "    for (int i = 0; i < %d; i++) {\n"
               "        if (!buffers[i])\n            return cudaErrorInvalidValue;\n"
               "        is_any |= (uintptr_t)buffers[i] %% %d != 0;\n    }\n%s",
               plan->n_buffers, alignment(e),
               export_cuda_takes_any(e)
                   ? ""
                   : "    if (is_any)\n        return cudaErrorMisalignedAddress;\n");
    if (plan->n_tensormaps)
        str_printf(out,
                   "    CUtensorMap maps[%d];\n    encode_fn encode;\n"
                   "    error = find_encoder(&encode);\n"
                   "    if (error != cudaSuccess)\n        return error;\n",
                   plan->n_tensormaps);
    for (int i = 0; i < plan->n_tensormaps; i++)
        encode_map(a, out, plan, i);
    for (int i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].is_zeroed)
            clear(out, plan, i);
    for (int i = 0; i < plan->n_steps; i++)
        step(a, out, e, i);
    str_puts(out, "    return error;\n}\n\n");
}

static void host_function(struct arena *a, struct str *out, const struct export_view *e) {
    const struct plan *plan = e->plan;
    const char *workspace = export_cuda_workspace(a, e);
    long long size = workspace_offset(plan, plan->n_buffers);
    str_printf(out, "size_t %s_workspace_bytes(void) {\n    return %lld;\n}\n\n", e->symbol, size);
    str_printf(out, "%s {\n", export_prototype(a, e));
    if (size == 0)
        str_printf(out, "    (void)%s;\n", workspace);
    else
        str_printf(out, "    if (!%s)\n        return cudaErrorInvalidValue;\n", workspace);
    str_puts(out, "    return run_plan((void *[]){");
    for (int i = 0; i < plan->n_buffers; i++) {
        const struct plan_buffer *b = &plan->buffers[i];
        const char *comma = i ? ", " : "";
        if (b->role == BUFFER_SCRATCH)
            str_printf(out, "%s(char *)%s + %lld", comma, workspace, workspace_offset(plan, i));
        else
            str_printf(out, "%s%s%s", comma, b->role == BUFFER_INPUT ? "(void *)" : "", b->name);
    }
    str_printf(out, "}, %s);\n}\n", export_cuda_stream(a, e));
}

const char *export_cuda_host(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    str_printf(&out,
               "// The steps of kernel.cu's plan, in order, on one stream.\n"
               "#include \"%s.h\"\n\n#include <stdint.h>\n%s\n",
               e->symbol, e->plan->n_tensormaps ? "\n#include <cuda.h>\n" : "");
    declarations(&out, e);
    if (e->plan->n_tensormaps)
        str_puts(&out, encoder_text);
    run_function(a, &out, e);
    host_function(a, &out, e);
    return str_take(a, &out);
}
