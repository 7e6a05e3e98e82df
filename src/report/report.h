// What people and scripts read about runs. Everything here is made from what the store
// holds, so it can be made again from any finished run; nothing measures or decides.
// Text is at most 80 columns wide where the data allow it.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/event.h"
#include "record/exchange.h"
#include "record/run.h"

struct arena;
struct str;

// A run as read from the store.
struct run_view {
    struct run run;
    struct search_node *nodes;
    int n_nodes;        // 0 where the nodes were not asked for
    bool is_running;    // some process works on it now
    const char *store;  // path of the store
    // " --store PATH" where the commands that a text names have to say it; NULL: they need not.
    const char *store_option;
    struct spend spend;  // on a model; all zero without one
    struct role_spend {
        const char *role;  // "plan", "code", "debug"
        struct spend spend;
    } roles[4];  // what of it went where
    int n_roles;
};

// `hone runs`: one line each, newest first.
void report_runs(struct str *out, const struct run_view *views, int n_views);
json_t *report_runs_json(const struct run_view *views, int n_views);  // hone.runs/1

// `hone show RUN`: the tree as an indented list. `hone show RUN.NODE`: all about one node.
void report_tree(struct str *out, const struct run_view *v);
void report_node(struct str *out, const struct run_view *v, int node, bool with_source);
json_t *report_show_json(const struct run_view *v);  // hone.show/1

// `hone report`: the whole story of a run.
void report_run(struct str *out, const struct run_view *v);

// `hone report --html`: the same and every node as one page that needs nothing else (page.h).
// `graph` is the problem's, as text; NULL: it is left out.
void report_page(struct str *out, const struct run_view *v, const char *graph);

// `hone runs --html`: all runs; each row leads to run-N.html next to it.
void report_index(struct str *out, const struct run_view *views, int n_views);

// The end of `hone optimize`: champion, stop, where it is. hone.optimize/1.
void report_result(struct str *out, const struct run_view *v);
json_t *report_result_json(const struct run_view *v);

// What an event says to a person, one line or a few, "" when nothing.
void report_event(struct str *out, const struct event *e);

// Reach in seconds from the run's bound, NAN when it has none.
double report_reach(const struct run *r);
