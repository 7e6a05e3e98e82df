// Kernels that memory begins with (record/advice.h): children of the root, proposed before anything
// else, all in one transaction. They race and are judged like any other. Where there is no race the
// first of them is judged before the root, if it is expected to be faster: a run that is cut short
// has the better one. Its pairs are with the root all the same, and the root is judged next. Other
// siblings' champions are left to the policy there, if it can weigh them: each costs an evaluation,
// and what the nearest sibling's took says whether they are worth one.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/proposer.h"
#include "record/advice.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"
#include "search/search_loop.h"

int search_count_warm(const struct search_loop *l) {
    int n = 0;
    for (int i = 1; i < l->n_nodes; i++)
        n += l->nodes[i].by && strcmp(l->nodes[i].by, "memory") == 0;
    return n;
}

static bool lower_start(struct search_loop *l, const char *text, struct candidate *c) {
    struct lang_file file = {0};
    const char *diagnostics;
    struct error why = {0};
    struct lang_source source = {.file = "memory", .text = text, .len = strlen(text)};
    bool ok = lang_parse(&l->scratch, &source, &file, &diagnostics, &why) && file.n_kernels == 1 &&
              lower_kernel(&l->scratch, l->job->context.problem, l->job->context.target,
                           file.kernels[0], c, &why);
    if (!ok)
        log_info("a kernel of memory's: %s", why.text);
    return ok;
}

static bool is_new(const struct search_loop *l, const struct decision *before, int n,
                   const struct candidate *c) {
    uint64_t code = candidate_code(c);
    for (int i = 0; i < n; i++)
        if (candidate_code(&before[i].candidate) == code)
            return false;
    return candidate_code(&l->nodes[0].candidate) != code;
}

static bool is_left_to_policy(const struct search_loop *l) {
    const struct search_context *c = &l->job->context;
    return c->advice->is_weighed && c->policy->weighs_starts && !c->proposer->can_repair &&
           !search_races(l);
}

bool search_add_warm(struct search_loop *l, struct error *err) {
    const struct advice *d = l->job->context.advice;
    const struct run *run = l->run;
    struct decision decisions[ADVICE_STARTS_MAX] = {0};
    int n = 0, most = run->max_evals > 0 && run->max_evals - 1 < ADVICE_STARTS_MAX
                          ? run->max_evals - 1
                          : ADVICE_STARTS_MAX;
    if (!d || l->n_nodes != 1 || l->nodes[0].state != NODE_PROPOSED)
        return true;
    bool is_one_enough = is_left_to_policy(l), has_champion = false;
    for (int i = 0; i < d->n_starts && n < most && !(is_one_enough && has_champion); i++) {
        const struct advice_start *s = &d->starts[i];
        struct candidate c;
        if (!lower_start(l, s->kernel, &c) || !is_new(l, decisions, n, &c))
            continue;
        has_champion |= !s->is_default;
        decisions[n++] = (struct decision){
            .parent = 0,
            .move = s->is_default ? "the default kernel"
                                  : arena_printf(&l->scratch, "the champion of %s", s->words),
            .reason = s->is_default
                          ? "memory: expected to be faster here than what siblings ended with"
                          : "memory: nearest of the siblings that were optimised before",
            .by = "memory",
            .candidate = c};
    }
    bool ok = n == 0 || search_add_all(l, decisions, n, err);
    arena_reset(&l->scratch);
    return ok;
}

struct search_node *search_before_root(const struct search_loop *l) {
    const struct advice *d = l->job->context.advice;
    const struct run *run = l->run;
    bool is_first = d && d->is_start_first && run->batch <= 1 && !run->start.source;
    if (!is_first || search_races(l) || l->n_nodes < 2)
        return NULL;
    struct search_node *n = &l->nodes[1];
    return n->by && strcmp(n->by, "memory") == 0 ? n : NULL;
}
