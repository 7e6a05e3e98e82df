// Formulas for the time that is kept for the end, and the few nodes whose interval reaches that of
// the champion, the fastest first.
#include "search/finale.h"

#include <math.h>

#include "base/arena.h"

// Of rmsnorm in f16, 8192 x 4096, on two cores: opening 12.5 s (one set drawn, computed and looked
// at for what a kernel that computes nothing passes), first verdict 55 s, confirmation 66 s.
static const double VERDICTS_PER_OPENING = 10;

double finale_timing_s(double max_seconds) {
    return fmin(4, fmax(0.5, max_seconds / 50));
}

double finale_energy_s(double max_seconds) {
    return fmin(4, fmax(2.2, max_seconds / 12));
}

double finale_energy_game_s(double max_seconds) {
    return fmin(12, fmax(6, max_seconds / 12));
}

double finale_ranking_s(double max_seconds) {
    return fmin(2, finale_timing_s(max_seconds));
}

double finale_kept_s(double max_seconds, double first_eval_s, double energy_s) {
    double timing_s = 2 * finale_timing_s(max_seconds);
    return fmin(2 * first_eval_s + timing_s + energy_s, max_seconds / 2);
}

bool finale_is_near(double elapsed_s, double max_seconds, double first_eval_s, double energy_s) {
    return elapsed_s + finale_kept_s(max_seconds, first_eval_s, energy_s) >= max_seconds;
}

double finale_verdicts_s(double opening_s) {
    return VERDICTS_PER_OPENING * opening_s;
}

const char *finale_overrun_text(struct arena *a, double elapsed_s, double max_seconds,
                                const struct finale_times *t) {
    static const double slack_s = 0.5, slack_share = 0.02, least_s = 0.05;
    double over_s = elapsed_s - max_seconds;
    const struct {
        const char *what;
        double seconds;
    } parts[] = {
        {"what was under way", over_s - t->play_off_s - t->choice_s - t->confirm_s},
        {"play-off", t->play_off_s},
        {"choice by energy", t->choice_s},
        {"confirmation", t->confirm_s - t->energy_s},
        {"energy of the champion", t->energy_s},
    };
    const char *text = NULL;
    if (over_s < slack_s + slack_share * max_seconds)
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].seconds > least_s)
            text = arena_printf(a, "%s%s%s %.1f s", text ? text : "", text ? ", " : "",
                                parts[i].what, parts[i].seconds);
    return text;
}

int finale_survivors(double left_s, double verdict_s, int most) {
    double n = left_s / verdict_s - 1;
    return n >= most ? most : n > 1 ? (int)n : 1;
}

static bool may_beat(const struct search_node *n, const struct search_node *champion) {
    return n->verdict.kind == VERDICT_OK && n->measurement.present && n->number > 0 &&
           measurement_compare(&n->measurement) > 0 &&
           n->measurement.speedup_high >= champion->measurement.speedup_low;
}

// Put a node into the few that are kept, the fastest first.
static int keep_fastest(const struct search_node *nodes, int node, int *kept, int n, int most) {
    int at = n < most ? n++ : most;
    for (; at > 0 && nodes[kept[at - 1]].time_s > nodes[node].time_s; at--)
        if (at < most)
            kept[at] = kept[at - 1];
    if (at < most)
        kept[at] = node;
    return n;
}

int finale_contenders(const struct search_node *nodes, int n_nodes, int champion,
                      int contenders[CONTENDERS_MAX]) {
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        if (i != champion && may_beat(&nodes[i], &nodes[champion]))
            n = keep_fastest(nodes, i, contenders, n, CONTENDERS_MAX);
    return n;
}

int finale_finalists(const struct search_node *nodes, int n_nodes, int fastest,
                     enum run_objective objective, int finalists[FINALISTS_MAX]) {
    static const double room = 1.2;
    const struct search_node *best = &nodes[fastest];
    int n = 0;
    for (int i = 0; i < n_nodes; i++) {
        const struct search_node *x = &nodes[i];
        bool works = x->verdict.kind == VERDICT_OK && x->measurement.present && isfinite(x->time_s);
        bool is_near = objective == OBJECTIVE_EDP
                           ? x->time_s <= room * best->time_s
                           : x->measurement.speedup_high >= best->measurement.speedup_low;
        if (i != fastest && works && is_near)
            n = keep_fastest(nodes, i, finalists, n, FINALISTS_MAX);
    }
    return n;
}
