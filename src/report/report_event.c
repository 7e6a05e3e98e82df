// A running optimisation line by line: what `hone optimize` prints as events come.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "report/report_private.h"

static void say_started(struct str *out, const struct run *r) {
    struct arena a = {0};
    str_printf(out, "target    %s: %s\n", r->target, r->device);
    str_printf(out, "problem   %s\n", r->problem_name);
    const char *bound = report_bound_line(&a, r);
    if (bound) {
        str_puts(out, "bound     ");
        report_wrap(out, bound, 10, 10);
    }
    str_printf(out, "run       %lld: policy %s, proposer %s, seed %llu%s\n", (long long)r->id,
               r->policy, r->proposer, (unsigned long long)r->seed,
               r->n_nodes > 0 ? ", resumed" : "");
    str_printf(out, "\n%8s  %-10s %9s %9s %9s  %s\n", "node", "verdict", "time", "of reach",
               "speed-up", "move");
    arena_reset(&a);
}

static void say_evaluated(struct str *out, const struct event *e) {
    const struct search_node *n = e->node;
    char name[32], reach[16] = "-", speedup[16] = "-";
    snprintf(name, sizeof name, "%lld.%d", (long long)e->run->id, n->number);
    double fraction = e->reach_s / report_time(n);
    if (isfinite(fraction))
        snprintf(reach, sizeof reach, "%.0f%%", 100 * fraction);
    if (isfinite(report_time(n)) && n->number > 0)
        snprintf(speedup, sizeof speedup, "%.2fx", n->measurement.speedup);
    str_printf(out, "%8s%s %-10s ", name, e->best == n->number ? "*" : " ",
               verdict_kind_name(n->verdict.kind));
    report_seconds(out, report_time(n), 9);
    str_printf(out, " %9s %9s  %s\n", reach, speedup, n->number ? n->move : report_start(e->run));
}

static void say_raced(struct str *out, const struct event *e) {
    str_printf(out, "%9s ", "");
    report_wrap(out, e->words, 10, 10);
}

static void say_disqualified(struct str *out, const struct event *e) {
    char head[48];
    int column = snprintf(head, sizeof head, "%lld.%d did not pass: ", (long long)e->run->id,
                          e->node->number);
    str_puts(out, head);
    report_wrap(out, e->node->verdict.evidence, column - 1, 4);
}

void report_event(struct str *out, const struct event *e) {
    switch (e->kind) {
    case EVENT_NOTE:
        str_printf(out, "%s\n", e->words);
        break;
    case EVENT_STARTED:
        say_started(out, e->run);
        break;
    case EVENT_RACED:
        say_raced(out, e);
        break;
    case EVENT_EVALUATED:
        say_evaluated(out, e);
        break;
    case EVENT_CONFIRMING:
        str_printf(out, "%s %lld.%d %s %s\n", run_is_on_table(e->run) ? "comparing" : "confirming",
                   (long long)e->run->id, e->node->number,
                   run_is_on_table(e->run) ? "by the table's times with" : "on fresh data, against",
                   e->run->baseline.label ? e->run->baseline.label : "plain");
        break;
    case EVENT_DISQUALIFIED:
        say_disqualified(out, e);
        break;
    case EVENT_PROPOSED:
    case EVENT_RACING:
    case EVENT_FINISHED:
    case EVENT_COUNT:
        break;
    }
}
