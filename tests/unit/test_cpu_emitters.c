// Emitters for a CPU over many sizes, in the interpreter of loops. Scans: along and across, whole
// lines and pieces of them, forward and backward, inclusive and not, sums and products, with
// lengths around vectors and runs. Tiles: what is read across, with edges, in every type. Rows: of
// several axes, in one stretch of memory and in many.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/program.h"
#include "loop/passes.h"
#include "lowering.h"

enum { TOLERANCE = 60 };

static struct kernel *kernel_for(struct arena *a, const struct problem *p, const char *values,
                                 const char *stage) {
    struct error err = {0};
    struct lang_file file;
    const char *diagnostics = "";
    const char *text =
        arena_printf(a, "%s\nkernel for p on cpu\nstage %s : %s\n", p->text, values, stage);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

static struct kernel *kernel_of(struct arena *a, const struct problem *p, const char *stage) {
    return kernel_for(a, p, "y", stage);
}

static void check_stage(const char *text, const char *values, const char *stage) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = test_target(64);
    char message[1200] = "";
    struct problem *p = problem_from(&a, text);
    struct expectation e;
    struct kernel *k = kernel_for(&a, p, values, stage);
    cr_assert(lower_check(&a, p, &t, k, &err), "%s%s: %s", text, stage, err.text);
    expect_open(&e, &a, p, 7);
    struct loop_program *program = program_lower(&a, p, &t, k);
    pass_prune(program);
    pass_unroll(program);
    double error = expect_execute(&e, &a, p, program, message, sizeof message);
    cr_assert(error >= 0 && error < TOLERANCE, "%s%s: error %g %s", text, stage, error, message);
    expect_close(&e);
    arena_reset(&a);
}

static void check(const char *text, const char *stage) {
    check_stage(text, "y", stage);
}

static const char *const ways[] = {"", ", reverse=true", ", exclusive=true",
                                   ", reverse=true, exclusive=true"};

Test(scan_cpu, any_shape_axis_and_direction) {
    static const struct {
        const char *shape;
        int axis;
        const char *knobs;
    } cases[] = {
        {"3, 1", 1, "scan  vec 1  unroll 1  grain 1  split 1  store cached"},
        {"3, 15", 1, "scan  vec 16  unroll 2  grain 2  split 1  store cached"},
        {"2, 16", 1, "scan  vec 16  unroll 1  grain 1  split 1  store stream"},
        {"5, 33", 1, "scan  vec 8  unroll 4  grain 4  split 1  store cached"},
        {"2, 1024", 1, "scan  vec 16  unroll 1  grain 1  split 1  store stream"},
        {"2, 1025", 1, "scan  vec 4  unroll 2  grain 2  split 1  store cached"},
        {"2, 2101", 1, "scan  vec 16  unroll 2  grain 1  split 2  store cached"},
        {"1, 4096", 1, "scan  vec 8  unroll 1  grain 1  split 4  store stream"},
        {"7, 5", 0, "scan  vec 4  unroll 4  grain 4  split 1  store cached"},
        {"9, 40", 0, "scan  vec 8  unroll 2  grain 16  split 1  store stream"},
        {"3, 6, 21", 1, "scan  vec 4  unroll 2  grain 8  split 1  store cached"},
        {"2, 1030, 5", 1, "scan  vec 4  unroll 4  grain 4  split 1  store cached"},
        {"3, 40", 0, "scan  vec 8  unroll 8  grain 16  split 1  store stream"},
        {"2100, 9", 0, "scan  vec 8  unroll 8  grain 8  split 2  store cached"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 4; way++) {
            char text[400];
            snprintf(text, sizeof text,
                     "problem p\nin x : f32[%s]\nout y : f32[%s]\ny = cumsum(x, axis=%d%s)\n",
                     cases[i].shape, cases[i].shape, cases[i].axis, ways[way]);
            check(text, cases[i].knobs);
        }
}

Test(scan_cpu, products_types_and_what_is_fused) {
    static const char *const texts[][2] = {
        {"problem p\nin x : f32[3, 70] ~ uniform(0.5, 1.5)\nout y : f32[3, 70]\n"
         "y = cumprod(x)\n",
         "scan  vec 8  unroll 1  grain 1  split 1  store cached"},
        {"problem p\nin x : f32[70, 6] ~ uniform(0.5, 1.5)\nout y : f32[70, 6]\n"
         "y = cumprod(x, axis=0, reverse=true)\n",
         "scan  vec 4  unroll 1  grain 2  split 1  store cached"},
        {"problem p\nin x : bf16[3, 1100]\nin c : bool[3, 1100]\nout y : bf16[3, 1100]\n"
         "y = relu(cumsum(where(c, x, 0)) * 2)\n",
         "scan  vec 16  unroll 1  grain 1  split 1  store cached"},
        {"problem p\nin x : f64[3, 70]\nout y : f64[3, 70]\ny = cumsum(x)\n",
         "scan  vec 1  unroll 1  grain 1  split 1  store cached"},
        {"problem p\nin x : i64[3, 2070]\nout y : i64[3, 2070]\ny = cumsum(x)\n",
         "scan  vec 1  unroll 2  grain 1  split 2  store cached"},
        {"problem p\nin x : i32[70, 3]\nout y : i32[70, 3]\ny = cumsum(x, axis=0)\n",
         "scan  vec 1  unroll 1  grain 1  split 1  store cached"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i][0], texts[i][1]);
}

Test(scan_cpu, rejects_what_it_cannot_do) {
    static const char *const cases[][2] = {
        {"scan  vec 8  split 8",
         "a line of 1028 elements has no 8 pieces of 1024: the nearest is split 1"},
        {"scan  vec 8  store stream", "store stream needs aligned rows"},
    };
    struct arena a = {0};
    struct target t = test_target(64);
    struct problem *p =
        problem_from(&a, "problem p\nin x : f32[3, 1028]\nout y : f32[3, 1028]\ny = cumsum(x)\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct kernel *k = kernel_of(&a, p, cases[i][0]);
        cr_assert(!lower_check(&a, p, &t, k, &err), "%s", cases[i][0]);
        cr_assert(strstr(err.text, cases[i][1]), "%s", err.text);
    }
    arena_reset(&a);
}

// Tables so large that a row is asked for before its turn: at the last places there is none left to
// ask for, and a row may end within a vector.
Test(map_cpu, rows_of_large_tables) {
    static const char *const widths[] = {"520", "521", "1400"};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "problem p\nparam w : f32[8192, %s]\nin i : i64[5, 7] ~ index(8192)\n"
                 "out y : f32[5, 7, %s]\ny = embedding(w, i) + 1\n",
                 widths[i], widths[i]);
        check(text, i == 1 ? "map  vec 8  unroll 2  grain 1024  store cached"
                           : "map  vec 8  unroll 1  grain 4096  store stream");
    }
}

Test(map_tiles_cpu, any_permutation_edge_and_type) {
    static const char *const texts[][2] = {
        {"problem p\nin x : f32[33, 50]\nout y : f32[50, 33]\ny = x.T\n",
         "map as tiles  vec 16  tile 16x32  ahead 1  store cached"},
        {"problem p\nin x : f32[48, 50]\nout y : f32[50, 48]\ny = exp(x.T) + 1\n",
         "map as tiles  vec 8  tile 32x16  ahead 1  store stream"},
        {"problem p\nin x : bf16[2, 19, 5, 7]\nout y : bf16[2, 5, 7, 19]\n"
         "y = transpose(x, (0, 2, 3, 1))\n",
         "map as tiles  vec 4  tile 16x16  ahead 0  store cached"},
        {"problem p\nin x : f32[20, 17]\nin z : f16[17, 20]\nin w : f16[20, 17]\n"
         "out y : f32[17, 20]\ny = x.T * z - w.T\n",
         "map as tiles  vec 4  tile 16x16  ahead 1  store cached"},
        // In registers: whole tiles, edges on either side, and what is the same in all rows.
        {"problem p\nin x : f32[32, 64]\nout y : f32[64, 32]\ny = x.T\n",
         "map as tiles  vec 16  tile 32x16  ahead 1  turn registers  store stream"},
        {"problem p\nin x : f32[33, 50]\nin c : f32[33]\nin d : f32[50, 1]\nout y : f32[50, 33]\n"
         "y = exp(x.T) * c + d\n",
         "map as tiles  vec 8  tile 16x32  ahead 1  turn registers  store cached"},
        {"problem p\nin x : bf16[2, 19, 5, 7]\nout y : bf16[2, 5, 7, 19]\n"
         "y = transpose(x, (0, 2, 3, 1))\n",
         "map as tiles  vec 4  tile 16x16  ahead 0  turn registers  store cached"},
        {"problem p\nin x : f16[20, 17]\nin z : f16[17, 20]\nin w : f32[20, 17]\n"
         "out y : f16[17, 20]\ny = x.T * z - w.T\n",
         "map as tiles  vec 4  tile 16x16  ahead 1  turn registers  store stream"},
        // Two squares side by side, one, and what is left.
        {"problem p\nin x : bf16[56, 21]\nout y : bf16[21, 56]\ny = x.T\n",
         "map as tiles  vec 8  tile 32x16  ahead 1  turn registers  store stream"},
        {"problem p\nin x : f32[3, 5]\nout y : f32[5, 3]\ny = x.T\n",
         "map as tiles  vec 4  tile 16x16  ahead 1  turn registers  store cached"},
        {"problem p\nin x : i64[20, 17]\nout y : i64[17, 20]\ny = x.T + 1\n",
         "map as tiles  vec 1  tile 16x16  ahead 0  store cached"},
        {"problem p\nin x : bool[20, 17]\nin z : f32[17, 20]\nout y : f32[17, 20]\n"
         "y = where(x.T, z, 0)\n",
         "map as tiles  vec 1  tile 16x16  ahead 0  store cached"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i][0], texts[i][1]);
}

Test(map_tiles_cpu, is_chosen_for_large_transposes_alone) {
    static const struct {
        const char *text;
        bool is_tiled;
    } cases[] = {
        {"problem p\nin x : f32[2048, 4096]\nout y : f32[4096, 2048]\ny = x.T\n", true},
        {"problem p\nin x : f32[2048, 4096]\nout y : f32[2048, 4096]\ny = x * 2\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct target t = test_target(64);
        struct kernel k;
        lower_default(&a, problem_from(&a, cases[i].text), &t, &k);
        cr_assert_eq(k.stages[0]->emitter && !strcmp(k.stages[0]->emitter, "tiles"),
                     cases[i].is_tiled, "%s", cases[i].text);
        arena_reset(&a);
    }
}

Test(rowwise_cpu, rows_along_several_axes) {
    static const char *const keeps[] = {"reread  ahead 0  overlap none",
                                        "local  ahead 1  overlap rows",
                                        "reread  ahead 1  overlap rows"};
    static const char *const texts[] = {
        "problem p\nin x : f32[3, 4, 5, 7]\nout y : f32[3, 4, 5, 7]\ny = instancenorm(x)\n",
        "problem p\nin x : f32[3, 4, 5, 7]\nin w : f32[4]\nin b : f32[4]\n"
        "out y : f32[3, 4, 5, 7]\ny = batchnorm(x, w, b)\n",
        "problem p\nin x : f16[3, 4, 6]\nin w : f16[4, 6]\nin b : f16[4, 6]\n"
        "out y : f16[3, 4, 6]\ny = layernorm(x, w, b, axis=(1, 2))\n",
        "problem p\nin x : f32[5, 4, 33]\nout y : f32[5, 4, 33]\n"
        "y = x / sqrt(sum(x * x, axis=(0, 2), keepdims=true))\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < 3; k++) {
            char stage[200];
            snprintf(stage, sizeof stage,
                     "rowwise  vec 4  rows 2  unroll 2  keep %s  divide exact  store cached",
                     keeps[k]);
            check(texts[i], stage);
        }
}

// Rows of an odd length go past the caches from their first whole line on, which lies elsewhere in
// each row, stretch and chunk of a long sum, and for the row before elsewhere than for the one that
// is read. The interpreter of loops finds a store that is not aligned.
Test(rowwise_cpu, rows_that_begin_anywhere_are_streamed_to) {
    static const char *const knobs[] = {
        "vec 4  rows 2  unroll 2  keep reread  ahead 0  overlap none",
        "vec 4  rows 4  unroll 1  keep local  ahead 1  overlap rows",
        "vec 4  rows 2  unroll 4  keep reread  ahead 2  overlap rows"};
    static const char *const texts[] = {
        "problem p\nin x : bf16[5, 301]\nout y : bf16[5, 301]\ny = softmax(x)\n",
        "problem p\nin x : f32[3, 2, 275]\nout y : f32[3, 2, 275]\n"
        "y = x - mean(x, axis=(0, 2), keepdims=true)\n",
        "problem p\nin x : f16[3, 259]\nin w : f16[259]\nout y : f16[3, 259]\n"
        "y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1) * w\n",
        "problem p\nin x : f32[3, 9001]\nout y : f32[3, 9001]\n"
        "y = x / sum(abs(x), axis=1, keepdims=true)\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++) {
            char stage[200];
            snprintf(stage, sizeof stage, "rowwise  %s  divide exact  store stream", knobs[k]);
            check(texts[i], stage);
        }
}

// Rows along other axes than the last: whole strips, narrower ones and single rows, several levels,
// long sums, values of a row among the results, axes of one element on either side.
Test(rowwise_columns_cpu, any_axis_width_and_type) {
    static const char *const texts[] = {
        "in x : f32[3, 5, 4, 37]\nout y : f32[3, 5, 4, 37]\n"
        "y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1e-5)\n",
        "in x : f32[6, 64]\nout y : f32[6, 64]\ny = softmax(x, axis=0)\n",
        "in x : bf16[2, 7, 48]\nin w : f32[7, 1]\nout y : bf16[2, 7, 48]\n"
        "y = softmax(x, axis=1) * w\n",
        "in x : f16[4, 3, 5, 8]\nout y : f16[4, 3, 5, 8]\nout m : f32[3, 8]\n"
        "m = max(x, axis=(0, 2))\ny = x - max(x, axis=(0, 2), keepdims=true)\n",
        "in x : f32[2, 9, 21, 1]\nin w : f32[21, 1]\nout y : f32[2, 9, 21, 1]\n"
        "y = (x - mean(x, axis=1, keepdims=true)) * w\n",
        "in x : f32[9, 21, 1]\nout y : f32[9, 21, 1]\n"
        "y = x - sum(x, axis=(0, 2), keepdims=true)\n",
        "in x : f32[9300, 5]\nout y : f32[9300, 5]\ny = x / sum(abs(x), axis=0, keepdims=true)\n",
        "in x : f32[1030, 9]\nin c : bool[1030, 9]\nout y : f32[1030, 9]\n"
        "y = where(c, x, 0) - max(where(c, x, 0), axis=0, keepdims=true)\n",
    };
    static const char *const knobs[] = {
        "vec 4  strip 8  keep local  ahead 0  divide exact", "vec 16  strip 1  keep local  ahead 4",
        "vec 4  strip 2  keep reread  ahead 2  divide reciprocal", "vec 1  strip 4  keep local",
        "vec 8  strip 2  keep local  divide reciprocal"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++) {
            char text[300], stage[200];
            bool is_second = strstr(texts[i], "out m");
            snprintf(text, sizeof text, "problem p\n%s", texts[i]);
            // Of rows that long and wide a strip is no local array.
            bool is_long = strstr(texts[i], "9300") && !strstr(knobs[k], "vec 1 ");
            snprintf(stage, sizeof stage, "rowwise as columns  %.*s%s  store %s",
                     (int)strcspn(knobs[k], "k"), knobs[k],
                     is_long ? "keep reread" : knobs[k] + strcspn(knobs[k], "k"),
                     i == 1 && k != 3 ? "stream" : "cached");
            check_stage(text, is_second ? "y, m" : "y", stage);
        }
}

// Each strip is stored while the next one is read: runs that are full and not, one and two levels,
// values of a row among the results, long sums, values that are not kept.
Test(rowwise_columns_cpu, strips_are_stored_while_the_next_is_read) {
    static const char *const texts[] = {
        "in x : f32[3, 5, 4, 20]\nout y : f32[3, 5, 4, 20]\n"
        "y = x / sqrt(mean(x * x, axis=1, keepdims=true) + 1e-5)\n",
        "in x : f32[6, 64]\nout y : f32[6, 64]\ny = softmax(x, axis=0)\n",
        "in x : bf16[2, 7, 48]\nin w : f32[7, 1]\nout y : bf16[2, 7, 48]\n"
        "y = softmax(x, axis=1) * w\n",
        "in x : f16[4, 3, 5, 8]\nout y : f16[4, 3, 5, 8]\nout m : f32[3, 8]\n"
        "m = max(x, axis=(0, 2))\ny = x - max(x, axis=(0, 2), keepdims=true)\n",
        "in x : f32[2500, 16]\nout y : f32[2500, 16]\n"
        "y = x / sum(abs(x), axis=0, keepdims=true)\n",
        "in x : f32[1030, 8]\nin c : bool[1030, 8]\nout y : f32[1030, 8]\n"
        "y = where(c, x, 0) - max(where(c, x, 0), axis=0, keepdims=true)\n",
    };
    static const char *const knobs[] = {
        "vec 4  strip 1  keep local  ahead 0  overlap strips  divide exact  store stream",
        "vec 4  strip 2  keep reread  ahead 2  overlap strips  divide reciprocal  store cached",
        "vec 4  strip 2  keep local  ahead 2  overlap strips  divide reciprocal  store stream"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++) {
            char text[300], stage[200];
            snprintf(text, sizeof text, "problem p\n%s", texts[i]);
            snprintf(stage, sizeof stage, "rowwise as columns  %s", knobs[k]);
            check_stage(text, strstr(texts[i], "out m") ? "y, m" : "y", stage);
        }
}

// One stage where memory is then read once; statistics by themselves where a strip's rows do not
// fit the caches, or are too few for all threads.
Test(rowwise_columns_cpu, is_chosen_where_strips_stay_in_the_caches) {
    static const struct {
        const char *shape, *stage;
    } cases[] = {
        {"8, 64, 16384", "stage y : rowwise as columns  vec 16  strip 32  keep reread  ahead "
                         "4  overlap strips"},
        // 32 vectors of such rows do not stay near, and 8 do.
        {"64, 2048, 512", "stage y : rowwise as columns  vec 16  strip 8  keep reread  ahead "
                          "4  overlap strips"},
        {"1, 2048, 4096", "stage y : rowwise as columns  vec 16  strip 4  keep local"},
        {"1, 2000000, 8", "stage y       : map"},
        {"1, 20000, 4096", "stage y       : map"},
        {"2, 5, 7", "stage y : rowwise as columns  vec 16  strip 8  keep local"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct target t = test_target(64);
        struct kernel k;
        t.n_threads = 2;
        t.l2_bytes = 1 << 20;
        t.llc_bytes = 32 << 20;
        struct problem *p =
            problem_from(&a, arena_printf(&a,
                                          "problem p\nin x : f32[%s]\nout y : f32[%s]\n"
                                          "y = x / sqrt(mean(x * x, axis=1, keepdims=true))\n",
                                          cases[i].shape, cases[i].shape));
        lower_default(&a, p, &t, &k);
        const char *text = kernel_print(&a, &k);
        cr_expect(strstr(text, cases[i].stage), "%s: %s", cases[i].shape, text);
        arena_reset(&a);
    }
}

// Few results leave no thread idle, and rows are read in long stretches.
Test(reduce_cpu, defaults_use_all_threads_and_long_stretches) {
    static const char *const cases[][2] = {
        {"in x : f32[5000003]\nout y : f32\ny = sum(x)\n",
         "stage y : reduce  vec 16  unroll 4  grain 4  split 8\n"},
        {"in x : f32[3, 2000000]\nout y : f32[3]\ny = max(x, axis=1)\n",
         "stage y : reduce  vec 16  unroll 4  grain 4  split 8\n"},
        {"in x : f32[2048, 2048]\nout y : f32[2048]\ny = sum(x, axis=0)\n",
         "stage y : reduce  vec 16  unroll 4  grain 2048  split 8\n"},
        {"in x : f32[2000, 300]\nout y : f32[2000]\ny = sum(x, axis=1)\n",
         "stage y : rowwise  vec 16"},
    };
    struct target t = test_target(64);
    t.n_threads = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct kernel k;
        lower_default(&a, problem_from(&a, arena_printf(&a, "problem p\n%s", cases[i][0])), &t, &k);
        const char *text = kernel_print(&a, &k);
        cr_assert(strstr(text, cases[i][1]), "%s", text);
        arena_reset(&a);
    }
}

// Rows of many elements, of which bf16 has equal ones, go by vectors; others by elements.
Test(nest_best, positions_by_vectors) {
    static const char *const cases[] = {"f32[5, 256]",  "f32[3, 300]",  "bf16[7, 1000]",
                                        "f16[4, 1027]", "f32[6, 255]",  "i32[3, 400]",
                                        "f32[5, 4099]", "bf16[3, 2113]"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int least = 0; least < 2; least++) {
            char text[300];
            snprintf(text, sizeof text,
                     "problem p\nin x : %s\nout y : i64[%d]\ny = %s(x, axis=1)\n", cases[i],
                     (strchr(cases[i], '[')[1] - '0'), least ? "argmin" : "argmax");
            check(text, "nest  vec 1  grain 2  split 1");
        }
}

static int count_prefetches(const struct loop_block *b) {
    int n = 0;
    for (const struct loop_stmt *s = b->first; s; s = s->next)
        n += (s->kind == LOOP_PREFETCH) + count_prefetches(&s->body);
    return n;
}

// Slow functions of what comes from memory: asked for before it is needed, and only then.
Test(ahead, is_asked_where_functions_are_slow_and_arrays_large) {
    static const struct {
        const char *text;
        bool asks;
    } cases[] = {
        {"in x : f32[4194304]\nin t : f32[4194304]\nout y : f32\ny = sum(log(t) * x)\n", true},
        {"in x : f32[8388608]\nout y : f32[8388608]\ny = exp(x)\n", true},
        {"in x : f32[8388608]\nout y : f32[8388608]\ny = x * 2\n", false},
        {"in x : f32[65536]\nout y : f32[65536]\ny = exp(x)\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct target t = test_target(64);
        struct kernel k;
        struct problem *p = problem_from(&a, arena_printf(&a, "problem p\n%s", cases[i].text));
        lower_default(&a, p, &t, &k);
        struct loop_program *program = program_lower(&a, p, &t, &k);
        int n = count_prefetches(&program->kernels[0]->body);
        cr_assert_eq(n > 0, cases[i].asks, "%s: %d", cases[i].text, n);
        arena_reset(&a);
    }
}
