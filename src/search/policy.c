// The table of policies, and the way from a selected node to proposals, which most of them share.
#include "search/policy.h"

#include <stddef.h>
#include <string.h>

#include "search/decide.h"

// A node may give nothing new that lowers; so many are asked at most.
enum { AGAIN_MAX = 1000 };

const struct policy *const policies[] = {&policy_mcts, &policy_greedy, &policy_random, NULL};

const struct policy *policy_find(const char *name) {
    for (const struct policy *const *p = policies; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

// Of several proposals a third is kept for nodes that come second.
static int share_of(int room, const struct search_state *s) {
    return s->n_decided == 0 ? room - room / 3 : room;
}

int policy_propose_selected(const struct search_context *c, struct search_state *s,
                            struct decision *out, int n) {
    int got = 0;
    for (int again = 0; got < n && again < AGAIN_MAX; again++) {
        int parent = c->policy->select(c, s), n_asked;
        if (parent < 0)
            break;
        got += decide_from(c, s, parent, c->priors, out + got, share_of(n - got, s), &n_asked);
        if (n_asked == 0)
            tree_exhaust(&s->tree, parent);
    }
    return got;
}
