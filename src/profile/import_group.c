// Launches of one kernel with one shape become one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "profile/import.h"

struct entry {
    uint64_t key;
    int launch;
    double time_s;
};

static uint64_t key_of(const struct profile_launch *l) {
    double shape[2] = {launch_get(l, METRIC_BLOCKS), launch_get(l, METRIC_BLOCK_THREADS)};
    return hash_bytes(shape, sizeof shape, hash_bytes(l->name, strlen(l->name), 1));
}

// By kernel, then by time; what was not timed first.
static int compare_kernel(const void *x, const void *y) {
    const struct entry *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->launch - b->launch;
}

static int compare_order(const void *x, const void *y) {
    return ((const struct entry *)x)->launch - ((const struct entry *)y)->launch;
}

void import_group(struct arena *a, struct profile *p) {
    int n = p->n_launches, n_groups = 0;
    struct entry *all = arena_array(a, struct entry, n + 1);
    struct entry *first = arena_array(a, struct entry, n + 1);
    struct profile_launch *of = arena_array(a, struct profile_launch, n + 1);
    for (int i = 0; i < n; i++) {
        double time_s = launch_get(&p->launches[i], METRIC_TIME);
        all[i] = (struct entry){key_of(&p->launches[i]), i, isfinite(time_s) ? time_s : -1};
    }
    qsort(all, (size_t)n, sizeof *all, compare_kernel);
    for (int i = 0; i < n;) {
        int end = i, earliest = all[i].launch;
        for (; end < n && all[end].key == all[i].key; end++)
            earliest = all[end].launch < earliest ? all[end].launch : earliest;
        of[earliest] = p->launches[all[(i + end - 1) / 2].launch];
        metrics_set(&of[earliest].metrics, METRIC_CALLS, end - i);
        first[n_groups++].launch = earliest;
        i = end;
    }
    qsort(first, (size_t)n_groups, sizeof *first, compare_order);
    struct profile grouped = {.call = p->call};
    for (int i = 0; i < n_groups; i++)
        *profile_add_launch(a, &grouped, NULL) = of[first[i].launch];
    *p = grouped;
}
