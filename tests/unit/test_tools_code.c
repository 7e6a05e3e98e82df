// Tools of counters where nobody counted: what they read off the machine code instead, and that
// they leave it alone where somebody did. tests/cli/t309 does it with compiled programs.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "profile/occupancy.h"
#include "tools/tool.h"

static struct arena a;
static struct target card;

static void set_up(void) {
    cr_assert(target_of_card("h200", &card));
}

TestSuite(tools_code, .init = set_up);

struct row {
    enum metric_id id;
    double value;
};

enum { ROWS_MAX = 6 };
static const enum metric_id END = METRIC_TIME;  // of a list

// A kernel with a loop of which only the code is known.
static struct profile code_of(const struct row *rows) {
    struct profile p = {0};
    struct metrics *m = &profile_add_launch(&a, &p, "k")->metrics;
    metrics_set(m, METRIC_CODE_LOOPS, 1);
    metrics_set(m, METRIC_HOT_INSTRUCTIONS, 100);
    for (int i = 0; i < ROWS_MAX && rows[i].id != END; i++)
        metrics_set(m, rows[i].id, rows[i].value);
    return p;
}

static const struct {
    const struct tool *tool;
    const char *cause;
    struct row sick[ROWS_MAX], well[ROWS_MAX];
    struct row counted;  // with it the code is no longer asked; METRIC_TIME: it always is
} cases[] = {
    {&tool_coalesce,
     "global loads of a warp are scattered",
     {{METRIC_CODE_LOAD_USED, 0.125}, {METRIC_CODE_STORE_USED, 1}},
     {{METRIC_CODE_LOAD_USED, 1}, {METRIC_CODE_STORE_USED, 1}},
     {METRIC_LOAD_SECTORS, 4e6}},
    {&tool_coalesce,
     "global stores of a warp are scattered",
     {{METRIC_CODE_STORE_USED, 0.375}},
     {{METRIC_CODE_STORE_USED, 0.9}},
     {METRIC_LOAD_SECTORS, 4e6}},
    {&tool_banks,
     "conflict in its banks",
     {{METRIC_CODE_SHARED_PASSES, 16},
      {METRIC_HOT_SHARED_LOADS, 10},
      {METRIC_HOT_SHARED_STORES, 0}},
     {{METRIC_CODE_SHARED_PASSES, 1}, {METRIC_HOT_SHARED_LOADS, 10}, {METRIC_HOT_SHARED_STORES, 0}},
     {METRIC_SHARED_WAVEFRONTS, 1e6}},
    {&tool_fence,
     "memory fences in the hot loop",
     {{METRIC_HOT_FENCES, 4}},
     {{METRIC_HOT_FENCES, 0}},
     {METRIC_STALL_MEMBAR, 0}},
    // One at the end, outside of any loop, is how a flag is set.
    {&tool_fence,
     "several memory fences",
     {{METRIC_HOT_FENCES, 8}, {METRIC_CODE_LOOPS, 0}},
     {{METRIC_HOT_FENCES, 1}, {METRIC_CODE_LOOPS, 0}},
     {METRIC_STALL_MEMBAR, 0}},
    {&tool_constant,
     "at addresses of their own",
     {{METRIC_HOT_CONSTANTS, 16}},
     {{METRIC_HOT_CONSTANTS, 1}},
     {METRIC_STALL_IMC, 0}},
    {&tool_atomics,
     "atomics on shared memory in the hot loop",
     {{METRIC_HOT_SHARED_ATOMICS, 20}, {METRIC_HOT_ATOMICS, 0}},
     {{METRIC_HOT_SHARED_ATOMICS, 2}, {METRIC_HOT_ATOMICS, 0}},
     {METRIC_SHARED_ATOMICS, 0}},
    {&tool_narrow,
     "accesses to memory are narrow",
     {{METRIC_HOT_LOAD_BYTES, 1}, {METRIC_HOT_FMA, 0}, {METRIC_HOT_ADD_MUL, 0}},
     {{METRIC_HOT_LOAD_BYTES, 16}, {METRIC_HOT_FMA, 0}, {METRIC_HOT_ADD_MUL, 0}},
     {METRIC_TIME, 0}},
    // Two warps to a scheduler, four cycles for each instruction; with eight sums one.
    {&tool_chain,
     "the result of the instruction before",
     {{METRIC_HOT_ISSUE_CYCLES, 400},
      {METRIC_BLOCKS, 132},
      {METRIC_BLOCK_THREADS, 256},
      {METRIC_BLOCKS_PER_SM, 8}},
     {{METRIC_HOT_ISSUE_CYCLES, 120},
      {METRIC_BLOCKS, 132},
      {METRIC_BLOCK_THREADS, 256},
      {METRIC_BLOCKS_PER_SM, 8}},
     {METRIC_STALL_WAIT, 0}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static bool asks(const struct tool *t, const struct profile *p, struct finding *f) {
    struct tool_input in = {.target = &card, .profile = p};
    return tool_examine(&a, t, &in, f);
}

Test(tools_code, tell_sick_code_from_healthy) {
    for (int i = 0; i < CASES; i++) {
        struct profile sick = code_of(cases[i].sick), well = code_of(cases[i].well);
        struct finding f = {0};
        cr_assert(asks(cases[i].tool, &sick, &f), "case %d: %s is silent", i, cases[i].tool->name);
        cr_expect(strstr(f.cause, cases[i].cause), "case %d: %s", i, f.cause);
        cr_expect_eq(f.severity, SEVERITY_MEDIUM, "case %d: nobody ran it", i);
        cr_expect(f.n_actions > 0 && *f.evidence && f.n_numbers > 0, "case %d", i);
        cr_expect(isnan(f.expected_gain) || f.expected_gain > 1, "case %d", i);
        cr_expect(f.confidence <= 0.61, "case %d: %g", i, f.confidence);
        cr_expect(f.launch && strcmp(f.launch, "k") == 0, "case %d names no kernel", i);
        cr_expect(!asks(cases[i].tool, &well, &f), "case %d: %s", i, f.cause);
    }
}

Test(tools_code, leave_it_to_counters_where_there_are_any) {
    for (int i = 0; i < CASES; i++) {
        struct profile sick = code_of(cases[i].sick);
        struct finding f;
        if (cases[i].counted.id == END)
            continue;
        metrics_set(&sick.launches[0].metrics, cases[i].counted.id, cases[i].counted.value);
        cr_expect(!asks(cases[i].tool, &sick, &f), "case %d: %s", i, f.cause);
    }
}

Test(tools_code, are_silent_about_code_that_nobody_read) {
    for (int i = 0; i < CASES; i++) {
        struct profile sick = code_of(cases[i].sick);
        struct finding f;
        metrics_clear(&sick.launches[0].metrics, cases[i].sick[0].id);
        cr_expect(!asks(cases[i].tool, &sick, &f), "case %d: %s", i, f.cause);
    }
}

// What waits for loads waits as long as they take: how long the code does not say.
Test(tools_code, says_nothing_of_chains_with_loads_in_them) {
    struct profile p = code_of(cases[CASES - 1].sick);
    struct finding f;
    cr_assert(asks(&tool_chain, &p, &f));
    cr_expect_float_eq(f.expected_gain, 2, 1e-9);
    metrics_set(&p.launches[0].metrics, METRIC_HOT_LOADS, 1);
    cr_expect(!asks(&tool_chain, &p, &f), "%s", f.cause);
}

// Of several kernels of which only the code is known each finding says which one it means.
Test(tools_code, name_their_kernel_without_times) {
    struct profile p = code_of(cases[0].well);
    struct finding out[5];
    struct metrics *m = &profile_add_launch(&a, &p, "scattered")->metrics;
    *m = p.launches[0].metrics;
    metrics_set(m, METRIC_CODE_LOAD_USED, 0.125);
    struct tool_input in = {.target = &card, .profile = &p};
    cr_assert_eq(tools_examine(&a, &in, out, 5), 1);
    cr_expect_str_eq(out[0].tool, "coalesce");
    cr_assert(out[0].launch);
    cr_expect_str_eq(out[0].launch, "scattered");
    cr_expect(isnan(out[0].share));
}
