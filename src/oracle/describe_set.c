// One phrase per input set, with the factors or rows that were drawn for it.
#include "oracle/describe_set.h"

#include "base/arena.h"
#include "base/str.h"
#include "ir/work.h"
#include "oracle/derived.h"

static const char *const plain[SET_COUNT] = {
    [SET_DECLARED] = "drawn as the problem declares",
    [SET_INTEGERS] = "small whole numbers, on which f32 makes no error that an order of sums could "
                     "excuse",
    [SET_DIGITS] = "ones and twos and a few whole numbers of up to 19 bits, on which f32 makes no "
                   "error either and any lower precision does",
    [SET_WIDE] = "mixed magnitudes: each draw times a power of two from 1/64 to 64; half of all "
                 "indices the first or the last, most parts between offsets empty",
    [SET_SHIFTED] = "all of one sign and away from zero, where dropped precision shows",
    [SET_EQUAL] = "one draw everywhere",
    [SET_HUGE] = "every draw times 2^20",
    [SET_TINY] = "every draw divided by 2^20",
    [SET_ALTERNATING] = "signs in turn, so that sums cancel",
    [SET_SPIKE] = "one element of each row is 4096 times as large as the others, or more",
};

static const char *patched_text(struct arena *a, const struct oracle *o, enum oracle_set set) {
    const struct problem *p = o->problem;
    struct str s = {0};
    for (int i = 0; i < p->n_inputs; i++) {
        struct patch patches[PATCHES];
        int n = oracle_patches(o, set, i, patches);
        if (n)
            str_printf(&s, "%s%d element%s of %s", s.len ? ", " : "", n, n > 1 ? "s" : "",
                       p->graph.nodes[p->inputs[i].node].name);
    }
    const char *words =
        arena_printf(a, "the declared data with %s changed", s.len ? str_text(&s) : "nothing");
    str_reset(&s);
    return words;
}

const char *describe_set(struct arena *a, const struct oracle *o, enum oracle_set set) {
    bool is_spike = set == SET_DIGITS && work_has_plain_mean(&o->problem->graph);
    return is_spike ? "one element of each row as large as all others together"
           : set == SET_PATCHED || set == SET_PATCHED_AGAIN ? patched_text(a, o, set)
           : set >= SET_DRAWN                               ? derived_text(a, o, set)
                                                            : plain[set];
}
