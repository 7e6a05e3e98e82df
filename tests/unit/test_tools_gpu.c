// Tools that read machine code and counters. Twins are real kernels
// (tests/fixtures/cubin/twins.cu); the counters are measured ones where the comment says so.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/import.h"
#include "profile/occupancy.h"
#include "profile/sass.h"
#include "tools/tool.h"

static struct arena a;
static struct target card;

static void set_up(void) {
    cr_assert(target_of_card("h200", &card));
}

TestSuite(tools_gpu, .init = set_up);

static struct sass read_twins(void) {
    size_t len;
    struct sass s;
    struct error err = {0};
    const char *bytes = file_read(&a, "tests/fixtures/cubin/twins_90a.cubin", 1 << 20, &len, &err);
    cr_assert(bytes, "%s", err.text);
    cr_assert(sass_read(&a, bytes, len, &s, &err), "%s", err.text);
    return s;
}

// A launch that fills the card, of a kernel whose code is known.
static struct profile launch_of(const struct sass *s, const char *kernel) {
    struct profile p = {0};
    struct metrics *m = &profile_add_launch(&a, &p, kernel)->metrics;
    const struct sass_kernel *k = sass_find(s, kernel);
    cr_assert(k, "%s", kernel);
    sass_metrics(k, m);
    metrics_set(m, METRIC_TIME, 1e-3);
    metrics_set(m, METRIC_BLOCKS, 132 * 64);
    metrics_set(m, METRIC_BLOCK_THREADS, 256);
    metrics_set(m, METRIC_SHARED_BYTES, 0);
    occupancy_complete(&card, m);
    return p;
}

static int examine(const struct profile *p, struct finding *out) {
    struct tool_input in = {.target = &card, .profile = p};
    return tools_examine(&a, &in, out, 5);
}

static bool is_found(const struct finding *found, int n, const char *tool) {
    for (int i = 0; i < n; i++)
        if (strcmp(found[i].tool, tool) == 0)
            return true;
    return false;
}

Test(tools_gpu, name_the_fault_of_the_sick_twin_only) {
    static const struct {
        const char *twins, *tool;
    } cases[] = {
        {"narrow", "narrow"},  {"array", "spill"}, {"flight", "flight"}, {"divide", "slow"},
        {"atomic", "atomics"}, {"reuse", "reuse"}, {"mma", "path"},      {"convert", "convert"},
    };
    struct sass s = read_twins();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct finding out[5];
        struct profile sick = launch_of(&s, arena_printf(&a, "%s_sick", cases[i].twins));
        struct profile well = launch_of(&s, arena_printf(&a, "%s_well", cases[i].twins));
        int n = examine(&sick, out);
        cr_expect(is_found(out, n, cases[i].tool), "%s", cases[i].twins);
        n = examine(&well, out);
        cr_expect(!is_found(out, n, cases[i].tool), "%s", cases[i].twins);
    }
}

// Without any one of the metrics that it needs each of them is silent on the sick twin too.
Test(tools_gpu, are_silent_about_code_that_nobody_read) {
    static const struct {
        const char *kernel;
        const struct tool *tool;
    } cases[] = {{"narrow_sick", &tool_narrow},  {"array_sick", &tool_spill},
                 {"flight_sick", &tool_flight},  {"divide_sick", &tool_slow},
                 {"atomic_sick", &tool_atomics}, {"reuse_sick", &tool_reuse},
                 {"mma_sick", &tool_path},       {"convert_sick", &tool_convert}};
    struct sass s = read_twins();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = launch_of(&s, cases[i].kernel);
        struct tool_input in = {.target = &card, .profile = &p};
        struct metrics whole = p.launches[0].metrics;
        struct finding f;
        cr_assert(tool_examine(&a, cases[i].tool, &in, &f), "%s", cases[i].kernel);
        for (int k = 0; k < cases[i].tool->n_needs; k++) {
            p.launches[0].metrics = whole;
            metrics_clear(&p.launches[0].metrics, cases[i].tool->needs[k]);
            cr_expect(!tool_examine(&a, cases[i].tool, &in, &f), "%s without %s",
                      cases[i].tool->name, metric_table[cases[i].tool->needs[k]].name);
        }
    }
}

// ---- counters

struct row {
    enum metric_id id;
    double value;
};

enum { ROWS_MAX = 12 };

// A latency-bound launch, nothing remarkable about it.
static struct profile plain_launch(void) {
    static const struct row rows[] = {
        {METRIC_TIME, 1e-3},       {METRIC_DRAM_BUSY, 0.3},           {METRIC_L2_BUSY, 0.3},
        {METRIC_L1_BUSY, 0.4},     {METRIC_ISSUE_BUSY, 0.5},          {METRIC_PIPE_FMA_BUSY, 0.3},
        {METRIC_BLOCKS, 132 * 64}, {METRIC_BLOCK_THREADS, 256},       {METRIC_REGISTERS, 32},
        {METRIC_SHARED_BYTES, 0},  {METRIC_ACHIEVED_OCCUPANCY, 0.95}, {METRIC_WARP_LATENCY, 10},
    };
    struct profile p = {0};
    struct metrics *m = &profile_add_launch(&a, &p, "k")->metrics;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        metrics_set(m, rows[i].id, rows[i].value);
    occupancy_complete(&card, m);
    return p;
}

static const struct {
    const struct tool *tool;
    const char *cause;  // part of what it says of the sick
    struct row sick[ROWS_MAX], well[ROWS_MAX];
} counted[] = {
    {&tool_coalesce,
     "global loads of a warp are scattered",
     {{METRIC_LOAD_SECTORS, 32e6}, {METRIC_LOAD_REQUESTS, 1e6}, {METRIC_LOAD_SECTOR_BYTES, 4}},
     {{METRIC_LOAD_SECTORS, 4e6}, {METRIC_LOAD_REQUESTS, 1e6}, {METRIC_LOAD_SECTOR_BYTES, 32}}},
    // By the width of the instructions; 16 bytes a thread are 16 sectors a warp.
    {&tool_coalesce,
     "global stores of a warp are scattered",
     {{METRIC_STORE_SECTORS, 32e6}, {METRIC_STORE_REQUESTS, 1e6}, {METRIC_HOT_STORE_BYTES, 4}},
     {{METRIC_STORE_SECTORS, 16e6}, {METRIC_STORE_REQUESTS, 1e6}, {METRIC_HOT_STORE_BYTES, 16}}},
    // Measured: shared memory read along columns.
    {&tool_banks,
     "loads from shared memory conflict",
     {{METRIC_SHARED_LOAD_CONFLICTS, 268174159},
      {METRIC_SHARED_STORE_CONFLICTS, 0},
      {METRIC_SHARED_WAVEFRONTS, 277145963},
      {METRIC_L1_BUSY, 0.98}},
     {{METRIC_SHARED_LOAD_CONFLICTS, 1000},
      {METRIC_SHARED_STORE_CONFLICTS, 0},
      {METRIC_SHARED_WAVEFRONTS, 8971804},
      {METRIC_L1_BUSY, 0.5}}},
    {&tool_stall,
     "wait for global memory",
     {{METRIC_STALL_LONG, 8}, {METRIC_STALL_WAIT, 1}, {METRIC_ISSUE_BUSY, 0.2}},
     {{METRIC_STALL_LONG, 2}, {METRIC_STALL_WAIT, 2}, {METRIC_STALL_SELECTED, 1}}},
    {&tool_chain,
     "wait for the result of the instruction before",
     {{METRIC_STALL_LONG, 1}, {METRIC_STALL_WAIT, 6}},
     {{METRIC_STALL_LONG, 1}, {METRIC_STALL_WAIT, 6}, {METRIC_ISSUE_BUSY, 0.9}}},
    {&tool_stall,
     "queue of shared memory",
     {{METRIC_STALL_MIO_THROTTLE, 6}},
     {{METRIC_STALL_NOT_SELECTED, 6}}},
    // Memory that is busy is why warps wait for it.
    {&tool_stall,
     "wait for global memory",
     {{METRIC_STALL_LONG, 9}, {METRIC_DRAM_BUSY, 0.5}},
     {{METRIC_STALL_LONG, 9}, {METRIC_DRAM_BUSY, 0.88}}},
    {&tool_barrier,
     "wait for one another",
     {{METRIC_STALL_BARRIER, 4}},
     {{METRIC_STALL_BARRIER, 1}}},
    // Measured: matrix units that are busy all the time, whatever warps wait for; and few warps,
    // which are enough for them.
    {&tool_barrier,
     "wait for one another",
     {{METRIC_STALL_BARRIER, 4}, {METRIC_PIPE_TENSOR_BUSY, 0.3}},
     {{METRIC_STALL_BARRIER, 4}, {METRIC_PIPE_TENSOR_BUSY, 0.997}}},
    {&tool_stall,
     "an arithmetic pipe is full",
     {{METRIC_STALL_MATH, 6}, {METRIC_ISSUE_BUSY, 0.17}, {METRIC_PIPE_TENSOR_BUSY, 0.3}},
     {{METRIC_STALL_MATH, 6}, {METRIC_ISSUE_BUSY, 0.17}, {METRIC_PIPE_TENSOR_BUSY, 0.997}}},
    {&tool_occupancy,
     "registers keep a multiprocessor from holding more threads",
     {{METRIC_OCCUPANCY, 0.25}, {METRIC_BLOCKS_PER_SM, 2}, {METRIC_CODE_TENSOR, 0}},
     {{METRIC_OCCUPANCY, 0.25}, {METRIC_BLOCKS_PER_SM, 2}, {METRIC_CODE_TENSOR, 32}}},
    // More warps only wait with the others where memory is busy.
    {&tool_occupancy,
     "registers keep a multiprocessor from holding more threads",
     {{METRIC_OCCUPANCY, 0.38}, {METRIC_BLOCKS_PER_SM, 3}, {METRIC_DRAM_BUSY, 0.6}},
     {{METRIC_OCCUPANCY, 0.38}, {METRIC_BLOCKS_PER_SM, 3}, {METRIC_DRAM_BUSY, 0.93}}},
    {&tool_divergence,
     "go different ways",
     {{METRIC_THREADS_PER_INSTRUCTION, 12}},
     {{METRIC_THREADS_PER_INSTRUCTION, 31}}},
    {&tool_atomics,
     "atomics on memory",
     {{METRIC_ATOMIC_REQUESTS, 0}, {METRIC_REDUCTION_REQUESTS, 2e6}, {METRIC_INSTRUCTIONS, 1e7}},
     {{METRIC_ATOMIC_REQUESTS, 0}, {METRIC_REDUCTION_REQUESTS, 1e3}, {METRIC_INSTRUCTIONS, 1e7}}},
    {&tool_uneven,
     "blocks take unequal time",
     {{METRIC_ACHIEVED_OCCUPANCY, 0.3}},
     {{METRIC_ACHIEVED_OCCUPANCY, 0.9}}},
    {&tool_starved,
     "matrix units wait for data",
     {{METRIC_CODE_TENSOR, 0},
      {METRIC_CODE_TENSOR_GROUP, 16},
      {METRIC_HOT_FMA, 0},
      {METRIC_PIPE_TENSOR_BUSY, 0.2}},
     {{METRIC_CODE_TENSOR, 0},
      {METRIC_CODE_TENSOR_GROUP, 16},
      {METRIC_HOT_FMA, 0},
      {METRIC_PIPE_TENSOR_BUSY, 0.9}}},
    {&tool_flight,
     "too few loads",
     {{METRIC_BYTES_IN_FLIGHT, 4}, {METRIC_OCCUPANCY, 0.25}},
     {{METRIC_BYTES_IN_FLIGHT, 64}, {METRIC_OCCUPANCY, 0.25}}},
    // The same loads, and enough threads; or a memory that is busy all the same.
    {&tool_flight,
     "too few loads",
     {{METRIC_BYTES_IN_FLIGHT, 4}, {METRIC_OCCUPANCY, 0.25}},
     {{METRIC_BYTES_IN_FLIGHT, 4}, {METRIC_OCCUPANCY, 0.25}, {METRIC_DRAM_BUSY, 0.9}}},
    {&tool_saturated,
     "near the limit of memory",
     {{METRIC_DRAM_BUSY, 0.9}},
     {{METRIC_DRAM_BUSY, 0.5}}},
    {&tool_fence, "memory fences", {{METRIC_STALL_MEMBAR, 5}}, {{METRIC_STALL_MEMBAR, 0.5}}},
    {&tool_constant, "wait for constants", {{METRIC_STALL_IMC, 5}}, {{METRIC_STALL_IMC, 0.5}}},
    // Measured: a table in constant memory that each thread reads elsewhere.
    {&tool_constant,
     "wait for constants",
     {{METRIC_STALL_IMC, 0},
      {METRIC_STALL_MIO_THROTTLE, 11340},
      {METRIC_STALL_SHORT, 587},
      {METRIC_WARP_LATENCY, 11934},
      {METRIC_HOT_CONSTANTS, 16},
      {METRIC_HOT_SHARED_LOADS, 0},
      {METRIC_HOT_FUNCTIONS, 0}},
     {{METRIC_STALL_IMC, 0},
      {METRIC_STALL_MIO_THROTTLE, 11340},
      {METRIC_STALL_SHORT, 587},
      {METRIC_WARP_LATENCY, 11934},
      {METRIC_HOT_CONSTANTS, 0},
      {METRIC_HOT_SHARED_LOADS, 16},
      {METRIC_HOT_FUNCTIONS, 0}}},
    // Measured: sinf and powf.
    {&tool_slow,
     "exact functions of the library",
     {{METRIC_HOT_INSTRUCTIONS, 220},
      {METRIC_HOT_DIVISIONS, 0},
      {METRIC_HOT_FUNCTIONS, 1},
      {METRIC_HOT_WIDE_INTEGER, 1},
      {METRIC_HOT_LOADS, 1},
      {METRIC_HOT_STORES, 0},
      {METRIC_HOT_CONVERSIONS, 7},
      {METRIC_HOT_BRANCHES, 12},
      {METRIC_ISSUE_BUSY, 0.93}},
     {{METRIC_HOT_INSTRUCTIONS, 220},
      {METRIC_HOT_DIVISIONS, 0},
      {METRIC_HOT_FUNCTIONS, 1},
      {METRIC_HOT_WIDE_INTEGER, 1},
      {METRIC_HOT_LOADS, 1},
      {METRIC_HOT_STORES, 0},
      {METRIC_HOT_CONVERSIONS, 1},
      {METRIC_HOT_BRANCHES, 1},
      {METRIC_ISSUE_BUSY, 0.93}}},
    {&tool_fetch,
     "instructions to be fetched",
     {{METRIC_STALL_NO_INSTRUCTION, 5}},
     {{METRIC_STALL_NO_INSTRUCTION, 5}, {METRIC_ISSUE_BUSY, 0.9}}},
    // Measured: constants without an f.
    {&tool_precision,
     "f64 arithmetic on f32 data",
     {{METRIC_HOT_INSTRUCTIONS, 103},
      {METRIC_HOT_F64, 32},
      {METRIC_HOT_CONVERSIONS, 64},
      {METRIC_PIPE_XU_BUSY, 0.938}},
     {{METRIC_HOT_INSTRUCTIONS, 103}, {METRIC_HOT_F64, 64}, {METRIC_HOT_CONVERSIONS, 0}}},
    // Measured: page-locked memory of the host read by a kernel, and what a profiler leaves there.
    {&tool_host,
     "host's memory",
     {{METRIC_HOST_SECTORS, 3.163e6}, {METRIC_LOAD_SECTORS, 2.1e6}, {METRIC_STORE_SECTORS, 2.1e6}},
     {{METRIC_HOST_SECTORS, 2.5e4}, {METRIC_LOAD_SECTORS, 2.7e4}, {METRIC_STORE_SECTORS, 2.7e4}}},
    {&tool_clock, "clock is below", {{METRIC_SM_HZ, 1.2e9}}, {{METRIC_SM_HZ, 1.97e9}}},
    {&tool_uneven,
     "others have ended",
     {{METRIC_SM_ACTIVE_MEAN, 4e5}, {METRIC_SM_ACTIVE_MAX, 1e6}},
     {{METRIC_SM_ACTIVE_MEAN, 9.8e5}, {METRIC_SM_ACTIVE_MAX, 1e6}}},
    {&tool_atomics,
     "atomics fill the path to shared memory",
     {{METRIC_SHARED_ATOMICS, 2.4e6}, {METRIC_INSTRUCTIONS, 1e7}, {METRIC_L1_BUSY, 0.85}},
     {{METRIC_SHARED_ATOMICS, 1e4}, {METRIC_INSTRUCTIONS, 1e7}, {METRIC_L1_BUSY, 0.85}}},
    // A product of halves by threads, of a program whose problem nobody knows; of floats it may be
    // what is wanted.
    {&tool_tensor,
     "matrix units are not used",
     {{METRIC_HOT_INSTRUCTIONS, 60},
      {METRIC_HOT_FMA, 32},
      {METRIC_HOT_F16, 12},
      {METRIC_HOT_SHARED_LOADS, 6},
      {METRIC_CODE_TENSOR, 0},
      {METRIC_CODE_TENSOR_GROUP, 0}},
     {{METRIC_HOT_INSTRUCTIONS, 60},
      {METRIC_HOT_FMA, 32},
      {METRIC_HOT_F16, 0},
      {METRIC_HOT_SHARED_LOADS, 6},
      {METRIC_CODE_TENSOR, 0},
      {METRIC_CODE_TENSOR_GROUP, 0}}},
    // Scattered stores hold up the path to memory, which is not busy itself (measured).
    {&tool_coalesce,
     "global stores of a warp are scattered",
     {{METRIC_STORE_SECTORS, 6.7e7},
      {METRIC_STORE_REQUESTS, 2.1e6},
      {METRIC_HOT_STORE_BYTES, 4},
      {METRIC_DRAM_BUSY, 0.1}},
     {{METRIC_STORE_SECTORS, 8.4e6},
      {METRIC_STORE_REQUESTS, 2.1e6},
      {METRIC_HOT_STORE_BYTES, 4},
      {METRIC_DRAM_BUSY, 0.1}}},
    // Matrix units that are busy with the slower kind of instructions can do more.
    {&tool_saturated,
     "near the limit of matrix units",
     {{METRIC_PIPE_TENSOR_BUSY, 0.99}, {METRIC_CODE_TENSOR, 0}, {METRIC_CODE_TENSOR_GROUP, 64}},
     {{METRIC_PIPE_TENSOR_BUSY, 0.99}, {METRIC_CODE_TENSOR, 64}, {METRIC_CODE_TENSOR_GROUP, 0}}},
    // A queue in which there are only constants is no matter of shared memory.
    {&tool_stall,
     "queue of shared memory",
     {{METRIC_STALL_MIO_THROTTLE, 6},
      {METRIC_HOT_CONSTANTS, 4},
      {METRIC_HOT_SHARED_LOADS, 2},
      {METRIC_HOT_FUNCTIONS, 0}},
     {{METRIC_STALL_MIO_THROTTLE, 6},
      {METRIC_HOT_CONSTANTS, 4},
      {METRIC_HOT_SHARED_LOADS, 0},
      {METRIC_HOT_FUNCTIONS, 0}}},
    {&tool_waves, "too few blocks", {{METRIC_BLOCKS, 16}}, {{METRIC_BLOCKS, 132 * 64}}},
};
enum { COUNTED = sizeof counted / sizeof counted[0] };

static void set_rows(struct profile *p, const struct row *rows) {
    // METRIC_TIME, the first, ends a list: no case changes it.
    for (int i = 0; i < ROWS_MAX && rows[i].id != METRIC_TIME; i++)
        metrics_set(&p->launches[0].metrics, rows[i].id, rows[i].value);
}

static bool asks(const struct tool *t, const struct profile *p, struct finding *f) {
    struct tool_input in = {.target = &card, .profile = p};
    return tool_examine(&a, t, &in, f);
}

Test(tools_gpu, tell_sick_counters_from_healthy_ones) {
    for (int i = 0; i < COUNTED; i++) {
        struct profile sick = plain_launch(), well = plain_launch();
        struct finding f = {0};
        set_rows(&sick, counted[i].sick);
        set_rows(&well, counted[i].well);
        cr_assert(asks(counted[i].tool, &sick, &f), "case %d: %s is silent", i,
                  counted[i].tool->name);
        cr_expect(strstr(f.cause, counted[i].cause), "case %d: %s", i, f.cause);
        cr_expect(f.n_actions > 0 && *f.evidence && f.n_numbers > 0, "case %d", i);
        cr_expect(isnan(f.expected_gain) || f.expected_gain >= 1, "case %d: %g", i,
                  f.expected_gain);
        cr_expect(!asks(counted[i].tool, &well, &f), "case %d: %s", i, f.cause);
    }
}

// What warps wait for is not told from two reasons of twenty, and where memory is busy nearly all
// of the time nobody gains much by waiting less.
Test(tools_gpu, promise_no_more_than_the_waiting_that_is_known) {
    struct profile p = plain_launch();
    struct metrics *m = &p.launches[0].metrics;
    struct finding f;
    metrics_set(m, METRIC_STALL_WAIT, 6);
    metrics_set(m, METRIC_STALL_BARRIER, 3);
    cr_assert(asks(&tool_chain, &p, &f) && asks(&tool_barrier, &p, &f));
    cr_expect_float_eq(f.expected_gain, 1 / 0.7, 1e-9);
    metrics_set(m, METRIC_L2_BUSY, 0.9);
    metrics_set(m, METRIC_DRAM_BUSY, 0.9);
    cr_assert(asks(&tool_barrier, &p, &f));
    cr_expect_float_eq(f.expected_gain, 1 / 0.9, 1e-3);
    cr_expect(!asks(&tool_chain, &p, &f), "%s", f.evidence);
    p = plain_launch();
    m = &p.launches[0].metrics;
    metrics_set(m, METRIC_STALL_WAIT, 6);
    metrics_clear(m, METRIC_WARP_LATENCY);
    cr_expect(!asks(&tool_chain, &p, &f), "%s", f.evidence);
}

// Measured: 20 turns of 134 MB each way.
Test(tools_gpu, blame_copies_or_the_gaps_between_kernels) {
    struct profile p = {0};
    struct finding f;
    profile_set(&p, METRIC_SPAN, 1.0);
    profile_set(&p, METRIC_DEVICE_BUSY, 0.01);
    profile_set(&p, METRIC_LAUNCHES, 20);
    profile_set(&p, METRIC_COPY_SHARE, 0.9);
    profile_set(&p, METRIC_COPY_BYTES, 5e9);
    profile_set(&p, METRIC_COPY_PAGEABLE, 1);
    cr_assert(asks(&tool_copies, &p, &f));
    cr_expect(strstr(f.evidence, "pageable"), "%s", f.evidence);
    cr_expect(!asks(&tool_gaps, &p, &f), "%s", f.cause);
    profile_set(&p, METRIC_COPY_SHARE, 0.01);
    cr_expect(!asks(&tool_copies, &p, &f));
    cr_expect(asks(&tool_gaps, &p, &f));
    // One pause, and launches without any to speak of.
    double waits_s = (1 - profile_get(&p, METRIC_DEVICE_BUSY)) * profile_get(&p, METRIC_SPAN);
    profile_set(&p, METRIC_LAUNCHES, 20);
    profile_set(&p, METRIC_LONGEST_GAP, waits_s / 19);
    cr_expect(asks(&tool_gaps, &p, &f));
    profile_set(&p, METRIC_LONGEST_GAP, waits_s - 1e-4);
    cr_expect(!asks(&tool_gaps, &p, &f), "%s", f.evidence);
    metrics_clear(&p.call, METRIC_COPY_BYTES);
    cr_expect(!asks(&tool_copies, &p, &f));
}

Test(tools_gpu, rank_causes_before_symptoms) {
    struct profile p = plain_launch();
    struct finding out[5];
    static const struct row rows[ROWS_MAX] = {{METRIC_STALL_LONG, 9},
                                              {METRIC_BYTES_IN_FLIGHT, 4},
                                              {METRIC_OCCUPANCY, 0.9},
                                              {METRIC_ISSUE_BUSY, 0.1}};
    set_rows(&p, rows);
    int n = examine(&p, out);
    cr_assert_geq(n, 2);
    cr_expect_str_eq(out[0].tool, "flight");
    cr_expect(is_found(out, n, "stall"));
}

Test(tools_gpu, are_silent_without_what_they_need) {
    int n = 0;
    for (int i = 0; i < COUNTED; i++)
        for (int k = 0; k < counted[i].tool->n_needs; k++, n++) {
            struct profile sick = plain_launch();
            struct finding f;
            set_rows(&sick, counted[i].sick);
            metrics_clear(&sick.launches[0].metrics, counted[i].tool->needs[k]);
            cr_expect(!asks(counted[i].tool, &sick, &f), "%s without %s", counted[i].tool->name,
                      metric_table[counted[i].tool->needs[k]].name);
        }
    cr_expect_gt(n, 15);
    struct profile plain = plain_launch();
    struct finding out[5];
    cr_expect_eq(examine(&plain, out), 0, "%s", out[0].tool);
}

Test(tools_gpu, count_traffic_beyond_the_least) {
    struct bound b = {
        .work = {.bytes_read = 1e9, .bytes_written = 1e8}, .reach_s = 0.5e-3, .side = BOUND_MEMORY};
    struct profile p = plain_launch();
    struct tool_input in = {.target = &card, .bound = &b, .profile = &p};
    struct finding f;
    profile_set(&p, METRIC_TIME, 1e-3);
    cr_expect(!tool_examine(&a, &tool_reread, &in, &f), "nobody counted");
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_READ_BYTES, 3e9);
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_WRITE_BYTES, 3e8);
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_BUSY, 0.7);
    cr_assert(tool_examine(&a, &tool_reread, &in, &f));
    cr_expect(strstr(f.evidence, "3.3 GB, 3.00 times the least (1.1 GB)"), "%s", f.evidence);
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_READ_BYTES, 1.02e9);
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_WRITE_BYTES, 1.1e8);
    cr_expect(!tool_examine(&a, &tool_reread, &in, &f));
}

Test(tools_gpu, ask_for_matrix_units_where_the_problem_needs_them) {
    struct sass s = read_twins();
    struct profile p = launch_of(&s, "reuse_well");
    struct bound b = {.side = BOUND_COMPUTE, .reach_s = 1e-4};
    struct tool_input in = {.target = &card, .bound = &b, .profile = &p};
    struct finding f;
    profile_set(&p, METRIC_TIME, 1e-3);
    b.reach_pipe_s[PIPE_F32] = 1;
    cr_expect(!tool_examine(&a, &tool_tensor, &in, &f), "the problem asks for true f32");
    b.reach_pipe_s[PIPE_TF32] = 2;
    cr_assert(tool_examine(&a, &tool_tensor, &in, &f));
    cr_expect(strstr(f.cause, "matrix units are not used"), "%s", f.cause);
    cr_expect_float_eq(f.expected_gain, 494.5 / 67 / 3, 0.01);
    // A launch that prepares operands for one that uses them is no product itself.
    struct metrics *product = &profile_add_launch(&a, &p, "product")->metrics;
    *product = p.launches[0].metrics;
    metrics_set(product, METRIC_CODE_TENSOR_GROUP, 32);
    metrics_set(product, METRIC_TIME, 5e-3);
    cr_expect(!tool_examine(&a, &tool_tensor, &in, &f), "%s", f.evidence);
    metrics_set(product, METRIC_TIME, 1e-4);
    cr_expect(tool_examine(&a, &tool_tensor, &in, &f), "the product itself is the other one");
}

Test(tools_gpu, reckon_occupancy_as_the_driver_does) {
    // As the driver told them on an H200, for kernels of 256 threads.
    static const struct {
        double threads, registers, shared, blocks;
        enum occupancy_limit by;
    } cases[] = {
        {256, 32, 0, 8, LIMIT_REGISTERS},  {256, 80, 0, 3, LIMIT_REGISTERS},
        {256, 128, 0, 2, LIMIT_REGISTERS}, {256, 32, 100 << 10, 2, LIMIT_SHARED},
        {32, 16, 0, 32, LIMIT_BLOCKS},     {1024, 32, 0, 2, LIMIT_REGISTERS},
        {768, 16, 0, 2, LIMIT_THREADS},    {384, 168, 227 << 10, 1, LIMIT_REGISTERS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct metrics m = {0};
        metrics_set(&m, METRIC_BLOCK_THREADS, cases[i].threads);
        metrics_set(&m, METRIC_REGISTERS, cases[i].registers);
        cr_expect(isnan(occupancy_of(&card, &m).blocks), "not known yet");
        metrics_set(&m, METRIC_SHARED_BYTES, cases[i].shared);
        struct occupancy o = occupancy_of(&card, &m);
        cr_expect(o.blocks == cases[i].blocks && o.by == cases[i].by, "case %zu: %g by %d", i,
                  o.blocks, o.by);
    }
}
