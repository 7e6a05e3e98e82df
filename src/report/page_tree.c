// The tree of nodes as a list to unfold. It is flat, with each row set in by its depth: browsers
// stop nesting at some hundred, and a search goes deeper.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "report/page.h"

enum { DEPTH_SHOWN = 16 };

bool *page_choose(const struct run_view *v, int *n_left_out) {
    bool *is_shown = calloc((size_t)v->n_nodes + 1, sizeof *is_shown);
    if (!is_shown)
        abort();
    int n = 0, n_screened = 0;
    // The way to the champion first: it is there whatever else is not.
    for (int i = v->run.champion; i >= 0 && i < v->n_nodes && !is_shown[i]; i = v->nodes[i].parent)
        is_shown[i] = ++n > 0;
    // Of more that were judged than there is room for, some from all over the run.
    int64_t n_judged = 0, room = PAGE_NODES_MAX - n, rank = 0;
    for (int i = 0; i < v->n_nodes; i++)
        n_judged += !is_shown[i] && v->nodes[i].state != NODE_SCREENED;
    room = room < 0 ? 0 : room < n_judged ? room : n_judged;
    for (int i = 0; i < v->n_nodes; i++)
        if (!is_shown[i] && v->nodes[i].state != NODE_SCREENED) {
            is_shown[i] = (rank + 1) * room / n_judged > rank * room / n_judged;
            n += is_shown[i];
            rank++;
        }
    for (int i = 0; i < v->n_nodes && n < PAGE_NODES_MAX && n_screened < PAGE_SCREENED_MAX; i++)
        if (!is_shown[i] && v->nodes[i].state == NODE_SCREENED) {
            is_shown[i] = ++n > 0;
            n_screened++;
        }
    *n_left_out = v->n_nodes - n;
    return is_shown;
}

// ---- one node

void page_findings(struct str *out, const struct search_node *n) {
    if (n->n_findings == 0)
        return;
    str_puts(out, "<ul class=\"findings\">");
    for (int i = 0; i < n->n_findings; i++) {
        const struct finding *f = &n->findings[i];
        str_printf(out, "<li class=\"%s\"><b>", severity_name(f->severity));
        page_text(out, f->tool);
        str_puts(out, "</b> ");
        page_text(out, f->cause);
        str_puts(out, ". <span class=\"evidence\">");
        page_text(out, f->evidence);
        str_puts(out, ".</span>");
        if (isfinite(f->expected_gain))
            str_printf(out, " <span class=\"worth\">worth up to %.2fx</span>", f->expected_gain);
        if (isfinite(f->confidence))
            str_printf(out, " <span class=\"worth\">confidence %.1f</span>", f->confidence);
        for (int j = 0; j < f->n_actions; j++) {
            str_puts(out, j ? "; " : "<br/>→ ");
            page_text(out, f->actions[j].words);
        }
        str_puts(out, "</li>");
    }
    str_puts(out, "</ul>");
}

static void put_measurement(struct str *out, const struct measurement *m) {
    if (!m->present)
        return;
    str_puts(out, "<p>");
    page_seconds(out, m->median_s);
    if (m->n_pairs > 0)
        str_printf(out, ", median of %d pairs", m->n_pairs);
    str_printf(out, "; %.2fx (%.2f to %.2f, %.0f%%) over ", m->speedup, m->speedup_low,
               m->speedup_high, 100 * m->confidence);
    page_text(out, m->baseline ? m->baseline : "itself");
    str_puts(out, "</p>");
}

static void put_body(struct str *out, const struct run_view *v, const struct search_node *n) {
    bool has_parent = n->parent >= 0 && n->parent < v->n_nodes;
    const struct candidate *before = has_parent ? &v->nodes[n->parent].candidate : NULL;
    str_puts(out, "<p>");
    if (has_parent)
        str_printf(out, "from <a href=\"#n%d\">%d</a>: ", n->parent, n->parent);
    page_text(out, n->change ? n->change : n->reason);
    if (n->gain > 0)
        str_printf(out, "; %.2fx over it%s", n->gain, n->expected > 0 ? "" : ".");
    if (n->gain > 0 && n->expected > 0)
        str_printf(out, ", %.2fx was expected.", n->expected);
    str_puts(out, "</p>");
    put_measurement(out, &n->measurement);
    if (n->verdict.kind != VERDICT_OK && n->verdict.evidence && *n->verdict.evidence) {
        str_puts(out, "<pre class=\"evidence\">");
        page_text(out, n->verdict.evidence);
        str_puts(out, "</pre>");
    }
    if (n->candidate.kernel)
        page_diff(out, before ? before->kernel : NULL, n->candidate.kernel, false);
    else if (n->candidate.source)
        page_diff(out, before ? before->source : NULL, n->candidate.source, true);
    page_findings(out, n);
}

static const char *state_of(const struct search_node *n) {
    if (n->state == NODE_EVALUATED)
        return verdict_kind_name(n->verdict.kind);
    return n->state == NODE_SCREENED ? "screened" : "proposed";
}

static void put_line(struct str *out, const struct search_node *n) {
    bool is_timed = isfinite(report_time(n));
    str_printf(out, "<b>%d</b><span class=\"t\">", n->number);
    page_seconds(out, n->state == NODE_SCREENED ? n->screening.time_s : report_time(n));
    str_puts(out, "</span><span class=\"x\">");
    if (is_timed && n->number > 0)
        str_printf(out, "%.2fx", n->measurement.speedup);
    str_printf(out, "</span><span class=\"v\">%s</span><span class=\"m\">", state_of(n));
    page_text(out, n->number ? n->move : "where the search began");
    str_puts(out, "</span>");
}

static void put_node(struct str *out, const struct run_view *v, int number, int depth) {
    const struct search_node *n = &v->nodes[number];
    bool is_champion = v->run.champion == number;
    if (depth > DEPTH_SHOWN)
        depth = DEPTH_SHOWN;
    if (n->state == NODE_SCREENED) {
        str_printf(out, "<div class=\"n s\" id=\"n%d\" style=\"--d:%d\">", number, depth);
        put_line(out, n);
        str_puts(out, "</div>\n");
        return;
    }
    bool is_bad = n->state == NODE_EVALUATED && n->verdict.kind != VERDICT_OK;
    str_printf(out, "<details class=\"n%s%s\" id=\"n%d\" style=\"--d:%d\"><summary>",
               is_champion ? " champion" : "", is_bad ? " bad" : "", number, depth);
    put_line(out, n);
    str_puts(out, "</summary><div class=\"body\">");
    put_body(out, v, n);
    str_puts(out, "</div></details>\n");
}

// ---- all

// Children as lists: the first of each node, and the next of each child, or -1.
struct links {
    int *first, *next;
};

static struct links link_children(const struct run_view *v, const bool *is_shown) {
    size_t n = (size_t)v->n_nodes + 1;
    struct links l = {malloc(n * sizeof *l.first), malloc(n * sizeof *l.next)};
    if (!l.first || !l.next)
        abort();
    for (size_t i = 0; i < n; i++)
        l.first[i] = l.next[i] = -1;
    // Backwards, so that the lists are in order. Those without a parent here become children of the
    // last.
    for (int i = v->n_nodes - 1; i >= 0; i--) {
        int parent = v->nodes[i].parent;
        bool has_parent = parent >= 0 && parent < i && is_shown[parent];
        int *head = &l.first[has_parent ? parent : v->n_nodes];
        if (!is_shown[i])
            continue;
        l.next[i] = *head;
        *head = i;
    }
    return l;
}

static void walk(struct str *out, const struct run_view *v, const struct links *l) {
    int *way = malloc(((size_t)v->n_nodes + 1) * sizeof *way), depth = 0;
    if (!way)
        abort();
    way[0] = l->first[v->n_nodes];
    while (depth >= 0) {
        int i = way[depth];
        if (i < 0) {
            depth--;
            continue;
        }
        put_node(out, v, i, depth);
        way[depth] = l->next[i];
        if (l->first[i] >= 0)
            way[++depth] = l->first[i];
    }
    free(way);
}

void page_tree(struct str *out, const struct run_view *v) {
    int n_left_out, n_screened = report_n_screened(v);
    bool *is_shown = page_choose(v, &n_left_out);
    struct links l = link_children(v, is_shown);
    if (n_screened > 0)
        str_printf(out,
                   "<input type=\"checkbox\" id=\"all\"/><label for=\"all\"> show the %d that "
                   "lost a race too: the fastest call of a few, not verified</label>\n",
                   n_screened);
    str_puts(out, "<p id=\"find\" hidden=\"hidden\"><label>find <input type=\"search\"/></label> "
                  "<small>j and k walk, Enter unfolds</small></p>\n<div class=\"tree\">\n");
    walk(out, v, &l);
    str_puts(out, "</div>\n");
    if (n_left_out > 0)
        str_printf(out, "<p>%d more nodes are in the store: hone show %lld --json has them.</p>\n",
                   n_left_out, (long long)v->run.id);
    free(l.first);
    free(l.next);
    free(is_shown);
}
