// A policy: where the next candidates come from. One file each, behind one function.
//
// It reads the search context, which is const, and the state, which is derived from the stored
// nodes; so a run that was killed and resumed proposes what an undisturbed one does.
//
// To add one: src/search/policy_<name>.c with a `const struct policy`, its declaration and its row
// here and in policy.c. Help, documentation and completion take it from there.
#pragma once

struct decision;
struct search_context;
struct search_state;

struct policy {
    const char *name;
    const char *summary;  // one line for help
    // Up to `n` proposals (at least 1), the best first, all different and new. Returns how many;
    // 0: nothing is left to try.
    int (*propose)(const struct search_context *c, struct search_state *s, struct decision *out,
                   int n);
    // Called by policy_propose_selected before every proposal: an open node (search/tree.h), or -1
    // when none is left. NULL where `propose` does not need it.
    int (*select)(const struct search_context *c, struct search_state *s);
};

extern const struct policy policy_mcts;    // the default
extern const struct policy policy_greedy;  // always the fastest
extern const struct policy policy_random;  // the control

extern const struct policy *const policies[];  // NULL-terminated; the first is the default

const struct policy *policy_find(const char *name);  // NULL: there is none of that name

// `propose` of policies that choose nodes: select one, have it improved; again while there is room
// and something is left.
int policy_propose_selected(const struct search_context *c, struct search_state *s,
                            struct decision *out, int n);
