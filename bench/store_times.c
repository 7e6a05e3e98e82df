// store-times DIR: how long the store takes, next to what the disk takes: opening one of 100 000
// evaluations with its list of runs, and one record (a node and its run in one transaction) against
// a bare write and fsync of as many bytes in the same directory; and how long policies take to
// decide in a tree of 100 000 nodes; and how much memory the process had at most until the store
// was closed, and in all. For docs/results/search.md.
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "eval/stats.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/proposer.h"
#include "model/bound.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"
#include "store/store.h"

enum { RUNS = 100, NODES = 1000, TIMES = 51, BARE_BYTES = 4096, TREE = 100000 };

static void print_peak(const char *what) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %s %.1f MB\n", what, (double)usage.ru_maxrss / 1024);
}

static void check(bool ok, const struct error *err) {
    if (ok)
        return;
    fprintf(stderr, "store-times: %s\n", err->text);
    exit(4);
}

static struct search_node node_of(int number) {
    static char source[4096];
    memset(source, 'x', sizeof source - 1);
    return (struct search_node){
        .number = number,
        .parent = number - 1,
        .state = NODE_EVALUATED,
        .move = "y: rows 8 -> 16",
        .reason = "best of the untried moves by its prior",
        .candidate = {.source = source, .kernel = "kernel", .label = "node", .hash = "hash"},
        .verdict = {.evidence = ""},
        .measurement = {.present = true, .baseline = "default", .method = "", .speedup = 1},
        .expected = NAN,
        .gain = NAN,
        .time_s = 1e-3};
}

static struct run run_of(void) {
    return (struct run){.state = RUN_DONE,
                        .problem_name = "p",
                        .problem_text = "problem p",
                        .problem_hash = "h",
                        .target = "cpu",
                        .device = "d",
                        .policy = "mcts",
                        .proposer = "expert",
                        .batch = 1,
                        .bound = "{}",
                        .started_at = "now",
                        .version = "0",
                        .champion = -1};
}

static void fill(struct store *s) {
    struct error err = {0};
    for (int r = 0; r < RUNS; r++) {
        struct run run = run_of();
        check(store_begin(s, &err) && store_add_run(s, &run, &err), &err);
        for (int i = 0; i < NODES; i++) {
            struct search_node n = node_of(i);
            check(store_put_node(s, run.id, &n, &err), &err);
        }
        check(store_end(s, true, &err), &err);
    }
}

static double seconds_since(int64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) * 1e-9;
}

static double time_open(const char *path) {
    struct error err = {0};
    struct arena a = {0};
    struct store *s;
    struct run *runs;
    int n_runs;
    int64_t start_ns = clock_now_ns();
    check(store_open(&s, path, true, &err), &err);
    check(store_list_runs(s, &a, 1000, &runs, &n_runs, &err), &err);
    double seconds = seconds_since(start_ns);
    store_close(s);
    arena_reset(&a);
    return seconds;
}

static double time_record(struct store *s, struct run *run, int number) {
    struct error err = {0};
    struct search_node n = node_of(number);
    int64_t start_ns = clock_now_ns();
    check(store_begin(s, &err) && store_put_node(s, run->id, &n, &err) &&
              store_update_run(s, run, &err) && store_end(s, true, &err),
          &err);
    return seconds_since(start_ns);
}

static double time_bare(int fd) {
    static const char bytes[BARE_BYTES];
    int64_t start_ns = clock_now_ns();
    if (write(fd, bytes, sizeof bytes) != sizeof bytes || fsync(fd) != 0)
        exit(4);
    return seconds_since(start_ns);
}

// ---- decisions

static const char PROBLEM[] = "problem s\ndim M = 4096, N = 1024\nin x : f32[M, N] ~ normal\n"
                              "out y : f32[M, N]\ny = softmax(x)\n";

// As random growth makes them: some nodes with hundreds of children, one in ten did not pass.
static struct search_node *grow_tree(struct arena *a, const char *kernel) {
    struct search_node *n = arena_array(a, struct search_node, TREE);
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < TREE; i++) {
        int parent = i == 0 ? -1 : 0;
        while (i >= 500 && (parent == 0 || !(n[parent].time_s > 0)))
            parent = (int)rng_below(&rng, 2000 < i ? 2000 : (uint64_t)i);
        bool fails = i % 10 == 3;
        n[i] = (struct search_node){
            .number = i,
            .parent = parent,
            .state = NODE_EVALUATED,
            .move = "y: vec 8 -> 16",
            .candidate = {.hash = arena_printf(a, "%d", i), .source = "", .kernel = kernel},
            .verdict = {.kind = fails ? VERDICT_WRONG : VERDICT_OK, .evidence = ""},
            .measurement = {.present = !fails, .speedup = 1},
            .time_s = fails ? NAN : 1 + rng_unit(&rng)};
    }
    return n;
}

// One selection; of a policy that selects no node, a whole decision, lowering included.
static double time_decision(const struct search_context *c, struct search_state *s) {
    struct decision d;
    int64_t start_ns = clock_now_ns();
    if (c->policy->select)
        c->policy->select(c, s);
    else
        c->policy->propose(c, s, &d, 1);
    return seconds_since(start_ns);
}

static void time_policies(void) {
    struct arena a = {0}, scratch = {0};
    struct lang_source source = {.file = "bench", .text = PROBLEM, .len = sizeof PROBLEM - 1};
    struct lang_file file = {0};
    struct error err = {0};
    const char *diagnostics;
    struct target t;
    struct bound b;
    struct kernel k = {0};
    check(lang_parse(&a, &source, &file, &diagnostics, &err) && target_of_arch("sm_90a", &t), &err);
    const struct problem *p = file.problems[0];
    bound_compute(p, &t, &b);
    lower_default(&a, p, &t, &k);
    struct search_node *nodes = grow_tree(&a, kernel_print(&a, &k));
    for (int i = 0; policies[i]; i++) {
        struct search_state s = {0};
        struct search_context c = {.problem = p,
                                   .target = &t,
                                   .bound = &b,
                                   .policy = policies[i],
                                   .proposer = &proposer_expert,
                                   .nodes = nodes,
                                   .n_nodes = TREE,
                                   .scratch = &scratch};
        double times[TIMES];
        for (int j = -1; j < TIMES; j++) {  // the first one builds what later ones find
            state_follow(&c, &s);
            double seconds = time_decision(&c, &s);
            if (j >= 0)
                times[j] = seconds;
            arena_reset(&scratch);
        }
        printf("%s %s %.4f ms\n", c.policy->select ? "select" : "decide", c.policy->name,
               1e3 * stats_median(times, TIMES));
        state_reset(&s);
    }
    arena_reset(&a);
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct arena a = {0};
    struct store *s;
    struct run run = run_of();
    double opens[TIMES], records[TIMES], bare[TIMES];
    const char *dir = argc > 1 ? argv[1] : ".", *path = arena_printf(&a, "%s/runs.db", dir);
    check(store_open(&s, path, true, &err), &err);
    fill(s);
    store_close(s);
    for (int i = 0; i < TIMES; i++)
        opens[i] = time_open(path);
    int fd = open(arena_printf(&a, "%s/bare", dir), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    check(store_open(&s, path, true, &err) && store_add_run(s, &run, &err), &err);
    for (int i = 0; i < TIMES; i++) {  // in turns, so that other work slows both
        records[i] = time_record(s, &run, i);
        bare[i] = time_bare(fd);
    }
    store_close(s);
    printf("open %.3f ms\nrecord %.3f ms\nfsync %.3f ms\n", 1e3 * stats_median(opens, TIMES),
           1e3 * stats_median(records, TIMES), 1e3 * stats_median(bare, TIMES));
    close(fd);
    arena_reset(&a);
    print_peak("store");
    time_policies();
    print_peak("tree");
    return 0;
}
