// Two forms. The raw page is wide: a row of names, a row of units, a row for each launch. The
// details page is long: a row for each metric of each launch, and rows of rules, which are not
// read: they promise gains that physics forbids. Before and between the rows stands what the
// profiled program printed and ncu's own lines, which begin with "==".
//
// A file may have been saved again by a spreadsheet (semicolons or tabs, no quotes, a byte order
// mark), edited, or cut off. Rows that are not whole and values that cannot be are left out and
// counted; nothing is read off them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "profile/import.h"

#define ARRAY_LEN(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { COLUMNS_MAX = 100000, LAUNCHES_MAX = 1000000 };

// Take `word` off the front, in quotes or without.
static bool take_name(const char **at, const char *end, const char *word) {
    size_t len = strlen(word);
    bool is_quoted = *at < end && **at == '"';
    const char *from = *at + is_quoted;
    if ((size_t)(end - from) < len + is_quoted || memcmp(from, word, len) != 0 ||
        (is_quoted && from[len] != '"'))
        return false;
    *at = from + len + is_quoted;
    return true;
}

// Does the table begin here? Its first two names say how cells are separated.
static bool is_head(const char *at, const char *end, char *separator) {
    if (!take_name(&at, end, "ID") || at == end || !strchr(",;\t", *at) || !*at)
        return false;
    *separator = *at++;
    return take_name(&at, end, "Process ID");
}

// The line that begins with the names of the columns.
static const char *find_head(const char *text, size_t len, char *separator) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const char *at = text, *end = text + len;
    if (len > 3 && memcmp(text, byte_order_mark, 3) == 0)
        at += 3;
    while (at < end) {
        if (is_head(at, end, separator))
            return at;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            return NULL;
        at = line + 1;
    }
    return NULL;
}

bool import_is_ncu(const char *text, size_t len) {
    char separator;
    return find_head(text, len, &separator) || (len > 6 && memcmp(text, "==PROF", 6) == 0);
}

// ---- units

static double prefix_scale(char c) {
    switch (c) {
    case 'n':
        return 1e-9;
    case 'u':
        return 1e-6;
    case 'm':
        return 1e-3;
    case 'K':
    case 'k':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    case 'T':
        return 1e12;
    default:
        return NAN;
    }
}

// The scale of "Gbyte/s", "usecond", "Mhz" before one of the words; NAN: it is none of them.
static double scaled(const char *unit, const char *const *words) {
    for (; *words; words++) {
        size_t len = strlen(*words);
        if (strncmp(unit, *words, len) == 0)
            return 1;
        if (*unit && strncmp(unit + 1, *words, len) == 0)
            return prefix_scale(*unit);
    }
    return NAN;
}

// From what the file says to the table's unit; NAN: they are not of one kind.
static double unit_scale(enum metric_unit to, const char *unit) {
    static const char *const second[] = {"second", "s", NULL}, *const byte[] = {"byte", NULL},
                             *const hertz[] = {"hz", "Hz", NULL};
    switch (to) {
    case UNIT_SECONDS:
        return scaled(unit, second);
    case UNIT_BYTES:
        return *unit ? scaled(unit, byte) : 1;
    case UNIT_HERTZ:
        return strcmp(unit, "cycle/nsecond") == 0   ? 1e9
               : strcmp(unit, "cycle/usecond") == 0 ? 1e6
               : strcmp(unit, "cycle/second") == 0  ? 1
                                                    : scaled(unit, hertz);
    case UNIT_SHARE:
        return strcmp(unit, "%") == 0 ? 0.01 : NAN;
    default:
        return strcmp(unit, "%") == 0 ? NAN : 1;
    }
}

// ---- one table

// Columns that are looked up in every row; -1: it has none.
enum { ID, KERNEL, BLOCK, GRID, CC, DEVICE, SM_COUNT, NAME, UNIT, VALUE, FIXED };
static const char *const fixed_names[FIXED] = {
    [ID] = "ID",
    [KERNEL] = "Kernel Name",
    [BLOCK] = "Block Size",
    [GRID] = "Grid Size",
    [CC] = "CC",
    [DEVICE] = "device__attribute_display_name",
    [SM_COUNT] = "launch__sm_count",
    [NAME] = "Metric Name",
    [UNIT] = "Metric Unit",
    [VALUE] = "Metric Value",
};

// What a column, or a metric of the details page, stands for.
struct meaning {
    bool is_known;
    bool adds;  // to others of the same launch
    enum metric_id id;
    int rank;
};

struct value {
    const char *name, *text, *unit;
};

struct table {
    struct arena *a;
    struct number_style style;
    struct csv_row names;
    int at[FIXED];
    struct meaning *columns;
    struct imported *out;
    int ranks[METRIC_COUNT];  // of the launch at hand: how good a name gave it
};

static struct meaning meaning_of(const char *name) {
    // What a block has for itself, without the driver's own part.
    static const char *const shared[] = {
        "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic",
        "Static Shared Memory Per Block", "Dynamic Shared Memory Per Block"};
    struct meaning m = {0};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (strcmp(name, shared[i]) == 0)
            return (struct meaning){.is_known = true, .adds = true, .id = METRIC_SHARED_BYTES};
    m.is_known = metric_find_counter(name, &m.id, &m.rank);
    return m;
}

static void find_columns(struct table *t) {
    t->columns = arena_array(t->a, struct meaning, t->names.n);
    for (int k = 0; k < FIXED; k++)
        t->at[k] = -1;
    for (int i = 0; i < t->names.n; i++) {
        t->columns[i] = meaning_of(t->names.cells[i]);
        for (int k = 0; k < FIXED; k++)
            if (t->at[k] < 0 && strcmp(t->names.cells[i], fixed_names[k]) == 0)
                t->at[k] = i;
    }
}

static const char *cell(const struct csv_row *row, int i) {
    return i >= 0 && i < row->n ? row->cells[i] : "";
}

// "(256, 1, 1)" is 256.
static double product(const char *text) {
    long x, y, z;
    return sscanf(text, "(%9ld, %9ld, %9ld)", &x, &y, &z) == 3 && x > 0 && y > 0 && z > 0
               ? (double)x * (double)y * (double)z
               : NAN;
}

static void note_wrong(struct table *t, const char *name, const char *text) {
    struct imported *out = t->out;
    if (out->n_wrong < ARRAY_LEN(out->wrong))
        out->wrong[out->n_wrong] = arena_printf(t->a, "%.60s = %.24s", name, text);
    out->n_wrong++;
}

// A cell, as the column or the row of that name has it.
static void keep(struct table *t, struct profile_launch *l, const struct meaning *m,
                 const struct value *v) {
    if (!m->is_known)
        return;
    double value = *v->text == '(' ? product(v->text)
                                   : number_read(&t->style, v->text) *
                                         unit_scale(metric_table[m->id].unit, v->unit);
    bool is_better = !metrics_has(&l->metrics, m->id) || m->rank < t->ranks[m->id];
    if (!isfinite(value) || (!is_better && !m->adds))
        return;
    if (!metric_is_possible(m->id, value)) {
        note_wrong(t, v->name, v->text);
        return;
    }
    double before = m->adds && !is_better ? launch_get(l, m->id) : 0;
    metrics_set(&l->metrics, m->id, before + value);
    t->ranks[m->id] = m->rank;
}

static void read_device(struct table *t, const struct csv_row *row) {
    const char *device = cell(row, t->at[DEVICE]);
    double sms = number_read(&t->style, cell(row, t->at[SM_COUNT]));
    int major, minor;
    if (*device && !t->out->device)
        t->out->device = device;
    if (sscanf(cell(row, t->at[CC]), "%2d%*1[.,]%1d", &major, &minor) == 2 && major > 0)
        t->out->capability = 10 * major + minor;
    if (sms >= 1 && sms < 10000)
        t->out->sms = (int)sms;
}

static struct profile_launch *begin(struct table *t, const struct csv_row *row) {
    struct profile_launch *l = profile_add_launch(t->a, &t->out->profile, cell(row, t->at[KERNEL]));
    memset(t->ranks, 0, sizeof t->ranks);
    for (int k = BLOCK; k <= GRID; k++)
        if (t->at[k] >= 0)
            keep(t, l, &t->columns[t->at[k]],
                 &(struct value){fixed_names[k], cell(row, t->at[k]), ""});
    read_device(t, row);
    return l;
}

// A row of the table, and not something that the program printed between. The last one may be cut
// off before it looks like one.
static bool is_row(const struct table *t, const struct csv_row *row, bool is_last) {
    const char *id = cell(row, 0);
    return row->is_open || ((row->n > t->at[CC] || (is_last && row->n > 1)) && *id &&
                            strspn(id, "0123456789") == strlen(id));
}

// A row of the raw page has a cell for each name; one of the details page goes to its value at
// least.
static bool is_whole(const struct table *t, const struct csv_row *row) {
    int least = t->at[NAME] >= 0 ? t->at[VALUE] + 1 : t->names.n;
    return !row->is_open && row->n >= least;
}

static void read_wide(struct table *t, const struct csv_row *units, const struct csv_row *row) {
    struct profile_launch *l = begin(t, row);
    for (int i = 0; i < row->n && i < t->names.n; i++)
        if (i != t->at[BLOCK] && i != t->at[GRID])
            keep(t, l, &t->columns[i],
                 &(struct value){t->names.cells[i], row->cells[i], cell(units, i)});
}

static void read_long(struct table *t, const struct csv_row *row, const char **id,
                      struct profile_launch **l) {
    if (!*id || strcmp(*id, cell(row, t->at[ID])) != 0) {
        *l = begin(t, row);
        *id = cell(row, t->at[ID]);
    }
    const char *name = cell(row, t->at[NAME]), *value = cell(row, t->at[VALUE]);
    struct meaning m = meaning_of(name);
    keep(t, *l, &m, &(struct value){name, value, cell(row, t->at[UNIT])});
    double sms = strcmp(name, "# SMs") == 0 ? number_read(&t->style, value) : NAN;
    if (sms >= 1 && sms < 10000)
        t->out->sms = (int)sms;
}

// How the file writes numbers: in cells that hold nothing else.
static struct number_style find_style(struct arena *a, struct csv csv) {
    struct number_votes votes = {0};
    struct csv_row row;
    for (int n = 0; n < 64 && csv_next(a, &csv, &row); n++)
        for (int i = 0; i < row.n; i++)
            number_vote(&votes, row.cells[i]);
    return number_style_of(&votes);
}

static bool read_rows(struct table *t, struct csv *csv, struct error *err) {
    bool is_long = t->at[NAME] >= 0;
    struct csv_row row, units = {0};
    struct profile_launch *l = NULL;
    const char *id = NULL;
    t->out->what = is_long ? "ncu, details page" : "ncu, raw page";
    while (csv_next(t->a, csv, &row)) {
        if (!is_row(t, &row, csv->at >= csv->end)) {
            if (!units.n && !is_long && row.n == t->names.n)
                units = row;
            continue;
        }
        if (!is_whole(t, &row)) {
            t->out->n_cut++;
            continue;
        }
        if (t->out->profile.n_launches >= LAUNCHES_MAX)
            return error_set(err, ERROR_USAGE, "more than %d launches", LAUNCHES_MAX);
        if (is_long)
            read_long(t, &row, &id, &l);
        else
            read_wide(t, &units, &row);
    }
    return true;
}

// Why there is no table, in ncu's own words where it says so.
static bool no_table(const char *text, size_t len, struct error *err) {
    static const char *const reasons[][2] = {
        {"ERR_NVGPUCTRPERM",
         "the driver refused the counters (ERR_NVGPUCTRPERM): they need root, or the module option "
         "NVreg_RestrictProfilingToAdminUsers=0"},
        {"No kernels were profiled", "ncu profiled no kernel"},
        {"LibraryNotLoaded", "ncu could not start its profiler (LibraryNotLoaded)"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (memmem(text, len, reasons[i][0], strlen(reasons[i][0])))
            return error_set(err, ERROR_USAGE, "%s", reasons[i][1]);
    return error_set(err, ERROR_USAGE,
                     "there is no table of ncu in it: print one with ncu --csv --page raw");
}

bool import_ncu(struct arena *a, const char *text, size_t len, struct imported *out,
                struct error *err) {
    struct table t = {.a = a, .out = out};
    struct csv csv = {.end = text + len};
    *out = (struct imported){0};
    csv.at = find_head(text, len, &csv.separator);
    if (!csv.at)
        return no_table(text, len, err);
    csv_next(a, &csv, &t.names);
    if (t.names.n > COLUMNS_MAX)
        return error_set(err, ERROR_USAGE, "more than %d columns", COLUMNS_MAX);
    find_columns(&t);
    if (t.at[CC] < 0 || t.at[KERNEL] < 0)
        return error_set(err, ERROR_USAGE, "the table of ncu has no column \"%s\"",
                         fixed_names[t.at[CC] < 0 ? CC : KERNEL]);
    t.style = find_style(a, csv);
    if (!read_rows(&t, &csv, err))
        return false;
    out->n_launches = out->profile.n_launches;
    if (out->n_launches == 0)
        return error_set(err, ERROR_USAGE, "the table of ncu has no %slaunch in it%s",
                         out->n_cut > 0 ? "whole " : "",
                         out->n_cut > 0 ? ": the file is cut off" : "");
    import_group(a, &out->profile);
    return true;
}
