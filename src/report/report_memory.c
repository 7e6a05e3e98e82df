// What was learned, by problem and by move: lessons summed up.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "record/lesson.h"
#include "report/report_memory.h"
#include "report/report_private.h"

// Lessons on the same form, types, sizes and device.
struct group {
    const struct lesson *best;  // the one with the fastest champion, else the newest
    int n_runs, n_evals, n_screened;
};

static bool same_place(const struct lesson *x, const struct lesson *y) {
    if (strcmp(x->kind.form, y->kind.form) != 0 || strcmp(x->kind.types, y->kind.types) != 0 ||
        strcmp(x->device, y->device) != 0 || strcmp(x->target, y->target) != 0 ||
        x->kind.n_sizes != y->kind.n_sizes)
        return false;
    for (int i = 0; i < x->kind.n_sizes; i++)
        if (x->kind.sizes[i] != y->kind.sizes[i])
            return false;
    return true;
}

static int group_by_problem(struct arena *a, const struct lesson *lessons, int n,
                            struct group **out) {
    struct group *groups = arena_array(a, struct group, n + 1);
    int n_groups = 0;
    for (int i = 0; i < n; i++) {
        const struct lesson *l = &lessons[i];
        int g = 0;
        while (g < n_groups && !same_place(groups[g].best, l))
            g++;
        if (g == n_groups)
            groups[n_groups++] = (struct group){.best = l};
        if (isfinite(l->time_s) &&
            !(isfinite(groups[g].best->time_s) && groups[g].best->time_s <= l->time_s))
            groups[g].best = l;
        groups[g].n_runs++;
        groups[g].n_evals += l->n_evals;
        groups[g].n_screened += l->n_screened;
    }
    *out = groups;
    return n_groups;
}

void report_memory_problems(struct str *out, const struct lesson *lessons, int n_lessons) {
    struct arena a = {0};
    struct group *groups;
    int n = group_by_problem(&a, lessons, n_lessons, &groups);
    str_printf(out, "%5s %6s %9s %8s %8s  %s\n", "runs", "evals", "best", "of reach", "speed-up",
               "problem");
    for (int i = 0; i < n; i++) {
        const struct lesson *l = groups[i].best;
        char reach[16] = "-", speedup[16] = "-";
        if (isfinite(l->of_reach))
            snprintf(reach, sizeof reach, "%.0f%%", 100 * l->of_reach);
        if (isfinite(l->speedup))
            snprintf(speedup, sizeof speedup, "%.2fx", l->speedup);
        str_printf(out, "%5d %6d ", groups[i].n_runs, groups[i].n_evals);
        report_seconds(out, l->time_s, 9);
        str_printf(out, " %8s %8s  %s %s\n", reach, speedup, l->problem, l->shape);
        str_printf(out, "%42s%s; %s; %s\n", "", l->kind.skeleton, l->kind.types, l->device);
    }
    arena_reset(&a);
}

static int by_gain(const void *x, const void *y) {
    const struct outcome *p = x, *q = y;
    double a = outcome_gain(p), b = outcome_gain(q);
    if (isnan(a) != isnan(b))
        return isnan(a) - isnan(b);
    return a != b && !isnan(a) ? (a < b) - (a > b) : strcmp(p->move, q->move);
}

static bool same_text(const char *x, const char *y) {
    return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static int group_by_move(struct arena *a, const struct lesson *lessons, int n,
                         struct outcome **out) {
    int room = 0, n_out = 0;
    for (int i = 0; i < n; i++)
        room += lessons[i].n_outcomes;
    struct outcome *all = arena_array(a, struct outcome, room + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < lessons[i].n_outcomes; j++) {
            const struct outcome *o = &lessons[i].outcomes[j];
            int k = 0;
            while (k < n_out && !(same_text(all[k].move, o->move) &&
                                  same_text(all[k].bottleneck, o->bottleneck) &&
                                  same_text(all[k].tool, o->tool)))
                k++;
            if (k == n_out)
                all[n_out++] =
                    (struct outcome){.move = o->move, .bottleneck = o->bottleneck, .tool = o->tool};
            outcome_add(&all[k], o);
        }
    qsort(all, (size_t)n_out, sizeof *all, by_gain);
    *out = all;
    return n_out;
}

void report_memory_moves(struct str *out, const struct lesson *lessons, int n_lessons) {
    struct arena a = {0};
    struct outcome *all;
    int n = group_by_move(&a, lessons, n_lessons, &all);
    str_printf(out, "%6s %6s %7s %7s  %-9s %-11s %s\n", "tried", "timed", "gain", "faster", "bound",
               "finding", "move");
    for (int i = 0; i < n; i++) {
        const struct outcome *o = &all[i];
        char gain[16] = "-";
        if (o->n_timed > 0)
            snprintf(gain, sizeof gain, "%.2fx", outcome_gain(o));
        str_printf(out, "%6d %6d %7s %7d  %-9s %-11s %s\n", o->n_tried, o->n_timed, gain,
                   outcome_n_better(o), o->bottleneck, o->tool ? o->tool : "-", o->move);
    }
    arena_reset(&a);
}

static json_t *problem_json(const struct group *g) {
    const struct lesson *l = g->best;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o}",
                     "problem", l->problem, "shape", l->shape, "form", l->kind.form, "skeleton",
                     l->kind.skeleton, "ops", l->kind.ops, "types", l->kind.types, "target",
                     l->target, "device", l->device, "runs", g->n_runs, "evals", g->n_evals,
                     "screened", g->n_screened, "best_s", json_optional_real(l->time_s), "of_reach",
                     json_optional_real(l->of_reach), "speedup", json_optional_real(l->speedup),
                     "block", json_optional_text(l->block));
}

json_t *report_memory_json(const char *path, const struct lesson *lessons, int n_lessons) {
    struct arena a = {0};
    struct group *groups;
    struct outcome *moves;
    json_t *problems = json_array(), *all = json_array();
    int n = group_by_problem(&a, lessons, n_lessons, &groups);
    for (int i = 0; i < n; i++)
        json_array_append_new(problems, problem_json(&groups[i]));
    n = group_by_move(&a, lessons, n_lessons, &moves);
    for (int i = 0; i < n; i++)
        json_array_append_new(all, outcome_to_json(&moves[i]));
    arena_reset(&a);
    return json_pack("{s:s, s:s, s:i, s:o, s:o}", "schema", "hone.memory/1", "path", path,
                     "lessons", n_lessons, "problems", problems, "moves", all);
}
