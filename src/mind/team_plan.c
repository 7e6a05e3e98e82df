// The planner's answer: JSON, checked field by field.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "mind/team_private.h"

double plan_roi(double speedup, double risk_implementation, double risk_performance, double g) {
    double boldness = g > 0 && isfinite(g) ? log10(g / 5) : 0;
    return pow(speedup, 1 + (boldness > 0 ? boldness : 0)) /
           (risk_implementation * risk_performance);
}

// Where the object that begins at `from` ends, braces in strings not counted; NULL: it does not.
static const char *object_end(const char *from) {
    int depth = 0;
    bool in_string = false;
    for (const char *c = from; *c; c++) {
        if (in_string) {
            if (*c == '\\' && c[1])
                c++;
            else if (*c == '"')
                in_string = false;
        } else if (*c == '"') {
            in_string = true;
        } else if (*c == '{') {
            depth++;
        } else if (*c == '}' && --depth == 0) {
            return c + 1;
        }
    }
    return NULL;
}

json_t *plan_find_json(const char *text, char *why, size_t size) {
    snprintf(why, size, "there is no JSON object in it");
    for (const char *from = text; (from = strchr(from, '{')); from++) {
        const char *end = object_end(from);
        if (!end) {
            snprintf(why, size, "its JSON object is not closed: it was cut off");
            return NULL;
        }
        struct error err = {0};
        json_t *json = json_parse(from, (size_t)(end - from), &err);
        if (json)
            return json;
        snprintf(why, size, "its JSON has a mistake: %s", err.text);
        from = end - 1;
    }
    return NULL;
}

static int count_lines(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static bool is_name(const char *text) {
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return len > 0 && len <= 40 && text[len] == '\0';
}

static void check_span(struct json_reader *r, const struct hypothesis *h, int i, int n_lines) {
    const struct plan_span *s = &h->spans[i];
    if (!is_name(s->name))
        json_reader_fail(r, "a span's name is letters, digits, '_' and '-': '%.40s'", s->name);
    if (s->first < 1 || s->last < s->first || s->last > n_lines)
        json_reader_fail(r, "span %s is lines %d to %d of a text of %d lines", s->name, s->first,
                         s->last, n_lines);
    for (int j = 0; j < i; j++) {
        if (strcmp(h->spans[j].name, s->name) == 0)
            json_reader_fail(r, "two spans are called %s", s->name);
        if (s->first <= h->spans[j].last && h->spans[j].first <= s->last)
            json_reader_fail(r, "spans %s and %s overlap", h->spans[j].name, s->name);
    }
}

static void read_spans(struct json_reader *r, struct arena *a, const json_t *json,
                       const struct brief *b, struct hypothesis *h) {
    const json_t *spans = json_object_get(json, "spans");
    int n_lines = count_lines(window_base(b, h->wants_source));
    if (spans && !json_is_array(spans))
        json_reader_fail(r, "\"spans\" is not an array");
    if (json_array_size(spans) > SPANS_MAX)
        json_reader_fail(r, "more than %d spans", SPANS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);
        h->spans[i].name = json_read_string(r, a, span, "name");
        h->spans[i].first = (int)json_read_int(r, span, "first");
        h->spans[i].last = (int)json_read_int(r, span, "last");
        if (!r->failed)
            check_span(r, h, (int)i, n_lines);
        h->n_spans = (int)i + 1;
    }
}

static double in_range(struct json_reader *r, const json_t *json, const char *key, double least,
                       double most) {
    double value = json_read_number(r, json, key);
    if (!r->failed && !(value >= least && value <= most))
        json_reader_fail(r, "\"%s\" is %g, not from %g to %g", key, value, least, most);
    return r->failed ? least : value;
}

static void read_hypothesis(struct json_reader *r, struct arena *a, const json_t *json,
                            const struct brief *b, struct hypothesis *h) {
    const char *form = json_read_string(r, a, json, "form");
    h->cause = json_read_string(r, a, json, "cause");
    h->change = json_read_string(r, a, json, "change");
    h->finding = (int)json_read_int(r, json, "finding");
    h->speedup = in_range(r, json, "speedup", 0.1, 1000);
    h->risk_implementation = in_range(r, json, "risk_implementation", 1, 5);
    h->risk_performance = in_range(r, json, "risk_performance", 1, 5);
    if (r->failed)
        return;
    if (h->finding < 0 || h->finding > b->node->n_findings)
        json_reader_fail(r, "there is no finding %d", h->finding);
    if (strcmp(form, "kernel") != 0 && strcmp(form, "source") != 0)
        json_reader_fail(r, "\"form\" is '%.40s', neither kernel nor source", form);
    h->wants_source = strcmp(form, "source") == 0;
    if (!h->wants_source && !b->kernel)
        json_reader_fail(r, "this node has no kernel block: \"form\" must be source");
    if (!*h->change || !*h->cause)
        json_reader_fail(r, "\"cause\" or \"change\" is empty");
    read_spans(r, a, json, b, h);
}

// Best return first; of equals the one that was named first.
static void sort(struct hypotheses *list) {
    for (int i = 1; i < list->n; i++)
        for (int j = i; j > 0 && list->at[j].roi > list->at[j - 1].roi; j--) {
            struct hypothesis swap = list->at[j];
            list->at[j] = list->at[j - 1];
            list->at[j - 1] = swap;
        }
}

bool plan_read(struct arena *a, const struct brief *b, const char *answer, struct hypotheses *out,
               char *why, size_t size) {
    *out = (struct hypotheses){0};
    json_t *json = plan_find_json(answer, why, size);
    if (!json)
        return false;
    struct json_reader r = {.where = "plan"};
    const json_t *list = json_read_array(&r, json, "hypotheses");
    double best_s = b->leaders.n > 0 ? b->leaders.nodes[0]->time_s : NAN;
    if (!r.failed && json_array_size(list) == 0)
        json_reader_fail(&r, "there is no hypothesis in it");
    for (size_t i = 0; !r.failed && i < json_array_size(list) && out->n < HYPOTHESES_MAX; i++) {
        struct hypothesis *h = &out->at[out->n++];
        h->index = (int)i;
        read_hypothesis(&r, a, json_array_get(list, i), b, h);
        h->roi = plan_roi(h->speedup, h->risk_implementation, h->risk_performance,
                          best_s / b->bound->reach_s);
    }
    json_decref(json);
    sort(out);
    struct error err = {0};
    if (json_reader_done(&r, &err))
        return true;
    snprintf(why, size, "%s", err.text);
    return false;
}
