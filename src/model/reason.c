// Collects losses while a limit is computed; the largest becomes the sentence that is shown.
#include "model/reason.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

// Needs that differ by less than this are the same: sampled masks.
static const double SAME = 0.97;

void losses_add(struct losses *l, enum limit_cause cause, double amount, double each,
                const char *value, double times) {
    double seconds = amount * each;
    if (!(seconds > 0))
        return;
    l->seconds[cause] += seconds;
    l->amount[cause] += amount;
    if (seconds <= l->most[cause])
        return;
    l->most[cause] = seconds;
    l->about[cause] = (struct limit_reason){.cause = cause, .times = times};
    snprintf(l->about[cause].value, sizeof l->about[cause].value, "%s", value ? value : "");
}

struct limit_reason losses_reason(const struct losses *l) {
    enum limit_cause largest = CAUSE_NONE;
    for (enum limit_cause c = CAUSE_NONE; c < CAUSE_COUNT; c++)
        if (l->seconds[c] > l->seconds[largest])
            largest = c;
    return l->about[largest];
}

static enum limit_cause cause_of_op(const struct node *n) {
    if (op_class_of(n->op)->is_by_data)
        return CAUSE_INDICES;
    return n->op == OP_WHERE ? CAUSE_MASK : CAUSE_PART;
}

const struct need_cause *reason_needs(struct arena *a, const struct problem *p,
                                      const struct demand *least, const struct demand *usual) {
    const struct graph *g = &p->graph;
    struct need_cause *needs = arena_array(a, struct need_cause, g->n_nodes + 1);
    for (node_id i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = &g->nodes[i];
        for (int j = 0; j < n->n_args; j++) {
            node_id arg = n->arg[j];
            if (needs[arg].cause != CAUSE_NONE || least->need[arg] >= SAME * usual->need[arg])
                continue;
            needs[arg] = needs[i].cause != CAUSE_NONE
                             ? needs[i]
                             : (struct need_cause){cause_of_op(n), n->name};
        }
    }
    return needs;
}

// ---- words

static const char *const names[CAUSE_COUNT] = {
    [CAUSE_NONE] = "none",           [CAUSE_ALGEBRA] = "algebra",    [CAUSE_FAST] = "fast-products",
    [CAUSE_TRANSFORM] = "transform", [CAUSE_REST] = "rearrangement", [CAUSE_CACHE] = "cache",
    [CAUSE_MASK] = "mask",           [CAUSE_INDICES] = "indices",    [CAUSE_PART] = "part",
    [CAUSE_PROMISE] = "promise",     [CAUSE_CLOCK] = "clock",
};

const char *limit_cause_name(enum limit_cause c) {
    return names[c];
}

const char *limit_cause_text(struct arena *a, const struct limit_reason *r) {
    const char *of = r->value[0] ? arena_printf(a, " '%s'", r->value) : "";
    switch (r->cause) {
    case CAUSE_ALGEBRA:
        return arena_printf(a, "algebra could leave out the product%s", of);
    case CAUSE_FAST:
        return "fast products (Strassen's kind) could do half the multiplications";
    case CAUSE_TRANSFORM:
        return arena_printf(a, "a transform (Winograd, FFT) could do%s in 1/%.3g of the products",
                            of, r->times);
    case CAUSE_REST:
        return "algebra could rearrange what is not a product";
    case CAUSE_CACHE:
        return "outputs could still lie in the last-level cache";
    case CAUSE_MASK:
        return arena_printf(a, "the mask%s%s depends on data and could leave all out",
                            *of ? " of" : "", of);
    case CAUSE_INDICES:
        return arena_printf(a, "the indices%s%s could all be the same", *of ? " of" : "", of);
    case CAUSE_PART:
        return arena_printf(a, "the part of%s that is needed could need little itself",
                            *of ? of : " a value");
    case CAUSE_PROMISE:
        return arena_printf(a, "one half of%s follows from the other", *of ? of : " an input");
    case CAUSE_CLOCK:
        return "the device could run above its data sheet's rates";
    default:
        return "";
    }
}

const char *limit_cause_phrase(enum limit_cause c) {
    static const char *const phrases[CAUSE_COUNT] = {
        [CAUSE_NONE] = "",
        [CAUSE_ALGEBRA] = "by algebra",
        [CAUSE_FAST] = "by fast products",
        [CAUSE_TRANSFORM] = "by transforms",
        [CAUSE_REST] = "by rearrangement",
        [CAUSE_CACHE] = "in the last-level cache",
        [CAUSE_MASK] = "behind a mask",
        [CAUSE_INDICES] = "by indices",
        [CAUSE_PART] = "not needed for a part",
        [CAUSE_PROMISE] = "by a promise",
        [CAUSE_CLOCK] = "",
    };
    return phrases[c];
}

json_t *limit_reason_to_json(const struct limit_reason *r) {
    return json_pack("{s:s, s:o, s:o}", "cause", limit_cause_name(r->cause), "value",
                     json_optional_text(r->value[0] ? r->value : NULL), "times",
                     r->times > 0 ? json_real(r->times) : json_null());
}

void limit_reason_from_json(const json_t *json, struct limit_reason *r) {
    const char *name = json_string_value(json_object_get(json, "cause"));
    const char *value = json_string_value(json_object_get(json, "value"));
    *r = (struct limit_reason){0};
    for (enum limit_cause c = CAUSE_NONE; name && c < CAUSE_COUNT; c++)
        if (strcmp(name, names[c]) == 0)
            r->cause = c;
    snprintf(r->value, sizeof r->value, "%s", value ? value : "");
    r->times = json_number_value(json_object_get(json, "times"));
}
