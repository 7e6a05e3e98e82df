// Lines to structs. A program that was killed leaves a line that is cut off, and a program that
// forks a file for each process.
#include "profile/injected.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

enum { OUTPUT_MAX = 1 << 30, KERNELS_MAX = 1 << 17, SPOTS_MAX = 1 << 17, WORDS_MAX = 160 };

struct reading {
    struct arena *a;
    const struct program_asked *asked;
    struct program_data *d;
    int base;  // kernels of processes before this one
    bool has_ended;
};

// ---- a line, cut into words

struct line_words {
    char *at[WORDS_MAX];
    int n;
};

// Cut at blanks, the last of at most `most` words with all the rest.
static void cut(char *line, int most, struct line_words *w) {
    w->n = 0;
    while (*line && w->n < most) {
        w->at[w->n++] = line;
        if (w->n == most)
            break;
        line += strcspn(line, " ");
        if (*line)
            *line++ = '\0';
    }
}

static double number(const struct line_words *w, int i) {
    return i < w->n ? strtod(w->at[i], NULL) : NAN;
}

static const char *keep(struct reading *r, const char *text) {
    return arena_strdup(r->a, text);
}

// The next of a list that grows by doubling; what was there moves.
static void *grow(struct arena *a, void *list, int n, int *room, size_t size) {
    if (n < *room)
        return list;
    int more = *room ? *room * 2 : 64;
    void *larger = arena_alloc(a, (size_t)more * size);
    if (n > 0)
        memcpy(larger, list, (size_t)n * size);
    *room = more;
    return larger;
}

// ---- a timeline

// kernel ID GX GY GZ BX BY BZ STATIC DYNAMIC LOCAL REGISTERS NAME
static void take_kernel(struct reading *r, char *line) {
    struct program_data *d = r->d;
    struct line_words w;
    cut(line, 13, &w);
    if (w.n < 13 || d->n_kernels >= KERNELS_MAX || r->base + (int)number(&w, 1) != d->n_kernels)
        return;
    d->kernels = grow(r->a, d->kernels, d->n_kernels, &d->kernel_room, sizeof *d->kernels);
    struct program_kernel *k = &d->kernels[d->n_kernels++];
    *k = (struct program_kernel){.name = keep(r, w.at[12])};
    for (int i = 0; i < 3; i++) {
        k->grid[i] = (int)number(&w, 2 + i);
        k->block[i] = (int)number(&w, 5 + i);
    }
    k->static_shared = (int)number(&w, 8);
    k->dynamic_shared = (int)number(&w, 9);
    k->local = (int)number(&w, 10);
    k->registers = (int)number(&w, 11);
    k->words = program_demangle(r->a, k->name);
}

// k ID START END STREAM IN_GRAPH
static void take_launch(struct reading *r, char *line) {
    struct program_data *d = r->d;
    struct line_words w;
    cut(line, 6, &w);
    int id = w.n == 6 ? r->base + (int)number(&w, 1) : -1;
    double start_s = number(&w, 2) * 1e-9, end_s = number(&w, 3) * 1e-9;
    if (id < 0 || id >= d->n_kernels || !(end_s >= start_s) || start_s <= 0)
        return;  // a launch that was not timed has zeros
    struct program_kernel *k = &d->kernels[id];
    k->times_s = grow(r->a, k->times_s, k->n, &k->room, sizeof *k->times_s);
    k->times_s[k->n++] = end_s - start_s;
    k->total_s += end_s - start_s;
    k->n_in_graphs += number(&w, 5) != 0;
    d->n_launches++;
    d->intervals =
        grow(r->a, d->intervals, d->n_intervals, &d->interval_room, sizeof *d->intervals);
    d->intervals[d->n_intervals++] = (struct program_interval){start_s, end_s};
}

// copy KIND FROM TO BYTES START END
static void take_copy(struct reading *r, char *line) {
    struct program_data *d = r->d;
    struct line_words w;
    cut(line, 7, &w);
    if (w.n < 7)
        return;
    int kind = (int)number(&w, 1), from = (int)number(&w, 2), to = (int)number(&w, 3), i = 0;
    while (i < d->n_copies &&
           (d->copies[i].kind != kind || d->copies[i].from != from || d->copies[i].to != to))
        i++;
    if (i == (int)(sizeof d->copies / sizeof d->copies[0]))
        return;
    if (i == d->n_copies)
        d->copies[d->n_copies++] = (struct program_copies){.kind = kind, .from = from, .to = to};
    d->copies[i].n++;
    d->copies[i].bytes += number(&w, 4);
    d->copies[i].total_s += (number(&w, 6) - number(&w, 5)) * 1e-9;
}

// device ORDINAL SMS MAJOR MINOR CHIP NAME
static void take_device(struct reading *r, char *line) {
    struct line_words w;
    cut(line, 7, &w);
    if (w.n < 7 || r->d->device)
        return;
    r->d->sms = (int)number(&w, 2);
    r->d->capability = (int)(10 * number(&w, 3) + number(&w, 4));
    r->d->chip = strcmp(w.at[5], "?") ? keep(r, w.at[5]) : NULL;
    r->d->device = keep(r, w.at[6]);
}

// ---- counters

// What ncu and CUPTI give in percent and we as a share.
static double in_our_unit(enum metric_id id, double value) {
    const struct metric_info *m = &metric_table[id];
    if (m->unit == UNIT_SHARE)
        return value / 100;
    return m->unit == UNIT_SECONDS ? value * 1e-9 : value;
}

// counted LAUNCH VALUE...
static void take_counted(struct reading *r, char *line) {
    struct line_words w;
    cut(line, WORDS_MAX, &w);
    int launch = (int)number(&w, 1);
    if (w.n != 2 + r->asked->n_ids || launch < 0 || launch >= r->d->n_counted ||
        r->d->is_counted[launch])
        return;
    for (int i = 0; i < r->asked->n_ids; i++) {
        enum metric_id id = r->asked->ids[i];
        double value = strcmp(w.at[2 + i], "-") == 0 ? NAN : in_our_unit(id, number(&w, 2 + i));
        // Parts of a ratio come from different passes and can be a little more than all.
        if (metric_table[id].unit == UNIT_SHARE && value > 1)
            value = 1;
        metrics_set(&r->d->counted[launch], id, value);
    }
    r->d->is_counted[launch] = true;
}

// held LAUNCH BYTES
static void take_held(struct reading *r, char *line) {
    struct line_words w;
    cut(line, 3, &w);
    int launch = (int)number(&w, 1);
    if (w.n == 3 && launch >= 0 && launch < r->d->n_counted)
        metrics_set(&r->d->counted[launch], METRIC_FOOTPRINT, number(&w, 2));
}

// ---- samples

// A reason as CUPTI calls it for samples and the stall that it is for counters.
static bool stall_of(const char *reason, size_t len, enum metric_id *id) {
    static const struct {
        const char *name;
        enum metric_id id;
    } other[] = {{"no_instructions", METRIC_STALL_NO_INSTRUCTION},
                 {"warpgroup_arrive", METRIC_STALL_GMMA}};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (strlen(other[i].name) == len && strncmp(reason, other[i].name, len) == 0) {
            *id = other[i].id;
            return true;
        }
    for (int i = METRIC_STALL_BARRIER; i <= METRIC_STALL_WAIT; i++) {
        const char *counter = strstr(metric_table[i].counter, "_stalled_");
        if (!counter)
            continue;
        counter += strlen("_stalled_");
        if (strncmp(counter, reason, len) == 0 && strncmp(counter + len, "_per_issue", 10) == 0) {
            *id = (enum metric_id)i;
            return true;
        }
    }
    return false;
}

static void take_reason(struct program_spot *s, const char *word) {
    const char *equals = strrchr(word, '=');
    enum metric_id id;
    if (!equals)
        return;
    double samples = strtod(equals + 1, NULL);
    s->samples += samples;
    if (!stall_of(word, (size_t)(equals - word), &id))
        return;
    s->reasons[id - METRIC_STALL_BARRIER] += samples;
    if (id == METRIC_STALL_SELECTED || id == METRIC_STALL_NOT_SELECTED)
        return;
    s->waiting += samples;
    if (samples > s->reason_samples) {
        s->reason_samples = samples;
        s->reason = metric_table[id].meaning;
    }
}

// pc CRC PC LINE FUNCTION REASON=SAMPLES...<tab>FILE
static void take_spot(struct reading *r, char *line) {
    struct program_data *d = r->d;
    struct line_words w;
    char *file = strchr(line, '\t');
    if (file)
        *file++ = '\0';
    cut(line, WORDS_MAX, &w);
    if (w.n < 5 || d->n_spots >= SPOTS_MAX)
        return;
    d->spots = grow(r->a, d->spots, d->n_spots, &d->spot_room, sizeof *d->spots);
    struct program_spot *s = &d->spots[d->n_spots++];
    *s = (struct program_spot){.kernel = keep(r, w.at[4]),
                               .crc = strtoull(w.at[1], NULL, 16),
                               .pc = strtoull(w.at[2], NULL, 10),
                               .line = (int)number(&w, 3),
                               .file = file && *file ? keep(r, file) : NULL,
                               .reason = ""};
    for (int i = 5; i < w.n; i++)
        take_reason(s, w.at[i]);
}

static void take_samples(struct reading *r, char *line) {
    struct line_words w;
    cut(line, 4, &w);
    r->d->n_samples += number(&w, 1);
    r->d->n_samples_lost += number(&w, 2);
}

// ---- a file

// error WHERE CALL CODE TEXT
static void take_error(struct reading *r, char *line) {
    struct program_data *d = r->d;
    struct line_words w;
    cut(line, 5, &w);
    for (int i = 0; i < d->n_faults; i++)
        if (w.n == 5 && strcmp(d->faults[i].text, w.at[4]) == 0)
            return;
    if (w.n < 5 || d->n_faults == (int)(sizeof d->faults / sizeof d->faults[0]))
        return;
    d->faults[d->n_faults++] = (struct program_fault){keep(r, w.at[1]), keep(r, w.at[2]),
                                                      keep(r, w.at[4]), (int)number(&w, 3)};
}

static void take_number(double *into, const char *line) {
    *into += strtod(line + strcspn(line, " "), NULL);
}

static void take_passes(struct reading *r, char *line) {
    double passes = 0;
    take_number(&passes, line);
    r->d->passes = (int)passes;
}
static void take_left_out(struct reading *r, char *line) {
    take_number(&r->d->n_left_out, line);
}
static void take_end(struct reading *r, char *line) {
    (void)line;
    r->has_ended = true;
}
// set BYTES START END
static void take_set(struct reading *r, char *line) {
    struct line_words w;
    cut(line, 4, &w);
    if (w.n == 4)
        r->d->set_s += (number(&w, 3) - number(&w, 2)) * 1e-9;
}

static void take_line(struct reading *r, char *line) {
    static const struct {
        const char *word;
        void (*take)(struct reading *r, char *line);
    } kinds[] = {{"k ", take_launch},          {"kernel ", take_kernel}, {"copy ", take_copy},
                 {"set ", take_set},           {"device ", take_device}, {"counted ", take_counted},
                 {"counters ", take_passes},   {"pc ", take_spot},       {"samples ", take_samples},
                 {"left_out ", take_left_out}, {"error ", take_error},   {"end ", take_end},
                 {"held ", take_held}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(line, kinds[i].word, strlen(kinds[i].word)) == 0) {
            kinds[i].take(r, line);
            return;
        }
}

static bool take_file(struct reading *r, const char *path, struct error *err) {
    size_t len;
    struct arena scratch = {0};
    char *text = file_read(&scratch, path, OUTPUT_MAX, &len, err);
    r->base = r->d->n_kernels;
    r->has_ended = false;
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_line(r, line);
    }
    r->d->n_processes++;
    r->d->was_cut |= !r->has_ended;
    arena_reset(&scratch);
    return text != NULL;
}

static int compare_names(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

bool program_read(struct arena *a, const char *dir, const struct program_asked *asked,
                  struct program_data *out, struct error *err) {
    static const struct program_asked nothing;
    struct reading r = {.a = a, .asked = asked ? asked : &nothing, .d = out};
    const char *names[1024];
    int n = 0;
    bool ok = true;
    *out = (struct program_data){.n_counted = r.asked->n_launches};
    out->counted = arena_array(a, struct metrics, out->n_counted + 1);
    out->is_counted = arena_array(a, bool, out->n_counted + 1);
    DIR *d = opendir(dir);
    if (!d)
        return error_set(err, ERROR_IO, "%s: %s", dir, strerror(errno));
    for (struct dirent *e; (e = readdir(d)) && n < 1024;)
        if (strncmp(e->d_name, "out.", 4) == 0)
            names[n++] = arena_printf(a, "%s/%s", dir, e->d_name);
    closedir(d);
    qsort(names, (size_t)n, sizeof *names, compare_names);
    for (int i = 0; i < n && ok; i++)
        ok = take_file(&r, names[i], err);
    return ok;
}

// ---- what follows from it

static int compare_starts(const void *x, const void *y) {
    const struct program_interval *a = x, *b = y;
    return a->start_s < b->start_s ? -1 : a->start_s > b->start_s;
}

void program_finish(struct arena *a, struct program_data *d) {
    (void)a;
    if (d->n_intervals == 0)
        return;
    qsort(d->intervals, (size_t)d->n_intervals, sizeof *d->intervals, compare_starts);
    d->first_s = d->last_s = d->intervals[0].start_s;
    d->busy_s = d->longest_gap_s = 0;
    for (int i = 0; i < d->n_intervals; i++) {
        double start_s = d->intervals[i].start_s, end_s = d->intervals[i].end_s;
        if (end_s <= d->last_s)
            continue;
        d->busy_s += end_s - fmax(start_s, d->last_s);
        d->longest_gap_s = fmax(d->longest_gap_s, start_s - d->last_s);
        d->last_s = end_s;
    }
}

bool program_is_pageable(const struct program_copies *c) {
    return (c->kind == COPY_TO_DEVICE && c->from == MEMORY_PAGEABLE) ||
           (c->kind == COPY_TO_HOST && c->to == MEMORY_PAGEABLE);
}

void program_metrics(const struct program_kernel *k, struct metrics *m) {
    if (k->total_s > 0) {
        metrics_set(m, METRIC_TIME, k->total_s / k->n);
        metrics_set(m, METRIC_CALLS, k->n);
    }
    metrics_set(m, METRIC_BLOCKS, (double)k->grid[0] * k->grid[1] * k->grid[2]);
    metrics_set(m, METRIC_BLOCK_THREADS, (double)k->block[0] * k->block[1] * k->block[2]);
    if (k->registers == 0)
        return;  // nobody has seen it run
    metrics_set(m, METRIC_REGISTERS, k->registers);
    metrics_set(m, METRIC_SHARED_BYTES, (double)k->static_shared + k->dynamic_shared);
    metrics_set(m, METRIC_LOCAL_BYTES, k->local);
}

static int compare_numbers(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

int program_typical(const struct program_kernel *k) {
    enum { LOOKED_AT = 1000 };
    double sorted[LOOKED_AT];
    int n = k->n - k->n_in_graphs, best = 0;
    if (n <= 0)
        return -1;
    if (n > LOOKED_AT)
        n = LOOKED_AT;
    memcpy(sorted, k->times_s, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    double median = sorted[n / 2];
    for (int i = 1; i < n; i++)
        if (fabs(k->times_s[i] - median) < fabs(k->times_s[best] - median))
            best = i;
    return best;
}

void program_stalls(const struct program_data *d, const char *kernel, struct metrics *m) {
    double sum[PROGRAM_STALLS] = {0};
    for (int i = 0; i < d->n_spots; i++)
        for (int k = 0; k < PROGRAM_STALLS; k++)
            if (strcmp(d->spots[i].kernel, kernel) == 0)
                sum[k] += d->spots[i].reasons[k];
    double issued = sum[METRIC_STALL_SELECTED - METRIC_STALL_BARRIER];
    for (int k = 0; k < PROGRAM_STALLS && issued > 0; k++)
        if (!metrics_has(m, (enum metric_id)(METRIC_STALL_BARRIER + k)))
            metrics_set(m, (enum metric_id)(METRIC_STALL_BARRIER + k), sum[k] / issued);
}

const char *program_demangle(struct arena *a, const char *name) {
    static char *(*demangle)(const char *, char *, size_t *, int *);
    static bool is_asked;
    if (!is_asked) {
        void *lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (lib)
            *(void **)&demangle = dlsym(lib, "__cxa_demangle");
        is_asked = true;
    }
    int status = -1;
    char *text =
        demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
    const char *kept = text && status == 0 ? arena_strdup(a, text) : name;
    free(text);
    return kept;
}
