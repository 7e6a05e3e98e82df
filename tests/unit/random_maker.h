// What random problems are made with: a value that goes through random operations, each of which
// says what shape and type it leaves. random_any.c and random_wide.c have the operations.
#pragma once

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/graph.h"

enum { MAKER_COUNT_MAX = 1500 };

struct maker {
    struct arena *arena;
    struct rng *r;
    struct str inputs, lines;
    int n_inputs, n_values;
    const char *value;  // the newest
    int rank;
    int64_t size[RANK_MAX];
    enum dtype type;
    bool is_wide;     // the first value may have an axis beyond a vector
    bool is_special;  // inputs of floats may hold infinities and NaN
};

typedef void (*maker_fn)(struct maker *m);

// Begin with an input of random shape and type.
void maker_begin(struct maker *m, struct arena *a, struct rng *r);
// An operation of random_any.
void maker_step(struct maker *m);
// The problem's text; the output has the value's own type or, for floats, a narrower one.
const char *maker_end(struct maker *m);

uint64_t maker_below(struct maker *m, uint64_t n);
int64_t maker_size(struct maker *m);
int64_t maker_count(const struct maker *m);
const char *maker_shape(struct maker *m, int rank, const int64_t *size);
bool maker_is_float(const struct maker *m);
// What arithmetic makes of the type.
enum dtype maker_promoted(enum dtype t);
// Declare an input; draw: NULL for one that suits its type.
const char *maker_input(struct maker *m, enum dtype t, int rank, const int64_t *size,
                        const char *draw);
// Finite ones: what padding gives under a weight that is not finite is left open.
const char *maker_weights(struct maker *m, enum dtype t, int rank, const int64_t *size);
// A new value: the name of it is m->value.
void maker_bind(struct maker *m, const char *expression);
void maker_drop_axis(struct maker *m, int axis);
// Bring the value to [1, channels, spatial..].
void maker_image(struct maker *m, int n_axes);
