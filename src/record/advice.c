#include "record/advice.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

// So many trials that brought nothing stand against what memory says of a move.
static const double DOUBT = 2;

int move_parts(struct arena *a, const char *move, const char **parts, int room) {
    if (strncmp(move, "merge ", 6) == 0 || strncmp(move, "split ", 6) == 0) {
        parts[0] = arena_strndup(a, move, 5);
        return 1;
    }
    const char *colon = strstr(move, ": "), *at = colon ? colon + 2 : move;
    const char *whole = at;
    int n = 0;
    while (*at && n < room) {
        const char *comma = strstr(at, ", ");
        size_t len = comma ? (size_t)(comma - at) : strlen(at);
        const char *part = arena_strndup(a, at, len);
        // What has neither an arrow nor another emitter followed from the rest.
        if (strstr(part, " -> ") || strncmp(part, "as ", 3) == 0)
            parts[n++] = part;
        at += len + (comma ? 2 : 0);
    }
    if (n == 0)
        parts[n++] = arena_strdup(a, whole);
    return n;
}

static const struct advice_prior *find_move(const struct advice *d, const char *move) {
    for (int i = 0; i < d->n_priors; i++)
        if (d->priors[i].move && strcmp(d->priors[i].move, move) == 0)
            return &d->priors[i];
    return NULL;
}

double advice_gain(const struct advice *d, const char *move, int *n) {
    struct arena scratch = {0};
    const char *parts[MOVE_PARTS_MAX];
    double log_gain = 0;
    int n_parts = d && d->n_priors > 0 ? move_parts(&scratch, move, parts, MOVE_PARTS_MAX) : 0;
    int least = 0;
    for (int i = 0; i < n_parts; i++) {
        const struct advice_prior *p = find_move(d, parts[i]);
        int n_of = p ? p->n_timed : 0;
        least = i == 0 || n_of < least ? n_of : least;
        if (p)
            log_gain += log(p->gain) * p->weight / (p->weight + DOUBT);
    }
    arena_reset(&scratch);
    if (n)
        *n = least;
    return exp(log_gain);
}

const struct advice_prior *advice_of_tool(const struct advice *d, const char *tool) {
    for (int i = 0; d && tool && i < d->n_priors; i++)
        if (d->priors[i].tool && strcmp(d->priors[i].tool, tool) == 0)
            return &d->priors[i];
    return NULL;
}

const char *advice_text(struct arena *a, const struct advice_prior *p) {
    return arena_printf(
        a, "on siblings of this problem %s%s brought %.2fx on average, faster in %d of %d",
        p->move ? "" : "what followed from ", p->move ? p->move : p->tool, p->gain, p->n_better,
        p->n_timed);
}

json_t *advice_to_json(const struct advice *d) {
    json_t *priors = json_array(), *starts = json_array();
    for (int i = 0; i < d->n_priors; i++) {
        const struct advice_prior *p = &d->priors[i];
        json_array_append_new(
            priors, json_pack("{s:o, s:o, s:f, s:f, s:i, s:i}", "move", json_optional_text(p->move),
                              "tool", json_optional_text(p->tool), "gain", p->gain, "weight",
                              p->weight, "timed", p->n_timed, "better", p->n_better));
    }
    for (int i = 0; i < d->n_starts; i++)
        json_array_append_new(starts, json_pack("{s:s, s:s}", "kernel", d->starts[i].kernel,
                                                "words", d->starts[i].words));
    return json_pack("{s:s, s:s, s:i, s:o, s:o}", "schema", "hone.advice/1", "run", d->run,
                     "lessons", d->n_lessons, "priors", priors, "starts", starts);
}

bool advice_from_json(struct arena *a, const json_t *json, struct advice *d, struct error *err) {
    struct json_reader r = {.where = "advice"};
    *d = (struct advice){0};
    json_read_schema(&r, json, "hone.advice/1");
    d->run = json_read_string(&r, a, json, "run");
    d->n_lessons = (int)json_read_int(&r, json, "lessons");
    const json_t *priors = json_read_array(&r, json, "priors");
    const json_t *starts = json_read_array(&r, json, "starts");
    int n = (int)json_array_size(priors), n_starts = (int)json_array_size(starts);
    d->priors = arena_array(a, struct advice_prior, n + 1);
    for (int i = 0; i < n && !r.failed; i++) {
        const json_t *p = json_array_get(priors, (size_t)i);
        d->priors[d->n_priors++] =
            (struct advice_prior){.move = json_read_optional_string(&r, a, p, "move"),
                                  .tool = json_read_optional_string(&r, a, p, "tool"),
                                  .gain = json_read_number(&r, p, "gain"),
                                  .weight = json_read_number(&r, p, "weight"),
                                  .n_timed = (int)json_read_int(&r, p, "timed"),
                                  .n_better = (int)json_read_int(&r, p, "better")};
        if (!r.failed && !(d->priors[i].gain > 0 && d->priors[i].weight >= 0))
            json_reader_fail(&r, "prior %d has a gain of %g", i, d->priors[i].gain);
    }
    for (int i = 0; i < n_starts && i < ADVICE_STARTS_MAX && !r.failed; i++) {
        const json_t *s = json_array_get(starts, (size_t)i);
        d->starts[d->n_starts++] =
            (struct advice_start){.kernel = json_read_string(&r, a, s, "kernel"),
                                  .words = json_read_string(&r, a, s, "words")};
    }
    return json_reader_done(&r, err);
}
