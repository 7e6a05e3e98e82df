// Tools that compare what was moved with what a launch can touch: caches, partial writes, tiles
// that blocks share, kernels that could be one.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "lang/lang.h"
#include "tools/tool.h"

static struct arena a;
static struct target card;

static void set_up(void) {
    cr_assert(target_of_card("h200", &card));
}

TestSuite(tools_traffic, .init = set_up);

enum { ROWS_MAX = 12 };

struct row {
    enum metric_id id;
    double value;
};

static void add_launch(struct profile *p, const char *name, const struct row *rows) {
    static const struct row plain[] = {
        {METRIC_TIME, 1e-3},    {METRIC_DRAM_BUSY, 0.7},     {METRIC_L2_BUSY, 0.3},
        {METRIC_L1_BUSY, 0.2},  {METRIC_ISSUE_BUSY, 0.2},    {METRIC_PIPE_FMA_BUSY, 0.1},
        {METRIC_BLOCKS, 8448},  {METRIC_BLOCK_THREADS, 256}, {METRIC_STALL_LONG, 20},
        {METRIC_STALL_WAIT, 2}, {METRIC_WARP_LATENCY, 22},
    };
    struct metrics *m = &profile_add_launch(&a, p, name)->metrics;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        metrics_set(m, plain[i].id, plain[i].value);
    for (int i = 0; i < ROWS_MAX && rows[i].id != METRIC_TIME; i++)
        metrics_set(m, rows[i].id, rows[i].value);
}

static bool asks(const struct tool *t, const struct profile *p, struct finding *f) {
    struct tool_input in = {.target = &card, .profile = p};
    return tool_examine(&a, t, &in, f);
}

static const struct {
    const struct tool *tool;
    const char *cause, *evidence;  // parts of what it says of the sick
    struct row sick[ROWS_MAX], well[ROWS_MAX];
} cases[] = {
    // A table that every multiprocessor reads; shared memory takes the room.
    {&tool_hits,
     "could stay in L1",
     "40% of the sectors are found in L1",
     {{METRIC_FOOTPRINT, 6e6},
      {METRIC_LOAD_SECTORS, 5e8},
      {METRIC_L1_HIT, 0.4},
      {METRIC_SHARED_BYTES, 100e3},
      {METRIC_BLOCKS_PER_SM, 2}},
     {{METRIC_FOOTPRINT, 6e6}, {METRIC_LOAD_SECTORS, 5e8}, {METRIC_L1_HIT, 0.93}}},
    {&tool_hits,
     "every multiprocessor fetches the same data",
     "20% of the sectors",
     {{METRIC_FOOTPRINT, 60e6}, {METRIC_LOAD_SECTORS, 1e9}, {METRIC_L1_HIT, 0.2}},
     // Each of 132 reads everything once: L1 can do nothing about it.
     {{METRIC_FOOTPRINT, 60e6}, {METRIC_LOAD_SECTORS, 2.4e8}, {METRIC_L1_HIT, 0.02}}},
    {&tool_thrash,
     "leave the L2 cache",
     "2.05 GB read from memory, 8.0 times",
     {{METRIC_FOOTPRINT, 256e6}, {METRIC_DRAM_READ_BYTES, 2048e6}},
     {{METRIC_FOOTPRINT, 256e6}, {METRIC_DRAM_READ_BYTES, 256e6}}},
    // What fits has been written over by others: not this launch's doing.
    {&tool_thrash,
     "leave the L2 cache",
     "3.0 times",
     {{METRIC_FOOTPRINT, 100e6}, {METRIC_DRAM_READ_BYTES, 300e6}},
     {{METRIC_FOOTPRINT, 10e6}, {METRIC_DRAM_READ_BYTES, 30e6}}},
    {&tool_writes,
     "written in part",
     "640 MB read from memory, of which loads asked for 128 MB",
     {{METRIC_DRAM_READ_BYTES, 640e6},
      {METRIC_DRAM_WRITE_BYTES, 512e6},
      {METRIC_LOAD_SECTORS, 4e6}},
     {{METRIC_DRAM_READ_BYTES, 128e6},
      {METRIC_DRAM_WRITE_BYTES, 512e6},
      {METRIC_LOAD_SECTORS, 4e6}}},
    // Reads that no load has asked for, but for atomics.
    {&tool_writes,
     "written in part",
     "640 MB",
     {{METRIC_DRAM_READ_BYTES, 640e6},
      {METRIC_DRAM_WRITE_BYTES, 512e6},
      {METRIC_LOAD_SECTORS, 4e6}},
     {{METRIC_DRAM_READ_BYTES, 640e6},
      {METRIC_DRAM_WRITE_BYTES, 512e6},
      {METRIC_LOAD_SECTORS, 4e6},
      {METRIC_ATOMIC_REQUESTS, 1e6}}},
    {&tool_cluster,
     "blocks fetch the same tiles from L2",
     "128 times",
     {{METRIC_L2_READ_SECTORS, 64e6},
      {METRIC_L2_BUSY, 0.85},
      {METRIC_DRAM_BUSY, 0.05},
      {METRIC_DRAM_READ_BYTES, 16e6},
      {METRIC_HOT_SHARED_LOADS, 4},
      {METRIC_HOT_BULK_COPIES, 1}},
     {{METRIC_L2_READ_SECTORS, 64e6},
      {METRIC_L2_BUSY, 0.3},
      {METRIC_DRAM_BUSY, 0.05},
      {METRIC_DRAM_READ_BYTES, 16e6},
      {METRIC_HOT_SHARED_LOADS, 4},
      {METRIC_HOT_BULK_COPIES, 1}}},
    {&tool_cluster,
     "blocks fetch the same tiles from L2",
     "L2 is 70% busy",
     {{METRIC_L2_READ_SECTORS, 64e6},
      {METRIC_L2_BUSY, 0.7},
      {METRIC_DRAM_BUSY, 0.05},
      {METRIC_DRAM_READ_BYTES, 16e6},
      {METRIC_HOT_SHARED_LOADS, 4}},
     // Its blocks are in clusters already.
     {{METRIC_L2_READ_SECTORS, 64e6},
      {METRIC_L2_BUSY, 0.7},
      {METRIC_DRAM_BUSY, 0.05},
      {METRIC_DRAM_READ_BYTES, 16e6},
      {METRIC_HOT_SHARED_LOADS, 4},
      {METRIC_CLUSTER_BLOCKS, 4}}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static struct profile single(const struct row *rows) {
    struct profile p = {0};
    add_launch(&p, "k", rows);
    return p;
}

Test(tools_traffic, tell_sick_counters_from_healthy_ones) {
    for (int i = 0; i < CASES; i++) {
        struct profile sick = single(cases[i].sick), well = single(cases[i].well);
        struct finding f = {0};
        cr_assert(asks(cases[i].tool, &sick, &f), "case %d: %s is silent", i, cases[i].tool->name);
        cr_expect(strstr(f.cause, cases[i].cause), "case %d: %s", i, f.cause);
        cr_expect(strstr(f.evidence, cases[i].evidence), "case %d: %s", i, f.evidence);
        cr_expect(f.n_actions > 0 && f.n_numbers > 0, "case %d", i);
        cr_expect(f.expected_gain > 1 && f.expected_gain < 20, "case %d: %g", i, f.expected_gain);
        cr_expect(!asks(cases[i].tool, &well, &f), "case %d: %s", i, f.cause);
    }
}

Test(tools_traffic, are_silent_without_what_they_need) {
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < cases[i].tool->n_needs; k++) {
            struct profile sick = single(cases[i].sick);
            struct finding f;
            metrics_clear(&sick.launches[0].metrics, cases[i].tool->needs[k]);
            cr_expect(!asks(cases[i].tool, &sick, &f), "%s without %s", cases[i].tool->name,
                      metric_table[cases[i].tool->needs[k]].name);
        }
}

// The ceiling for the mix is known, and it is not reached although enough is under way.
// Measured: lines of 128 bytes read and written in an order of their own, one at a time and in
// runs.
Test(tools_traffic, name_turns_between_reads_and_writes) {
    static const struct row sick[ROWS_MAX] = {
        {METRIC_DRAM_READ_BYTES, 1.0736e9}, {METRIC_DRAM_WRITE_BYTES, 1.0751e9},
        {METRIC_LOAD_SECTORS, 33554432},    {METRIC_ACHIEVED_OCCUPANCY, 0.77},
        {METRIC_DRAM_BUSY, 0.70},           {METRIC_L2_BUSY, 0.34},
        {METRIC_STALL_LONG, 137.8},         {METRIC_WARP_LATENCY, 145}};
    struct profile p = single(sick);
    struct finding f;
    cr_assert(asks(&tool_writes, &p, &f));
    cr_expect(strstr(f.cause, "short runs of reading and of writing"), "%s", f.cause);
    cr_expect_eq(f.severity, SEVERITY_MEDIUM);
    cr_expect(f.expected_gain > 1.15 && f.expected_gain < 1.25, "it was 1.18x");
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_BUSY, 0.9);
    cr_expect(!asks(&tool_writes, &p, &f), "as a copy");
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_BUSY, 0.7);
    metrics_set(&p.launches[0].metrics, METRIC_DRAM_WRITE_BYTES, 1e8);
    cr_expect(!asks(&tool_writes, &p, &f), "reads alone");
}

// Measured: a few bytes more read than loads asked for do not make scattered stores partial writes.
Test(tools_traffic, do_not_take_noise_for_partial_writes) {
    static const struct row scattered[ROWS_MAX] = {{METRIC_DRAM_READ_BYTES, 292175872},
                                                   {METRIC_DRAM_WRITE_BYTES, 294666752},
                                                   {METRIC_LOAD_SECTORS, 8388608},
                                                   {METRIC_LOAD_REQUESTS, 2097152},
                                                   {METRIC_STORE_SECTORS, 67108864},
                                                   {METRIC_STORE_REQUESTS, 2097152},
                                                   {METRIC_HOT_LOAD_BYTES, 4},
                                                   {METRIC_HOT_STORE_BYTES, 4},
                                                   {METRIC_DRAM_BUSY, 0.1},
                                                   {METRIC_L2_BUSY, 0.23},
                                                   {METRIC_L1_BUSY, 0.24},
                                                   {METRIC_STALL_LONG, 8}};
    struct profile p = single(scattered);
    struct finding f;
    cr_assert(asks(&tool_coalesce, &p, &f));
    cr_expect(!asks(&tool_writes, &p, &f), "%s", f.cause);
}

// x -> a -> b -> y, one kernel each.
static struct profile chain(double middle_out, double calls) {
    struct profile p = {0};
    const struct row first[ROWS_MAX] = {{METRIC_LOAD_SECTORS, 8e6},
                                        {METRIC_STORE_SECTORS, 8e6},
                                        {METRIC_HOT_FMA, 4},
                                        {METRIC_HOT_ADD_MUL, 0},
                                        {METRIC_CALLS, 20}};
    const struct row middle[ROWS_MAX] = {{METRIC_LOAD_SECTORS, 16e6},
                                         {METRIC_STORE_SECTORS, middle_out},
                                         {METRIC_HOT_FMA, 0},
                                         {METRIC_HOT_ADD_MUL, 4},
                                         {METRIC_CALLS, calls}};
    add_launch(&p, "a", first);
    add_launch(&p, "b", middle);
    add_launch(&p, "c", first);
    return p;
}

Test(tools_traffic, see_kernels_that_could_be_one) {
    struct profile p = chain(8e6, 20), other = chain(8e6, 7), cleared = chain(8e6, 20);
    struct finding f;
    cr_assert(asks(&tool_stages, &p, &f));
    cr_expect(strstr(f.evidence, "2 such pairs in 3 kernels"), "%s", f.evidence);
    // Half of a's and a third of b's time, a third of b's and half of c's.
    cr_expect_float_eq(f.expected_gain, 1 / (1 - (0.5 + 1. / 3 + 1. / 3 + 0.5) / 3), 1e-6);
    cr_expect_eq(f.severity, SEVERITY_HIGH);
    // One that runs less often, with its neighbours: a and c may be a pair still.
    cr_assert(asks(&tool_stages, &other, &f));
    cr_expect(strstr(f.evidence, "1 such pair in"), "%s", f.evidence);
    for (int i = 0; i < 3; i++)
        metrics_clear(&cleared.launches[i].metrics, METRIC_STORE_SECTORS);
    cr_expect(!asks(&tool_stages, &cleared, &f), "nobody counted");
    for (int i = 0; i < 3; i++)
        metrics_set(&p.launches[i].metrics, METRIC_PIPE_FMA_BUSY, 0.9);
    cr_expect(!asks(&tool_stages, &p, &f), "arithmetic is what takes the time");
}

Test(tools_traffic, see_kernels_that_only_move_data) {
    static const struct row moves[ROWS_MAX] = {{METRIC_LOAD_SECTORS, 8e6},
                                               {METRIC_STORE_SECTORS, 8e6},
                                               {METRIC_HOT_FMA, 0},
                                               {METRIC_HOT_ADD_MUL, 0}};
    static const struct row computes[ROWS_MAX] = {{METRIC_LOAD_SECTORS, 8e6},
                                                  {METRIC_STORE_SECTORS, 8e6},
                                                  {METRIC_HOT_FMA, 8},
                                                  {METRIC_HOT_ADD_MUL, 0}};
    struct profile alone = single(moves), both = single(moves), well = single(computes);
    struct finding f;
    cr_expect(!asks(&tool_layout, &alone, &f), "moving data is what this program is for");
    add_launch(&both, "c", computes);
    cr_assert(asks(&tool_layout, &both, &f));
    cr_expect(f.severity == SEVERITY_HIGH && f.launch && strcmp(f.launch, "k") == 0);
    cr_expect_float_eq(f.expected_gain, 2, 1e-9);
    cr_expect(!asks(&tool_stages, &both, &f), "said once");
    add_launch(&well, "c", computes);
    cr_expect(!asks(&tool_layout, &well, &f));
    metrics_clear(&both.launches[0].metrics, METRIC_HOT_FMA);
    cr_expect(!asks(&tool_layout, &both, &f), "nobody has read its code");
}

// ---- on a CPU

static struct target cpu = {.vector_bytes = 64, .n_threads = 2, .llc_bytes = 32 << 20};

static bool asks_cpu(const struct tool *t, const struct bound *b, const struct profile *p,
                     struct finding *f) {
    struct tool_input in = {.target = &cpu, .bound = b, .profile = p};
    return tool_examine(&a, t, &in, f);
}

static void each_alone(const struct tool *t, const struct bound *b, const struct profile *sick) {
    struct finding f;
    for (int i = 0; i < t->n_needs; i++) {
        struct profile less = *sick;
        metrics_clear(&less.call, t->needs[i]);
        cr_expect(!asks_cpu(t, b, &less, &f), "%s without %s", t->name,
                  metric_table[t->needs[i]].name);
    }
}

Test(tools_traffic, count_bytes_beyond_the_least_on_a_cpu) {
    struct bound b = {.work = {.bytes_read = 100e6, .bytes_written = 100e6},
                      .reach_s = 10e-3,
                      .side = BOUND_MEMORY};
    struct profile p = {0};
    struct finding f;
    profile_set(&p, METRIC_TIME, 40e-3);
    profile_set(&p, METRIC_PLAN_BYTES, 400e6);
    cr_expect(!asks_cpu(&tool_moved, &b, &p, &f), "no ceiling is known");
    cpu.ceilings = (struct ceilings){.present = true};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        cpu.ceilings.traffic[i] =
            (struct ceiling_traffic){.read_fraction = 1 - i / 3.0, .bytes_per_s = 10e9};
    cr_assert(asks_cpu(&tool_moved, &b, &p, &f));
    cr_expect(strstr(f.evidence, "400 MB, 2.00 times the least (200 MB)"), "%s", f.evidence);
    cr_expect_float_eq(f.expected_gain, 2, 1e-9);  // 20 of 40 ms
    each_alone(&tool_moved, &b, &p);
    profile_set(&p, METRIC_PLAN_BYTES, 210e6);
    cr_expect(!asks_cpu(&tool_moved, &b, &p, &f), "the caches hold it");
    profile_set(&p, METRIC_CPU_CACHE_MISSES, 400e6 / 64);
    cr_assert(asks_cpu(&tool_moved, &b, &p, &f), "the counters say that they do not");
    cr_expect(strstr(f.evidence, "missed the caches are 400 MB, 2.00 times"), "%s", f.evidence);
    cr_expect_str_eq(f.numbers[0].metric, "cpu_cache_misses");
}

Test(tools_traffic, see_page_faults_and_lines_that_threads_share) {
    struct profile p = {0};
    struct finding f;
    profile_set(&p, METRIC_TIME, 1e-3);
    profile_set(&p, METRIC_THREADS, 2);
    profile_set(&p, METRIC_FAULTS, 1000);
    cr_expect(!asks_cpu(&tool_faults, NULL, &p, &f), "nobody measured what a fault costs");
    cpu.ceilings = (struct ceilings){.present = true, .fault_s = 0.5e-6, .line_s = 60e-9};
    cr_assert(asks_cpu(&tool_faults, NULL, &p, &f));
    cr_expect(strstr(f.evidence, "1000 page faults in a call of 1e+03 us"), "%s", f.evidence);
    cr_expect_float_eq(f.expected_gain, 1 / 0.75, 1e-9);
    each_alone(&tool_faults, NULL, &p);
    profile_set(&p, METRIC_FAULTS, 2);
    cr_expect(!asks_cpu(&tool_faults, NULL, &p, &f));

    profile_set(&p, METRIC_BLOCKS, 10000);
    profile_set(&p, METRIC_BLOCK_WRITES, 4);
    cr_assert(asks_cpu(&tool_sharing, NULL, &p, &f));
    cr_expect(strstr(f.evidence, "10000 blocks write 4 bytes each"), "%s", f.evidence);
    each_alone(&tool_sharing, NULL, &p);
    profile_set(&p, METRIC_BLOCK_WRITES, 256);
    cr_expect(!asks_cpu(&tool_sharing, NULL, &p, &f), "whole lines");
    profile_set(&p, METRIC_BLOCK_WRITES, 4);
    profile_set(&p, METRIC_BLOCKS, 100);
    cr_expect(!asks_cpu(&tool_sharing, NULL, &p, &f), "too few to matter");
}

static bool asks_block(const struct tool *tool, const char *text, struct profile *p,
                       struct finding *f) {
    static const char source[] = "problem t\ndim M = 1000, N = 15\nin x : f32[M, N] ~ normal\n"
                                 "out y : f32[M, N]\ny = x * 2\n";
    struct lang_file file = {0};
    const char *diagnostics;
    struct error err = {0};
    struct lang_source s = {.file = "t.hone", .text = source, .len = strlen(source)};
    cr_assert(lang_parse(&a, &s, &file, &diagnostics, &err), "%s", err.text);
    struct candidate c = {.kernel = text};
    struct tool_input in = {
        .problem = file.problems[0], .target = &cpu, .candidate = &c, .profile = p};
    return tool_examine(&a, tool, &in, f);
}

Test(tools_traffic, see_rows_that_are_no_multiple_of_the_vector) {
    struct profile p = {0}, empty = {0};
    struct finding f;
    profile_set(&p, METRIC_TIME, 1e-3);
    cr_assert(asks_block(&tool_tail, "kernel for t on cpu\nstage y : rowwise  vec 8\n", &p, &f));
    cr_expect(strstr(f.evidence, "rows of 15 in vectors of 8 leave 7 over: 88%"), "%s", f.evidence);
    cr_expect(f.expected_gain > 3 && f.expected_gain < 4.1, "%g", f.expected_gain);
    cr_expect(!asks_block(&tool_tail, "kernel for t on cpu\nstage y : rowwise  vec 1\n", &p, &f));
    cr_expect(
        !asks_block(&tool_tail, "kernel for t on cpu\nstage y : rowwise  vec 8\n", &empty, &f));
    // A map goes over all elements at once, as long as its code has no scalar loop.
    static const char map[] = "kernel for t on cpu\nstage y : map  vec 8\n";
    cr_expect(!asks_block(&tool_tail, map, &p, &f), "nobody has looked");
    profile_set(&p, METRIC_HOT_SCALAR, 0);
    cr_expect(!asks_block(&tool_tail, map, &p, &f), "no such loop");
    cr_expect(!asks_block(&tool_tail, "kernel for t on cpu\nstage y : rowwise  vec 8\n", &p, &f));
    profile_set(&p, METRIC_HOT_SCALAR, 6);
    cr_expect(asks_block(&tool_tail, map, &p, &f), "with a bias for each column, say");
    // The loop for what is left over is scalar, and that is no fault of its own.
    profile_set(&p, METRIC_HOT_SCALAR, 40);
    profile_set(&p, METRIC_HOT_VECTOR, 4);
    cr_expect(!asks_block(&tool_scalar, "kernel for t on cpu\nstage y : rowwise  vec 8\n", &p, &f));
    cr_expect(asks_block(&tool_scalar, "kernel for t on cpu\nstage y : rowwise  vec 1\n", &p, &f));
}
