// Counts over stored nodes; medians over those that had a prediction.
#include "ops/op_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "ops/op_runs.h"
#include "store/store.h"

enum { RUNS_MAX = 10000, SAMPLES_MAX = 10000 };

// A gain below this is none: a difference that is not resolved.
static const double HELPED = 1.01;

struct tool_samples {
    struct arena *a;
    struct tool_list *list;
    double (*expected)[SAMPLES_MAX], (*gain)[SAMPLES_MAX];
};

static struct tool_tally *find(struct tool_list *l, const char *name) {
    for (int i = 0; name && i < l->n; i++)
        if (strcmp(l->tallies[i].tool->name, name) == 0)
            return &l->tallies[i];
    return NULL;  // of another version
}

struct tool_samples *op_tools_begin(struct arena *a, struct tool_list *list) {
    struct tool_samples *s = arena_new(a, struct tool_samples);
    *list = (struct tool_list){.n_runs = -1, .levels = {{.from = 0.8}, {.from = 0.5}, {0}}};
    while (tools[list->n])
        list->n++;
    list->tallies = arena_array(a, struct tool_tally, list->n);
    for (int i = 0; i < list->n; i++)
        list->tallies[i] =
            (struct tool_tally){.tool = tools[i], .expected = NAN, .gain = NAN, .error = NAN};
    *s = (struct tool_samples){.a = a, .list = list};
    s->expected = arena_alloc(a, sizeof *s->expected * (size_t)list->n);
    s->gain = arena_alloc(a, sizeof *s->gain * (size_t)list->n);
    return s;
}

// How sure the finding of its parent was that a node followed; NAN: not recorded.
static double confidence_behind(const struct search_node *nodes, int n_nodes,
                                const struct search_node *n) {
    for (int i = 0; i < n_nodes; i++)
        for (int k = 0; nodes[i].number == n->parent && k < nodes[i].n_findings; k++)
            if (strcmp(nodes[i].findings[k].tool, n->tool) == 0)
                return nodes[i].findings[k].confidence;
    return NAN;
}

static void add_level(struct tool_list *l, double confidence, bool has_helped) {
    int i = 0;
    if (!isfinite(confidence))
        return;
    while (i < CONFIDENCE_LEVELS - 1 && confidence < l->levels[i].from)
        i++;
    l->levels[i].n_followed++;
    l->levels[i].n_helped += has_helped;
}

static void add_node(struct tool_samples *s, const struct search_node *nodes, int n_nodes,
                     const struct search_node *n) {
    for (int i = 0; i < n->n_findings; i++) {
        struct tool_tally *t = find(s->list, n->findings[i].tool);
        if (t)
            t->n_fired++;
    }
    struct tool_tally *t = find(s->list, n->tool);
    if (!t || n->state != NODE_EVALUATED)
        return;
    t->n_followed++;
    t->n_helped += n->gain > HELPED;
    add_level(s->list, confidence_behind(nodes, n_nodes, n), n->gain > HELPED);
    if (!(n->expected > 0) || !(n->gain > 0) || t->n_predicted == SAMPLES_MAX)
        return;
    s->expected[t - s->list->tallies][t->n_predicted] = n->expected;
    s->gain[t - s->list->tallies][t->n_predicted++] = n->gain;
}

void op_tools_add(struct tool_samples *s, const struct search_node *nodes, int n_nodes) {
    for (int i = 0; i < n_nodes; i++)
        add_node(s, nodes, n_nodes, &nodes[i]);
}

static int compare(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// Of all tools together.
static void settle_all(struct tool_samples *s) {
    struct tool_list *l = s->list;
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->tallies[i].n_predicted;
    double *error = arena_array(s->a, double, n + 1);
    l->n_predicted = 0;
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->tallies[i].n_predicted; k++)
            error[l->n_predicted++] = fabs(s->gain[i][k] / s->expected[i][k] - 1);
    l->error = n > 0 ? median(error, n) : NAN;
}

void op_tools_settle(struct tool_samples *s) {
    settle_all(s);  // medians put the samples into another order
    for (int i = 0; i < s->list->n; i++) {
        struct tool_tally *t = &s->list->tallies[i];
        int n = t->n_predicted;
        double *error = arena_array(s->a, double, n + 1);
        if (n == 0)
            continue;
        for (int k = 0; k < n; k++)
            error[k] = fabs(s->gain[i][k] / s->expected[i][k] - 1);
        t->error = median(error, n);
        t->expected = median(s->expected[i], n);
        t->gain = median(s->gain[i], n);
    }
}

static bool add_runs(struct arena *a, struct store *store, struct tool_samples *s,
                     struct error *err) {
    struct run *runs;
    int n_runs;
    bool ok = store_list_runs(store, a, RUNS_MAX, &runs, &n_runs, err);
    for (int i = 0; ok && i < n_runs; i++) {
        struct arena scratch = {0};
        struct search_node *nodes;
        int n_nodes;
        ok = store_get_nodes(store, &scratch, runs[i].id, &nodes, &n_nodes, err);
        if (ok)
            op_tools_add(s, nodes, n_nodes);
        arena_reset(&scratch);
    }
    if (ok)
        s->list->n_runs = n_runs;
    return ok;
}

bool op_tools(struct arena *a, const char *named, struct tool_list *out, struct error *err) {
    struct tool_samples *s = op_tools_begin(a, out);
    struct store *store;
    struct error missing = {0};
    // Without runs there is still the list.
    if (!op_open_store(a, named, false, &store, named ? err : &missing)) {
        if (named || missing.kind == ERROR_USAGE)
            return !named;
        *err = missing;
        return false;
    }
    bool ok = add_runs(a, store, s, err);
    store_close(store);
    if (ok)
        op_tools_settle(s);
    return ok;
}

static const char *devices_text(const struct tool *t) {
    return t->devices == ON_CPU ? "cpu" : t->devices == ON_GPU ? "gpu" : "both";
}

static void put_row(struct str *s, const struct tool_tally *t, bool has_runs) {
    str_printf(s, "%-11s %-5s", t->tool->name, devices_text(t->tool));
    if (has_runs) {
        str_printf(s, "%6d %9d %7d", t->n_fired, t->n_followed, t->n_helped);
        if (t->n_predicted > 0)
            str_printf(s, "  %7.2fx %6.2fx %4.0f%%", t->expected, t->gain, 100 * t->error);
        else
            str_printf(s, "  %8s %7s %5s", "-", "-", "-");
    }
    str_printf(s, "  %s\n", t->tool->summary);
}

const char *op_tools_text(struct arena *a, const struct tool_list *l) {
    struct str s = {0};
    bool has_runs = l->n_runs > 0;
    if (has_runs)
        str_printf(&s, "%-11s %-5s%6s %9s %7s  %8s %7s %5s  over %d run%s\n", "tool", "on", "fired",
                   "followed", "helped", "expected", "came", "off", l->n_runs,
                   l->n_runs == 1 ? "" : "s");
    for (int i = 0; i < l->n; i++)
        put_row(&s, &l->tallies[i], has_runs);
    if (l->n_predicted > 0)
        str_printf(&s, "all: %d moves with an expected gain; what came is off by %.0f%% (median)\n",
                   l->n_predicted, 100 * l->error);
    for (int i = 0; has_runs && i < CONFIDENCE_LEVELS; i++)
        if (l->levels[i].n_followed > 0)
            str_printf(&s, "confidence %.1f to %.1f: %d of %d moves helped\n", l->levels[i].from,
                       i == 0 ? 1 : l->levels[i - 1].from, l->levels[i].n_helped,
                       l->levels[i].n_followed);
    return str_take(a, &s);
}

static json_t *needs_to_json(const struct tool *t) {
    json_t *array = json_array();
    for (int i = 0; i < t->n_needs; i++)
        json_array_append_new(array, json_string(metric_table[t->needs[i]].name));
    return array;
}

json_t *op_tools_json(const struct tool_list *l) {
    json_t *array = json_array();
    for (int i = 0; i < l->n; i++) {
        const struct tool_tally *t = &l->tallies[i];
        json_array_append_new(
            array,
            json_pack("{s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:o, s:o, s:o}", "name", t->tool->name,
                      "on", devices_text(t->tool), "summary", t->tool->summary, "needs",
                      needs_to_json(t->tool), "fired", t->n_fired, "followed", t->n_followed,
                      "helped", t->n_helped, "expected", json_optional_real(t->expected), "gain",
                      json_optional_real(t->gain), "error", json_optional_real(t->error)));
    }
    json_t *levels = json_array();
    for (int i = 0; i < CONFIDENCE_LEVELS; i++)
        json_array_append_new(levels,
                              json_pack("{s:f, s:i, s:i}", "from", l->levels[i].from, "followed",
                                        l->levels[i].n_followed, "helped", l->levels[i].n_helped));
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o}", "schema", "hone.tools/1", "runs",
                     l->n_runs < 0 ? 0 : l->n_runs, "predicted", l->n_predicted, "error",
                     l->n_predicted > 0 ? json_optional_real(l->error) : json_null(), "confidence",
                     levels, "tools", array);
}
