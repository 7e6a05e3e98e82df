#include "loop_table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/proposer.h"
#include "model/bound.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/optimize.h"
#include "search/policy.h"
#include "search/progress.h"
#include "search/tree.h"
#include "store/store.h"
#include "table_target.h"

struct arena a;
struct error err;
static char dir[64];
struct target target = TABLE_TARGET;
struct problem *problem;
struct bound bound;

void loop_set_up(void) {
    // In memory where possible: these tests write thousands of small transactions.
    snprintf(dir, sizeof dir, "%s/hone-loop-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    cr_assert(mkdtemp(dir) && chdir(dir) == 0);
    static const char text[] = "problem soft\ndim M = 512, N = 256\nin x : f32[M, N] ~ normal\n"
                               "out y : f32[M, N]\nt = x * 2\ny = softmax(t)\n";
    struct lang_file file;
    const char *diagnostics;
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    problem = file.problems[0];
    bound_compute(problem, &target, &bound);
}

void loop_tear_down(void) {
    struct error ignored;
    cr_assert(chdir("/") == 0);
    file_remove_tree(dir, &ignored);
    arena_reset(&a);
}

// ---- the judge

const struct table plain_table = {.suspect = -1, .interrupt_at = -1, .die_at = -1};

// What kill -9 would do here.
void maybe_die(struct table *t) {
    if (t->die_at >= 0 && t->point++ == t->die_at)
        _exit(99);
}

double table_time(const struct table *t, const struct candidate *c) {
    uint64_t h = hash_bytes(c->kernel, strlen(c->kernel), 1);
    if (t->is_lucky)
        return strcmp(c->label, "default") == 0 ? 1e-3 : 0.5e-3 * (1 + 0.002 * (double)(h % 7));
    return t->flat ? 1e-3 : 1e-3 * (0.3 + (double)(h % 1000) / 1000);
}

double table_energy(const struct candidate *c) {
    uint64_t h = hash_bytes(c->kernel, strlen(c->kernel), 4);
    return 0.1 * (1 + 0.05 * (double)(h % 5));
}

static struct energy energy_of(const struct table *t, const struct candidate *c) {
    double j = table_energy(c);
    return (struct energy){.present = true,
                           .why_not = t->why_no_energy,
                           .call_j = j,
                           .call_low_j = 0.99 * j,
                           .call_high_j = 1.01 * j,
                           .confidence = 0.95,
                           .idle_w = 100,
                           .call_s = 5e-4,
                           .n_windows = 2,
                           .window_s = 1,
                           .method = "table"};
}

// "node 1" as "node1": a list by spaces.
static void note_judged(struct table *t, const char *label) {
    char word[32];
    size_t n = 0, len = strlen(t->judged);
    for (const char *s = label; *s && n + 1 < sizeof word; s++)
        if (*s != ' ')
            word[n++] = *s;
    word[n] = '\0';
    size_t from = len > n ? len - n - 1 : len;
    if (len <= n || strncmp(t->judged + from, word, n) != 0)
        snprintf(t->judged + len, sizeof t->judged - len, "%s ", word);
}

bool judge_table(void *ctx, struct arena *into, const struct eval_job *job, struct eval_result *r,
                 struct error *e) {
    struct table *t = ctx;
    maybe_die(t);
    if (t->n_calls++ == t->interrupt_at)
        return error_set(e, ERROR_INTERRUPTED, "interrupted");
    bool is_root = strcmp(job->candidate->label, "default") == 0;
    note_judged(t, job->candidate->label);
    double doubt = t->doubt > 0 ? t->doubt : 0.01;
    t->n_screened += job->depth == EVAL_SCREEN;
    t->n_energy += job->depth == EVAL_ENERGY;
    t->n_confirmed += job->depth == EVAL_CONFIRM;
    if (job->depth == EVAL_CONFIRM)
        t->confirm_energy_s = job->energy_s;
    if (job->depth == EVAL_RANK && job->baseline && strcmp(job->baseline->label, "default") == 0) {
        t->n_ranked++;
        t->ranking_s = job->seconds;
    }
    double time = table_time(t, job->candidate);
    double baseline = job->baseline && job->baseline->kernel ? table_time(t, job->baseline) : 2e-3;
    if (!job->baseline)
        baseline = time;
    t->baseline = job->baseline ? job->baseline->label : NULL;
    bool is_game = job->baseline && strncmp(job->baseline->label, "node ", 5) == 0;
    t->n_games += is_game;
    if (t->is_lucky && !is_game && !is_root)
        time = 0.506e-3 * (0.506e-3 / time);  // the slower it is, the faster it looks
    *r = (struct eval_result){.verdict = {.kind = VERDICT_OK, .evidence = ""}};
    uint64_t h = hash_bytes(job->candidate->kernel, strlen(job->candidate->kernel), 2);
    if ((is_root && (t->root_fails || t->root_crashes)) || (!is_root && h % 7 == 0))
        r->verdict.kind = VERDICT_WRONG;
    if (t->root_crashes && job->baseline && strcmp(job->baseline->label, "default") == 0)
        r->verdict = (struct verdict){VERDICT_INFRA, .rule = "baseline", .evidence = "it crashed"};
    if (t->all_fail)
        r->verdict.kind = VERDICT_WRONG;
    if (t->named_fails)
        r->verdict.kind = strstr(job->candidate->kernel, " as ") ? VERDICT_WRONG : VERDICT_OK;
    if (t->suspect >= 0 &&
        strcmp(job->candidate->label, arena_printf(into, "node %d", t->suspect)) == 0)
        r->verdict.kind = VERDICT_SUSPECT;
    if (t->n_beyond-- > 0)
        r->verdict = (struct verdict){VERDICT_SUSPECT, .rule = "far-beyond-reach", .evidence = ""};
    if (job->depth == EVAL_CONFIRM && t->confirm_infra)
        r->verdict.kind = VERDICT_INFRA;
    if (t->baseline_fails && job->baseline && strcmp(job->baseline->label, "plain") == 0)
        r->verdict =
            (struct verdict){VERDICT_INFRA, .rule = "baseline", .evidence = "plain: slow\nx"};
    if (job->depth == EVAL_CONFIRM && t->n_confirm_fails-- > 0)
        r->verdict.kind = VERDICT_WRONG;
    if (r->verdict.kind == VERDICT_OK) {
        double *samples = arena_array(into, double, 2);
        samples[0] = time;
        samples[1] = baseline;
        r->measurement =
            (struct measurement){.present = true,
                                 .baseline = job->baseline ? job->baseline->label : "itself",
                                 .n_pairs = 1,
                                 .subject_s = samples,
                                 .baseline_s = samples + 1,
                                 .median_s = time,
                                 .baseline_median_s = baseline,
                                 .speedup = baseline / time,
                                 .speedup_low = (1 - doubt) * baseline / time,
                                 .speedup_high = (1 + doubt) * baseline / time,
                                 .confidence = 0.99,
                                 .method = "table"};
        profile_set(&r->profile, METRIC_THREADS, 2);
        if (job->energy_s > 0)
            r->measurement.energy = energy_of(t, job->candidate);
        if (job->depth == EVAL_ENERGY)
            r->measurement.baseline_energy = energy_of(t, job->baseline);
    }
    maybe_die(t);
    return true;
}

// By the table, too; it knows nothing of verdicts.
bool race_table(void *ctx, struct arena *into, const struct race_job *job, struct screening *out,
                struct error *e) {
    struct table *t = ctx;
    (void)into;
    (void)e;
    maybe_die(t);
    t->n_races++;
    t->n_raced += job->n_candidates;
    snprintf(t->incumbent, sizeof t->incumbent, "%s", job->incumbent->label);
    for (int i = 0; i < job->n_candidates; i++) {
        double time = table_time(t, &job->candidates[i]);
        bool is_untimed = i >= job->n_candidates - t->untimed;
        out[i] =
            (struct screening){.present = true,
                               .against = job->incumbent->label,
                               .n_rounds = 1,
                               .n_pairs = 2,
                               .speedup = is_untimed ? NAN : table_time(t, job->incumbent) / time,
                               .time_s = is_untimed ? NAN : time,
                               .is_untimed = is_untimed};
    }
    for (int k = 0; k < job->n_survivors; k++) {
        int best = -1;
        for (int i = 0; i < job->n_candidates; i++)
            if (!out[i].survived && !out[i].is_untimed && out[i].speedup > 0.97 &&
                (best < 0 || out[i].speedup > out[best].speedup))
                best = i;
        if (best >= 0)
            out[best].survived = true;
    }
    maybe_die(t);
    return true;
}

bool remeasure(void *ctx, struct run *run, const char *why, struct error *e) {
    struct table *t = ctx;
    (void)e;
    (void)why;
    t->n_remeasured++;
    t->point_remeasured = t->n_calls;
    if (t->remeasure_helps && t->n_remeasured == 2)
        bound.reach_s = 1e-4;
    if (t->reach_again_s > 0)
        bound.reach_s = t->reach_again_s;
    run->bound = "measured again";
    return true;
}

void count_event(const struct event *e, void *ctx) {
    struct table *t = ctx;
    size_t len = strlen(t->notes);
    if (e->kind == EVENT_NOTE)
        snprintf(t->notes + len, sizeof t->notes - len, "%s\n", e->words);
    if (e->kind == EVENT_RACED)
        snprintf(t->raced, sizeof t->raced, "%s", e->words);
    maybe_die(t);
}

// ---- one run

const struct setting usual = {"a.db", &policy_mcts, &proposer_expert, 1, 20, 1, 0};

double given_s = 1000;
const struct advice *advised;

struct run new_run(const struct setting *s) {
    struct run run = {
        .state = RUN_ACTIVE,
        .problem_name = problem->name,
        .problem_text = problem->text,
        .problem_hash = "hash",
        .target = "cpu",
        .device = "a table",
        .policy = s->policy->name,
        .proposer = s->proposer->name,
        .seed = s->seed,
        .max_evals = s->evals,
        .batch = s->batch > 0 ? s->batch : 1,
        .race = s->race,
        .max_seconds = given_s,
        .until = 0.95,
        .started_at = "2026-01-01T00:00:00Z",
        .version = "0",
        .champion = -1,
    };
    lower_plain(&a, problem, &target, &run.baseline);
    run.baseline.label = "plain";
    return run;
}

// Begin a run, or go on with run 1 where it is there.
bool go(const struct setting *s, struct table *t, struct run *run) {
    struct store *store;
    struct error ignored = {0};
    err = (struct error){0};
    cr_assert(store_open(&store, s->db, true, &err), "%s", err.text);
    if (!store_get_run(store, &a, 1, run, &ignored)) {
        *run = new_run(s);
        run->objective = t->objective;
        cr_assert(store_add_run(store, run, &err), "%s", err.text);
    }
    struct optimize_job job = {
        .context = {.problem = problem,
                    .target = &target,
                    .bound = &bound,
                    .policy = s->policy,
                    .proposer = s->proposer,
                    .advice = advised},
        .judge = {.judge = judge_table, .ctx = t, .race = race_table},
        .has_energy = t->has_energy,
        .store = store,
        .first = t->first,
        .opening_s = t->opening_s,
        .confirms_first = t->confirms_first,
        .remeasure = remeasure,
        .remeasure_ctx = t,
        .on_event = count_event,
        .event_ctx = t,
    };
    bool ok = optimize(&a, &job, run, &err);
    store_close(store);
    return ok;
}

int nodes_of(const char *db, struct search_node **nodes) {
    struct store *store;
    int n;
    cr_assert(store_open(&store, db, false, &err), "%s", err.text);
    cr_assert(store_get_nodes(store, &a, 1, nodes, &n, &err), "%s", err.text);
    store_close(store);
    return n;
}

// All nodes as one text.
const char *tree_text(const char *db) {
    struct search_node *nodes;
    int n = nodes_of(db, &nodes);
    const char *text = "";
    for (int i = 0; i < n; i++) {
        json_t *json = search_node_to_json(&nodes[i]);
        text = arena_printf(&a, "%s%s\n", text, json_print(&a, json));
        json_decref(json);
    }
    return text;
}
