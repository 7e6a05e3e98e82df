// SYMBOL.c of an exported directory for a CPU: the plan's launches, in order.
//
// Callers have pointers as malloc and NumPy give them, at multiples of 16 bytes. Kernels of our
// families load and store vectors wherever an element may be, so arrays are used in place. Only
// stores past the caches need whole vectors; a kernel with such is compiled a second time
// (kernel_any.c), with parts of 16 or of 4 bytes in their place, for outputs that are not aligned.
// Hand-written source was verified with aligned arrays alone and may rely on it: others are copied.
//
// Scratch is one block that calls keep: a fresh one would be pages that fault, at each call.
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "ops/export_text.h"

enum { ALIGN = 64, CLEAR_BYTES = 1 << 18 };

bool export_takes_any(const struct export_view *e) {
    return e->champion->candidate.tier == TIER_K;
}

bool export_streams(const struct export_view *e) {
    return !e->target->is_gpu && export_takes_any(e) &&
           strstr(e->champion->candidate.source, "hone_stream") != NULL;
}

// Names in the library begin with the symbol, so that a program can have two of them.
static const char *function_name(struct arena *a, const struct export_view *e, const char *function,
                                 bool any) {
    return arena_printf(a, "%s_%s%s", e->symbol, function, any ? "_any" : "");
}

static bool is_first_launch(const struct plan *plan, int step) {
    for (int i = 0; i < step; i++)
        if (plan->steps[i].kind == STEP_LAUNCH &&
            strcmp(plan->steps[i].function, plan->steps[step].function) == 0)
            return false;
    return plan->steps[step].kind == STEP_LAUNCH;
}

void export_renames(struct arena *a, struct str *out, const struct export_view *e) {
    for (int i = 0; i < e->plan->n_steps; i++)
        if (is_first_launch(e->plan, i)) {
            const char *function = e->plan->steps[i].function;
            str_printf(out, "#ifndef %s\n#define %s %s\n#endif\n", function, function,
                       function_name(a, e, function, false));
        }
}

const char *export_kernel_any(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    str_puts(&out, "// kernel.c again, for outputs that begin anywhere.\n"
                   "#define HONE_STREAM_ANY\n");
    for (int i = 0; i < e->plan->n_steps; i++)
        if (is_first_launch(e->plan, i)) {
            const char *function = e->plan->steps[i].function;
            str_printf(&out, "#define %s %s\n", function, function_name(a, e, function, true));
        }
    str_puts(&out, "#include \"kernel.c\"\n");
    return str_take(a, &out);
}

// ---- the host function

static void declare(struct arena *a, struct str *out, const struct export_view *e, int step,
                    bool any) {
    const struct plan_step *s = &e->plan->steps[step];
    str_printf(out, "void %s(long block", function_name(a, e, s->function, any));
    for (int i = 0; i < s->n_args; i++) {
        const struct plan_buffer *b = &e->plan->buffers[s->args[i]];
        str_printf(out, ", %s%s *", b->role == BUFFER_INPUT ? "const " : "", dtype_c_name(b->type));
    }
    str_puts(out, ");\n");
}

static void launch_call(struct arena *a, struct str *out, const struct export_view *e,
                        const struct plan_step *s, bool any) {
    str_printf(out, "%s(block", function_name(a, e, s->function, any));
    for (int i = 0; i < s->n_args; i++)
        str_printf(out, ", b_%s", e->plan->buffers[s->args[i]].name);
    str_puts(out, ");\n");
}

static void fill(struct str *out, const struct plan *plan, const struct plan_step *s) {
    const struct plan_buffer *b = &plan->buffers[s->fill_buffer];
    str_puts(out, "#pragma omp parallel for schedule(static)\n");
    if (b->type == DTYPE_F32)
        str_printf(out, "    for (long i = 0; i < %lld; i++)\n        b_%s[i] = %af;\n",
                   (long long)(b->size_bytes / 4), b->name, s->fill_value);
    else
        str_printf(out,
                   "    for (long i = 0; i < %lld; i++)  // %s: %g\n"
                   "        ((unsigned char *)b_%s)[i] = "
                   "(unsigned char)(UINT64_C(0x%016llx) >> (i %% 8 * 8));\n",
                   (long long)b->size_bytes, dtype_name(b->type), s->fill_value, b->name,
                   (unsigned long long)plan_fill_word(b->type, s->fill_value));
}

static void step(struct arena *a, struct str *out, const struct export_view *e, int number) {
    const struct plan_step *s = &e->plan->steps[number];
    if (s->kind == STEP_FILL) {
        fill(out, e->plan, s);
        return;
    }
    str_printf(out,
               "#pragma omp parallel for schedule(dynamic)\n"
               "    for (long block = 0; block < %lld; block++)\n        ",
               (long long)s->grid);
    if (export_streams(e)) {
        str_puts(out, "if (hone_any)\n            ");
        launch_call(a, out, e, s, true);
        str_puts(out, "        else\n            ");
    }
    launch_call(a, out, e, s, false);
}

// Where a scratch buffer begins in the workspace; for n_buffers, how large that is.
static long long scratch_offset(const struct plan *plan, int buffer) {
    int64_t at = 0;
    for (int i = 0; i < buffer; i++)
        if (plan->buffers[i].role == BUFFER_SCRATCH)
            at += (plan->buffers[i].size_bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static void enter_scratch(struct str *out, const struct plan *plan, int buffer) {
    const struct plan_buffer *b = &plan->buffers[buffer];
    long long size = (long long)b->size_bytes;
    const char *type = dtype_c_name(b->type);
    str_printf(out, "    %s *b_%s = (%s *)(hone_workspace + %lld);\n", type, b->name, type,
               scratch_offset(plan, buffer));
    if (b->is_zeroed)
        str_printf(out,
                   "#pragma omp parallel for schedule(static)\n"
                   "    for (long i = 0; i < %lld; i += %d)\n"
                   "        memset((char *)b_%s + i, 0, %lld - i < %d ? %lld - i : %d);\n",
                   size, CLEAR_BYTES, b->name, size, CLEAR_BYTES, size, CLEAR_BYTES);
}

static void enter(struct str *out, const struct export_view *e, int buffer) {
    const struct plan_buffer *b = &e->plan->buffers[buffer];
    long long size = (long long)b->size_bytes;
    const char *type = dtype_c_name(b->type), *name = b->name;
    const char *qualifier = b->role == BUFFER_INPUT ? "const " : "";
    if (b->role == BUFFER_SCRATCH)
        enter_scratch(out, e->plan, buffer);
    else if (export_takes_any(e))
        str_printf(out, "    %s%s *b_%s = %s;\n", qualifier, type, name, name);
    else if (b->role == BUFFER_INPUT)
        str_printf(out,
                   "    %s *copy_%s = is_aligned(%s) ? 0 : allocate(%lld);\n"
                   "    const %s *b_%s = copy_%s ? memcpy(copy_%s, %s, %lld) : %s;\n",
                   type, name, name, size, type, name, name, name, name, size, name);
    else
        str_printf(out,
                   "    %s *copy_%s = is_aligned(%s) ? 0 : allocate(%lld);\n"
                   "    %s *b_%s = copy_%s ? copy_%s : %s;\n",
                   type, name, name, size, type, name, name, name, name);
}

static void leave(struct str *out, const struct export_view *e, const struct plan_buffer *b) {
    if (b->role == BUFFER_SCRATCH || export_takes_any(e))
        return;
    if (b->role == BUFFER_OUTPUT)
        str_printf(out, "    if (copy_%s)\n        memcpy(%s, copy_%s, %lld);\n", b->name, b->name,
                   b->name, (long long)b->size_bytes);
    str_printf(out, "    free(copy_%s);\n", b->name);
}

static void helpers(struct str *out, const struct export_view *e) {
    bool has_scratch = scratch_offset(e->plan, e->plan->n_buffers) > 0;
    if (export_streams(e) || !export_takes_any(e))
        str_printf(out,
                   "\nstatic int is_aligned(const void *p) {\n"
                   "    return (uintptr_t)p %% %d == 0;\n}\n",
                   ALIGN);
    if (has_scratch || !export_takes_any(e))
        str_printf(out,
                   "\nstatic void *allocate(size_t size) {\n"
                   "    void *p = aligned_alloc(%d, (size + %d) / %d * %d);\n"
                   "    if (!p) {\n        fprintf(stderr, \"%s: out of memory\\n\");\n"
                   "        abort();\n    }\n    return p;\n}\n",
                   ALIGN, ALIGN - 1, ALIGN, ALIGN, e->symbol);
    if (has_scratch)
        str_puts(out, "\n// Scratch memory that no call is using: taken, and given back. Calls at "
                      "the same time each\n// have their own.\n"
                      "static _Atomic(void *) hone_kept;\n");
    str_puts(out, "\n");
}

static void body(struct arena *a, struct str *out, const struct export_view *e) {
    const struct plan *plan = e->plan;
    long long scratch = scratch_offset(plan, plan->n_buffers);
    if (export_streams(e)) {
        const char *before = "    const int hone_any = !(";
        for (int i = 0; i < plan->n_buffers; i++)
            if (plan->buffers[i].role == BUFFER_OUTPUT) {
                str_printf(out, "%sis_aligned(%s)", before, plan->buffers[i].name);
                before = " && ";
            }
        str_puts(out, ");\n");
    }
    if (scratch)
        str_printf(out,
                   "    char *hone_workspace = atomic_exchange(&hone_kept, NULL);\n"
                   "    if (!hone_workspace)\n        hone_workspace = allocate(%lld);\n",
                   scratch);
    for (int i = 0; i < plan->n_buffers; i++)
        enter(out, e, i);
    for (int i = 0; i < plan->n_steps; i++)
        step(a, out, e, i);
    for (int i = 0; i < plan->n_buffers; i++)
        leave(out, e, &plan->buffers[i]);
    if (scratch)
        str_puts(out, "    free(atomic_exchange(&hone_kept, hone_workspace));\n");
}

const char *export_host(struct arena *a, const struct export_view *e) {
    struct str out = {0};
    if (e->target->is_gpu)
        return export_cuda_host(a, e);
    str_printf(&out,
               "// The launches of kernel.c, in order; blocks of one launch run in parallel.\n"
               "#include \"%s.h\"\n\n#include <stdatomic.h>\n#include <stdint.h>\n"
               "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
               e->symbol);
    for (int i = 0; i < e->plan->n_steps; i++)
        if (is_first_launch(e->plan, i)) {
            declare(a, &out, e, i, false);
            if (export_streams(e))
                declare(a, &out, e, i, true);
        }
    helpers(&out, e);
    str_printf(&out, "%s {\n", export_prototype(a, e));
    body(a, &out, e);
    str_puts(&out, "}\n");
    return str_take(a, &out);
}
