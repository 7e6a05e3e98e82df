// Beam search: the `width` fastest nodes that still have moves get `branch` children each in turn.
//
// The beam is read from the tree before every proposal: who is among the fastest belongs to it, who
// is overtaken falls out, and the member that had the fewest rounds is next. So there are no
// rounds to be stored, and a batch that is judged in part counts already.
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

enum { WIDTH, BRANCH };

static const struct policy_setting settings[] = {
    [WIDTH] = {"width", "nodes in the beam", 4, 4},
    [BRANCH] = {"branch", "children that a member gets before the next has its turn", 3, 3},
    {0},
};

static int select_beam(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    int width = (int)policy_setting(c, WIDTH), branch = (int)policy_setting(c, BRANCH);
    int best = -1, n_members = 0;
    branch = branch > 0 ? branch : 1;
    for (int i = 0; i < t->n_works && n_members < (width > 0 ? width : 1); i++, s->n_steps++) {
        int node = t->fastest[i].node;
        if (!tree_is_open(t, node))
            continue;
        n_members++;
        if (best < 0 || t->at[node].n_children / branch < t->at[best].n_children / branch)
            best = node;
    }
    return best < 0 && t->n_open > 0 ? t->open[0] : best;
}

const struct policy policy_beam = {
    .name = "beam",
    .summary = "the few fastest nodes in turn",
    .propose = policy_propose_selected,
    .select = select_beam,
    .settings = settings,
};
