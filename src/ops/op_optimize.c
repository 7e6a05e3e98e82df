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
#include "base/str.h"
#include "calibrate/calibrate.h"
#include "family/lower.h"
#include "family/support.h"
#include "mind/proposer.h"
#include "model/bound.h"
#include "ops/candidate_file.h"
#include "ops/op_machine.h"
#include "ops/op_memory.h"
#include "ops/op_problem.h"
#include "ops/op_runs.h"
#include "ops/op_spool.h"
#include "ops/op_table.h"
#include "ops/op_team.h"
#include "ops/plugins.h"
#include "place/evaluate.h"
#include "play/play.h"
#include "record/advice.h"
#include "search/judging.h"
#include "search/optimize.h"
#include "search/policy.h"
#include "spool/place_spool.h"
#include "store/store.h"

enum { RACE_LEAST = 24, RACE_PER_CPU = 4, RACE_MOST = 64 };
static const double DEFAULT_SECONDS = 600, DEFAULT_UNTIL = 0.95;
// On a table nothing depends on time: its runs must not end by it.
static const double TABLE_SECONDS = 1e9;

static const struct proposer *const proposers[] = {&proposer_expert, &proposer_blind,
                                                   &proposer_team, NULL};

// Everything that one optimisation needs, gathered step by step.
struct session {
    struct arena *a;
    const struct optimize_request *q;
    struct optimize_outcome *out;
    struct problem *problem;
    struct target target;
    struct bound bound;
    struct policy_choice policy;
    enum run_objective objective;
    const struct proposer *proposer;
    struct store *store;
    struct evaluator *evaluator;
    const struct target **devices;  // the target, and others of this machine that judge with it
    int n_devices;                  // that still do; 0: the target alone
    struct play *play;  // counters of candidates; NULL: not asked yet, or there are none
    bool has_no_counters;
    struct plugins plugins;  // tools of the user's
    struct judging judge;    // without them
    double counters_s;       // how long they took the last time; 0: not asked yet
    struct op_team team;
    struct run run;
    struct candidate start;     // no source: the default kernel
    struct candidate baseline;  // no source: plain
    struct op_table *table;     // stands for the device; NULL: there is one
    struct judge_recorder recorder;
    struct kernel **kernels;  // blocks of the problem's file
    int n_kernels;
    const char *memory;  // the file; NULL: off
    struct advice advice;
    int64_t opened_ns;  // when what counts as time of the run began: ceilings are measured before
};

static void note(struct session *s, const char *words) {
    struct event e = {.kind = EVENT_NOTE, .words = words, .best = -1};
    if (s->q->on_event)
        s->q->on_event(&e, s->q->event_ctx);
}

// ---- memory: without it a run takes longer, and that is all

static bool find_memory(struct session *s, struct error *err) {
    return op_memory_path(s->a, s->q->memory, &s->memory, err);
}

static void do_without_memory(struct session *s, const struct error *why) {
    note(s, arena_printf(s->a, "without memory: %s", why->text));
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
    const char *words = op_memory_words(s->a, &s->advice);
    if (words)
        note(s, words);
}

static void teach_memory(struct session *s) {
    struct error why = {0};
    struct memory_lesson_of of = {.problem = s->problem,
                                  .target = &s->target,
                                  .bound = &s->bound,
                                  .run = &s->out->view.run,
                                  .nodes = s->out->view.nodes,
                                  .n_nodes = s->out->view.n_nodes};
    if (s->memory && s->run.memory && !op_memory_teach(s->a, s->memory, &of, &why))
        note(s, arena_printf(s->a, "nothing is learned from this run: %s", why.text));
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

static bool find_proposer(struct session *s, const char *name, struct error *err) {
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

// ---- the target and what it can do

static void calibrate_progress(const char *what, void *ctx) {
    struct session *s = ctx;
    note(s, arena_printf(s->a, "  %s", what));
}

// A cache that cannot be written costs the next run some seconds, and this one nothing.
static void keep_ceilings(struct session *s) {
    struct error why = {0};
    if (!target_save_ceilings(s->a, &s->target, &why))
        note(s, arena_printf(s->a, "  not kept: %s", why.text));
}

static bool measure_ceilings(struct session *s, struct error *err) {
    if (s->target.ceilings.present || s->q->no_calibrate || s->q->spool || s->table)
        return true;
    note(s, arena_printf(s->a, "measuring what %s (%s) can do, once, about 10 s", s->target.name,
                         s->target.device));
    if (!calibrate(s->a, &s->target, calibrate_progress, s, err))
        return false;
    keep_ceilings(s);
    return true;
}

// ---- the run

static const char *bound_text(struct arena *a, const struct bound *b) {
    json_t *json = bound_to_json(b);
    const char *text = json_print(a, json);
    json_decref(json);
    return text;
}

static const char *facts_text(struct session *s) {
    json_t *json = target_to_json(&s->target);
    const char *text = json_print(s->a, json);
    json_decref(json);
    return text;
}

static bool remeasure(void *ctx, struct run *run, const char *why, struct error *err) {
    struct session *s = ctx;
    struct target fresh = s->target;
    note(s, arena_printf(s->a, "%s: measuring again what this machine can do", why));
    if (!calibrate(s->a, &fresh, NULL, NULL, err))
        return false;
    if (s->target.ceilings.present)
        ceilings_raise(&s->target.ceilings, &fresh.ceilings);
    else  // resumed from a record that did not keep them
        s->target.ceilings = fresh.ceilings;
    bound_compute(s->problem, &s->target, &s->bound);
    run->bound = bound_text(s->a, &s->bound);
    keep_ceilings(s);
    return judging_record_bound(s->store, run->id, run->bound, facts_text(s), err);
}

// How many blocks are raced at once: 0 where each is judged. A model proposes one at a time, and
// workers of a spool judge alone.
static int race_size(const struct session *s) {
    const struct optimize_request *q = s->q;
    bool can_race = !q->spool && !s->table && s->proposer != &proposer_team && q->batch <= 1;
    if (q->race > 0 || !can_race)
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
        .max_seconds = s->table         ? TABLE_SECONDS
                       : q->seconds > 0 ? q->seconds
                                        : DEFAULT_SECONDS,
        .until = q->until > 0 ? q->until : DEFAULT_UNTIL,
        .objective = s->objective,
        .no_energy = q->no_energy,
        .bound = bound_text(s->a, &s->bound),
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
        note(s, arena_printf(s->a, "starting from the kernel block in %s", s->q->file));
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

// A table in place of a device.
static bool open_table(struct session *s, const char *path, struct error *err) {
    const struct optimize_request *q = s->q;
    if (q->spool || q->seconds > 0)
        return error_set(err, ERROR_USAGE,
                         "%s does not go with a table: it is searched here, and "
                         "nothing takes time; --evals limits it",
                         q->spool ? "--spool" : "--seconds");
    s->table = arena_new(s->a, struct op_table);
    if (!op_table_open(s->a, path, s->table, err) ||
        !op_table_check_problem(s->table, s->problem, err))
        return false;
    s->target = s->table->target;
    if (!q->memory)
        s->memory = NULL;  // the seed alone decides, unless somebody names a memory
    note(s, arena_printf(s->a, "searching a table of %d blocks, %d of them ok, in place of %s",
                         s->table->table.n_rows, s->table->judge.n_ok, s->target.device));
    if (s->table->n_unknown > 0)
        note(s, arena_printf(s->a, "left out: %d blocks that this hone does not know any more",
                             s->table->n_unknown));
    return true;
}

// The device that judges: of this machine, or the one of a worker behind the spool.
static bool find_target(struct session *s, const char *name, struct error *err) {
    const struct optimize_request *q = s->q;
    const char *table = op_table_path(name);
    if (table)
        return open_table(s, table, err);
    if (q->spool)
        return op_spool_target(s->a, &(struct spool_want){q->spool, name, q->wait_s}, &s->target,
                               err);
    // Before anything is stored or measured: can something come of it at all?
    if (!op_target(s->a, name, &s->target, err) || !op_target_usable(s->a, &s->target, err))
        return false;
    if (s->team.llm)  // a model wants to know who reads what it writes
        s->target.compiler = op_compiler_and_headers(s->a, &s->target);
    return true;
}

// The target and the other GPUs of this machine that are like it, `jobs` in all at most.
static bool find_devices(struct session *s, struct error *err) {
    int most = (int)s->q->jobs;
    if (most <= 1 || s->q->spool)
        return true;
    if (s->table || !s->target.is_gpu)
        return error_set(err, ERROR_USAGE,
                         "--jobs: %s judges one candidate at a time; several are for GPUs, or for "
                         "workers of a --spool",
                         s->table ? s->table->name : s->target.name);
    if (!op_alike_targets(s->a, &s->target, most, &s->devices, &s->n_devices, err))
        return false;
    if (s->n_devices < most)
        note(s, arena_printf(s->a, "%d of the %d jobs asked for: so many GPUs like %s are here",
                             s->n_devices, most, s->target.name));
    return true;
}

// What became of a device is said once.
static void follow_devices(struct session *s) {
    int n = evaluator_at_once(s->evaluator);
    if (s->n_devices > 1 && n < s->n_devices)
        note(s, arena_printf(s->a, "a device is out: %d of %d go on", n, s->n_devices));
    s->n_devices = s->n_devices > 1 ? n : s->n_devices;
}

static bool open_evaluator(struct session *s, struct error *err) {
    if (s->table && s->q->jobs <= 1)
        return true;
    if (!find_devices(s, err))
        return false;
    if (s->n_devices > 1)
        return evaluator_open_devices(&s->evaluator, s->problem, s->devices, s->n_devices, err);
    struct spool_spec spec = {.dir = s->q->spool,
                              .problem = s->problem,
                              .target = &s->target,
                              .machine = s->target.id,
                              .is_shared = s->q->jobs > 1,
                              .wait_s = s->q->wait_s};
    return s->q->spool ? evaluator_open_spool(&s->evaluator, &spec, err)
                       : evaluator_open(&s->evaluator, s->problem, &s->target, 0, err);
}

// Asked before a run is stored, and not again when it is resumed: the label is in the record. While
// nobody knows the answer nothing is searched.
static bool start_judge(struct session *s, struct error *err) {
    const char *null_kernel;
    if (!open_evaluator(s, err))
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
static bool refuse_degenerate(struct session *s, struct error *err) {
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

static void note_from_team(void *ctx, const char *words) {
    note(ctx, words);
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
        return op_team_none(&q->team, err) && find_proposer(s, q->proposer, err);
    }
    const char *subject = hash_text(s->a, s->problem->text);
    if (!op_team_begin(s->a, &q->team, subject, &s->team, &s->run, &words, err))
        return false;
    if (is_team && !words)
        return error_set(err, ERROR_USAGE, "--proposer team needs a model: --llm, or llm.provider");
    if (words)
        note(s, words);
    return find_proposer(s, words ? "team" : "expert", err);
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
              judging_record_bound(s->store, s->run.id, s->run.bound, facts_text(s), err);
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
    if (!find_memory(s, err) || !begin_model(s, err) || !choose_policy(s, err) ||
        !find_target(s, start_target(s), err) || !find_start(s, err) || !find_baseline(s, err) ||
        !measure_ceilings(s, err))
        return false;
    s->opened_ns = clock_now_ns();
    bound_compute(s->problem, &s->target, &s->bound);
    fill_run(s);
    ask_memory(s);
    return start_judge(s, err) && op_open_store(s->a, q->store, true, &s->store, err) &&
           add_run(s, err) && store_lock_run(s->store, s->run.id, err) &&
           refuse_degenerate(s, err) &&
           op_team_start(&s->team, s->store, &s->run, note_from_team, s, err);
}

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
           (n_nodes == 0 || judging_recall(s->a, &s->recorder, &nodes[0].candidate, err));
}

// Problem, bound, memory's advice, minds and target as the run's record has them.
static bool restore(struct session *s, struct error *err) {
    return find_memory(s, err) && op_memory_advice(s->a, &s->run, &s->advice, err) &&
           op_stored_problem(s->a, &s->run, &s->problem, err) && restore_bound(s, err) &&
           policy_choose(s->run.policy, true, &s->policy, err) &&
           find_proposer(s, s->run.proposer, err) && find_target(s, s->run.target, err) &&
           check_device(s, err) && restore_ceilings(s, err);
}

static bool begin_resumed(struct session *s, struct error *err) {
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
        note(s, words);
    return restore(s, err) && open_evaluator(s, err) && refuse_degenerate(s, err) &&
           forget_pending(s, err) &&
           op_team_start(&s->team, s->store, &s->run, note_from_team, s, err);
}

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
    note(s, arena_printf(s->a, "no hardware counters: %s", ok ? seen.notes[0] : why.text));
    s->has_no_counters = true;
}

static bool judge_by_worker(void *ctx, struct arena *a, const struct eval_job *job,
                            struct eval_result *result, struct error *err) {
    struct session *s = ctx;
    int64_t start_ns = clock_now_ns();
    if (!evaluator_judge(s->evaluator, a, job, result, err))
        return false;
    follow_devices(s);
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

static struct judging judge_of(struct session *s) {
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
    note(s, arena_printf(s->a, "without %s", words));
}

// What tools of the user's say of a kernel that is worth ranking is recorded with its profile: both
// minds hear it, and a replay need not ask again.
static bool judge_and_ask(void *ctx, struct arena *a, const struct eval_job *job,
                          struct eval_result *result, struct error *err) {
    struct session *s = ctx;
    if (!s->judge.judge(s->judge.ctx, a, job, result, err))
        return false;
    if (job->depth == EVAL_RANK && result->verdict.kind == VERDICT_OK) {
        profile_set(&result->profile, METRIC_TIME, result->measurement.median_s);
        plugins_say(a, &s->plugins, &s->target, &s->bound, &result->profile, note_wrong, s);
    }
    return true;
}

static bool work(struct session *s, struct error *err) {
    // The judge was opened, and on a large problem its inputs drawn: that is time of the run.
    s->run.elapsed_s += s->table ? 0 : (double)(clock_now_ns() - s->opened_ns) * 1e-9;
    s->judge = judge_of(s);
    s->recorder.inner = s->judge;
    plugins_find(s->a, s->q->tool, &s->plugins);
    if (s->plugins.n > 0) {
        s->recorder.inner.judge = judge_and_ask;
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
        .store = s->store,
        // Only whoever sits at the device could.
        .remeasure = s->q->no_calibrate || s->q->spool || s->table ? NULL : remeasure,
        .remeasure_ctx = s,
        .first = s->table ? &s->table->first : NULL,
        .on_event = s->q->on_event,
        .event_ctx = s->q->event_ctx,
    };
    bool ok = optimize(s->a, &job, &s->run, err) &&
              judging_record_end(s->store, s->run.id, s->run.n_nodes, s->run.stop_reason, err);
    if (s->team.team)
        note(s, op_team_spent(s->a, &s->team));
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
    bool ok = (q->resume ? begin_resumed(&s, err) : begin_new(&s, err)) && work(&s, err);
    if (s.evaluator)
        evaluator_close(s.evaluator);
    play_close(s.play);
    op_team_close(&s.team);
    store_close(s.store);
    return ok;
}
