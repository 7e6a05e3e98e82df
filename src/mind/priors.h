// What is expected of a kind of move before it is tried here: from other runs, or by a policy from
// this one. A prior changes the order in which moves are tried, never a verdict.
#pragma once

struct arena;

struct prior {
    double gain;        // speed-up over the node it was made from, the geometric mean
    double weight;      // how many trials stand behind it; 0: nothing is known
    const char *words;  // "1.3x in 8 of 10 on siblings", for the node's reason; may be NULL
};

struct priors {
    // Called for a move that could be proposed: its kind (record/move_kind.h), where a finding is
    // behind it the tool that found it, else NULL, and the class of what limits the node
    // (profile/classify.h; NULL: not known). The same question has the same answer for as long as
    // a decision is made.
    struct prior (*expect)(const void *ctx, const char *kind, const char *tool,
                           const char *bottleneck);
    const void *ctx;
    const char *summary;  // the same for a model, a line per kind; NULL: nothing
};

// The same by the words of a move; none where `p` is NULL or the words have no kind.
struct prior priors_expect(const struct priors *p, const char *words, const char *tool,
                           const char *bottleneck);

// The logarithm of the gain to reckon with: drawn towards none by PRIOR_DOUBT trials without gain.
double prior_log_gain(const struct prior *p);

enum { PRIOR_DOUBT = 3 };
