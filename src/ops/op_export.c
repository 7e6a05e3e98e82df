// Gathers champion, plan and expected outputs from the store and the oracle, and writes the
// directory with the proof last, so that one that has it is complete.
#include "ops/op_export.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/temporary.h"
#include "family/source_plan.h"
#include "lang/lang.h"
#include "ops/export_text.h"
#include "ops/op_machine.h"
#include "ops/op_runs.h"

enum { PROOF_MAX = 64 << 20 };

// ---- what is exported

// The plan's expressions are evaluated here, THREADS for the threads of this machine. A GPU's
// limits were kept when the plan was judged.
static bool parse_plan(struct arena *a, const struct problem *p, const struct candidate *c,
                       const struct target *t, struct plan *plan, struct error *err) {
    struct target generous = *t;
    generous.shared_per_block = INT32_MAX;
    if (!candidate_plan(a, p, &generous, c, plan, err))
        return false;
    return !plan_has_calls(plan) ||
           error_set(err, ERROR_UNSUPPORTED,
                     "this kernel calls a library, which is not hone's to export");
}

// ---- the host function's name

// The problem's name, unless that is taken: by C, by the C library (a function called `exp`
// would take libm's place), by one of our files, or by a function of the kernel.
static const char *choose_symbol(struct arena *a, const char *name, const struct plan *plan) {
    static const char *const words[] = {
        "auto",     "break",      "case",     "char",         "const",    "continue", "default",
        "do",       "double",     "else",     "enum",         "extern",   "float",    "for",
        "goto",     "if",         "inline",   "int",          "long",     "register", "restrict",
        "return",   "short",      "signed",   "sizeof",       "static",   "struct",   "switch",
        "typedef",  "union",      "void",     "unsigned",     "volatile", "while",    "main",
        "allocate", "is_aligned", "check",    "kernel",       "samples",  "compare",  "is_right",
        "must",     "on_device",  "run_plan", "find_encoder", "transfer", "draw",     "kernel_any",
        NULL};
    bool taken = dlsym(RTLD_DEFAULT, name) != NULL;
    for (int i = 0; words[i]; i++)
        taken = taken || strcmp(words[i], name) == 0;
    for (int i = 0; i < plan->n_steps; i++)
        taken = taken ||
                (plan->steps[i].kind == STEP_LAUNCH && strcmp(plan->steps[i].function, name) == 0);
    return taken ? arena_printf(a, "%s_kernel", name) : name;
}

// ---- the inputs of the check and what is expected of them

static void compute_expected(struct oracle *oracle, const struct problem *p, uint64_t seed) {
    long n_threads = sysconf(_SC_NPROCESSORS_ONLN);
    oracle_init(oracle, p, seed);
    oracle->n_threads = n_threads > 1 ? (int)n_threads : 1;
    oracle_compute(oracle, 1U << SET_DECLARED, oracle->n_threads);
}

// ---- the directory

static json_t *read_proof(struct arena *a, const char *dir) {
    struct error ignored = {0};
    size_t len;
    const char *text =
        file_read(a, arena_printf(a, "%s/PROOF.json", dir), PROOF_MAX, &len, &ignored);
    json_t *json = text ? json_parse(text, len, &ignored) : NULL;
    const char *schema = json_string_value(json_object_get(json, "schema"));
    if (schema && strcmp(schema, "hone.proof/1") == 0)
        return json;
    json_decref(json);
    return NULL;
}

static bool is_same(json_t *proof, const struct export_view *e) {
    const char *hash =
        json_string_value(json_object_get(json_object_get(proof, "problem"), "hash"));
    const char *source = json_string_value(json_object_get(proof, "source_hash"));
    return hash && source && strcmp(hash, e->view->run.problem_hash) == 0 &&
           strcmp(source, e->champion->candidate.hash) == 0;
}

static bool is_empty(DIR *d) {
    bool empty = true;
    for (struct dirent *entry; (entry = readdir(d));)
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    return empty;
}

// Is it a directory that may be written? An export of the same kernel may be written again.
static bool check_directory(struct arena *a, const struct export_request *q,
                            const struct export_view *e, struct error *err) {
    DIR *d = opendir(q->dir);
    if (!d && errno == ENOENT)
        return true;
    if (!d)
        return error_set(err, ERROR_USAGE, "%s: %s", q->dir, strerror(errno));
    bool empty = is_empty(d);
    closedir(d);
    if (empty || q->force)
        return true;
    json_t *proof = read_proof(a, q->dir);
    bool same = proof && is_same(proof, e);
    const char *name =
        json_string_value(json_object_get(json_object_get(proof, "problem"), "name"));
    const char *what = name ? arena_printf(a, "another export (of %s)", name)
                            : "something that is no earlier export";
    json_decref(proof);
    return same || error_set(err, ERROR_USAGE, "%s holds %s; --force writes into it", q->dir, what);
}

// What an earlier export wrote, as its proof lists it, and what its Makefile built. Whatever else
// is there stays.
static void remove_earlier(struct arena *a, const char *dir) {
    static const char *const built[] = {"check",        "check.o", "kernel.o",
                                        "kernel_any.o", "draw.o",  NULL};
    json_t *proof = read_proof(a, dir);
    json_t *files = json_object_get(proof, "files"), *file;
    const char *symbol = json_string_value(json_object_get(proof, "symbol"));
    size_t i;
    json_array_foreach(files, i, file) {
        const char *name = json_string_value(file);
        if (name && *name && !strchr(name, '/') && *name != '.')
            unlink(arena_printf(a, "%s/%s", dir, name));
    }
    for (int k = 0; symbol && built[k]; k++)
        unlink(arena_printf(a, "%s/%s", dir, built[k]));
    if (symbol && *symbol && !strchr(symbol, '/')) {
        struct error ignored = {0};
        unlink(arena_printf(a, "%s/%s.o", dir, symbol));
        unlink(arena_printf(a, "%s/%s.pc", dir, symbol));
        unlink(arena_printf(a, "%s/lib%s.a", dir, symbol));
        unlink(arena_printf(a, "%s/lib%s.so", dir, symbol));
        file_remove_tree(arena_printf(a, "%s/__pycache__", dir), &ignored);
    }
    if (proof)
        unlink(arena_printf(a, "%s/PROOF.json", dir));
    json_decref(proof);
}

static void add_file(struct export_files *f, const char *name, const char *text) {
    assert(f->n < EXPORT_FILES_MAX);
    f->names[f->n] = name;
    f->texts[f->n++] = text;
}

static bool has_suffix(const char *name, const char *suffix) {
    size_t len = strlen(name), n = strlen(suffix);
    return len > n && strcmp(name + len - n, suffix) == 0;
}

// The headers of ours that the files include, and those that they do. One that is included under a
// condition comes along, which does no harm.
static void add_headers(struct arena *a, struct export_files *files) {
    for (int i = 0; i < files->n; i++)
        for (const struct embedded_file *f = embedded_files; f->name; f++) {
            const char *include = arena_printf(a, "#include \"%s\"", f->name);
            bool skip = !(has_suffix(f->name, ".h") || has_suffix(f->name, ".def")) ||
                        !strstr(files->texts[i], include);
            for (int j = 0; j < files->n && !skip; j++)
                skip = files->texts[j] == f->text;
            if (!skip)
                add_file(files, f->name, f->text);
        }
}

static void add_sources(struct arena *a, struct export_files *f, const struct export_view *e) {
    bool is_gpu = e->target->is_gpu;
    add_file(f, is_gpu ? "kernel.cu" : "kernel.c", export_kernel(a, e));
    if (export_streams(e))
        add_file(f, "kernel_any.c", export_kernel_any(a, e));
    if (export_cuda_takes_any(e))
        add_file(f, "kernel_any.cu", export_cuda_kernel_any(a, e));
    if (is_gpu)
        add_file(f, "draw.cu", export_cuda_draws(a, e));
    add_file(f, "check.c", export_check(a, e));
    add_headers(a, f);
    add_file(f, arena_printf(a, "%s.h", e->symbol), export_header(a, e));
    add_file(f, arena_printf(a, "%s.c", e->symbol), export_host(a, e));
    add_file(f, arena_printf(a, "%s.py", e->symbol), export_python(a, e));
    add_file(f, arena_printf(a, "test_%s.py", e->symbol), export_python_test(a, e));
    add_file(f, "samples.h", export_samples(a, e));
    add_file(f, "problem.hone", e->view->run.problem_text);
    add_file(f, "Makefile", export_makefile(a, e));
    add_file(f, "README.txt", export_readme(a, e));
}

// Inputs that are computed from hidden draws cannot be drawn again: their data go along.
static bool write_inputs(struct arena *a, const char *dir, const struct export_view *e,
                         struct export_files *files, struct error *err) {
    const struct problem *p = e->problem;
    bool ok = true;
    for (int i = 0; ok && i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        size_t size = (size_t)dtype_size(n->dtype, shape_count(&n->shape));
        if (!p->inputs[i].maker)
            continue;
        void *data = calloc(1, size + 1);
        if (!data)
            abort();
        oracle_fill(e->oracle, SET_DECLARED, i, data);
        const char *name = arena_printf(a, "input_%d.bin", i);
        ok = file_write(arena_printf(a, "%s/%s", dir, name), data, size, err);
        add_file(files, name, NULL);
        free(data);
    }
    return ok;
}

// The proof comes last: a directory that has it is complete.
static bool write_all(struct arena *a, const char *dir, const struct export_view *e,
                      struct error *err) {
    struct export_files files = {0};
    add_sources(a, &files, e);
    bool ok = file_make_dirs(dir, err);
    for (int i = 0; ok && i < files.n; i++)
        ok = file_write(arena_printf(a, "%s/%s", dir, files.names[i]), files.texts[i],
                        strlen(files.texts[i]), err);
    if (!ok || !write_inputs(a, dir, e, &files, err))
        return false;
    const char *proof = export_proof(a, e, &files);
    return file_write(arena_printf(a, "%s/PROOF.json", dir), proof, strlen(proof), err);
}

static bool write_directory(struct arena *a, const struct export_request *q,
                            const struct export_view *e, struct error *err) {
    if (file_exists(q->dir)) {
        remove_earlier(a, q->dir);
        return write_all(a, q->dir, e, err);
    }
    // A new one appears whole or not at all.
    size_t len = strlen(q->dir);
    while (len > 1 && q->dir[len - 1] == '/')
        len--;
    const char *dir = arena_strndup(a, q->dir, len);
    const char *slash = strrchr(dir, '/');
    char name[TEMPORARY_MAX];
    temporary_name(name);
    temporary_remove_dead_next_to(dir);
    const char *building = arena_printf(a, "%.*s%s", slash ? (int)(slash - dir) + 1 : 0, dir, name);
    bool ok = write_all(a, building, e, err);
    if (ok && rename(building, dir) != 0)
        ok = error_set(err, ERROR_IO, "rename %s to %s: %s", building, dir, strerror(errno));
    struct error ignored = {0};
    if (!ok)
        file_remove_tree(building, &ignored);
    return ok;
}

static bool has_passed(const struct search_node *n) {
    return n->state == NODE_EVALUATED && n->verdict.kind == VERDICT_OK && n->measurement.present &&
           isfinite(n->time_s);
}

// The fastest so far, of a run that was not finished; -1: none.
static int find_fastest(const struct run_view *v) {
    int best = -1;
    for (int i = 0; i < v->n_nodes; i++)
        if (has_passed(&v->nodes[i]) && (best < 0 || v->nodes[i].time_s < v->nodes[best].time_s))
            best = i;
    return best;
}

// The node that was named, a run's champion, or the fastest of a run that has none yet. Only a
// champion was confirmed; the others were judged once, and what is written says so.
static bool find_champion(const struct run_view *v, int node, struct export_view *e,
                          struct error *err) {
    const struct run *r = &v->run;
    bool has_champion = r->champion >= 0 && r->champion < v->n_nodes && r->confirm.present;
    if (has_champion && (node < 0 || node == r->champion)) {
        e->champion = &v->nodes[r->champion];
        e->is_confirmed = !run_is_on_table(r);
        e->measurement = &r->confirm;
        e->verdict = &r->confirm_verdict;
        return true;
    }
    if (node >= 0 && !has_passed(&v->nodes[node]))
        return error_set(err, ERROR_USAGE, "node %d of run %lld did not pass, or was not judged",
                         node, (long long)r->id);
    int chosen = node >= 0 ? node : find_fastest(v);
    if (chosen < 0 && r->state != RUN_DONE)
        return error_set(
            err, ERROR_USAGE,
            "run %lld has nothing yet that passed; hone optimize --resume %lld goes on",
            (long long)r->id, (long long)r->id);
    if (chosen < 0)
        return error_set(err, ERROR_USAGE, "run %lld found nothing that passed", (long long)r->id);
    e->champion = &v->nodes[chosen];
    e->measurement = &e->champion->measurement;
    e->verdict = &e->champion->verdict;
    return true;
}

// Does the plan count the GPU's multiprocessors?
static bool counts_sms(const char *source) {
    for (const char *line = source; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = strstr(line, "SMS");
        if (strncmp(line, "#pragma hone ", 13) == 0 && at && at < line + strcspn(line, "\n"))
            return true;
    }
    return false;
}

// The architecture that a kernel block is for, or NULL.
static const char *kernel_arch(struct arena *a, const char *text) {
    struct lang_file file;
    const char *diagnostics;
    struct error ignored;
    struct lang_source source = {.file = "kernel", .text = text, .len = text ? strlen(text) : 0};
    if (!text || !lang_parse(a, &source, &file, &diagnostics, &ignored) || file.n_kernels != 1)
        return NULL;
    return file.kernels[0]->target;
}

// What the champion is for: the device it was found on, or, where that is not here, what its
// kernel block says of it.
static bool find_target(struct arena *a, const struct run *r, const struct search_node *champion,
                        struct target *t, struct error *err) {
    if (strcmp(r->target, "cpu") == 0)
        return op_target(a, r->target, t, err);
    struct error absent = {0};
    if (op_target(a, r->target, t, &absent) && strcmp(t->device, r->device) == 0)
        return true;
    const char *arch = kernel_arch(a, champion->candidate.kernel);
    if (arch && target_of_arch(arch, t) && !counts_sms(champion->candidate.source))
        return true;
    return error_set(err, ERROR_UNSUPPORTED,
                     "run %lld was made on %s, which is not here, and its champion does not say "
                     "enough of it; hone show %lld.%d --source prints the kernel",
                     (long long)r->id, r->device, (long long)r->id, champion->number);
}

bool op_export(struct arena *a, const struct export_request *q, struct export_outcome *out,
               struct error *err) {
    struct run_view view;
    struct problem *problem;
    struct target target;
    struct plan plan;
    struct export_view e = {.view = &view, .target = &target, .plan = &plan};
    int node;
    if (!op_show(a, q->store, q->run, &view, &node, err) || !find_champion(&view, node, &e, err) ||
        !op_stored_problem(a, &view.run, &problem, err) ||
        !find_target(a, &view.run, e.champion, &target, err) ||
        !parse_plan(a, problem, &e.champion->candidate, &target, &plan, err))
        return false;
    struct oracle oracle;
    uint64_t seed = rng_entropy();
    e.problem = problem;
    e.oracle = &oracle;
    e.seed = seed;
    e.symbol = choose_symbol(a, problem->name, &plan);
    e.compiler = op_compiler(a, &target);
    if (!check_directory(a, q, &e, err))
        return false;
    compute_expected(&oracle, problem, seed);
    bool ok = write_directory(a, q, &e, err);
    oracle_reset(&oracle);
    *out = (struct export_outcome){.run = view.run.id,
                                   .node = e.champion->number,
                                   .is_confirmed = e.is_confirmed,
                                   .symbol = e.symbol,
                                   .prototype = export_prototype(a, &e)};
    return ok;
}
