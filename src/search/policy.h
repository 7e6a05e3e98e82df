// A policy: where the next candidates come from. One file each, behind one function.
//
// It reads the search context, which is const, and the state, which is derived from the stored
// nodes; so a run that was killed and resumed proposes what an undisturbed one does.
//
// To add one: src/search/policy_<name>.c with a `const struct policy`, and its row in
// policies.def. Help, documentation and completion take it from there.
#pragma once

#include <stdbool.h>

struct arena;
struct decision;
struct error;
struct search_context;
struct search_state;

// A constant of a policy. `--policy mcts:explore=0.2` sets it; a run keeps those that are other
// than when the setting was introduced, so that a default can change and old runs replay.
struct policy_setting {
    const char *name;  // NULL ends a table
    const char *summary;
    double value;  // the default
    double first;  // what it was when it was introduced: of old runs, which do not say
};

enum { POLICY_SETTINGS_MAX = 8 };

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
    // Called for each evaluated node once, in any order, to keep what the policy knows of them in
    // s->own: the result must not depend on the order. May be NULL: it keeps nothing.
    void (*note)(const struct search_context *c, struct search_state *s, int node);
    const struct policy_setting *settings;  // may be NULL: it has none
    // It has champions from memory (record/advice.h) among what it proposes, so that they need not
    // all be judged before anything else.
    bool weighs_starts;
};

#define POLICY(name) extern const struct policy policy_##name;
#include "search/policies.def"
#undef POLICY

extern const struct policy *const policies[];  // NULL-terminated; the first is the default

// A policy with its settings, as somebody named it.
struct policy_choice {
    const struct policy *policy;
    double settings[POLICY_SETTINGS_MAX];
};

const struct policy *policy_find(const char *name);  // NULL: there is none of that name

// "mcts", "mcts:explore=0.2:widen=2". What the text does not set has its default; where it is the
// text of a run (`is_stored`), its first value. An unknown name or setting is ERROR_USAGE.
bool policy_choose(const char *text, bool is_stored, struct policy_choice *out, struct error *err);
// The text for a run: policy_choose gives the same choice from it, whatever the defaults are then.
const char *policy_text(struct arena *a, const struct policy_choice *choice);

// Setting `i` of the context's policy.
double policy_setting(const struct search_context *c, int i);
// So many children may a node have that did not pass: the setting "failing".
int policy_failing_children(const struct search_context *c);

// `propose` of policies that choose nodes: select one, have it improved; again while there is room
// and something is left.
int policy_propose_selected(const struct search_context *c, struct search_state *s,
                            struct decision *out, int n);
