// Enumerate, then chunk by chunk: compile side by side, judge each block against the first one,
// append its row. Killed anywhere, the file holds whole rows and perhaps a part of one, which the
// next call cuts off.
//
// Every block is verified as any candidate is, and timed in pairs with the first block: what else
// the machine does meanwhile slows both. Blocks with the machine code of one that was timed take
// its time. Nothing is raced. Where the machine was busy and the interval is wide, a block is
// judged again, and the narrowest interval counts.
#include "ops/op_tabulate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "build/compile_ahead.h"
#include "calibrate/calibrate.h"
#include "family/block_set.h"
#include "family/enumerate.h"
#include "family/lower.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"
#include "place/evaluate.h"
#include "record/table.h"

enum { CHUNK = 64, INFRA_MAX = 3, TRIES = 2, PASSES = 3 };
static const double wide = 1.08;  // from end to end of an interval
static const double DEFAULT_SECONDS = 0.25;

struct tabulation {
    struct arena *a;
    const struct tabulate_request *q;
    struct tabulate_outcome *out;
    struct problem *problem;
    struct target target;
    struct enumerated blocks;
    struct table table;
    struct block_set *done;  // texts of the rows
    struct candidate first;
    double first_s;
    struct evaluator *evaluator;
    struct compile_ahead *ahead;
    uint64_t *codes;  // machine code of rows that were timed, with the row
    int *code_rows;
    int n_codes;
    int fd;
    int n_infra;  // one after the other
    int64_t start_ns;
};

// ---- the file

// One append: a process that is killed leaves whole lines and perhaps a part of the last.
static bool append(struct tabulation *t, struct str *text, struct error *err) {
    const char *at = str_text(text);
    size_t left = text->len;
    while (left > 0) {
        ssize_t n = write(t->fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, ERROR_IO, "write %s: %s", t->q->out, strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    str_reset(text);
    return true;
}

// The text of a row with one space between words, as the file has it.
static const char *plain_words(struct arena *a, const char *text) {
    struct str out = {0};
    for (; *text; text++)
        if (*text != ' ' || (text[1] != ' ' && text[1] != '\n'))
            str_append(&out, text, 1);
    return str_take(a, &out);
}

static bool same_head(const struct tabulation *t, const struct table *was, struct error *err) {
    const struct table *now = &t->table;
    const char *what = strcmp(was->problem_text, now->problem_text) != 0 ? "problem"
                       : was->seed != now->seed                          ? "seed"
                       : was->limit != now->limit                        ? "limit"
                       : strcmp(was->space, now->space) != 0             ? "space of blocks"
                                                                         : NULL;
    struct error ignored = {0};
    struct arena scratch = {0};
    struct target then;
    json_t *facts = json_parse(was->facts, strlen(was->facts), &ignored);
    bool is_same = facts && target_from_json(&scratch, facts, &then, &ignored) &&
                   strcmp(then.device, t->target.device) == 0;
    if (!what && !is_same)
        what = "device";
    json_decref(facts);
    arena_reset(&scratch);
    return !what || error_set(err, ERROR_USAGE,
                              "%s is of another %s; give another name, or remove it to start anew",
                              t->q->out, what);
}

static bool start_file(struct tabulation *t, struct error *err) {
    struct str text = {0};
    table_print_head(&text, &t->table);
    return append(t, &text, err);
}

// Go on with what is there: its rows stay, a torn last line goes.
static bool continue_file(struct tabulation *t, struct error *err) {
    struct table was;
    if (!table_read(t->a, t->q->out, &was, err) || !same_head(t, &was, err))
        return false;
    if (ftruncate(t->fd, (off_t)was.whole_bytes) != 0 || lseek(t->fd, 0, SEEK_END) < 0)
        return error_set(err, ERROR_IO, "cut %s: %s", t->q->out, strerror(errno));
    was.version = t->table.version;
    t->table = was;
    for (int i = 0; i < was.n_rows; i++)
        block_set_add(t->done, was.rows[i].block);
    if (was.n_rows > 0)
        t->first_s = was.rows[0].time_s;
    return true;
}

static bool open_file(struct tabulation *t, struct error *err) {
    t->fd = open(t->q->out, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (t->fd < 0)
        return error_set(err, ERROR_USAGE, "open %s: %s", t->q->out, strerror(errno));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(t->fd, F_OFD_SETLK, &lock) != 0)
        return error_set(err, ERROR_USAGE, "another process is making %s", t->q->out);
    if (file_size(t->q->out) > 0 ? !continue_file(t, err) : !start_file(t, err))
        return false;
    int room = t->table.n_rows + t->blocks.n;
    struct table_row *rows = arena_array(t->a, struct table_row, room + 1);
    if (t->table.n_rows > 0)
        memcpy(rows, t->table.rows, sizeof *rows * (size_t)t->table.n_rows);
    t->table.rows = rows;
    return true;
}

static void count_row(struct tabulation *t, const struct table_row *row) {
    struct tabulate_outcome *o = t->out;
    o->n_done++;
    o->n_ok += row->verdict == VERDICT_OK;
    if (row->verdict == VERDICT_OK && !(row->time_s >= o->best_s)) {
        o->best_s = row->time_s;
        o->best = row->block;
    }
    o->elapsed_s = (double)(clock_now_ns() - t->start_ns) * 1e-9;
}

static bool write_row(struct tabulation *t, const struct table_row *row, struct error *err) {
    struct str text = {0};
    table_print_row(t->a, &text, &t->table, row);
    return append(t, &text, err);
}

static bool add_row(struct tabulation *t, struct table_row row, struct error *err) {
    if (!write_row(t, &row, err))
        return false;
    block_set_add(t->done, row.block);
    t->table.rows[t->table.n_rows++] = row;
    count_row(t, &row);
    if (t->q->progress)
        t->q->progress(t->q->ctx, t->out);
    return true;
}

// ---- judging

// The time as a fraction of the first block's; the interval is that of the pairs.
static struct table_row row_of(const struct tabulation *t, const char *block,
                               const struct eval_result *r) {
    const struct measurement *m = &r->measurement;
    struct table_row row = {
        .block = block, .verdict = r->verdict.kind, .time_s = NAN, .low = 1, .high = 1};
    if (row.verdict != VERDICT_OK || !m->present)
        return row;
    bool is_first = isnan(t->first_s);
    row.time_s = is_first ? m->median_s : t->first_s / m->speedup;
    if (is_first)
        return row;
    row.low = fmin(1, m->speedup / m->speedup_high);
    row.high = fmax(1, m->speedup / m->speedup_low);
    return row;
}

// A machine that cannot judge at present is no row: the next call tries it again.
static bool note_infra(struct tabulation *t, const struct verdict *v, struct error *err) {
    log_info("not judged: %s", v->evidence);
    return ++t->n_infra < INFRA_MAX ||
           error_set(err, ERROR_IO, "nothing can be judged on this machine now: %s", v->evidence);
}

static double width_of(const struct eval_result *r) {
    bool is_timed = r->verdict.kind == VERDICT_OK && r->measurement.present;
    return is_timed ? r->measurement.speedup_high / r->measurement.speedup_low : 1;
}

static bool judge_well(struct tabulation *t, struct arena *a, const struct eval_job *job,
                       struct eval_result *best, struct error *err) {
    for (int i = 0; i < TRIES && (i == 0 || width_of(best) > wide); i++) {
        struct eval_result r = {0};
        if (!evaluator_judge(t->evaluator, a, job, &r, err))
            return false;
        log_info("%s, compile %.2f, verify %.2f, timing %.2f s, interval %.3f",
                 verdict_kind_name(r.verdict.kind), r.compile_s, r.verify_s, r.timing_s,
                 width_of(&r));
        bool is_better = r.verdict.kind != VERDICT_OK || width_of(&r) < width_of(best);
        if (i == 0 || is_better)
            *best = r;
    }
    return true;
}

static bool judge(struct tabulation *t, const struct candidate *c, const char *block,
                  struct error *err) {
    struct arena scratch = {0};
    struct eval_result r = {0};
    bool is_first = isnan(t->first_s);
    struct eval_job job = {.candidate = c,
                           .baseline = is_first ? NULL : &t->first,
                           .depth = EVAL_RANK,
                           .seconds = t->table.seconds};
    bool ok = judge_well(t, &scratch, &job, &r, err);
    if (ok && r.verdict.kind == VERDICT_INFRA) {
        ok = note_infra(t, &r.verdict, err);
    } else if (ok) {
        struct table_row row = row_of(t, block, &r);
        t->n_infra = 0;
        if (is_first && !isfinite(row.time_s))
            ok = error_set(err, ERROR_UNSUPPORTED, "the default kernel does not pass: %s",
                           r.verdict.evidence);
        else
            ok = add_row(t, row, err);
        if (ok && is_first)
            t->first_s = row.time_s;
    }
    arena_reset(&scratch);
    return ok;
}

static int find_code(const struct tabulation *t, uint64_t code) {
    for (int i = 0; i < t->n_codes; i++)
        if (t->codes[i] == code)
            return t->code_rows[i];
    return -1;
}

// A block that is compiled: known by its machine code, or to be judged.
static bool take_compiled(struct tabulation *t, const struct candidate *c, const char *block,
                          const struct ahead_result *compiled, struct error *err) {
    bool has_code = compiled->outcome == COMPILE_OK && compiled->code != 0;
    int twin = has_code ? find_code(t, compiled->code) : -1;
    if (twin >= 0) {
        struct table_row row = t->table.rows[twin];
        row.block = block;
        return add_row(t, row, err);
    }
    int n_rows = t->table.n_rows;
    if (!judge(t, c, block, err))
        return false;
    if (has_code && t->table.n_rows > n_rows) {
        t->codes[t->n_codes] = compiled->code;
        t->code_rows[t->n_codes++] = n_rows;
    }
    return true;
}

static bool is_over(const struct tabulation *t) {
    double elapsed_s = (double)(clock_now_ns() - t->start_ns) * 1e-9;
    return t->q->for_s > 0 && elapsed_s >= t->q->for_s;
}

struct chunk {
    struct candidate candidates[CHUNK];
    const char *blocks[CHUNK], *sources[CHUNK];
    int n;
};

// The next blocks that have no row, lowered.
static void gather(struct tabulation *t, struct arena *a, int *at, struct chunk *c) {
    c->n = 0;
    for (; *at < t->blocks.n && c->n < CHUNK; ++*at) {
        struct error why = {0};
        const char *block = plain_words(t->a, t->blocks.texts[*at]);
        struct candidate *next = &c->candidates[c->n];
        if (block_set_has(t->done, block))
            continue;
        if (!lower_kernel(a, t->problem, &t->target, t->blocks.kernels[*at], next, &why)) {
            log_info("%s: %s", block, why.text);  // a repair has a gap
            continue;
        }
        next->label = "block";
        c->blocks[c->n] = block;
        c->sources[c->n++] = next->source;
    }
}

// Kernels of a CPU take every processor: there compilers come first. On a GPU blocks are judged as
// they come.
static bool judge_chunk(struct tabulation *t, const struct chunk *c, struct error *err) {
    struct ahead_result compiled[CHUNK];
    const double day_s = 86400;
    int n = 0, i = 0;
    bool ok = true;
    compile_ahead_begin(t->ahead, c->sources, c->n);
    while (!t->target.is_gpu && n < c->n && compile_ahead_next(t->ahead, day_s, &compiled[n]))
        n++;
    for (; ok && i < c->n && !is_over(t); i++) {
        if (interrupt_seen())
            ok = error_set(err, ERROR_INTERRUPTED, "interrupted; the same command goes on");
        else if (i == n && !compile_ahead_next(t->ahead, day_s, &compiled[n++]))
            break;
        int k = compiled[i].number;
        ok = ok && take_compiled(t, &c->candidates[k], c->blocks[k], &compiled[i], err);
    }
    compile_ahead_end(t->ahead);
    return ok;
}

// The first block before any other: they are timed against it.
static bool judge_first(struct tabulation *t, struct error *err) {
    if (!lower_kernel(t->a, t->problem, &t->target, t->blocks.kernels[0], &t->first, err))
        return false;
    t->first.label = "first";
    return isfinite(t->first_s) || judge(t, &t->first, plain_words(t->a, t->blocks.texts[0]), err);
}

static bool judge_plain(struct tabulation *t, struct error *err) {
    struct candidate plain;
    struct arena scratch = {0};
    struct eval_result r = {0};
    if (!op_has_default(t->problem) || isfinite(t->table.plain.time_s) || is_over(t))
        return true;
    lower_plain(t->a, t->problem, &t->target, &plain);
    struct eval_job job = {.candidate = &plain,
                           .baseline = &t->first,
                           .depth = EVAL_RANK,
                           .seconds = t->table.seconds};
    bool ok = judge_well(t, &scratch, &job, &r, err);
    struct str text = {0};
    if (ok && r.verdict.kind == VERDICT_OK && r.measurement.present) {
        t->table.plain = row_of(t, NULL, &r);
        table_print_plain(&text, &t->table.plain);
        ok = append(t, &text, err);
    }
    arena_reset(&scratch);
    return ok;
}

// A row whose interval is wide: another that is narrower is appended, and counts.
static bool judge_row_again(struct tabulation *t, struct table_row *row, struct kernel *k,
                            struct error *err) {
    struct arena scratch = {0};
    struct candidate c;
    struct eval_result r = {0};
    bool ok = lower_kernel(&scratch, t->problem, &t->target, k, &c, err);
    c.label = "block";
    struct eval_job job = {.candidate = &c,
                           .baseline = &t->first,
                           .depth = EVAL_RANK,
                           .seconds = 2 * t->table.seconds};
    ok = ok && judge_well(t, &scratch, &job, &r, err);
    if (ok && r.verdict.kind == VERDICT_OK && width_of(&r) < row->high / row->low) {
        *row = row_of(t, row->block, &r);
        ok = write_row(t, row, err);
    }
    arena_reset(&scratch);
    return ok;
}

static bool judge_wide_again(struct tabulation *t, struct error *err) {
    struct block_set *kernels = block_set_new(t->a);
    for (int i = 0; i < t->blocks.n; i++)
        block_set_add(kernels, plain_words(t->a, t->blocks.texts[i]))->number = i;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 1; i < t->table.n_rows && !is_over(t); i++) {
            struct table_row *row = &t->table.rows[i];
            const struct block_entry *e = block_set_find(kernels, row->block);
            if (!e || row->verdict != VERDICT_OK || row->high <= wide * row->low)
                continue;
            if (!judge_row_again(t, row, t->blocks.kernels[e->number], err))
                return false;
        }
    return true;
}

static bool judge_all(struct tabulation *t, struct error *err) {
    struct chunk *c = arena_new(t->a, struct chunk);
    bool ok = judge_first(t, err) && judge_plain(t, err);
    for (int at = 0; ok && !is_over(t);) {
        struct arena scratch = {0};
        gather(t, &scratch, &at, c);
        ok = c->n == 0 || judge_chunk(t, c, err);
        arena_reset(&scratch);
        if (c->n == 0)
            break;
    }
    ok = ok && judge_wide_again(t, err);
    if (!ok || is_over(t) || t->n_infra > 0)
        return ok;
    struct str text = {0};
    table_print_end(&text, t->table.n_rows);
    t->out->is_whole = true;
    return append(t, &text, err);
}

// ---- before that

static bool read_target(struct tabulation *t, struct error *err) {
    if (!op_target(t->a, t->q->target, &t->target, err) || !op_target_usable(t->a, &t->target, err))
        return false;
    if (t->target.ceilings.present || t->q->only_count || t->q->no_calibrate)
        return true;
    struct error why = {0};
    if (!calibrate(t->a, &t->target, CALIBRATION_MOST_S, NULL, NULL, err))
        return false;
    if (!target_save_ceilings(t->a, &t->target, &why))
        log_info("ceilings are not kept: %s", why.text);
    return true;
}

static bool enumerate(struct tabulation *t, struct error *err) {
    struct kernel first = {0};
    lower_default(t->a, t->problem, &t->target, &first);
    if (!lower_check(t->a, t->problem, &t->target, &first, err))
        return error_wrap(err, "default kernel");
    enumerate_blocks(t->a, t->problem, &t->target, &first, (int)t->q->limit, (uint64_t)t->q->seed,
                     &t->blocks);
    t->out->n_blocks = t->blocks.n;
    t->out->space =
        t->blocks.is_complete
            ? arena_printf(t->a, "all %d blocks that moves lead to from the default one",
                           t->blocks.n)
            : arena_printf(t->a,
                           "%d blocks of more than %d, a sample that grew from the default one "
                           "(family/enumerate.h), seed %lld, %.1f neighbours each",
                           t->blocks.n, t->blocks.n_seen, (long long)t->q->seed, t->blocks.degree);
    return true;
}

static void fill_head(struct tabulation *t) {
    json_t *facts = target_to_json(&t->target);
    t->table = (struct table){
        .version = HONE_VERSION,
        .problem_text = t->problem->text,
        .facts = json_print(t->a, facts),
        .space = t->out->space,
        .method = "verified; timed in pairs with the first block, the interval is that of the "
                  "pairs, tried several times while it is wider than 8%; blocks with equal "
                  "machine code are timed once",
        .made_at = clock_timestamp(t->a),
        .seed = (uint64_t)t->q->seed,
        .limit = (int)t->q->limit,
        .seconds = t->q->seconds > 0 ? t->q->seconds : DEFAULT_SECONDS,
        .plain = {.time_s = NAN},
    };
    json_decref(facts);
}

static int usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static bool open_compilers(struct tabulation *t, struct error *err) {
    const struct graph *g = &t->problem->graph;
    const char **names = arena_array(t->a, const char *, g->n_dims + 1);
    int64_t *sizes = arena_array(t->a, int64_t, g->n_dims + 1);
    for (int i = 0; i < g->n_dims; i++) {
        names[i] = g->dims[i].name;
        sizes[i] = g->dims[i].size;
    }
    const char *cache = file_work_dir(t->a, "objects", err);
    if (!cache)
        return false;
    struct ahead_settings s = {.n_threads = usable_cpus(),
                               .cache = cache,
                               .cc = t->target.cc,
                               .machine = t->target.id,
                               .arch = t->target.is_gpu ? t->target.isa : NULL,
                               .dim_names = names,
                               .dim_sizes = sizes,
                               .n_dims = g->n_dims,
                               .skip_scans = getenv("HONE_SKIP_SCANS") != NULL};
    t->ahead = compile_ahead_open(&s);
    return true;
}

// A table of a problem on which nothing means anything would mislead every search.
static bool check_null(struct tabulation *t, struct error *err) {
    const char *null_kernel;
    if (!evaluator_null_kernel(t->evaluator, &null_kernel, err))
        return false;
    return !null_kernel || error_set(err, ERROR_PARSE,
                                     "problem %s is degenerate: a kernel that does no more than "
                                     "%s would pass",
                                     t->problem->name, null_kernel);
}

static void begin_outcome(struct tabulation *t) {
    struct tabulate_outcome *o = t->out;
    t->start_ns = clock_now_ns();
    for (int i = 0; i < t->table.n_rows; i++)
        count_row(t, &t->table.rows[i]);
    o->n_before = o->n_done;
    o->is_whole = t->table.has_end;
    if (t->q->progress)
        t->q->progress(t->q->ctx, o);
}

static bool work(struct tabulation *t, struct error *err) {
    fill_head(t);
    if (!open_file(t, err))
        return false;
    int room = t->blocks.n + 1;
    t->codes = arena_array(t->a, uint64_t, room);
    t->code_rows = arena_array(t->a, int, room);
    begin_outcome(t);
    if (t->table.has_end)
        return true;
    return open_compilers(t, err) &&
           evaluator_open(&t->evaluator, t->problem, &t->target, 0, err) && check_null(t, err) &&
           judge_all(t, err);
}

bool op_tabulate(struct arena *a, const struct tabulate_request *q, struct tabulate_outcome *out,
                 struct error *err) {
    struct loaded loaded;
    struct tabulation t = {
        .a = a, .q = q, .out = out, .fd = -1, .first_s = NAN, .done = block_set_new(a)};
    *out = (struct tabulate_outcome){.best_s = NAN, .first_s = NAN};
    if (!op_load_runnable(a, q->file, q->dims, &loaded, err))
        return false;
    t.problem = loaded.problem;
    bool ok = read_target(&t, err) && enumerate(&t, err) && (q->only_count || work(&t, err));
    out->problem = t.problem->name;
    out->device = t.target.device;
    out->first_s = t.first_s;
    if (t.evaluator)
        evaluator_close(t.evaluator);
    compile_ahead_close(t.ahead);
    if (t.fd >= 0)
        close(t.fd);
    return ok;
}
