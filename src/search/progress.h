// How far a run has come, from its nodes alone: a resumed run knows it at once.
#pragma once

struct search_node;

enum { SCREENED_PER_EVAL = 6 };

// The node that is champion by the search's measurements: the fastest working one that is
// certainly faster than the root, else the root; where that does not work, the fastest that does;
// -1 when nothing works.
int progress_champion(const struct search_node *nodes, int n_nodes);

// Evaluations charged to the budget: all but those that failed through our fault.
int progress_evals(const struct search_node *nodes, int n_nodes);

// Evaluations that `max` leaves (0: no limit), those that wait to be made taken off; 0: none, or
// no limit.
int progress_evals_left(const struct search_node *nodes, int n_nodes, int max);

// Nodes that lost a race; those that it had no time for do not count.
int progress_screened(const struct search_node *nodes, int n_nodes);

// Evaluations since the last significant gain; SCREENED_PER_EVAL screened ones count as one. Each
// gain is measured against the node of the gain before, so that many small steps add up to one.
int progress_since_gain(const struct search_node *nodes, int n_nodes);

// Verdicts of infra one after the other, up to the newest node.
int progress_infra_at_end(const struct search_node *nodes, int n_nodes);

// The first node from `from` on that is suspect because it is far faster than reach; -1: none.
int progress_beyond_reach(const struct search_node *nodes, int n_nodes, int from);
