// By the file's suffix and size: kernel blocks are checked and lowered, sources taken as they are.
// What looks like a node of a run, and is no file, comes from the store.
#include "ops/candidate_file.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/support.h"
#include "lang/lang.h"
#include "ops/library_candidate.h"
#include "ops/op_runs.h"

enum { SOURCE_MAX = 4 << 20 };

// The bytes of a file. What is refused has none.
struct source_text {
    const char *bytes;
    size_t len;
    const char *refusal;
    enum verdict_kind refused_as;
};

static void refuse_at(struct arena *a, struct source_text *t, const char *what, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += t->bytes[i] == '\n';
    t->refused_as = VERDICT_ILLEGAL;
    t->refusal = arena_printf(a, "%s: byte %zu of %zu, in line %d", what, at + 1, t->len, line);
}

static bool read_text(struct arena *a, const char *path, struct source_text *t, struct error *err) {
    int64_t size = file_size(path);
    *t = (struct source_text){0};
    if (size > SOURCE_MAX) {
        t->refused_as = VERDICT_LIMITS;
        t->refusal = arena_printf(a, "the file has %lld bytes, at most %d are taken",
                                  (long long)size, SOURCE_MAX);
        return true;
    }
    t->bytes = file_read(a, path, SOURCE_MAX, &t->len, err);
    if (!t->bytes)
        return false;
    size_t nul = strlen(t->bytes), valid = str_valid_utf8(t->bytes, t->len);
    if (nul < t->len && nul < valid)
        refuse_at(a, t, "holds a NUL byte", nul);
    else if (valid < t->len)
        refuse_at(a, t, "is not valid UTF-8", valid);
    return true;
}

// The kernel block for the problem in a text; the problem itself may stand in it as well.
static bool find_kernel(struct arena *a, const struct lang_source *source, const char *problem,
                        struct kernel **found, struct error *err) {
    struct lang_file file;
    const char *diagnostics;
    if (!lang_parse(a, source, &file, &diagnostics, err))
        return error_set(err, ERROR_PARSE, "%s", diagnostics);
    *found = NULL;
    for (int i = 0; i < file.n_kernels; i++) {
        if (strcmp(file.kernels[i]->problem, problem) != 0)
            continue;
        if (*found)
            return error_set(err, ERROR_USAGE, "%s: more than one kernel for '%s'", source->file,
                             problem);
        *found = file.kernels[i];
    }
    return *found || error_set(err, ERROR_USAGE,
                               "%s: no kernel for '%s': a block begins with 'kernel for %s on "
                               "TARGET'; what hone makes of the problem itself is 'default'",
                               source->file, problem, problem);
}

// `k` is NULL when the file is refused.
static bool read_kernel(struct arena *a, const struct candidate_name *n, struct kernel **k,
                        struct source_text *t, struct error *err) {
    *k = NULL;
    if (!read_text(a, n->name, t, err) || t->refusal)
        return t->refusal != NULL;
    struct lang_source source = {.file = n->name, .text = t->bytes, .len = t->len};
    return find_kernel(a, &source, n->problem->name, k, err);
}

static bool is_ours(const char *name) {
    return strcmp(name, "plain") == 0 || strcmp(name, "default") == 0 ||
           strcmp(name, "library") == 0;
}

// "3", "3.7", "last", "last.7", where no file has that name.
static bool is_run_name(const char *name) {
    size_t n = strncmp(name, "last", 4) == 0 ? 4 : strspn(name, "0123456789");
    const char *rest = name + n;
    bool is_named =
        n > 0 && (!*rest || (*rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]));
    return is_named && !file_exists(name);
}

// A name that stands for nothing: a file that is missing, or a word that was spelt wrong.
static bool missing(const char *name, struct error *err) {
    static const char *const words[] = {"default", "plain", "library", "last", NULL};
    const char *nearest = str_nearest(name, words);
    bool is_source =
        str_ends_with(name, ".c") || str_ends_with(name, ".cu") || str_ends_with(name, ".hone");
    if (is_source || strchr(name, '/'))
        return error_set(err, ERROR_USAGE, "%s: %s", name, strerror(ENOENT));
    return error_set(err, ERROR_USAGE,
                     "no candidate '%.64s'%s%s%s; it may be a file, 'default', 'plain', "
                     "'library', or a kernel of a stored run: RUN.NODE (3.7), RUN or 'last'",
                     name, nearest ? " (did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?)" : "");
}

bool candidate_file_is_there(const char *name, struct error *err) {
    return is_ours(name) || is_run_name(name) || file_exists(name) || missing(name, err);
}

// The node that was named, or a run's champion.
static bool find_node(struct arena *a, const char *name, struct run_view *v,
                      const struct search_node **node, struct error *err) {
    int number;
    if (!op_show(a, NULL, name, v, &number, err))
        return false;
    number = number < 0 ? v->run.champion : number;
    if (number < 0)
        return error_set(err, ERROR_USAGE, "run %s has no champion; give RUN.NODE", name);
    *node = &v->nodes[number];
    return true;
}

static bool read_node(struct arena *a, const struct candidate_name *n, struct candidate_file *f,
                      struct error *err) {
    struct run_view v;
    const struct search_node *node;
    if (!find_node(a, n->name, &v, &node, err))
        return false;
    if (strcmp(v.run.problem_text, n->problem->text) != 0)
        return error_set(err, ERROR_USAGE,
                         "%s is a kernel for another problem, or other sizes: run %lld is of %s",
                         n->name, (long long)v.run.id, v.run.problem_name);
    bool is_gpu = strcmp(v.run.target, "cpu") != 0;
    if (is_gpu != n->target->is_gpu)
        return error_set(err, ERROR_USAGE, "%s is a kernel for %s, not for %s", n->name,
                         v.run.target, n->target->name);
    f->candidate = node->candidate;
    return true;
}

static bool read_file(struct arena *a, const struct candidate_name *n, struct candidate_file *f,
                      struct error *err) {
    struct source_text t;
    struct kernel *k = NULL;
    bool is_block = str_ends_with(n->name, ".hone");
    if (!candidate_file_is_there(n->name, err))
        return false;
    if (is_block ? !read_kernel(a, n, &k, &t, err) : !read_text(a, n->name, &t, err))
        return false;
    f->candidate.tier = is_block ? TIER_K : tier_of_file(n->name);
    f->refusal = t.refusal;
    f->refused_as = t.refused_as;
    if (t.refusal)
        return true;
    if (k)
        return lower_kernel(a, n->problem, n->target, k, &f->candidate, err);
    f->candidate.source = t.bytes;
    candidate_seal(a, &f->candidate);
    return true;
}

bool candidate_file_read(struct arena *a, const struct candidate_name *n, struct candidate_file *f,
                         struct error *err) {
    *f = (struct candidate_file){0};
    bool is_library = strcmp(n->name, "library") == 0;
    if (is_ours(n->name) && !support_problem(n->problem, err))
        return error_wrap(err, "there is no '%s'", n->name);
    if (strcmp(n->name, "plain") == 0) {
        lower_plain(a, n->problem, n->target, &f->candidate);
    } else if (strcmp(n->name, "default") == 0) {
        struct kernel *k = arena_new(a, struct kernel);
        lower_default(a, n->problem, n->target, k);
        if (!lower_kernel(a, n->problem, n->target, k, &f->candidate, err))
            return false;
    } else if (is_library) {
        if (!library_candidate(a, n->problem, n->target, &f->candidate, err))
            return error_wrap(err, "there is no 'library'");
    } else if (is_run_name(n->name) ? !read_node(a, n, f, err) : !read_file(a, n, f, err)) {
        return false;
    }
    f->candidate.label = is_library ? f->candidate.label : n->name;
    return true;
}

bool candidate_file_target(struct arena *a, const char *name, const struct problem *p,
                           const char **target, struct error *err) {
    struct candidate_name n = {.name = name, .problem = p};
    struct source_text t;
    struct kernel *k;
    *target = NULL;
    if (is_ours(name))
        return true;
    if (is_run_name(name)) {
        struct run_view v;
        const struct search_node *node;
        if (!find_node(a, name, &v, &node, err))
            return false;
        *target = v.run.target;
        return true;
    }
    *target = tier_of_file(name) == TIER_D ? "cuda" : "cpu";
    if (!str_ends_with(name, ".hone"))
        return true;
    if (!read_kernel(a, &n, &k, &t, err))
        return false;
    *target = !k ? NULL : strcmp(k->target, "cpu") == 0 ? "cpu" : "cuda";
    return true;
}
