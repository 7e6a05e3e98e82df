// Lines in, profiles out, and back.
#include "record/table_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

static const char MAGIC[] = "hone.counters/1";
enum { FILE_MAX = 256 << 20 };

const char *table_counters_path(struct arena *a, const char *table) {
    size_t len = strlen(table) - (str_ends_with(table, ".table") ? strlen(".table") : 0);
    return arena_printf(a, "%.*s.counters", (int)len, table);
}

// ---- writing

static bool is_kept(int id) {
    return metric_table[id].scope != SCOPE_CALL;
}

void table_counters_print_head(struct str *out, const struct table *t) {
    str_printf(out, "%s %016llx\nmetrics", MAGIC, (unsigned long long)t->hash);
    for (int i = 0; i < METRIC_COUNT; i++)
        if (is_kept(i))
            str_printf(out, " %s", metric_table[i].name);
    str_puts(out, "\n");
}

void table_counters_print_row(struct str *out, int row, const struct profile *p) {
    for (int k = 0; k < p->n_launches; k++) {
        const struct profile_launch *l = &p->launches[k];
        str_printf(out, "%d %s", row, l->name);
        for (int i = 0; i < METRIC_COUNT; i++) {
            if (is_kept(i) && metrics_has(&l->metrics, (enum metric_id)i))
                str_printf(out, " %.4g", l->metrics.value[i]);
            else if (is_kept(i))
                str_puts(out, " -");
        }
        str_puts(out, "\n");
    }
    str_printf(out, "end %d\n", row);
}

// ---- reading

struct reading {
    struct arena *a;
    struct table *t;
    int columns[METRIC_COUNT * 2];  // their metric; -1: not known here
    int n_columns;
    struct profile *open;  // of the row that is being read; NULL: none
    int row, n;
};

static char *next_word(char **at) {
    char *word = *at, *blank = word + strcspn(word, " ");
    *at = *blank ? blank + 1 : blank;
    *blank = '\0';
    return *word ? word : NULL;
}

static bool read_columns(struct reading *r, char *line) {
    char *word = next_word(&line);
    if (!word || strcmp(word, "metrics") != 0)
        return false;
    while ((word = next_word(&line))) {
        enum metric_id id;
        if (r->n_columns == (int)(sizeof r->columns / sizeof r->columns[0]))
            return false;
        r->columns[r->n_columns++] = metric_find(word, &id) ? (int)id : -1;
    }
    return r->n_columns > 0;
}

static bool read_launch(struct reading *r, int row, char *line) {
    char *name = next_word(&line), *word;
    if (!name || row < 0 || row >= r->t->n_rows)
        return false;
    if (!r->open || r->row != row)
        r->open = arena_new(r->a, struct profile);
    r->row = row;
    struct metrics *m = &profile_add_launch(r->a, r->open, arena_strdup(r->a, name))->metrics;
    int i = 0;
    for (; (word = next_word(&line)) && i < r->n_columns; i++)
        if (r->columns[i] >= 0 && strcmp(word, "-") != 0)
            metrics_set(m, (enum metric_id)r->columns[i], strtod(word, NULL));
    return i == r->n_columns && !word;
}

// The time is the table's: it was measured by pairs, without a profiler.
static void close_row(struct reading *r) {
    struct table_row *row = &r->t->rows[r->row];
    if (r->open->n_launches == 1)
        metrics_set(&r->open->launches[0].metrics, METRIC_TIME, row->time_s);
    profile_set(r->open, METRIC_LAUNCHES, r->open->n_launches);
    row->profile = r->open;
    r->open = NULL;
    r->n++;
}

static bool read_line(struct reading *r, char *line) {
    char *word = next_word(&line), *end;
    bool is_end = word && strcmp(word, "end") == 0;
    if (is_end)
        word = next_word(&line);
    long row = word ? strtol(word, &end, 10) : -1;
    if (!word || end == word || *end)
        return false;
    if (!is_end)
        return read_launch(r, (int)row, line);
    if (!r->open || r->row != row)
        return false;
    close_row(r);
    return true;
}

bool table_counters_read(struct arena *a, const char *path, struct table *t, int *n,
                         size_t *whole_bytes, struct error *err) {
    struct reading r = {.a = a, .t = t};
    struct arena scratch = {0};
    size_t len;
    char *text = file_read(&scratch, path, FILE_MAX, &len, err);
    char *line = text, *end = text ? strchr(text, '\n') : NULL;
    const char *head = arena_printf(&scratch, "%s %016llx", MAGIC, (unsigned long long)t->hash);
    bool ok = text != NULL;
    if (ok &&
        (!end || (size_t)(end - line) != strlen(head) || strncmp(line, head, strlen(head)) != 0))
        ok = error_set(err, ERROR_USAGE, "%s: these are no counters of this table", path);
    *whole_bytes = 0;
    for (int number = 2; ok && (line = end + 1, end = strchr(line, '\n')); number++) {
        *end = '\0';
        if (!(number == 2 ? read_columns(&r, line) : read_line(&r, line)))
            ok = error_set(err, ERROR_USAGE, "%s:%d: this is no line of counters", path, number);
        if (!r.open)
            *whole_bytes = (size_t)(end + 1 - text);
    }
    *n = r.n;
    arena_reset(&scratch);
    return ok;
}
