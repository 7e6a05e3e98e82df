// Phrases that several reports share: times, shares of the bound, states, wrapped lines.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "model/bound.h"
#include "record/measurement.h"
#include "report/report_private.h"

// Length of what must stay on one line: a word, and what a number counts or is measured in.
static size_t word_length(const char *text) {
    size_t len = strcspn(text, " \n");
    if (len > 0 && text[len] == ' ' && strspn(text, "(0123456789.") == len)
        len += 1 + strcspn(text + len + 1, " \n");
    return len;
}

void report_wrap(struct str *out, const char *text, int column, int indent) {
    while (*text) {
        text += strspn(text, " \n");
        size_t len = word_length(text);
        if (len == 0)
            break;
        if (column > indent && column + 1 + (int)len > REPORT_COLUMNS) {
            str_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            str_puts(out, " ");
            column++;
        }
        str_append(out, text, len);
        column += (int)len;
        text += len;
    }
    str_puts(out, "\n");
}

void report_indented(struct str *out, const char *text, int indent) {
    while (*text) {
        size_t len = strcspn(text, "\n");
        str_printf(out, "%*s%.*s\n", indent, "", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

void report_seconds(struct str *out, double seconds, int width) {
    struct arena a = {0};
    const char *text = isfinite(seconds) ? clock_duration(&a, seconds * 1e9) : "-";
    // The µ takes two bytes and one column.
    int extra = strstr(text, "µ") ? 1 : 0;
    str_printf(out, "%*s", width + extra, text);
    arena_reset(&a);
}

// By the paired ratio, not by the clock of that moment: a machine that is busy for a while would
// let a faster kernel stand there with a longer time.
double report_time(const struct search_node *n) {
    bool works = n->state == NODE_EVALUATED && isfinite(n->time_s) && n->measurement.present;
    return works ? n->time_s : NAN;
}

double report_ratio(const struct run_view *v, const struct search_node *n) {
    double ratio = report_time(&v->nodes[0]) / report_time(n);
    return isfinite(ratio) ? ratio : n->measurement.speedup;
}

static bool read_bound(const struct run *r, struct bound *b) {
    struct error ignored;
    json_t *json = r->bound ? json_parse(r->bound, strlen(r->bound), &ignored) : NULL;
    bool ok = json && bound_from_json(json, b, &ignored);
    json_decref(json);
    return ok;
}

double report_reach(const struct run *r) {
    struct bound b;
    return read_bound(r, &b) ? b.reach_s : NAN;
}

double report_least_bytes(const struct run *r) {
    struct bound b;
    return read_bound(r, &b) ? b.work.bytes_read + b.work.bytes_written : NAN;
}

double report_light(const struct run *r) {
    struct bound b;
    return read_bound(r, &b) ? b.light_s : NAN;
}

const char *report_bound_line(struct arena *a, const struct run *r) {
    struct bound b;
    return read_bound(r, &b) ? bound_line(a, &b) : NULL;
}

const char *report_store(const struct run_view *v) {
    return v->store_option ? v->store_option : "";
}

const char *report_fractions(struct arena *a, const struct run *r, double seconds) {
    double reach = report_reach(r) / seconds, light = report_light(r) / seconds;
    const char *first =
        isfinite(reach) ? arena_printf(a, "%s of reach", str_percent(a, reach)) : "";
    if (!isfinite(light))
        return first;
    return arena_printf(a, "%s%s%s of the speed of light", first, *first ? ", " : "",
                        str_percent(a, light));
}

const char *report_width(struct arena *a, const struct measurement *m) {
    const char *text = measurement_width_text(a, m->speedup_low, m->speedup_high);
    return text ? arena_printf(a, ": %s", text) : "";
}

const char *report_start(const struct run *r) {
    return r->start.source && r->start.label ? r->start.label : "the default kernel";
}

const char *report_objective(struct arena *a, const struct run *r) {
    if (r->objective == OBJECTIVE_TIME)
        return NULL;
    if (r->champion == r->fastest)
        return arena_printf(a, "%s: the fastest, nothing better was resolved",
                            run_objective_names[r->objective]);
    return r->objective == OBJECTIVE_ENERGY
               ? arena_printf(a, "energy: less than node %d, the fastest, and not slower",
                              r->fastest)
               : arena_printf(a, "edp: less energy times time than node %d, the fastest",
                              r->fastest);
}

json_t *report_bound_json(const struct run *r) {
    struct bound b;
    return read_bound(r, &b) ? bound_to_json(&b) : json_null();
}

bool report_is_confirmed(const struct run *r) {
    return r->champion >= 0 && r->confirm.present;
}

const struct search_node *report_champion(const struct run_view *v) {
    bool there = report_is_confirmed(&v->run) && v->run.champion < v->n_nodes;
    return there ? &v->nodes[v->run.champion] : NULL;
}

int report_n_evaluated(const struct run_view *v) {
    int n = 0;
    for (int i = 0; i < v->n_nodes; i++)
        n += v->nodes[i].state == NODE_EVALUATED;
    return n;
}

int report_n_screened(const struct run_view *v) {
    int n = 0;
    for (int i = 0; i < v->n_nodes; i++)
        n += v->nodes[i].state == NODE_SCREENED && !v->nodes[i].screening.is_untimed;
    return n;
}

// The reasons are those of search/optimize.c.
const char *report_stop_text(const char *reason) {
    static const struct {
        const char *reason, *words;
    } table[] = {
        {"reach", "near enough to reach"},
        {"plateau",
         "plateau: no significant gain in 16 evaluations, six screened ones counted as one"},
        {"evals", "the number of evaluations was used up"},
        {"seconds", "the time was used up"},
        {"exhausted", "nothing left to try"},
        {"calls", "the number of calls to the model was used up"},
        {"tokens", "the tokens for the model were used up"},
        {"money", "the money for the model was used up"},
        {"interrupted", "interrupted"},
        {"degenerate", "the problem is degenerate: a kernel that computes nothing would pass"},
    };
    for (size_t i = 0; reason && i < sizeof table / sizeof table[0]; i++)
        if (strcmp(reason, table[i].reason) == 0)
            return table[i].words;
    return reason ? reason : "not stopped yet";
}

const char *report_degenerate(struct arena *a, const struct run *r) {
    return r->null_kernel
               ? arena_printf(a,
                              "degenerate: a kernel that does no more than %s would pass on every "
                              "input set, so nothing was searched for",
                              r->null_kernel)
               : NULL;
}

const char *report_state(const struct run_view *v) {
    if (v->run.null_kernel)
        return "degenerate";
    if (v->run.state == RUN_ACTIVE && !v->is_running)
        return "killed";
    return run_state_name(v->run.state);
}
