// The choice of a champion by energy: the few finalists (finale.h) are each timed against the
// fastest once more and called back to back in turns with it, so that both energies are of the same
// moments. One replaces the fastest when that is resolved: by OBJECTIVE_ENERGY it takes less energy
// and is not significantly slower, by OBJECTIVE_EDP the product of energy and time is less. All
// compare with the fastest, not with each other, so that small losses of time do not add up.
#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "search/finale.h"
#include "search/search_loop.h"
#include "store/store.h"

double search_energy_s(const struct search_loop *l) {
    bool is_measured = l->job->has_energy && !l->run->no_energy;
    return is_measured ? finale_energy_s(l->run->max_seconds) : 0;
}

// A short run would have little left to search in: there it is measured beyond the time given.
double search_energy_kept_s(const struct search_loop *l) {
    static const double short_run_s = 20;
    double most_s = l->run->max_seconds;
    bool is_choice = l->run->objective != OBJECTIVE_TIME && l->job->has_energy;
    return (most_s < short_run_s ? 0 : search_energy_s(l)) +
           (is_choice ? finale_energy_game_s(most_s) : 0);
}

// What a finalist has of the fastest: of its energy, or of the product. NAN: that is no reason.
static double gain_of(enum run_objective objective, const struct measurement *m) {
    struct energy_ratio energy = energy_compare(&m->energy, &m->baseline_energy);
    if (objective == OBJECTIVE_ENERGY)
        return measurement_compare(m) >= 0 && energy.high < 1 ? energy.value : NAN;
    // Both are unsure, independently of each other.
    double speed = (m->speedup_high - m->speedup_low) / 2 / m->speedup;
    double unsure = hypot(energy.high / energy.value - 1, speed);
    double product = energy.value / m->speedup;
    return product * (1 + unsure) < 1 ? product : NAN;
}

static void tell_game(struct search_loop *l, const struct search_node *n,
                      const struct search_node *fastest, const struct measurement *m) {
    struct energy_ratio energy = energy_compare(&m->energy, &m->baseline_energy);
    search_say(l,
               arena_printf(l->a,
                            "energy: node %d takes %s a call, %.3f (%.3f to %.3f) of node %d, in "
                            "%.3f of its time",
                            n->number, energy_joules(l->a, m->energy.call_j), energy.value,
                            energy.low, energy.high, fastest->number, 1 / m->speedup));
}

// One finalist against the fastest. *gain as above.
static bool play(struct search_loop *l, struct search_node *fastest, struct search_node *n,
                 double *gain, const char **why_not, struct error *err) {
    struct eval_job job = {.candidate = &n->candidate,
                           .baseline = &fastest->candidate,
                           .depth = EVAL_ENERGY,
                           .seconds = finale_timing_s(l->run->max_seconds),
                           .energy_s = finale_energy_game_s(l->run->max_seconds)};
    struct eval_result r = {0};
    *gain = NAN;
    if (!search_judge(l, &job, &r, err))
        return error_wrap(err, "energy of node %d", n->number);
    const struct measurement *m = &r.measurement;
    if (r.verdict.kind != VERDICT_OK || !m->present || !m->energy.present)
        return true;
    n->measurement.energy = m->energy;
    fastest->measurement.energy = m->baseline_energy;
    *why_not = m->energy.why_not ? m->energy.why_not : m->baseline_energy.why_not;
    if (!*why_not) {
        tell_game(l, n, fastest, m);
        *gain = gain_of(l->run->objective, m);
    }
    return store_put_node(l->job->store, l->run->id, n, err) &&
           store_put_node(l->job->store, l->run->id, fastest, err);
}

bool search_choose_by_energy(struct search_loop *l, int *best, struct error *err) {
    struct run *run = l->run;
    int finalists[FINALISTS_MAX], fastest = *best;
    run->fastest = fastest;
    if (run->objective == OBJECTIVE_TIME)
        return true;
    const char *why_not = l->job->has_energy ? NULL : "only a GPU has a counter";
    int n =
        why_not ? 0 : finale_finalists(l->nodes, l->n_nodes, fastest, run->objective, finalists);
    double least = 1, game_s = 0;
    for (int i = 0; i < n && !why_not; i++) {
        double gain, started_s;
        search_update_elapsed(l);
        started_s = run->elapsed_s;
        if (i > 0 && started_s + game_s > run->max_seconds)
            break;
        if (!play(l, &l->nodes[fastest], &l->nodes[finalists[i]], &gain, &why_not, err))
            return false;
        search_update_elapsed(l);
        game_s = run->elapsed_s - started_s;
        if (gain < least) {
            least = gain;
            *best = finalists[i];
        }
    }
    if (why_not) {
        *best = fastest;
        search_say(l, arena_printf(l->a, "energy: not measured (%s): the fastest is the champion",
                                   why_not));
    }
    return true;
}
