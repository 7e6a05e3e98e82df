// Verdicts for a search: by the evaluator's workers, with hardware counters and what the user's own
// tools say added to the profile of a candidate that is worth ranking.
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "ops/optimize_session.h"

// Counters serve what is proposed next: with the run's time nearly used up nobody would read them.
// The first time they take some seconds.
static bool has_time_for_counters(const struct session *s, double judged_s) {
    double left_s = s->run.max_seconds - s->run.elapsed_s - judged_s;
    return left_s > 3 * (s->counters_s > 0 ? s->counters_s : 1);
}

// Counters of a candidate that was worth ranking, for the tools. Where they cannot be had the run
// goes on without, and says so once.
static void add_counters(struct session *s, struct arena *a, const struct candidate *c,
                         struct profile *into) {
    struct error why = {0};
    struct collected seen;
    int64_t start_ns = clock_now_ns();
    bool ok = s->play || play_open(&s->play, s->problem, &s->target, &why);
    ok = ok && play_candidate(s->play, a, c, PLAY_QUICK, into, &seen, &why);
    s->counters_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    if (ok && seen.n_notes == 0)
        return;
    session_note(s, arena_printf(s->a, "no hardware counters: %s", ok ? seen.notes[0] : why.text));
    s->has_no_counters = true;
}

static bool judge_by_worker(void *ctx, struct arena *a, const struct eval_job *job,
                            struct eval_result *result, struct error *err) {
    struct session *s = ctx;
    int64_t start_ns = clock_now_ns();
    if (!evaluator_judge(s->evaluator, a, job, result, err))
        return false;
    session_follow_devices(s);
    bool is_wanted = s->target.is_gpu && !s->q->spool && !s->q->no_counters && !s->has_no_counters;
    if (is_wanted && job->depth == EVAL_RANK && result->verdict.kind == VERDICT_OK &&
        has_time_for_counters(s, (double)(clock_now_ns() - start_ns) * 1e-9))
        add_counters(s, a, job->candidate, &result->profile);
    return true;
}

static bool announce_to_workers(void *ctx, const struct eval_job *job, struct error *err) {
    return evaluator_announce(((struct session *)ctx)->evaluator, job, err);
}

static bool race_by_worker(void *ctx, struct arena *a, const struct race_job *job,
                           struct screening *screenings, struct error *err) {
    return evaluator_race(((struct session *)ctx)->evaluator, a, job, screenings, err);
}

struct judging session_judge(struct session *s) {
    if (s->table)
        return s->table->judging;
    return (struct judging){.judge = judge_by_worker,
                            .ctx = s,
                            .announce = announce_to_workers,
                            .at_once = s->n_devices,
                            .race = evaluator_can_race(s->evaluator) ? race_by_worker : NULL};
}

static void note_wrong(void *ctx, const char *words) {
    struct session *s = ctx;
    session_note(s, arena_printf(s->a, "without %s", words));
}

// What tools of the user's say of a kernel that is worth ranking is recorded with its profile: both
// minds hear it, and a replay need not ask again.
bool session_judge_and_ask(void *ctx, struct arena *a, const struct eval_job *job,
                           struct eval_result *result, struct error *err) {
    struct session *s = ctx;
    if (!s->judge.judge(s->judge.ctx, a, job, result, err))
        return false;
    if (job->depth == EVAL_RANK && result->verdict.kind == VERDICT_OK) {
        profile_set(&result->profile, METRIC_TIME, result->measurement.median_s);
        plugins_report(a, &s->plugins, &s->target, &s->bound, &result->profile, note_wrong, s);
    }
    return true;
}
