// estimators [-p PAIRS,...] FILE...: which estimate of a speed-up errs least, and which interval
// can be believed? On kept samples of kernels beside themselves (tests/fixtures/timing; hone eval
// --aa N --keep FILE), where the truth is 1. Prints rows of docs/results/judge.md.
//
// A window is so many neighbouring pairs of one comparison. As subject and rival are the same
// kernel, each ABBA could as well have had them the other way round: every window is looked at
// several times, with names given to each ABBA by chance. So how disturbances come stays as it was,
// and there are trials enough: about TRIALS of each file and size. "Called different" is by the
// judge's margin (measurement.h), in all files and in the worst of them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eval/estimate.h"
#include "eval/stats.h"
#include "record/measurement.h"

enum { TRIALS = 200, TRIALS_MAX = 40000, WINDOW_MAX = 1000, METHODS_MAX = 24, PAIRS_KEPT = 100000 };

struct tally {
    double squares, half_width;
    int n, n_missed, n_different;
    int n_before, n_different_before;  // when this file began
    double worst;                      // share called different in one file
    double told[TRIALS_MAX];
};

struct file {
    double subject_s[PAIRS_KEPT], rival_s[PAIRS_KEPT];
    int ends[1000];  // of trials
    int n, n_trials;
};

// What is compared: each estimate with its bootstrap, some with the judge's interval, and the
// judge's own rule.
enum kind { BOOTSTRAP, INTERVAL, RULE };

struct method {
    const struct estimator *e;
    enum kind kind;
};

static struct file file;
static struct tally tallies[METHODS_MAX];
static struct method methods[METHODS_MAX];
static int n_methods;

static int usage(const char *what) {
    fprintf(stderr, "estimators: %s\nusage: estimators [-p PAIRS,...] FILE...\n", what);
    return 2;
}

static int read_file(const char *path) {
    char line[256];
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    file.n = file.n_trials = 0;
    while (fgets(line, sizeof line, f) && file.n < PAIRS_KEPT) {
        double s, r;
        if (line[0] == '#' && file.n && file.n_trials < 998 &&
            (!file.n_trials || file.ends[file.n_trials - 1] < file.n))
            file.ends[file.n_trials++] = file.n;
        else if (sscanf(line, "%lf %lf", &s, &r) == 2 && s > 0 && r > 0) {
            file.subject_s[file.n] = s;
            file.rival_s[file.n++] = r;
        }
    }
    file.ends[file.n_trials++] = file.n;
    fclose(f);
    return file.n;
}

static struct estimate apply(const struct method *m, const struct pair_times *p, uint64_t seed) {
    return m->kind == BOOTSTRAP  ? estimate_bootstrap(m->e, p, 0.99, seed)
           : m->kind == INTERVAL ? estimate_interval(m->e, p, 0.99, seed)
                                 : estimate_speedup(p, 0.99, seed);
}

static void count(struct tally *t, const struct estimate *e) {
    if (t->n == TRIALS_MAX)
        return;
    t->squares += (e->value - 1) * (e->value - 1);
    t->half_width += (e->high - e->low) / 2;
    t->n_missed += e->low > 1 || e->high < 1;
    t->n_different += measurement_order(e->low, e->high) != 0;
    t->told[t->n++] = e->high * (1 + MEASUREMENT_MARGIN) - 1;
}

static void look(int at, int n, int swaps, struct rng *r) {
    double subject_s[WINDOW_MAX], rival_s[WINDOW_MAX];
    struct pair_times p = {subject_s, rival_s, n};
    for (int k = 0; k < swaps; k++) {
        for (int i = 0; i < n; i++) {
            static uint64_t swapped;
            swapped = i % 2 ? swapped : rng_below(r, 2);
            subject_s[i] = swapped ? file.rival_s[at + i] : file.subject_s[at + i];
            rival_s[i] = swapped ? file.subject_s[at + i] : file.rival_s[at + i];
        }
        uint64_t seed = rng_next(r);
        for (int m = 0; m < n_methods; m++) {
            struct estimate e = apply(&methods[m], &p, seed);
            count(&tallies[m], &e);
        }
    }
}

static void print_row(int pairs, const struct method *m, struct tally *t) {
    static const char *const kinds[] = {"bootstrap", "and order", "the judge's"};
    printf("| %d | %s | %s | %.1f | %.1f | %.1f (%.1f) | %.1f | %.1f |\n", pairs,
           m->kind == RULE ? "narrower of both" : m->e->words, kinds[m->kind],
           100 * sqrt(t->squares / t->n), 100.0 * t->n_missed / t->n, 100.0 * t->n_different / t->n,
           100 * t->worst, 100 * t->half_width / t->n, 100 * stats_quantile(t->told, t->n, 0.95));
}

static void look_at_file(int pairs) {
    struct rng r;
    int from = 0, n_windows = 0;
    rng_init(&r, 1);
    for (int t = 0; t < file.n_trials; from = file.ends[t++])
        n_windows += (file.ends[t] - from) / pairs;
    int swaps = n_windows ? (TRIALS + n_windows - 1) / n_windows : 0;
    from = 0;
    for (int t = 0; t < file.n_trials; from = file.ends[t++])
        for (int at = from; at + pairs <= file.ends[t]; at += pairs)
            look(at, pairs, swaps, &r);
    for (int m = 0; m < n_methods; m++) {
        struct tally *t = &tallies[m];
        if (t->n > t->n_before)
            t->worst = fmax(t->worst, (double)(t->n_different - t->n_different_before) /
                                          (t->n - t->n_before));
        t->n_before = t->n;
        t->n_different_before = t->n_different;
    }
}

static int compare(int pairs, char **paths, int n_paths) {
    memset(tallies, 0, sizeof tallies);
    for (int i = 0; i < n_paths; i++) {
        if (read_file(paths[i]) <= 0)
            return usage("a file cannot be read, or holds no pairs");
        look_at_file(pairs);
    }
    for (int m = 0; m < n_methods && tallies[0].n; m++)
        print_row(pairs, &methods[m], &tallies[m]);
    fflush(stdout);
    return 0;
}

static void choose_methods(void) {
    for (const struct estimator *e = estimators; e->name; e++)
        methods[n_methods++] = (struct method){e, BOOTSTRAP};
    methods[n_methods++] = (struct method){estimator_median, INTERVAL};
    methods[n_methods++] = (struct method){estimator_low, INTERVAL};
    methods[n_methods++] = (struct method){NULL, RULE};
}

int main(int argc, char **argv) {
    const char *sizes = "8,40,100";
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-p") == 0) {
        sizes = argv[2];
        first = 3;
    }
    if (first >= argc)
        return usage("no file of samples");
    choose_methods();
    puts("| pairs | estimate | interval | error, % | 1 excluded, % | called different (worst "
         "file), % "
         "| half width, % | told in 95%, % |\n|---|---|---|---|---|---|---|---|");
    for (const char *at = sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        long pairs = strtol(at, NULL, 10);
        if (pairs < 4 || pairs > WINDOW_MAX)
            return usage("-p: windows of 4 to 1000 pairs");
        if (compare((int)pairs, argv + first, argc - first) != 0)
            return 2;
    }
    return 0;
}
