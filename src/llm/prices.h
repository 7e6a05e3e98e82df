// What tokens cost: a table that the user can edit, one line per model.
//
//     # model            in   out   cache-read  cache-write    USD per million tokens
//     claude-sonnet-4-5  3    15    0.30        3.75
//     local-*            0    0     0           0
//     house-model        1.5  6     -           -
//
// A name may end in `*`. `-` is not known, and what is not known is not zero.
#pragma once

#include <stdbool.h>

struct arena;
struct chat_usage;
struct error;

struct price {
    double in, out, cache_read, cache_write;  // USD per million tokens; NAN: not known
    const char *origin;                       // of the row: a file, or "built in"; NULL: no row
};

struct price price_unknown(void);
struct price price_free(void);

// Look a model up in `path` ("" or NULL: the user's `prices` next to the configuration, where it
// exists), then in the table that hone carries. The first row that fits counts. A named file
// that is missing and a line that makes no sense are ERROR_USAGE.
bool prices_find(struct arena *a, const char *path, const char *model, struct price *out,
                 struct error *err);

// What a call cost; NAN when a count or the price of one is not known.
double price_cost(const struct price *p, const struct chat_usage *u);

// "3 USD in, 15 USD out per million tokens", "unknown", "nothing".
const char *price_text(struct arena *a, const struct price *p);
