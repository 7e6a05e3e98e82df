// oracle-check FILE [NAME=SIZE]...: draw inputs and compute expected outputs on the first GPU and
// on the host, and print a line for each problem and input set that says how far they agree. Exit
// status 1: they differ; 2: a mistake in the arguments; 4: no GPU, or it failed.
//
// NVRTC works in a child as in hone itself: this program serves as its own `hone _compile`.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/gpu_agreement.h"
#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "build/compile_cuda.h"
#include "lang/lang.h"
#include "oracle/derived.h"
#include "oracle/oracle_plan.h"

struct visit {
    struct arena arena;
    struct gpu_bench bench;
    struct gpu_oracle oracle;
    struct cuda_compiler compiler;
};

static bool build(struct visit *v, const char *name, const char **bytes, struct error *err) {
    struct cuda_facts facts;
    struct cubin cubin;
    struct cuda_source source = {.text = embedded_text(name),
                                 .cache = file_work_dir(&v->arena, "objects", err),
                                 .is_ours = true};
    if (!source.cache || !cuda_read_facts(&v->arena, &v->bench.cu, v->bench.device, &facts, err))
        return false;
    source.arch = facts.arch;
    if (!cuda_compile(&v->arena, &v->compiler, &source, &cubin, err))
        return false;
    *bytes = cubin.bytes;
    return cubin.outcome == COMPILE_OK || error_set(err, ERROR_IO, "%s", cubin.message);
}

static bool open_visit(struct visit *v, struct error *err) {
    const char *judge, *oracle;
    return cuda_compiler_start(&v->compiler, &v->arena, err) && gpu_bench_open(&v->bench, 0, err) &&
           build(v, "judge.cu", &judge, err) && build(v, "oracle.cu", &oracle, err) &&
           gpu_bench_load(&v->bench, judge, err) &&
           gpu_oracle_load(&v->oracle, &v->bench, oracle, err);
}

static bool check_problem(struct visit *v, const struct problem *p, bool *ok, struct error *err) {
    if (!oracle_plan_supports(p)) {
        printf("%-12s left to the host\n", p->name);
        return true;
    }
    struct oracle o;
    oracle_init(&o, p, UINT64_C(0x5eed));
    o.n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    bool went = true;
    for (int set = 0; went && set < SET_SUMMED; set++) {
        struct gpu_agreement c;
        if (set >= SET_DRAWN && !derived_exists(&o, (enum oracle_set)set))
            continue;
        went = gpu_agreement(&v->oracle, &o, (enum oracle_set)set, &c, err);
        if (!went)
            break;
        *ok = *ok && gpu_agrees(&c);
        printf("%-12s %-30.30s %s  inputs: %" PRId64 " of %" PRId64 " differ  outputs: %" PRId64
               " of %" PRId64 " differ, %" PRId64
               " wrong; truth %.1e spreads, spread %.1e; honest rms %.4g %.4g max %.4g %.4g; "
               "host %.0f ms, GPU %.1f ms\n",
               p->name, oracle_set_name((enum oracle_set)set), gpu_agrees(&c) ? "ok " : "BAD",
               c.n_inputs_differ, c.n_inputs, c.n_differ, c.n, c.n_wrong, c.truth, c.spread,
               c.honest_rms[0], c.honest_rms[1], c.honest_max[0], c.honest_max[1], c.host_s * 1e3,
               c.gpu_s * 1e3);
    }
    oracle_reset(&o);
    return went;
}

static bool parse_file(struct arena *a, char **argv, struct lang_file *file, struct error *err) {
    struct dim_override dims[DIMS_MAX];
    struct lang_source source = {.file = argv[0], .overrides = dims};
    const char *diagnostics;
    source.text = file_read(a, argv[0], 1 << 20, &source.len, err);
    for (char **arg = argv + 1; *arg && source.n_overrides < DIMS_MAX; arg++) {
        char *value = strchr(*arg, '=');
        if (!value)
            return error_set(err, ERROR_USAGE, "'%s' is no NAME=SIZE", *arg);
        *value = '\0';
        dims[source.n_overrides++] = (struct dim_override){*arg, strtoll(value + 1, NULL, 10)};
    }
    return source.text && lang_parse(a, &source, file, &diagnostics, err);
}

static bool check_file(char **argv, struct error *err) {
    struct visit v = {.compiler = {.process = {.socket = -1}}};
    struct lang_file file;
    bool ok = true;
    bool went = parse_file(&v.arena, argv, &file, err) && open_visit(&v, err);
    for (int i = 0; went && i < file.n_problems; i++)
        went = check_problem(&v, file.problems[i], &ok, err);
    if (v.bench.is_open)
        gpu_oracle_release(&v.oracle);
    gpu_bench_close(&v.bench);
    cuda_compiler_stop(&v.compiler);
    arena_reset(&v.arena);
    return went && ok;
}

int main(int argc, char **argv) {
    struct error err = {0};
    if (argc > 1 && strcmp(argv[1], "_compile") == 0)
        return compile_child_main();
    if (argc < 2) {
        fprintf(stderr, "usage: oracle-check FILE [NAME=SIZE]...\n");
        return 2;
    }
    if (check_file(argv + 1, &err))
        return 0;
    if (err.kind == ERROR_NONE)
        return 1;
    fprintf(stderr, "oracle-check: %s\n", err.text);
    return err.kind == ERROR_USAGE ? 2 : 4;
}
