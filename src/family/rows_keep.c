// Kept values get arrays as registers are given out: walk by walk, the first that is free.
#include "family/rows_keep.h"

#include "base/arena.h"

static bool is_worth(const struct node *n) {
    return region_is_slow(n->op);
}

// What is read is stored as it was; what was computed, and what shares an array with it, as f32.
static void choose_type(const struct region *r, node_id n, bool is_first, enum dtype *type) {
    enum dtype t = r->is_leaf[n] ? r->graph->nodes[n].dtype : DTYPE_F32;
    *type = is_first || *type == t ? t : DTYPE_F32;
}

// An array may be written in the very walk that reads it for the last time, since each thread
// reads its element first.
void rows_plan_keep(const struct rows_form *f, struct arena *a, struct rows_keep *k) {
    const struct region *r = f->region;
    int n_nodes = r->graph->n_nodes;
    *k = (struct rows_keep){.is_kept = arena_array(a, bool, n_nodes),
                            .slot = arena_array(a, int, n_nodes),
                            .types = arena_array(a, enum dtype, n_nodes + 1)};
    rows_plan(f, a, is_worth, &k->walks);
    int *busy_until = arena_array(a, int, n_nodes + 1);
    for (int walk = 1; walk <= k->walks.n_levels + 1; walk++)
        for (node_id n = 0; n < n_nodes; n++) {
            if (k->walks.first[n] != walk || k->walks.last[n] <= walk)
                continue;
            int slot = 0;
            while (busy_until[slot] > walk)
                slot++;
            choose_type(r, n, busy_until[slot] == 0, &k->types[slot]);
            busy_until[slot] = k->walks.last[n];
            k->is_kept[n] = true;
            k->slot[n] = slot;
            k->n_kept++;
            if (slot + 1 > k->n_slots)
                k->n_slots = slot + 1;
        }
}

int64_t rows_keep_bytes(const struct rows_keep *k) {
    int64_t bytes = 0;
    for (int i = 0; i < k->n_slots; i++)
        bytes += dtype_size(k->types[i], 1);
    return bytes;
}
