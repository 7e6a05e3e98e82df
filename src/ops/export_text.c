// Kernel with its sizes, host function, header, Makefile, README, PROOF.json.
#include "ops/export_text.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

static const struct node *input_node(const struct problem *p, int i) {
    return &p->graph.nodes[p->inputs[i].node];
}

static const struct node *output_node(const struct problem *p, int i) {
    return &p->graph.nodes[p->outputs[i].node];
}

static int64_t count_of(const struct node *n) {
    return shape_count(&n->shape);
}

static const char *shape_of(struct arena *a, const struct problem *p, const struct node *n) {
    return shape_print(a, &p->graph, &n->shape);
}

const char *export_prototype(struct arena *a, const struct export_view *e) {
    const struct problem *p = e->problem;
    struct str out = {0};
    str_printf(&out, "%s %s(", e->target->is_gpu ? "int" : "void", e->symbol);
    for (int i = 0; i < p->n_inputs; i++)
        str_printf(&out, "%sconst %s *%s", i ? ", " : "", dtype_c_name(input_node(p, i)->dtype),
                   input_node(p, i)->name);
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(&out, ", %s *%s", dtype_c_name(output_node(p, i)->dtype), p->outputs[i].name);
    if (e->target->is_gpu)
        str_printf(&out, ", void *%s, cudaStream_t %s", export_cuda_workspace(a, e),
                   export_cuda_stream(a, e));
    str_puts(&out, ")");
    return str_take(a, &out);
}

// Sizes are macros in the candidate's source; here they come with it.
const char *export_kernel(struct arena *a, const struct export_view *e) {
    const struct graph *g = &e->problem->graph;
    struct str out = {0};
    for (int i = 0; i < g->n_dims; i++)
        str_printf(&out, "#ifndef %s\n#define %s %lld\n#endif\n", g->dims[i].name, g->dims[i].name,
                   (long long)g->dims[i].size);
    str_puts(&out, "\n");
    str_puts(&out, e->champion->candidate.source);
    if (e->target->is_gpu)
        export_cuda_fills(&out, e);
    return str_take(a, &out);
}

static const char *const cpu_notes =
    "; the last axis is fastest. Outputs overlap nothing. Arrays at\n"
    "// multiples of 64 bytes are used in place, others are copied first.\n";

static const char *const gpu_notes =
    "; the last axis is fastest. Outputs overlap nothing.\n"
    "// Arrays are in device memory, as cudaMalloc aligns them, and so is the workspace, whose\n"
    "// contents do not matter and which calls at the same time may not share (NULL where its "
    "size\n"
    "// is 0). The work is put on the stream; 0 or the cudaError_t of the call that failed.\n";

// One argument: its C type and shape; what the type stands for where C has no such type.
static void describe(struct arena *a, struct str *out, const struct export_view *e,
                     const char *name, const char *way, const struct node *n) {
    const char *note = dtype_c_note(n->dtype);
    str_printf(out, "//   %-12s %s  %s%s, %lld elements", name, way, dtype_c_name(n->dtype),
               shape_of(a, e->problem, n), (long long)count_of(n));
    if (note)
        str_printf(out, " of %s (%s)", dtype_name(n->dtype), note);
    str_puts(out, "\n");
}

const char *export_header(struct arena *a, const struct export_view *e) {
    const struct problem *p = e->problem;
    struct str out = {0};
    str_printf(&out, "// %s: found and verified by hone; see README.txt and PROOF.json.\n//\n",
               p->name);
    for (int i = 0; i < p->n_inputs; i++)
        describe(a, &out, e, input_node(p, i)->name, "in ", input_node(p, i));
    for (int i = 0; i < p->n_outputs; i++)
        describe(a, &out, e, p->outputs[i].name, "out", output_node(p, i));
    str_puts(&out, "//\n// with");
    for (int i = 0; i < p->graph.n_dims; i++)
        str_printf(&out, "%s %s = %lld", i ? "," : "", p->graph.dims[i].name,
                   (long long)p->graph.dims[i].size);
    str_puts(&out, e->target->is_gpu ? gpu_notes : cpu_notes);
    str_puts(&out, "#pragma once\n\n");
    if (e->target->is_gpu)
        str_puts(&out, "#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n");
    str_puts(&out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    if (e->target->is_gpu)
        str_printf(&out, "size_t %s_workspace_bytes(void);\n", e->symbol);
    str_printf(&out, "%s;\n\n#ifdef __cplusplus\n}\n#endif\n", export_prototype(a, e));
    return str_take(a, &out);
}

// ---- the host function

static void host_declarations(struct str *out, const struct plan *plan) {
    for (int s = 0; s < plan->n_steps; s++) {
        const struct plan_step *step = &plan->steps[s];
        bool seen = step->kind != STEP_LAUNCH;
        for (int t = 0; t < s && !seen; t++)
            seen = plan->steps[t].kind == STEP_LAUNCH &&
                   strcmp(plan->steps[t].function, step->function) == 0;
        if (seen)
            continue;
        str_printf(out, "void %s(long block", step->function);
        for (int i = 0; i < step->n_args; i++) {
            const struct plan_buffer *b = &plan->buffers[step->args[i]];
            str_printf(out, ", %s%s *", b->role == BUFFER_INPUT ? "const " : "",
                       dtype_c_name(b->type));
        }
        str_puts(out, ");\n");
    }
}

static void host_step(struct str *out, const struct plan *plan, const struct plan_step *step) {
    if (step->kind == STEP_FILL) {
        const struct plan_buffer *b = &plan->buffers[step->fill_buffer];
        if (b->type == DTYPE_F32)
            str_printf(out, "    for (long i = 0; i < %lld; i++)\n        b_%s[i] = %af;\n",
                       (long long)(b->size_bytes / 4), b->name, step->fill_value);
        else
            str_printf(out,
                       "    for (long i = 0; i < %lld; i++)  // %s: %g\n"
                       "        ((unsigned char *)b_%s)[i] = "
                       "(unsigned char)(UINT64_C(0x%016llx) >> (i %% 8 * 8));\n",
                       (long long)b->size_bytes, dtype_name(b->type), step->fill_value, b->name,
                       (unsigned long long)plan_fill_word(b->type, step->fill_value));
        return;
    }
    str_printf(out,
               "#pragma omp parallel for schedule(dynamic)\n"
               "    for (long block = 0; block < %lld; block++)\n        %s(block",
               (long long)step->grid, step->function);
    for (int i = 0; i < step->n_args; i++)
        str_printf(out, ", b_%s", plan->buffers[step->args[i]].name);
    str_puts(out, ");\n");
}

static void host_enter(struct str *out, const struct plan_buffer *b) {
    long long size = (long long)b->size_bytes;
    const char *type = dtype_c_name(b->type);
    if (b->role == BUFFER_SCRATCH)
        str_printf(out, "    %s *b_%s = allocate(%lld);\n", type, b->name, size);
    else if (b->role == BUFFER_INPUT)
        str_printf(out,
                   "    %s *copy_%s = is_aligned(%s) ? 0 : allocate(%lld);\n"
                   "    const %s *b_%s = copy_%s ? memcpy(copy_%s, %s, %lld) : %s;\n",
                   type, b->name, b->name, size, type, b->name, b->name, b->name, b->name, size,
                   b->name);
    else
        str_printf(out,
                   "    %s *copy_%s = is_aligned(%s) ? 0 : allocate(%lld);\n"
                   "    %s *b_%s = copy_%s ? copy_%s : %s;\n",
                   type, b->name, b->name, size, type, b->name, b->name, b->name, b->name);
    if (b->role == BUFFER_SCRATCH && b->is_zeroed)
        str_printf(out, "    memset(b_%s, 0, %lld);\n", b->name, size);
}

static void host_leave(struct str *out, const struct plan_buffer *b) {
    if (b->role == BUFFER_SCRATCH) {
        str_printf(out, "    free(b_%s);\n", b->name);
        return;
    }
    if (b->role == BUFFER_OUTPUT)
        str_printf(out, "    if (copy_%s)\n        memcpy(%s, copy_%s, %lld);\n", b->name, b->name,
                   b->name, (long long)b->size_bytes);
    str_printf(out, "    free(copy_%s);\n", b->name);
}

const char *export_host(struct arena *a, const struct export_view *e) {
    const struct plan *plan = e->plan;
    struct str out = {0};
    if (e->target->is_gpu)
        return export_cuda_host(a, e);
    str_printf(&out,
               "// The launches of kernel.c, in order; blocks of one launch run in parallel.\n"
               "#include \"%s.h\"\n\n#include <stdint.h>\n#include <stdio.h>\n#include "
               "<stdlib.h>\n#include <string.h>\n\n",
               e->symbol);
    host_declarations(&out, plan);
    str_puts(&out, "\nstatic int is_aligned(const void *p) {\n"
                   "    return (uintptr_t)p % 64 == 0;\n}\n\n"
                   "static void *allocate(size_t size) {\n"
                   "    void *p = aligned_alloc(64, (size + 63) / 64 * 64);\n"
                   "    if (!p) {\n        fprintf(stderr, \"out of memory\\n\");\n"
                   "        abort();\n    }\n    return p;\n}\n\n");
    str_printf(&out, "%s {\n", export_prototype(a, e));
    for (int i = 0; i < plan->n_buffers; i++)
        host_enter(&out, &plan->buffers[i]);
    for (int i = 0; i < plan->n_steps; i++)
        host_step(&out, plan, &plan->steps[i]);
    for (int i = 0; i < plan->n_buffers; i++)
        host_leave(&out, &plan->buffers[i]);
    str_puts(&out, "}\n");
    return str_take(a, &out);
}

// ---- texts for people

const char *export_makefile(struct arena *a, const struct export_view *e) {
    const char *s = e->symbol;
    if (e->target->is_gpu)
        return export_cuda_makefile(a, e);
    return arena_printf(
        a,
        "# make, then ./check. OPENMP= builds for one thread.\n"
        "CC ?= cc\n"
        "CFLAGS ?= -O3 -march=native\n"
        "OPENMP ?= -fopenmp\n"
        "FLAGS = -std=gnu17 -fno-math-errno -fno-trapping-math -Wno-unknown-pragmas\n\n"
        "all: check lib%s.a\n\n"
        "check: check.o lib%s.a\n"
        "\t$(CC) $(CFLAGS) $(OPENMP) -o $@ check.o lib%s.a -lm\n"
        "lib%s.a: kernel.o %s.o\n"
        "\t$(AR) rcs $@ kernel.o %s.o\n"
        "%%.o: %%.c\n"
        "\t$(CC) $(FLAGS) $(CFLAGS) $(OPENMP) -c -o $@ $<\n"
        "check.o: samples.h %s.h hone_rng.h hone_inputs.h hone_elements.h\n"
        "%s.o: %s.h\n\n"
        "clean:\n\trm -f *.o *.a check\n"
        ".PHONY: all clean\n",
        s, s, s, s, s, s, s, s, s);
}

const char *export_readme(struct arena *a, const struct export_view *e) {
    const struct run *r = &e->view->run;
    const struct measurement *m = &r->confirm;
    struct str out = {0};
    str_printf(&out, "%s, exported by hone %s (run %lld, node %d)\n\n", r->problem_name,
               HONE_VERSION, (long long)r->id, e->champion->number);
    str_printf(&out,
               "    make\n    ./check\n\n"
               "check draws the stored inputs anew, calls %s() and compares up to\n"
               "%d elements of each output with values computed in float64. It exits with\n"
               "0 when all are within what honest arithmetic in the declared precision gives.\n\n",
               e->symbol, EXPORT_SAMPLES);
    str_printf(&out, "Use: include %s.h, link lib%s.a (%s):\n\n    %s;\n\n", e->symbol, e->symbol,
               e->target->is_gpu ? "and the CUDA runtime" : "with -fopenmp",
               export_prototype(a, e));
    str_printf(&out, "Measured on %s:\n", r->device);
    if (r->speedup_unknown)
        str_printf(&out, "%.4g ms. The speed-up over the baseline is unknown:\n%s.\n\n",
                   m->median_s * 1e3, r->speedup_unknown);
    else
        str_printf(&out,
                   "%.4g ms, %.2f times faster than %s (%.2f to %.2f at %.0f%% confidence,\n"
                   "%d pairs).\n\n",
                   m->median_s * 1e3, m->speedup, m->baseline, m->speedup_low, m->speedup_high,
                   100 * m->confidence, m->n_pairs);
    str_printf(&out, "%-13s what was searched for: the kernel, with its plan\n",
               e->target->is_gpu ? "kernel.cu" : "kernel.c");
    str_printf(&out, "%-13s the host function that runs the plan\n",
               arena_printf(a, "%s.c, .h", e->symbol));
    str_puts(&out, "check.c       the check; samples.h holds what it expects\n"
                   "PROOF.json    bound, samples, checks, versions, how to repeat it\n\n"
                   "This code is yours, without conditions.\n");
    return str_take(a, &out);
}

const char *export_proof(struct arena *a, const struct export_view *e) {
    const struct run *r = &e->view->run;
    json_t *result = report_result_json(e->view);
    json_t *repeat = json_pack(
        "{s:s, s:s, s:s}", "check", "make && ./check", "search",
        arena_printf(a,
                     "hone optimize problem.hone --target %s --policy %s --proposer %s --seed %llu"
                     "%s%s",
                     r->target, r->policy, r->proposer, (unsigned long long)r->seed,
                     r->start.source ? " --start " : "", r->start.source ? r->start.label : ""),
        "problem_file", "problem.hone");
    json_t *proof = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "schema", "hone.proof/1", "version", r->version, "problem", "name", r->problem_name, "text",
        r->problem_text, "hash", r->problem_hash, "target", r->target, "device", r->device,
        "source_hash", e->champion->candidate.hash, "baseline",
        json_string_value(json_object_get(result, "baseline")), "kernel",
        json_optional_text(e->champion->candidate.kernel), "bound",
        json_incref(json_object_get(result, "bound")), "speedup",
        json_incref(json_object_get(result, "speedup")), "reach",
        json_incref(json_object_get(result, "reach")), "measurement",
        measurement_to_json(&r->confirm), "verdict", verdict_to_json(&r->confirm_verdict), "repeat",
        repeat, "compiler", json_optional_text(e->compiler));
    json_object_set_new(proof, "speedup_unknown", json_optional_text(r->speedup_unknown));
    json_decref(result);
    const char *text = json_print_pretty(a, proof);
    json_decref(proof);
    return arena_printf(a, "%s\n", text);
}
