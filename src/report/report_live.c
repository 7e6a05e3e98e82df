#include "report/report_live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "record/event.h"
#include "report/report_private.h"

enum { LABEL = 9, LEAST_COLUMNS = 20 };

// Bytes of UTF-8 that take so many columns; a letter is one.
static size_t fitting(const char *text, int columns) {
    size_t n = 0;
    for (int used = 0; text[n]; n++) {
        bool begins = ((unsigned char)text[n] & 0xc0) != 0x80;
        if (begins && used++ == columns)
            break;
    }
    return n;
}

static void put_line(struct str *out, const struct live_style *style, const char *label,
                     const char *text) {
    int columns = style->columns < LEAST_COLUMNS ? LEAST_COLUMNS : style->columns;
    int room = columns - 1 - LABEL;
    size_t len = fitting(text, room);
    bool is_cut = text[len] != '\0';
    str_printf(out, style->is_plain ? "%-*s" : "\033[2m%-*s\033[0m", LABEL, label);
    str_append(out, text, is_cut ? fitting(text, room - 1) : len);
    str_puts(out, is_cut ? "~\n" : "\n");
}

static void put_evals(struct str *out, const struct event *e, const struct live_style *style) {
    struct str text = {0};
    str_printf(&text, "%d verified", e->n_evals);
    if (e->run->max_evals > 0)
        str_printf(&text, " of %d", e->run->max_evals);
    str_printf(&text, ", %d screened", e->n_screened);
    put_line(out, style, "tried", str_text(&text));
    str_reset(&text);
}

static void put_best(struct str *out, const struct event *e, const struct live_style *style) {
    struct str text = {0};
    const struct search_node *n = e->best_node;
    if (!n) {
        put_line(out, style, "best", "nothing has passed yet");
        return;
    }
    report_seconds(&text, e->best_s, 0);
    if (isfinite(e->reach_s))
        str_printf(&text, ", %.0f%% of reach", 100 * e->reach_s / e->best_s);
    const struct measurement *m = &n->measurement;
    if (n->number > 0 && m->present)
        str_printf(&text, ", %.2fx (%.2f to %.2f)", m->speedup, m->speedup_low, m->speedup_high);
    put_line(out, style, "best", str_text(&text));
    str_reset(&text);
}

static void put_now(struct str *out, const struct event *e, const struct live_style *style) {
    struct str text = {0};
    const struct search_node *n = e->node;
    if (e->kind == EVENT_RACING || e->kind == EVENT_RACED) {
        put_line(out, style, e->kind == EVENT_RACING ? "racing" : "raced", e->words);
    } else if (n) {
        str_printf(&text, "%lld.%d %s", (long long)e->run->id, n->number,
                   n->number ? n->move : report_start(e->run));
        put_line(out, style,
                 e->kind == EVENT_CONFIRMING  ? "confirms"
                 : e->kind == EVENT_EVALUATED ? "judged"
                                              : "judging",
                 str_text(&text));
        put_line(out, style, "because", n->reason ? n->reason : "");
    }
    str_reset(&text);
}

void report_live_time(struct str *out, double elapsed_s, double most_s,
                      const struct live_style *style) {
    struct str text = {0};
    double left_s = most_s - elapsed_s;
    str_printf(&text, "%.0f s", elapsed_s);
    if (style->is_stopping)
        str_puts(&text, ", stopping: Ctrl-C again ends it at once");
    else if (left_s > 0)
        str_printf(&text, ", at most %.0f s left", left_s);
    put_line(out, style, "time", str_text(&text));
    str_reset(&text);
}

void report_live_body(struct str *out, const struct event *e, const struct live_style *style) {
    if (!e->run || e->kind == EVENT_NOTE || e->kind == EVENT_FINISHED)
        return;
    put_evals(out, e, style);
    put_best(out, e, style);
    put_now(out, e, style);
}

// Bytes of a line that take so many columns; colours take none.
static size_t fitting_line(const char *line, int columns) {
    size_t n = 0;
    for (int used = 0; line[n] && line[n] != '\n'; n++) {
        if (line[n] == '\033') {
            n += strcspn(line + n, "m");
            continue;
        }
        bool begins = ((unsigned char)line[n] & 0xc0) != 0x80;
        if (begins && used++ == columns)
            break;
    }
    return n;
}

void report_live_cut(struct str *out, const char *lines, const struct live_style *style) {
    int room = (style->columns < LEAST_COLUMNS ? LEAST_COLUMNS : style->columns) - 1;
    for (const char *line = lines; *line;) {
        size_t len = strcspn(line, "\n"), fits = fitting_line(line, room);
        str_append(out, line, fits < len ? fitting_line(line, room - 1) : len);
        str_puts(out, fits < len ? "~\n" : "\n");
        line += len + (line[len] == '\n');
    }
}

void report_live(struct str *out, const struct event *e, const struct live_style *style) {
    size_t before = out->len;
    report_live_body(out, e, style);
    if (out->len > before)
        report_live_time(out, e->elapsed_s, e->run->max_seconds, style);
}
