// A race. Sources are compiled side by side (build/compile_ahead.h). Each candidate that compiles
// is loaded, called once for nothing, then called in turns with the incumbent, on data that were
// drawn when the race began; nothing is compared. The fastest calls of both, of the same moments,
// make its ratio: other work on the machine only ever adds to a time. After each round the slower
// half is left out and the others are called twice as often, until few enough are left.
//
// On a GPU a candidate is timed while others compile. So it is on a CPU that has processors to
// spare; where the kernels take all of them, everything is compiled first.
//
// What is here runs in the runners and the sandbox in which every candidate runs, with the limits
// that hold for all. It is for code that our own families emitted: source by a person or a model is
// verified before it is timed. No verdict comes of it.
#include "eval/race.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "build/compile_ahead.h"
#include "eval/device_gpu.h"
#include "eval/timing.h"

// Pairs of the first round, doubled from round to round up to a limit.
enum { FIRST_PAIRS = 2, LAST_PAIRS = 8 };
enum { INCUMBENT = 0 };  // its number among the sources; candidates follow
// First calls that take so many times the incumbent's of that moment say enough: the ones that
// follow are faster, but not by that much.
static const double hopeless = 3;
// One that comes through all rounds is still not worth a verdict when it is slower than this.
static const double worthwhile = 0.97;

struct seen {
    uint64_t code;
    const char *label;
};

// What lives from race to race.
struct judge_races {
    struct compile_ahead *ahead;
    struct seen *seen;  // machine code that was timed
    int n_seen, room;
};

struct entry {
    const struct candidate *candidate;
    struct screening *screening;
    uint64_t code;
    double subject_s, incumbent_s;  // the fastest calls so far
    bool is_in;                     // still in the race
};

struct race {
    struct judge *j;
    struct arena *a;
    const struct race_job *job;
    struct entry *entries;
    struct ahead_result *compiled;  // what has come from the compilers so far
    int n_compiled;
    bool has_incumbent;  // it can be called
    double incumbent_s;  // its fastest call
    int64_t start_ns;
    struct error *err;
    bool is_broken;  // nothing can be judged: `err` says why
};

static double seconds_left(const struct race *r) {
    return r->job->seconds - (double)(clock_now_ns() - r->start_ns) * 1e-9;
}

static int usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static bool break_off(struct race *r) {
    r->is_broken = true;
    return false;
}

// ---- what lives from race to race

static struct judge_races *races_of(struct judge *j) {
    if (j->races)
        return j->races;
    struct judge_races *races = calloc(1, sizeof *races);
    if (!races)
        abort();
    int n_cpus = usable_cpus();
    struct ahead_settings s = {.n_threads = j->gpu && n_cpus > 2 ? n_cpus - 1 : n_cpus,
                               .cache = j->settings.cache,
                               .cc = j->settings.cc,
                               .machine = j->settings.machine,
                               .arch = j->gpu ? j->gpu->facts.arch : NULL,
                               .dim_names = j->context.dim_names,
                               .dim_sizes = j->context.dim_sizes,
                               .n_dims = j->context.n_dims,
                               .skip_scans = j->settings.skip_scans};
    races->ahead = compile_ahead_open(&s);
    j->races = races;
    return races;
}

void judge_close_races(struct judge *j) {
    if (!j->races)
        return;
    compile_ahead_close(j->races->ahead);
    free(j->races->seen);
    free(j->races);
    j->races = NULL;
}

static const char *label_of(const struct judge_races *races, uint64_t code) {
    for (int i = 0; i < races->n_seen; i++)
        if (races->seen[i].code == code)
            return races->seen[i].label;
    return NULL;
}

static void note_seen(struct judge *j, uint64_t code, const char *label) {
    struct judge_races *races = j->races;
    if (label_of(races, code))
        return;
    if (races->n_seen == races->room) {
        races->room = races->room ? 2 * races->room : 64;
        races->seen = realloc(races->seen, sizeof *races->seen * (size_t)races->room);
        if (!races->seen)
            abort();
    }
    races->seen[races->n_seen++] = (struct seen){code, arena_strdup(&j->arena, label)};
}

// ---- one candidate

static bool leave_out(struct entry *e, const char *fault) {
    e->is_in = false;
    e->screening->fault = fault;
    return false;
}

static bool blame(struct race *r, struct entry *e, const struct verdict *v) {
    return leave_out(e, arena_printf(r->a, "%s: %.200s", verdict_kind_name(v->kind), v->evidence));
}

// One call on data that are there; NAN: it did not come to its end.
static double call(struct race *r, struct subject *s, struct verdict *v) {
    struct judge *j = r->j;
    int slot = timing_next_slot(j);
    struct call_result result;
    subject_touch(j, s, slot);
    j->device->call(j, s, slot, judge_timeout_ns(j), &result);
    return subject_explain(j, r->a, s, &result, v) ? result.time_s : NAN;
}

// The incumbent ran before; whatever ended it, the race goes on without.
static double call_incumbent(struct race *r) {
    struct verdict ignored = {.evidence = ""};
    double seconds = r->has_incumbent ? call(r, r->j->baseline, &ignored) : NAN;
    if (isnan(seconds))
        r->has_incumbent = false;
    else
        r->incumbent_s = fmin(r->incumbent_s, seconds);
    return seconds;
}

static bool call_pairs(struct race *r, struct entry *e, struct subject *s, int n_pairs,
                       struct verdict *v) {
    double first_s = call(r, s, v), now_s = NAN;
    // The machine may have become slower, or somebody else have had the processor.
    if (first_s > hopeless * r->incumbent_s) {
        now_s = call_incumbent(r);
        first_s = fmin(first_s, call(r, s, v));
    }
    if (isnan(first_s) || v->kind != VERDICT_OK)
        return blame(r, e, v);
    e->screening->n_rounds++;
    if (first_s > hopeless * now_s) {
        e->subject_s = fmin(e->subject_s, first_s);
        e->incumbent_s = fmin(e->incumbent_s, now_s);
        return true;
    }
    for (int i = 0; i < n_pairs; i++) {
        bool subject_first = i % 2 == 0;
        if (!subject_first)
            e->incumbent_s = fmin(e->incumbent_s, call_incumbent(r));
        double seconds = call(r, s, v);
        if (isnan(seconds))
            return blame(r, e, v);
        e->subject_s = fmin(e->subject_s, seconds);
        if (subject_first)
            e->incumbent_s = fmin(e->incumbent_s, call_incumbent(r));
        e->screening->n_pairs++;
    }
    return true;
}

static bool time_entry(struct race *r, struct entry *e, int n_pairs) {
    struct judge *j = r->j;
    struct eval_result result = {.verdict = {.evidence = ""}};
    struct subject *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    bool ok = subject_begin(j, r->a, e->candidate, s, &result.verdict, r->err);
    if (ok && result.verdict.kind == VERDICT_OK)
        ok = subject_load(j, r->a, s, &result, r->err);
    if (!ok)
        break_off(r);
    else if (result.verdict.kind != VERDICT_OK)
        blame(r, e, &result.verdict);
    else if (call_pairs(r, e, s, n_pairs, &result.verdict))
        note_seen(j, e->code, e->candidate->label);
    subject_close(j, s);
    free(s);
    return !r->is_broken;
}

// ---- the first round, as they come from the compiler

// The result of the next that is compiled; false: there is none in time, or `err` is set.
static bool next_compiled(struct race *r, struct ahead_result *result) {
    if (interrupt_seen()) {
        error_set(r->err, ERROR_INTERRUPTED, "interrupted");
        return break_off(r);
    }
    if (!compile_ahead_next(r->j->races->ahead, seconds_left(r), result))
        return false;
    if (result->err.kind == ERROR_NONE)
        return true;
    *r->err = result->err;
    return break_off(r);
}

// Wait for compilers: for all of them, but for half of the time at most, or until the incumbent's
// is done.
static bool await_compilers(struct race *r, bool waits_for_all) {
    struct ahead_result *next = r->compiled;
    bool is_there = false;
    while ((waits_for_all || !is_there) && next_compiled(r, next)) {
        if (waits_for_all && seconds_left(r) < r->job->seconds / 2)
            compile_ahead_cut(r->j->races->ahead);
        if (next->number == INCUMBENT) {
            note_seen(r->j, next->code, r->job->incumbent->label);
            is_there = true;
        }
        next++;
    }
    r->n_compiled = (int)(next - r->compiled);
    return !r->is_broken;
}

// Have the incumbent ready, and inputs in every slot. Without one the others are compared with the
// fastest among them.
static bool start_incumbent(struct race *r) {
    struct judge *j = r->j;
    struct verdict v = {.evidence = ""};
    if (!judge_open_incumbent(j, r->a, r->job->incumbent, &v, r->err))
        return break_off(r);
    r->has_incumbent = v.kind == VERDICT_OK;
    if (!r->has_incumbent)
        log_info("the incumbent %s cannot be called: %s", r->job->incumbent->label, v.evidence);
    for (int slot = 0; slot < j->layout.n_slots; slot++)
        j->device->renew(j, slot, rng_next(&j->shown));
    for (int i = 0; i < FIRST_PAIRS; i++)
        call_incumbent(r);
    return true;
}

// Is it worth a call? What has the machine code of one that was timed is known by that.
static bool enter(struct race *r, struct entry *e, const struct ahead_result *compiled) {
    e->screening->is_untimed = false;
    e->code = compiled->code;
    if (compiled->outcome != COMPILE_OK) {
        struct verdict v = {.kind = compile_verdict(compiled->outcome),
                            .evidence = compiled->message ? compiled->message : ""};
        return blame(r, e, &v);
    }
    const char *twin = label_of(r->j->races, compiled->code);
    e->screening->same_as = twin ? arena_strdup(r->a, twin) : NULL;
    e->is_in = !twin;
    return e->is_in;
}

static bool run_first_round(struct race *r) {
    // Compilers would disturb kernels that take every processor.
    bool takes_all = !r->j->gpu && r->j->settings.n_threads >= usable_cpus();
    if (!await_compilers(r, takes_all))
        return false;
    lease_take(&r->j->lease, judge_lease_wait_s);
    if (!start_incumbent(r))
        return false;
    for (int i = 0; i <= r->job->n_candidates && (i == 0 || seconds_left(r) > 0); i++) {
        struct ahead_result *c = &r->compiled[i];
        if (i == r->n_compiled && !next_compiled(r, c))
            break;
        r->n_compiled += i == r->n_compiled;
        if (c->number == INCUMBENT)
            continue;
        struct entry *e = &r->entries[c->number - 1];
        if (enter(r, e, c) && !time_entry(r, e, FIRST_PAIRS))
            return false;
    }
    return !r->is_broken;
}

// ---- the rounds

// Without an incumbent the fastest takes its place.
static void compare(struct race *r) {
    double fastest_s = INFINITY;
    for (int i = 0; i < r->job->n_candidates; i++)
        fastest_s = fmin(fastest_s, r->entries[i].subject_s);
    for (int i = 0; i < r->job->n_candidates; i++) {
        struct entry *e = &r->entries[i];
        double other_s = isinf(e->incumbent_s) ? fastest_s : e->incumbent_s;
        bool is_timed = isfinite(e->subject_s);
        e->screening->speedup = is_timed ? other_s / e->subject_s : NAN;
        e->screening->time_s = is_timed ? e->subject_s : NAN;
    }
}

static int by_speedup(const void *x, const void *y) {
    const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;
    if (a->screening->speedup != b->screening->speedup)
        return a->screening->speedup > b->screening->speedup ? -1 : 1;
    return a < b ? -1 : 1;
}

// Those that are in, the fastest first.
static int line_up(struct race *r, struct entry **field) {
    int n = 0;
    compare(r);
    for (int i = 0; i < r->job->n_candidates; i++)
        if (r->entries[i].is_in)
            field[n++] = &r->entries[i];
    qsort(field, (size_t)n, sizeof *field, by_speedup);
    return n;
}

static int keep(struct entry **field, int n, int n_kept) {
    for (int i = n_kept; i < n; i++)
        field[i]->is_in = false;
    return n < n_kept ? n : n_kept;
}

static bool run_rounds(struct race *r) {
    struct entry **field = arena_array(r->a, struct entry *, r->job->n_candidates + 1);
    int n_last = r->job->n_survivors, n = line_up(r, field);
    for (int pairs = 2 * FIRST_PAIRS; n > n_last && seconds_left(r) > 0; pairs *= 2) {
        n = keep(field, n, n > 2 * n_last ? (n + 1) / 2 : n_last + (n - n_last) / 2);
        for (int i = 0; i < n && seconds_left(r) > 0; i++)
            if (!time_entry(r, field[i], pairs < LAST_PAIRS ? pairs : LAST_PAIRS))
                return false;
        n = line_up(r, field);
    }
    n = keep(field, n, n_last);
    for (int i = 0; i < n; i++)
        field[i]->screening->survived = field[i]->screening->speedup >= worthwhile;
    return true;
}

static void begin(struct race *r, struct screening *screenings) {
    int n = r->job->n_candidates;
    const char **sources = arena_array(r->a, const char *, n + 1);
    r->entries = arena_array(r->a, struct entry, n + 1);
    r->compiled = arena_array(r->a, struct ahead_result, n + 2);
    r->incumbent_s = INFINITY;
    sources[INCUMBENT] = r->job->incumbent->source;
    for (int i = 0; i < n; i++) {
        const struct candidate *c = &r->job->candidates[i];
        screenings[i] = (struct screening){.present = true,
                                           .against = r->job->incumbent->label,
                                           .speedup = NAN,
                                           .time_s = NAN,
                                           .is_untimed = true};
        r->entries[i] = (struct entry){.candidate = c,
                                       .screening = &screenings[i],
                                       .subject_s = INFINITY,
                                       .incumbent_s = INFINITY};
        sources[i + 1] = c->source;
    }
    r->start_ns = clock_now_ns();
    compile_ahead_begin(races_of(r->j)->ahead, sources, n + 1);
}

bool judge_race(struct judge *j, struct arena *a, const struct race_job *job,
                struct screening *screenings, struct error *err) {
    struct race r = {.j = j, .a = a, .job = job, .err = err};
    assert(job->n_candidates <= RACE_MAX && job->incumbent);
    begin(&r, screenings);
    bool ok = run_first_round(&r) && run_rounds(&r);
    lease_release(&j->lease);
    compile_ahead_end(j->races->ahead);
    // No later call of the judge's may take what is in the slots for something it knows.
    for (int slot = 0; slot < j->layout.n_slots; slot++)
        j->slot_set[slot] = -1;
    memset(j->phase_s, 0, sizeof j->phase_s);
    if (ok && j->broken.kind != ERROR_NONE) {
        *err = j->broken;
        return false;
    }
    return ok;
}
