// Gathers champion, plan and expected outputs from the store and the oracle, and writes the
// directory with the proof last, so that one that has it is complete.
#include "ops/op_export.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
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
#include "base/stray.h"
#include "family/source_plan.h"
#include "lang/lang.h"
#include "ops/export_text.h"
#include "ops/op_machine.h"
#include "ops/op_runs.h"

enum { PROOF_MAX = 64 << 20, HEADERS_MAX = 64 };

// ---- what is exported

// The plan's expressions are evaluated here, THREADS for the threads of this machine. A GPU's
// limits were kept when the plan was judged.
static bool parse_plan(struct arena *a, const struct problem *p, const char *source,
                       const struct target *t, struct plan *plan, struct error *err) {
    struct target generous = *t;
    generous.shared_per_block = INT32_MAX;
    return source_plan(a, p, &generous, source, plan, err);
}

// ---- the host function's name

// The problem's name, unless that is taken: by C, by the C library (a function called `exp`
// would take libm's place), by one of our files, or by a function of the kernel.
static const char *choose_symbol(struct arena *a, const char *name, const struct plan *plan) {
    static const char *const words[] = {
        "auto",     "break",      "case",     "char",         "const",      "continue", "default",
        "do",       "double",     "else",     "enum",         "extern",     "float",    "for",
        "goto",     "if",         "inline",   "int",          "long",       "register", "restrict",
        "return",   "short",      "signed",   "sizeof",       "static",     "struct",   "switch",
        "typedef",  "union",      "void",     "unsigned",     "volatile",   "while",    "main",
        "allocate", "is_aligned", "check",    "kernel",       "samples",    "compare",  "is_right",
        "must",     "on_device",  "run_plan", "find_encoder", "read_input", NULL};
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

static bool is_export(struct arena *a, const char *dir) {
    struct error ignored = {0};
    size_t len;
    const char *text =
        file_read(a, arena_printf(a, "%s/PROOF.json", dir), PROOF_MAX, &len, &ignored);
    json_t *json = text ? json_parse(text, len, &ignored) : NULL;
    const char *schema = json_string_value(json_object_get(json, "schema"));
    bool ok = schema && strcmp(schema, "hone.proof/1") == 0;
    json_decref(json);
    return ok;
}

static bool check_directory(struct arena *a, const struct export_request *q, struct error *err) {
    DIR *d = opendir(q->dir);
    if (!d && errno == ENOENT)
        return true;
    if (!d)
        return error_set(err, ERROR_USAGE, "%s: %s", q->dir, strerror(errno));
    bool empty = true;
    for (struct dirent *entry; (entry = readdir(d));)
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    closedir(d);
    if (empty || q->force || is_export(a, q->dir))
        return true;
    return error_set(err, ERROR_USAGE,
                     "%s holds something that is no earlier export; --force writes into it",
                     q->dir);
}

static bool write_file(struct arena *a, const char *dir, const char *name, const char *text,
                       struct error *err) {
    return file_write(arena_printf(a, "%s/%s", dir, name), text, strlen(text), err);
}

// The headers of ours that a text includes, and those that they do. One that is included under a
// condition comes along, which does no harm.
static bool write_headers(struct arena *a, const char *dir, const char *text, struct error *err) {
    const char *texts[HEADERS_MAX] = {text};
    int n = 1;
    for (int i = 0; i < n; i++)
        for (const struct embedded_file *f = embedded_files; f->name; f++) {
            size_t len = strlen(f->name);
            const char *include = arena_printf(a, "#include \"%s\"", f->name);
            bool seen = strcmp(f->name + len - 2, ".h") != 0 || !strstr(texts[i], include);
            for (int j = 0; j < n && !seen; j++)
                seen = texts[j] == f->text;
            if (seen)
                continue;
            assert(n < HEADERS_MAX);
            texts[n++] = f->text;
            if (!write_file(a, dir, f->name, f->text, err))
                return false;
        }
    return true;
}

// Inputs that are computed from hidden draws cannot be drawn again: their data go along.
static bool write_inputs(struct arena *a, const char *dir, const struct export_view *e,
                         struct error *err) {
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
        ok = file_write(arena_printf(a, "%s/input_%d.bin", dir, i), data, size, err);
        free(data);
    }
    return ok;
}

// The proof comes last: a directory that has it is complete.
static bool write_all(struct arena *a, const char *dir, const struct export_view *e,
                      struct error *err) {
    const char *header = arena_printf(a, "%s.h", e->symbol);
    const char *host = arena_printf(a, "%s.c", e->symbol);
    const char *kernel = export_kernel(a, e), *check = export_check(a, e);
    return file_make_dirs(dir, err) && write_headers(a, dir, kernel, err) &&
           write_headers(a, dir, check, err) &&
           write_file(a, dir, e->target->is_gpu ? "kernel.cu" : "kernel.c", kernel, err) &&
           write_file(a, dir, header, export_header(a, e), err) &&
           write_file(a, dir, host, export_host(a, e), err) && write_inputs(a, dir, e, err) &&
           write_file(a, dir, "samples.h", export_samples(a, e), err) &&
           write_file(a, dir, "check.c", check, err) &&
           write_file(a, dir, "problem.hone", e->view->run.problem_text, err) &&
           write_file(a, dir, "Makefile", export_makefile(a, e), err) &&
           write_file(a, dir, "README.txt", export_readme(a, e), err) &&
           write_file(a, dir, "PROOF.json", export_proof(a, e), err);
}

static bool write_directory(struct arena *a, const struct export_request *q,
                            const struct export_view *e, struct error *err) {
    if (file_exists(q->dir))
        return write_all(a, q->dir, e, err);
    // A new one appears whole or not at all.
    size_t len = strlen(q->dir);
    while (len > 1 && q->dir[len - 1] == '/')
        len--;
    const char *dir = arena_strndup(a, q->dir, len);
    const char *slash = strrchr(dir, '/');
    char name[STRAY_MAX];
    stray_name(name);
    stray_tidy_beside(dir);
    const char *building = arena_printf(a, "%.*s%s", slash ? (int)(slash - dir) + 1 : 0, dir, name);
    bool ok = write_all(a, building, e, err);
    if (ok && rename(building, dir) != 0)
        ok = error_set(err, ERROR_IO, "rename %s to %s: %s", building, dir, strerror(errno));
    struct error ignored = {0};
    if (!ok)
        file_remove_tree(building, &ignored);
    return ok;
}

static bool find_champion(const struct run_view *v, const struct search_node **n,
                          struct error *err) {
    const struct run *r = &v->run;
    if (r->champion >= 0 && r->champion < v->n_nodes && r->confirm.present) {
        *n = &v->nodes[r->champion];
        return true;
    }
    if (r->state == RUN_DONE)
        return error_set(err, ERROR_USAGE, "run %lld found nothing that passed", (long long)r->id);
    return error_set(err, ERROR_USAGE,
                     "run %lld is not finished, its champion not confirmed; hone optimize --resume "
                     "%lld goes on",
                     (long long)r->id, (long long)r->id);
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
    const struct search_node *champion = NULL;
    int node;
    if (!op_show(a, q->store, q->run, &view, &node, err) || !find_champion(&view, &champion, err) ||
        !check_directory(a, q, err) || !op_stored_problem(a, &view.run, &problem, err) ||
        !find_target(a, &view.run, champion, &target, err) ||
        !parse_plan(a, problem, champion->candidate.source, &target, &plan, err))
        return false;
    if (node >= 0 && node != champion->number)
        return error_set(err, ERROR_USAGE, "node %d is not the champion of run %lld; that is %d",
                         node, (long long)view.run.id, champion->number);
    struct oracle oracle;
    uint64_t seed = rng_entropy();
    compute_expected(&oracle, problem, seed);
    struct export_view e = {.view = &view,
                            .champion = champion,
                            .problem = problem,
                            .target = &target,
                            .plan = &plan,
                            .oracle = &oracle,
                            .seed = seed,
                            .symbol = choose_symbol(a, problem->name, &plan),
                            .compiler = op_compiler(a, &target)};
    bool ok = write_directory(a, q, &e, err);
    oracle_reset(&oracle);
    *out = (struct export_outcome){.run = view.run.id,
                                   .node = champion->number,
                                   .symbol = e.symbol,
                                   .prototype = export_prototype(a, &e)};
    return ok;
}
