// The index arithmetic of emitters that lower by hand, in words short enough to read a formula by:
// add(x, times(x, row, 64), rest(x, lane, 4)). `x` is the emitter's own struct, named by BUILD,
// whose field `a` is the arena. Included once, behind that struct; no guard, since BUILD differs.
#include "loop/loop_build.h"

static inline const struct loop_expr *num(const BUILD *x, int64_t value) {
    return loop_int(x->a, value);
}

static inline const struct loop_expr *add(const BUILD *x, const struct loop_expr *p,
                                          const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_ADD, p, q);
}

static inline const struct loop_expr *times(const BUILD *x, const struct loop_expr *p, int64_t q) {
    return loop_binary(x->a, LOOP_MUL, p, num(x, q));
}

static inline const struct loop_expr *quotient(const BUILD *x, const struct loop_expr *p,
                                               int64_t q) {
    return loop_binary(x->a, LOOP_DIV, p, num(x, q));
}

static inline const struct loop_expr *rest(const BUILD *x, const struct loop_expr *p, int64_t q) {
    return loop_binary(x->a, LOOP_MOD, p, num(x, q));
}

static inline const struct loop_expr *smaller(const BUILD *x, const struct loop_expr *p,
                                              const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_MIN, p, q);
}

static inline const struct loop_expr *open_unrolled(const BUILD *x, struct loop_builder *b,
                                                    const char *name, int64_t count,
                                                    struct loop_builder *inner) {
    struct loop_for f = {name, num(x, 0), num(x, count), 1, true};
    return loop_open_for(b, &f, inner);
}

#undef BUILD
