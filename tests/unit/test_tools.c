#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "tools/confidence.h"
#include "tools/tool.h"

static struct arena a;
static struct target target = {.vector_bytes = 64, .n_threads = 2};
static struct candidate candidate = {
    .kernel = "kernel for p on cpu\nstage y : map  vec 8  unroll 1  grain 64  store plain\n"};

static double reach_s = 1e-3;

static struct bound bound_of(enum bound_side side) {
    return (struct bound){.work = {.bytes_read = 4e6, .bytes_written = 4e6, .flops = 1e6},
                          .reach_s = reach_s,
                          .reach_memory_s = 0.9e-3,
                          .reach_compute_s = 0.9e-3,
                          .reach_fixed_s = 1e-5,
                          .side = side};
}

static int examine(const struct tool *tool, const struct bound *b, const struct profile *p,
                   struct finding *out) {
    struct tool_input in = {.target = &target, .bound = b, .candidate = &candidate, .profile = p};
    return tool ? tool_examine(&a, tool, &in, out) : tools_examine(&a, &in, out, 5);
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
    profile_set(&half, METRIC_HOT_SCALAR, 10);
    profile_set(&half, METRIC_THREAD_BUSY, 0.2);
    profile_set(&half, METRIC_THREADS, 2);
    cr_assert_eq(examine(NULL, &b, &half, out), 0);
}

// Of a made-up tool: what was counted is surer than what stands in the code, and what is far beyond
// its line surer than what is at it.
Test(tools, are_surer_of_what_was_measured) {
    struct tool tool = {.name = "made up"}, symptom = {.name = "made up", .is_symptom = true};
    struct profile p = {0};
    struct tool_input in = {.target = &target, .profile = &p};
    struct tool_subject s = {.in = &in, .target = &target, .metrics = &p.call};
    struct finding counted = {.numbers = {{"l2_hit", 0.2, 0.5}}, .n_numbers = 1};
    struct finding at_line = {.numbers = {{"l2_hit", 0.5, 0.5}}, .n_numbers = 1};
    struct finding code = {.numbers = {{"hot_scalar", 20, 5}}, .n_numbers = 1};
    struct finding timed = {.numbers = {{"time_s", 2, 1}, {"hot_scalar", 20, NAN}}, .n_numbers = 2};
    struct finding words = {0};
    cr_expect_float_eq(finding_confidence(&tool, &s, &counted), 0.9, 1e-9);
    cr_expect_float_eq(finding_confidence(&tool, &s, &at_line), 0.63, 1e-9);
    cr_expect_float_eq(finding_confidence(&tool, &s, &code), 0.6, 1e-9);
    cr_expect_float_eq(finding_confidence(&tool, &s, &words), 0.6, 1e-9);
    cr_expect_float_eq(finding_confidence(&symptom, &s, &counted), 0.54, 1e-9);
    cr_expect_float_eq(finding_confidence(&tool, &s, &timed), 0.9, 1e-9);
    profile_set(&p, METRIC_STOLEN_SHARE, 0.5);
    cr_expect_float_eq(finding_confidence(&tool, &s, &timed), 0.54, 1e-9, "a busy machine");
    cr_expect_float_eq(finding_confidence(&tool, &s, &counted), 0.9, 1e-9, "no time");
}

Test(tools, reach_needs_ceilings) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 1);
    struct bound b = bound_of(BOUND_MEMORY);
    b.reach_s = NAN;
    struct finding f;
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 0);
}

// What was timed among other work says less.
Test(tools, reach_is_less_sure_on_a_machine_that_is_shared) {
    struct profile p = {0};
    struct bound b = bound_of(BOUND_MEMORY);
    struct finding f;
    profile_set(&p, METRIC_TIME, 9e-3);
    profile_set(&p, METRIC_THREADS, 2);
    profile_set(&p, METRIC_MACHINE_LOAD, 1.5);
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_expect(f.confidence > 0.5 && !strstr(f.evidence, "other work"));
    profile_set(&p, METRIC_MACHINE_LOAD, 12);
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_expect(f.confidence < 0.4);
    cr_expect(strstr(f.evidence, "other work took the processors"), "%s", f.evidence);
    // A load of twelve does not disturb two threads where there are processors for all.
    profile_set(&p, METRIC_PROCESSORS, 16);
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_expect(f.confidence > 0.5);
    // What threads have waited for their processors says more than the load.
    profile_set(&p, METRIC_DISTURBED_SHARE, 0.5);
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_expect(f.confidence < 0.4 && strstr(f.evidence, "other work took the processors"));
    metrics_clear(&p.call, METRIC_PROCESSORS);
    profile_set(&p, METRIC_DISTURBED_SHARE, 0.1);
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_expect(f.confidence > 0.5, "a load of 12, and nobody waited");
}

// How far it is from reach is no fault: a cause of medium severity stands before it.
Test(tools, name_a_cause_before_they_say_how_far) {
    struct profile p = {0};
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding out[5];
    profile_set(&p, METRIC_TIME, 20e-3);
    profile_set(&p, METRIC_HOT_VECTOR, 16);
    profile_set(&p, METRIC_HOT_VECTOR_BYTES, 32);
    cr_assert_eq(examine(NULL, &b, &p, out), 2);
    cr_expect(strcmp(out[0].tool, "width") == 0 && out[0].severity == SEVERITY_MEDIUM);
    cr_expect(strcmp(out[1].tool, "reach") == 0 && out[1].severity == SEVERITY_MEDIUM);
    for (const struct tool *const *t = tools; *t; t++) {
        struct finding symptom = {.tool = (*t)->name, .severity = SEVERITY_MEDIUM};
        struct finding cause = {.tool = "width", .severity = SEVERITY_MEDIUM};
        if ((*t)->is_symptom)
            cr_expect(!finding_ranks_before(&symptom, &cause), "%s", (*t)->name);
    }
}

// What wider instructions bring is between the share of arithmetic and everything; a fused one only
// shortens the arithmetic; and no single cause takes a kernel all the way to reach.
Test(tools, expect_of_arithmetic_what_its_share_of_the_time_is_worth) {
    struct profile p = {0};
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding f;
    b.reach_compute_s = 1e-3;
    profile_set(&p, METRIC_TIME, 8e-3);
    profile_set(&p, METRIC_HOT_VECTOR, 16);
    profile_set(&p, METRIC_HOT_VECTOR_BYTES, 16);
    cr_assert_eq(examine(&tool_width, &b, &p, &f), 1);
    // A quarter of the width: half of the time is arithmetic, so 1.6 at least and 4 at most.
    cr_expect_float_eq(f.expected_gain, sqrt(1.6 * 4), 1e-6, "%g", f.expected_gain);
    profile_set(&p, METRIC_HOT_UNFUSED, 8);
    profile_set(&p, METRIC_HOT_FUSED, 0);
    cr_assert_eq(examine(&tool_fused, &b, &p, &f), 1);
    // A quarter of the time is arithmetic, and half of that goes.
    cr_expect_float_eq(f.expected_gain, 1 / (1 - 0.125), 1e-6, "%g", f.expected_gain);
    // Where sums have units of their own, next to those of products, there is less to gain, or
    // nothing.
    target.ceilings.present = true;
    target.ceilings.fuse_gain = 1.5;
    cr_assert_eq(examine(&tool_fused, &b, &p, &f), 1);
    cr_expect_float_eq(f.expected_gain, 1 / (1 - 0.1875 + 0.125), 1e-6, "%g", f.expected_gain);
    target.ceilings.fuse_gain = 1.01;
    cr_expect_eq(examine(&tool_fused, &b, &p, &f), 0, "%s", f.cause);
    target.ceilings = (struct ceilings){0};
    profile_set(&p, METRIC_TIME, 2e-3);
    cr_assert_eq(examine(&tool_width, &b, &p, &f), 1);
    cr_expect_float_eq(f.expected_gain, sqrt(2), 1e-6, "%g", f.expected_gain);
    // Where memory is in the way nobody knows what wider vectors bring.
    struct bound memory = bound_of(BOUND_MEMORY);
    cr_assert_eq(examine(&tool_width, &memory, &p, &f), 1);
    cr_expect(isnan(f.expected_gain), "%g", f.expected_gain);
    // What is worth little is no matter of medium severity, whatever was found.
    profile_set(&p, METRIC_TIME, 1.15e-3);
    cr_assert_eq(examine(&tool_width, &b, &p, &f), 1);
    cr_expect(f.expected_gain < 1.1 && f.severity == SEVERITY_LOW);
}

Test(tools, reach_knows_chains_of_steps) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 4e-3);
    struct bound b = bound_of(BOUND_CHAIN);
    b.reach_s = 1e-3;
    b.work.chain_ops = 1000;
    struct finding f;
    cr_assert_eq(examine(&tool_reach, &b, &p, &f), 1);
    cr_assert(strstr(f.cause, "chain-bound"), "%s", f.cause);
    cr_assert(strstr(f.evidence, "1e+03 operations wait for one another, 4e+03 ns each"), "%s",
              f.evidence);
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
                 {4e-3, 1, SEVERITY_MEDIUM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = {0};
        profile_set(&p, METRIC_TIME, cases[i].time_s);
        struct bound b = bound_of(BOUND_MEMORY);
        struct finding f = {0};
        cr_assert_eq(examine(&tool_reach, &b, &p, &f), cases[i].n, "%g", cases[i].time_s);
        if (cases[i].n)
            cr_assert_eq(f.severity, cases[i].severity, "%g", cases[i].time_s);
    }
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 4e-3);
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
    profile_set(&p, METRIC_TIME, 4e-3);
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

// Source that somebody wrote has no knobs to turn: what it is told names none.
Test(tools, speak_of_source_where_there_is_no_block) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 4e-3);
    profile_set(&p, METRIC_HOT_SCALAR, 10);
    profile_set(&p, METRIC_HOT_VECTOR, 0);
    profile_set(&p, METRIC_THREAD_BUSY, 0.5);
    profile_set(&p, METRIC_BLOCKS, 3);
    profile_set(&p, METRIC_THREADS, 2);
    candidate.kernel = NULL;
    for (int side = 0; side < 2; side++) {
        struct bound b = bound_of(side ? BOUND_MEMORY : BOUND_COMPUTE);
        struct finding out[5];
        int n = examine(NULL, &b, &p, out);
        cr_assert_eq(n, 3);
        for (int i = 0; i < n; i++) {
            cr_assert_gt(out[i].n_actions, 0, "%s has no advice", out[i].tool);
            for (int k = 0; k < out[i].n_actions; k++)
                cr_assert_null(out[i].actions[k].knob, "%s", out[i].actions[k].words);
        }
    }
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
        profile_set(&p, METRIC_HOT_SCALAR, cases[i].scalar);
        profile_set(&p, METRIC_HOT_VECTOR, cases[i].vector);
        cr_assert_eq(examine(&tool_scalar, &b, &p, &f), cases[i].n, "case %zu", i);
    }
    struct profile p = {0};
    profile_set(&p, METRIC_HOT_SCALAR, 10);
    profile_set(&p, METRIC_HOT_VECTOR, 0);
    examine(&tool_scalar, &b, &p, &f);
    cr_assert_float_eq(f.expected_gain, 16, 1e-9);
    cr_assert_eq(find_action(&f, "vec")->direction, 1);
    // Source that somebody wrote: in vectors that this machine has.
    struct target narrow = target;
    struct candidate source = {.tier = TIER_C, .source = "x"};
    narrow.vector_bytes = 32;
    struct tool_input in = {.target = &narrow, .bound = &b, .candidate = &source, .profile = &p};
    cr_assert_eq(tool_examine(&a, &tool_scalar, &in, &f), 1);
    cr_assert(strstr(f.actions[f.n_actions - 1].words, "f32x8, hone_load8"));
}

Test(tools, idle_tells_too_few_blocks_from_too_many) {
    struct bound b = bound_of(BOUND_COMPUTE);
    struct finding f;
    struct {
        double busy, blocks;
        int n, direction;
    } cases[] = {{0.95, 2, 0, 0}, {0.5, 3, 1, -1}, {0.5, 100000, 1, 1}, {0.8, 40, 1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = {0};
        profile_set(&p, METRIC_THREAD_BUSY, cases[i].busy);
        profile_set(&p, METRIC_BLOCKS, cases[i].blocks);
        profile_set(&p, METRIC_THREADS, 2);
        cr_assert_eq(examine(&tool_idle, &b, &p, &f), cases[i].n, "case %zu", i);
        if (!cases[i].n)
            continue;
        const struct action *grain = find_action(&f, "grain");
        cr_assert_eq(grain ? grain->direction : 0, cases[i].direction, "case %zu", i);
        cr_expect(f.severity >= SEVERITY_MEDIUM);
        profile_set(&p, METRIC_MACHINE_LOAD, 12);
        cr_assert(examine(&tool_idle, &b, &p, &f));
        cr_expect_eq(f.severity, SEVERITY_LOW, "others take the processors");
        cr_expect_eq(f.n_actions, 0, "and nothing is known of the blocks");
    }
}

Test(tools, rank_by_severity_then_gain_and_keep_what_fits) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 1.3e-3);
    profile_set(&p, METRIC_HOT_SCALAR, 10);
    profile_set(&p, METRIC_HOT_VECTOR, 0);
    profile_set(&p, METRIC_THREAD_BUSY, 0.7);
    profile_set(&p, METRIC_BLOCKS, 2);
    profile_set(&p, METRIC_THREADS, 2);
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

// ---- on a GPU

static struct target gpu = {.is_gpu = true,
                            .sms = 132,
                            .registers_per_sm = 65536,
                            .threads_per_sm = 2048,
                            .blocks_per_sm = 32,
                            .shared_per_sm = 228 << 10,
                            .ceilings = {.present = true, .launch_s = 3e-6}};

static const char map_block[] = "kernel for p on sm_90a\nstage y : map  block 256  vec 4  items 1  "
                                "store cached\n";
static const char gemm_block[] =
    "kernel for p on sm_90a\nstage y : gemm  tile 128x128x8  micro 8x8 "
    " stages 2  vec 4  minblocks 2\n";

struct launch {
    double blocks, threads, registers, shared, per_sm;
};

static struct profile profile_of(struct launch l) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 2e-3);
    profile_set(&p, METRIC_LAUNCHES, 1);
    profile_set(&p, METRIC_BLOCKS, l.blocks);
    profile_set(&p, METRIC_BLOCK_THREADS, l.threads);
    profile_set(&p, METRIC_REGISTERS, l.registers);
    profile_set(&p, METRIC_SHARED_BYTES, l.shared);
    profile_set(&p, METRIC_LOCAL_BYTES, 0);
    profile_set(&p, METRIC_BLOCKS_PER_SM, l.per_sm);
    profile_set(&p, METRIC_OCCUPANCY, l.per_sm * l.threads / 2048);
    return p;
}

static int examine_gpu(const struct tool *tool, const char *block, const struct profile *p,
                       enum bound_side side, struct finding *out) {
    struct bound b = bound_of(side);
    struct candidate c = {.kernel = block};
    struct tool_input in = {.target = &gpu, .bound = &b, .candidate = &c, .profile = p};
    return tool_examine(&a, tool, &in, out);
}

Test(tools, occupancy_names_what_is_in_the_way_and_the_move) {
    static const struct {
        struct launch launch;
        const char *block, *cause, *knob;
        int direction;
    } cases[] = {
        {{9999, 256, 128, 0, 2}, gemm_block, "registers", "minblocks", +1},
        {{9999, 768, 80, 0, 1}, map_block, "registers", "items", -1},
        {{9999, 256, 32, 100 << 10, 2}, gemm_block, "shared memory", "tile", -1},
        {{9999, 32, 16, 0, 16}, map_block, "number of blocks", "block", +1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p = profile_of(cases[i].launch);
        struct finding f;
        gpu.blocks_per_sm = i == 3 ? 16 : 32;
        cr_assert_eq(examine_gpu(&tool_occupancy, cases[i].block, &p, BOUND_MEMORY, &f), 1,
                     "case %zu", i);
        cr_assert(strstr(f.cause, cases[i].cause), "case %zu: %s", i, f.cause);
        const struct action *act = find_action(&f, cases[i].knob);
        cr_assert(act && act->direction == cases[i].direction, "case %zu", i);
    }
    gpu.blocks_per_sm = 32;
    // Blocks of 768 threads: two fit, and a quarter of the threads stays unused; not too few.
    struct profile p = profile_of((struct launch){9999, 768, 32, 0, 2});
    struct finding f;
    cr_assert_eq(examine_gpu(&tool_occupancy, map_block, &p, BOUND_MEMORY, &f), 0);
    // Arithmetic is content with a quarter; memory is not.
    p = profile_of((struct launch){9999, 256, 80, 0, 3});
    cr_assert_eq(examine_gpu(&tool_occupancy, gemm_block, &p, BOUND_COMPUTE, &f), 0);
    cr_assert_eq(examine_gpu(&tool_occupancy, gemm_block, &p, BOUND_MEMORY, &f), 1);
    cr_assert_float_eq(f.expected_gain, 0.5 / 0.375, 1e-9);
    // A grid that does not fill what fits, and a kernel at reach.
    p = profile_of((struct launch){200, 256, 128, 0, 2});
    cr_assert_eq(examine_gpu(&tool_occupancy, gemm_block, &p, BOUND_MEMORY, &f), 0);
    p = profile_of((struct launch){9999, 256, 128, 0, 2});
    profile_set(&p, METRIC_TIME, 1.01e-3);
    cr_assert_eq(examine_gpu(&tool_occupancy, gemm_block, &p, BOUND_MEMORY, &f), 0);
}

// Half the rows are half of a block's threads and shared memory: as many threads fit as before.
Test(tools, occupancy_offers_no_other_portions_of_the_same) {
    static const char rows_block[] =
        "kernel for p on sm_90a\nstage y : rowwise  threads 32  rows 2 "
        " vec 4  keep shared  divide exact  store cached\n";
    struct profile p = profile_of((struct launch){9999, 64, 40, 32770, 6});
    struct finding f;
    cr_assert_eq(examine_gpu(&tool_occupancy, rows_block, &p, BOUND_MEMORY, &f), 1);
    cr_assert(find_action(&f, "keep"));
    cr_assert(!find_action(&f, "rows"), "%s", f.evidence);
    // With so few blocks none loads while the others wait at a barrier.
    p = profile_of((struct launch){9999, 128, 40, 65540, 3});
    cr_assert_eq(examine_gpu(&tool_occupancy, rows_block, &p, BOUND_MEMORY, &f), 1);
    cr_assert(find_action(&f, "rows"));
}

Test(tools, waves_counts_multiprocessors_without_work) {
    static const struct {
        double blocks, per_sm;
        int n;
        enum severity severity;
        const char *evidence;
    } cases[] = {
        {16, 2, 1, SEVERITY_HIGH, "16 blocks for 132 multiprocessors"},
        {140, 2, 1, SEVERITY_MEDIUM, "1.06 waves of 132; the last one is 6% full"},
        {132, 2, 0, 0, NULL},
        {264, 2, 0, 0, NULL},
        {270, 2, 1, SEVERITY_MEDIUM, "1.02 waves of 264; the last one is 2% full"},
        {520, 2, 0, 0, NULL},   // 1.97 waves
        {2640, 2, 0, 0, NULL},  // ten full ones
        {2641, 2, 0, 0, NULL},  // so many that the last weighs little
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile p =
            profile_of((struct launch){cases[i].blocks, 256, 32, 0, cases[i].per_sm});
        struct finding f = {0};
        int n = examine_gpu(&tool_waves, gemm_block, &p, BOUND_COMPUTE, &f);
        cr_assert_eq(n, cases[i].n, "case %zu", i);
        if (!n)
            continue;
        cr_expect_eq(f.severity, cases[i].severity, "case %zu", i);
        cr_expect(strstr(f.evidence, cases[i].evidence), "case %zu: %s", i, f.evidence);
        cr_expect_eq(find_action(&f, "tile")->direction, -1);
    }
}

Test(tools, serial_speaks_where_the_assembler_does) {
    struct profile p = profile_of((struct launch){9999, 256, 255, 0, 1});
    struct finding f;
    cr_assert_eq(examine_gpu(&tool_serial, gemm_block, &p, BOUND_COMPUTE, &f), 0);
    profile_set(&p, METRIC_SERIALIZED, 2);
    cr_assert_eq(examine_gpu(&tool_serial, gemm_block, &p, BOUND_COMPUTE, &f), 1);
    cr_expect_eq(f.severity, SEVERITY_HIGH);
    cr_expect(strstr(f.evidence, "2 advisories of the assembler"), "%s", f.evidence);
}

Test(tools, spill_tells_spills_from_arrays) {
    struct profile p = profile_of((struct launch){9999, 256, 255, 0, 1});
    struct finding f;
    cr_assert_eq(examine_gpu(&tool_spill, gemm_block, &p, BOUND_COMPUTE, &f), 0);
    profile_set(&p, METRIC_LOCAL_BYTES, 64);
    cr_assert_eq(examine_gpu(&tool_spill, gemm_block, &p, BOUND_COMPUTE, &f), 1);
    cr_expect_eq(f.severity, SEVERITY_MEDIUM);
    profile_set(&p, METRIC_SPILL_BYTES, 48);
    cr_assert_eq(examine_gpu(&tool_spill, gemm_block, &p, BOUND_COMPUTE, &f), 1);
    cr_expect_eq(f.severity, SEVERITY_HIGH);
    cr_expect(strstr(f.evidence, "48 bytes per thread, at 255 registers"), "%s", f.evidence);
    cr_expect_eq(find_action(&f, "minblocks")->direction, -1);
    cr_expect_eq(find_action(&f, "micro")->direction, -1);
}

Test(tools, narrow_reads_the_width_off_the_block) {
    struct profile p = profile_of((struct launch){9999, 256, 32, 0, 8});
    struct finding f;
    static const char narrow[] =
        "kernel for p on sm_90a\nstage y : map  block 256  vec 2  items 1\n";
    cr_assert_eq(examine_gpu(&tool_narrow, narrow, &p, BOUND_MEMORY, &f), 1);
    cr_expect(strstr(f.evidence, "8 bytes at once"), "%s", f.evidence);
    cr_expect_eq(find_action(&f, "vec")->direction, +1);
    cr_expect_eq(examine_gpu(&tool_narrow, map_block, &p, BOUND_MEMORY, &f), 0);
    cr_expect_eq(examine_gpu(&tool_narrow, narrow, &p, BOUND_COMPUTE, &f), 0);
    cr_expect_eq(examine_gpu(&tool_narrow, NULL, &p, BOUND_MEMORY, &f), 0);
}

Test(tools, launch_speaks_when_launching_is_the_time) {
    struct finding f;
    struct profile p = profile_of((struct launch){9999, 256, 32, 0, 8});
    static const char two[] =
        "kernel for p on sm_90a\nstage t : map  vec 4\nstage y : map  vec 4\n";
    cr_assert_eq(examine_gpu(&tool_launch, two, &p, BOUND_MEMORY, &f), 0);
    profile_set(&p, METRIC_LAUNCHES, 2);
    cr_assert_eq(examine_gpu(&tool_launch, two, &p, BOUND_MEMORY, &f), 0);  // 3 us of 2 ms
    profile_set(&p, METRIC_TIME, 9e-6);
    reach_s = 3e-6;
    cr_assert_eq(examine_gpu(&tool_launch, two, &p, BOUND_MEMORY, &f), 1);
    cr_expect(find_action(&f, "merge"));
    cr_expect_float_eq(f.expected_gain, 1.5, 1e-9);
    profile_set(&p, METRIC_LAUNCHES, 1);
    cr_assert_eq(examine_gpu(&tool_launch, map_block, &p, BOUND_MEMORY, &f), 0);
    profile_set(&p, METRIC_TIME, 4e-6);
    cr_assert_eq(examine_gpu(&tool_launch, map_block, &p, BOUND_MEMORY, &f), 1);
    cr_expect_eq(f.severity, SEVERITY_LOW);
}

Test(tools, of_a_gpu_are_silent_on_a_kernel_at_reach_and_without_facts) {
    struct bound b = bound_of(BOUND_MEMORY);
    struct candidate c = {.kernel = map_block};
    struct profile p = profile_of((struct launch){4096, 256, 40, 0, 6});
    struct tool_input in = {.target = &gpu, .bound = &b, .candidate = &c, .profile = &p};
    struct finding out[5];
    profile_set(&p, METRIC_TIME, 1.01e-3);
    cr_assert_eq(tools_examine(&a, &in, out, 5), 0);
    // Far from reach, but nothing is known beyond the time: only reach speaks.
    struct profile bare = {0};
    profile_set(&bare, METRIC_TIME, 4e-3);
    in.profile = &bare;
    cr_assert_eq(tools_examine(&a, &in, out, 5), 1);
    cr_assert_str_eq(out[0].tool, "reach");
    cr_assert(find_action(&out[0], "items"));
}

// ---- what is said of the block

// A problem and its block, read as the tools read it.
struct known {
    struct problem *problem;
    struct candidate candidate;
};

static struct known known_block(const struct target *t, const char *problem, const char *block) {
    struct lang_file file;
    const char *diagnostics;
    struct error err;
    struct known k = {0};
    const char *text = arena_printf(&a, "%s%s", problem, block);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    k.problem = file.problems[0];
    cr_assert(lower_kernel(&a, k.problem, t, file.kernels[0], &k.candidate, &err), "%s", err.text);
    return k;
}

static const char product[] = "problem g\ndim N = 1024\nin x : f32[N, N] ~ normal\n"
                              "in w : f32[N, N] ~ normal\nout y : f32[N, N]\ny = x @ w\n";

// Findings of a slow call, everything known.
static int examine_known(const struct target *t, const struct known *k, const struct profile *p,
                         struct finding *out) {
    struct bound b;
    bound_compute(k->problem, t, &b);
    b.reach_s = 1e-3;
    b.side = BOUND_COMPUTE;
    struct tool_input in = {
        .problem = k->problem, .target = t, .bound = &b, .candidate = &k->candidate, .profile = p};
    return tools_examine(&a, &in, out, 5);
}

static const struct action *find_turn(const struct finding *found, int n, const char *knob,
                                      int direction) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < found[i].n_actions; j++) {
            const struct action *act = &found[i].actions[j];
            if (act->knob && strcmp(act->knob, knob) == 0 && act->direction == direction)
                return act;
        }
    return NULL;
}

Test(tools, do_not_advise_what_no_knob_allows) {
    struct target cpu = {.name = "cpu",
                         .vector_bytes = 64,
                         .n_threads = 2,
                         .l1_bytes = 32 << 10,
                         .l2_bytes = 1 << 20,
                         .llc_bytes = 32 << 20,
                         .cc = "cc"};
    struct profile p = {0};
    struct finding out[5];
    profile_set(&p, METRIC_TIME, 4e-3);
    struct known narrow =
        known_block(&cpu, product, "kernel for g on cpu\nstage y : gemm  vec 8\n");
    int n = examine_known(&cpu, &narrow, &p, out);
    cr_assert_eq(n, 1);
    const struct action *wider = find_turn(out, n, "vec", +1);
    cr_assert(wider && wider->move && strstr(wider->move, "vec 8 -> 16"), "a move of this block");
    // The widest there is.
    struct known widest =
        known_block(&cpu, product, "kernel for g on cpu\nstage y : gemm  vec 16\n");
    n = examine_known(&cpu, &widest, &p, out);
    cr_assert_eq(n, 1);
    cr_expect_null(find_turn(out, n, "vec", +1));
    cr_expect_gt(out[0].n_actions, 0);
    for (int i = 0; i < out[0].n_actions; i++)
        cr_expect(out[0].actions[i].move, "%s", out[0].actions[i].words);
}

Test(tools, do_not_advise_larger_and_smaller_at_once) {
    struct target card;
    cr_assert(target_of_arch("sm_90a", &card));
    struct known k = known_block(&card, product, "kernel for g on sm_90a\nstage y : gemm\n");
    static const struct launch launches[] = {
        {9999, 256, 64, 0, 4},        // enough threads: larger tiles
        {9999, 256, 255, 0, 1},       // too few of them fit
        {16, 256, 128, 0, 2},         // too few blocks
        {140, 256, 64, 48 << 10, 4},  // a last wave that is not full
    };
    static const int tile[] = {+1, -1, -1, -1};
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        struct profile p = profile_of(launches[i]);
        struct finding out[5];
        int n = examine_known(&card, &k, &p, out);
        cr_assert_gt(n, 0, "case %zu", i);
        cr_expect(find_turn(out, n, "tile", tile[i]), "case %zu", i);
        for (int f = 0; f < n; f++)
            for (int j = 0; j < out[f].n_actions; j++) {
                const struct action *act = &out[f].actions[j];
                if (act->knob && act->direction)
                    cr_expect_null(find_turn(out, n, act->knob, -act->direction),
                                   "case %zu: %s both ways", i, act->knob);
            }
    }
}

Test(tools, weigh_a_launch_by_its_share) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 2e-3);
    static const double times[] = {1.2e-3, 0.77e-3, 0.03e-3};
    for (int i = 0; i < 3; i++) {
        struct profile_launch *l = profile_add_launch(&a, &p, i == 0 ? "even" : "few");
        l->metrics = profile_of((struct launch){i == 0 ? 132 : 66, 256, 32, 0, 8}).call;
        metrics_set(&l->metrics, METRIC_TIME, times[i]);
    }
    struct finding f;
    cr_assert(examine_gpu(&tool_waves, NULL, &p, BOUND_MEMORY, &f));
    cr_expect_str_eq(f.launch, "few");
    cr_expect_float_eq(f.share, 0.385, 1e-9);
    cr_expect_float_eq(f.expected_gain, 1 / (1 - 0.385 / 2), 1e-9, "half of that launch");
    cr_expect(f.n_numbers > 0 && strcmp(f.numbers[0].metric, "blocks") == 0 &&
              f.numbers[0].value == 66 && f.numbers[0].limit == 132);
    // A launch that is next to nothing is nothing to worry about.
    metrics_set(&p.launches[1].metrics, METRIC_BLOCKS, 132);
    cr_assert(examine_gpu(&tool_waves, NULL, &p, BOUND_MEMORY, &f));
    cr_expect_eq(f.severity, SEVERITY_LOW);
    metrics_set(&p.launches[2].metrics, METRIC_TIME, 0.01e-3);
    cr_expect(!examine_gpu(&tool_waves, NULL, &p, BOUND_MEMORY, &f));
}

Test(tools, say_where_class_and_bound_disagree) {
    struct profile p = {0};
    struct finding f;
    profile_set(&p, METRIC_TIME, 4e-3);
    struct profile_launch *l = profile_add_launch(&a, &p, "k");
    metrics_set(&l->metrics, METRIC_TIME, 4e-3);
    cr_expect(!examine_gpu(&tool_disagree, NULL, &p, BOUND_MEMORY, &f), "no counters");
    metrics_set(&l->metrics, METRIC_DRAM_BUSY, 0.2);
    metrics_set(&l->metrics, METRIC_L2_BUSY, 0.2);
    metrics_set(&l->metrics, METRIC_ISSUE_BUSY, 0.95);
    metrics_set(&l->metrics, METRIC_PIPE_ALU_BUSY, 0.9);
    cr_assert(examine_gpu(&tool_disagree, NULL, &p, BOUND_MEMORY, &f));
    cr_expect(strstr(f.cause, "the problem is memory-bound, this kernel is compute-bound"), "%s",
              f.cause);
    cr_expect(strstr(f.actions[0].words, "fewer instructions"), "%s", f.actions[0].words);
    cr_expect(!examine_gpu(&tool_disagree, NULL, &p, BOUND_COMPUTE, &f));
    metrics_set(&l->metrics, METRIC_ISSUE_BUSY, 0.1);
    metrics_set(&l->metrics, METRIC_PIPE_ALU_BUSY, 0.1);
    cr_assert(examine_gpu(&tool_disagree, NULL, &p, BOUND_COMPUTE, &f));
    cr_expect(strstr(f.cause, "latency-bound"), "%s", f.cause);
}

// A network has thousands of launches, and every node of a run is explained.
Test(tools, explain_many_launches_at_once) {
    enum { LAUNCHES = 20000 };
    struct profile p = {0};
    struct finding out[5];
    struct bound b = bound_of(BOUND_MEMORY);
    struct tool_input in = {.target = &gpu, .bound = &b, .profile = &p};
    profile_set(&p, METRIC_TIME, 2e-3);
    for (int i = 0; i < LAUNCHES; i++) {
        struct profile_launch *l = profile_add_launch(&a, &p, i == 77 ? "few" : "even");
        l->metrics = profile_of((struct launch){i == 77 ? 66 : 132, 256, 32, 0, 8}).call;
        metrics_set(&l->metrics, METRIC_TIME, i == 77 ? 1e-3 : 1e-3 / LAUNCHES);
    }
    int n = tools_examine(&a, &in, out, 5);
    cr_assert_eq(n, 2);
    // What names a cause stands before what says how far.
    cr_expect_str_eq(out[0].tool, "waves");
    cr_expect_str_eq(out[0].launch, "few");
    cr_expect_str_eq(out[1].tool, "reach");
}

// ---- machine code of a CPU

struct code_row {
    enum metric_id id;
    double value;
};

static const struct {
    const struct tool *tool;
    const char *cause;
    struct code_row sick[5], well[5];
} coded[] = {
    {&tool_width,
     "narrower than the machine's",
     {{METRIC_HOT_VECTOR_BYTES, 16}, {METRIC_HOT_VECTOR, 8}},
     {{METRIC_HOT_VECTOR_BYTES, 64}, {METRIC_HOT_VECTOR, 8}}},
    {&tool_stack,
     "vectors spill",
     {{METRIC_HOT_STACK, 9}, {METRIC_HOT_VECTOR, 12}},
     {{METRIC_HOT_STACK, 1}, {METRIC_HOT_VECTOR, 12}}},
    // Nothing that spills could slow down: a loop of scalar code around a call.
    {&tool_stack,
     "vectors spill",
     {{METRIC_HOT_STACK, 9}, {METRIC_HOT_VECTOR, 4}},
     {{METRIC_HOT_STACK, 2}, {METRIC_HOT_VECTOR, 0}}},
    {&tool_gather,
     "gather elements",
     {{METRIC_HOT_GATHERS, 2}, {METRIC_HOT_VECTOR, 6}, {METRIC_HOT_SCALAR, 0}},
     {{METRIC_HOT_GATHERS, 0}, {METRIC_HOT_VECTOR, 6}, {METRIC_HOT_SCALAR, 0}}},
    {&tool_stride,
     "run across rows",
     {{METRIC_HOT_STRIDED, 2}, {METRIC_HOT_VECTOR, 0}, {METRIC_HOT_SCALAR, 2}},
     {{METRIC_HOT_STRIDED, 0}, {METRIC_HOT_VECTOR, 0}, {METRIC_HOT_SCALAR, 2}}},
    // Whose loops run across rows: `stride` says that first.
    {&tool_scalar,
     "one element at a time",
     {{METRIC_HOT_STRIDED, 0}, {METRIC_HOT_VECTOR, 0}, {METRIC_HOT_SCALAR, 4}},
     {{METRIC_HOT_STRIDED, 4}, {METRIC_HOT_VECTOR, 0}, {METRIC_HOT_SCALAR, 4}}},
    {&tool_fused,
     "instructions of their own",
     {{METRIC_HOT_UNFUSED, 4}, {METRIC_HOT_FUSED, 0}, {METRIC_HOT_VECTOR, 8}},
     {{METRIC_HOT_UNFUSED, 4}, {METRIC_HOT_FUSED, 8}, {METRIC_HOT_VECTOR, 16}}},
    {&tool_sums,
     "too few sums",
     {{METRIC_HOT_SUMS, 1}, {METRIC_HOT_FUSED, 4}},
     {{METRIC_HOT_SUMS, 12}, {METRIC_HOT_FUSED, 12}}},
    // A chain without multiply-adds, by llvm-mca.
    {&tool_sums,
     "wait for one another",
     {{METRIC_HOT_FUSED, 0}, {METRIC_HOT_CYCLES, 8}, {METRIC_HOT_UNIT_CYCLES, 2}},
     {{METRIC_HOT_FUSED, 0}, {METRIC_HOT_CYCLES, 2.2}, {METRIC_HOT_UNIT_CYCLES, 2}}},
    // Of a scalar loop: `scalar` names it.
    {&tool_sums,
     "wait for one another",
     {{METRIC_HOT_FUSED, 0},
      {METRIC_HOT_CYCLES, 8},
      {METRIC_HOT_UNIT_CYCLES, 2},
      {METRIC_HOT_SCALAR, 1},
      {METRIC_HOT_VECTOR, 4}},
     {{METRIC_HOT_FUSED, 0},
      {METRIC_HOT_CYCLES, 8},
      {METRIC_HOT_UNIT_CYCLES, 2},
      {METRIC_HOT_SCALAR, 4},
      {METRIC_HOT_VECTOR, 1}}},
};
enum { CODED = sizeof coded / sizeof coded[0] };

static struct profile coded_profile(const struct code_row *rows) {
    struct profile p = {0};
    profile_set(&p, METRIC_TIME, 4e-3);
    for (int i = 0; i < 5 && rows[i].id != METRIC_TIME; i++)
        profile_set(&p, rows[i].id, rows[i].value);
    return p;
}

Test(tools, read_the_code_of_a_cpu) {
    struct bound b = bound_of(BOUND_COMPUTE);
    b.reach_s = 1e-3;
    for (int i = 0; i < CODED; i++) {
        struct profile sick = coded_profile(coded[i].sick), well = coded_profile(coded[i].well);
        struct finding f;
        cr_assert_eq(examine(coded[i].tool, &b, &sick, &f), 1, "%s is silent", coded[i].tool->name);
        cr_expect(strstr(f.cause, coded[i].cause), "%s", f.cause);
        cr_expect(f.n_numbers > 0 && *f.evidence);
        cr_expect_eq(examine(coded[i].tool, &b, &well, &f), 0, "%s: %s", coded[i].tool->name,
                     f.cause);
        for (int k = 0; k < coded[i].tool->n_needs; k++) {
            struct profile lacks = coded_profile(coded[i].sick);
            metrics_clear(&lacks.call, coded[i].tool->needs[k]);
            cr_expect_eq(examine(coded[i].tool, &b, &lacks, &f), 0, "%s without a metric",
                         coded[i].tool->name);
        }
    }
}
