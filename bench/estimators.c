// estimators [-d [-n]] [-p PAIRS,...] FILE...: which estimate of a speed-up errs least, and which
// interval can be believed? On kept samples of kernels against themselves (tests/fixtures/timing;
// hone eval --aa N --keep FILE), where the truth is 1. Prints rows of docs/results/judge.md.
//
// A window is so many neighbouring pairs of one comparison. As subject and baseline are the same
// kernel, each ABBA could as well have had them the other way round: every window is looked at
// several times, with names given to each ABBA by chance. So how disturbances come stays as it was,
// and there are trials enough: about TRIALS of each file and size. "Called different" is by the
// judge's margin (measurement.h), in all files and in the worst of them.
//
// Every estimate has the same two intervals: its bootstrap alone, and the judge's
// (estimate_interval); of the low quantiles also the narrower of that and the median's, as the
// judge's rule has it (estimate_narrower). Pairs that did not count are
// passed over. With -d these are what it is about: what does it change that disturbed pairs are
// left out? By the judge's own estimate, on windows of all pairs in which one or more are
// disturbed; in the others there is nothing to leave out. With -n names stay as they were, so that
// what one process has before the other as long as both live is in it, and every window is looked
// at once.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "estimates.h"
#include "eval/samples.h"
#include "record/measurement.h"

enum { TRIALS = 200, TRIALS_MAX = 40000, WINDOW_MAX = 1000, METHODS_MAX = 32, PAIRS_KEPT = 100000 };

struct tally {
    double squares, half_width;
    int n, n_missed, n_different;
    int n_before, n_different_before;  // when this file began
    double worst;                      // share called different in one file
    double told[TRIALS_MAX];
};

struct file {
    double subject_s[PAIRS_KEPT], baseline_s[PAIRS_KEPT];
    bool is_disturbed[PAIRS_KEPT];
    int ends[1000];  // of trials
    int n, n_trials;
};

// The first four are intervals of an estimate, the others what is done about disturbed pairs.
enum kind { BOOTSTRAP, INTERVAL, NARROWER, RULE, ALL_COUNT, ALL_WIDER, LEFT_OUT, JUDGED };

struct method {
    const struct estimator *e;
    enum kind kind;
};

static struct file file;
static struct samples window;
static struct tally tallies[METHODS_MAX];
static struct method methods[METHODS_MAX];
static int n_methods;
static long n_seen, n_disturbed;  // pairs of the windows looked at
static bool is_about_dropping, keeps_names;

static int usage(const char *what) {
    fprintf(stderr, "estimators: %s\nusage: estimators [-d [-n]] [-p PAIRS,...] FILE...\n", what);
    return 2;
}

static void read_pair(const char *line) {
    double s, r;
    char mark[16] = "";
    int n = sscanf(line, "%lf %lf %15s", &s, &r, mark);
    bool is_left_out = strcmp(mark, "left-out") == 0;
    if (n < 2 || !(s > 0) || !(r > 0) || strcmp(mark, "slowed") == 0 ||
        (is_left_out && !is_about_dropping))
        return;
    file.subject_s[file.n] = s;
    file.baseline_s[file.n] = r;
    file.is_disturbed[file.n++] = is_left_out || strcmp(mark, "disturbed") == 0;
}

static int read_file(const char *path) {
    char line[256];
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    file.n = file.n_trials = 0;
    while (fgets(line, sizeof line, f) && file.n < PAIRS_KEPT) {
        if (line[0] != '#')
            read_pair(line);
        else if (file.n && file.n_trials < 998 &&
                 (!file.n_trials || file.ends[file.n_trials - 1] < file.n))
            file.ends[file.n_trials++] = file.n;
    }
    file.ends[file.n_trials++] = file.n;
    fclose(f);
    return file.n;
}

static int count_disturbed(int at, int n) {
    int count = 0;
    for (int i = at; i < at + n; i++)
        count += file.is_disturbed[i];
    return count;
}

static struct estimate apply(const struct method *m, uint64_t seed) {
    struct pair_times p = {window.subject_s, window.baseline_s, window.n_pairs};
    struct samples_question q = {
        .to = window.n_pairs, .confidence = 0.99, .seed = seed, .uses_low = true};
    struct estimate judged = {0};
    switch (m->kind) {
    case BOOTSTRAP:
        return estimate_bootstrap(m->e, &p, 0.99, seed);
    case INTERVAL:
        return estimate_interval(m->e, &p, 0.99, seed);
    case NARROWER:
        return estimate_narrower(m->e, &p, 0.99, seed);
    case RULE:
    case ALL_COUNT:
        return estimate_speedup(&p, 0.99, seed);
    case ALL_WIDER:
        judged = estimate_speedup(&p, 0.99, seed);
        return p.n >= ESTIMATE_ENOUGH && samples_is_crowded(&window, 0, p.n)
                   ? estimate_widen(judged, 0.25)
                   : judged;
    case LEFT_OUT:
    case JUDGED:
        break;
    }
    judged = samples_estimate(&window, &q);
    if (m->kind == JUDGED)
        return judged;
    // What it picked is still there.
    p = (struct pair_times){window.subject_picked_s, window.baseline_picked_s,
                            samples_pick(&window, 0, window.n_pairs, window.before)};
    return estimate_speedup(&p, 0.99, seed);
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
    window.n_pairs = n;
    for (int k = 0; k < swaps; k++) {
        uint64_t swapped = 0;
        for (int i = 0; i < n; i++) {
            swapped = i % 2 || keeps_names ? swapped : rng_below(r, 2);
            window.subject_s[i] = swapped ? file.baseline_s[at + i] : file.subject_s[at + i];
            window.baseline_s[i] = swapped ? file.subject_s[at + i] : file.baseline_s[at + i];
            window.is_disturbed[i] = file.is_disturbed[at + i];
        }
        uint64_t seed = rng_next(r);
        for (int m = 0; m < n_methods; m++) {
            struct estimate e = apply(&methods[m], seed);
            count(&tallies[m], &e);
        }
    }
}

static void print_row(int pairs, const struct method *m, struct tally *t) {
    static const char *const kinds[] = {"bootstrap", "and order", "the narrower", "the judge's"};
    static const char *const rules[] = {"all count", "all count, wider where crowded",
                                        "disturbed left out",
                                        "left out, wider where crowded: the judge's"};
    if (m->kind >= ALL_COUNT)
        printf("| %d | %d | %.0f | %s", pairs, t->n, 100.0 * (double)n_disturbed / (double)n_seen,
               rules[m->kind - ALL_COUNT]);
    else
        printf("| %d | %s%s | %s", pairs,
               m->kind >= NARROWER && m->e != estimator_median ? "median, or " : "", m->e->words,
               kinds[m->kind]);
    printf(" | %.1f | %.1f | %.1f (%.1f) | %.1f | %.1f |\n", 100 * sqrt(t->squares / t->n),
           100.0 * t->n_missed / t->n, 100.0 * t->n_different / t->n, 100 * t->worst,
           100 * t->half_width / t->n, 100 * stats_quantile(t->told, t->n, 0.95));
}

static bool is_looked_at(int at, int pairs) {
    return !is_about_dropping || keeps_names || count_disturbed(at, pairs) > 0;
}

static void look_at_file(int pairs) {
    struct rng r;
    int from = 0, n_windows = 0;
    rng_init(&r, 1);
    for (int t = 0; t < file.n_trials; from = file.ends[t++])
        for (int at = from; at + pairs <= file.ends[t]; at += pairs)
            n_windows += is_looked_at(at, pairs);
    int swaps = keeps_names ? 1 : n_windows ? (TRIALS + n_windows - 1) / n_windows : 0;
    from = 0;
    for (int t = 0; t < file.n_trials; from = file.ends[t++])
        for (int at = from; at + pairs <= file.ends[t]; at += pairs)
            if (is_looked_at(at, pairs)) {
                n_seen += pairs;
                n_disturbed += count_disturbed(at, pairs);
                look(at, pairs, swaps, &r);
            }
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
    n_seen = n_disturbed = 0;
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

static void add(const struct estimator *e, enum kind kind) {
    methods[n_methods++] = (struct method){e, kind};
}

static void choose_methods(int pairs) {
    n_methods = 0;
    for (enum kind k = ALL_COUNT; is_about_dropping && k <= JUDGED; k++)
        add(NULL, k);
    if (is_about_dropping)
        return;
    for (enum kind k = BOOTSTRAP; k <= INTERVAL; k++)
        for (int i = 0; i < ESTIMATES; i++)
            add(estimates_at(i), k);
    // Next to the median a low quantile competes: both see through something else. Of fewer pairs
    // the rule takes the median alone.
    for (int i = 0; pairs >= ESTIMATE_ENOUGH && i < ESTIMATES; i++)
        if (strcmp(estimates_at(i)->name, "quarters") == 0 ||
            strcmp(estimates_at(i)->name, "lowest") == 0)
            add(estimates_at(i), NARROWER);
    add(pairs < ESTIMATE_ENOUGH ? estimator_median : estimator_low, RULE);
}

static void print_head(void) {
    puts(is_about_dropping
             ? "| pairs | trials | disturbed, % | rule | error, % | 1 excluded, % | "
               "called different (worst file), % | half width, % | detected in 95%, % |\n"
               "|---|---|---|---|---|---|---|---|---|"
             : "| pairs | estimate | interval | error, % | 1 excluded, % | called "
               "different (worst file), % | half width, % | detected in 95%, % |\n"
               "|---|---|---|---|---|---|---|---|");
}

int main(int argc, char **argv) {
    const char *sizes = "8,40,100";
    int first = 1;
    if (argc > first && strcmp(argv[first], "-d") == 0) {
        is_about_dropping = true;
        first++;
    }
    if (is_about_dropping && argc > first && strcmp(argv[first], "-n") == 0) {
        keeps_names = true;
        first++;
    }
    if (argc > first + 1 && strcmp(argv[first], "-p") == 0) {
        sizes = argv[first + 1];
        first += 2;
    }
    if (first >= argc)
        return usage("no file of samples");
    print_head();
    for (const char *at = sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        long pairs = strtol(at, NULL, 10);
        if (pairs < 4 || pairs > WINDOW_MAX)
            return usage("-p: windows of 4 to 1000 pairs");
        choose_methods((int)pairs);
        if (compare((int)pairs, argv + first, argc - first) != 0)
            return 2;
    }
    return 0;
}
