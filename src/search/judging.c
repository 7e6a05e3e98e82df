// Judgements by subject and baseline in their recorded order.
#include "search/judging.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "record/judgement.h"
#include "record/run.h"
#include "store/store.h"

static const char *const depth_names[] = {[EVAL_VERIFY] = "verify",
                                          [EVAL_SCREEN] = "screen",
                                          [EVAL_RANK] = "rank",
                                          [EVAL_ENERGY] = "energy",
                                          [EVAL_CONFIRM] = "confirm"};

static const char BOUND[] = "bound", END[] = "end";

static bool same_baseline(const char *x, const char *y) {
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool recall(struct judge_recorder *r, struct arena *a, const struct eval_job *job,
                   struct eval_result *result) {
    for (int i = 0; i < r->n_recalled; i++) {
        const struct judgement *j = &r->recalled[i];
        const char *baseline = job->baseline ? judgement_subject(a, job->baseline) : NULL;
        if (r->is_used[i] || strcmp(j->depth, depth_names[job->depth]) != 0 ||
            strcmp(j->subject, judgement_subject(a, job->candidate)) != 0 ||
            !same_baseline(j->baseline, baseline))
            continue;
        r->is_used[i] = true;
        *result = (struct eval_result){
            .verdict = j->verdict, .measurement = j->measurement, .profile = j->profile};
        return true;
    }
    return false;
}

static bool record(void *ctx, struct arena *a, const struct eval_job *job,
                   struct eval_result *result, struct error *err) {
    struct judge_recorder *r = ctx;
    if (recall(r, a, job, result))
        return true;
    if (!r->inner.judge(r->inner.ctx, a, job, result, err))
        return false;
    // Raw samples are with the node; no decision looks at them.
    struct measurement measurement = result->measurement;
    measurement.n_pairs = 0;
    struct arena scratch = {0};
    struct judgement j = {
        .subject = judgement_subject(&scratch, job->candidate),
        .baseline = job->baseline ? judgement_subject(&scratch, job->baseline) : NULL,
        .depth = depth_names[job->depth],
        .verdict = result->verdict,
        .measurement = measurement,
        .profile = result->profile,
    };
    bool ok = store_add_judgement(r->store, r->run, &j, err);
    arena_reset(&scratch);
    return ok;
}

static const char RACE[] = "race";

static bool record_race(void *ctx, struct arena *a, const struct race_job *job,
                        struct screening *screenings, struct error *err) {
    struct judge_recorder *r = ctx;
    struct arena scratch = {0};
    bool ok = r->inner.race(r->inner.ctx, a, job, screenings, err) && store_begin(r->store, err);
    if (!ok)
        return false;
    for (int i = 0; ok && i < job->n_candidates; i++) {
        struct judgement j = {.subject = judgement_subject(&scratch, &job->candidates[i]),
                              .baseline = judgement_subject(&scratch, job->incumbent),
                              .depth = RACE,
                              .screening = screenings[i]};
        ok = store_add_judgement(r->store, r->run, &j, err);
    }
    arena_reset(&scratch);
    return store_end(r->store, ok, err);
}

static bool pass_announcement(void *ctx, const struct eval_job *job, struct error *err) {
    const struct judging *inner = &((struct judge_recorder *)ctx)->inner;
    return !inner->announce || inner->announce(inner->ctx, job, err);
}

struct judging judging_record(struct judge_recorder *r) {
    return (struct judging){.judge = record,
                            .ctx = r,
                            .announce = pass_announcement,
                            .at_once = r->inner.at_once,
                            .race = r->inner.race ? record_race : NULL};
}

bool judging_record_bound(struct store *store, int64_t run, const char *bound, const char *facts,
                          struct error *err) {
    struct judgement j = {.subject = BOUND, .depth = BOUND, .bound = bound, .facts = facts};
    return store_add_judgement(store, run, &j, err);
}

bool judging_record_end(struct store *store, int64_t run, int n_nodes, const char *reason,
                        struct error *err) {
    struct arena scratch = {0};
    json_t *json = json_pack("{s:i, s:s}", "nodes", n_nodes, "reason", reason ? reason : "");
    struct judgement j = {.subject = END, .depth = END, .bound = json_print(&scratch, json)};
    bool ok = store_add_judgement(store, run, &j, err);
    json_decref(json);
    arena_reset(&scratch);
    return ok;
}

bool judging_forget_pending(struct store *store, int64_t run, const struct search_node *nodes,
                            int n_nodes, struct error *err) {
    struct arena scratch = {0};
    bool ok = true;
    for (int i = 0; ok && i < n_nodes; i++)
        if (nodes[i].state == NODE_PROPOSED)
            ok = store_drop_judgements(store, run, judgement_subject(&scratch, &nodes[i].candidate),
                                       nodes[i].screening.present, err);
    arena_reset(&scratch);
    return ok;
}

static bool is_of_finale(const struct judgement *j, const char *root) {
    bool is_game = strcmp(j->depth, depth_names[EVAL_RANK]) == 0 && j->baseline &&
                   strcmp(j->baseline, root) != 0;
    return is_game || strcmp(j->depth, depth_names[EVAL_ENERGY]) == 0 ||
           strcmp(j->depth, depth_names[EVAL_CONFIRM]) == 0;
}

bool judging_load_finale(struct arena *a, struct judge_recorder *r, const struct candidate *root,
                         struct error *err) {
    struct judgement *all;
    int n_all;
    if (!store_get_judgements(r->store, a, r->run, &all, &n_all, err))
        return false;
    const char *subject = judgement_subject(a, root);
    int from = n_all;
    while (from > 0 && is_of_finale(&all[from - 1], subject))
        from--;
    r->recalled = all + from;
    r->n_recalled = n_all - from;
    r->is_used = arena_array(a, bool, r->n_recalled + 1);
    return true;
}

// The next unused judgement of that subject and baseline, from `from` on; r->limit: there is none.
static int find(const struct judge_replayer *r, int from, const char *subject,
                const char *baseline) {
    int i = from;
    while (i < r->limit && (r->is_used[i] || strcmp(r->judgements[i].subject, subject) != 0 ||
                            !same_baseline(r->judgements[i].baseline, baseline)))
        i++;
    return i;
}

static bool is_at(const struct judge_replayer *r, int i, enum eval_depth depth) {
    return i < r->limit && strcmp(r->judgements[i].depth, depth_names[depth]) == 0;
}

// Whether a screening was followed by a ranking is for the record to say, not for the rule of
// today: the ranking is given at once, and nothing deeper.
static bool replay(void *ctx, struct arena *a, const struct eval_job *job,
                   struct eval_result *result, struct error *err) {
    struct judge_replayer *r = ctx;
    (void)err;
    const char *subject = judgement_subject(a, job->candidate);
    const char *baseline = job->baseline ? judgement_subject(a, job->baseline) : NULL;
    int i = find(r, 0, subject, baseline);
    while (i < r->limit && !is_at(r, i, job->depth))
        i = find(r, i + 1, subject, baseline);
    if (i == r->limit) {
        r->n_missing++;
        *result = (struct eval_result){
            .verdict = {.kind = VERDICT_INFRA, .evidence = "the record has no such judgement"}};
        return true;
    }
    r->is_used[i] = true;
    if (job->depth == EVAL_SCREEN) {
        int next = find(r, i + 1, subject, baseline);
        if (is_at(r, next, EVAL_RANK)) {
            i = next;
            r->is_used[i] = true;
        }
    }
    const struct judgement *j = &r->judgements[i];
    r->next = i + 1 > r->next ? i + 1 : r->next;
    *result = (struct eval_result){.verdict = j->verdict,
                                   .measurement = j->measurement,
                                   .profile = j->profile,
                                   .is_final = job->depth == EVAL_SCREEN};
    return true;
}

// Each candidate's own, whatever else was in that race.
static bool replay_race(void *ctx, struct arena *a, const struct race_job *job,
                        struct screening *screenings, struct error *err) {
    struct judge_replayer *r = ctx;
    (void)err;
    for (int k = 0; k < job->n_candidates; k++) {
        const char *subject = judgement_subject(a, &job->candidates[k]);
        int i = 0;
        while (i < r->limit && (r->is_used[i] || strcmp(r->judgements[i].subject, subject) != 0 ||
                                strcmp(r->judgements[i].depth, RACE) != 0))
            i++;
        bool is_there = i < r->limit;
        r->n_missing += !is_there;
        screenings[k] = (struct screening){
            .present = true, .against = "", .speedup = NAN, .time_s = NAN, .is_untimed = true};
        if (!is_there)
            continue;
        r->is_used[i] = true;
        r->next = i + 1 > r->next ? i + 1 : r->next;
        screenings[k] = r->judgements[i].screening;
    }
    return true;
}

struct judging judging_replay(struct arena *a, struct judge_replayer *r,
                              const struct judgement *judgements, int n) {
    *r = (struct judge_replayer){
        .judgements = judgements, .n = n, .limit = n, .is_used = arena_array(a, bool, n + 1)};
    return (struct judging){.judge = replay, .ctx = r, .race = replay_race};
}

// The next unused judgement of a subject that is no candidate.
static const struct judgement *next_of(struct judge_replayer *r, const char *subject) {
    for (int i = 0; i < r->n; i++)
        if (!r->is_used[i] && strcmp(r->judgements[i].subject, subject) == 0) {
            r->is_used[i] = true;
            return &r->judgements[i];
        }
    return NULL;
}

const struct judgement *judging_replay_bound(struct judge_replayer *r) {
    const struct judgement *bound = next_of(r, BOUND);
    if (bound)
        r->next = (int)(bound - r->judgements) + 1;
    return bound;
}

bool judging_replay_is_bound_next(const struct judge_replayer *r) {
    int i = r->next;
    while (i < r->limit && strcmp(r->judgements[i].subject, END) == 0)
        i++;
    return i < r->limit && !r->is_used[i] && strcmp(r->judgements[i].subject, BOUND) == 0;
}

bool judging_confirms_first(const struct judgement *judgements, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(judgements[i].depth, BOUND) != 0)
            return strcmp(judgements[i].depth, depth_names[EVAL_CONFIRM]) == 0;
    return false;
}

bool judging_replay_end(struct arena *a, struct judge_replayer *r, int *n_nodes,
                        const char **reason) {
    const struct judgement *j = next_of(r, END);
    r->limit = j ? (int)(j - r->judgements) : r->n;
    json_t *json = j && j->bound ? json_loads(j->bound, 0, NULL) : NULL;
    const char *words = json_string_value(json_object_get(json, "reason"));
    *n_nodes = (int)json_integer_value(json_object_get(json, "nodes"));
    *reason = arena_strdup(a, words ? words : "");
    json_decref(json);
    return *n_nodes > 0;
}
