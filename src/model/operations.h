// Every operation of a problem in one list: those of its graph, and those of the bodies of its
// loops with the work of all their steps. What is counted over a graph is counted over this.
#pragma once

#include "model/demand.h"

struct operation {
    const struct problem *p;  // whose graph it stands in: the problem, or a body
    const struct node *node;
    node_id id;              // of the problem's own node: itself, or the loop
    int first;               // where in the list its graph begins: argument k is first + arg[k]
    double flops, textbook;  // usual
    double least, left;      // least: flops, and the share that algebra leaves
};

struct operations {
    struct operation *list;
    int n;
};

void operations_list(struct arena *a, const struct problem *p, const struct demand *least,
                     const struct demand *usual, struct operations *out);

// How many operations wait for one another, at least: steps of loops, each of which needs the state
// of the one before it. A loop that is linear in its state, element by element, can be done in
// pairs, so only in as many steps as a tree of them is high.
double operations_chain(struct arena *a, const struct problem *p, const struct demand *usual);
