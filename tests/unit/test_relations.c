#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "ir/relations.h"
#include "parsed.h"

static const struct problem *of(struct arena *a, const char *value) {
    return parsed(a, arena_printf(a,
                                  "problem p\ndim M = 12, N = 30\nin x : f32[M, N] ~ normal\n"
                                  "%sout y : f32[M, N]\ny = %s\n",
                                  strchr(value, 'v') ? "in v : f32[N, N] ~ normal\n" : "", value));
}

Test(relations, knows_what_scales) {
    static const struct {
        const char *value;
        int input[2], output;  // of the law that is found; {0, 0}: none
    } rows[] = {
        {"x @ v", {4, 0}, 4},
        {"3 * x - relu(x)", {4, 0}, 4},
        {"maximum(x, 0) / sum(v)", {4, 0}, 4},
        {"x * sqrt(abs(x))", {4, 0}, 6},
        {"x * x * x / sum(x * x)", {4, 0}, 4},
        {"where(x < 0, 2 * x, x)", {4, 0}, 4},
        {"x * rsqrt(mean(x * x, axis=1, keepdims=true))", {4, 0}, 0},
        // By either alone it does not, by both it does.
        {"x + max(v, axis=0)", {4, 4}, 4},
        {"tanh(x / sum(v))", {4, 4}, 0},
        // An epsilon, a function that knows its scale, a threshold: no law.
        {"x * rsqrt(mean(x * x, axis=1, keepdims=true) + 0.00001)", {0, 0}, 0},
        {"exp(x)", {0, 0}, 0},
        {"where(x < 1, x, 2 * x)", {0, 0}, 0},
        {"x + 1", {0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = {0};
        struct relations_scaling s;
        bool wanted = rows[i].input[0] || rows[i].input[1];
        bool found = relations_find_scaling(of(&a, rows[i].value), &s);
        cr_expect_eq(found, wanted, "%s", rows[i].value);
        if (found && wanted)
            cr_expect(s.input[0] == rows[i].input[0] && s.input[1] == rows[i].input[1] &&
                          s.output[0] == rows[i].output,
                      "%s: %d %d gives %d", rows[i].value, s.input[0], s.input[1], s.output[0]);
        arena_reset(&a);
    }
}

Test(relations, knows_what_is_linear) {
    static const struct {
        const char *value;
        bool x, v, wanted;  // inputs that are added up; are the outputs?
    } rows[] = {
        {"x @ v", true, false, true},
        {"x @ v", false, true, true},
        {"x @ v", true, true, false},
        {"3 * x - x / 7", true, false, true},
        {"-mean(x, axis=1, keepdims=true) + x", true, false, true},
        {"x * sum(v)", true, false, true},
        {"x + sum(v)", true, false, false},
        {"x + sum(v)", true, true, true},
        {"x / sum(v)", true, true, false},
        {"sum(v) / x", true, false, false},
        {"x * x", true, false, false},
        {"x + 1", true, false, false},
        {"abs(x)", true, false, false},
        {"x - max(x, axis=1, keepdims=true)", true, false, false},
        {"where(x < 0, x, 2 * x)", true, false, false},
        {"x * 2", false, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = {0};
        bool inputs[INPUTS_MAX] = {rows[i].x, rows[i].v};
        cr_expect_eq(relations_is_linear(of(&a, rows[i].value), inputs), rows[i].wanted, "%s",
                     rows[i].value);
        arena_reset(&a);
    }
}

Test(relations, knows_where_rows_are_free) {
    struct arena a = {0};
    bool moves[INPUTS_MAX];
    cr_expect(relations_find_permutation(of(&a, "softmax(x @ v)"), moves));
    cr_expect(moves[0] && !moves[1]);
    cr_expect(relations_find_permutation(of(&a, "x * sum(x, axis=1, keepdims=true)"), moves));
    cr_expect_not(relations_find_permutation(of(&a, "x - mean(x, axis=0)"), moves));
    // Sorted data would not be sorted any more.
    struct problem *p = parsed(&a, "problem p\ndim N = 9\nin x : f32[N] ~ normal\nout y : f32[N]\n"
                                   "y = exp(x)\n");
    cr_expect(relations_find_permutation(p, moves));
    p->inputs[0].distribution.kind = DISTRIBUTION_SORTED;
    cr_expect_not(relations_find_permutation(p, moves));
    arena_reset(&a);
}

Test(relations, finds_the_longest_sum) {
    struct arena a = {0};
    cr_expect_eq(relations_longest_sum(of(&a, "relu(x) + max(v)")), 1);
    cr_expect_eq(relations_longest_sum(of(&a, "x @ v")), 30);
    cr_expect_eq(relations_longest_sum(of(&a, "x + sum(x)")), 360);
    arena_reset(&a);
}
