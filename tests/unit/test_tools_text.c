// What tools advise fits what they speak of: source or a block, products or other work, the vectors
// of this machine; nothing that a candidate has no way to do.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "tools/tool.h"

static struct arena a;
static struct target cpu = {.vector_bytes = 32, .n_threads = 2};
static struct target card = {
    .is_gpu = true, .vector_bytes = 16, .sms = 132, .threads_per_sm = 2048};
static struct candidate by_hand = {.tier = TIER_C, .source = "x"};

static struct bound compute_bound(double contract, double functions) {
    return (struct bound){
        .work = {.flops = 1e9, .contract_flops = contract, .function_ops = functions},
        .reach_s = 1e-3,
        .reach_compute_s = 1e-3,
        .side = BOUND_COMPUTE};
}

static bool advises(const struct finding *f, const char *words) {
    for (int i = 0; i < f->n_actions; i++)
        if (strstr(f->actions[i].words, words))
            return true;
    return false;
}

// Only a product has sums and tiles to speak of, only functions can be taken on whole vectors.
Test(tools_words, reach_speaks_of_the_work_that_there_is) {
    struct profile p = {0};
    struct finding f;
    struct bound product = compute_bound(1e9, 0), chain = compute_bound(0, 0);
    struct bound functions = compute_bound(0, 1e8);
    struct tool_input in = {.target = &cpu, .candidate = &by_hand, .profile = &p};
    profile_set(&p, METRIC_TIME, 4e-3);
    in.bound = &product;
    cr_assert(tool_examine(&a, &tool_reach, &in, &f));
    cr_expect(advises(&f, "independent sums") && !advises(&f, "functions"));
    in.bound = &chain;
    cr_assert(tool_examine(&a, &tool_reach, &in, &f));
    cr_expect(!advises(&f, "independent sums") && !advises(&f, "functions (exp"));
    cr_expect(advises(&f, "fewer instructions"));
    in.bound = &functions;
    cr_assert(tool_examine(&a, &tool_reach, &in, &f));
    cr_expect(advises(&f, "functions (exp"));
    in.target = &card;
    cr_assert(tool_examine(&a, &tool_reach, &in, &f));
    cr_expect(!advises(&f, "matrix units") && advises(&f, "fewer instructions"));
    in.bound = &product;
    cr_assert(tool_examine(&a, &tool_reach, &in, &f));
    cr_expect(advises(&f, "matrix units") && !advises(&f, "fewer instructions"));
}

// Vectors of this machine, and nothing about options of a compiler that a candidate cannot give it.
Test(tools_words, vectors_are_those_of_the_machine) {
    struct profile p = {0};
    struct finding f;
    struct bound b = compute_bound(1e9, 0);
    struct tool_input in = {.target = &cpu, .bound = &b, .candidate = &by_hand, .profile = &p};
    profile_set(&p, METRIC_TIME, 8e-3);
    profile_set(&p, METRIC_HOT_VECTOR, 16);
    profile_set(&p, METRIC_HOT_VECTOR_BYTES, 16);
    profile_set(&p, METRIC_HOT_STACK, 16);
    profile_set(&p, METRIC_HOT_UNFUSED, 8);
    profile_set(&p, METRIC_HOT_FUSED, 0);
    cr_assert(tool_examine(&a, &tool_width, &in, &f));
    cr_expect(advises(&f, "f32x8") && !advises(&f, " -m"));
    cr_assert(tool_examine(&a, &tool_stack, &in, &f));
    cr_expect(advises(&f, "16 registers") && advises(&f, "6 by 2"));
    cr_assert(tool_examine(&a, &tool_fused, &in, &f));
    cr_expect(!advises(&f, " -f") && !advises(&f, " -m"));
    cpu.vector_bytes = 64;
    cr_assert(tool_examine(&a, &tool_width, &in, &f));
    cr_expect(advises(&f, "f32x16"));
    cr_assert(tool_examine(&a, &tool_stack, &in, &f));
    cr_expect(advises(&f, "32 registers") && advises(&f, "14 by 2"));
    cpu.vector_bytes = 32;
}

Test(tools_words, one_thread_waits_for_no_other) {
    struct profile p = {0};
    struct finding f;
    struct bound b = compute_bound(1e9, 0);
    struct tool_input in = {.target = &cpu, .bound = &b, .candidate = &by_hand, .profile = &p};
    profile_set(&p, METRIC_TIME, 8e-3);
    profile_set(&p, METRIC_THREAD_BUSY, 0.7);
    profile_set(&p, METRIC_BLOCKS, 3);
    profile_set(&p, METRIC_THREADS, 1);
    cr_expect(!tool_examine(&a, &tool_idle, &in, &f), "%s", f.cause);
    profile_set(&p, METRIC_BLOCKS, 100000);
    cr_assert(tool_examine(&a, &tool_idle, &in, &f), "handing them out takes the time");
    cr_expect(strstr(f.evidence, "100000 blocks for 1 thread"), "%s", f.evidence);
    // Neither few nor many: unequal ones, and what to do about that.
    profile_set(&p, METRIC_THREADS, 2);
    profile_set(&p, METRIC_BLOCKS, 40);
    cr_assert(tool_examine(&a, &tool_idle, &in, &f));
    cr_expect(strstr(f.cause, "unequal") && advises(&f, "equal work"));
}

// Of three launches two have a single block, whatever the largest grid is, and however busy the
// machine.
Test(tools_words, idle_names_the_launch_with_too_few_blocks) {
    static const struct {
        const char *name;
        double blocks, time_s;
    } launches[] = {{"row", 1, 1e-3}, {"all", 32, 4e-3}, {"loss", 1, 5e-3}};
    struct profile p = {0};
    struct finding f;
    struct bound b = compute_bound(1e9, 0);
    struct tool_input in = {.target = &cpu, .bound = &b, .candidate = &by_hand, .profile = &p};
    profile_set(&p, METRIC_TIME, 10e-3);
    profile_set(&p, METRIC_THREAD_BUSY, 0.7);
    profile_set(&p, METRIC_BLOCKS, 32);
    profile_set(&p, METRIC_THREADS, 2);
    profile_set(&p, METRIC_DISTURBED_SHARE, 0.9);
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        struct metrics *m = &profile_add_launch(&a, &p, launches[i].name)->metrics;
        metrics_set(m, METRIC_TIME, launches[i].time_s);
        metrics_set(m, METRIC_BLOCKS, launches[i].blocks);
    }
    cr_assert(tool_examine(&a, &tool_idle, &in, &f));
    cr_expect(strcmp(f.launch, "loss") == 0 && f.severity == SEVERITY_HIGH);
    cr_expect(strstr(f.evidence, "launch loss, 50% of the time, has 1 block for 2 threads"), "%s",
              f.evidence);
    cr_expect_float_eq(f.expected_gain, 1 / 0.7, 1e-6, "%g", f.expected_gain);
    metrics_set(&p.launches[0].metrics, METRIC_BLOCKS, 16);
    metrics_set(&p.launches[2].metrics, METRIC_BLOCKS, 16);
    cr_assert(tool_examine(&a, &tool_idle, &in, &f));
    cr_expect(f.severity == SEVERITY_LOW && !f.launch, "the machine was busy");
}

// Local arrays of a block are no matter of unrolling by hand.
Test(tools_words, what_no_knob_does_is_not_offered_for_a_block) {
    struct profile p = {0};
    struct finding f;
    struct candidate block = {
        .kernel = "kernel for p on cuda\nstage y : rowwise  vec 4  threads 128  keep register\n"};
    struct tool_input in = {.target = &card, .candidate = &by_hand, .profile = &p};
    struct metrics *m = &profile_add_launch(&a, &p, "k")->metrics;
    metrics_set(m, METRIC_TIME, 1e-3);
    metrics_set(m, METRIC_LOCAL_BYTES, 64);
    metrics_set(m, METRIC_HOT_LOCAL, 4);
    metrics_set(m, METRIC_HOT_INSTRUCTIONS, 40);
    cr_assert(tool_examine(&a, &tool_spill, &in, &f));
    cr_expect(advises(&f, "unroll, so that every index is known"));
    cr_expect(strstr(f.evidence, "4 of 40 instructions of the hot loop access it"), "%s",
              f.evidence);
    in.candidate = &block;
    cr_assert(tool_examine(&a, &tool_spill, &in, &f));
    cr_expect(!advises(&f, "unroll"));
    cr_expect(advises(&f, "keep the row in shared memory"));
}

// Of a program nobody knows who reads what: the sizes say so.
Test(tools_words, traffic_is_stated_by_its_own_counter) {
    struct bound b = {
        .work = {.bytes_read = 1e9, .bytes_written = 1e8}, .reach_s = 0.5e-3, .side = BOUND_MEMORY};
    struct profile p = {0};
    struct finding f;
    struct tool_input in = {.target = &card, .bound = &b, .profile = &p};
    struct metrics *m = &profile_add_launch(&a, &p, "k")->metrics;
    profile_set(&p, METRIC_TIME, 1e-3);
    metrics_set(m, METRIC_TIME, 1e-3);
    metrics_set(m, METRIC_DRAM_READ_BYTES, 3e9);
    metrics_set(m, METRIC_DRAM_WRITE_BYTES, 3e8);
    cr_assert(tool_examine(&a, &tool_reread, &in, &f));
    cr_assert_eq(f.n_numbers, 2);
    cr_expect(f.numbers[0].value == 3e9 && f.numbers[0].limit == 1e9);
    cr_expect(strcmp(f.numbers[1].metric, "dram_write_bytes") == 0 && f.numbers[1].value == 3e8);
}

// How busy memory can be is measured on each card: a copy that reaches 0.7 of the peak is full
// there.
Test(tools_words, full_is_what_a_copy_reaches_on_this_card) {
    struct profile p = {0};
    struct finding f;
    struct target slow = card;
    struct tool_input in = {.target = &slow, .profile = &p};
    struct metrics *m = &profile_add_launch(&a, &p, "k")->metrics;
    metrics_set(m, METRIC_TIME, 1e-3);
    metrics_set(m, METRIC_DRAM_BUSY, 0.69);
    metrics_set(m, METRIC_ISSUE_BUSY, 0.1);
    slow.peak_bytes_per_s = 1e12;
    cr_expect(!tool_examine(&a, &tool_saturated, &in, &f), "as if it were an H200");
    slow.ceilings.present = true;
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        slow.ceilings.traffic[i] =
            (struct ceiling_traffic){.read_fraction = 1 - i / 3.0, .bytes_per_s = 0.7e12};
    cr_assert(tool_examine(&a, &tool_saturated, &in, &f));
    cr_expect(strstr(f.cause, "near the limit of memory"), "%s", f.cause);
}

Test(tools_words, an_action_names_the_move_that_it_stands_for) {
    struct action words = {.words = "wider vectors"};
    struct action move = {.words = "wider vectors", .knob = "vec", .move = "y: vec 8 -> 16"};
    cr_expect_str_eq(action_text(&a, &words), "wider vectors");
    cr_expect_str_eq(action_text(&a, &move), "wider vectors (y: vec 8 -> 16)");
}
