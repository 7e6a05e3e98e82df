// Rows are read back through the language, so that their texts are as moves print them. A block
// that this hone has other knobs for is left out: no move leads to it.
#include "ops/op_table.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "family/block_set.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "memory/kind.h"
#include "ops/op_problem.h"
#include "record/table_counters.h"

static const char PREFIX[] = "table:";

const char *op_table_path(const char *target) {
    size_t len = strlen(PREFIX);
    return target && strncmp(target, PREFIX, len) == 0 ? target + len : NULL;
}

static bool parse(struct arena *a, const char *text, struct lang_file *file, struct error *err) {
    const char *diagnostics;
    struct lang_source source = {.file = "table", .text = text, .len = strlen(text)};
    *file = (struct lang_file){0};
    return lang_parse(a, &source, file, &diagnostics, err);
}

static bool read_target(struct arena *a, struct op_table *t, struct error *err) {
    json_t *facts = json_parse(t->table.facts, strlen(t->table.facts), err);
    bool ok = facts && target_from_json(a, facts, &t->target, err);
    json_decref(facts);
    return ok;
}

static bool read_problem(struct arena *a, struct op_table *t, struct error *err) {
    struct lang_file file;
    if (!parse(a, t->table.problem_text, &file, err))
        return false;
    if (file.n_problems != 1)
        return error_set(err, ERROR_USAGE, "it holds %d problems", file.n_problems);
    t->problem = file.problems[0];
    return true;
}

// Canonical text of a row's block, or NULL.
static const char *canonical(struct arena *a, const struct op_table *t, const char *block) {
    struct arena scratch = {0};
    struct lang_file file;
    struct error why = {0};
    const char *text = NULL;
    if (parse(&scratch, block, &file, &why) && file.n_kernels == 1 &&
        lower_check(&scratch, t->problem, &t->target, file.kernels[0], &why))
        text = kernel_print(a, file.kernels[0]);
    else
        log_info("%s: %s", block, why.text);
    arena_reset(&scratch);
    return text;
}

static bool read_rows(struct arena *a, struct op_table *t, struct error *err) {
    struct table *table = &t->table;
    int n = 0;
    for (int i = 0; i < table->n_rows; i++) {
        const char *text = canonical(a, t, table->rows[i].block);
        if (!text && i == 0)
            return error_set(err, ERROR_USAGE,
                             "it was made by hone %s, and this one does not know its first block "
                             "any more; hone tabulate makes a new one",
                             table->version);
        t->n_unknown += !text;
        if (!text)
            continue;
        table->rows[n] = table->rows[i];
        table->rows[n++].block = text;
    }
    table->n_rows = n;
    return true;
}

static bool lower_first(struct arena *a, struct op_table *t, struct error *err) {
    struct lang_file file;
    if (!parse(a, t->table.rows[0].block, &file, err) ||
        !lower_kernel(a, t->problem, &t->target, file.kernels[0], &t->first, err))
        return false;
    t->first.label = "default";
    return true;
}

// Where they are there; the file lies next to the table.
static bool read_counters(struct arena *a, struct op_table *t, struct error *err) {
    const char *path = table_counters_path(a, t->path);
    return !file_exists(path) ||
           table_counters_read(a, path, &t->table, &t->n_counted, &t->counted_bytes, err);
}

bool op_table_open(struct arena *a, const char *path, struct op_table *t, struct error *err) {
    *t = (struct op_table){.path = path, .name = arena_printf(a, "%s%s", PREFIX, path)};
    if (!table_read(a, path, &t->table, err))
        return false;
    if (!t->table.has_end || t->table.n_rows == 0)
        return error_set(err, ERROR_USAGE,
                         "table %s is not finished; the hone tabulate that began it goes on", path);
    if (t->table.rows[0].verdict != VERDICT_OK)
        return error_set(err, ERROR_USAGE, "table %s: its first block is not ok but %s", path,
                         verdict_kind_name(t->table.rows[0].verdict));
    if (!read_counters(a, t, err) || !read_target(a, t, err) || !read_problem(a, t, err) ||
        !read_rows(a, t, err))
        return error_wrap(err, "table %s", path);
    bound_compute(t->problem, &t->target, &t->bound);
    t->judging = judging_of_table(a, &t->judge, &t->table, path);
    t->leads = arena_array(a, signed char, t->table.n_rows + 1);
    t->target.blocks = t->judge.rows;
    return lower_first(a, t, err) || error_wrap(err, "table %s", path);
}

bool op_table_check_problem(const struct op_table *t, const struct problem *p, struct error *err) {
    struct arena scratch = {0};
    const char *sizes = kind_shape_text(&scratch, t->problem);
    bool ok = strcmp(t->problem->text, p->text) == 0 ||
              error_set(err, ERROR_USAGE,
                        "table %s is of another problem, or of other sizes: it is of '%s'%s%s",
                        t->path, t->problem->name, *sizes ? " with " : "", sizes);
    arena_reset(&scratch);
    return ok;
}
