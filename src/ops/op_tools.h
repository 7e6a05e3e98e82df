// The micro-profiling tools, and what became of their findings in the runs of a store: how often
// each fired, how often a move was made for it, how often that helped, and how near the gain came
// to what it expected.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/run.h"
#include "tools/tool.h"

struct arena;
struct error;

struct tool_tally {
    const struct tool *tool;
    int n_fired;            // findings
    int n_followed;         // nodes that were proposed because of one and judged
    int n_helped;           // of those, faster than their parent
    int n_predicted;        // of those with an expected and a measured gain
    double expected, gain;  // medians over those; NAN: none
    double error;           // median of |gain / expected - 1|
};

// Moves by how sure their findings were: does what is surer help more often?
enum { CONFIDENCE_LEVELS = 3 };
struct tool_level {
    double from;  // this confidence, up to that of the level before
    int n_followed, n_helped;
};

struct tool_list {
    struct tool_tally *tallies;
    int n;
    int n_runs;       // that were counted; -1: there is no store
    int n_predicted;  // of all tools
    double error;     // median over those
    struct tool_level levels[CONFIDENCE_LEVELS];
};

// `store` NULL: the one of this directory, which may be absent.
bool op_tools(struct arena *a, const char *store, struct tool_list *out, struct error *err);

// Add the nodes of a run to the tallies; `op_tools_settle` then takes the medians.
struct tool_samples;
struct tool_samples *op_tools_begin(struct arena *a, struct tool_list *list);
void op_tools_add(struct tool_samples *s, const struct search_node *nodes, int n_nodes);
void op_tools_settle(struct tool_samples *s);

const char *op_tools_text(struct arena *a, const struct tool_list *l);
json_t *op_tools_json(const struct tool_list *l);  // hone.tools/1
