// Every block that is taken is expanded once. With no more blocks than the limit all are taken, in
// whatever order.
#include "family/enumerate.h"

#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "family/block_set.h"
#include "family/moves.h"

struct found {
    struct kernel *kernel;
    const char *text;
    double prior;
    int n_near;  // blocks of the sample that have a move to it
    bool is_taken;
};

struct growth {
    struct arena *a;
    const struct problem *problem;
    const struct target *target;
    struct block_set *seen;  // numbers are those of `found`
    struct found *found;
    int n_found, room;
    struct rng rng;
};

static void add_found(struct growth *g, struct found f) {
    if (g->n_found == g->room) {
        int room = 2 * g->room + 64;
        struct found *more = arena_array(g->a, struct found, room);
        if (g->n_found > 0)
            memcpy(more, g->found, sizeof *more * (size_t)g->n_found);
        g->found = more;
        g->room = room;
    }
    block_set_add(g->seen, f.text)->number = g->n_found;
    g->found[g->n_found++] = f;
}

static void expand(struct growth *g, const struct kernel *k) {
    struct arena scratch = {0};
    int n_moves;
    struct move *moves = moves_list(&scratch, g->problem, g->target, k, &n_moves);
    for (int i = 0; i < n_moves; i++) {
        const char *text = kernel_print(&scratch, moves[i].kernel);
        const struct block_entry *known = block_set_find(g->seen, text);
        if (known) {
            g->found[known->number].n_near++;
            continue;
        }
        struct found f = {.kernel = arena_new(g->a, struct kernel),
                          .text = arena_strdup(g->a, text),
                          .prior = moves[i].prior,
                          .n_near = 1};
        *f.kernel = kernel_copy_whole(g->a, moves[i].kernel);
        add_found(g, f);
    }
    arena_reset(&scratch);
}

static struct found *best_prior(struct growth *g) {
    struct found *best = NULL;
    for (int i = 0; i < g->n_found; i++)
        if (!g->found[i].is_taken && (!best || g->found[i].prior > best->prior))
            best = &g->found[i];
    return best;
}

static uint64_t weight(const struct found *f) {
    uint64_t n = (uint64_t)f->n_near;
    return f->is_taken ? 0 : n * n * n;
}

static struct found *draw(struct growth *g) {
    uint64_t all = 0;
    for (int i = 0; i < g->n_found; i++)
        all += weight(&g->found[i]);
    if (all == 0)
        return NULL;
    uint64_t at = rng_below(&g->rng, all);
    struct found *f = g->found;
    for (; at >= weight(f); f++)
        at -= weight(f);
    return f;
}

static void finish(const struct growth *g, struct enumerated *out) {
    double n_near = 0;
    for (int i = 0; i < g->n_found; i++)
        n_near += g->found[i].is_taken ? g->found[i].n_near : 0;
    out->is_complete = out->n == g->n_found;
    out->n_seen = g->n_found;
    out->degree = n_near / out->n;
}

void enumerate_blocks(struct arena *a, const struct problem *p, const struct target *t,
                      const struct kernel *first, int limit, uint64_t seed,
                      struct enumerated *out) {
    struct growth g = {.a = a, .problem = p, .target = t, .seen = block_set_new(a)};
    struct found f = {.kernel = arena_new(a, struct kernel), .text = kernel_print(a, first)};
    *out = (struct enumerated){.kernels = arena_array(a, struct kernel *, limit),
                               .texts = arena_array(a, const char *, limit)};
    *f.kernel = kernel_copy_whole(a, first);
    rng_init(&g.rng, seed);
    add_found(&g, f);
    for (struct found *next = g.found; next && out->n < limit;
         next = out->n % 2 ? best_prior(&g) : draw(&g)) {
        next->is_taken = true;
        out->kernels[out->n] = next->kernel;
        out->texts[out->n++] = next->text;
        expand(&g, next->kernel);
    }
    finish(&g, out);
}
