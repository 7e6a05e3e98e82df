// Gathers what search/optimize.h needs: problem, target with measured ceilings, bound, evaluator,
// proposer, store; refuses problems that a null kernel passes; starts or resumes the run.
#include "ops/op_optimize.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/support.h"
#include "mind/proposer.h"
#include "ops/candidate_file.h"
#include "ops/op_memory.h"
#include "ops/op_problem.h"
#include "ops/op_runs.h"
#include "ops/optimize_session.h"
#include "search/optimize.h"

enum { RACE_LEAST = 24, RACE_PER_CPU = 4, RACE_MOST = 64 };
static const double DEFAULT_SECONDS = 600, DEFAULT_UNTIL = 0.95;
// On a table nothing depends on time: its runs must not end by it.
static const double TABLE_SECONDS = 1e9;

static const struct proposer *const proposers[] = {&proposer_expert, &proposer_blind,
                                                   &proposer_team, NULL};

void session_note(struct session *s, const char *words) {
    struct event e = {.kind = EVENT_NOTE, .words = words, .best = -1};
    if (s->q->on_event)
        s->q->on_event(&e, s->q->event_ctx);
}

// ---- memory: without it a run takes longer, and that is all

bool session_find_memory(struct session *s, struct error *err) {
    return op_memory_path(s->a, s->q->memory, &s->memory, err);
}

static void do_without_memory(struct session *s, const struct error *why) {
    session_note(s, arena_printf(s->a, "without memory: %s", why->text));
    s->memory = NULL;
}

static void ask_memory(struct session *s) {
    struct error why = {0};
    if (s->table && !s->q->memory)
        s->memory = NULL;  // there the seed alone decides, unless somebody asks for it
    if (!s->memory)
        return;
    if (!op_memory_ask(s->a, s->memory, s->problem, &s->target, &s->advice, &why)) {
        do_without_memory(s, &why);
        return;
    }
    json_t *json = advice_to_json(&s->advice);
    s->run.memory = json_print(s->a, json);
    json_decref(json);
    const char *words = op_memory_text(s->a, &s->advice);
    if (words)
        session_note(s, words);
}

static void teach_memory(struct session *s) {
    struct error why = {0};
    struct memory_lesson_of of = {.problem = s->problem,
                                  .target = &s->target,
                                  .bound = &s->bound,
                                  .run = &s->out->view.run,
                                  .nodes = s->out->view.nodes,
                                  .n_nodes = s->out->view.n_nodes};
    if (s->memory && s->run.memory && !op_memory_update(s->a, s->memory, &of, &why))
        session_note(s, arena_printf(s->a, "nothing is learned from this run: %s", why.text));
}

// ---- names

static bool unknown(const char *what, const char *name, const char *const *names,
                    struct error *err) {
    const char *nearest = str_nearest(name, names);
    if (nearest)
        return error_set(err, ERROR_USAGE, "unknown %s '%s'; did you mean '%s'?", what, name,
                         nearest);
    return error_set(err, ERROR_USAGE, "unknown %s '%s'; there are %s, %s%s%s", what, name,
                     names[0], names[1], names[2] ? ", " : "", names[2] ? names[2] : "");
}

bool session_find_proposer(struct session *s, const char *name, struct error *err) {
    const char *names[8] = {0};
    for (int i = 0; proposers[i]; i++) {
        names[i] = proposers[i]->name;
        if (strcmp(name, names[i]) == 0)
            s->proposer = proposers[i];
    }
    return s->proposer || unknown("proposer", name, names, err);
}

static bool find_objective(struct session *s, struct error *err) {
    const char *name = s->q->objective;
    for (int i = 0; name && i < OBJECTIVE_COUNT; i++)
        if (strcmp(name, run_objective_names[i]) == 0) {
            s->objective = (enum run_objective)i;
            return true;
        }
    return !name || unknown("objective", name, run_objective_names, err);
}

// ---- the run

const char *session_bound_text(struct arena *a, const struct bound *b) {
    json_t *json = bound_to_json(b);
    const char *text = json_print(a, json);
    json_decref(json);
    return text;
}

const char *session_facts_text(struct session *s) {
    json_t *json = target_to_json(&s->target);
    const char *text = json_print(s->a, json);
    json_decref(json);
    return text;
}

double session_seconds(const struct optimize_request *q) {
    return q->seconds > 0 ? q->seconds : DEFAULT_SECONDS;
}

// How many blocks are raced at once: 0 where each is judged. A model proposes one at a time, and
// workers of a spool judge alone. On a table a verdict costs nothing: there is a race only where
// somebody asks for one.
static int race_size(const struct session *s) {
    const struct optimize_request *q = s->q;
    bool can_race = !q->spool && s->proposer != &proposer_team && q->batch <= 1;
    if (q->race > 0 || !can_race || s->table)
        return q->race > 1 && can_race ? (int)q->race : 0;
    int64_t n = RACE_PER_CPU * sysconf(_SC_NPROCESSORS_ONLN);
    return n < RACE_LEAST ? RACE_LEAST : n > RACE_MOST ? RACE_MOST : (int)n;
}

// Workers of a spool share what is proposed at once.
static int batch_size(const struct optimize_request *q) {
    int64_t n = q->batch > 0 ? q->batch : q->spool ? q->jobs : 1;
    return n > 1 ? (int)n : 1;
}

static void fill_run(struct session *s) {
    const struct optimize_request *q = s->q;
    struct run_llm llm = s->run.llm;
    const char *feedback = s->run.feedback;
    s->run = (struct run){
        .state = RUN_ACTIVE,
        .problem_name = s->problem->name,
        .problem_text = s->problem->text,
        .problem_hash = hash_text(s->a, s->problem->text),
        .target = s->table ? s->table->name : s->target.name,
        .device = s->target.device,
        .policy = policy_text(s->a, &s->policy),
        .proposer = s->proposer->name,
        .seed = (uint64_t)q->seed,
        .max_evals = (int)(q->evals < INT32_MAX ? q->evals : INT32_MAX),
        .batch = batch_size(q),
        .race = race_size(s),
        .max_seconds = s->table ? TABLE_SECONDS : session_seconds(q),
        .until = q->until > 0 ? q->until : DEFAULT_UNTIL,
        .objective = s->objective,
        .no_energy = q->no_energy,
        .bound = session_bound_text(s->a, &s->bound),
        .started_at = clock_timestamp(s->a),
        .version = HONE_VERSION,
        .champion = -1,
        .llm = llm,
        .feedback = feedback,
    };
    s->run.start = s->start;
    if (s->baseline.source) {
        s->run.baseline = s->baseline;
    } else if (op_has_default(s->problem)) {
        lower_plain(s->a, s->problem, &s->target, &s->run.baseline);
        s->run.baseline.label = "plain";
    } else if (s->q->start) {
        s->run.baseline = s->start;
    }
}

// Without a target the file that it begins with says for what it is.
static const char *start_target(const struct session *s) {
    const struct optimize_request *q = s->q;
    struct error ignored = {0};
    const char *target = q->target;
    if (!target && q->start && !str_ends_with(q->start, ".hone") &&
        !candidate_file_target(s->a, q->start, s->problem, &target, &ignored))
        return NULL;
    return target;
}

// The problem file's own kernel block for this kind of target, or NULL.
static bool find_own_block(const struct session *s, struct kernel **found, struct error *err) {
    *found = NULL;
    for (int i = 0; i < s->n_kernels; i++) {
        struct kernel *k = s->kernels[i];
        if ((strcmp(k->target, "cpu") != 0) != s->target.is_gpu)
            continue;
        if (*found)
            return error_set(err, ERROR_USAGE,
                             "%s: more than one kernel for '%s'; --start FILE names one",
                             s->q->file, s->problem->name);
        *found = k;
    }
    return true;
}

// Where the search begins. Where there is no default kernel, a model may begin with the skeleton,
// which is wrong; the others need a source.
static bool find_start(struct session *s, struct error *err) {
    const char *name = s->q->start;
    struct candidate_name n = {.name = name, .problem = s->problem, .target = &s->target};
    struct candidate_file f;
    struct error none = {0};
    struct kernel *own = NULL;
    if (!name && !find_own_block(s, &own, err))
        return false;
    if (own) {
        session_note(s, arena_printf(s->a, "starting from the kernel block in %s", s->q->file));
        bool ok = lower_kernel(s->a, s->problem, &s->target, own, &s->start, err);
        s->start.label = s->q->file;
        return ok;
    }
    if (!name && support_problem(s->problem, &none))
        return true;
    if (!name && !s->team.llm)
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s; --start FILE begins with a kernel of your own, --llm with nothing",
                         none.text);
    if (!name) {
        s->start = (struct candidate){.tier = s->target.is_gpu ? TIER_D : TIER_C,
                                      .source = lower_scaffold(s->a, s->problem, &s->target),
                                      .label = "skeleton"};
        candidate_seal(s->a, &s->start);
        return true;
    }
    if (!candidate_file_read(s->a, &n, &f, err))
        return false;
    if (f.refusal)
        return error_set(err, ERROR_USAGE, "start %s: %s", name, f.refusal);
    s->start = f.candidate;
    return true;
}

// What the champion is confirmed against, where somebody names it.
static bool find_baseline(struct session *s, struct error *err) {
    const char *name = s->q->baseline;
    struct candidate_name n = {.name = name, .problem = s->problem, .target = &s->target};
    struct candidate_file f;
    if (!name)
        return true;
    if (!candidate_file_read(s->a, &n, &f, err))
        return false;
    if (f.refusal)
        return error_set(err, ERROR_USAGE, "baseline %s: %s", name, f.refusal);
    s->baseline = f.candidate;
    return true;
}

// Asked before a run is stored, and not again when it is resumed: the label is in the record. While
// nobody knows the answer nothing is searched.
static bool start_judge(struct session *s, struct error *err) {
    const char *null_kernel;
    if (!session_open_evaluator(s, err))
        return false;
    if (s->table)
        return true;  // asked when it was made
    if (!evaluator_null_kernel(s->evaluator, &null_kernel, err))
        return false;
    s->run.null_kernel = null_kernel ? arena_strdup(s->a, null_kernel) : NULL;
    return true;
}

// A problem on which a kernel that computes nothing passes is not searched. Its run is kept, as
// one that ended at once, so that the label is found where others look for results.
bool session_refuse_degenerate(struct session *s, struct error *err) {
    struct run *run = &s->run;
    struct error reading = {0};
    if (!run->null_kernel)
        return true;
    run->state = RUN_DONE;
    run->stop_reason = "degenerate";
    run->ended_at = clock_timestamp(s->a);
    if (!store_update_run(s->store, run, err))
        return false;
    s->out->has_run = op_read_run(s->a, s->store, run->id, &s->out->view, &reading);
    return error_set(err, ERROR_PARSE,
                     "problem %s is degenerate: a kernel that does no more than %s would pass on "
                     "every input set, so there is nothing to search for",
                     s->problem->name, run->null_kernel);
}

void session_note_from_team(void *ctx, const char *words) {
    session_note(ctx, words);
}

// The model, where one is named and nobody asked for another mind.
static bool begin_model(struct session *s, struct error *err) {
    const struct optimize_request *q = s->q;
    bool is_team = q->proposer && strcmp(q->proposer, "team") == 0;
    const char *words = NULL;
    if (!op_feedback(q->team.feedback, &s->run.feedback, err))
        return false;
    if (q->proposer && !is_team) {
        if (q->team.llm)
            return error_set(err, ERROR_USAGE, "--llm goes with the proposer team, not with %s",
                             q->proposer);
        return op_team_none(&q->team, err) && session_find_proposer(s, q->proposer, err);
    }
    const char *subject = hash_text(s->a, s->problem->text);
    if (!op_team_begin(s->a, &q->team, subject, &s->team, &s->run, &words, err))
        return false;
    if (is_team && !words)
        return error_set(err, ERROR_USAGE, "--proposer team needs a model: --llm, or llm.provider");
    if (words)
        session_note(s, words);
    return session_find_proposer(s, words ? "team" : "expert", err);
}

// The default, by the kind of mind: what a model will write has no knobs to be learned from.
static bool choose_policy(struct session *s, struct error *err) {
    const struct policy *p = s->proposer == &proposer_team ? &policy_mcts : policies[0];
    return s->q->policy || policy_choose(p->name, false, &s->policy, err);
}

// With its bound, in one step: one that was killed between them could not be replayed.
static bool add_run(struct session *s, struct error *err) {
    if (!store_begin(s->store, err))
        return false;
    bool ok = store_add_run(s->store, &s->run, err) &&
              judging_record_bound(s->store, s->run.id, s->run.bound, session_facts_text(s), err);
    return store_end(s->store, ok, err);
}

static bool begin_new(struct session *s, struct error *err) {
    const struct optimize_request *q = s->q;
    struct loaded loaded;
    if ((q->policy && !policy_choose(q->policy, false, &s->policy, err)) ||
        !find_objective(s, err) || !op_load(s->a, q->file, q->dims, &loaded, err))
        return false;
    s->problem = loaded.problem;
    s->kernels = loaded.kernels;
    s->n_kernels = loaded.n_kernels;
    if (!session_find_memory(s, err) || !begin_model(s, err) || !choose_policy(s, err) ||
        !session_find_target(s, start_target(s), err) || !find_start(s, err) ||
        !find_baseline(s, err) ||
        // Before what takes long: a store that cannot be written ends it.
        !op_open_store(s->a, q->store, true, &s->store, err))
        return false;
    s->opened_ns = clock_now_ns();
    if (!session_measure_ceilings(s, err))
        return false;
    bound_compute(s->problem, &s->target, &s->bound);
    fill_run(s);
    ask_memory(s);
    int64_t start_ns = clock_now_ns();
    bool ok = start_judge(s, err);
    s->opening_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    log_info("opened the judge in %.2f s", s->opening_s);
    return ok && add_run(s, err) && store_lock_run(s->store, s->run.id, err) &&
           session_refuse_degenerate(s, err) &&
           op_team_start(&s->team, s->store, &s->run, session_note_from_team, s, err);
}

static bool work(struct session *s, struct error *err) {
    // Ceilings were measured, the judge was opened, and on a large problem its inputs drawn: that
    // is time of the run.
    s->run.elapsed_s += s->table ? 0 : (double)(clock_now_ns() - s->opened_ns) * 1e-9;
    s->judge = session_judge(s);
    s->recorder.inner = s->judge;
    plugins_find(s->a, s->q->tool, &s->plugins);
    if (s->plugins.n > 0) {
        s->recorder.inner.judge = session_judge_and_ask;
        s->recorder.inner.ctx = s;
    }
    s->recorder.store = s->store;
    s->recorder.run = s->run.id;
    struct priors priors = op_memory_priors(s->a, &s->advice);
    struct optimize_job job = {
        .context = {.problem = s->problem,
                    .target = &s->target,
                    .bound = &s->bound,
                    .policy = s->policy.policy,
                    .settings = s->policy.settings,
                    .proposer = s->proposer,
                    .mind = s->team.team,
                    .priors = s->advice.n_priors > 0 ? &priors : NULL,
                    .advice = &s->advice},
        .judge = judging_record(&s->recorder),
        .has_energy = s->target.is_gpu && !s->table,
        .opening_s = s->opening_s,
        .store = s->store,
        // Only a process on the device's machine could.
        .remeasure = s->q->no_calibrate || s->q->spool || s->table ? NULL : session_remeasure,
        .remeasure_ctx = s,
        .first = s->table ? &s->table->first : NULL,
        .on_event = s->q->on_event,
        .event_ctx = s->q->event_ctx,
    };
    bool ok = optimize(s->a, &job, &s->run, err) &&
              judging_record_end(s->store, s->run.id, s->run.n_nodes, s->run.stop_reason, err);
    if (s->team.team)
        session_note(s, op_team_spent(s->a, &s->team));
    struct error reading = {0};
    s->out->has_run = op_read_run(s->a, s->store, s->run.id, &s->out->view, &reading);
    if (ok && !s->out->has_run) {
        *err = reading;
        return false;
    }
    if (ok)
        teach_memory(s);
    return ok;
}

bool op_optimize(struct arena *a, const struct optimize_request *q, struct optimize_outcome *out,
                 struct error *err) {
    struct session s = {.a = a, .q = q, .out = out};
    *out = (struct optimize_outcome){0};
    bool ok = (q->resume ? session_begin_resumed(&s, err) : begin_new(&s, err)) && work(&s, err);
    out->view.store_option = op_store_option(a, q->store);
    if (s.evaluator)
        evaluator_close(s.evaluator);
    play_close(s.play);
    op_team_close(&s.team);
    store_close(s.store);
    return ok;
}
