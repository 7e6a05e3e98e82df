#include "record/lesson.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

// A twentieth either way is no difference that a rough timing resolves.
const double gain_bin_ends[GAIN_BINS - 1] = {0.5, 0.67, 0.8, 0.95, 1.05, 1.25, 1.5, 2};

int gain_bin(double gain) {
    int i = 0;
    while (i < GAIN_BINS - 1 && gain > gain_bin_ends[i])
        i++;
    return i;
}

int outcome_n_better(const struct outcome *o) {
    int n = 0;
    for (int i = GAIN_FIRST_BETTER; i < GAIN_BINS; i++)
        n += o->gains[i];
    return n;
}

double outcome_gain(const struct outcome *o) {
    return o->n_timed > 0 ? exp(o->log_sum / o->n_timed) : NAN;
}

void outcome_add(struct outcome *to, const struct outcome *o) {
    to->n_tried += o->n_tried;
    to->n_timed += o->n_timed;
    to->log_sum += o->log_sum;
    to->log_sq += o->log_sq;
    for (int i = 0; i < GAIN_BINS; i++)
        to->gains[i] += o->gains[i];
    for (int i = 0; i < VERDICT_COUNT; i++)
        to->verdicts[i] += o->verdicts[i];
}

json_t *outcome_to_json(const struct outcome *o) {
    json_t *gains = json_array(), *verdicts = json_object();
    for (int i = 0; i < GAIN_BINS; i++)
        json_array_append_new(gains, json_integer(o->gains[i]));
    for (int i = 0; i < VERDICT_COUNT; i++)
        if (o->verdicts[i] > 0)
            json_object_set_new(verdicts, verdict_kind_name(i), json_integer(o->verdicts[i]));
    return json_pack("{s:o, s:o, s:o, s:i, s:i, s:f, s:f, s:o, s:o}", "move",
                     json_optional_text(o->move), "bottleneck", json_optional_text(o->bottleneck),
                     "tool", json_optional_text(o->tool), "tried", o->n_tried, "timed", o->n_timed,
                     "log_sum", o->log_sum, "log_squares", o->log_sq, "gains", gains, "verdicts",
                     verdicts);
}

static json_t *kind_to_json(const struct problem_kind *k) {
    json_t *sizes = json_array();
    for (int i = 0; i < k->n_sizes; i++)
        json_array_append_new(sizes, json_real(k->sizes[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "form", k->form, "skeleton", k->skeleton, "ops",
                     k->ops, "types", k->types, "sizes", sizes);
}

static json_t *blocks_to_json(const struct lesson *l) {
    json_t *blocks = json_array();
    for (int i = 0; i < l->n_blocks; i++) {
        const struct lesson_block *b = &l->blocks[i];
        json_array_append_new(blocks, json_pack("{s:s, s:f, s:f}", "kernel", b->kernel, "time_s",
                                                b->time_s, "prior", b->prior));
    }
    return blocks;
}

json_t *lesson_to_json(const struct lesson *l) {
    json_t *outcomes = json_array(), *values = json_object();
    for (int i = 0; i < l->n_outcomes; i++)
        json_array_append_new(outcomes, outcome_to_json(&l->outcomes[i]));
    for (int i = 0; i < l->n_values; i++)
        json_object_set_new(values, l->values[i].name, json_integer(l->values[i].place));
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:i, s:i}", "schema",
                             "hone.lesson/1", "run", l->run, "problem", l->problem, "shape",
                             l->shape, "kind", kind_to_json(&l->kind), "target", l->target,
                             "device", l->device, "learned_at", l->learned_at, "version",
                             l->version, "evals", l->n_evals, "screened", l->n_screened);
    json_t *rest =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "block", json_optional_text(l->block),
                  "values", values, "time_s", json_optional_real(l->time_s), "speedup",
                  json_optional_real(l->speedup), "of_reach", json_optional_real(l->of_reach),
                  "outcomes", outcomes, "blocks", blocks_to_json(l));
    json_object_update(json, rest);
    json_decref(rest);
    return json;
}

static int read_count(struct json_reader *r, const json_t *json, const char *key) {
    int64_t n = json_read_int(r, json, key);
    if (n < 0 || n > 1000000000)
        json_reader_fail(r, "%s is %lld", key, (long long)n);
    return r->failed ? 0 : (int)n;
}

static void kind_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           struct problem_kind *k) {
    k->form = json_read_string(r, a, json, "form");
    k->skeleton = json_read_string(r, a, json, "skeleton");
    k->ops = json_read_string(r, a, json, "ops");
    k->types = json_read_string(r, a, json, "types");
    const json_t *sizes = json_read_array(r, json, "sizes");
    k->n_sizes = (int)json_array_size(sizes);
    if (k->n_sizes > KIND_SIZES_MAX)
        k->n_sizes = KIND_SIZES_MAX;
    for (int i = 0; i < k->n_sizes; i++)
        k->sizes[i] = json_number_value(json_array_get(sizes, (size_t)i));
}

static void outcome_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                              struct outcome *o) {
    o->move = json_read_string(r, a, json, "move");
    o->bottleneck = json_read_string(r, a, json, "bottleneck");
    o->tool = json_read_optional_string(r, a, json, "tool");
    o->n_tried = read_count(r, json, "tried");
    o->n_timed = read_count(r, json, "timed");
    o->log_sum = json_read_number(r, json, "log_sum");
    o->log_sq = json_read_number(r, json, "log_squares");
    const json_t *gains = json_read_array(r, json, "gains"), *n;
    if (!r->failed && json_array_size(gains) != GAIN_BINS)
        json_reader_fail(r, "gains has %zu bins", json_array_size(gains));
    for (int i = 0; i < GAIN_BINS; i++)
        o->gains[i] = (int)json_integer_value(json_array_get(gains, (size_t)i));
    const char *name;
    json_object_foreach(json_read_object(r, json, "verdicts"), name, n) {
        enum verdict_kind kind;
        if (verdict_kind_parse(name, &kind))
            o->verdicts[kind] = (int)json_integer_value(n);
    }
}

static void champion_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                               struct lesson *l) {
    l->block = json_read_optional_string(r, a, json, "block");
    l->time_s = json_read_optional_number(r, json, "time_s");
    l->speedup = json_read_optional_number(r, json, "speedup");
    l->of_reach = json_read_optional_number(r, json, "of_reach");
    json_t *values = json_read_object(r, json, "values"), *place;
    const char *name;
    l->values = arena_array(a, struct lesson_value, json_object_size(values) + 1);
    json_object_foreach(values, name, place) l->values[l->n_values++] =
        (struct lesson_value){arena_strdup(a, name), (int)json_integer_value(place)};
}

static void blocks_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct lesson *l) {
    const json_t *blocks =
        json_object_get(json, "blocks") ? json_read_array(r, json, "blocks") : NULL;
    int n = (int)json_array_size(blocks);
    l->blocks = arena_array(a, struct lesson_block, LESSON_BLOCKS_MAX);
    for (int i = 0; i < n && i < LESSON_BLOCKS_MAX && !r->failed; i++) {
        const json_t *b = json_array_get(blocks, (size_t)i);
        struct lesson_block *to = &l->blocks[l->n_blocks++];
        *to = (struct lesson_block){.kernel = json_read_string(r, a, b, "kernel"),
                                    .time_s = json_read_number(r, b, "time_s"),
                                    .prior = json_read_number(r, b, "prior")};
        if (!r->failed && !(to->time_s > 0))
            json_reader_fail(r, "block %d took %g s", i, to->time_s);
    }
}

bool lesson_from_json(struct arena *a, const json_t *json, struct lesson *l, struct error *err) {
    struct json_reader r = {.where = "lesson"};
    *l = (struct lesson){0};
    json_read_schema(&r, json, "hone.lesson/1");
    l->run = json_read_string(&r, a, json, "run");
    l->problem = json_read_string(&r, a, json, "problem");
    l->shape = json_read_string(&r, a, json, "shape");
    kind_from_json(&r, a, json_read_object(&r, json, "kind"), &l->kind);
    l->target = json_read_string(&r, a, json, "target");
    l->device = json_read_string(&r, a, json, "device");
    l->learned_at = json_read_string(&r, a, json, "learned_at");
    l->version = json_read_string(&r, a, json, "version");
    l->n_evals = read_count(&r, json, "evals");
    l->n_screened = read_count(&r, json, "screened");
    champion_from_json(&r, a, json, l);
    const json_t *outcomes = json_read_array(&r, json, "outcomes");
    int n = (int)json_array_size(outcomes);
    l->outcomes = arena_array(a, struct outcome, n + 1);
    for (int i = 0; i < n && !r.failed; i++)
        outcome_from_json(&r, a, json_array_get(outcomes, (size_t)i),
                          &l->outcomes[l->n_outcomes++]);
    blocks_from_json(&r, a, json, l);
    if (!r.failed && !*l->run)
        json_reader_fail(&r, "run is empty");
    return json_reader_done(&r, err);
}
