// Why a limit is below the speed of light. A limit leaves out whatever some honest kernel could
// leave out, so it may imply more than the device's peak. Of what was left out, the largest part is
// the reason: one for the products, one for the bytes.
#pragma once

#include <jansson.h>

#include "model/demand.h"
#include "model/target.h"

enum limit_cause {
    CAUSE_NONE,
    CAUSE_ALGEBRA,    // a product that goes on to a sum or another product
    CAUSE_TRANSFORM,  // convolutions by Winograd or FFT
    CAUSE_FAST,       // algorithms of the Strassen kind, of what is left
    CAUSE_REST,       // arithmetic outside products
    CAUSE_CACHE,      // outputs that lie in the last-level cache when the clock stops
    CAUSE_MASK,       // a mask that depends on data
    CAUSE_INDICES,    // indices, offsets or an order that depend on data
    CAUSE_PART,       // a part of a result is needed, and could need few of its arguments
    CAUSE_PROMISE,    // a symmetric input
    CAUSE_CLOCK,      // the device's own top rate is above its data sheet's
    CAUSE_COUNT
};

enum reason_side { REASON_PRODUCTS, REASON_BYTES, REASON_SIDES };

struct limit_reason {
    enum limit_cause cause;
    char value[40];  // the value it is about; "" where it has no name
    double times;    // by how much less: a window's elements
};

struct bound;

// What a limit left out, in seconds at the data sheet's rates, on its way to a reason.
struct losses {
    double seconds[CAUSE_COUNT];
    double amount[CAUSE_COUNT];  // FLOPs of products, or bytes
    double most[CAUSE_COUNT];    // of the one that `about` names
    struct limit_reason about[CAUSE_COUNT];
};
// `each`: seconds of one of `amount`.
void losses_add(struct losses *l, enum limit_cause cause, double amount, double each,
                const char *value, double times);
struct limit_reason losses_reason(const struct losses *l);

// Per node: why the least reading needs less of it than the usual one, and of which value.
struct need_cause {
    enum limit_cause cause;
    const char *value;
};
const struct need_cause *reason_needs(struct arena *a, const struct problem *p,
                                      const struct demand *least, const struct demand *usual);

const char *limit_cause_name(enum limit_cause c);  // "fast-products"
const char *limit_cause_text(struct arena *a, const struct limit_reason *r);
const char *limit_cause_phrase(enum limit_cause c);  // "by fast products"
json_t *limit_reason_to_json(const struct limit_reason *r);
void limit_reason_from_json(const json_t *json, struct limit_reason *r);
