#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "record/plan.h"

static const char *const names[] = {"M", "N"};
static const int64_t sizes[] = {64, 100};
static const struct plan_buffer buffers[] = {
    {.name = "x", .role = BUFFER_INPUT, .size_bytes = 64 * 100 * 4},
    {.name = "y", .role = BUFFER_OUTPUT, .size_bytes = 64 * 100 * 4},
};
static const struct plan_context context = {
    .dim_names = names,
    .dim_sizes = sizes,
    .n_dims = 2,
    .n_threads = 3,
    .buffers = buffers,
    .n_buffers = 2,
};

Test(plan, reads_scratch_fill_and_launches_in_order) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    const char *source = "// a kernel\n"
                         "#pragma hone scratch part f64[M, ceildiv(N, 64)] = 0\n"
                         "#pragma hone fill y -1.5\n"
                         "  # pragma hone launch rows \\\n"
                         "     grid(max(M, THREADS * 2) - 1) args(x, part)\n"
                         "#pragma hone launch end args(part, y) grid(1) // last\n"
                         "void rows(long block) {}\n";
    cr_assert(plan_parse(&a, source, &context, &p, &err), "%s", err.text);
    cr_expect_eq(p.n_buffers, 3);
    cr_expect_eq(p.buffers[2].size_bytes, 64 * 2 * 8);
    cr_expect(p.buffers[2].is_zeroed);
    cr_expect_eq(p.n_steps, 3);
    cr_expect_eq(p.steps[0].kind, STEP_FILL);
    cr_expect_eq(p.steps[0].fill_value, -1.5);
    cr_expect_str_eq(p.steps[1].function, "rows");
    cr_expect_eq(p.steps[1].grid, 63);
    cr_expect_eq(p.steps[1].args[1], 2);
    cr_expect_str_eq(p.steps[2].function, "end");
    arena_reset(&a);
}

Test(plan, does_not_read_pragmas_in_comments_and_strings) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    const char *source = "/*\n#pragma hone nonsense\n*/ // /*\n"
                         "// \\\n#pragma hone nonsense\n"
                         "const char *s = \"/*\", c = '\"';\n"
                         "#pragma hone launch f grid(1) args(x, y) /* why */\n";
    cr_assert(plan_parse(&a, source, &context, &p, &err), "%s", err.text);
    cr_expect_eq(p.n_steps, 1);
    arena_reset(&a);
}

Test(plan, names_the_mistake_and_its_line) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"int x;\n", "there is no '#pragma hone launch"},
        {"#pragma hone launch f grid(1) args(x)\n", "no step takes the output 'y'"},
        {"\n#pragma hone lunch f\n",
         "line 2: unknown '#pragma hone lunch', did you mean 'launch'?"},
        {"#pragma hone launch f grid(Q) args(y)", "unknown size 'Q'"},
        {"#pragma hone launch f grid(TILE_ROWS) args(y)",
         "unknown size 'TILE_ROWS': numbers, the problem's sizes and THREADS"},
        {"#pragma hone launch f grid(TREADS) args(y)", "did you mean 'THREADS'?"},
        {"#pragma hone launch f grid(0) args(y)", "grid of 0 blocks"},
        {"#pragma hone launch f grid(M / (N - 100)) args(y)", "division of 64 by 0"},
        {"#pragma hone launch f grid(9223372036854775807 + 1) args(y)", "overflows"},
        {"#pragma hone launch f grid(99999999999999999999) args(y)", "overflows"},
        {"#pragma hone launch f grid(1) args(y, z)", "unknown buffer 'z'"},
        {"#pragma hone launch f grid(1) args(y, y)", "'y' is passed twice"},
        {"#pragma hone launch f args(y)", "has no grid"},
        {"#pragma hone launch f grid(1)", "has no args"},
        {"#pragma hone launch f grid(1) block(2) args(y)", "unexpected 'block'"},
        {"#pragma hone launch f grid(1) args(y) ;", "unexpected ';'"},
        {"#pragma hone launch f grid(1", "expected ')' before the end of the line"},
        {"#pragma hone launch 7", "expected the function's name before '7'"},
        {"#pragma hone scratch x f32[M]", "there is a buffer 'x' already"},
        {"#pragma hone scratch s f99[M]", "unknown type 'f99'"},
        {"#pragma hone scratch s f32[M - 64]", "scratch 's' has size 0"},
        {"#pragma hone scratch s f32[1000000000, 1000000000]", "more than"},
        {"#pragma hone scratch s f32[M, 9223372036854775807]", "overflows"},
        {"#pragma hone fill x 1", "'x' is an input"},
        {"#pragma hone fill y nan", "expected a finite number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct plan p;
        cr_expect(!plan_parse(&a, cases[i].text, &context, &p, &err), "%s", cases[i].text);
        cr_expect_eq(err.kind, ERROR_PARSE);
        cr_expect(strstr(err.text, cases[i].want), "%s", err.text);
        arena_reset(&a);
    }
}

Test(plan, refuses_what_nests_or_repeats_without_end) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    char deep[1000] = "#pragma hone launch f grid(";
    memset(deep + strlen(deep), '(', 500);
    cr_expect(!plan_parse(&a, deep, &context, &p, &err));
    cr_expect(strstr(err.text, "deeper"), "%s", err.text);

    struct str many = {0};
    for (int i = 0; i <= PLAN_STEPS_MAX; i++)
        str_puts(&many, "#pragma hone launch f grid(1) args(y)\n");
    cr_expect(!plan_parse(&a, str_take(&a, &many), &context, &p, &err));
    cr_expect(strstr(err.text, "line 4097: more than 4096 steps"), "%s", err.text);

    many = (struct str){0};
    for (int i = 0; i <= PLAN_BUFFERS_MAX; i++)
        str_printf(&many, "#pragma hone scratch s%d u8[1]\n", i);
    cr_expect(!plan_parse(&a, str_take(&a, &many), &context, &p, &err));
    cr_expect(strstr(err.text, "more than 2048 buffers"), "%s", err.text);
    arena_reset(&a);
}

Test(plan, survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p, q;
    const char *source = "#pragma hone scratch s f32[7] = 0\n#pragma hone fill s 2.5\n"
                         "#pragma hone launch f grid(M) args(x, s, y)\n";
    cr_assert(plan_parse(&a, source, &context, &p, &err));
    json_t *json = plan_to_json(&p);
    cr_assert(plan_from_json(&a, json, &q, &err), "%s", err.text);
    cr_expect_eq(q.n_buffers, 3);
    cr_expect_eq(q.buffers[1].role, BUFFER_OUTPUT);
    cr_expect(q.buffers[2].is_zeroed);
    cr_expect_eq(q.steps[0].fill_value, 2.5);
    cr_expect_eq(q.steps[1].n_args, 3);
    cr_expect_eq(q.steps[1].grid, 64);

    json_t *step = json_array_get(json_object_get(json, "steps"), 1);
    json_array_set_new(json_object_get(step, "args"), 0, json_integer(99));
    cr_expect(!plan_from_json(&a, json, &q, &err));
    cr_expect(strstr(err.text, "no buffer 99"), "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

static const struct plan_context gpu = {
    .dim_names = names,
    .dim_sizes = sizes,
    .n_dims = 2,
    .buffers = buffers,
    .n_buffers = 2,
    .is_gpu = true,
    .n_sms = 132,
    .shared_per_block = 232448,
    .cluster_max = 16,
};

static const char *const gpu_source =
    "#pragma hone scratch part f16[SMS, N] = 0\n"
    "#pragma hone tensormap xa = x dims(N, M) strides(4*N) box(32, 64) swizzle(128) promote(256) "
    "oob nan\n"
    "#pragma hone launch rows grid(M, 2) block(32, 8) shared(100 * 1024) cluster(2, 1, 1) "
    "args(xa, part)\n"
    "#pragma hone launch end block(1024) cooperative args(part, y) grid(SMS)\n"
    "#pragma hone launch more grid(4) block(32) programmatic args(part)\n";

Test(plan, reads_launches_with_threads_and_tensor_maps) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    cr_assert(plan_parse(&a, gpu_source, &gpu, &p, &err), "%s", err.text);
    cr_expect_eq(p.buffers[2].size_bytes, 132 * 100 * 2);
    cr_expect_eq(p.n_tensormaps, 1);
    const struct plan_tensormap *m = &p.tensormaps[0];
    cr_expect_eq(m->rank, 2);
    cr_expect_eq(m->dims[0], 100);
    cr_expect_eq(m->strides_bytes[0], 400);
    cr_expect_eq(m->box[1], 64);
    cr_expect_eq(m->swizzle_bytes, 128);
    cr_expect_eq(m->promote_bytes, 256);
    cr_expect(m->is_nan_outside);
    const struct plan_step *s = &p.steps[0];
    cr_expect_eq(s->grid, 128);
    cr_expect_eq(s->shape.grid[1], 2);
    cr_expect_eq(s->shape.grid[2], 1);
    cr_expect_eq(s->shape.block[1], 8);
    cr_expect_eq(s->shape.shared_bytes, 102400);
    cr_expect_eq(s->shape.cluster[0], 2);
    cr_expect_eq(s->args[0], -1);
    cr_expect_eq(s->args[1], 2);
    cr_expect(!s->shape.is_cooperative);
    cr_expect(p.steps[1].shape.is_cooperative);
    cr_expect_eq(p.steps[1].grid, 132);
    cr_expect(!s->shape.is_programmatic && !p.steps[1].shape.is_programmatic);
    cr_expect(p.steps[2].shape.is_programmatic);
    arena_reset(&a);
}

// A network of tensor-core kernels has one for each operand.
Test(plan, takes_as_many_tensor_maps_as_a_network_has) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    struct str text = {0};
    for (int i = 0; i < 400; i++)
        str_printf(&text, "#pragma hone tensormap t%d = x dims(4) box(4)\n", i);
    str_puts(&text, "#pragma hone launch f grid(1) block(1) args(t399, y)\n");
    cr_assert(plan_parse(&a, str_take(&a, &text), &gpu, &p, &err), "%s", err.text);
    cr_expect_eq(p.n_tensormaps, 400);
    arena_reset(&a);
}

Test(plan, names_the_mistakes_of_gpu_launches) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"launch f grid(1) args(y)", "launch 'f' has no block(...)"},
        {"launch f grid(0) block(1) args(y)", "a grid of 0 along x"},
        {"launch f grid(1, 65536) block(1) args(y)", "a grid of 65536 along y"},
        {"launch f grid(1, 1, 1, 1) block(1) args(y)", "more than 3 numbers"},
        {"launch f grid(1) block(2048) args(y)", "a block of 2048 along x"},
        {"launch f grid(1) block(1, 1, 65) args(y)", "a block of 65 along z"},
        {"launch f grid(1) block(64, 32) args(y)", "a block of 2048 threads; at most 1024"},
        {"launch f grid(1) block(0) args(y)", "a block of 0 along x"},
        {"launch f grid(1) block(1) shared(300000) args(y)",
         "300000 bytes of shared memory; a block has at most 232448"},
        {"launch f grid(1) block(1) shared(-1) args(y)", "-1 bytes of shared"},
        {"launch f grid(1) block(1) block(1) args(y)", "unexpected 'block'"},
        {"launch f grid(1) block(1) cluster(17) args(y)", "a cluster of 17 along x"},
        {"launch f grid(8, 8) block(1) cluster(8, 8) args(y)", "a cluster of 64 blocks"},
        {"launch f grid(3) block(1) cluster(2) args(y)", "no multiple of its cluster's 2"},
        {"launch f grid(1) block(1) overlap args(y)", "unexpected 'overlap'"},
        {"launch f grid(1) block(1) programmatic args(y)",
         "launch 'f' is programmatic, but no launch comes right before it"},
        {"fill y 0\n#pragma hone launch f grid(1) block(1) programmatic args(y)",
         "launch 'f' is programmatic, but no launch comes right before it"},
        {"launch f grid(1) block(1) args(y)\n"
         "#pragma hone launch g grid(1) block(1) cooperative programmatic args(y)",
         "launch 'g' is cooperative, so it cannot be programmatic"},
        {"launch f grid(1) block(1) args(y)\n"
         "#pragma hone launch g grid(1) block(1) programmatic programmatic args(y)",
         "unexpected 'programmatic'"},
        {"launch f grid(THREADS) block(1) args(y)", "unknown size 'THREADS'"},
        {"launch f grid(SMSS) block(1) args(y)", "did you mean 'SMS'?"},
        {"launch f grid(1) block(1) args(z)", "unknown buffer 'z'"},
        {"launch f grid(1) block(1) args(y, y)", "'y' is passed twice"},
        {"tensormap x = y dims(4) box(4)", "there is a 'x' already"},
        {"tensormap t = z dims(4) box(4)", "unknown buffer 'z'"},
        {"tensormap t = x", "has 0 dims"},
        {"tensormap t = x dims(4, 4) box(4, 4)", "has 2 dims, 0 strides, 2 in its box"},
        {"tensormap t = x dims(0) box(4)", "dims: 0 is not from 1"},
        {"tensormap t = x dims(4) box(257)", "box: 257"},
        {"tensormap t = x dims(4) box(3)", "take 12 bytes, no multiple of 16"},
        {"tensormap t = x dims(4, 4) strides(24) box(4, 4)", "strides: 24"},
        {"tensormap t = x dims(64, 4) strides(256) box(64, 1) swizzle(64)",
         "more than the swizzle"},
        {"tensormap t = x dims(4) box(4) swizzle(16)", "swizzle(16); it is 0, 32, 64 or 128"},
        {"tensormap t = x dims(4) box(4) promote(32)", "promote(32); it is 0, 64, 128 or 256"},
        {"tensormap t = x dims(4) box(4) oob one", "oob one; it is zero or nan"},
        {"scratch s i32[64]\n#pragma hone tensormap t = s dims(64) box(4) oob nan",
         "line 2: oob nan: 's' holds i32, which has no nan"},
        {"scratch s u8[64]\n#pragma hone tensormap t = s oob nan dims(64) box(16)",
         "'s' holds u8, which has no nan"},
        {"tensormap t = x dims(4) box(4) dims(4)", "unexpected 'dims'"},
        {"tensormap t = x dims(100, 65) strides(400) box(4, 4)", "reaches beyond the 25600 bytes"},
        {"tensormap t = x dims(100, 1073741824, 66, 1073741825) strides(400, 400, 68719476336) "
         "box(4, 4, 1, 1)",
         "reaches beyond the 25600 bytes"},
        {"tensormap t = x dims(100, 1073741824, 65, 1073741825) strides(400, 400, 68719476352) "
         "box(4, 4, 1, 1)",
         "reaches beyond the 25600 bytes"},
        {"tensormap t = x dims(4294967296, 4294967296) strides(1099511627760) box(4, 4)",
         "reaches beyond"},
        {"tensormap t = x dims(4) box(4)\n#pragma hone scratch t f32[1]",
         "there is a tensor map 't' already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct plan p;
        const char *source = arena_printf(&a, "#pragma hone %s\n", cases[i].text);
        cr_expect(!plan_parse(&a, source, &gpu, &p, &err), "%s", cases[i].text);
        cr_expect_eq(err.kind, ERROR_PARSE);
        cr_expect(strstr(err.text, cases[i].want), "%s: %s", cases[i].text, err.text);
        arena_reset(&a);
    }
}

// Rows that end where a copy says so: addresses wrap around.
Test(plan, takes_a_map_whose_copies_say_where_rows_end) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    const char *source = "#pragma hone tensormap t = x dims(100, 1073741824, 65, 1073741825) "
                         "strides(400, 400, 68719476336) box(4, 4, 1, 1)\n"
                         "#pragma hone launch f grid(1) block(1) args(t, y)\n";
    cr_expect(plan_parse(&a, source, &gpu, &p, &err), "%s", err.text);
    arena_reset(&a);
}

Test(plan, has_nan_outside_of_what_can_hold_it) {
    static const char *const maps[] = {"f32 nan",  "f64 nan",  "f16 nan",  "bf16 nan",
                                       "f32 zero", "i32 zero", "i64 zero", "u8 zero"};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct plan p;
        const char *outside = strchr(maps[i], ' ') + 1;
        const char *source = arena_printf(
            &a,
            "#pragma hone scratch s %.*s[64]\n#pragma hone tensormap t = s dims(64) box(16) oob "
            "%s\n#pragma hone launch f grid(1) block(1) args(t, y)\n",
            (int)(outside - 1 - maps[i]), maps[i], outside);
        cr_assert(plan_parse(&a, source, &gpu, &p, &err), "%s: %s", maps[i], err.text);
        cr_expect_eq(p.tensormaps[0].is_nan_outside, strcmp(outside, "nan") == 0);
        arena_reset(&a);
    }
}

Test(plan, knows_what_a_device_lacks) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p;
    struct plan_context old = gpu;
    old.cluster_max = 0;
    cr_expect(!plan_parse(&a, gpu_source, &old, &p, &err));
    cr_expect(strstr(err.text, "line 2: this device has no tensor maps"), "%s", err.text);
    cr_expect(!plan_parse(&a, "#pragma hone launch f grid(2) block(1) cluster(2) args(y)", &old, &p,
                          &err));
    cr_expect(strstr(err.text, "this device has no clusters"), "%s", err.text);
    cr_expect(!plan_parse(&a,
                          "#pragma hone launch f grid(2) block(1) args(y)\n"
                          "#pragma hone launch g grid(2) block(1) programmatic args(y)",
                          &old, &p, &err));
    cr_expect(strstr(err.text, "this device has no programmatic launches"), "%s", err.text);
    cr_expect(!plan_parse(&a, gpu_source, &context, &p, &err));
    cr_expect(strstr(err.text, "line 1: unknown size 'SMS'"), "%s", err.text);
    arena_reset(&a);
}

Test(plan, of_a_gpu_survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct plan p, q;
    cr_assert(plan_parse(&a, gpu_source, &gpu, &p, &err));
    json_t *json = plan_to_json(&p);
    cr_assert(plan_from_json(&a, json, &q, &err), "%s", err.text);
    json_t *again = plan_to_json(&q);
    cr_expect(json_equal(json, again));
    cr_expect(q.steps[2].shape.is_programmatic && !q.steps[1].shape.is_programmatic);
    json_decref(again);
    json_t *step = json_array_get(json_object_get(json, "steps"), 0);
    json_array_set_new(json_object_get(step, "args"), 0, json_integer(-2));
    cr_expect(!plan_from_json(&a, json, &q, &err));
    cr_expect(strstr(err.text, "no tensor map 1"), "%s", err.text);
    json_array_set_new(json_object_get(step, "args"), 0, json_integer(0));
    json_array_clear(json_object_get(json_object_get(step, "gpu"), "block"));
    cr_expect(!plan_from_json(&a, json, &q, &err));
    cr_expect(strstr(err.text, "no grid or block"), "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

// A fill writes what the type stores, and scratch takes what its elements take.
Test(plan, scratch_and_fills_have_types) {
    static const struct {
        const char *type, *value;
        int64_t bytes;  // of 101 elements
        uint64_t word;
    } rows[] = {
        {"f32", "1", 404, UINT64_C(0x3f8000003f800000)},
        {"f64", "-2", 808, UINT64_C(0xc000000000000000)},
        {"f16", "1", 202, UINT64_C(0x3c003c003c003c00)},
        {"bf16", "1", 202, UINT64_C(0x3f803f803f803f80)},
        {"f8e4m3", "1", 101, UINT64_C(0x3838383838383838)},
        {"f8e5m2", "1", 101, UINT64_C(0x3c3c3c3c3c3c3c3c)},
        {"i64", "-1", 808, UINT64_C(0xffffffffffffffff)},
        {"i32", "7", 404, UINT64_C(0x0000000700000007)},
        {"i8", "-2", 101, UINT64_C(0xfefefefefefefefe)},
        {"u8", "255", 101, UINT64_C(0xffffffffffffffff)},
        {"i4", "-3", 51, UINT64_C(0xdddddddddddddddd)},
        {"bool", "1", 101, UINT64_C(0x0101010101010101)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct plan p;
        const char *source =
            arena_printf(&a,
                         "#pragma hone scratch s %s[N + 1]\n#pragma hone fill s %s\n"
                         "#pragma hone launch f grid(1) args(x, s, y)\n",
                         rows[i].type, rows[i].value);
        cr_assert(plan_parse(&a, source, &context, &p, &err), "%s", err.text);
        cr_expect_eq(p.buffers[2].size_bytes, rows[i].bytes, "%s", rows[i].type);
        cr_expect_str_eq(dtype_name(p.buffers[2].type), rows[i].type);
        cr_expect_eq(plan_fill_word(p.buffers[2].type, p.steps[0].fill_value), rows[i].word, "%s",
                     rows[i].type);
        arena_reset(&a);
    }
}

Test(plan, refuses_fills_that_the_type_cannot_hold) {
    static const char *const rows[][2] = {{"i8", "200"},  {"u8", "-1"},      {"i32", "0.5"},
                                          {"f16", "1e9"}, {"f8e4m3", "500"}, {"bool", "2"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct plan p;
        const char *source = arena_printf(&a,
                                          "#pragma hone scratch s %s[N]\n#pragma hone fill s %s\n"
                                          "#pragma hone launch f grid(1) args(x, s, y)\n",
                                          rows[i][0], rows[i][1]);
        cr_expect_not(plan_parse(&a, source, &context, &p, &err), "%s", rows[i][0]);
        cr_expect(strstr(err.text, arena_printf(&a, "'s' holds %s, and", rows[i][0])) != NULL, "%s",
                  err.text);
        arena_reset(&a);
    }
}

Test(plan, tensor_maps_have_the_buffers_type) {
    cr_expect_eq(plan_map_type(DTYPE_F16)->number, 6);
    cr_expect_eq(plan_map_type(DTYPE_BF16)->number, 9);
    cr_expect_eq(plan_map_type(DTYPE_F8E4M3)->number, 0);
    cr_expect_eq(plan_map_type(DTYPE_F32)->number, 7);
    cr_expect_null(plan_map_type(DTYPE_I4));
}
