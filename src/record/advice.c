#include "record/advice.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

int move_parts(struct arena *a, const char *move, const char **parts, int room) {
    if (strncmp(move, "lay out ", 8) == 0) {
        parts[0] = "lay out";
        return 1;
    }
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

static bool same(const char *x, const char *y) {
    return x == y || (x && y && strcmp(x, y) == 0);
}

static const struct advice_prior *find_exactly(const struct advice *d, const char *kind,
                                               const char *tool, const char *bottleneck) {
    for (int i = 0; i < d->n_priors; i++) {
        const struct advice_prior *p = &d->priors[i];
        if (strcmp(p->move, kind) == 0 && same(p->tool, tool) && same(p->bottleneck, bottleneck))
            return p;
    }
    return NULL;
}

const struct advice_prior *advice_find(const struct advice *d, const char *kind, const char *tool,
                                       const char *bottleneck) {
    const struct advice_prior *p;
    if (tool && bottleneck && (p = find_exactly(d, kind, tool, bottleneck)) &&
        p->n_timed >= ADVICE_ENOUGH)
        return p;
    if (bottleneck && (p = find_exactly(d, kind, NULL, bottleneck)) && p->n_timed >= ADVICE_ENOUGH)
        return p;
    if (tool && (p = find_exactly(d, kind, tool, NULL)))
        return p;
    return find_exactly(d, kind, NULL, NULL);
}

void advice_describe(struct arena *a, struct advice_prior *p) {
    p->words =
        arena_printf(a, "%.2fx on average on siblings of this problem%s%s%s, faster in %d of %d",
                     p->gain, p->bottleneck ? " where " : "", p->bottleneck ? p->bottleneck : "",
                     p->bottleneck ? " limited it" : "", p->n_better, p->n_timed);
}

json_t *advice_to_json(const struct advice *d) {
    json_t *priors = json_array(), *starts = json_array(), *blocks = json_array();
    for (int i = 0; i < d->n_blocks; i++) {
        const struct advice_block *b = &d->blocks[i];
        json_array_append_new(blocks,
                              json_pack("{s:s, s:f, s:f, s:i}", "kernel", b->kernel, "log_s",
                                        b->log_s, "prior", b->prior, "sibling", b->sibling));
    }
    for (int i = 0; i < d->n_priors; i++) {
        const struct advice_prior *p = &d->priors[i];
        json_t *prior = json_pack("{s:s, s:o, s:f, s:f, s:i, s:i}", "move", p->move, "tool",
                                  json_optional_text(p->tool), "gain", p->gain, "weight", p->weight,
                                  "timed", p->n_timed, "better", p->n_better);
        if (p->bottleneck)
            json_object_set_new(prior, "bottleneck", json_string(p->bottleneck));
        json_array_append_new(priors, prior);
    }
    for (int i = 0; i < d->n_starts; i++) {
        json_t *start =
            json_pack("{s:s, s:s}", "kernel", d->starts[i].kernel, "words", d->starts[i].words);
        if (d->starts[i].is_default)
            json_object_set_new(start, "default", json_true());
        json_array_append_new(starts, start);
    }
    json_t *json =
        json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "schema", "hone.advice/1", "run", d->run,
                  "lessons", d->n_lessons, "priors", priors, "starts", starts, "blocks", blocks);
    if (d->is_start_first)
        json_object_set_new(json, "start_first", json_true());
    if (d->is_weighed)
        json_object_set_new(json, "weighed", json_true());
    return json;
}

// Runs of before it was kept have none.
static void blocks_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct advice *d) {
    const json_t *blocks =
        json_object_get(json, "blocks") ? json_read_array(r, json, "blocks") : NULL;
    int n = (int)json_array_size(blocks);
    d->blocks = arena_array(a, struct advice_block, ADVICE_BLOCKS_MAX);
    for (int i = 0; i < n && i < ADVICE_BLOCKS_MAX && !r->failed; i++) {
        const json_t *b = json_array_get(blocks, (size_t)i);
        d->blocks[d->n_blocks++] =
            (struct advice_block){.kernel = json_read_string(r, a, b, "kernel"),
                                  .log_s = json_read_number(r, b, "log_s"),
                                  .prior = json_read_number(r, b, "prior"),
                                  .sibling = (int)json_read_int(r, b, "sibling")};
        if (!r->failed && d->blocks[i].sibling < 1)
            json_reader_fail(r, "block %d is of sibling %d", i, d->blocks[i].sibling);
    }
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
            (struct advice_prior){.move = json_read_string(&r, a, p, "move"),
                                  .tool = json_read_optional_string(&r, a, p, "tool"),
                                  .gain = json_read_number(&r, p, "gain"),
                                  .weight = json_read_number(&r, p, "weight"),
                                  .n_timed = (int)json_read_int(&r, p, "timed"),
                                  .n_better = (int)json_read_int(&r, p, "better")};
        if (!r.failed && !(d->priors[i].gain > 0 && d->priors[i].weight >= 0))
            json_reader_fail(&r, "prior %d has a gain of %g", i, d->priors[i].gain);
        if (json_object_get(p, "bottleneck"))
            d->priors[i].bottleneck = json_read_string(&r, a, p, "bottleneck");
        advice_describe(a, &d->priors[i]);
    }
    for (int i = 0; i < n_starts && i < ADVICE_STARTS_MAX && !r.failed; i++) {
        const json_t *s = json_array_get(starts, (size_t)i);
        d->starts[d->n_starts++] = (struct advice_start){
            .kernel = json_read_string(&r, a, s, "kernel"),
            .words = json_read_string(&r, a, s, "words"),
            .is_default = json_object_get(s, "default") && json_read_bool(&r, s, "default")};
    }
    blocks_from_json(&r, a, json, d);
    // Runs of before it was kept began with the default kernel.
    d->is_start_first =
        json_object_get(json, "start_first") && json_read_bool(&r, json, "start_first");
    d->is_weighed = json_object_get(json, "weighed") && json_read_bool(&r, json, "weighed");
    return json_reader_done(&r, err);
}
