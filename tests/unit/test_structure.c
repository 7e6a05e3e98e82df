// Structural operations by values worked out by hand; bridge/reference compares them with PyTorch.
#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "ir/detail.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "ir/work.h"
#include "parsed.h"

// Interpret a problem, compare its first output; the data must be exact all the way, so that all
// three readings agree.
static void check_values(const char *text, const void *const *inputs, const double *want) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {0};
    struct interpret_result r;
    for (int i = 0; i < p->n_inputs; i++)
        data.inputs[i] = inputs[i];
    interpret(p, &data, &r);
    cr_assert_eq(r.fault[0], '\0', "%s: %s", text, r.fault);
    for (int64_t i = 0; i < r.count[0]; i++) {
        double honest = r.wide[0] ? r.wide[0][i] : (double)r.honest[0][i];
        bool same = isnan(want[i]) ? isnan(r.value[0][i]) && isnan(honest)
                                   : r.value[0][i] == want[i] && honest == want[i];
        cr_assert(same, "%s\nelement %d: value %g, honest %g, not %g", text, (int)i, r.value[0][i],
                  honest, want[i]);
        cr_assert(!(r.spread[0][i] > fabs(want[i]) * 0x1p-23));  // quotients may be rounded
    }
    interpret_reset(&r);
    arena_reset(&a);
}

#define CHECK(text, inputs, ...) \
    check_values(text, (const void *const[]){inputs}, (const double[]){__VA_ARGS__})
#define WITH(...) __VA_ARGS__

static const float SIX[6] = {1, 2, 3, 4, 5, 6};
static const char X23[] = "problem p\nin x : f32[2, 3]\n";

static const char *with(struct arena *a, const char *head, const char *rest) {
    return arena_printf(a, "%s%s\n", head, rest);
}

Test(structure, slices_flips_and_drops_axes) {
    struct arena a = {0};
    CHECK(with(&a, X23, "out y : f32[2, 2]\ny = x[:, 1:]"), SIX, 2, 3, 5, 6);
    CHECK(with(&a, X23, "out y : f32[2, 2]\ny = x[:, ::2]"), SIX, 1, 3, 4, 6);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = x[::-1, ::-1]"), SIX, 6, 5, 4, 3, 2, 1);
    CHECK(with(&a, X23, "out y : f32[3]\ny = x[-1]"), SIX, 4, 5, 6);
    CHECK(with(&a, X23, "out y : f32[2]\ny = x[:, -2]"), SIX, 2, 5);
    CHECK(with(&a, X23, "out y : f32\ny = x[1, 2]"), SIX, 6);
    // Beyond the end a slice stops there, as in NumPy.
    CHECK(with(&a, X23, "out y : f32[2, 1]\ny = x[:, 2:99]"), SIX, 3, 6);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = x[:, -99:]"), SIX, 1, 2, 3, 4, 5, 6);
    CHECK(with(&a, X23, "out y : f32[2, 2]\ny = x[:, :-4:-2]"), SIX, 3, 1, 6, 4);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = flip(x, axis=0)"), SIX, 4, 5, 6, 1, 2, 3);
    arena_reset(&a);
}

Test(structure, moves_data) {
    struct arena a = {0};
    CHECK(with(&a, X23, "out y : f32[3, 2]\ny = reshape(x, (3, 2))"), SIX, 1, 2, 3, 4, 5, 6);
    CHECK(with(&a, X23, "out y : f32[3, 2]\ny = transpose(x)"), SIX, 1, 4, 2, 5, 3, 6);
    CHECK(with(&a, X23, "out y : f32[4, 3]\ny = concat(x, x[::-1])"), SIX, 1, 2, 3, 4, 5, 6, 4, 5,
          6, 1, 2, 3);
    CHECK(with(&a, X23, "out y : f32[2, 4]\ny = concat(x, x[:, 0:1], axis=1)"), SIX, 1, 2, 3, 1, 4,
          5, 6, 4);
    CHECK(with(&a, X23, "out y : f32[2, 2]\ny = stack(x[0, 0:2], x[1, 1:])"), SIX, 1, 2, 5, 6);
    CHECK(with(&a, X23, "out y : f32[3, 4]\ny = pad(x, ((0, 1), (1, 0)), value=9)"), SIX, 9, 1, 2,
          3, 9, 4, 5, 6, 9, 9, 9, 9);
    CHECK(with(&a, X23, "out y : f32[2, 6]\ny = repeat(x, 2)"), SIX, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5,
          6, 6);
    CHECK(with(&a, X23, "out y : f32[2, 6]\ny = tile(x, (1, 2))"), SIX, 1, 2, 3, 1, 2, 3, 4, 5, 6,
          4, 5, 6);
    CHECK(with(&a, X23, "out y : f32[2, 2, 3]\ny = broadcast_to(x, (2, 2, 3))"), SIX, 1, 2, 3, 4, 5,
          6, 1, 2, 3, 4, 5, 6);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = triu(x, 1)"), SIX, 0, 2, 3, 0, 0, 6);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = tril(x)"), SIX, 1, 0, 0, 4, 5, 0);
    // Moving keeps infinities and NaN where they are.
    static const float odd[6] = {NAN, INFINITY, -INFINITY, 0, 1, 2};
    CHECK(with(&a, X23, "out y : f32[3, 2]\ny = reshape(x, (3, -1))"), odd, NAN, INFINITY,
          -INFINITY, 0, 1, 2);
    arena_reset(&a);
}

Test(structure, looks_up_and_scatters) {
    static const int32_t index[4] = {1, 0, 1, 1};
    static const int64_t along[2] = {2, 0};
    static const float base[3] = {10, 20, 30}, add[4] = {1, 2, 4, 8};
    CHECK("problem p\nin x : f32[2, 3]\nin i : i32[4] ~ index(2)\nout y : f32[4, 3]\ny = "
          "embedding(x, i)\n",
          WITH(SIX, index), 4, 5, 6, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    CHECK("problem p\nin x : f32[2, 3]\nin i : i32[2, 2] ~ index(3)\nout y : f32[2, 2, 2]\n"
          "y = take(x, i, axis=1)\n",
          WITH(SIX, index), 2, 1, 2, 2, 5, 4, 5, 5);
    CHECK("problem p\nin x : f32[2, 3]\nin i : i64[2, 1] ~ index(3)\nout y : f32[2, 1]\n"
          "y = take_along_axis(x, i)\n",
          WITH(SIX, along), 3, 4);
    CHECK("problem p\nin b : f32[3]\nin i : i32[4] ~ index(3)\nin s : f32[4]\nout y : f32[3]\n"
          "y = scatter_add(b, i, s)\n",
          WITH(base, index, add), 12, 33, 30);
    CHECK("problem p\nin i : i32[4] ~ integers(0, 7)\nout y : f32[4, 2]\ny = one_hot(i, 2)\n",
          index, 0, 1, 1, 0, 0, 1, 0, 1);
}

static void check_fault(const char *text, const int64_t *x, const char *fault) {
    struct arena a = {0};
    const struct problem *p =
        parsed(&a, arena_printf(&a, "problem p\nin x : i64[2]\nout y : %s\n", text));
    struct interpret_data data = {.inputs = {x}};
    struct interpret_result r;
    interpret(p, &data, &r);
    cr_assert_str_eq(r.fault, fault);
    interpret_reset(&r);
    arena_reset(&a);
}

// A hash of ids is the usual way to get there: it is found out, not rounded.
Test(structure, an_i64_beyond_what_is_exact_is_a_fault) {
    static const int64_t small[2] = {3, 4}, large[2] = {1, 1LL << 40};
    static const char exact[] = ", and i64 is exact up to it";
    struct arena a = {0};
    check_fault("i64[2]\ny = x * 1000003 % 1024", small, "");
    check_fault("i64[2]\ny = x * 1000003 % 1024", large,
                arena_printf(&a, "t.1: 1099514926310883328 is beyond 2^53%s", exact));
    check_fault("i64\ny = sum(x * 8000)", large, "");
    check_fault("i64\ny = sum(x * 8191) * 2", large,
                arena_printf(&a, "y: 18012199486242814 is beyond 2^53%s", exact));
    check_fault("i64\ny = prod(x + 8192)", large,
                arena_printf(&a, "y: 9008298833485824 is beyond 2^53%s", exact));
    check_fault("i64[2]\ny = cumsum(x * 8191)", large, "");
    static const char window[] =
        "i64[1, 1, 1]\ny = conv1d(reshape(x, (1, 1, 2)), reshape(x * 0 + 16384, (1, 1, 2)))";
    check_fault(window, small, "");
    check_fault(window, large, arena_printf(&a, "y: 18014398509498368 is beyond 2^53%s", exact));
    // What a float was cut to is exact, however large.
    check_fault("i64[2]\ny = i64(x * 1e12)", large, "");
    arena_reset(&a);
}

Test(structure, an_index_out_of_range_is_a_fault) {
    struct arena a = {0};
    static const int32_t index[2] = {1, 3};
    const struct problem *p = parsed(&a, "problem p\nin x : f32[2, 3]\nin i : i32[2] ~ index(2)\n"
                                         "out y : f32[2, 3]\ny = take(x, i)\n");
    struct interpret_data data = {.inputs = {SIX, index}};
    struct interpret_result r;
    interpret(p, &data, &r);
    cr_assert_str_eq(r.fault, "y: index 3 (element 1 of i) is outside [0, 2)");
    cr_assert_eq(r.value[0][0], 4);
    cr_assert(isnan(r.value[0][3]) && isnan((double)r.honest[0][3]));
    interpret_reset(&r);
    arena_reset(&a);
}

Test(structure, scans) {
    struct arena a = {0};
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumsum(x)"), SIX, 1, 3, 6, 4, 9, 15);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumsum(x, axis=0)"), SIX, 1, 2, 3, 5, 7, 9);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumsum(x, reverse=true)"), SIX, 6, 5, 3, 15, 11, 6);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumsum(x, exclusive=true)"), SIX, 0, 1, 3, 0, 4, 9);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumprod(x)"), SIX, 1, 2, 6, 4, 20, 120);
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumprod(x, 1, true, true)"), SIX, 6, 3, 1, 30, 6,
          1);
    // NaN stays from where it stands.
    static const float odd[6] = {1, NAN, 1, 2, INFINITY, 3};
    CHECK(with(&a, X23, "out y : f32[2, 3]\ny = cumsum(x)"), odd, 1, NAN, NAN, 2, INFINITY,
          INFINITY);
    arena_reset(&a);
}

Test(structure, orders_with_ties_and_nan) {
    struct arena a = {0};
    // NaN is the largest; of equals the lower index comes first.
    static const float x[6] = {2, NAN, 5, 2, 5, -1};
    const char *head = "problem p\nin x : f32[6]\n";
    CHECK(with(&a, head, "out y : i64[6]\ny = topk_index(x, 6)"), x, 1, 2, 4, 0, 3, 5);
    CHECK(with(&a, head, "out y : i64[3]\ny = topk_index(x, 3, largest=false)"), x, 5, 0, 3);
    CHECK(with(&a, head, "out y : f32[3]\ny = topk(x, 3)"), x, NAN, 5, 5);
    CHECK(with(&a, head, "out y : f32[6]\ny = sort(x)"), x, -1, 2, 2, 5, 5, NAN);
    arena_reset(&a);
}

Test(structure, convolves) {
    static const float x[5] = {1, 2, 3, 4, 5}, w[3] = {1, 10, 100}, b[1] = {1000};
    const char *head = "problem p\nin x : f32[1, 1, 5]\nin w : f32[1, 1, 3]\n";
    struct arena a = {0};
    CHECK(with(&a, head, "out y : f32[1, 1, 3]\ny = conv1d(x, w)"), WITH(x, w), 321, 432, 543);
    CHECK(with(&a, head, "out y : f32[1, 1, 5]\ny = conv1d(x, w, padding=1)"), WITH(x, w), 210, 321,
          432, 543, 54);
    CHECK(with(&a, head, "out y : f32[1, 1, 2]\ny = conv1d(x, w, stride=2)"), WITH(x, w), 321, 543);
    CHECK(with(&a, head, "out y : f32[1, 1, 1]\ny = conv1d(x, w, dilation=2)"), WITH(x, w), 531);
    CHECK(with(&a, head, "in b : f32[1]\nout y : f32[1, 1, 1]\ny = conv1d(x, w, b, dilation=2)"),
          WITH(x, w, b), 1531);
    CHECK(with(&a, head, "out y : f32[1, 1, 7]\ny = conv_transpose1d(x, w)"), WITH(x, w), 1, 12,
          123, 234, 345, 450, 500);
    CHECK(with(&a, head, "out y : f32[1, 1, 11]\ny = conv_transpose1d(x, w, stride=2)"), WITH(x, w),
          1, 10, 102, 20, 203, 30, 304, 40, 405, 50, 500);
    // A stride beyond the window leaves holes.
    CHECK(with(&a, "problem p\nin x : f32[1, 1, 2]\nin w : f32[1, 1, 1]\n",
               "out y : f32[1, 1, 4]\ny = conv_transpose1d(x, w, stride=3)"),
          WITH(x, w), 1, 0, 0, 2);
    arena_reset(&a);
}

Test(structure, groups_do_not_mix) {
    static const float x[4] = {1, 2, 3, 4}, w[2] = {10, 100};
    CHECK("problem p\nin x : f32[1, 2, 2]\nin w : f32[2, 1, 1]\nout y : f32[1, 2, 2]\n"
          "y = conv1d(x, w, groups=2)\n",
          WITH(x, w), 10, 20, 300, 400);
}

Test(structure, pools) {
    static const float x[5] = {1, 5, 2, NAN, 3}, z[5] = {2, 4, 6, 8, 10};
    const char *head = "problem p\nin x : f32[1, 1, 5]\n";
    struct arena a = {0};
    CHECK(with(&a, head, "out y : f32[1, 1, 2]\ny = max_pool1d(x, 2)"), x, 5, NAN);
    CHECK(with(&a, head, "out y : f32[1, 1, 3]\ny = max_pool1d(x, 2, ceil_mode=true)"), x, 5, NAN,
          3);
    CHECK(with(&a, head, "out y : f32[1, 1, 3]\ny = max_pool1d(x, 3, stride=2, padding=1)"), x, 5,
          NAN, NAN);
    CHECK(with(&a, head, "out y : f32[1, 1, 2]\ny = avg_pool1d(x, 2)"), z, 3, 7);
    // Padding counts as zeros, unless it is told not to.
    CHECK(with(&a, head, "out y : f32[1, 1, 3]\ny = avg_pool1d(x, 2, padding=1)"), z, 1, 5, 9);
    CHECK(with(&a, head,
               "out y : f32[1, 1, 3]\ny = avg_pool1d(x, 2, padding=1, count_include_pad=false)"),
          z, 2, 5, 9);
    // What hangs over the end beyond the padding never counts.
    CHECK(with(&a, head, "out y : f32[1, 1, 2]\ny = avg_pool1d(x, 4, ceil_mode=true)"), z, 5, 10);
    CHECK(with(&a, head, "out y : f32[1, 1, 1]\ny = adaptive_avg_pool1d(x, 1)"), z, 6);
    // One window of everything is a reduction.
    const char *text = with(&a, head, "out y : f32[1, 1, 1]\ny = adaptive_avg_pool1d(x, 1)");
    struct lang_source source = {.file = "p", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    for (int i = 0; i < file.problems[0]->graph.n_nodes; i++)
        cr_assert_neq(file.problems[0]->graph.nodes[i].op, OP_POOL_SUM);
    arena_reset(&a);
}

Test(structure, multiplies_ragged_groups) {
    // Rows 0 and 1 belong to group 0, group 1 is empty, row 2 to group 2, row 3 to none.
    static const float x[4] = {1, 2, 3, 4}, w[3] = {10, 100, 1000}, g[4] = {1, 10, 100, 7};
    static const int32_t offsets[4] = {0, 2, 2, 3};
    CHECK("problem p\nin x : f32[4, 1]\nin w : f32[3, 1, 1]\nin o : i32[4] ~ integers(0, 7)\nout y "
          ": f32[4, 1]\n"
          "y = ragged_matmul(x, w, o)\n",
          WITH(x, w, offsets), 10, 20, 3000, 0);
    CHECK("problem p\nin x : f32[4, 1]\nin g : f32[4, 1]\nin o : i32[4] ~ integers(0, 7)\nout y : "
          "f32[3, 1, 1]\n"
          "y = ragged_outer(x, g, o)\n",
          WITH(x, g, offsets), 21, 0, 300);
}

Test(structure, adds_up_posting_lists) {
    // Lists: {doc 0: 1, doc 2: 2}, {}, {doc 2: 4}.
    static const int32_t docs[3] = {0, 2, 2}, offsets[4] = {0, 2, 2, 3}, lists[4] = {0, 2, 1, 2};
    static const float weights[3] = {1, 2, 4}, factors[4] = {10, 100, 5, 1};
    CHECK("problem p\nin d : i32[3] ~ index(3)\nin w : f32[3]\nin o : i32[4] ~ integers(0, "
          "7)\nin l : i32[2, 2] ~ index(3)\n"
          "in f : f32[2, 2]\nout y : f32[2, 3]\ny = ragged_scatter(d, w, o, l, f, 3)\n",
          WITH(docs, weights, offsets, lists, factors), 10, 0, 420, 0, 0, 4);
}

Test(structure, quantised_weights_are_scaled_by_group) {
    static const float x[4] = {1, 2, 3, 4}, scales[2] = {0.5f, 2};
    static const int8_t w[4] = {1, 2, 3, 4};
    static const uint8_t packed[2] = {0x2f, 0x78};  // -1, 2, -8, 7
    CHECK("problem p\nin x : f32[1, 4]\nin w : i8[1, 4] ~ integers(0, 7)\nin s : f32[1, 2]\nout y "
          ": f32[1, 1]\n"
          "y = qmatmul(x, w, s, group=2)\n",
          WITH(x, w, scales), 0.5 * 5 + 2 * 25);
    CHECK("problem p\nin x : f32[1, 4]\nin w : i4[1, 4] ~ integers(0, 7)\nin s : f32[1, 2]\nout y "
          ": f32[1, 1]\n"
          "y = qmatmul(x, w, s)\n",
          WITH(x, packed, scales), 0.5 * 3 + 2 * 4);
}

// ---- spread

static double spread_of(const char *text, const void *const *inputs, int64_t at) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {0};
    struct interpret_result r;
    for (int i = 0; i < p->n_inputs; i++)
        data.inputs[i] = inputs[i];
    interpret(p, &data, &r);
    double spread = r.spread[0][at];
    interpret_reset(&r);
    arena_reset(&a);
    return spread;
}

Test(structure, spread_moves_with_the_data) {
    static const float x[2] = {0.7f, 0};
    const void *inputs[] = {x};
    const char *plain = "problem p\nin x : f32[2]\nout y : f32[2]\ny = x * 0.3\n";
    const char *flipped = "problem p\nin x : f32[2]\nout y : f32[2]\ny = (x * 0.3)[::-1]\n";
    cr_assert_gt(spread_of(plain, inputs, 0), 0);
    cr_assert_eq(spread_of(plain, inputs, 1), 0);
    cr_assert_eq(spread_of(flipped, inputs, 1), spread_of(plain, inputs, 0));
    cr_assert_eq(spread_of(flipped, inputs, 0), 0);
}

Test(structure, a_convolution_spreads_as_its_product_does) {
    static const float x[3] = {0.1f, 0.7f, 0.3f}, w[3] = {0.3f, 0.9f, 0.11f};
    const void *inputs[] = {x, w};
    double conv = spread_of("problem p\nin x : f32[1, 1, 3]\nin w : f32[1, 1, 3]\n"
                            "out y : f32[1, 1, 1]\ny = conv1d(x, w)\n",
                            inputs, 0);
    double product = spread_of("problem p\nin x : f32[3]\nin w : f32[3]\nout y : f32[1, 1]\n"
                               "y = w[None, :] @ x[:, None]\n",
                               inputs, 0);
    cr_assert_gt(conv, 0);
    cr_assert_eq(conv, product);
}

// ---- threads

// Every accepted problem: the rows on threads are those of one thread, to the bit.
static void compare_threads(const struct problem *p) {
    struct interpret_data data = {0};
    void *buffers[INPUTS_MAX];
    struct interpret_result one, many;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        data.inputs[i] = buffers[i] = malloc((size_t)dtype_size(n->dtype, shape_count(&n->shape)));
        inputs_fill(p, i, 3, buffers[i]);
    }
    interpret(p, &data, &one);
    interpret_parallel(p, &data, 2, &many);
    for (int i = 0; i < one.n_outputs; i++) {
        size_t bytes = sizeof(double) * (size_t)one.count[i];
        cr_assert_eq(memcmp(one.value[i], many.value[i], bytes), 0, "%s", p->text);
        cr_assert_eq(memcmp(one.spread[i], many.spread[i], bytes), 0, "%s", p->text);
    }
    interpret_reset(&one);
    interpret_reset(&many);
    for (int i = 0; i < p->n_inputs; i++)
        free(buffers[i]);
}

Test(structure, threads_share_rows_where_they_are_independent) {
    static const struct {
        const char *body;
        bool independent;
    } rows[] = {
        {"out y : f32[B, 4, 6]\ny = x[:, ::-1]\n", true},
        {"out y : f32[B, 4, 6]\ny = x[::-1]\n", false},
        {"out y : f32[B, 24]\ny = reshape(x, (B, 24))\n", true},
        {"out y : f32[B, 4, 8]\ny = pad(x, ((0, 0), (0, 0), (1, 1)))\n", true},
        {"out y : f32[B, 8, 6]\ny = concat(x, x, axis=1)\n", true},
        {"out y : f32[B, 4, 6]\ny = cumsum(x, axis=1)\n", true},
        {"out y : f32[B, 4, 6]\ny = cumsum(x, axis=0)\n", false},
        {"out y : f32[B, 4, 2]\ny = topk(x, 2)\n", true},
        {"in w : f32[5, 4, 3]\nout y : f32[B, 5, 4]\ny = conv1d(x, w)\n", true},
        {"out y : f32[B, 4, 3]\ny = max_pool1d(x, 2)\n", true},
        {"out y : f32[B, 4, 6]\ny = avg_pool1d(x, 3, stride=1, padding=1)\n", true},
        {"in i : i32[3] ~ integers(0, 3)\nout y : f32[B, 3, 6]\ny = take(x, i, axis=1)\n", true},
        {"out y : f32[B, 4, 4]\ny = einsum(\"bij,bkj->bik\", x, x)\n", true},
        {"out y : f32[B, 4, 6]\ny = triu(x)\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        const char *text =
            arena_printf(&a, "problem p\ndim B = 64\nin x : f32[B, 4, 6]\n%s", rows[i].body);
        const struct problem *p = parsed(&a, text);
        cr_assert_eq(interpret_rows_independent(p), rows[i].independent, "%s", text);
        compare_threads(p);
        arena_reset(&a);
    }
}

Test(structure, rows_of_an_embedding_are_those_of_its_ids) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\ndim B = 64\nin t : f32[9, 4]\n"
                                         "in i : i32[B] ~ integers(0, 8)\nout y : f32[B, 4]\n"
                                         "y = embedding(t, i)\n");
    cr_assert(interpret_rows_independent(p));
    compare_threads(p);

    // An index out of range is found by every operation that meets it.
    float table[36] = {0};
    int32_t ids[64] = {[40] = 9};
    struct interpret_data data = {.inputs = {table, ids}};
    struct interpret_result r;
    interpret_parallel(p, &data, 2, &r);
    cr_assert(strstr(r.fault, "is outside [0, 9)"), "%s", r.fault);
    interpret_reset(&r);
    arena_reset(&a);
}

// ---- work

Test(structure, counts_its_work) {
    static const struct {
        const char *body, *value;
        double flops;
        bool contracts;
    } rows[] = {
        {"in w : f32[6, 2, 3]\nout y : f32[2, 6, 8]\ny = conv1d(x, w, groups=2)\n", "y",
         2.0 * 2 * 6 * 8 * 2 * 3, true},
        {"in w : f32[4, 3, 3]\nout y : f32[2, 6, 12]\ny = conv_transpose1d(x, w, groups=2)\n", "y",
         2.0 * 2 * 4 * 10 * 3 * 3, true},
        {"out y : f32[2, 4, 5]\ny = max_pool1d(x, 2)\n", "y", 2.0 * 4 * 5 * 2, false},
        {"out y : f32[2, 4, 10]\ny = cumsum(x)\n", "y", 80, false},
        {"out y : f32[80]\ny = reshape(x, 80)\n", "y", 0, false},
        {"in o : i32[3] ~ integers(0, 7)\nin w : f32[2, 10, 5]\nout y : f32[4, 5]\ny = "
         "ragged_matmul(x[0], w, o)\n",
         "y", 2.0 * 4 * 10 * 5, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        const struct problem *p =
            parsed(&a, arena_printf(&a, "problem p\nin x : f32[2, 4, 10]\n%s", rows[i].body));
        const struct node *n = &p->graph.nodes[graph_find(&p->graph, rows[i].value)];
        cr_assert_eq(work_flops(&p->graph, n), rows[i].flops, "%s: %g", rows[i].body,
                     work_flops(&p->graph, n));
        cr_assert_eq(work_is_contraction(n), rows[i].contracts);
        arena_reset(&a);
    }
}
