// store-times DIR: how long the store takes, next to what the disk takes: opening one of 100 000
// evaluations with its list of runs, and one record (a node and its run in one transaction) against
// a bare write and fsync of as many bytes in the same directory. For docs/results/search.md.
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "eval/stats.h"
#include "record/run.h"
#include "store/store.h"

enum { RUNS = 100, NODES = 1000, TIMES = 51, BARE_BYTES = 4096 };

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
    return 0;
}
