// Races within the loop: many proposals at once, of which the judge says roughly which are worth a
// verdict (eval/race.c). Those that lose are screened, and that is the end of them; the few that
// come through are judged as any other candidate. Rewards, champions and speed-ups come from
// verdicts alone.
//
// All nodes of a race are stored in one step, before it and after it, so a run that was killed has
// raced them all or none.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "model/bound.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/progress.h"
#include "search/search_loop.h"
#include "store/store.h"

enum { SURVIVORS = 2 };
// A race may take half of the time that is left, within these.
static const double least_s = 2, most_s = 60;
static const double shortest_s = 1;

bool search_races(const struct search_loop *l) {
    return l->run->race > 0 && l->job->judge.race;
}

// Only what our own families emitted is timed before it is verified.
static bool is_block(const struct candidate *c) {
    return c->tier == TIER_K && c->kernel;
}

static bool waits(const struct search_node *n) {
    return n->number > 0 && n->state == NODE_PROPOSED && !n->screening.present &&
           is_block(&n->candidate);
}

// The champion so far; before anything is judged the root.
static const struct search_node *incumbent(const struct search_loop *l) {
    int best = progress_champion(l->nodes, l->n_nodes);
    const struct search_node *n = &l->nodes[best > 0 ? best : 0];
    return is_block(&n->candidate) ? n : &l->nodes[0];
}

// A verdict's seconds: as many as the first took, before that by what it draws, computes and
// compares (an instance norm of 7.5 GB takes 9 s on an H200).
static double verdict_s(const struct search_loop *l) {
    const struct work *w = &l->job->context.bound->work;
    return l->first_eval_s > 0 ? l->first_eval_s : 1e-9 * (w->bytes_read + w->bytes_written);
}

// So many verdicts are left for them, by number and, after a race of half the time that is left, by
// time; the root's, where it has none yet, taken off.
static int survivors(const struct search_loop *l) {
    const struct run *run = l->run;
    bool is_first = l->nodes[0].state == NODE_PROPOSED;
    double left_s = (run->max_seconds - run->elapsed_s) / 2 - (is_first ? verdict_s(l) : 0);
    int at_once = l->job->judge.at_once;
    int most = finale_survivors(left_s, verdict_s(l), at_once > SURVIVORS ? at_once : SURVIVORS);
    int left = run->max_evals - progress_evals(l->nodes, l->n_nodes) - is_first;
    return run->max_evals > 0 && left < most ? (left > 0 ? left : 0) : most;
}

// Half of the time that is left, but no more than the end of the run leaves.
static double race_seconds(const struct search_loop *l) {
    double left_s = l->run->max_seconds - l->run->elapsed_s;
    double kept_s = finale_kept_s(l->run->max_seconds, verdict_s(l), search_energy_kept_s(l));
    return fmin(fmin(most_s, fmax(least_s, left_s / 2)), fmax(shortest_s, left_s - kept_s));
}

static bool put_nodes(struct search_loop *l, struct search_node *const *nodes, int n,
                      struct error *err) {
    struct store *store = l->job->store;
    bool ok = store_begin(store, err);
    for (int i = 0; ok && i < n; i++)
        ok = store_put_node(store, l->run->id, nodes[i], err);
    return store_end(store, ok, err);
}

static void tell_raced(struct search_loop *l, struct search_node *const *nodes, int n,
                       const struct search_node *against) {
    struct str text = {0};
    int n_timed = 0, n_through = 0;
    double best = NAN;
    for (int i = 0; i < n; i++) {
        n_timed += !nodes[i]->screening.is_untimed;
        best = fmax(best, nodes[i]->screening.speedup);
    }
    str_printf(&text, n_timed ? "%d raced against %lld.%d" : "no time to race %d against %lld.%d",
               n_timed ? n_timed : n, (long long)l->run->id, against->number);
    for (int i = 0; i < n; i++) {
        if (!nodes[i]->screening.survived)
            continue;
        str_printf(&text, "%s %lld.%d",
                   n_through++ ? "," : ", on to the judge:", (long long)l->run->id,
                   nodes[i]->number);
        if (isfinite(nodes[i]->screening.speedup))
            str_printf(&text, " (about %.2fx)", nodes[i]->screening.speedup);
    }
    if (n_through == 0 && isfinite(best))
        str_printf(&text, ": none is faster, the best about %.2fx", best);
    search_tell_text(l, EVENT_RACED, str_text(&text));
    str_reset(&text);
}

// Where there was no time for any of them the first is judged: something must come of it.
static void take_one(struct screening *screenings, int n, int n_survivors) {
    for (int i = 0; i < n; i++)
        if (!screenings[i].is_untimed)
            return;
    screenings[0].survived = n_survivors > 0;
}

bool search_race(struct search_loop *l, struct error *err) {
    struct search_node **nodes = arena_array(&l->scratch, struct search_node *, l->n_nodes + 1);
    struct candidate *candidates = arena_array(&l->scratch, struct candidate, l->n_nodes + 1);
    const struct search_node *against = incumbent(l);
    int n = 0;
    for (int i = 0; i < l->n_nodes && n < RACE_MAX; i++)
        if (waits(&l->nodes[i])) {
            candidates[n] = l->nodes[i].candidate;
            nodes[n++] = &l->nodes[i];
        }
    if (n < 2 || !is_block(&against->candidate))
        return true;
    if (interrupt_seen())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    search_update_elapsed(l);
    struct screening *screenings = arena_array(l->a, struct screening, n);
    struct race_job job = {.candidates = candidates,
                           .n_candidates = n,
                           .incumbent = &against->candidate,
                           .n_survivors = survivors(l),
                           .seconds = race_seconds(l)};
    search_tell_text(l, EVENT_RACING,
                     arena_printf(&l->scratch, "%d kernels against %lld.%d", n,
                                  (long long)l->run->id, against->number));
    int64_t start_ns = clock_now_ns();
    if (!l->job->judge.race(l->job->judge.ctx, l->a, &job, screenings, err))
        return false;
    log_info("%d raced in %.2f s", n, (double)(clock_now_ns() - start_ns) / 1e9);
    take_one(screenings, n, job.n_survivors);
    for (int i = 0; i < n; i++) {
        nodes[i]->screening = screenings[i];
        if (!screenings[i].survived)
            nodes[i]->state = NODE_SCREENED;
    }
    if (!put_nodes(l, nodes, n, err))
        return false;
    search_update_elapsed(l);
    tell_raced(l, nodes, n, against);
    arena_reset(&l->scratch);
    return true;
}

bool search_race_opening(struct search_loop *l, struct error *err) {
    int n;
    if (!search_races(l) || l->nodes[0].state != NODE_PROPOSED || survivors(l) == 0)
        return true;
    int n_warm = search_count_warm(l);
    if (l->n_nodes == 1 + n_warm && !search_add_next(l, l->run->race - n_warm, &n, err))
        return false;
    return search_race(l, err);
}
