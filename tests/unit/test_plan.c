#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
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

    char many[4000] = "";
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many),
                 "#pragma hone launch f grid(1) args(y)\n");
    cr_expect(!plan_parse(&a, many, &context, &p, &err));
    cr_expect(strstr(err.text, "line 33: more than 32 steps"), "%s", err.text);

    many[0] = '\0';
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many),
                 "#pragma hone scratch s%d u8[1]\n", i);
    cr_expect(!plan_parse(&a, many, &context, &p, &err));
    cr_expect(strstr(err.text, "more than 40 buffers"), "%s", err.text);
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
