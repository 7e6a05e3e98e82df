#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"

static struct arena a;
static struct target target = {.vector_bytes = 64, .n_threads = 2};
static struct candidate candidate = {
    .kernel = "kernel for p on cpu\nstage y : map  vec 8  unroll 1  grain 64  store plain\n"};

static struct bound bound_of(enum bound_side side) {
    return (struct bound){.work = {.bytes_read = 4e6, .bytes_written = 4e6, .flops = 1e6},
                          .reach_s = 1e-3,
                          .reach_memory_s = 0.9e-3,
                          .reach_compute_s = 0.9e-3,
                          .reach_fixed_s = 1e-5,
                          .side = side};
}

static int examine(const struct tool *tool, const struct bound *b, const struct profile *p,
                   struct finding *out) {
    struct tool_input in = {.target = &target, .bound = b, .candidate = &candidate, .profile = p};
    return tool ? tool->examine(&a, &in, out, 1) : tools_examine(&a, &in, out, 5);
}

static const struct action *find_action(const struct finding *f, const char *knob) {
    for (int i = 0; i < f->n_actions; i++)
        if (f->actions[i].knob && strcmp(f->actions[i].knob, knob) == 0)
            return &f->actions[i];
    return NULL;
}

Test(tools, are_silent_when_metrics_are_absent) {
    struct profile empty = {0};
    struct bound b = bound_of(BOUND_MEMORY);
    struct finding out[5];
    cr_assert_eq(examine(NULL, &b, &empty, out), 0);
    struct profile half = {0};
    profile_set(&half, "hot_scalar", 10);
    profile_set(&half, "thread_busy", 0.2);
    profile_set(&half, "threads", 2);
    cr_assert_eq(examine(NULL, &b, &half, out), 0);
}

Test(tools, reach_needs_ceilings) {
    struct profile p = {0};
    profile_set(&p, "time_s", 1);
    struct bound b = bound_of(BOUND_MEMORY);
    b.reach_s = NAN;
    struct finding f;
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 0);
}

Test(tools, reach_says_how_far_and_on_which_side) {
    struct {
        double time_s;
        int n;
        enum severity severity;
    } cases[] = {{0.9e-3, 0, 0},
                 {1.04e-3, 0, 0},
                 {1.1e-3, 1, SEVERITY_LOW},
                 {1.5e-3, 1, SEVERITY_MEDIUM},
                 {4e-3, 1, SEVERITY_HIGH}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = {0};
        profile_set(&p, "time_s", cases[i].time_s);
        struct bound b = bound_of(BOUND_MEMORY);
        struct finding f = {0};
        cr_assert_eq(examine(&tool_reach, &b, &p, &f), cases[i].n, "%g", cases[i].time_s);
        if (cases[i].n)
            cr_assert_eq(f.severity, cases[i].severity, "%g", cases[i].time_s);
    }
    struct profile p = {0};
    profile_set(&p, "time_s", 4e-3);
    struct finding f;
    struct bound b = bound_of(BOUND_MEMORY);
    examine(&tool_reach, &b, &p, &f);
    cr_assert_float_eq(f.expected_gain, 4, 1e-9);
    cr_assert(strstr(f.cause, "memory-bound"));
    cr_assert(strstr(f.evidence, "2.0 GB/s"), "%s", f.evidence);
    b = bound_of(BOUND_COMPUTE);
    examine(&tool_reach, &b, &p, &f);
    cr_assert(strstr(f.cause, "compute-bound"));
}

Test(tools, name_only_knobs_that_the_block_has_and_words_it_does_not) {
    struct profile p = {0};
    profile_set(&p, "time_s", 4e-3);
    struct bound b = bound_of(BOUND_MEMORY);
    struct finding f;
    examine(&tool_reach, &b, &p, &f);
    cr_assert(find_action(&f, "vec") && find_action(&f, "unroll"));
    cr_assert_null(find_action(&f, "keep"));
    cr_assert_null(find_action(&f, "merge"));
    cr_assert_str_eq(find_action(&f, "store")->word, "stream");

    candidate.kernel = "kernel for p on cpu\nstage t : map  vec 8\nstage y : map  store stream\n";
    examine(&tool_reach, &b, &p, &f);
    cr_assert_null(find_action(&f, "store"));
    cr_assert(find_action(&f, "merge"));
}

Test(tools, scalar_speaks_when_vectors_are_few) {
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding f;
    struct {
        double scalar, vector;
        int n;
    } cases[] = {{0, 10, 0}, {2, 10, 0}, {5, 10, 1}, {10, 0, 1}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = {0};
        profile_set(&p, "hot_scalar", cases[i].scalar);
        profile_set(&p, "hot_vector", cases[i].vector);
        cr_assert_eq(examine(&tool_scalar, &b, &p, &f), cases[i].n, "case %zu", i);
    }
    struct profile p = {0};
    profile_set(&p, "hot_scalar", 10);
    profile_set(&p, "hot_vector", 0);
    examine(&tool_scalar, &b, &p, &f);
    cr_assert_float_eq(f.expected_gain, 16, 1e-9);
    cr_assert_eq(find_action(&f, "vec")->direction, 1);
}

Test(tools, idle_tells_too_few_blocks_from_too_many) {
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding f;
    struct {
        double busy, blocks;
        int n, direction;
    } cases[] = {{0.95, 2, 0, 0}, {0.5, 3, 1, -1}, {0.5, 100000, 1, 1}, {0.8, 40, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = {0};
        profile_set(&p, "thread_busy", cases[i].busy);
        profile_set(&p, "blocks", cases[i].blocks);
        profile_set(&p, "threads", 2);
        cr_assert_eq(examine(&tool_idle, &b, &p, &f), cases[i].n, "case %zu", i);
        if (!cases[i].n)
            continue;
        const struct action *grain = find_action(&f, "grain");
        cr_assert_eq(grain ? grain->direction : 0, cases[i].direction, "case %zu", i);
    }
}

Test(tools, rank_by_severity_then_gain_and_keep_what_fits) {
    struct profile p = {0};
    profile_set(&p, "time_s", 1.3e-3);
    profile_set(&p, "hot_scalar", 10);
    profile_set(&p, "hot_vector", 0);
    profile_set(&p, "thread_busy", 0.7);
    profile_set(&p, "blocks", 2);
    profile_set(&p, "threads", 2);
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding out[5];
    cr_assert_eq(examine(NULL, &b, &p, out), 3);
    cr_assert_str_eq(out[0].tool, "scalar");
    cr_assert_str_eq(out[1].tool, "idle");
    cr_assert_str_eq(out[2].tool, "reach");
    struct tool_input in = {.target = &target, .bound = &b, .candidate = &candidate, .profile = &p};
    cr_assert_eq(tools_examine(&a, &in, out, 2), 2);
    cr_assert_str_eq(out[0].tool, "scalar");
}
