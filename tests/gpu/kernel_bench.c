// kernel-bench [options] FILE.hone: lower a problem for GPU 0, build it with NVRTC, run it,
// compare it with the reference and time it. For work on the families; no judge is involved.
//
//   --dim M=64,N=32   sizes in place of the file's
//   --check           compare with the reference (slow for large problems)
//   --climb N         from the default block N times to the fastest of its moves
//   --plain           the baseline too
//
// One line per block: microseconds (median of cold launches), GB/s of the least traffic,
// TFLOP/s, registers, blocks per multiprocessor, the block itself.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/dev_headers.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "calibrate/ceilings_cuda.h"
#include "family/lower.h"
#include "family/moves.h"
#include "family/plain.h"
#include "family/program.h"
#include "gpu/cuda.h"
#include "gpu/nvrtc.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "loop/passes.h"
#include "loop/print_cuda.h"
#include "loop/print_text.h"
#include "loop/range.h"
#include "model/bound.h"
#include "ops/op_problem.h"

enum { SETS_MAX = 8, LAUNCHES = 40, WARM_UP = 5, ENTRIES_MAX = 64, BUFFERS_MAX = 512 };

struct options {
    const char *file, *dims;
    bool check, plain;
    int climb;
};

struct bench {
    struct cuda cu;
    struct nvrtc nvrtc;
    struct target target;
    struct problem *problem;
    float *inputs[INPUTS_MAX];
    struct interpret_result truth;
    bool has_truth;
    // Several sets of inputs and outputs, used in turn, so that caches are cold.
    cuda_pointer set[SETS_MAX][INPUTS_MAX + OUTPUTS_MAX];
    int n_sets;
    cuda_event start, stop;
    double least_bytes, flops;
};

static void die(const struct error *err) {
    fprintf(stderr, "kernel-bench: %s\n", err->text);
    exit(err->kind == ERROR_UNSUPPORTED ? 3 : 4);
}

static void ok(struct bench *b, cuda_result result, const char *what) {
    struct error err = {0};
    if (!cuda_ok(&b->cu, result, what, &err))
        die(&err);
}

static int64_t count_of(const struct bench *b, int buffer) {
    const struct problem *p = b->problem;
    node_id n =
        buffer < p->n_inputs ? p->inputs[buffer].node : p->outputs[buffer - p->n_inputs].node;
    return shape_count(&p->graph.nodes[n].shape);
}

static void make_sets(struct bench *b) {
    const struct problem *p = b->problem;
    int n = p->n_inputs + p->n_outputs;
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += 4 * count_of(b, i);
    b->n_sets = (int)(4 * b->target.l2_bytes / bytes) + 2;
    b->n_sets = b->n_sets < SETS_MAX ? b->n_sets : SETS_MAX;
    for (int i = 0; i < p->n_inputs; i++) {
        b->inputs[i] = malloc(sizeof(float) * (size_t)count_of(b, i));
        inputs_fill(p, i, 1, b->inputs[i]);
    }
    for (int s = 0; s < b->n_sets; s++)
        for (int i = 0; i < n; i++) {
            size_t size = 4 * (size_t)count_of(b, i);
            ok(b, b->cu.allocate(&b->set[s][i], size), "allocate a buffer");
            if (i < p->n_inputs)
                ok(b, b->cu.copy_to(b->set[s][i], b->inputs[i], size), "copy an input");
        }
}

static void find_truth(struct bench *b) {
    struct interpret_data data = {{NULL}};
    for (int i = 0; i < b->problem->n_inputs; i++)
        data.inputs[i] = b->inputs[i];
    interpret(b->problem, &data, &b->truth);
    b->has_truth = true;
}

// Largest error in units of the honest spread; the honest computation's own in `honest`.
static double find_error(struct bench *b, const cuda_pointer *buffers, double *honest) {
    double worst = 0;
    *honest = 0;
    for (int o = 0; o < b->problem->n_outputs; o++) {
        int64_t n = b->truth.count[o];
        float *got = malloc(sizeof(float) * (size_t)n);
        ok(b, b->cu.copy_from(got, buffers[b->problem->n_inputs + o], 4 * (size_t)n),
           "copy an output");
        for (int64_t i = 0; i < n; i++) {
            double want = b->truth.value[o][i];
            double unit = b->truth.spread[o][i] + fabs(want) * 0x1p-25 + 1e-30;
            worst = fmax(worst, isnan(got[i]) ? INFINITY : fabs(got[i] - want) / unit);
            *honest = fmax(*honest, fabs(b->truth.honest[o][i] - want) / unit);
        }
        free(got);
    }
    return worst;
}

// One kernel, ready to launch.
struct entry {
    cuda_function function;
    unsigned grid, threads, shared;
    int args[INPUTS_MAX + OUTPUTS_MAX + 32];  // buffer ids of the program
    int n_args;
};

struct loaded_program {
    cuda_module module;
    struct entry entries[ENTRIES_MAX];
    int n_entries;
    cuda_pointer scratch[BUFFERS_MAX];  // by buffer id
    int registers, resident;            // of the first kernel
};

static void find_entry(struct bench *b, const struct loop_program *p, int i,
                       struct loaded_program *out) {
    const struct loop_kernel *k = p->kernels[i];
    struct entry *e = &out->entries[i];
    struct arena scratch = {0};
    struct text_usage u = text_use(&scratch, p, k);
    int64_t grid = 0;
    ok(b, b->cu.module_function(&e->function, out->module, k->name), "find a kernel");
    range_constant(k->grid, &grid);
    e->grid = (unsigned)grid;
    e->threads = (unsigned)k->threads;
    int64_t shared = print_cuda_shared(p, k);
    e->shared = shared > 48 << 10 ? (unsigned)shared : 0;
    if (e->shared)
        ok(b, b->cu.function_set(e->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)e->shared),
           "ask for shared memory");
    for (int j = 0; j < p->n_buffers; j++)
        if (p->buffers[j]->space == LOOP_GLOBAL && (u.read[j] || u.written[j]))
            e->args[e->n_args++] = j;
    arena_reset(&scratch);
    if (i > 0)
        return;
    b->cu.function_attribute(&out->registers, CUDA_FUNCTION_REGISTERS, e->function);
    b->cu.occupancy(&out->resident, e->function, k->threads, e->shared);
}

static void load(struct bench *b, struct arena *a, struct loop_program *p,
                 struct loaded_program *out) {
    struct error err = {0};
    struct nvrtc_result r;
    const struct dev_headers headers = dev_headers();
    const char *const options[] = {"--diag-suppress=161", "-lineinfo"};
    pass_prune(p);
    if (!pass_verify(p, &err))
        die(&err);
    struct nvrtc_job job = {.source = print_cuda(a, p),
                            .name = "kernel.cu",
                            .arch = b->target.isa,
                            .header_names = headers.names,
                            .header_texts = headers.texts,
                            .n_headers = headers.n,
                            .options = options,
                            .n_options = 2};
    if (p->n_kernels > ENTRIES_MAX || p->n_buffers > BUFFERS_MAX) {
        fprintf(stderr, "kernel-bench: %d kernels, %d buffers are too many\n", p->n_kernels,
                p->n_buffers);
        exit(4);
    }
    *out = (struct loaded_program){.n_entries = p->n_kernels};
    if (!nvrtc_compile(a, &b->nvrtc, &job, &r, &err))
        die(&err);
    if (!r.compiled) {
        fprintf(stderr, "%s\n%s\n", job.source, r.log);
        exit(4);
    }
    if (!strstr(r.log, " 0 bytes spill stores"))
        printf("  spills: ");
    ok(b, b->cu.module_load(&out->module, r.cubin), "load a module");
    for (int i = 0; i < p->n_kernels; i++)
        find_entry(b, p, i, out);
    int n = b->problem->n_inputs + b->problem->n_outputs;
    for (int i = n; i < p->n_buffers; i++)
        if (p->buffers[i]->space == LOOP_GLOBAL)
            ok(b, b->cu.allocate(&out->scratch[i], 4 * (size_t)p->buffers[i]->count),
               "allocate scratch");
}

static void launch(struct bench *b, struct loaded_program *p, int set) {
    int n = b->problem->n_inputs + b->problem->n_outputs;
    for (int i = 0; i < p->n_entries; i++) {
        struct entry *e = &p->entries[i];
        void *args[INPUTS_MAX + OUTPUTS_MAX + 32];
        for (int j = 0; j < e->n_args; j++)
            args[j] =
                e->args[j] < n ? (void *)&b->set[set][e->args[j]] : (void *)&p->scratch[e->args[j]];
        ok(b,
           b->cu.launch(e->function, e->grid, 1, 1, e->threads, 1, 1, e->shared, NULL, args, NULL),
           "launch a kernel");
    }
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

// Median seconds of cold runs.
static double measure(struct bench *b, struct loaded_program *p) {
    double seconds[LAUNCHES];
    for (int i = -WARM_UP; i < LAUNCHES; i++) {
        float ms = 0;
        ok(b, b->cu.event_record(b->start, NULL), "record an event");
        launch(b, p, (i + WARM_UP) % b->n_sets);
        ok(b, b->cu.event_record(b->stop, NULL), "record an event");
        ok(b, b->cu.event_synchronize(b->stop), "run the kernels");
        ok(b, b->cu.event_elapsed(&ms, b->start, b->stop), "read the time");
        if (i >= 0)
            seconds[i] = ms * 1e-3;
    }
    qsort(seconds, LAUNCHES, sizeof *seconds, by_value);
    return seconds[LAUNCHES / 2];
}

static double try_program(struct bench *b, struct arena *a, struct loop_program *program,
                          const char *words) {
    struct loaded_program p;
    load(b, a, program, &p);
    int first = b->problem->n_inputs, n = first + b->problem->n_outputs;
    for (int i = first; i < n && b->has_truth; i++)
        ok(b, b->cu.fill32(b->set[0][i], 0x7fc00000, (size_t)count_of(b, i)), "poison an output");
    launch(b, &p, 0);
    ok(b, b->cu.context_synchronize(), "run the kernels");
    char verdict[96] = "";
    if (b->has_truth) {
        double honest, error = find_error(b, b->set[0], &honest);
        snprintf(verdict, sizeof verdict, "%s error %.1f (honest %.1f)  ",
                 error <= 4 * fmax(honest, 4) ? "right" : "WRONG", error, honest);
    }
    double s = measure(b, &p);
    printf("%9.1f us %7.0f GB/s %7.2f TFLOP/s %3d regs %2d blocks  %s%s\n", s * 1e6,
           b->least_bytes / s * 1e-9, b->flops / s * 1e-12, p.registers, p.resident, verdict,
           words);
    fflush(stdout);
    for (int i = 0; i < program->n_buffers; i++)
        if (p.scratch[i])
            b->cu.release(p.scratch[i]);
    b->cu.module_unload(p.module);
    return s;
}

static double try_kernel(struct bench *b, const struct kernel *k) {
    struct arena a = {0};
    struct error err = {0};
    struct kernel checked = *k;
    if (!lower_check(&a, b->problem, &b->target, &checked, &err))
        die(&err);
    struct str words = {0};
    for (int i = 0; i < checked.n_stages; i++) {
        str_printf(&words, "%s%s", i ? " | " : "", checked.stages[i]->family);
        for (int j = 0; j < checked.stages[i]->n_knobs; j++) {
            const struct kernel_knob *knob = &checked.stages[i]->knobs[j];
            str_printf(&words, "  %s ", knob->name);
            str_puts(&words, knob->word ? knob->word : "");
            for (int part = 0; part < knob->n_parts; part++)
                str_printf(&words, "%s%d", part ? "x" : "", knob->part[part]);
        }
    }
    double s =
        try_program(b, &a, program_lower(&a, b->problem, &b->target, &checked), str_text(&words));
    str_reset(&words);
    arena_reset(&a);
    return s;
}

static void climb(struct bench *b, struct arena *a, const struct kernel *from, int rounds) {
    struct kernel best = *from;
    double least = try_kernel(b, &best);
    for (int round = 0; round < rounds; round++) {
        int n;
        bool better = false;
        struct move *moves = moves_list(a, b->problem, &b->target, &best, &n);
        for (int i = 0; i < n; i++) {
            double s = moves[i].knob ? try_kernel(b, moves[i].kernel) : INFINITY;
            if (s < 0.99 * least) {
                least = s;
                best = *moves[i].kernel;
                better = true;
            }
        }
        if (!better)
            break;
        printf("best so far:\n");
        try_kernel(b, &best);
    }
}

static void open_all(struct bench *b, struct arena *a) {
    struct error err = {0};
    cuda_device device;
    cuda_context context;
    if (!cuda_target_read(a, 0, &b->target, &err) || !cuda_open(&b->cu, &err) ||
        !nvrtc_open(&b->nvrtc, &err))
        die(&err);
    target_load_ceilings(a, &b->target);
    ok(b, b->cu.device_get(&device, 0), "open the GPU");
    ok(b, b->cu.context_retain(&context, device), "make a context");
    ok(b, b->cu.context_set(context), "use a context");
    ok(b, b->cu.event_create(&b->start, 0), "make an event");
    ok(b, b->cu.event_create(&b->stop, 0), "make an event");
}

static void count_work(struct bench *b, struct arena *a) {
    const struct problem *p = b->problem;
    const char *names[STAGE_VALUES_MAX];
    int n = p->n_outputs < STAGE_VALUES_MAX ? p->n_outputs : STAGE_VALUES_MAX;
    for (int i = 0; i < n; i++)
        names[i] = p->outputs[i].name;
    struct region_work w;
    struct region *r = region_build(a, p, names, n, arena_array(a, bool, p->graph.n_nodes));
    region_count(r, &w);
    b->least_bytes = w.bytes_read + w.bytes_written;
    b->flops = w.flops;
}

static bool read_options(int argc, char **argv, struct options *o) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            o->check = true;
        else if (strcmp(argv[i], "--plain") == 0)
            o->plain = true;
        else if (strcmp(argv[i], "--dim") == 0 && i + 1 < argc)
            o->dims = argv[++i];
        else if (strcmp(argv[i], "--climb") == 0 && i + 1 < argc)
            o->climb = (int)strtol(argv[++i], NULL, 10);
        else if (argv[i][0] == '-' || o->file)
            return false;
        else
            o->file = argv[i];
    }
    return o->file != NULL;
}

int main(int argc, char **argv) {
    struct options o = {0};
    struct arena a = {0};
    struct error err = {0};
    struct loaded loaded;
    static struct bench b;
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: kernel-bench [--dim M=64] [--check] [--plain] [--climb N] FILE\n");
        return 2;
    }
    if (!op_load(&a, o.file, o.dims, &loaded, &err))
        die(&err);
    b.problem = loaded.problem;
    open_all(&b, &a);
    count_work(&b, &a);
    make_sets(&b);
    printf("%s on %s (%s), %d sets of buffers, %d launches each\n", b.problem->name,
           b.target.device, b.target.isa, b.n_sets, LAUNCHES);
    if (o.check)
        find_truth(&b);
    if (o.plain)
        try_program(&b, &a, plain_program(&a, b.problem, &b.target), "plain");
    bool any = false;
    for (int i = 0; i < loaded.n_kernels; i++)
        if (strcmp(loaded.kernels[i]->target, b.target.isa) == 0) {
            try_kernel(&b, loaded.kernels[i]);
            any = true;
        }
    struct kernel k;
    lower_default(&a, b.problem, &b.target, &k);
    if (!any || o.climb)
        climb(&b, &a, &k, o.climb);
    return 0;
}
