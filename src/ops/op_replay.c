// A recording in place of judge and model, a store in a scratch directory, the same search, then a
// comparison node by node.
#include "ops/op_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "mind/proposer.h"
#include "model/bound.h"
#include "ops/op_machine.h"
#include "ops/op_memory.h"
#include "ops/op_problem.h"
#include "ops/op_runs.h"
#include "ops/op_table.h"
#include "ops/op_team.h"
#include "ops/recording.h"
#include "place/evaluate.h"
#include "record/advice.h"
#include "record/event.h"
#include "search/judging.h"
#include "search/optimize.h"
#include "search/policy.h"
#include "store/store.h"

struct replay {
    struct arena *a;
    const struct replay_request *q;
    struct recording recording;
    struct problem *problem;
    struct target target;
    struct bound bound;
    struct judge_replayer judge;
    struct judging recorded;
    struct evaluator *evaluator;
    struct store *store;  // of the replay, in `dir`
    struct op_team team;
    const char *dir;
    struct op_table *table;  // that stood for the device, for what is legal; NULL: there was one
    struct run run;          // the one that is made
};

static bool read_bound(struct replay *r, const struct judgement *j, struct error *err) {
    json_t *bound = json_parse(j->bound, strlen(j->bound), err);
    json_t *facts = j->facts ? json_parse(j->facts, strlen(j->facts), err) : NULL;
    bool ok = bound && bound_from_json(bound, &r->bound, err) &&
              (!facts || r->q->re_evaluate || target_from_json(r->a, facts, &r->target, err));
    json_decref(bound);
    json_decref(facts);
    r->target.blocks = r->table ? r->table->target.blocks : NULL;
    r->run.bound = j->bound;
    return ok || error_wrap(err, "recorded bound");
}

static bool remeasure(void *ctx, struct run *run, const char *why, struct error *err) {
    struct replay *r = ctx;
    (void)why;
    const struct judgement *next = judging_replay_bound(&r->judge);
    if (!next) {
        r->judge.n_missing++;
        return true;
    }
    bool ok = read_bound(r, next, err);
    run->bound = next->bound;
    return ok;
}

static bool is_measured_next(void *ctx) {
    struct replay *r = ctx;
    return judging_replay_is_bound_next(&r->judge);
}

static bool judge_by_worker(void *ctx, struct arena *a, const struct eval_job *job,
                            struct eval_result *result, struct error *err) {
    return evaluator_judge(ctx, a, job, result, err);
}

static bool race_by_worker(void *ctx, struct arena *a, const struct race_job *job,
                           struct screening *screenings, struct error *err) {
    return evaluator_race(ctx, a, job, screenings, err);
}

static bool load(struct replay *r, struct error *err) {
    const char *name = r->q->name;
    if (name && (strchr(name, '/') || file_exists(name)))
        return recording_from_file(r->a, name, &r->recording, err);
    struct store *s;
    int64_t id;
    if (!op_open_store(r->a, r->q->store, false, &s, err))
        return false;
    bool ok =
        store_find_run(s, name, &id, err) && recording_from_store(r->a, s, id, &r->recording, err);
    store_close(s);
    if (ok && r->recording.n_judgements == 0)
        return error_set(err, ERROR_USAGE,
                         "run %lld was made before judgements were recorded; it cannot be replayed",
                         (long long)id);
    return ok;
}

static bool write_out(struct replay *r, struct error *err) {
    struct str text = {0};
    recording_print(&text, &r->recording);
    bool ok = file_write(r->q->out, str_text(&text), text.len, err);
    str_reset(&text);
    return ok;
}

// A store of its own, in a directory that goes away: the replay must not be taken for a run.
static bool open_scratch(struct replay *r, struct error *err) {
    r->dir = file_scratch_dir(r->a, err);
    return r->dir && store_open(&r->store, arena_printf(r->a, "%s/runs.db", r->dir), true, err);
}

// The table says which blocks are legal: without it moves would lead elsewhere.
static bool open_table(struct replay *r, const char *path, struct error *err) {
    r->table = arena_new(r->a, struct op_table);
    if (!op_table_open(r->a, path, r->table, err))
        return false;
    r->target = r->table->target;
    return op_table_check_problem(r->table, r->problem, err);
}

static bool prepare(struct replay *r, struct error *err) {
    const struct run *run = &r->recording.run;
    r->run = *run;
    r->run.id = 0;
    r->run.state = RUN_ACTIVE;
    r->run.champion = -1;
    r->run.n_nodes = 0;
    r->run.confirm = (struct measurement){0};
    r->run.speedup_unknown = NULL;
    r->run.elapsed_s = 0;
    r->run.max_seconds = 1e9;  // how long it took is not repeated
    r->recorded =
        judging_replay(r->a, &r->judge, r->recording.judgements, r->recording.n_judgements);
    const struct judgement *first = judging_replay_bound(&r->judge);
    if (!op_stored_problem(r->a, run, &r->problem, err))
        return false;
    if (!first)
        return error_set(err, ERROR_USAGE, "the record has no bound");
    if (op_table_path(run->target))
        return open_table(r, op_table_path(run->target), err) && read_bound(r, first, err);
    if (r->q->re_evaluate && !op_target(r->a, run->target, &r->target, err))
        return false;
    return read_bound(r, first, err);
}

static const struct proposer *find_proposer(const char *name) {
    static const struct proposer *const proposers[] = {&proposer_expert, &proposer_blind,
                                                       &proposer_team};
    for (int i = 0; i < 3; i++)
        if (strcmp(proposers[i]->name, name) == 0)
            return proposers[i];
    return NULL;
}

// The model's part: its answers come from the recording, whatever they cost then.
static bool start_team(struct replay *r, struct error *err) {
    if (!r->recording.run.llm.spec)
        return true;
    struct str text = {0};
    const char *path = arena_printf(r->a, "%s/recording.jsonl", r->dir), *words;
    recording_print(&text, &r->recording);
    bool ok = file_write(path, str_text(&text), text.len, err);
    str_reset(&text);
    struct team_request q = {.llm = arena_printf(r->a, "replay:%s", path),
                             .feedback = r->recording.run.llm.feedback};
    ok = ok &&
         op_team_begin(r->a, &q, r->recording.run.problem_hash, &r->team, &r->run, &words, err);
    r->team.settings.budget = (struct budget){.price = price_free()};
    r->team.settings.recorded = r->recording.exchanges;
    r->team.settings.n_recorded = r->recording.n_exchanges;
    r->run.llm.since = r->recording.run.llm.since;
    return ok && op_team_start(&r->team, r->store, &r->run, NULL, NULL, err);
}

static void tell_node(const struct event *e, void *ctx) {
    struct replay *r = ctx;
    if (e->kind == EVENT_EVALUATED && e->node)
        r->q->on_node(e->node->number, r->recording.n_nodes, r->q->ctx);
}

static bool work(struct replay *r, struct error *err) {
    const struct run *run = &r->recording.run;
    struct policy_choice policy;
    if (!policy_choose(run->policy, true, &policy, err))
        return false;
    struct advice advice;
    if (!op_memory_advice(r->a, run, &advice, err))
        return false;
    struct priors priors = op_memory_priors(r->a, &advice);
    struct optimize_job job = {
        .context = {.problem = r->problem,
                    .target = &r->target,
                    .bound = &r->bound,
                    .policy = policy.policy,
                    .settings = policy.settings,
                    .proposer = find_proposer(run->proposer),
                    .mind = r->team.team,
                    .priors = advice.n_priors > 0 ? &priors : NULL,
                    .advice = &advice},
        .judge = r->recorded,
        .has_energy = r->target.is_gpu && !r->table,
        .confirms_first =
            judging_confirms_first(r->recording.judgements, r->recording.n_judgements),
        .store = r->store,
        .on_event = r->q->on_node ? tell_node : NULL,
        .event_ctx = r,
        .first = r->recording.n_nodes > 0 && r->recording.nodes[0].candidate.kernel
                     ? &r->recording.nodes[0].candidate
                     : NULL,
        .remeasure = remeasure,
        .remeasure_ctx = r,
        // With other judgements there is no such place.
        .is_measured_next = r->q->re_evaluate ? NULL : is_measured_next,
    };
    if (!job.context.proposer)
        return error_set(err, ERROR_USAGE, "this hone has no proposer %s", run->proposer);
    if (r->q->re_evaluate)
        job.judge = r->table ? r->table->judging
                             : (struct judging){.judge = judge_by_worker,
                                                .ctx = r->evaluator,
                                                .race = race_by_worker};
    // Every end that the run came to, then whatever came after the last.
    bool ok = true;
    while (ok && judging_replay_end(r->a, &r->judge, &job.end_nodes, &job.end_reason))
        ok = optimize(r->a, &job, &r->run, err);
    if (!ok || r->run.n_nodes >= r->recording.n_nodes)
        return ok;
    job.end_nodes = r->recording.n_nodes;
    job.end_reason = run->stop_reason ? run->stop_reason : "end of the record";
    return optimize(r->a, &job, &r->run, err);
}

// ---- comparing

static bool same_text(const char *x, const char *y) {
    return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static const char *difference(struct arena *a, const struct search_node *x,
                              const struct search_node *y, bool re_evaluated) {
    if (x->parent != y->parent)
        return arena_printf(a, "its parent was node %d and is node %d", x->parent, y->parent);
    if (!same_text(x->move, y->move))
        return arena_printf(a, "it was '%s' and is '%s'", x->move, y->move);
    bool same = x->candidate.kernel ? same_text(x->candidate.kernel, y->candidate.kernel)
                                    : same_text(x->candidate.source, y->candidate.source);
    if (!same)
        return "its candidate is another";
    if (x->verdict.kind != y->verdict.kind)
        return arena_printf(a, "its verdict was %s and is %s", verdict_kind_name(x->verdict.kind),
                            verdict_kind_name(y->verdict.kind));
    if (x->state != y->state)
        return arena_printf(a, "it was %s and is %s", node_state_name(x->state),
                            node_state_name(y->state));
    bool same_time = x->time_s == y->time_s || (isnan(x->time_s) && isnan(y->time_s));
    return re_evaluated || same_time ? NULL : "its time is another";
}

static void compare(struct replay *r, const struct search_node *nodes, int n_nodes,
                    struct replay_outcome *out) {
    const struct recording *rec = &r->recording;
    out->n_replayed = n_nodes;
    for (int i = 0; i < rec->n_nodes && i < n_nodes && !out->difference; i++) {
        // What the run left unjudged is not asked of the replay.
        if (rec->nodes[i].state == NODE_PROPOSED)
            break;
        out->difference = difference(r->a, &rec->nodes[i], &nodes[i], r->q->re_evaluate);
        out->first_difference = out->difference ? i : -1;
    }
    if (!out->difference && n_nodes != rec->n_nodes) {
        out->first_difference = n_nodes < rec->n_nodes ? n_nodes : rec->n_nodes;
        out->difference =
            arena_printf(r->a, "there were %d nodes and there are %d", rec->n_nodes, n_nodes);
    }
    out->champion_replayed = r->run.champion;
    if (!out->difference && !r->q->re_evaluate && rec->run.state == RUN_DONE &&
        rec->run.champion != r->run.champion) {
        out->first_difference = rec->run.champion;
        out->difference = arena_printf(r->a, "the champion was node %d and is node %d",
                                       rec->run.champion, r->run.champion);
    }
}

static void describe(struct replay *r, struct replay_outcome *out) {
    const struct recording *rec = &r->recording;
    *out = (struct replay_outcome){
        .run = rec->run.id,
        .problem = rec->run.problem_name,
        .proposer = rec->run.proposer,
        .llm = rec->run.llm.spec,
        .version = rec->run.version,
        .n_nodes = rec->n_nodes,
        .n_judgements = rec->n_judgements,
        .n_exchanges = rec->n_exchanges,
        .first_difference = -1,
        .champion = rec->run.champion,
        .champion_replayed = -1,
    };
}

static bool run_again(struct replay *r, struct replay_outcome *out, struct error *err) {
    struct search_node *nodes;
    int n_nodes;
    bool ok = prepare(r, err) && open_scratch(r, err) &&
              (!r->q->re_evaluate || r->table ||
               evaluator_open(&r->evaluator, r->problem, &r->target, 0, err)) &&
              store_add_run(r->store, &r->run, err) && start_team(r, err) && work(r, err) &&
              store_get_nodes(r->store, r->a, r->run.id, &nodes, &n_nodes, err);
    if (ok)
        compare(r, nodes, n_nodes, out);
    out->n_missing = r->judge.n_missing;
    out->n_reworded = r->team.llm ? llm_n_reworded(r->team.llm) : 0;
    return ok;
}

bool op_replay(struct arena *a, const struct replay_request *q, struct replay_outcome *out,
               struct error *err) {
    struct replay r = {.a = a, .q = q};
    bool ok = load(&r, err);
    if (ok)
        describe(&r, out);
    if (ok && q->out)
        ok = write_out(&r, err);
    else if (ok)
        ok = run_again(&r, out, err);
    if (r.evaluator)
        evaluator_close(r.evaluator);
    op_team_close(&r.team);
    store_close(r.store);
    struct error ignored;
    if (r.dir)
        file_remove_tree(r.dir, &ignored);
    return ok;
}

json_t *replay_to_json(const struct replay_outcome *o) {
    return json_pack("{s:s, s:I, s:s, s:s, s:o, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:o, s:o}",
                     "schema", "hone.replay/1", "run", (json_int_t)o->run, "problem", o->problem,
                     "proposer", o->proposer, "llm", json_optional_text(o->llm), "version",
                     o->version, "nodes", o->n_nodes, "replayed", o->n_replayed, "judgements",
                     o->n_judgements, "exchanges", o->n_exchanges, "reworded", o->n_reworded,
                     "missing", o->n_missing, "same", o->difference == NULL, "first_difference",
                     o->difference ? json_integer(o->first_difference) : json_null(), "difference",
                     json_optional_text(o->difference));
}
