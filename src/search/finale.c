// Formulas for the time that is kept for the end, and the few nodes whose interval reaches that of
// the champion, the fastest first.
#include "search/finale.h"

#include <math.h>

#include "record/run.h"

double finale_timing_s(double max_seconds) {
    return fmin(4, fmax(0.5, max_seconds / 50));
}

double finale_ranking_s(double max_seconds) {
    return fmin(2, finale_timing_s(max_seconds));
}

bool finale_is_near(double elapsed_s, double max_seconds, double first_eval_s) {
    double kept_s = fmin(first_eval_s + finale_timing_s(max_seconds), max_seconds / 2);
    return elapsed_s + kept_s >= max_seconds;
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

int finale_contenders(const struct search_node *nodes, int n_nodes, int champion,
                      int contenders[CONTENDERS_MAX]) {
    int n = 0;
    for (int i = 0; i < n_nodes; i++) {
        if (i == champion || !may_beat(&nodes[i], &nodes[champion]))
            continue;
        int at = n < CONTENDERS_MAX ? n++ : CONTENDERS_MAX;
        for (; at > 0 && nodes[contenders[at - 1]].time_s > nodes[i].time_s; at--)
            if (at < CONTENDERS_MAX)
                contenders[at] = contenders[at - 1];
        if (at < CONTENDERS_MAX)
            contenders[at] = i;
    }
    return n;
}
