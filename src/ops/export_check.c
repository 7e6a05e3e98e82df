// check.c and samples.h of an exported directory.
#include <math.h>

#include "base/arena.h"
#include "base/str.h"
#include "hone_inputs.h"
#include "ir/inputs.h"
#include "ops/export_text.h"

// What input i is drawn from, as hone_inputs.h takes it.
static void draw_source(struct str *out, const struct export_view *e, int input) {
    const struct inputs_job job = {
        .problem = e->problem, .input = input, .seed = e->seed, .n_threads = 1};
    const struct hone_source s = inputs_source(&job);
    str_printf(out,
               "static const struct hone_source source_%d = {\n"
               "    .seed = UINT64_C(%llu), .input = %d, .kind = %d, .a = %af, .b = %af,\n"
               "    .lo = %d, .hi = %d, .step = %af, .promise = %d, .rows = %llu, .columns = %llu",
               input, (unsigned long long)s.seed, input, s.kind, s.a, s.b, s.lo, s.hi, s.step,
               s.promise, (unsigned long long)s.rows, (unsigned long long)s.columns);
    const char *before = ",\n    .odds = {";
    int n_odds = 0;
    for (int i = 0; i < (int)(sizeof s.odds / sizeof s.odds[0]); i++)
        n_odds = s.odds[i] ? i + 1 : n_odds;
    for (int i = 0; i < n_odds; i++, before = ", ")
        str_printf(out, "%s%uu", before, s.odds[i]);
    str_puts(out, n_odds ? "}};\n" : "};\n");
}

// A kernel that draws input i. Designated initializers are not CUDA's, so assignments.
static void draw_kernel(struct str *out, const struct export_view *e, int input) {
    const struct inputs_job job = {
        .problem = e->problem, .input = input, .seed = e->seed, .n_threads = 1};
    const struct hone_source s = inputs_source(&job);
    const struct node *n = &e->problem->graph.nodes[e->problem->inputs[input].node];
    str_printf(out,
               "\nHONE_KERNEL(256) check_draw_%d(void *to) {  // %s\n"
               "    struct hone_source s = {0};\n"
               "    s.seed = %lluull, s.input = %d, s.kind = %d, s.a = %af, s.b = %af;\n"
               "    s.lo = %d, s.hi = %d, s.step = %af, s.promise = %d;\n"
               "    s.rows = %lluull, s.columns = %lluull;\n",
               input, n->name, (unsigned long long)s.seed, input, s.kind, s.a, s.b, s.lo, s.hi,
               s.step, s.promise, (unsigned long long)s.rows, (unsigned long long)s.columns);
    for (int i = 0; i < (int)(sizeof s.odds / sizeof s.odds[0]); i++)
        if (s.odds[i])
            str_printf(out, "    s.odds[%d] = %uu;\n", i, s.odds[i]);
    str_printf(
        out,
        "    long long first = ((long long)hone_block() * 256 + hone_thread()) * 8;\n"
        "    for (long long i = first; i < first + 8 && i < %lld; i++)\n"
        "        stored_put(%d, to, (uint64_t)i, stored_drawn(%d, hone_input(&s, (uint64_t)i, "
        "%d)));\n}\n",
        (long long)shape_count(&n->shape), (int)n->dtype, (int)n->dtype, n->dtype == DTYPE_F64);
}

const char *export_cuda_draws(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    str_puts(&out, "// The check's inputs, drawn on the device: eight elements for each thread.\n"
                   "#include \"dev.h\"\n#include \"hone_inputs.h\"\n#include "
                   "\"hone_storage.h\"\n");
    for (int i = 0; i < e->problem->n_inputs; i++)
        if (!e->problem->inputs[i].maker)
            draw_kernel(&out, e, i);
    return str_take(a, &out);
}

static const struct node *input_node(const struct problem *p, int i) {
    return &p->graph.nodes[p->inputs[i].node];
}

static const struct node *output_node(const struct problem *p, int i) {
    return &p->graph.nodes[p->outputs[i].node];
}

static long long bytes_of(const struct node *n) {
    return (long long)dtype_size(n->dtype, shape_count(&n->shape));
}

// As hone_elements.h calls it: its enum has the order of ir/types.def.
static int type_of(const struct node *n) {
    return (int)n->dtype;
}

// The call, of arrays called in_0 ..., PREFIXout_0 ...
static void call(struct str *out, const struct export_view *e, const char *prefix) {
    const struct problem *p = e->problem;
    str_printf(out, "%s(", e->symbol);
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "%sin_%d", i ? ", " : "", i);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, ", %sout_%d", prefix, i);
}

// Drawn by every processor; or, where it is computed from hidden draws, read from its file.
static void make_input(struct str *out, const struct export_view *e, int i) {
    const struct node *n = input_node(e->problem, i);
    str_printf(out, "        void *in_%d = allocate(%lld);\n", i, bytes_of(n));
    if (e->problem->inputs[i].maker)
        str_printf(out, "        transfer(0, \".\", \"input_%d.bin\", in_%d, %lld);\n", i, i,
                   bytes_of(n));
    else
        str_printf(
            out,
            "#pragma omp parallel for schedule(static, 65536)\n"
            "        for (int64_t i = 0; i < %lld; i++)\n"
            "            hone_put(%d, in_%d, (long)i,\n"
            "                     hone_drawn(%d, hone_input(&source_%d, (uint64_t)i, %d)));\n",
            (long long)shape_count(&n->shape), type_of(n), i, type_of(n), i, n->dtype == DTYPE_F64);
}

// The same in device memory, drawn there.
static void make_device_input(struct str *out, const struct export_view *e, int i) {
    const struct node *n = input_node(e->problem, i);
    str_printf(out, "        void *in_%d = on_device(%lld);\n", i, bytes_of(n));
    if (e->problem->inputs[i].maker)
        str_printf(out,
                   "        void *host_%d = allocate(%lld);\n"
                   "        transfer(0, \".\", \"input_%d.bin\", host_%d, %lld);\n"
                   "        must(cudaMemcpy(in_%d, host_%d, %lld, cudaMemcpyHostToDevice),\n"
                   "             \"copy to the device\");\n        free(host_%d);\n",
                   i, bytes_of(n), i, i, bytes_of(n), i, i, bytes_of(n), i);
    else
        str_printf(out, "        draw((const void *)check_draw_%d, in_%d, %lld);\n", i, i,
                   (long long)shape_count(&n->shape));
}

static void write_input(struct str *out, const struct export_view *e, int i) {
    long long bytes = bytes_of(input_node(e->problem, i));
    if (!e->target->is_gpu) {
        str_printf(out, "            transfer(1, directory, \"input_%d.bin\", in_%d, %lld);\n", i,
                   i, bytes);
        return;
    }
    str_printf(out,
               "            void *host_%d = allocate(%lld);\n"
               "            must(cudaMemcpy(host_%d, in_%d, %lld, cudaMemcpyDeviceToHost),\n"
               "                 \"copy from the device\");\n"
               "            transfer(1, directory, \"input_%d.bin\", host_%d, %lld);\n"
               "            free(host_%d);\n",
               i, bytes, i, i, bytes, i, i, bytes, i);
}

static void device_call(struct str *out, const struct export_view *e) {
    const struct problem *p = e->problem;
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "        void *device_out_%d = on_device(%lld);\n", i,
                   bytes_of(output_node(p, i)));
    str_printf(out, "        void *workspace = on_device(%s_workspace_bytes());\n        must(",
               e->symbol);
    call(out, e, "device_");
    str_printf(out,
               ", workspace, 0), \"%s\");\n"
               "        must(cudaDeviceSynchronize(), \"run the kernels\");\n",
               e->symbol);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out,
                   "        must(cudaMemcpy(out_%d, device_out_%d, %lld,\n"
                   "                        cudaMemcpyDeviceToHost), \"copy from the device\");\n"
                   "        must(cudaFree(device_out_%d), \"free\");\n",
                   i, i, bytes_of(output_node(p, i)), i);
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "        must(cudaFree(in_%d), \"free\");\n", i);
    str_puts(out, "        must(cudaFree(workspace), \"free\");\n");
}

// Draws the inputs; writes them, or calls the function.
static void call_branch(struct str *out, const struct export_view *e) {
    const struct problem *p = e->problem;
    bool is_gpu = e->target->is_gpu;
    long long bytes = 0;
    for (int i = 0; i < p->n_inputs; i++)
        bytes += bytes_of(input_node(p, i));
    str_printf(out, "        say(\"%s: drawing %.4g MB of inputs%s\");\n", p->name,
               (double)bytes / 1e6, is_gpu ? " on the GPU" : "");
    for (int i = 0; i < p->n_inputs; i++)
        is_gpu ? make_device_input(out, e, i) : make_input(out, e, i);
    str_puts(out, "        if (mode == WRITE) {\n");
    for (int i = 0; i < p->n_inputs; i++)
        write_input(out, e, i);
    str_printf(out, "            return 0;\n        }\n        say(\"%s: calling it\");\n",
               p->name);
    if (is_gpu) {
        device_call(out, e);
        return;
    }
    str_puts(out, "        ");
    call(out, e, "");
    str_puts(out, ");\n");
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "        free(in_%d);\n", i);
}

static void main_function(struct str *out, const struct export_view *e) {
    const struct problem *p = e->problem;
    str_puts(out,
             "// Progress, for who waits at a terminal.\n"
             "static int is_quiet;\n"
             "static void say(const char *what) {\n"
             "    if (!is_quiet && isatty(2))\n"
             "        fprintf(stderr, \"%s\\n\", what);\n}\n\n"
             "int main(int argc, char **argv) {\n"
             "    enum { CALL, WRITE, READ } mode = CALL;\n"
             "    if (argc > 1 && strcmp(argv[1], \"--quiet\") == 0) {\n"
             "        is_quiet = 1;\n        argc--;\n        argv++;\n    }\n"
             "    const char *directory = argc == 3 ? argv[2] : \".\";\n"
             "    if (argc == 3 && strcmp(argv[1], \"--write\") == 0) {\n"
             "        mode = WRITE;\n"
             "    } else if (argc == 3 && strcmp(argv[1], \"--read\") == 0) {\n"
             "        mode = READ;\n"
             "    } else if (argc > 1) {\n"
             "        fprintf(stderr, \"usage: check [--quiet] [--write DIR | --read DIR]\\n\"\n"
             "                        \"--quiet: no progress on the terminal\\n\"\n"
             "                        \"--write: the inputs, as DIR/input_0.bin ...\\n\"\n"
             "                        \"--read: compare DIR/output_0.bin ... instead of "
             "calling the function\\n\");\n"
             "        return 2;\n    }\n");
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "    void *out_%d = allocate(%lld);\n", i, bytes_of(output_node(p, i)));
    str_puts(out, "    if (mode == READ) {\n");
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "        transfer(0, directory, \"output_%d.bin\", out_%d, %lld);\n", i, i,
                   bytes_of(output_node(p, i)));
    str_puts(out, "    } else {\n");
    call_branch(out, e);
    str_printf(out, "    }\n    say(\"%s: comparing\");\n    int ok = 1;\n", p->name);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out,
                   "    ok &= compare(\"%s\", %d, out_%d, samples_%d, sizeof samples_%d / sizeof "
                   "samples_%d[0]);\n    free(out_%d);\n",
                   p->outputs[i].name, type_of(output_node(p, i)), i, i, i, i, i);
    str_puts(out, "    puts(ok ? \"ok\" : \"WRONG\");\n    return !ok;\n}\n");
}

static const char device_text[] =
    "// What a CUDA call answers is said, and the end, unless it is success.\n"
    "static void must(int code, const char *what) {\n"
    "    if (code == cudaSuccess)\n        return;\n"
    "    fprintf(stderr, \"%s: %s (error %d)\\n\", what, cudaGetErrorString((cudaError_t)code), "
    "code);\n"
    "    exit(2);\n}\n\n"
    "// Filled with the same pattern.\n"
    "static void *on_device(size_t size) {\n"
    "    void *p = NULL;\n"
    "    if (size > 0) {\n"
    "        must(cudaMalloc(&p, size), \"allocate\");\n"
    "        must(cudaMemset(p, 0xff, size), \"fill\");\n"
    "    }\n    return p;\n}\n\n";

static const char transfer_text[] =
    "// A whole array, to or from a file.\n"
    "static void transfer(int writes, const char *directory, const char *name, void *data,\n"
    "                     size_t size) {\n"
    "    char path[4096];\n"
    "    snprintf(path, sizeof path, \"%s/%s\", directory, name);\n"
    "    FILE *f = fopen(path, writes ? \"wb\" : \"rb\");\n"
    "    if (!f || (writes ? fwrite(data, 1, size, f) : fread(data, 1, size, f)) != size || "
    "fclose(f)) {\n"
    "        fprintf(stderr, \"%s: cannot %s %zu bytes\\n\", path, writes ? \"write\" : \"read\", "
    "size);\n"
    "        exit(2);\n    }\n}\n\n";

static const char draw_text[] =
    "// Eight elements for each thread.\n"
    "static void draw(const void *kernel, void *to, long long count) {\n"
    "    long long blocks = (count + 2047) / 2048;\n"
    "    void *arguments[] = {&to};\n"
    "    cudaLaunchConfig_t config = {.gridDim = {(unsigned)blocks, 1, 1}, .blockDim = {256, 1, "
    "1}};\n"
    "    must(cudaLaunchKernelExC(&config, kernel, arguments), \"draw inputs\");\n}\n\n";

static const char compare_text[] =
    "// Filled with a pattern, so that an element that is not written shows.\n"
    "static void *allocate(long bytes) {\n"
    "    size_t size = ((size_t)bytes + 63) / 64 * 64;\n"
    "    void *p = aligned_alloc(64, size);\n"
    "    if (!p) {\n        fprintf(stderr, \"out of memory\\n\");\n        exit(2);\n"
    "    }\n    memset(p, 0xff, size);\n    return p;\n}\n\n"
    "// What rounds to the value is within the limit, so the value lies between the ends of that,\n"
    "// rounded.\n"
    "static int is_right(int type, double value, const struct sample *s, double *worst) {\n"
    "    double exact = hone_stored(type, s->expected);\n"
    "    if (value == exact || (isnan(value) && isnan(exact)))\n        return 1;\n"
    "    if (isnan(s->expected))\n        return 0;\n"
    "    if (isinf(s->limit))\n        return 1;\n"
    "    double low = hone_stored(type, s->expected - s->limit);\n"
    "    double high = hone_stored(type, s->expected + s->limit);\n"
    "    int ends = isnan(value) && (isnan(low) || isnan(high));\n"
    "    if (!ends && !(!(value < low) && !(value > high) && !isnan(value)))\n        return 0;\n"
    "    double error = fabs(value - s->expected) / s->limit;\n"
    "    if (error > *worst)\n        *worst = error > 1 ? 1 : error;\n"
    "    return 1;\n}\n\n"
    "static int compare(const char *name, int type, const void *got, const struct sample "
    "*samples,\n"
    "                   long n_samples) {\n"
    "    long n_wrong = 0;\n    double worst = 0;\n"
    "    for (long i = 0; i < n_samples; i++) {\n"
    "        const struct sample *s = &samples[i];\n"
    "        double value = hone_get(type, got, s->index);\n"
    "        if (is_right(type, value, s, &worst))\n            continue;\n"
    "        if (n_wrong++ < 5)\n"
    "            printf(\"%s[%ld] is %.9g, expected %.17g within %.3g\\n\", name, s->index,\n"
    "                   value, s->expected, s->limit);\n    }\n"
    "    printf(\"%s: %ld of %ld sampled elements right, largest error %.3g of its limit\\n\",\n"
    "           name, n_samples - n_wrong, n_samples, worst);\n"
    "    return n_wrong == 0;\n}\n\n";

const char *export_check(struct arena *a, const struct export_view *e) {
    const struct problem *p = e->problem;
    struct str out = {0};
    str_printf(&out,
               "// Draws the inputs anew from a stored seed, calls %s() and compares\n"
               "// elements spread over each output with what float64 gives. Exit status 0: ok.\n"
               "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
               "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\n"
               "#include \"hone_inputs.h\"\n#include \"hone_elements.h\"\n#include \"%s.h\"\n\n"
               "struct sample {\n    long index;\n    double expected, limit;\n};\n\n"
               "#include \"samples.h\"\n\n",
               e->symbol, e->symbol);
    for (int i = 0; i < p->n_inputs; i++)
        if (!p->inputs[i].maker && e->target->is_gpu)
            str_printf(&out, "void check_draw_%d(void);  // in draw.cu\n", i);
        else if (!p->inputs[i].maker)
            draw_source(&out, e, i);
    str_puts(&out, "\n");
    str_puts(&out, compare_text);
    str_puts(&out, transfer_text);
    if (e->target->is_gpu)
        str_printf(&out, "%s%s", device_text, draw_text);
    main_function(&out, e);
    return str_take(a, &out);
}

static void number(struct str *out, double value) {
    if (isnan(value))
        str_puts(out, "NAN");
    else if (isinf(value))
        str_puts(out, value > 0 ? "INFINITY" : "-INFINITY");
    else
        str_printf(out, "%a", value);
}

// The limit of one element is the judge's: its unit of error times the largest allowed; of integers
// how far they may be off.
static void sample_line(struct str *out, const struct oracle_output *o, int64_t index) {
    double unit = o->unit ? o->unit[index] : (double)o->spread[index];
    double most = dtype_is_float(o->type) ? o->stats.limit_max : 1;
    str_printf(out, "    {%lld, ", (long long)index);
    number(out, oracle_truth(o, index));
    str_puts(out, ", ");
    number(out, isnan(unit) ? INFINITY : unit * most);
    str_puts(out, "},\n");
}

// Spread evenly, first and last element among them.
const char *export_samples(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    for (int i = 0; i < e->problem->n_outputs; i++) {
        const struct oracle_output *o = &e->oracle->sets[SET_DECLARED].outputs[i];
        int64_t n = o->count < EXPORT_SAMPLES ? o->count : EXPORT_SAMPLES;
        str_printf(&out, "// %s: index, expected value, largest error allowed\n",
                   e->problem->outputs[i].name);
        str_printf(&out, "static const struct sample samples_%d[] = {\n", i);
        for (int64_t k = 0; k < n; k++)
            sample_line(&out, o,
                        n > 1 ? (int64_t)((double)k * (double)(o->count - 1) / (double)(n - 1))
                              : 0);
        str_puts(&out, "};\n");
    }
    return str_take(a, &out);
}
