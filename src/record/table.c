// Lines in, rows out, and back.
#include "record/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"

static const char MAGIC[] = "hone.table/1";
enum { FILE_MAX = 64 << 20, SHAPES_MAX = 4096 };

// ---- writing

void table_print_head(struct str *out, const struct table *t) {
    struct arena scratch = {0};
    struct error ignored = {0};
    json_t *facts = json_parse(t->facts, strlen(t->facts), &ignored);
    json_t *head = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:f, s:o}", "hone", t->version,
                             "made", t->made_at, "problem", t->problem_text, "space", t->space,
                             "method", t->method, "seed", (json_int_t)t->seed, "limit", t->limit,
                             "seconds", t->seconds, "target", facts ? facts : json_null());
    str_printf(out, "%s\n%s\n", MAGIC, json_print(&scratch, head));
    json_decref(head);
    arena_reset(&scratch);
}

// The next word of a block; lines end with '|'. An empty one: there is none left.
static struct span next_word(const char **at) {
    while (*at && isspace((unsigned char)**at) && **at != '\n')
        ++*at;
    struct span word = {*at, strcspn(*at, " \t\n|")};
    if (word.len == 0 && (**at == '\n' || **at == '|'))
        word.len = 1;
    *at += word.len;
    return word;
}

static bool is_number(struct span word) {
    return isdigit((unsigned char)word.ptr[0]);
}

// Shape and numbers of a block.
static const char *shape_of(struct arena *a, const char *block, struct str *numbers) {
    struct str shape = {0};
    bool is_start = true;
    for (struct span w; (w = next_word(&block)).len > 0;) {
        bool is_end = *w.ptr == '\n' || *w.ptr == '|';
        if (is_end && *block == '\0')
            break;
        if (!is_start && !is_end)
            str_puts(&shape, " ");
        is_start = is_end;
        if (is_number(w))
            str_printf(numbers, " %.*s", (int)w.len, w.ptr);
        if (is_end)
            str_puts(&shape, "|");
        else if (is_number(w))
            str_puts(&shape, "?");
        else
            str_append(&shape, w.ptr, w.len);
    }
    return str_take(a, &shape);
}

static int find_shape(const struct table *t, const char *shape) {
    int i = 0;
    while (i < t->n_shapes && strcmp(t->shapes[i], shape) != 0)
        i++;
    return i;
}

static void print_time(struct str *out, const struct table_row *row) {
    if (row->verdict == VERDICT_OK)
        str_printf(out, " = %.5g %.4g %.4g\n", 1e6 * row->time_s, row->low, row->high);
    else
        str_printf(out, " = %s\n", verdict_kind_name(row->verdict));
}

static void add_shape(struct arena *a, struct table *t, const char *shape) {
    if (!t->shapes)
        t->shapes = arena_array(a, const char *, SHAPES_MAX);
    t->shapes[t->n_shapes++] = shape;
}

void table_print_row(struct arena *a, struct str *out, struct table *t,
                     const struct table_row *row) {
    struct str numbers = {0};
    const char *shape = shape_of(a, row->block, &numbers);
    int i = find_shape(t, shape);
    if (i == t->n_shapes) {
        add_shape(a, t, shape);
        str_printf(out, "shape %s\n", shape);
    }
    str_printf(out, "%d%s", i, str_text(&numbers));
    print_time(out, row);
    str_reset(&numbers);
}

void table_print_plain(struct str *out, const struct table_row *row) {
    str_puts(out, "plain");
    print_time(out, row);
}

void table_print_end(struct str *out, int n_rows) {
    str_printf(out, "end %d\n", n_rows);
}

// ---- reading

static bool read_head(struct arena *a, struct table *t, const char *line, struct error *err) {
    json_t *head = json_parse(line, strlen(line), err);
    if (!head)
        return false;
    struct json_reader r = {.where = "head"};
    t->version = json_read_string(&r, a, head, "hone");
    t->made_at = json_read_string(&r, a, head, "made");
    t->problem_text = json_read_string(&r, a, head, "problem");
    t->space = json_read_string(&r, a, head, "space");
    t->method = json_read_string(&r, a, head, "method");
    t->seed = (uint64_t)json_read_int(&r, head, "seed");
    t->limit = (int)json_read_int(&r, head, "limit");
    t->seconds = json_read_number(&r, head, "seconds");
    json_t *facts = json_read_object(&r, head, "target");
    t->facts = facts ? json_print(a, facts) : NULL;
    json_decref(head);
    return json_reader_done(&r, err);
}

// "= 12.3 0.99 1.01" or "= wrong".
static bool read_time(const char *text, struct table_row *row, struct error *err) {
    char *end;
    *row = (struct table_row){.block = row->block, .time_s = NAN, .low = NAN, .high = NAN};
    if (strncmp(text, "= ", 2) != 0)
        return error_set(err, ERROR_USAGE, "expected '=' and a time or a verdict");
    if (!isdigit((unsigned char)text[2]))
        return (verdict_kind_parse(text + 2, &row->verdict) && row->verdict != VERDICT_OK) ||
               error_set(err, ERROR_USAGE, "'%.40s' is no verdict", text + 2);
    row->time_s = 1e-6 * strtod(text + 2, &end);
    row->low = strtod(end, &end);
    row->high = strtod(end, &end);
    bool ok = *end == '\0' && row->time_s > 0 && row->low > 0 && row->low <= 1 && row->high >= 1 &&
              isfinite(row->time_s) && isfinite(row->high);
    return ok || error_set(err, ERROR_USAGE, "'%.60s' is no time with its interval", text);
}

// The shape with the numbers in their places; NULL: there are too few.
static const char *fill_shape(struct arena *a, const char *shape, const char **at) {
    struct str block = {0};
    bool ok = true;
    for (const char *c = shape; *c && ok; c++) {
        if (*c == '?') {
            struct span w = next_word(at);
            ok = w.len > 0 && is_number(w);
            str_append(&block, w.ptr, w.len);
        } else {
            str_append(&block, *c == '|' ? "\n" : c, 1);
        }
    }
    str_puts(&block, "\n");
    const char *text = str_take(a, &block);
    return ok ? text : NULL;
}

// A block that was judged again has a second row, which counts.
static void add_row(struct table *t, const struct table_row *row) {
    int i = 0;
    while (i < t->n_rows && strcmp(t->rows[i].block, row->block) != 0)
        i++;
    t->rows[i] = *row;
    t->n_rows += i == t->n_rows;
}

static bool read_row(struct arena *a, struct table *t, const char *line, struct error *err) {
    char *end;
    long shape = strtol(line, &end, 10);
    const char *at = end;
    struct table_row row = {0};
    if (end == line || shape < 0 || shape >= t->n_shapes)
        return error_set(err, ERROR_USAGE, "expected a row of one of %d shapes", t->n_shapes);
    row.block = fill_shape(a, t->shapes[shape], &at);
    while (*at == ' ')
        at++;
    if (!row.block || *at != '=')
        return error_set(err, ERROR_USAGE, "the numbers do not fit shape %ld", shape);
    if (!read_time(at, &row, err))
        return false;
    add_row(t, &row);
    return true;
}

static bool read_end(struct table *t, const char *line, struct error *err) {
    long long n;
    if (!str_to_int64(line, &n) || n != t->n_rows)
        return error_set(err, ERROR_USAGE, "it has %d rows and says %.20s", t->n_rows, line);
    t->has_end = true;
    return true;
}

static bool read_line(struct arena *a, struct table *t, const char *line, struct error *err) {
    if (t->has_end)
        return error_set(err, ERROR_USAGE, "there is something behind the end");
    if (strncmp(line, "shape ", 6) == 0) {
        if (t->n_shapes == SHAPES_MAX)
            return error_set(err, ERROR_USAGE, "more than %d shapes", SHAPES_MAX);
        add_shape(a, t, arena_strdup(a, line + 6));
        return true;
    }
    if (strncmp(line, "plain ", 6) == 0)
        return read_time(line + 6, &t->plain, err);
    if (strncmp(line, "end ", 4) == 0)
        return read_end(t, line + 4, err);
    return read_row(a, t, line, err);
}

static bool check_magic(const char *line, struct error *err) {
    if (strcmp(line, MAGIC) == 0)
        return true;
    if (strncmp(line, MAGIC, strlen("hone.table/")) == 0)
        return error_set(err, ERROR_USAGE, "it is %.40s, and this hone reads %s", line, MAGIC);
    return error_set(err, ERROR_USAGE, "this is no table (hone tabulate makes one)");
}

static bool read_numbered(struct arena *a, struct table *t, const char *line, int number,
                          struct error *err) {
    return number == 1   ? check_magic(line, err)
           : number == 2 ? read_head(a, t, line, err)
                         : read_line(a, t, line, err);
}

static int count_lines(const char *text) {
    int n = 1;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

bool table_read(struct arena *a, const char *path, struct table *t, struct error *err) {
    size_t len;
    char *text = file_read(a, path, FILE_MAX, &len, err);
    *t = (struct table){.plain = {.time_s = NAN}};
    if (!text)
        return error_wrap(err, "table %s", path);
    t->rows = arena_array(a, struct table_row, count_lines(text));
    int number = 0;
    struct error why = {0};
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        if (!read_numbered(a, t, at, ++number, &why))
            return error_set(err, ERROR_USAGE, "table %s:%d: %s", path, number, why.text);
        t->whole_bytes = (size_t)(end + 1 - text);
    }
    t->hash = 1;
    for (int i = 0; i < t->n_rows; i++)
        t->hash = hash_bytes(t->rows[i].block, strlen(t->rows[i].block), t->hash);
    if (number == 0)
        return check_magic("", err) || error_wrap(err, "table %s", path);
    return number >= 2 || error_set(err, ERROR_USAGE, "table %s has no head", path);
}
