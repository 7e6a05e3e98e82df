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

// The call, of arrays called PREFIXin_0, PREFIXout_0 ...
static void call(struct str *out, const struct export_view *e, const char *prefix) {
    const struct problem *p = e->problem;
    str_printf(out, "%s(", e->symbol);
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "%s%sin_%d", i ? ", " : "", prefix, i);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, ", %sout_%d", prefix, i);
}

// On a GPU the call works on copies of the arrays in device memory.
static void device_call(struct str *out, const struct export_view *e) {
    const struct problem *p = e->problem;
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out,
                   "    void *device_in_%d = on_device(%lld);\n"
                   "    must(cudaMemcpy(device_in_%d, in_%d, %lld,\n"
                   "                    cudaMemcpyHostToDevice), \"copy to the device\");\n",
                   i, bytes_of(input_node(p, i)), i, i, bytes_of(input_node(p, i)));
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "    void *device_out_%d = on_device(%lld);\n", i,
                   bytes_of(output_node(p, i)));
    str_printf(out, "    void *workspace = on_device(%s_workspace_bytes());\n    must(", e->symbol);
    call(out, e, "device_");
    str_printf(out,
               ", workspace, 0), \"%s\");\n"
               "    must(cudaDeviceSynchronize(), \"run the kernels\");\n",
               e->symbol);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out,
                   "    must(cudaMemcpy(out_%d, device_out_%d, %lld,\n"
                   "                    cudaMemcpyDeviceToHost), \"copy from the device\");\n",
                   i, i, bytes_of(output_node(p, i)));
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "    must(cudaFree(device_in_%d), \"free\");\n", i);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "    must(cudaFree(device_out_%d), \"free\");\n", i);
    str_puts(out, "    must(cudaFree(workspace), \"free\");\n");
}

// Drawn; or, where it is computed from hidden draws, read from its file.
static void make_input(struct str *out, const struct export_view *e, int i) {
    const struct node *n = input_node(e->problem, i);
    str_printf(out, "    void *in_%d = allocate(%lld);\n", i, bytes_of(n));
    if (e->problem->inputs[i].maker)
        str_printf(out, "    read_input(\"input_%d.bin\", in_%d, %lld);\n", i, i, bytes_of(n));
    else
        str_printf(out,
                   "    for (uint64_t i = 0; i < %lld; i++)\n"
                   "        hone_put(%d, in_%d, (long)i, hone_drawn(%d, hone_input(&source_%d, i, "
                   "%d)));\n",
                   (long long)shape_count(&n->shape), type_of(n), i, type_of(n), i,
                   n->dtype == DTYPE_F64);
}

static void main_function(struct str *out, const struct export_view *e) {
    const struct problem *p = e->problem;
    str_puts(out, "int main(void) {\n");
    for (int i = 0; i < p->n_inputs; i++)
        make_input(out, e, i);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "    void *out_%d = allocate(%lld);\n", i, bytes_of(output_node(p, i)));
    if (e->target->is_gpu) {
        device_call(out, e);
    } else {
        str_puts(out, "    ");
        call(out, e, "");
        str_puts(out, ");\n");
    }
    str_puts(out, "    int ok = 1;\n");
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out,
                   "    ok &= compare(\"%s\", %d, out_%d, samples_%d, sizeof samples_%d / sizeof "
                   "samples_%d[0]);\n",
                   p->outputs[i].name, type_of(output_node(p, i)), i, i, i, i);
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(out, "    free(in_%d);\n", i);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "    free(out_%d);\n", i);
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

static const char read_text[] =
    "// An input that is computed from draws that are not kept: its data lie beside this program.\n"
    "static void read_input(const char *name, void *to, size_t size) {\n"
    "    FILE *f = fopen(name, \"rb\");\n"
    "    if (!f || fread(to, 1, size, f) != size) {\n"
    "        fprintf(stderr, \"cannot read %s; run check in its own directory\\n\", name);\n"
    "        exit(2);\n    }\n    fclose(f);\n}\n\n";

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
    bool reads = false;
    str_printf(&out,
               "// Draws the inputs anew from a stored seed, calls %s() and compares\n"
               "// elements spread over each output with what float64 gives. Exit status 0: ok.\n"
               "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
               "#include <stdlib.h>\n#include <string.h>\n\n"
               "#include \"hone_inputs.h\"\n#include \"hone_elements.h\"\n#include \"%s.h\"\n\n"
               "struct sample {\n    long index;\n    double expected, limit;\n};\n\n"
               "#include \"samples.h\"\n\n",
               e->symbol, e->symbol);
    for (int i = 0; i < p->n_inputs; i++) {
        if (!p->inputs[i].maker)
            draw_source(&out, e, i);
        reads = reads || p->inputs[i].maker;
    }
    str_puts(&out, "\n");
    str_puts(&out, compare_text);
    if (reads)
        str_puts(&out, read_text);
    if (e->target->is_gpu)
        str_puts(&out, device_text);
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
