// Counts over the nodes in order: evaluations charged, the champion, evaluations since the last
// gain.
#include "search/progress.h"

#include <string.h>

#include "base/arena.h"
#include "record/run.h"
#include "search/tree.h"

int progress_champion(const struct search_node *nodes, int n_nodes) {
    struct arena scratch = {0};
    bool *works = arena_array(&scratch, bool, n_nodes + 1);
    tree_mark_working(nodes, n_nodes, works);
    int best = -1;
    for (int i = 0; i < n_nodes; i++) {
        bool is_faster = i == 0 || !works[0] || measurement_compare(&nodes[i].measurement) > 0;
        bool counts = works[i] && is_faster;
        if (counts && (best < 0 || nodes[i].time_s < nodes[best].time_s))
            best = i;
    }
    arena_reset(&scratch);
    return best;
}

static bool is_charged(const struct search_node *n) {
    return n->state == NODE_EVALUATED && n->verdict.kind != VERDICT_INFRA;
}

int progress_evals(const struct search_node *nodes, int n_nodes) {
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        n += is_charged(&nodes[i]);
    return n;
}

int progress_evals_left(const struct search_node *nodes, int n_nodes, int max) {
    int left = max - progress_evals(nodes, n_nodes);
    for (int i = 0; i < n_nodes; i++)
        left -= nodes[i].state == NODE_PROPOSED;
    return max > 0 && left > 0 ? left : 0;
}

static bool is_screened(const struct search_node *n) {
    return n->state == NODE_SCREENED && !n->screening.is_untimed;
}

int progress_screened(const struct search_node *nodes, int n_nodes) {
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        n += is_screened(&nodes[i]);
    return n;
}

int progress_since_gain(const struct search_node *nodes, int n_nodes) {
    int since = 0, n_screened = 0;
    double to_beat = 0;
    for (int i = 0; i < n_nodes; i++) {
        const struct search_node *n = &nodes[i];
        n_screened += is_screened(n);
        if (!is_charged(n))
            continue;
        since++;
        if (n->verdict.kind != VERDICT_OK || !n->measurement.present)
            continue;
        if (i == 0 || n->measurement.speedup_low > to_beat) {
            to_beat = i == 0 ? 1 : n->measurement.speedup_high;
            since = n_screened = 0;
        }
    }
    return since + n_screened / SCREENED_PER_EVAL;
}

int progress_infra_at_end(const struct search_node *nodes, int n_nodes) {
    int n = 0;
    for (int i = n_nodes - 1; i >= 0 && nodes[i].state != NODE_PROPOSED; i--) {
        if (nodes[i].state == NODE_SCREENED)
            continue;
        if (nodes[i].verdict.kind != VERDICT_INFRA)
            break;
        n++;
    }
    return n;
}

int progress_beyond_reach(const struct search_node *nodes, int n_nodes, int from) {
    for (int i = from; i < n_nodes; i++) {
        const struct verdict *v = &nodes[i].verdict;
        if (nodes[i].state == NODE_EVALUATED && v->kind == VERDICT_SUSPECT && v->rule &&
            strcmp(v->rule, "far-beyond-reach") == 0)
            return i;
    }
    return -1;
}
