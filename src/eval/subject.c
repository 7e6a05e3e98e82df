#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "eval/compile.h"
#include "eval/judge.h"

// Processor time beyond the call: this much is threads waking up and going to sleep.
static const int64_t late_ns = 200000;
static const int64_t scratch_max_bytes = (int64_t)4 << 30;

static bool is_late(int64_t excess_ns, double call_s) {
    return (double)excess_ns > (double)late_ns + 0.05e9 * call_s;
}

static bool compile_subject(struct judge *j, struct arena *a, struct subject *s,
                            struct eval_result *result, struct error *err) {
    struct verdict *v = &result->verdict;
    struct compile_spec spec = {.source = s->candidate.source,
                                .cc = j->settings.cc,
                                .machine = j->settings.machine,
                                .cache = j->settings.cache,
                                .dim_names = j->context.dim_names,
                                .dim_sizes = j->context.dim_sizes,
                                .n_dims = j->context.n_dims,
                                .skip_scans = j->settings.skip_scans};
    struct compile_result c;
    if (!compile(&s->arena, &spec, &c, err))
        return false;
    result->compile_s = c.seconds;
    s->object = c.object;
    if (c.outcome == COMPILE_OK)
        return true;
    v->kind = c.outcome == COMPILE_ILLEGAL ? VERDICT_ILLEGAL : VERDICT_NO_COMPILE;
    v->evidence = arena_strdup(a, c.message);
    return true;
}

static void read_plan(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    struct error mistake = {0};
    struct layout l;
    if (!plan_parse(&s->arena, s->candidate.source, &j->context, &s->plan, &mistake)) {
        v->kind = VERDICT_ILLEGAL;
        v->evidence = arena_strdup(a, mistake.text);
        return;
    }
    layout_make(&l, &s->plan, j->layout.n_slots);
    if (l.file_bytes[FILE_SCRATCH] <= scratch_max_bytes)
        return;
    v->kind = VERDICT_LIMITS;
    v->evidence = arena_printf(a, "scratch takes %lld MiB in %d slots, at most %lld",
                               (long long)(l.file_bytes[FILE_SCRATCH] >> 20), l.n_slots,
                               (long long)(scratch_max_bytes >> 20));
}

static bool start_runner(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                         struct error *err) {
    struct runner_spec spec = {.plan = &s->plan,
                               .n_slots = j->layout.n_slots,
                               .n_threads = j->settings.n_threads,
                               .inputs = &j->inputs,
                               .outputs = &j->outputs,
                               .object = s->object};
    enum runner_status status;
    s->is_open = true;
    if (!runner_open(&s->runner, &spec, &status, err))
        return false;
    v->sandbox_level = s->runner.sandbox_level;
    runner_explain(a, &s->runner, status, v);
    return true;
}

bool subject_open(struct judge *j, struct arena *a, const struct candidate *c, struct subject *s,
                  struct eval_result *result, struct error *err) {
    struct verdict *v = &result->verdict;
    *s = (struct subject){.worst = {.rms = NAN, .max = NAN}};
    s->candidate = (struct candidate){.tier = c->tier,
                                      .source = arena_strdup(&s->arena, c->source),
                                      .label = arena_strdup(&s->arena, c->label),
                                      .hash = arena_strdup(&s->arena, c->hash)};
    read_plan(j, a, s, v);
    if (v->kind != VERDICT_OK)
        return true;
    if (!compile_subject(j, a, s, result, err))
        return false;
    return v->kind != VERDICT_OK || start_runner(j, a, s, v, err);
}

void subject_close(struct subject *s) {
    if (s->is_open)
        runner_close(&s->runner);
    arena_reset(&s->arena);
    *s = (struct subject){0};
}

void subject_poison(struct judge *j, struct subject *s, int slot) {
    if (!j->poison[slot]) {
        // A quiet NaN whose payload nobody can guess.
        j->poison[slot] = 0x7fc00000 | (uint32_t)(rng_next(&j->rng) & 0x3fffff);
        runner_poison(&s->runner, FILE_OUTPUTS, slot, j->poison[slot]);
    }
    if (s->scratch_poison[slot] != j->poison[slot]) {
        s->scratch_poison[slot] = j->poison[slot];
        runner_poison(&s->runner, FILE_SCRATCH, slot, j->poison[slot]);
    }
}

void subject_touch(struct judge *j, struct subject *s, int slot) {
    j->poison[slot] = s->scratch_poison[slot] = 0;
}

static uint64_t digest(const struct judge *j, const struct subject *s, int slot) {
    uint64_t h = j->digest_seed;
    for (int b = 0; b < s->plan.n_buffers; b++)
        if (s->plan.buffers[b].role == BUFFER_OUTPUT)
            h = hash_bytes(runner_bytes(&s->runner, b, slot), (size_t)s->plan.buffers[b].size_bytes,
                           h);
    return h;
}

static const float *output_values(const struct judge *j, const struct subject *s, int output,
                                  int slot) {
    return (const float *)runner_bytes(&s->runner, j->problem->n_inputs + output, slot);
}

static bool reject(struct verdict *v, enum verdict_kind kind, const char *rule,
                   const char *evidence) {
    v->kind = kind;
    v->rule = rule;
    v->evidence = evidence;
    return false;
}

static bool reject_late(struct verdict *v) {
    return reject(v, VERDICT_CHEAT, "work-after-return",
                  "went on working after the call had ended: its outputs still changed, or it "
                  "used processor time");
}

static void keep_worst(struct error_stats *worst, const struct error_stats *s) {
    // A set on which everything is exact says little about how near the limit is.
    bool is_worse = isnan(worst->max) || worst->limit_max == 0 ||
                    (s->limit_max > 0 && s->max * worst->limit_max >= worst->max * s->limit_max);
    if (is_worse)
        *worst = *s;
}

// The first output that is not as expected, or -1.
static int compare_outputs(const struct judge *j, struct subject *s, int slot, uint32_t poison,
                           struct comparison *c) {
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    for (int i = 0; i < j->problem->n_outputs; i++) {
        bool ok = oracle_compare(&j->oracle.sets[set].outputs[i], output_values(j, s, i, slot),
                                 poison, c);
        keep_worst(&s->worst, &c->stats);
        if (!ok) {
            s->worst = c->stats;
            return i;
        }
    }
    return -1;
}

static const char *known_as(const struct subject *s, uint64_t d, enum oracle_set not ) {
    for (int i = 0; i < SET_COUNT; i++)
        if (i != (int)not &&s->sets[i].is_known && s->sets[i].digest == d)
            return oracle_set_name((enum oracle_set)i);
    return NULL;
}

// Something is wrong with an output: find out what.
static bool explain_wrong(struct judge *j, struct arena *a, struct subject *s, int slot,
                          uint64_t seen, struct verdict *v, const struct comparison *c,
                          int output) {
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    const char *evidence =
        oracle_evidence(a, &j->oracle, set, output, output_values(j, s, output, slot), c);
    struct timespec moment = {.tv_nsec = 20000000};
    nanosleep(&moment, NULL);
    if (runner_is_alive(&s->runner) && digest(j, s, slot) != seen)
        return reject_late(v);
    const char *other = known_as(s, seen, set);
    if (c->n_unwritten)
        return reject(v, VERDICT_WRONG,
                      c->n_unwritten == j->oracle.sets[set].outputs[output].count ? "unwritten"
                                                                                  : "partial",
                      evidence);
    if (other)
        return reject(
            v, VERDICT_CHEAT, "stale-output",
            arena_printf(a, "gave the results of other inputs (%s) again: %s", other, evidence));
    if (s->sets[set].is_known)
        return reject(
            v, VERDICT_CHEAT, "hidden-state",
            arena_printf(a, "was right on these inputs before and is wrong now: %s", evidence));
    return reject(v, VERDICT_WRONG, NULL, evidence);
}

static bool check_outputs(struct judge *j, struct arena *a, struct subject *s, int slot,
                          uint32_t poison, struct verdict *v) {
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    uint64_t seen = digest(j, s, slot);
    // Bit for bit what was found right before needs no second look.
    bool is_repeat = s->sets[set].is_known && s->sets[set].digest == seen;
    struct comparison c;
    int wrong = is_repeat ? -1 : compare_outputs(j, s, slot, poison, &c);
    if (wrong >= 0)
        return explain_wrong(j, a, s, slot, seen, v, &c, wrong);
    if (!is_repeat && digest(j, s, slot) != seen)
        return reject_late(v);
    if (s->sets[set].is_known && !is_repeat)
        return reject(v, VERDICT_UNSTABLE, NULL,
                      arena_printf(a,
                                   "equal inputs (%s) gave other bits than before; the "
                                   "results are within limits, but they depend on chance",
                                   oracle_set_name(set)));
    s->sets[set].is_known = true;
    s->sets[set].digest = seen;
    return true;
}

// Had the candidate written to this slot before it was asked to? A few words show it.
static bool is_untouched(struct judge *j, const struct subject *s, int slot) {
    for (int b = 0; b < s->plan.n_buffers; b++) {
        const struct plan_buffer *p = &s->plan.buffers[b];
        if (p->role != BUFFER_OUTPUT || p->size_bytes < 4)
            continue;
        const char *bytes = runner_bytes(&s->runner, b, slot);
        for (int i = 0; i < 16; i++) {
            uint32_t word;
            memcpy(&word, bytes + 4 * rng_below(&j->rng, (uint64_t)p->size_bytes / 4), 4);
            if (word != j->poison[slot])
                return false;
        }
    }
    return true;
}

bool subject_check(struct judge *j, struct arena *a, struct subject *s, int slot,
                   struct call_result *call, struct verdict *v) {
    if (!is_untouched(j, s, slot))
        return reject(v, VERDICT_CHEAT, "writes-ahead",
                      "wrote outputs of a call that had not been made yet");
    uint32_t poison = j->poison[slot];
    subject_touch(j, s, slot);
    int64_t timeout_ns = judge_timeout_ns(j);
    runner_call(&s->runner, slot, timeout_ns, call);
    v->kind = VERDICT_OK;
    runner_explain(a, &s->runner, call->status, v);
    if (call->status == RUNNER_TIMEOUT)
        v->evidence =
            arena_printf(a, "a call took more than %s", clock_duration(a, (double)timeout_ns));
    if (v->kind != VERDICT_OK)
        return false;
    s->n_calls++;
    if (call->fp_changed)
        return reject(v, VERDICT_CHEAT, "fp-environment",
                      "a block left the rounding mode or flush-to-zero changed");
    int overrun = runner_find_overrun(&s->runner, slot, poison);
    if (overrun >= 0)
        return reject(
            v, VERDICT_WRONG, "out-of-bounds",
            arena_printf(a, "wrote beyond the ends of '%s'", s->plan.buffers[overrun].name));
    if (!check_outputs(j, a, s, slot, poison, v))
        return false;
    s->n_late += is_late(runner_excess_ns(&s->runner), call->time_s);
    if (s->n_late >= 3 && 2 * s->n_late > s->n_calls)
        return reject_late(v);
    return true;
}
