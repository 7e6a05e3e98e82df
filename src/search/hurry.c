// What a run does whose time is short. The judge is never hurried, only asked less often: one
// judgement in place of two, a screening in place of a ranking, and nothing more near the end.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/progress.h"
#include "search/search_loop.h"

// Evaluations that a run makes, whatever its time, while nothing passes.
enum { PROLONGED_EVALS = 4 };

// Of a large problem, or on a busy machine, a first verdict and a confirmation may take longer than
// the run may. It would end with the kernel it began with, judged twice: the confirmation, which is
// the stricter of the two, is enough then. --evals asks for verdicts, and has them.
bool search_must_confirm_first(struct search_loop *l) {
    const struct run *run = l->run;
    if (l->job->confirms_first)
        return true;
    double need_s = finale_verdicts_s(l->job->opening_s);
    bool is_first = l->nodes[0].state == NODE_PROPOSED && run->baseline.source;
    if (!is_first || run->max_evals > 0 || l->job->end_nodes > 0 || l->job->is_enough ||
        run->elapsed_s + need_s <= run->max_seconds)
        return false;
    search_say(
        l, arena_printf(l->a,
                        "a first verdict and a confirmation would take about %.0f s, and %.0f s "
                        "are left: the kernel to begin with is confirmed at once. A "
                        "confirmation cannot be cut short; for a search give --seconds %.0f",
                        need_s, fmax(0, run->max_seconds - run->elapsed_s),
                        ceil(3 * need_s / 10) * 10));
    return true;
}

// Of those that wait the one that did best in its race, else the oldest; NULL: none waits.
struct search_node *search_next_proposed(const struct search_loop *l) {
    struct search_node *next = NULL;
    for (int i = 0; i < l->n_nodes; i++) {
        struct search_node *n = &l->nodes[i];
        bool is_better = !next || (next->screening.present && n->screening.present &&
                                   n->screening.speedup > next->screening.speedup);
        if (n->state == NODE_PROPOSED && is_better)
            next = n;
    }
    return next;
}

// One that was this much faster in a race is screened even in the time that is kept for the end: a
// run shall not end with a slow kernel, knowing a fast one.
static bool is_promising(const struct search_loop *l) {
    static const double clearly = 1.5;
    const struct search_node *n = search_next_proposed(l);
    int best = progress_champion(l->nodes, l->n_nodes);
    if (!n || !n->screening.present || l->run->elapsed_s >= l->run->max_seconds)
        return false;
    bool is_over_root = strcmp(n->screening.against, l->nodes[0].candidate.label) == 0;
    double champion = best > 0 && is_over_root ? l->nodes[best].measurement.speedup : 1;
    return n->screening.speedup > clearly * champion;
}

// Is something proposed, and no time for another verdict and the end? It stays proposed, and a
// resumed run begins with it. A verdict takes as long as the first did, which on a busy machine is
// many times what it takes alone. What a model proposed was paid for, and is judged.
bool search_is_late(struct search_loop *l) {
    const struct run *run = l->run;
    bool is_timed = !l->job->is_enough && l->job->end_nodes == 0 && l->first_eval_s > 0;
    if (!is_timed || run->llm.spec || search_count_proposed(l) == 0 ||
        progress_champion(l->nodes, l->n_nodes) < 0)
        return false;
    search_update_elapsed(l);
    l->is_hurried = finale_is_near(run->elapsed_s + l->first_eval_s, run->max_seconds,
                                   l->first_eval_s, search_energy_kept_s(l));
    return l->is_hurried && !is_promising(l);
}

// A run whose time is over before anything passed would have nothing to show for it: it goes on
// to the first candidate that does, for a few evaluations.
bool search_is_prolonged(const struct search_loop *l) {
    return progress_champion(l->nodes, l->n_nodes) < 0 &&
           progress_evals(l->nodes, l->n_nodes) < PROLONGED_EVALS;
}

void search_say_prolonged(struct search_loop *l) {
    bool is_first = progress_evals(l->nodes, l->n_nodes) <= 1 && !l->confirms_first;
    if (l->run->elapsed_s <= l->run->max_seconds || l->was_prolonged || !is_first)
        return;
    l->was_prolonged = true;
    search_say(l, arena_printf(l->a,
                               "the first verdict took %.3g s of the %.3g s given: prolonged to %s",
                               l->run->elapsed_s, l->run->max_seconds,
                               search_is_prolonged(l) ? "the first candidate that passes"
                                                      : "its confirmation"));
}
