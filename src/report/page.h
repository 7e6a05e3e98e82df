// What the files of the page share: `hone report --html`, one file that needs nothing else, and no
// script to be read.
//
// Everything that comes from a store, a compiler or a model goes through page_text(). Marks are
// written so that the page is XML too; tests/unit/test_page.c checks that, and that nothing
// outside is referred to.
#pragma once

#include "report/report_private.h"

enum {
    PAGE_NODES_MAX = 2000,     // rows of the tree; of more, some of those that were judged
    PAGE_SCREENED_MAX = 1000,  // and so many that lost a race
};

// Text with what HTML would take for its own written otherwise; control characters become '?'.
void page_text(struct str *out, const char *text);

// "1.53 ms", "–" when not known.
void page_seconds(struct str *out, double seconds);

// Source with line numbers; comments, directives and words of C set apart. `shares` of the time,
// one for each of so many lines, are drawn next to them; NULL: none.
void page_code(struct str *out, const char *source, const double *shares, int n_lines);

// page_hot.c: which share of the time each line of a source has, by samples where the profile has
// some, else by an estimate; to be freed.
struct profile;
double *page_hot_lines(const char *source, const struct profile *p, int *n_lines);

// `text` with what differs from `before` marked: by words of kernel blocks, by lines of source,
// where long stretches that are the same are left out. `before` may be NULL.
void page_diff(struct str *out, const char *before, const char *text, bool by_lines);

// Charts, inline SVG; nothing where there is nothing to draw.
void page_bars(struct str *out, const struct run_view *v);
void page_roofline(struct str *out, const struct run_view *v);
void page_progress(struct str *out, const struct run_view *v);

// The tree of nodes, each to be unfolded.
void page_tree(struct str *out, const struct run_view *v);
void page_findings(struct str *out, const struct search_node *n);

// Which nodes the page has: an array of v->n_nodes, to be freed.
bool *page_choose(const struct run_view *v, int *n_left_out);

// What stands around every page; the title is text.
void page_begin(struct str *out, const char *title);
void page_end(struct str *out);

// The run's bound; false where it has none.
struct bound;
bool page_bound(const struct run *r, struct bound *b);
