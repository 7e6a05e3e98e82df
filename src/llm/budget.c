// The worst case before a call (all input at its dearest, all output that was allowed), what was
// counted after it; where nobody counted, the worst case stays.
#include "llm/budget.h"

#include <math.h>
#include <string.h>

#include "record/chat.h"

int64_t budget_tokens_of(size_t n_bytes) {
    return (int64_t)(n_bytes + 2) / 3;
}

static size_t length(const char *text) {
    return text ? strlen(text) : 0;
}

static int64_t tokens_in(const struct chat_request *q) {
    size_t n = length(q->system) + 64;
    for (int i = 0; i < q->n_messages; i++) {
        const struct chat_message *m = &q->messages[i];
        n += length(m->text) + length(m->raw) + 16;
        for (int c = 0; c < m->n_calls; c++)
            n += length(m->calls[c].name) + length(m->calls[c].arguments) + 16;
    }
    for (int i = 0; i < q->n_tools; i++)
        n += length(q->tools[i].name) + length(q->tools[i].description) +
             length(q->tools[i].schema) + 16;
    return budget_tokens_of(n);
}

const char *budget_reserve(const struct budget *b, const struct chat_request *q,
                           struct reservation *r) {
    *r = (struct reservation){.in = tokens_in(q), .out = q->max_tokens};
    // Writing to the cache is the dearest kind of input where it has a price of its own.
    double in = b->price.cache_write > b->price.in ? b->price.cache_write : b->price.in;
    r->usd = (in * (double)r->in + b->price.out * (double)r->out) / 1e6;
    if (b->max_calls > 0 && b->n_calls + 1 > b->max_calls)
        return "calls";
    if (b->max_tokens > 0 && b->in + b->out + r->in + r->out > b->max_tokens)
        return "tokens";
    if (b->max_usd > 0 && b->usd + r->usd > b->max_usd)  // false where the price is not known
        return "money";
    return NULL;
}

double budget_settle(struct budget *b, const struct reservation *r, const struct chat_usage *u) {
    bool is_counted = u->in_fresh >= 0 && u->out >= 0;
    int64_t cached = u->in_cache_read > 0 ? u->in_cache_read : 0;
    int64_t written = u->in_cache_write > 0 ? u->in_cache_write : 0;
    b->n_calls++;
    b->in += is_counted ? u->in_fresh + cached + written : r->in;
    b->in_cached += is_counted ? cached : 0;
    b->out += is_counted ? u->out : r->out;
    b->n_uncounted += !is_counted;
    double usd = is_counted ? price_cost(&b->price, u) : r->usd;
    if (isnan(usd))
        b->n_unpriced++;
    else
        b->usd += usd;
    return usd;
}
