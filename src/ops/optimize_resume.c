// Going on with a run that ended early: everything as its record has it, but for the limits that
// are given anew.
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "ops/op_memory.h"
#include "ops/op_problem.h"
#include "ops/op_runs.h"
#include "ops/optimize_session.h"

static bool find_unfinished(struct session *s, int64_t *id, struct error *err) {
    struct run *runs;
    int n_runs;
    if (!store_list_runs(s->store, s->a, 1000, &runs, &n_runs, err))
        return false;
    for (int i = 0; i < n_runs; i++)
        if (runs[i].state != RUN_DONE && !store_run_is_locked(s->store, runs[i].id)) {
            *id = runs[i].id;
            return true;
        }
    return error_set(err, ERROR_USAGE, "there is no unfinished run in %s", store_path(s->store));
}

// Limits count from the beginning of a run. One that is used up already would end the run at once,
// without a word.
static bool check_limits(const struct session *s, struct error *err) {
    const struct optimize_request *q = s->q;
    if (q->seconds > 0 && q->seconds <= s->run.elapsed_s)
        return error_set(err, ERROR_USAGE,
                         "run %lld has taken %.0f s already, and --seconds counts from its "
                         "beginning: give more than %.0f",
                         (long long)s->run.id, s->run.elapsed_s, s->run.elapsed_s);
    return true;
}

// New limits may be given to a resumed run; what it was found with stays.
static void take_limits(struct run *run, const struct optimize_request *q) {
    if (q->evals > 0)
        run->max_evals = (int)(q->evals < INT32_MAX ? q->evals : INT32_MAX);
    if (q->seconds > 0)
        run->max_seconds = q->seconds;
    if (q->until > 0)
        run->until = q->until;
}

static bool restore_bound(struct session *s, struct error *err) {
    const char *text = s->run.bound ? s->run.bound : "";
    json_t *json = json_parse(text, strlen(text), err);
    bool ok = json && bound_from_json(json, &s->bound, err);
    json_decref(json);
    return ok;
}

static bool check_device(const struct session *s, struct error *err) {
    if (strcmp(s->run.device, s->target.device) == 0)
        return true;
    return error_set(err, ERROR_USAGE,
                     "run %lld was measured on %s, this is %s: times would not "
                     "compare",
                     (long long)s->run.id, s->run.device, s->target.device);
}

// Ceilings are those that the run's bound was made of, wherever it goes on.
static bool restore_ceilings(struct session *s, struct error *err) {
    struct target then;
    bool found;
    if (!op_stored_target(s->a, s->store, &s->run, &then, &found, err))
        return false;
    if (found && then.ceilings.present)
        s->target.ceilings = then.ceilings;
    return true;
}

static bool forget_pending(struct session *s, struct error *err) {
    struct search_node *nodes;
    int n_nodes;
    s->recorder = (struct judge_recorder){.store = s->store, .run = s->run.id};
    return store_get_nodes(s->store, s->a, s->run.id, &nodes, &n_nodes, err) &&
           judging_forget_pending(s->store, s->run.id, nodes, n_nodes, err) &&
           (n_nodes == 0 || judging_load_finale(s->a, &s->recorder, &nodes[0].candidate, err));
}

// Problem, bound, memory's advice, minds and target as the run's record has them.
static bool restore(struct session *s, struct error *err) {
    return session_find_memory(s, err) && op_memory_advice(s->a, &s->run, &s->advice, err) &&
           op_stored_problem(s->a, &s->run, &s->problem, err) && restore_bound(s, err) &&
           policy_choose(s->run.policy, true, &s->policy, err) &&
           session_find_proposer(s, s->run.proposer, err) &&
           session_find_target(s, s->run.target, err) && check_device(s, err) &&
           restore_ceilings(s, err);
}

bool session_begin_resumed(struct session *s, struct error *err) {
    const struct optimize_request *q = s->q;
    s->opened_ns = clock_now_ns();
    int64_t id;
    if (!op_open_store(s->a, q->store, false, &s->store, err))
        return false;
    store_close(s->store);  // it is there; now for writing
    s->store = NULL;
    if (!op_open_store(s->a, q->store, true, &s->store, err) ||
        !(q->run ? store_find_run(s->store, q->run, &id, err) : find_unfinished(s, &id, err)) ||
        !store_lock_run(s->store, id, err) || !store_get_run(s->store, s->a, id, &s->run, err))
        return false;
    if (!check_limits(s, err))
        return false;
    take_limits(&s->run, q);
    const char *words = NULL;
    if (!op_team_resume(s->a, &q->team, &s->team, &s->run, &words, err))
        return false;
    if (words)
        session_note(s, words);
    return restore(s, err) && session_open_evaluator(s, err) && session_refuse_degenerate(s, err) &&
           forget_pending(s, err) &&
           op_team_start(&s->team, s->store, &s->run, session_note_from_team, s, err);
}
