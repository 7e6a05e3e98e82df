// Every run is search/optimize.h as it is, judged by a table, with a store that keeps nothing. Runs
// of one seed begin at the same block whatever is varied, so they can be compared in pairs. Threads
// share nothing: each has read the tables for itself.
//
// A run ends once it is within the wanted fraction of the table's best and has made as many
// evaluations as the last point wants, or when no move is left.
#include "ops/op_suite.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/str.h"
#include "eval/stats.h"
#include "family/block_set.h"
#include "family/lower.h"
#include "family/moves.h"
#include "lang/lang.h"
#include "mind/priors.h"
#include "mind/proposer.h"
#include "ops/op_memory.h"
#include "ops/op_table.h"
#include "ops/suite_stats.h"
#include "record/advice.h"
#include "record/run.h"
#include "search/policy.h"
#include "search/progress.h"
#include "store/store.h"

const int suite_points[SUITE_POINTS] = {8, 16, 32};

struct setting {
    struct policy_choice policy;
    const struct proposer *proposer;
    bool has_memory;
};

// What came of one run.
struct suite_run {
    int evals;     // until it was within; as many as the table has and one more where it never was
    int screened;  // likewise, by races
    int n_evals;
    bool is_missed;
    float found[SUITE_POINTS];
};

struct suite {
    struct arena *a;
    const struct suite_request *q;
    struct suite_outcome *out;
    struct setting settings[SUITE_VALUES_MAX];
    struct suite_run *runs;  // [(table * n_values + value) * seeds + seed]
    pthread_mutex_t lock;
    struct error err;  // of the first run that failed
    int64_t n_done;
};

static struct suite_run *runs_of(const struct suite *s, int table, int value) {
    return s->runs + ((int64_t)table * s->out->n_values + value) * s->q->seeds;
}

// ---- one run

// What memory says on a table: of the file as it is, nothing is learned here.
struct memory_advice {
    struct advice advice;
    struct priors priors;
};

struct watch {
    const struct op_table *table;
    double within;
    struct suite_run *run;
    double best_s;
};

// In the order in which they are judged, which need not be that of the nodes.
static void on_event(const struct event *e, void *ctx) {
    struct watch *w = ctx;
    struct suite_run *run = w->run;
    if (e->kind != EVENT_EVALUATED)
        return;
    run->n_evals++;
    if (isfinite(e->node->time_s))
        w->best_s = fmin(w->best_s, e->node->time_s);
    for (int i = 0; i < SUITE_POINTS; i++)
        if (run->n_evals <= suite_points[i])
            run->found[i] = isfinite(w->best_s) ? (float)(w->table->judge.best_s / w->best_s) : 0;
    if (run->is_missed)
        run->screened = e->n_screened;
    if (run->is_missed && w->best_s * (1 - 1e-9) <= w->table->judge.best_s * (1 + w->within)) {
        run->is_missed = false;
        run->evals = run->n_evals;
    }
}

static bool is_enough(void *ctx, const struct search_node *nodes, int n_nodes) {
    const struct watch *w = ctx;
    (void)nodes;
    (void)n_nodes;
    return !w->run->is_missed && w->run->n_evals >= suite_points[SUITE_POINTS - 1];
}

// Do moves lead from a row's block to one that is near the best? Of a sample some blocks were
// reached by moves whose way back is not in it, and no search comes away from there. Rows that were
// looked at are marked in t->leads.
static bool leads_on(struct op_table *t, int row, double within) {
    struct arena a = {0};
    int *queue = arena_array(&a, int, t->table.n_rows + 1), n = 0;
    bool *seen = arena_array(&a, bool, t->table.n_rows + 1), found = false;
    queue[n++] = row;
    seen[row] = true;
    for (int i = 0; i < n && !found && t->leads[row] == 0; i++) {
        const struct table_row *r = &t->table.rows[queue[i]];
        struct lang_source source = {.file = "table", .text = r->block, .len = strlen(r->block)};
        struct lang_file file = {0};
        struct error why = {0};
        const char *diagnostics;
        int n_moves = 0;
        found = r->verdict == VERDICT_OK && r->time_s <= t->judge.best_s * (1 + within);
        found |= t->leads[queue[i]] > 0;
        const struct move *moves =
            !found && r->verdict == VERDICT_OK && lang_parse(&a, &source, &file, &diagnostics, &why)
                ? moves_list(&a, t->problem, &t->target, file.kernels[0], &n_moves)
                : NULL;
        for (int m = 0; m < n_moves; m++) {
            int to = block_set_find(t->judge.rows, moves[m].text)->number;
            if (!seen[to])
                queue[n++] = to;
            seen[to] = true;
        }
    }
    if (t->leads[row] == 0)
        t->leads[row] = found ? 1 : -1;
    arena_reset(&a);
    return t->leads[row] > 0;
}

// The block that a seed begins with: any that is ok and leads on.
static bool draw_first(struct arena *a, struct op_table *t, uint64_t seed, double within,
                       struct candidate *c, struct error *err) {
    struct rng rng;
    rng_init(&rng, seed);
    int i;
    do {
        int pick = (int)rng_below(&rng, (uint64_t)t->judge.n_ok);
        for (i = 0; t->table.rows[i].verdict != VERDICT_OK || pick-- != 0;)
            i++;
    } while (!leads_on(t, i, within));
    const char *text = t->table.rows[i].block, *diagnostics;
    struct lang_source source = {.file = "table", .text = text, .len = strlen(text)};
    struct lang_file file = {0};
    if (!lang_parse(a, &source, &file, &diagnostics, err) ||
        !lower_kernel(a, t->problem, &t->target, file.kernels[0], c, err))
        return false;
    c->label = "first";
    return true;
}

static bool run_once(struct op_table *t, const struct memory_advice *told, const struct suite *s,
                     const struct setting *x, int64_t seed, struct suite_run *result,
                     struct error *err) {
    struct arena a = {0};
    struct watch w = {.table = t, .within = s->q->within, .run = result, .best_s = INFINITY};
    struct store *store = store_open_none();
    struct run run = {.problem_name = t->problem->name,
                      .seed = (uint64_t)seed,
                      .batch = 1,
                      .race = s->q->race,
                      .max_seconds = 1e9,
                      .until = INFINITY,
                      .champion = -1};
    struct optimize_job job = {.context = {.problem = t->problem,
                                           .target = &t->target,
                                           .bound = &t->bound,
                                           .policy = x->policy.policy,
                                           .settings = x->policy.settings,
                                           .proposer = x->proposer,
                                           .priors = x->has_memory ? &told->priors : NULL,
                                           .advice = x->has_memory ? &told->advice : NULL},
                               .judge = t->judging,
                               .store = store,
                               .first = s->q->from_default ? &t->first : NULL,
                               .is_enough = is_enough,
                               .enough_ctx = &w,
                               .on_event = on_event,
                               .event_ctx = &w};
    *result = (struct suite_run){.evals = t->table.n_rows + 1, .is_missed = true};
    bool ok =
        (s->q->from_default || draw_first(&a, t, (uint64_t)seed, s->q->within, &run.start, err)) &&
        optimize(&a, &job, &run, err);
    store_close(store);
    arena_reset(&a);
    return ok;
}

// ---- all runs

static void fail(struct suite *s, const struct error *err) {
    pthread_mutex_lock(&s->lock);
    if (s->err.kind == ERROR_NONE)
        s->err = *err;
    pthread_mutex_unlock(&s->lock);
}

static bool has_failed(struct suite *s) {
    pthread_mutex_lock(&s->lock);
    bool failed = s->err.kind != ERROR_NONE;
    pthread_mutex_unlock(&s->lock);
    return failed || (s->q->is_stopped && s->q->is_stopped());
}

static bool tell(struct arena *a, const struct suite_request *q, const struct op_table *t,
                 struct memory_advice *told, struct error *err) {
    if (!q->memory)
        return true;
    if (!op_memory_ask(a, q->memory, t->problem, &t->target, &told->advice, err))
        return false;
    told->priors = op_memory_priors(a, &told->advice);
    return true;
}

static void count_run(struct suite *s) {
    const struct suite_request *q = s->q;
    pthread_mutex_lock(&s->lock);
    s->n_done++;
    if (q->on_run)
        q->on_run(s->n_done, q->n_tables * s->out->n_values * q->seeds, q->ctx);
    pthread_mutex_unlock(&s->lock);
}

// Seeds [begin, end) of every value on every table.
static void run_seeds(void *ctx, int64_t begin, int64_t end) {
    struct suite *s = ctx;
    for (int t = 0; t < s->q->n_tables; t++) {
        struct arena a = {0};
        struct op_table *table = arena_new(&a, struct op_table);
        struct error err = {0};
        struct memory_advice told = {0};
        bool ok =
            op_table_open(&a, s->q->tables[t], table, &err) && tell(&a, s->q, table, &told, &err);
        for (int v = 0; ok && v < s->out->n_values; v++)
            for (int64_t seed = begin; ok && seed < end && !has_failed(s); seed++) {
                ok =
                    run_once(table, &told, s, &s->settings[v], seed, &runs_of(s, t, v)[seed], &err);
                count_run(s);
            }
        if (!ok)
            fail(s, &err);
        arena_reset(&a);
    }
}

static int usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static bool run_all(struct suite *s, struct error *err) {
    int64_t start_ns = clock_now_ns();
    int n_threads = s->q->n_threads > 0 ? s->q->n_threads : usable_cpus();
    int64_t grain = (s->q->seeds + n_threads - 1) / n_threads;
    pthread_mutex_init(&s->lock, NULL);
    parallel_for(n_threads, s->q->seeds, grain, run_seeds, s);
    pthread_mutex_destroy(&s->lock);
    s->out->elapsed_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    if (interrupt_seen())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    *err = s->err;
    return s->err.kind == ERROR_NONE;
}

// ---- what came of them

static void fill_cell(struct suite *s, int table, int value, double *evals) {
    int64_t n = s->q->seeds;
    const struct suite_run *runs = runs_of(s, table, value);
    struct suite_cell *c = &s->out->cells[table * s->out->n_values + value];
    double *found = arena_array(s->a, double, n);
    for (int64_t i = 0; i < n; i++) {
        evals[i] = runs[i].evals;
        c->screened += runs[i].screened / (double)n;
        c->missed += runs[i].is_missed / (double)n;
        s->out->n_evals += runs[i].n_evals;
    }
    c->evals = suite_mean_of(evals, n);
    c->evals_median = stats_median(evals, (int)n);
    for (int k = 0; k < SUITE_POINTS; k++) {
        for (int64_t i = 0; i < n; i++)
            found[i] = runs[i].found[k];
        c->found[k] = suite_mean_of(found, n);
    }
}

static void summarise(struct suite *s) {
    struct suite_outcome *o = s->out;
    int64_t n = s->q->seeds * o->n_tables;
    double **evals = arena_array(s->a, double *, o->n_values);
    o->n_runs = n * o->n_values;
    for (int v = 0; v < o->n_values; v++) {
        struct suite_total *total = &o->totals[v];
        double logs = 0;
        evals[v] = arena_array(s->a, double, n);
        for (int t = 0; t < o->n_tables; t++) {
            fill_cell(s, t, v, evals[v] + t * s->q->seeds);
            const struct suite_cell *c = &o->cells[t * o->n_values + v];
            logs += log(c->evals.mean);
            for (int k = 0; k < SUITE_POINTS; k++)
                total->found[k] += c->found[k].mean / o->n_tables;
        }
        total->evals = exp(logs / o->n_tables);
    }
    for (int v = 0; v < o->n_values; v++)
        o->totals[v].ratio = suite_ratio(evals[v], evals[o->n_values - 1], n, &o->totals[v].p);
    o->totals[o->n_values - 1].p = NAN;
}

// ---- before them

static bool find_setting(const char *key, const char *value, struct setting *x, struct error *err) {
    static const struct proposer *const proposers[] = {&proposer_expert, &proposer_blind};
    if (strcmp(key, "policy") == 0)
        return policy_choose(value, false, &x->policy, err);
    if (strcmp(key, "memory") == 0) {
        x->has_memory = strcmp(value, "on") == 0;
        return x->has_memory || strcmp(value, "off") == 0 ||
               error_set(err, ERROR_USAGE, "memory is on or off, not '%s'", value);
    }
    x->proposer = NULL;
    for (int i = 0; i < 2; i++)
        if (strcmp(proposers[i]->name, value) == 0)
            x->proposer = proposers[i];
    return x->proposer || error_set(err, ERROR_USAGE,
                                    "unknown proposer '%s'; a table takes expert and blind", value);
}

static bool read_vary(struct suite *s, struct error *err) {
    const char *text = s->q->vary ? s->q->vary : "policy=surrogate,mcts,random";
    const char *equals = strchr(text, '=');
    struct suite_outcome *o = s->out;
    o->key = equals ? arena_strndup(s->a, text, (size_t)(equals - text)) : "";
    bool is_memory = strcmp(o->key, "memory") == 0;
    if (!is_memory && strcmp(o->key, "policy") != 0 && strcmp(o->key, "proposer") != 0)
        return error_set(err, ERROR_USAGE,
                         "--vary takes policy=A,B,..., proposer=A,B,... or memory=on,off");
    if (is_memory && !s->q->memory)
        return error_set(err, ERROR_USAGE, "--vary memory=on,off needs --memory FILE");
    if (s->q->memory && !file_exists(s->q->memory))
        return error_set(err, ERROR_USAGE, "memory %s: no such file", s->q->memory);
    struct setting base = {.has_memory = s->q->memory != NULL};
    if (!find_setting("policy", s->q->policy ? s->q->policy : policies[0]->name, &base, err) ||
        !find_setting("proposer", s->q->proposer ? s->q->proposer : "expert", &base, err))
        return false;
    for (const char *at = equals + 1; *at;) {
        size_t len = strcspn(at, ",");
        if (o->n_values == SUITE_VALUES_MAX)
            return error_set(err, ERROR_USAGE, "--vary takes at most %d values", SUITE_VALUES_MAX);
        struct setting *x = &s->settings[o->n_values];
        *x = base;
        o->values[o->n_values] = arena_strndup(s->a, at, len);
        if (!find_setting(o->key, o->values[o->n_values++], x, err))
            return false;
        at += len + (at[len] == ',');
    }
    return o->n_values > 0 || error_set(err, ERROR_USAGE, "--vary names no %s", o->key);
}

static bool describe_table(struct suite *s, int i, struct error *err) {
    struct arena scratch = {0};
    struct op_table *t = arena_new(&scratch, struct op_table);
    struct suite_table *d = &s->out->tables[i];
    bool ok = op_table_open(&scratch, s->q->tables[i], t, err);
    if (ok)
        *d = (struct suite_table){.path = s->q->tables[i],
                                  .problem = arena_strdup(s->a, t->problem->name),
                                  .device = arena_strdup(s->a, t->target.device),
                                  .n_blocks = t->table.n_rows,
                                  .n_ok = t->judge.n_ok,
                                  .best_s = t->judge.best_s,
                                  .first_s = t->table.rows[0].time_s};
    for (int k = 0; ok && k < t->table.n_rows; k++)
        d->n_within += t->table.rows[k].time_s <= t->judge.best_s * (1 + s->q->within);
    arena_reset(&scratch);
    return ok;
}

bool op_suite(struct arena *a, const struct suite_request *q, struct suite_outcome *out,
              struct error *err) {
    struct suite s = {.a = a, .q = q, .out = out};
    *out = (struct suite_outcome){.n_tables = q->n_tables,
                                  .seeds = q->seeds,
                                  .within = q->within,
                                  .from_default = q->from_default,
                                  .race = q->race};
    if (!read_vary(&s, err))
        return false;
    out->tables = arena_array(a, struct suite_table, q->n_tables);
    for (int i = 0; i < q->n_tables; i++)
        if (!describe_table(&s, i, err))
            return false;
    out->cells = arena_array(a, struct suite_cell, q->n_tables * out->n_values);
    s.runs = arena_array(a, struct suite_run, q->seeds * q->n_tables * out->n_values);
    if (!run_all(&s, err))
        return false;
    summarise(&s);
    return true;
}

// ---- as JSON

static json_t *mean_json(const struct suite_mean *m) {
    return json_pack("{s:f, s:o, s:o}", "mean", m->mean, "low", json_optional_real(m->low), "high",
                     json_optional_real(m->high));
}

static json_t *found_json(const struct suite_cell *c) {
    json_t *found = json_object();
    char name[16];
    for (int k = 0; k < SUITE_POINTS; k++) {
        snprintf(name, sizeof name, "%d", suite_points[k]);
        json_object_set_new(found, name, mean_json(&c->found[k]));
    }
    return found;
}

static json_t *table_json(const struct suite_outcome *o, int t) {
    const struct suite_table *d = &o->tables[t];
    json_t *cells = json_object();
    for (int v = 0; v < o->n_values; v++) {
        const struct suite_cell *c = &o->cells[t * o->n_values + v];
        json_object_set_new(cells, o->values[v],
                            json_pack("{s:o, s:f, s:f, s:f, s:o}", "evals", mean_json(&c->evals),
                                      "evals_median", c->evals_median, "screened", c->screened,
                                      "missed", c->missed, "found", found_json(c)));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:o}", "table", d->path, "problem",
                     d->problem, "device", d->device, "blocks", d->n_blocks, "ok", d->n_ok,
                     "within", d->n_within, "best_s", d->best_s, "first_s", d->first_s, "values",
                     cells);
}

json_t *suite_to_json(const struct suite_outcome *o) {
    json_t *tables = json_array(), *totals = json_object();
    for (int t = 0; t < o->n_tables; t++)
        json_array_append_new(tables, table_json(o, t));
    for (int v = 0; v < o->n_values; v++) {
        const struct suite_total *x = &o->totals[v];
        json_object_set_new(totals, o->values[v],
                            json_pack("{s:f, s:o, s:o}", "evals", x->evals, "ratio",
                                      mean_json(&x->ratio), "p", json_optional_real(x->p)));
    }
    return json_pack("{s:s, s:s, s:I, s:f, s:s, s:i, s:s, s:I, s:I, s:f, s:o, s:o}", "schema",
                     "hone.suite/1", "vary", o->key, "seeds", (json_int_t)o->seeds, "within",
                     o->within, "start", o->from_default ? "default" : "any", "race", o->race,
                     "against", o->values[o->n_values - 1], "runs", (json_int_t)o->n_runs,
                     "evaluations", (json_int_t)o->n_evals, "elapsed_s", o->elapsed_s, "tables",
                     tables, "all", totals);
}
