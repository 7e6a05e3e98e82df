// What a run may ask of a model: calls, tokens, money. Reserved before a call at its worst
// case, settled after it at what it took. What is not known is not counted as nothing: tokens
// that nobody counted are estimated from the text, money of a model without a price is unknown.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llm/prices.h"

struct chat_request;
struct chat_usage;

struct budget {
    struct price price;
    double max_usd;                 // applies where the price is known; 0: no limit
    int64_t max_calls, max_tokens;  // in and out together; 0: no limit
    // Spent so far.
    int64_t n_calls, in, in_cached, out;
    int64_t n_uncounted;  // calls whose tokens are our estimate
    double usd;           // of the calls whose cost is known
    int64_t n_unpriced;   // calls whose cost is not
};

struct reservation {
    int64_t in, out;  // tokens
    double usd;       // NAN: not known
};

// About how many tokens a text is: a token of code is rarely shorter than three bytes.
int64_t budget_tokens_of(size_t n_bytes);

// The worst that this call can take. NULL when it fits, else the limit that it would break:
// "calls", "tokens", "money". Nothing is booked.
const char *budget_reserve(const struct budget *b, const struct chat_request *q,
                           struct reservation *r);

// Book what a call took: as counted, else as reserved. Returns its cost, NAN: not known.
double budget_settle(struct budget *b, const struct reservation *r, const struct chat_usage *u);
