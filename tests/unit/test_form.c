// Forms of regions: what fits, and the message for each way in which one does not.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/block.h"
#include "lowering.h"

#define HEAD(dims, ins) "problem p\ndim " dims "\n" ins

static const char softmax[] =
    HEAD("M = 64, N = 60", "in x : f32[M, N]\n") "out y : f32[M, N]\ny = softmax(x)\n";
static const char columns[] =
    HEAD("M = 64, N = 60", "in x : f32[M, N]\n") "out y : f32[M, N]\nc = sum(x, axis=0)\ns = "
                                                 "sum(x, axis=1)\ny = x + c + s[:, None]\n";
static const char square[] =
    HEAD("N = 64", "in x : f32[N, N]\n") "out y : f32[N, N]\ns = sum(x, axis=1)\ny = x + s\n";
static const char chain[] = HEAD(
    "M = 64, N = 60", "in x : f32[M, N]\n") "out y : f32\nm = max(x, axis=1)\ny = sum(m) * 2\n";
static const char product[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, N]\nout s : f32[M]\nt = a @ b\ny "
                                                 "= tanh(t)\ns = sum(y, axis=1)\n";
static const char any_order[] =
    "problem p\norder any\ndim M = 64, N = 48, K = 32\nin a : f32[M, K]\nin b : f32[K, N]\n"
    "out y : f32[M, N]\nout s : f32[M]\nt = a @ b\ny = tanh(t)\ns = sum(y, axis=1)\n";
static const char scores[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, N]\nt = a @ b\ny = softmax(t)\n";
static const char normed[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, N]\nm = max(a, axis=1)\nt = (a - "
                                                 "m[:, None]) @ b\ny = t + 1\n";
static const char beside[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, N]\nm = max(a, axis=1)\nt = a @ "
                                                 "b\ny = t + m[:, None]\n";
static const char twice[] =
    HEAD("M = 64", "in a : f32[M, M]\nin b : f32[M, M]\n") "out y : f32[M, M]\nt = a @ b\nu = "
                                                           "tanh(t)\ny = u @ b\n";
static const char turned[] = HEAD(
    "M = 64", "in a : f32[M, M]\nin b : f32[M, M]\n") "out y : f32[M, M]\nt = a @ b\ny = t + t.T\n";
static const char outer[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\nin c : f32[K, M, N]\n") "out y : f32[K, M, N]\nt = a "
                                                                      "@ b\ny = t + c\n";
static const char apart[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, N]\nout h : f32[M, K]\nh = "
                                                 "tanh(a)\ny = h @ b\n";
static const char attended[] =
    HEAD("B = 4, S = 64, D = 32", "in q : f32[B, S, D]\nin k : f32[B, D, S]\nin v : f32[B, S, "
                                  "D]\n") "out o : f32[B, S, D]\nt = q @ k\np = softmax(t)\no = "
                                          "p @ v\n";
static const char across[] =
    HEAD("B = 4, S = 64",
         "in q : f32[B, S, S]\nin v : f32[B, S, S]\n") "out o : f32[B, S, S]\nt = q @ v\np = "
                                                       "softmax(t, axis=1)\no = p @ v\n";
static const char reversed_[] = HEAD(
    "B = 4, S = 64", "in q : f32[B, S, S]\nin v : f32[B, S, S]\n") "out o : f32[B, S, S]\nt = q @ "
                                                                   "v\np = softmax(t)\no = v @ p\n";
static const char both[] = HEAD(
    "B = 4, S = 64", "in q : f32[B, S, S]\nin v : f32[B, S, S]\n") "out o : f32[B, S, S]\nt = q @ "
                                                                   "v\np = softmax(t)\no = p @ t\n";
static const char elsewhere[] = HEAD(
    "B = 4, S = 64", "in q : f32[B, S, S]\nin v : f32[B, S, S]\n") "out o : f32[B, S, S]\nt = q @ "
                                                                   "v\np = softmax(v)\no = p @ t\n";
static const char summed[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M]\nt = a @ b\ny = sum(t * 2 + 1, "
                                                 "axis=1)\n";
static const char best[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M]\nt = a @ b\ny = max(t, axis=1)\n";
static const char waved[] = HEAD(
    "M = 64, N = 48, K = 32",
    "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M]\nt = a @ b\ny = sum(tanh(t), axis=1)\n";

#define CONV "problem p\nin x : f32[2, 4, 8, 8]\nin w : f32[4, 4, 3, 3]\n"
static const char conv[] = CONV "out y : f32[2, 4, 8, 8]\ny = relu(conv2d(x, w, padding=1))\n";
static const char pooled[] = CONV "out y : f32[2, 4, 4, 4]\nt = conv2d(x, w, padding=1)\n"
                                  "y = max_pool2d(t, 2)\n";
static const char grouped[] = CONV "out y : f32[2, 4, 8, 8]\nt = conv2d(x, w, padding=1)\n"
                                   "y = groupnorm(t, groups=2)\n";
static const char scanned[] = HEAD(
    "M = 64, N = 60", "in x : f32[M, N]\n") "out y : f32[M, N]\ny = tanh(cumsum(x * 2, axis=1))\n";
static const char ordered[] =
    HEAD("M = 64, N = 60", "in x : f32[M, N]\n") "out y : i64[M, 5]\ny = topk_index(x, 5)\n";
static const char by_element[] =
    "problem p\nin x : f32[6, 4]\nin i : i32[9, 4] ~ index(6)\nin z : f32[9, 4]\n"
    "out y : f32[6, 4]\ny = scatter_add(x, i, z, axis=0)\n";
static const char scattered[] =
    HEAD("M = 64, N = 60",
         "in x : f32[M]\nin i : i64[M] ~ integers(0, 59)\n") "out y : f32[N]\nz = x * 0\ny = "
                                                             "scatter_add(z[0:60], i, tanh(x), "
                                                             "axis=0)\n";
static const char sliced[] = HEAD(
    "M = 64, N = 48, K = 32",
    "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[M, 20]\nt = a @ b\ny = t[:, 0:20] + 1\n";
static const char reshaped[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[16, 4, 48]\nout s : f32[16, 48]\nt = "
                                                 "a @ b\ny = reshape(t, (16, 4, 48)) + 1\n"
                                                 "s = sum(y, axis=1)\n";
static const char braided[] =
    HEAD("M = 64, N = 48, K = 32",
         "in a : f32[M, K]\nin b : f32[K, N]\n") "out y : f32[N, M]\nt = a @ b\ny = reshape(t, (N, "
                                                 "M)) + reshape(t.T, (N, M))\n";
static const char embedded[] = HEAD("M = 64, N = 48, K = 32, V = 100",
                                    "in i : i64[M] ~ integers(0, 99)\nin e : f32[V, K]\nin b : "
                                    "f32[K, N]\n") "out y : f32[M, N]\ny = embedding(e, i) @ b\n";
static const char picked[] = HEAD(
    "M = 64, N = 60",
    "in x : f32[M, N]\nin i : i64[M] ~ integers(0, 59)\n") "out y : f32[M, 1]\np = "
                                                           "log_softmax(x)\ny = take_along_axis(p, "
                                                           "i[:, None], axis=1)\n";
static const char swapped[] = HEAD(
    "M = 60, N = 60",
    "in x : f32[M, N]\nin i : i64[M] ~ integers(0, 59)\n") "out y : f32[M, N]\np = softmax(x)\ny = "
                                                           "take(p, i, axis=0)\n";

// The mistakes of a block on sm_90a, or the note of its first stage without an emitter, or "".
static const char *resolve(struct arena *a, const char *problem, const char *stages,
                           const char *target) {
    const char *text = arena_printf(a, "kernel for p on %s\n%s\n", target, stages);
    struct lang_source source = {.file = "k", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    struct mistakes m = {.arena = a, .source = &source};
    struct target t = test_target(64);
    if (strcmp(target, "cpu") != 0)
        cr_assert(target_of_arch(target, &t));
    struct block *b = block_resolve(a, problem_from(a, problem), &t, file.kernels[0], &m);
    struct str out = {0};
    for (int i = 0; i < m.count; i++)
        str_printf(&out, "%s%d:%d %s%s%s", i ? "\n" : "", m.items[i].spot.at.line,
                   m.items[i].spot.at.column, m.items[i].text, m.items[i].hint ? " -> " : "",
                   m.items[i].hint ? m.items[i].hint : "");
    for (int i = 0; m.count == 0 && i < b->n_stages && out.len == 0; i++)
        if (b->stages[i].no_emitter)
            str_printf(&out, "note %s", b->stages[i].no_emitter);
    return str_take(a, &out);
}

#define NO_WORD(word)                                                \
    "note no emitter takes '" word                                   \
    "' yet: a stage has values, a type they are kept as, a family, " \
    "an emitter and knobs"
#define NO_FAMILY(name)                                                 \
    "note no emitter computes " name                                    \
    " yet: there are map, rowwise, reduce, gemm, qgemm, ragged, conv, " \
    "pool, scan, scatter, attention, maxsim and nest"

struct one_case {
    const char *problem, *stages, *message;
};

static void check_cases(const struct one_case *cases, size_t n, const char *target) {
    for (size_t i = 0; i < n; i++) {
        struct arena a = {0};
        const char *got = resolve(&a, cases[i].problem, cases[i].stages, target);
        cr_expect_str_eq(got, cases[i].message, "%s\n%s\ngave: %s\nnot:  %s", cases[i].problem,
                         cases[i].stages, got, cases[i].message);
        arena_reset(&a);
    }
}
#define CHECK(cases, target) check_cases(cases, sizeof cases / sizeof *cases, target)

Test(form, every_misfit_names_what_to_materialise) {
    static const struct one_case cases[] = {
        {softmax, "stage y : map",
         "2:11 stage y: map computes elementwise values, but y.max is a max; the family rowwise "
         "takes it"},
        {softmax, "stage y : gemm",
         "2:11 stage y: gemm takes a matrix product, but y.max is a max; the family rowwise takes "
         "it"},
        {softmax, "stage y.max : rowwise\nstage y.exp : rowwise\nstage y : rowwise",
         "3:15 stage y.exp: rowwise needs a reduction, and there is none; the family map takes it"},
        {softmax, "stage y : reduce",
         "2:11 stage y: y.max is needed more than once for each result; the family rowwise takes "
         "it"},
        {columns, "stage y : rowwise",
         "2:11 stage y: s is reduced over other axes than c; materialise c first"},
        {columns, "stage c, s : reduce\nstage y : map",
         "2:14 stage c: reduce takes one reduction, and c and s are two; materialise c first"},
        {square, "stage y : rowwise",
         "2:11 stage y: s is used in other rows than its own; materialise s first"},
        {scores, "stage y : rowwise",
         "2:11 stage y: rowwise takes reductions, but t is a matmul; materialise t first"},
        {scores, "stage y : gemm combine cluster",
         "2:11 stage y: y.sum needs y.max, and an epilogue reduces before it spreads a result "
         "again; materialise t first"},
        {scores, "stage t : map\nstage y : rowwise",
         "2:11 stage t: map computes elementwise values, but t is a matmul; the family gemm takes "
         "it"},
        {normed, "stage y : gemm",
         "2:11 stage y: the product t needs m, which is a max itself; materialise m first"},
        {beside, "stage y : gemm",
         "2:11 stage y: m is a max that does not come after the product t; materialise m first"},
        {twice, "stage y : gemm",
         "2:11 stage y: gemm takes one product, and t and y are two; materialise u first"},
        {turned, "stage y : gemm",
         "2:11 stage y: y needs elements of t from other places than its own; materialise t first, "
         "or the family nest takes it"},
        {outer, "stage y : gemm",
         "2:11 stage y: t is needed more than once for each result; materialise t first"},
        {apart, "stage h, y : gemm",
         "2:14 stage h: h does not come after the product y and has not its shape; materialise h "
         "first"},
        {twice, "stage y : attention laws tf32x3",
         "2:11 stage y: there is not one softmax between t and y; materialise u first"},
        {product, "stage y, s : attention",
         "2:14 stage y: attention takes two products with a softmax between, and there is 1; "
         "materialise t first"},
        {across, "stage o : attention laws online_softmax",
         "2:11 stage o: the softmax goes not along the rows of t; materialise t first"},
        {reversed_, "stage o : attention laws online_softmax",
         "2:11 stage o: o is no product with the softmax; materialise t first"},
        {both, "stage o : attention laws online_softmax",
         "2:11 stage o: both operands of o need t; materialise t first"},
        {elsewhere, "stage o : attention laws online_softmax",
         "2:11 stage o: the softmax is not that of t; materialise t first"},
        {attended, "stage o : attention",
         "note wgmma takes queries, keys and values of f16 or all of bf16, and those of o are not; "
         "materialise t first"},
    };
    CHECK(cases, "sm_90a");
}

Test(form, tiles_meet_as_the_stage_says) {
    static const struct one_case cases[] = {
        {product, "stage y, s : gemm",
         "2:14 stage y: s is reduced over N, beyond one tile unless 'tile' holds all of it; "
         "materialise y first"},
        {product, "stage y, s : gemm tile 32x64x8",
         "note no emitter for reductions in an epilogue yet; materialise t first"},
        {product, "stage y, s : gemm combine atomic",
         "2:19 stage y: combine atomic adds in another order at every call, and the problem does "
         "not say 'order any'"},
        {any_order, "stage y, s : gemm combine atomic", NO_WORD("combine")},
        {product, "stage y, s : gemm combine lastblock", NO_WORD("combine")},
        // A maximum is the same in any order.
        {best, "stage y : gemm combine atomic", NO_WORD("combine")},
        {product, "stage y, s : gemm tile 32x64x8 combine atomic",
         "2:14 stage y: combine says how tiles meet, and no reduction of the epilogue goes beyond "
         "a tile; to split the product itself, name laws split_reduction"},
        {product, "stage y : gemm combine atomic laws split_reduction\nstage s : reduce",
         "2:11 stage y: with combine atomic no block knows when t is whole, and y needs it; "
         "combine twopass, lastblock or cluster; materialise t first"},
        {product, "stage y : gemm combine twopass laws split_reduction\nstage s : reduce",
         NO_WORD("combine")},
        {scores, "stage y : gemm combine twopass laws online_softmax",
         "2:11 stage y: with combine twopass y.max is whole only at the end, and y needs it in "
         "every tile; materialise y.max first"},
        {scores, "stage y : gemm combine cluster laws online_softmax", NO_WORD("combine")},
        {scores, "stage y.exp, y.sum : gemm combine twopass laws online_softmax\nstage y : map",
         "2:22 stage y.exp: with combine twopass y.max is whole only at the end, and y.exp needs "
         "it in every tile; materialise y.max first"},
        {chain, "stage y : reduce",
         "2:11 stage y: t.1 is reduced over M, beyond one tile; materialise m first"},
        {softmax, "stage y : map combine atomic",
         "2:11 stage y: map computes elementwise values, but y.max is a max; materialise y.max "
         "first"},
        {softmax, "stage y : rowwise combine twopass",
         "2:11 stage y: combine splits rows over blocks: name laws split_reduction as well"},
        {softmax, "stage y : rowwise combine twopass laws split_reduction",
         "2:11 stage y: with combine twopass y.max is whole only at the end, and y.sum needs it; "
         "materialise y.max first"},
        {softmax, "stage y : rowwise combine twopass laws online_softmax, split_reduction",
         "2:11 stage y: with combine twopass y.max is whole only at the end, and y needs it in "
         "every block; materialise y.max first"},
        {softmax, "stage y : rowwise combine cluster laws split_reduction", NO_WORD("combine")},
        {softmax,
         "stage y.max, y.sum : rowwise combine lastblock laws online_softmax, split_reduction\n"
         "stage y : map",
         NO_WORD("combine")},
    };
    CHECK(cases, "sm_90a");
    static const struct one_case old[] = {
        {softmax, "stage y : rowwise combine cluster laws split_reduction",
         "2:19 stage y: sm_80 has no clusters; combine atomic, twopass or lastblock"},
    };
    CHECK(old, "sm_80");
    static const struct one_case cpu[] = {
        {softmax, "stage y : rowwise combine cluster laws split_reduction",
         "2:19 stage y: cpu has no clusters; combine atomic, twopass or lastblock"},
        {product, "stage y : gemm laws tf32x3\nstage s : reduce",
         "2:21 stage y: law tf32x3: a CPU has no tf32 products"},
    };
    CHECK(cpu, "cpu");
}

Test(form, laws_are_used_where_they_fit) {
    static const struct one_case cases[] = {
        {softmax, "stage y : rowwise laws online_softmax", NO_WORD("laws")},
        {softmax, "stage y : rowwise laws shifted_variance",
         "2:24 stage y: law shifted_variance takes the sum of (x - mean)^2 over the axes of the "
         "mean, and this stage has none"},
        {softmax, "stage y : rowwise laws online_sofmax",
         "2:24 stage y: no law is named 'online_sofmax' -> online_softmax"},
        {softmax, "stage y : rowwise laws split_reduction",
         "2:24 stage y: law split_reduction: say how the parts meet: combine atomic, twopass, "
         "lastblock or cluster"},
        {softmax, "stage y : rowwise laws tf32x3",
         "2:24 stage y: law tf32x3 takes a product of f32 values, in a problem that does not say "
         "'precision f32 exact', and this stage has none"},
        {softmax, "stage y : rowwise laws winograd",
         "2:24 stage y: law winograd takes a convolution of 3 or 3x3 with stride 1 and dilation 1, "
         "and this stage has none"},
        // The maximum comes from memory: there is nothing left to do in one walk.
        {softmax, "stage y.max : rowwise\nstage y : rowwise laws online_softmax",
         "3:24 stage y: law online_softmax takes the sum of exp(x - max(x)) over the axes of the "
         "maximum, and this stage has none"},
        {summed, "stage y : gemm",
         "2:11 stage y: y is reduced over N, beyond one tile unless 'tile' holds all of it; "
         "materialise t.2 first"},
        {summed, "stage y : gemm laws collapse", NO_WORD("laws")},
        {waved, "stage y : gemm laws collapse",
         "2:21 stage y: law collapse takes the sum over rows or columns of a product, with only "
         "linear "
         "steps between, and this stage has none"},
    };
    CHECK(cases, "sm_90a");
}

Test(form, windows_scans_scatters_and_moves) {
    static const struct one_case cases[] = {
        {conv, "stage y : conv", ""},
        {conv, "stage y : conv laws winograd", NO_WORD("laws")},
        {conv, "stage y : library",
         "note a library computes t.1 alone; what is around it is a stage of its own; the "
         "family conv takes it"},
        {conv, "stage y : gemm",
         "2:11 stage y: gemm takes a matrix product, but t.1 is a conv; the family conv takes it"},
        {conv, "stage y : pool",
         "2:11 stage y: pool takes a pooling, but t.1 is a conv; the family conv takes it"},
        {pooled, "stage y : conv",
         "2:11 stage y: conv takes one window, and t and y are two; materialise t first"},
        {pooled, "stage t : conv\nstage y : conv",
         "3:11 stage y: conv takes a convolution, but y is a max_pool; the family pool takes it"},
        {pooled, "stage t : conv\nstage y : pool", ""},
        {grouped, "stage y : conv combine cluster",
         "2:11 stage y: y.norm.var.sum needs y.norm.mean.sum, and an epilogue reduces before it "
         "spreads a result again; materialise t first"},
        {grouped, "stage y : conv combine cluster laws shifted_variance", NO_WORD("combine")},
        {grouped, "stage y : conv combine twopass laws shifted_variance",
         "2:11 stage y: with combine twopass y.norm.mean.sum is whole only at the end, and y.norm "
         "needs it in every tile; materialise y.norm.mean.sum first"},
        {grouped,
         "stage t, y.norm.mean, y.norm.var : conv combine twopass laws shifted_variance\n"
         "stage y : map",
         NO_WORD("combine")},
        {grouped, "stage t : conv\nstage y : rowwise",
         "3:11 stage y: y is a reshape of what the rows give; materialise y.norm first"},
        {scanned, "stage y : scan", ""},
        {scanned, "stage y : map",
         "2:11 stage y: map computes elementwise values, but t.2 is a cumsum; the family scan "
         "takes it"},
        {ordered, "stage y : scan",
         "note scan does not take topk_index (value 'y'); the family nest takes it"},
        {scattered, "stage y : scatter", ""},
        {scattered, "stage y : scan",
         "2:11 stage y: scan takes a scan, but y is a scatter_add; the family scatter takes it"},
        {by_element, "stage y : scatter",
         "note scatter takes sums whose indices are the same for all of a row, and those of 'y' "
         "are not; the family nest takes it"},
        {sliced, "stage y : gemm",
         "2:11 stage y: v.1 is a slice of the product t; materialise t first, or the family nest "
         "takes it"},
        {reshaped, "stage y, s : gemm combine twopass", NO_WORD("combine")},
        {reshaped, "stage y, s : gemm",
         "2:14 stage y: s is reduced over M, beyond one tile unless 'tile' holds all of it; "
         "materialise y first"},
        {braided, "stage y : gemm",
         "2:11 stage y: y needs elements of t from other places than its own; materialise t first, "
         "or the family nest takes it"},
        {embedded, "stage y : gemm", ""},
        {picked, "stage y : rowwise", ""},
        {swapped, "stage y : rowwise",
         "2:11 stage y: y is a take of what the rows give; materialise p first"},
    };
    CHECK(cases, "sm_90a");
}

Test(block, mistakes_of_all_stages_are_found_at_once) {
    static const struct one_case cases[] = {
        {softmax, "stage y.mix : rowwise\nstage y.max : rowise\nstage y : rowwise vex 4",
         "2:7 stage y.mix: the problem p has no value 'y.mix' -> y.max\n"
         "3:15 stage y.max: unknown family 'rowise' -> rowwise\n"
         "4:19 stage y: rowwise as simt has no knob 'vex' -> vec"},
        {softmax, "stage y.max : rowwise\nstage y.sum : rowwise\nstage y.exp : map",
         "1:1 kernel for p: no stage computes the output y\n"
         "3:7 stage y.sum: nobody reads y.sum\n"
         "4:7 stage y.exp: nobody reads y.exp"},
        {softmax, "stage y, y : rowwise", "2:10 stage y: the value y is materialised twice"},
        {product, "stage y : gemm\nstage s : gemm",
         "3:11 stage s: gemm takes a matrix product, but s is a sum; the family rowwise takes it"},
        {twice, "stage t : gemm\nstage u : map\nstage y : conv",
         "4:11 stage y: conv takes a convolution, but y is a matmul; the family gemm takes it"},
        {product, "stage y : gemm\nstage s : conv",
         "3:11 stage s: conv takes a convolution, but s is a sum; the family rowwise takes it"},
        {product, "stage y : library\nstage s : reduce",
         "note a library computes t alone; what is around it is a stage of its own; the "
         "family gemm takes it"},
    };
    CHECK(cases, "sm_90a");
}

Test(block, types_and_layouts_are_checked) {
    static const struct one_case cases[] = {
        {softmax, "stage y as f33 : rowwise", "2:12 stage y: no type is named 'f33' -> f32"},
        {softmax, "stage y as f32 : rowwise", ""},
        {softmax, "stage y layout N,M : rowwise",
         "2:16 stage y: the output y is written as declared, [M, N]"},
        {softmax, "stage y layout M : rowwise",
         "2:16 stage y: a layout names every axis of a value once, and y is [M, N]"},
        {softmax, "stage y layout M,K : rowwise",
         "2:16 stage y: a layout names every axis of a value once, and y is [M, N]"},
        {softmax, "stage y layout M,M : rowwise",
         "2:16 stage y: a layout names every axis of a value once, and y is [M, N]"},
        {softmax, "stage y.exp layout N,M : rowwise\nstage y : rowwise", NO_WORD("layout")},
        {softmax, "stage y.exp layout 1,0 : rowwise\nstage y : rowwise", NO_WORD("layout")},
        {softmax, "stage y.exp layout 2,0 : rowwise\nstage y : rowwise",
         "2:20 stage y.exp: a layout names every axis of a value once, and y.exp is [M, N]"},
        {softmax, "stage x layout N,M : map\nstage y : rowwise", NO_WORD("layout")},
        {softmax, "stage y layout M,N : rowwise",
         "2:16 stage y: y lies like that as declared; leave the layout out"},
        {softmax, "stage y.exp layout M,N : rowwise\nstage y : rowwise",
         "2:20 stage y.exp: y.exp lies like that as declared; leave the layout out"},
        {softmax, "stage x layout M,N : map\nstage y : rowwise",
         "2:16 stage x: x lies like that already"},
        {softmax, "stage x layout N,M : map\nstage x layout M,N : map\nstage y : rowwise",
         NO_WORD("layout")},
        {softmax, "stage y : rowwise\nstage x layout N,M : map", "3:7 stage x: nobody reads x"},
        {softmax, "stage x layout N,M : map\nstage x layout N,M : map\nstage y : rowwise",
         "3:16 stage x: x lies like that already"},
    };
    CHECK(cases, "sm_90a");
}

// What emitters take, the language admits: no block that a search can reach is refused.
Test(form, takes_every_block_that_is_lowered) {
    struct rng r;
    rng_init(&r, 5);
    for (int i = 0; i < 60; i++) {
        struct arena a = {0};
        const char *text = random_problem(&a, &r);
        struct problem *p = problem_from(&a, text);
        struct target t = test_target(64);
        struct kernel *k = random_kernel(&a, &r, p, &t, (int)rng_below(&r, 6));
        struct lang_source source = {.file = "k"};
        struct mistakes m = {.arena = &a, .source = &source};
        struct block *b = block_resolve(&a, p, &t, k, &m);
        cr_assert(m.count == 0, "%s\n%s\n%s", text, kernel_print(&a, k), m.items[0].text);
        for (int s = 0; s < b->n_stages; s++)
            cr_assert(b->stages[s].ok && !b->stages[s].no_emitter);
        arena_reset(&a);
    }
}

Test(block, blocks_of_a_row_that_cannot_be_are_refused) {
#define ROWS                                                                   \
    "problem p\ndim M = 64, N = 393216\nin x : f32[M, N]\nout y : f32[M, N]\n" \
    "y = softmax(x)\n"
#define STAGE(knobs) "stage y : rowwise as blocks  " knobs
    static const struct one_case cases[] = {
        {ROWS, STAGE("blocks 33  meet cluster  keep shared"),
         "2:30 stage y: a cluster has at most 16 blocks: the nearest is blocks 16, or meet grid"},
        {ROWS, STAGE("threads 512  blocks 4  meet cluster  stats levels  keep shared"),
         "2:81 stage y: 395264 bytes of shared memory, but a block has at most 232448: the nearest "
         "is keep reread"},
        {ROWS, STAGE("blocks 16  meet none"),
         "2:41 stage y: 16 blocks per row: the nearest is meet cluster"},
        {ROWS, STAGE("threads 512  blocks 132  meet grid  rows 4  minblocks 2  keep shared"),
         "2:43 stage y: 132 blocks for each of 4 rows cannot all be resident: there is room for 2 "
         "on each of 132 multiprocessors; the nearest is fewer rows"},
    };
    CHECK(cases, "sm_90a");
    static const struct one_case old[] = {
        {ROWS, STAGE("blocks 8  meet cluster  keep reread"),
         "2:40 stage y: this architecture has no clusters: the nearest is meet grid"},
    };
    CHECK(old, "sm_80");
#undef ROWS
#undef STAGE
}
