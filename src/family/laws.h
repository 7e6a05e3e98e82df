// Laws: the closed table of what a stage may do beyond fusion.
//
// Fusing computes exactly the problem's own operations. A law replaces a pattern of them
// by another way to the same result, in a class: *exact* (the same bits), *reassociates*
// (equal in the reals, rounded in another order) or *approximates* (its error can exceed
// that of the operations as written; the judge decides). A stage names the laws that it
// uses. A law that finds no pattern in the stage's region is a mistake.
//
// To add one: a row in laws.c, its pattern, a property test in test_laws.c.
#pragma once

#include "family/region.h"
#include "model/target.h"

enum law_class { LAW_EXACT, LAW_REASSOCIATES, LAW_APPROXIMATES };
const char *law_class_name(enum law_class c);

enum { LAW_NODES_MAX = 5, LAW_MATCHES_MAX = 16 };

struct law;

// One place where a law's pattern stands.
struct law_match {
    const struct law *law;
    node_id node[LAW_NODES_MAX];  // by the roles that law->roles names
};

struct law_uses {
    struct law_match match[LAW_MATCHES_MAX];
    int n_matches;
};

struct law {
    const char *name;
    enum law_class class;
    const char *pattern;               // in words
    const char *effect;                // what happens instead
    const char *roles[LAW_NODES_MAX];  // of law_match.node; NULL ends them
    // Called with each node of the region in turn: does the pattern end there?
    bool (*matches)(const struct region *r, node_id n, struct law_match *m);
    // Called when the pattern fits nowhere and before it is looked for: why this target
    // cannot use the law, or NULL. May be NULL: every target can.
    const char *(*why_not_on)(const struct target *t);
};
extern const struct law laws[];  // ended by a name of NULL
const struct law *law_find(const char *name);

// Add every place where the law fits; false when there is none.
bool law_use(const struct law *l, const struct region *r, struct law_uses *uses);

// Is the node spread over reduced axes only because the operations are written that way? With
// the law it is computed while the reductions still go on (exp(x - max) of an online softmax).
bool law_is_inner(const struct law_uses *uses, node_id n);

// Is the node a reduction that the law takes out of the epilogue?
bool law_is_moved(const struct law_uses *uses, node_id n);
bool law_is_used(const struct law_uses *uses, const char *name);
