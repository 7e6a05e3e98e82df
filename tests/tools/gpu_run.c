// gpu-run STORE FILE.hone DIMS ARCH [SOURCE.cu]: write into a store what a search on a GPU leaves
// there, without a GPU: a run of one node, the default kernel block of the problem for that
// architecture (its source that of a file, where one is named), confirmed with invented times.
// For tests of what is done with runs afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "family/lower.h"
#include "ops/op_problem.h"
#include "store/store.h"

static struct measurement invented(void) {
    static double subject[] = {1e-3, 1e-3}, baseline[] = {3e-3, 3e-3};
    return (struct measurement){.present = true,
                                .baseline = "plain",
                                .n_pairs = 2,
                                .subject_s = subject,
                                .baseline_s = baseline,
                                .median_s = 1e-3,
                                .baseline_median_s = 3e-3,
                                .speedup = 3,
                                .speedup_low = 2.9,
                                .speedup_high = 3.1,
                                .confidence = 0.99,
                                .method = "invented"};
}

static bool make_node(struct arena *a, char **argv, struct loaded *loaded, struct search_node *node,
                      struct error *err) {
    struct target target;
    struct kernel kernel;
    size_t len;
    if (!op_load(a, argv[2], argv[3], loaded, err))
        return false;
    if (!target_of_arch(argv[4], &target))
        return error_set(err, ERROR_USAGE, "no such architecture: %s", argv[4]);
    lower_default(a, loaded->problem, &target, &kernel);
    *node = (struct search_node){.parent = -1,
                                 .state = NODE_EVALUATED,
                                 .move = "",
                                 .reason = "",
                                 .verdict = {.kind = VERDICT_OK, .evidence = ""},
                                 .measurement = invented(),
                                 .time_s = 1e-3};
    if (!lower_kernel(a, loaded->problem, &target, &kernel, &node->candidate, err))
        return false;
    if (argv[5]) {
        node->candidate.tier = TIER_D;
        node->candidate.source = file_read(a, argv[5], 1 << 20, &len, err);
        candidate_seal(a, &node->candidate);
    }
    return node->candidate.source != NULL;
}

static bool store_it(const char *path, struct run *run, const struct search_node *node,
                     struct error *err) {
    struct store *s;
    if (!store_open(&s, path, true, err))
        return false;
    bool ok = store_add_run(s, run, err) && store_put_node(s, run->id, node, err) &&
              store_update_run(s, run, err);
    store_close(s);
    return ok;
}

int main(int argc, char **argv) {
    struct arena a = {0};
    struct error err = {0};
    struct loaded loaded;
    struct search_node node;
    if (argc < 5)
        return 2;
    bool ok = make_node(&a, argv, &loaded, &node, &err);
    if (ok) {
        struct run run = {.state = RUN_DONE,
                          .problem_name = loaded.problem->name,
                          .problem_text = loaded.problem->text,
                          .problem_hash = "0",
                          .target = "cuda:0",
                          .device = "no GPU",
                          .policy = "mcts",
                          .proposer = "expert",
                          .max_evals = 1,
                          .max_seconds = 1,
                          .until = 0.95,
                          .started_at = "2026-01-01T00:00:00Z",
                          .ended_at = "2026-01-01T00:00:01Z",
                          .stop_reason = "evals",
                          .version = HONE_VERSION,
                          .n_nodes = 1,
                          .baseline = node.candidate,
                          .confirm_verdict = node.verdict,
                          .confirm = invented()};
        ok = store_it(argv[1], &run, &node, &err);
    }
    if (!ok)
        fprintf(stderr, "gpu-run: %s\n", err.text);
    arena_reset(&a);
    return ok ? 0 : 1;
}
