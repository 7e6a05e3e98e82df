// Compile side by side, then count one block after the other in a process that stays.
#include "ops/op_count_table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "build/compile_ahead.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "ops/op_machine.h"
#include "ops/op_table.h"
#include "play/play.h"
#include "record/table_counters.h"

enum { CHUNK = 64 };

struct counting {
    struct arena *a;
    const struct tabulate_request *q;
    struct tabulate_outcome *out;
    struct op_table table;
    struct target target;
    struct play *play;
    struct compile_ahead *ahead;
    int fd;
    int64_t start_ns;
};

static bool append(struct counting *c, struct str *text, struct error *err) {
    ssize_t n = write(c->fd, str_text(text), text->len);
    bool ok = n == (ssize_t)text->len ||
              error_set(err, ERROR_IO, "write %s: %s", c->q->out, strerror(errno));
    str_reset(text);
    return ok;
}

static bool open_file(struct counting *c, struct error *err) {
    struct str head = {0};
    bool is_new = file_size(c->q->out) <= 0;
    c->fd = open(c->q->out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (c->fd < 0)
        return error_set(err, ERROR_USAGE, "open %s: %s", c->q->out, strerror(errno));
    // What was cut off goes.
    if (!is_new)
        return ftruncate(c->fd, (off_t)c->table.counted_bytes) == 0 ||
               error_set(err, ERROR_IO, "cut %s: %s", c->q->out, strerror(errno));
    table_counters_print_head(&head, &c->table.table);
    return append(c, &head, err);
}

static bool lower_row(struct counting *c, struct arena *a, int row, struct candidate *out) {
    struct lang_file file = {0};
    const char *diagnostics, *text = c->table.table.rows[row].block;
    struct error why = {0};
    struct lang_source source = {.file = "table", .text = text, .len = strlen(text)};
    bool ok = lang_parse(a, &source, &file, &diagnostics, &why) && file.n_kernels == 1 &&
              lower_kernel(a, c->table.problem, &c->target, file.kernels[0], out, &why);
    if (!ok)
        log_info("row %d: %s", row, why.text);
    out->label = "block";
    return ok;
}

static bool count_row(struct counting *c, struct arena *a, int row, const struct candidate *k,
                      struct error *err) {
    struct profile p = {0};
    struct collected seen;
    struct str text = {0};
    if (!play_candidate(c->play, a, k, PLAY_QUICK, &p, &seen, err))
        return false;
    if (seen.n_notes > 0)
        return error_set(err, ERROR_UNSUPPORTED, "%s", seen.notes[0]);
    table_counters_print_row(&text, row, &p);
    if (!append(c, &text, err))
        return false;
    c->out->n_done++;
    c->out->elapsed_s = (double)(clock_now_ns() - c->start_ns) * 1e-9;
    if (c->q->progress)
        c->q->progress(c->q->ctx, c->out);
    return true;
}

static bool is_over(const struct counting *c) {
    return c->q->for_s > 0 && (double)(clock_now_ns() - c->start_ns) * 1e-9 >= c->q->for_s;
}

static bool is_wanted(const struct table_row *row) {
    return row->verdict == VERDICT_OK && !row->profile;
}

static bool count_chunk(struct counting *c, int *at, struct error *err) {
    struct arena scratch = {0};
    struct candidate candidates[CHUNK];
    const char *sources[CHUNK];
    int rows[CHUNK], n = 0;
    bool ok = true;
    struct ahead_result done;
    for (; *at < c->table.table.n_rows && n < CHUNK; ++*at)
        if (is_wanted(&c->table.table.rows[*at]) && lower_row(c, &scratch, *at, &candidates[n])) {
            sources[n] = candidates[n].source;
            rows[n++] = *at;
        }
    compile_ahead_begin(c->ahead, sources, n);
    while (ok && !is_over(c) && compile_ahead_next(c->ahead, 600, &done)) {
        if (interrupt_seen())
            ok = error_set(err, ERROR_INTERRUPTED, "interrupted; the same command goes on");
        else if (done.outcome == COMPILE_OK)
            ok = count_row(c, &scratch, rows[done.number], &candidates[done.number], err);
    }
    compile_ahead_end(c->ahead);
    arena_reset(&scratch);
    return ok;
}

// The card must be that of the table: counters of another say nothing about its times.
static bool find_target(struct counting *c, struct error *err) {
    if (!op_target(c->a, c->q->target ? c->q->target : "cuda", &c->target, err) ||
        !op_target_usable(c->a, &c->target, err))
        return false;
    return strcmp(c->target.device, c->table.target.device) == 0 ||
           error_set(err, ERROR_USAGE, "the table is of %s, and this is %s", c->table.target.device,
                     c->target.device);
}

static bool open_compilers(struct counting *c, struct error *err) {
    const struct graph *g = &c->table.problem->graph;
    const char **names = arena_array(c->a, const char *, g->n_dims + 1);
    int64_t *sizes = arena_array(c->a, int64_t, g->n_dims + 1);
    cpu_set_t set;
    for (int i = 0; i < g->n_dims; i++) {
        names[i] = g->dims[i].name;
        sizes[i] = g->dims[i].size;
    }
    const char *cache = file_work_dir(c->a, "objects", err);
    if (!cache)
        return false;
    int n_cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    struct ahead_settings s = {.n_threads = n_cpus,
                               .cache = cache,
                               .arch = c->target.isa,
                               .dim_names = names,
                               .dim_sizes = sizes,
                               .n_dims = g->n_dims};
    c->ahead = compile_ahead_open(&s);
    return true;
}

static void begin_outcome(struct counting *c) {
    c->start_ns = clock_now_ns();
    for (int i = 0; i < c->table.table.n_rows; i++) {
        const struct table_row *row = &c->table.table.rows[i];
        c->out->n_blocks += row->verdict == VERDICT_OK;
        c->out->n_done += row->profile != NULL;
    }
    c->out->n_before = c->out->n_done;
    c->out->n_ok = c->out->n_blocks;
    c->out->problem = c->table.problem->name;
    c->out->device = c->target.device;
    c->out->space = "counters of the table's blocks that are ok";
}

bool op_count_table(struct arena *a, const struct tabulate_request *q, struct tabulate_outcome *out,
                    struct error *err) {
    struct counting c = {.a = a, .q = q, .out = out, .fd = -1};
    struct tabulate_request own = *q;
    *out = (struct tabulate_outcome){.best_s = NAN, .first_s = NAN};
    own.out = table_counters_path(a, q->file);
    c.q = &own;
    if (!op_table_open(a, q->file, &c.table, err) || !find_target(&c, err))
        return false;
    if (c.table.n_unknown > 0)
        return error_set(err, ERROR_USAGE, "%d blocks of the table are not known any more",
                         c.table.n_unknown);
    begin_outcome(&c);
    bool ok = open_file(&c, err) && open_compilers(&c, err) &&
              play_open(&c.play, c.table.problem, &c.target, err);
    for (int at = 0; ok && at < c.table.table.n_rows && !is_over(&c);)
        ok = count_chunk(&c, &at, err);
    out->is_whole = out->n_done == out->n_blocks;
    play_close(c.play);
    compile_ahead_close(c.ahead);
    if (c.fd >= 0)
        close(c.fd);
    return ok;
}
