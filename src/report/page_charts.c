// The charts of the page as inline SVG: what a time is against what is possible, the roofline, and
// the search. Every mark has a title (what hovering shows) and leads to its node.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "model/bound.h"
#include "report/page.h"

enum { CROWD = 200, WIDTH = 720, HEIGHT = 330, LEFT = 76, RIGHT = 14, TOP = 16, BOTTOM = 46 };

bool page_bound(const struct run *r, struct bound *b) {
    struct error ignored;
    json_t *json = r->bound ? json_parse(r->bound, strlen(r->bound), &ignored) : NULL;
    bool ok = json && bound_from_json(json, b, &ignored);
    json_decref(json);
    return ok;
}

// ---- bars

static void bar(struct str *out, const char *kind, const char *name, double seconds, double most) {
    if (!isfinite(seconds) || !(seconds > 0))
        return;
    double part = seconds / most;
    bool is_cut = part > 1;
    str_printf(out, "<tr class=\"%s%s\"><th scope=\"row\">", kind, is_cut ? " cut" : "");
    page_text(out, name);
    str_printf(out, "</th><td><span style=\"width:%.1f%%\"></span></td><td>",
               100 * (is_cut ? 1 : part));
    page_seconds(out, seconds);
    str_puts(out, "</td></tr>\n");
}

void page_bars(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    const struct search_node *n = report_champion(v);
    struct bound b;
    bool has_bound = page_bound(r, &b);
    double champion = n ? r->confirm.median_s : NAN;
    double start = v->n_nodes > 0 ? v->nodes[0].time_s : NAN;
    double plain = n && !r->speedup_unknown ? r->confirm.baseline_median_s : NAN;
    double most = fmax(fmax(champion, start), has_bound ? b.reach_s : NAN);
    if (!isfinite(most))
        return;
    // A baseline that is far slower would leave nothing to see of the rest.
    if (isfinite(plain))
        most = fmin(fmax(most, plain), 6 * most);
    str_puts(out, "<table class=\"bars\"><caption>Time of a call</caption><tbody>\n");
    if (has_bound) {
        bar(out, "limit", "speed of light", b.light_s, most);
        bar(out, "reach", "reach of this machine", b.reach_s, most);
    }
    bar(out, "champion", "champion", champion, most);
    bar(out, "start", "where the search began", start, most);
    if (n)
        bar(out, "plain", r->confirm.baseline ? r->confirm.baseline : "baseline", plain, most);
    str_puts(out, "</tbody></table>\n");
}

// ---- axes

struct axis {
    double low, high;  // of the values
    double from, to;   // of the picture
    bool is_log;
};

static double place(const struct axis *x, double value) {
    double low = x->low, high = x->high;
    if (x->is_log)
        low = log10(low), high = log10(high), value = log10(value);
    return x->from + (x->to - x->from) * (value - low) / (high - low);
}

static void begin(struct str *out, const char *label) {
    str_printf(out, "<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
               WIDTH, HEIGHT);
    page_text(out, label);
    str_puts(out, "\">\n");
}

static void line(struct str *out, const char *kind, double x1, double y1, double x2, double y2) {
    str_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind,
               x1, y1, x2, y2);
}

static void label(struct str *out, const char *kind, double x, double y, const char *anchor,
                  const char *text) {
    str_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", kind, x, y,
               anchor);
    page_text(out, text);
    str_puts(out, "</text>\n");
}

// A dot that leads to its node.
static void dot(struct str *out, const struct search_node *n, const char *kind, double x, double y,
                double radius) {
    struct arena a = {0};
    double speedup = n->state == NODE_EVALUATED ? n->measurement.speedup : n->screening.speedup;
    str_printf(out,
               "<a href=\"#n%d\"><circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">"
               "<title>node %d: ",
               n->number, kind, x, y, radius, n->number);
    page_seconds(out, n->state == NODE_EVALUATED ? report_time(n) : n->screening.time_s);
    if (isfinite(speedup) && n->number > 0)
        str_printf(out, ", %s%.2fx", n->state == NODE_EVALUATED ? "" : "roughly ", speedup);
    if (n->move && *n->move) {
        str_puts(out, ", ");
        page_text(out, n->move);
    }
    str_puts(out, "</title></circle></a>\n");
    arena_reset(&a);
}

// ---- roofline

struct roof {
    double bytes_per_s, flops_per_s;
};

static void draw_roof(struct str *out, const struct axis *x, const struct axis *y,
                      const struct roof *r, const char *kind) {
    struct arena a = {0};
    if (!isfinite(r->bytes_per_s) || !isfinite(r->flops_per_s))
        return;
    double ridge = r->flops_per_s / r->bytes_per_s;
    double left = fmax(x->low, y->low / r->bytes_per_s), top = r->flops_per_s;
    if (ridge > left)
        line(out, kind, place(x, left), place(y, left * r->bytes_per_s),
             place(x, fmin(ridge, x->high)), place(y, fmin(ridge, x->high) * r->bytes_per_s));
    if (ridge < x->high)
        line(out, kind, place(x, fmax(ridge, x->low)), place(y, top), x->to, place(y, top));
    label(out, "tick", x->to - 6, place(y, top) - 6, "end", bound_quantity(&a, top, "FLOP/s"));
    double from = left * 2;
    // Below the solid roof, above the dashed one: they may lie close together.
    bool is_light = strstr(kind, "light") != NULL;
    if (ridge > from)
        label(out, "tick", place(x, from) + (is_light ? -10 : 12),
              place(y, from * r->bytes_per_s) + (is_light ? -8 : 14), is_light ? "end" : "start",
              bound_quantity(&a, r->bytes_per_s, "B/s"));
    arena_reset(&a);
}

static void draw_decades(struct str *out, const struct axis *x, const struct axis *y) {
    struct arena a = {0};
    for (double v = pow(10, ceil(log10(x->low))); v <= x->high; v *= 10) {
        line(out, "grid", place(x, v), y->from, place(x, v), y->to);
        label(out, "tick", place(x, v), y->from + 16, "middle", arena_printf(&a, "%g", v));
    }
    for (double v = pow(10, ceil(log10(y->low))); v <= y->high; v *= 10) {
        line(out, "grid", x->from, place(y, v), x->to, place(y, v));
        label(out, "tick", x->from - 6, place(y, v) + 4, "end", bound_quantity(&a, v, "FLOP/s"));
    }
    label(out, "axis", (x->from + x->to) / 2, y->from + 36, "middle",
          "operations per byte of least traffic");
    arena_reset(&a);
}

static double slowest(const struct run_view *v, const bool *is_shown) {
    double most = NAN;
    for (int i = 0; i < v->n_nodes; i++)
        if (is_shown[i])
            most = fmax(most, report_time(&v->nodes[i]));
    return fmax(most, v->run.confirm.present ? v->run.confirm.baseline_median_s : NAN);
}

static void draw_nodes(struct str *out, const struct run_view *v, const bool *is_shown,
                       const struct bound *b, const struct axis *x, const struct axis *y) {
    struct arena a = {0};
    const struct search_node *champion = report_champion(v);
    double bytes = b->work.bytes_read + b->work.bytes_written + b->work.bytes_again;
    double at = place(x, b->work.flops / bytes);
    for (int i = 0; i < v->n_nodes; i++)
        if (is_shown[i] && isfinite(report_time(&v->nodes[i])) && &v->nodes[i] != champion)
            dot(out, &v->nodes[i], "node", at, place(y, b->work.flops / report_time(&v->nodes[i])),
                3.5);
    if (isfinite(b->reach_s)) {
        double reach = place(y, b->work.flops / b->reach_s);
        line(out, "reach", at - 16, reach, at + 16, reach);
        label(out, "reach", at - 22, reach + 4, "end", "reach");
    }
    if (!champion)
        return;
    double top = place(y, b->work.flops / v->run.confirm.median_s);
    dot(out, champion, "champion", at, top, 6);
    label(out, "champion", at + 14, top + 4, "start",
          arena_printf(&a, "champion, %s",
                       bound_quantity(&a, b->work.flops / v->run.confirm.median_s, "FLOP/s")));
    if (v->run.confirm.baseline && !v->run.speedup_unknown) {
        double plain = place(y, b->work.flops / v->run.confirm.baseline_median_s);
        line(out, "plain", at - 8, plain, at + 8, plain);
        label(out, "tick", at + 14, plain + 4, "start", v->run.confirm.baseline);
    }
    arena_reset(&a);
}

void page_roofline(struct str *out, const struct run_view *v) {
    struct bound b;
    if (!page_bound(&v->run, &b) || !(b.work.flops > 0))
        return;
    double bytes = b.work.bytes_read + b.work.bytes_written + b.work.bytes_again;
    struct roof reach = {bytes / b.reach_memory_s, b.work.flops / b.reach_compute_s};
    struct roof light = {bytes / b.light_memory_s, b.work.flops / b.light_compute_s};
    bool has_reach = isfinite(reach.bytes_per_s) && isfinite(reach.flops_per_s);
    const struct roof *roof = has_reach ? &reach : &light;
    int n_left_out;
    bool *is_shown = page_choose(v, &n_left_out);
    double slow = slowest(v, is_shown), intensity = b.work.flops / bytes;
    double ridge = roof->flops_per_s / roof->bytes_per_s;
    double best = fmax(fmax(reach.flops_per_s, light.flops_per_s), b.work.flops / b.reach_s);
    if (isfinite(slow) && isfinite(ridge) && isfinite(best) && bytes > 0) {
        struct axis x = {fmin(intensity, ridge) / 20, fmax(intensity, ridge) * 20, LEFT,
                         WIDTH - RIGHT, true};
        struct axis y = {fmin(b.work.flops / slow, x.low * roof->bytes_per_s * 4) / 2, best * 3,
                         HEIGHT - BOTTOM, TOP, true};
        begin(out, "Roofline: the candidates under what this device can do");
        draw_decades(out, &x, &y);
        draw_roof(out, &x, &y, &light, "roof light");
        draw_roof(out, &x, &y, &reach, "roof");
        draw_nodes(out, v, is_shown, &b, &x, &y);
        str_puts(out, "</svg></div>\n");
    }
    free(is_shown);
}

// ---- the search

static double speedup_of(const struct search_node *n) {
    return isfinite(report_time(n)) ? n->number == 0 ? 1 : n->measurement.speedup : NAN;
}

// "1.5", "2": steps of a scale up to `most`.
static double step_of(double most) {
    static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (most / steps[i] <= 7)
            return steps[i];
    return most / 5;
}

static void draw_scale(struct str *out, const struct axis *x, const struct axis *y, int n) {
    struct arena a = {0};
    double step = step_of(y->high);
    for (double v = 0; v <= y->high; v += step) {
        line(out, v == 0 ? "base" : "grid", x->from, place(y, v), x->to, place(y, v));
        label(out, "tick", x->from - 6, place(y, v) + 4, "end", arena_printf(&a, "%gx", v));
    }
    line(out, "start", x->from, place(y, 1), x->to, place(y, 1));
    label(out, "tick", x->from, y->from + 16, "start", "0");
    label(out, "tick", x->to, y->from + 16, "end", arena_printf(&a, "%d", n - 1));
    label(out, "axis", (x->from + x->to) / 2, y->from + 36, "middle",
          "node, in the order in which they were proposed; over where the search began");
    arena_reset(&a);
}

// The best so far as a line of steps.
static void draw_best(struct str *out, const struct run_view *v, const struct axis *x,
                      const struct axis *y) {
    double best = NAN;
    bool is_open = false;
    for (int i = 0; i < v->n_nodes; i++) {
        double speedup = speedup_of(&v->nodes[i]);
        if (!isfinite(speedup) || speedup <= best)
            continue;
        if (!is_open)
            str_printf(out, "<path class=\"best\" d=\"M%.1f %.1f", place(x, i), place(y, speedup));
        else
            str_printf(out, "H%.1fV%.1f", place(x, i), place(y, speedup));
        is_open = true;
        best = speedup;
    }
    if (is_open)
        str_printf(out, "H%.1f\"/>\n", x->to);
}

static void draw_evaluations(struct str *out, const struct run_view *v, const bool *is_shown,
                             const struct axis *x, const struct axis *y) {
    const struct search_node *champion = report_champion(v);
    bool is_crowded = report_n_evaluated(v) > CROWD;  // intervals would hide everything else
    for (int i = 0; i < v->n_nodes; i++) {
        const struct search_node *n = &v->nodes[i];
        double speedup = speedup_of(n), at = place(x, i);
        if (!is_shown[i])
            continue;
        if (n->state == NODE_SCREENED && isfinite(n->screening.speedup))
            continue;  // over the champion of that time: not on this scale
        if (n->state == NODE_EVALUATED && !isfinite(speedup)) {
            dot(out, n, "failed", at, y->from, 3);
            continue;
        }
        if (!isfinite(speedup))
            continue;
        if (i > 0 && !is_crowded)
            line(out, "interval", at, place(y, fmin(n->measurement.speedup_high, y->high)), at,
                 place(y, fmax(n->measurement.speedup_low, 0)));
        dot(out, n, n == champion ? "champion" : "node", at, place(y, speedup),
            n == champion ? 6
            : is_crowded  ? 2
                          : 3.5);
    }
}

void page_progress(struct str *out, const struct run_view *v) {
    double most = 1;
    int n_timed = 0, n_left_out;
    for (int i = 0; i < v->n_nodes; i++) {
        double speedup = speedup_of(&v->nodes[i]);
        n_timed += isfinite(speedup);
        if (isfinite(speedup))
            most = fmax(most,
                        fmax(speedup, fmin(v->nodes[i].measurement.speedup_high, 1.5 * speedup)));
    }
    if (n_timed < 2)
        return;
    bool *is_shown = page_choose(v, &n_left_out);
    struct axis x = {0, v->n_nodes - 1, LEFT - 24, WIDTH - RIGHT, false};
    struct axis y = {0, most * 1.06, HEIGHT - BOTTOM, TOP, false};
    begin(out, "Speed-up of each judged candidate with its interval, and the best so far");
    draw_scale(out, &x, &y, v->n_nodes);
    draw_best(out, v, &x, &y);
    draw_evaluations(out, v, is_shown, &x, &y);
    str_puts(out, "</svg></div>\n");
    free(is_shown);
}
