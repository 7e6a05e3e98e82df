// Kernel with its sizes, header, README, PROOF.json.
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
    if (!e->target->is_gpu)
        export_renames(a, &out, e);
    str_puts(&out, "\n");
    str_puts(&out, e->champion->candidate.source);
    if (e->target->is_gpu)
        export_cuda_fills(&out, e);
    return str_take(a, &out);
}

static const char *const cpu_notes =
    "; the last axis is fastest. Outputs overlap nothing. Arrays\n"
    "// may begin wherever an element may: they are used in place.\n";

static const char *const cpu_source_notes =
    "; the last axis is fastest. Outputs overlap nothing. Arrays at\n"
    "// multiples of 64 bytes are used in place. Others are copied, which takes time: the kernel "
    "was\n"
    "// written by hand and verified with aligned arrays alone.\n";

static const char *const gpu_notes =
    "; the last axis is fastest. Outputs overlap nothing.\n"
    "// Arrays are in device memory, and so is the workspace, as cudaMalloc aligns it, whose\n"
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
    if (e->target->is_gpu)
        str_printf(&out, "%s%s", gpu_notes, export_cuda_alignment_note(a, e));
    else
        str_puts(&out, export_takes_any(e) ? cpu_notes : cpu_source_notes);
    str_puts(&out, "#pragma once\n\n");
    if (e->target->is_gpu)
        str_puts(&out, "#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n");
    str_puts(&out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    if (e->target->is_gpu)
        str_printf(&out, "size_t %s_workspace_bytes(void);\n", e->symbol);
    str_printf(&out, "%s;\n\n#ifdef __cplusplus\n}\n#endif\n", export_prototype(a, e));
    return str_take(a, &out);
}

// ---- texts for people

// A kernel is for its sizes, and built for where make runs.
static void put_scope(struct str *out, const struct export_view *e) {
    const struct graph *g = &e->problem->graph;
    str_puts(out, "It is for these sizes alone:");
    for (int i = 0; i < g->n_dims; i++)
        str_printf(out, "%s %s = %lld", i ? "," : "", g->dims[i].name, (long long)g->dims[i].size);
    str_puts(out, g->n_dims ? ".\n" : " those that the header states.\n");
    if (!e->target->is_gpu)
        str_puts(out,
                 "make compiles it for the processor that make runs on (-march=native, CFLAGS).\n");
    str_puts(out, "\n");
}

const char *export_readme(struct arena *a, const struct export_view *e) {
    const struct run *r = &e->view->run;
    const struct measurement *m = e->measurement;
    struct str out = {0};
    str_printf(&out, "%s, exported by hone %s (run %lld, node %d)\n\n", r->problem_name,
               HONE_VERSION, (long long)r->id, e->champion->number);
    str_printf(&out,
               "    make\n    ./check\n\n"
               "check draws the stored inputs anew, calls %s() and compares up to\n"
               "%d elements of each output with values computed in float64. It exits with\n"
               "0 when all are within what honest arithmetic in the declared precision gives.\n\n",
               e->symbol, EXPORT_SAMPLES);
    put_scope(&out, e);
    str_printf(&out, "make test runs Python's test too. Use, from C:\n\n    %s;\n\n",
               export_prototype(a, e));
    str_printf(&out,
               "include %s.h and link lib%s.a%s, or lib%s.so; or, with this directory in\n"
               "PKG_CONFIG_PATH, cc ... $(pkg-config --cflags --libs %s). From Python, with this\n"
               "directory in PYTHONPATH, from %s import %s; %s.py says what it takes.\n"
               "make install PREFIX=DIR puts header, libraries and the pkg-config file there.\n\n",
               e->symbol, e->symbol,
               e->target->is_gpu ? " (and the CUDA runtime)" : " (with -fopenmp -lm)", e->symbol,
               e->symbol, e->symbol, e->symbol, e->symbol);
    const char *width = measurement_width_text(a, m->speedup_low, m->speedup_high);
    str_printf(&out, "Measured on %s:\n", r->device);
    if (e->is_confirmed && r->speedup_unknown)
        str_printf(&out, "%.4g ms. The speed-up over the baseline is unknown:\n%s.\n\n",
                   m->median_s * 1e3, r->speedup_unknown);
    else
        str_printf(&out,
                   "%.4g ms, %.2f times faster than %s (%s%.2f to %.2f at %.0f%%\n"
                   "confidence%s%s%s).\n\n",
                   m->median_s * 1e3, m->speedup, m->baseline,
                   measurement_compare(m) ? "" : "not resolved: ", m->speedup_low, m->speedup_high,
                   100 * m->confidence,
                   m->n_pairs > 0 ? arena_printf(a, ", %d pairs", m->n_pairs) : ", from a table",
                   width ? "; " : "", width ? width : "");
    if (!e->is_confirmed)
        str_puts(&out,
                 "It was verified and timed once, and not confirmed on fresh data as a run's\n"
                 "champion is: of many candidates the one that looks best looks a little\n"
                 "better than it is.\n\n");
    str_printf(&out, "%-13s what was searched for: the kernel, with its plan\n",
               e->target->is_gpu ? "kernel.cu" : "kernel.c");
    str_printf(&out, "%-13s the host function that runs the plan\n",
               arena_printf(a, "%s.c, .h", e->symbol));
    str_printf(&out, "%-13s Python's way to call it, and its test\n",
               arena_printf(a, "%s.py", e->symbol));
    if (export_streams(e))
        str_puts(&out,
                 "kernel_any.c  the same for arrays at addresses that the first cannot take\n");
    str_puts(&out, "check.c       the check; samples.h holds what it expects\n"
                   "hone_*.h      what kernel and check include; Makefile builds all of it\n"
                   "PROOF.json    bound, samples, checks, versions, how to repeat it\n\n"
                   "This code is yours, without conditions.\n");
    return str_take(a, &out);
}

const char *export_proof(struct arena *a, const struct export_view *e,
                         const struct export_files *files) {
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
        e->is_confirmed ? json_incref(json_object_get(result, "speedup")) : json_null(), "reach",
        e->is_confirmed ? json_incref(json_object_get(result, "reach")) : json_null(),
        "measurement", measurement_to_json(e->measurement), "verdict", verdict_to_json(e->verdict),
        "repeat", repeat, "compiler", json_optional_text(e->compiler));
    json_object_set_new(proof, "is_confirmed", json_boolean(e->is_confirmed));
    json_object_set_new(proof, "speedup_unknown",
                        json_optional_text(e->is_confirmed ? r->speedup_unknown : NULL));
    json_object_set_new(proof, "symbol", json_string(e->symbol));
    json_t *names = json_array();
    for (int i = 0; i < files->n; i++)
        json_array_append_new(names, json_string(files->names[i]));
    json_object_set_new(proof, "files", names);
    json_decref(result);
    const char *text = json_print_pretty(a, proof);
    json_decref(proof);
    return arena_printf(a, "%s\n", text);
}
