// mutants FAMILY NUMBER [SEED]: does the judge find faults that were put into kernels on purpose?
//
// Kernels of the family with knobs of chance are lowered, judged as they are (they must pass: other
// knobs are other orders of summation) and then with one fault each. A mutant whose outputs
// are bit for bit those of the original on every input set is equivalent and left out; so is one
// that never ran (no-compile, illegal, limits, or infra three times), which says nothing about the
// judge. What is judged is verification alone, by all sets (as --verify and --confirm do); what
// counted is verified once more by those that a plain `hone eval` takes.
//
// Prints a line for each survivor, equivalent and one not run, then the totals, a table by
// operators, and the equivalents by their places; with MUTANTS_SHOW set also the text of survivors
// and equivalents. Fails when fewer than 99% are found, when more
// than a fifth would be found by the first 64 outputs alone, when an original is rejected, when
// more than 1% of the number wanted were not run, or (of ENOUGH and more) when an operator has less
// than half of its share without being named an exception.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "build/compile_cuda.h"
#include "eval/judge.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/program.h"
#include "lang/lang.h"
#include "loop/passes.h"
#include "loop/print_c.h"
#include "mutate.h"

enum { PER_KERNEL = 25, FIRST = 64, WORDS = 96, TRIES = 40, INFRA_TRIES = 3, PLACES_MAX = 400 };
enum { ENOUGH = 100 };  // of fewer mutants shares are not looked at

// What became of one operator's faults. All that were put in are equivalent, not run, or count.
struct by_kind {
    int n, n_killed, n_equivalent, n_not_run;
    int n_ranked, n_killed_ranking;  // verified once more, as `hone eval` does
};

struct totals {
    int n_honest, n_rejected;  // originals
    int n_easy, n_crashed;
    int n_not_run;  // originals too
    struct by_kind all, of_kind[MUTATION_COUNT];
};

// Where a fault made no difference, and how often.
struct harmless {
    const char *problem;
    enum mutation kind;
    char words[WORDS];
    int n;
};

// Operators that a family has no place for.
static const struct exception {
    const char *family;
    enum mutation kind;
    const char *reason;
} exceptions[] = {
    {"map", MUTATION_SCRATCH, "a map accumulates nothing, so it has nothing to initialise"},
};

struct bench {
    struct arena arena;
    struct target target;
    struct judge judge;
    const struct problem *problem;
    struct kernel *kernel;
    struct rng rng;
    struct totals totals;
    uint64_t digests[SET_COUNT];  // of the original
    int made[MUTATION_COUNT];
    struct harmless places[PLACES_MAX];
    int n_places;
    int wanted;
};

struct question {
    const struct candidate *candidate;
    enum eval_depth depth;
    bool is_original;
};

static _Noreturn void fail(const char *what, const struct error *err) {
    fprintf(stderr, "mutants: %s: %s\n", what, err->text);
    exit(4);
}

static void draw_knobs(struct bench *b, struct kernel_stage *s) {
    const struct emitter *e = stage_emitter(s, &b->target);
    for (const struct knob *k = e->knobs; k->name; k++) {
        int n = 0;
        if (k->words) {
            while (k->words[n])
                n++;
            stage_set_word(s, k->name, k->words[rng_below(&b->rng, (uint64_t)n)]);
        }
        for (int part = 0; part < k->n_parts; part++) {
            for (n = 0; k->grid[part][n] >= 0;)
                n++;
            stage_set(s, k->name, part, k->grid[part][rng_below(&b->rng, (uint64_t)n)]);
        }
    }
}

// A legal block of one family with knobs of chance.
static struct kernel *draw_kernel(struct bench *b, struct arena *a) {
    struct kernel *k = arena_new(a, struct kernel);
    lower_default(a, b->problem, &b->target, k);
    for (int i = 0; i < TRIES; i++) {
        struct kernel *drawn = arena_new(a, struct kernel);
        *drawn = kernel_copy(a, k);
        struct error err;
        for (int s = 0; s < k->n_stages; s++)
            draw_knobs(b, kernel_own_stage(a, drawn, s));
        if (lower_check(a, b->problem, &b->target, drawn, &err))
            return drawn;
    }
    return k;
}

static bool print(struct arena *a, struct loop_program *p, struct candidate *c) {
    struct error err;
    p->about = "// a mutant\n";
    pass_unroll(p);
    pass_prune(p);
    if (!pass_verify(p, &err))
        return false;
    *c = (struct candidate){.tier = TIER_C, .source = print_c(a, p), .label = "mutant"};
    candidate_seal(a, c);
    return true;
}

// Would the first outputs on the declared data have been enough?
static bool shows_at_once(struct bench *b, struct subject *s) {
    struct judge *j = &b->judge;
    struct call_result call;
    if (!j->device->is_alive(s))
        return true;
    j->device->load(j, 0, SET_DECLARED);
    subject_poison(j, s, 0);
    uint32_t poison = j->poison[0];
    subject_touch(j, s, 0);
    j->device->call(j, s, 0, judge_timeout_ns(j), &call);
    if (call.status != RUNNER_OK)
        return true;
    struct oracle_output first = j->oracle.sets[SET_DECLARED].outputs[0];
    struct comparison c;
    if (first.count > FIRST)
        first.count = FIRST;
    oracle_compare(&first, j->device->values(j, s, 0, 0), poison, &c);
    return c.n_wrong || c.n_unwritten;
}

enum outcome { KILLED, EASY, SURVIVED, EQUIVALENT, NOT_RUN };

static bool is_not_run(enum verdict_kind kind) {
    return kind == VERDICT_INFRA || kind == VERDICT_NO_COMPILE || kind == VERDICT_ILLEGAL ||
           kind == VERDICT_LIMITS;
}

static enum outcome judge_once(struct bench *b, struct arena *a, const struct question *q,
                               struct verdict *v) {
    struct subject *s = calloc(1, sizeof *s);
    struct eval_result result = {.verdict = {.evidence = ""}};
    struct error err = {0};
    enum outcome outcome = KILLED;
    if (!s || !subject_begin(&b->judge, a, q->candidate, s, &result.verdict, &err))
        fail("judge", &err);
    if (result.verdict.kind == VERDICT_OK && !subject_load(&b->judge, a, s, &result, &err))
        fail("judge", &err);
    bool ok =
        result.verdict.kind == VERDICT_OK && verify(&b->judge, a, s, q->depth, &result.verdict);
    *v = result.verdict;
    bool is_same = true;
    for (int set = 0; ok && set < SET_COUNT; set++) {
        if (q->is_original)
            b->digests[set] = s->sets[set].digest;
        is_same = is_same && b->digests[set] == s->sets[set].digest;
    }
    if (ok)
        outcome = is_same ? EQUIVALENT : SURVIVED;
    else if (is_not_run(v->kind))
        outcome = NOT_RUN;
    else if (q->depth == EVAL_VERIFY && s->is_loaded && shows_at_once(b, s))
        outcome = EASY;
    subject_close(&b->judge, s);
    free(s);
    return outcome;
}

static enum outcome judge_one(struct bench *b, struct arena *a, const struct question *q,
                              struct verdict *v) {
    enum outcome outcome = judge_once(b, a, q, v);
    for (int i = 1; i < INFRA_TRIES && v->kind == VERDICT_INFRA; i++)
        outcome = judge_once(b, a, q, v);
    return outcome;
}

// Shares are fixed: the kind that is most behind comes first; of those that the kernel has a
// place for.
static struct loop_program *mutated(struct bench *b, struct arena *a, enum mutation *m,
                                    char what[WORDS]) {
    unsigned left = (1U << MUTATION_COUNT) - 1;
    while (left) {
        int best = __builtin_ctz(left);
        for (int i = 0; i < MUTATION_COUNT; i++)
            if ((left >> i & 1) &&
                mutation_shares[i] * (b->made[best] + 1) > mutation_shares[best] * (b->made[i] + 1))
                best = i;
        struct loop_program *p = program_lower(a, b->problem, &b->target, b->kernel);
        *m = (enum mutation)best;
        b->made[best]++;
        if (mutate(p, *m, &b->rng, what, WORDS))
            return p;
        b->made[best]--;
        left &= ~(1U << best);
    }
    return NULL;
}

static void count_of(struct by_kind *n, enum outcome outcome) {
    bool counts = outcome != EQUIVALENT && outcome != NOT_RUN;
    n->n_equivalent += outcome == EQUIVALENT;
    n->n_not_run += outcome == NOT_RUN;
    n->n += counts;
    n->n_killed += counts && outcome != SURVIVED;
}

static void count(struct bench *b, enum mutation m, enum outcome outcome, const struct verdict *v) {
    struct totals *t = &b->totals;
    count_of(&t->all, outcome);
    count_of(&t->of_kind[m], outcome);
    t->n_not_run += outcome == NOT_RUN;
    t->n_easy += outcome == EASY;
    t->n_crashed += outcome != NOT_RUN && v->kind == VERDICT_CRASH;
}

// The same mutant by the sets of a plain `hone eval`: which ones is chance, for each candidate.
static void rank(struct bench *b, struct arena *a, const struct candidate *c, enum mutation m) {
    struct verdict v;
    struct question q = {.candidate = c, .depth = EVAL_RANK};
    verify_draw(&b->judge);
    enum outcome outcome = judge_one(b, a, &q, &v);
    struct by_kind *both[] = {&b->totals.all, &b->totals.of_kind[m]};
    for (int i = 0; i < 2 && outcome != NOT_RUN; i++) {
        both[i]->n_ranked++;
        both[i]->n_killed_ranking += outcome == KILLED || outcome == EASY;
    }
}

// Which turn it was is left out: "where i".
static void note_place(struct bench *b, enum mutation m, const char *what) {
    struct harmless p = {.problem = b->problem->name, .kind = m};
    snprintf(p.words, sizeof p.words, "%s", what);
    char *turn = strstr(p.words, " is ");
    if (turn)
        *turn = '\0';
    int i = 0;
    while (i < b->n_places && (b->places[i].problem != p.problem || b->places[i].kind != m ||
                               strcmp(b->places[i].words, p.words) != 0))
        i++;
    if (i == PLACES_MAX)
        return;
    if (i == b->n_places)
        b->places[b->n_places++] = p;
    b->places[i].n++;
}

static void one_mutant(struct bench *b) {
    struct arena a = {0};
    struct candidate c;
    struct verdict v;
    char what[WORDS];
    enum mutation m;
    struct loop_program *p = mutated(b, &a, &m, what);
    if (p && print(&a, p, &c)) {
        struct question q = {.candidate = &c, .depth = EVAL_VERIFY};
        enum outcome outcome = judge_one(b, &a, &q, &v);
        count(b, m, outcome, &v);
        bool counts = outcome != EQUIVALENT && outcome != NOT_RUN;
        b->made[m] -= !counts;
        if (counts)
            rank(b, &a, &c, m);
        if (outcome == EQUIVALENT)
            note_place(b, m, what);
        if (outcome == SURVIVED || outcome == EQUIVALENT)
            printf("%-10s %s: %s, %s\n", outcome == SURVIVED ? "survived" : "equivalent",
                   b->problem->name, mutation_text[m], what);
        if ((outcome == SURVIVED || outcome == EQUIVALENT) && getenv("MUTANTS_SHOW"))
            printf("%s\n%s\n", kernel_print(&a, b->kernel), c.source);
        if (outcome == NOT_RUN)
            printf("not run    %s: %s, %s: %s: %s\n%s\n", b->problem->name, mutation_text[m], what,
                   verdict_kind_name(v.kind), v.evidence, c.source);
    }
    arena_reset(&a);
}

static void one_kernel(struct bench *b, int n_mutants) {
    struct arena a = {0};
    struct candidate c;
    struct verdict v;
    b->kernel = draw_kernel(b, &a);
    if (!print(&a, program_lower(&a, b->problem, &b->target, b->kernel), &c)) {
        fprintf(stderr, "mutants: the original breaks a rule\n");
        exit(4);
    }
    struct question q = {.candidate = &c, .depth = EVAL_VERIFY, .is_original = true};
    enum outcome outcome = judge_one(b, &a, &q, &v);
    // One that the machine did not let run is not rejected.
    bool is_infra = v.kind == VERDICT_INFRA;
    b->totals.n_honest += !is_infra;
    b->totals.n_not_run += is_infra;
    if (outcome != EQUIVALENT && !is_infra) {
        b->totals.n_rejected++;
        printf("rejected   %s as it is: %s\n%s", b->problem->name, v.evidence,
               kernel_print(&a, b->kernel));
    }
    for (int i = 0; outcome == EQUIVALENT && i < n_mutants && b->totals.all.n < b->wanted; i++)
        one_mutant(b);
    arena_reset(&a);
}

static void open_judge(struct bench *b) {
    struct error err = {0};
    struct judge_settings settings = {.n_threads = b->target.n_threads,
                                      .cc = "cc",
                                      .machine = "mutants",
                                      .llc_bytes = 1 << 20,
                                      .limit_s = NAN,
                                      .reach_s = NAN,
                                      .seed = rng_next(&b->rng) | 1};
    settings.cache = file_cache_dir(&b->arena, "objects", &err);
    if (!settings.cache || !judge_open(&b->judge, b->problem, &settings, &err))
        fail("open the judge", &err);
}

static double share(int part, int whole) {
    return whole ? 100.0 * part / whole : 0;
}

static const struct exception *find_exception(const char *family, enum mutation m) {
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (strcmp(exceptions[i].family, family) == 0 && exceptions[i].kind == m)
            return &exceptions[i];
    return NULL;
}

static void print_kind(const char *words, int wanted_share, const struct by_kind *n, int n_all) {
    printf("| %s | %d%% | %d | %d | %d | %d (%.0f%%) | %d | %d of %d |\n", words, wanted_share,
           n->n + n->n_equivalent + n->n_not_run, n->n_equivalent, n->n_not_run, n->n,
           share(n->n, n_all), n->n_killed, n->n_killed_ranking, n->n_ranked);
}

// False: an operator is missing, or has less than half of its share, and nobody knows why.
static bool print_kinds(const struct bench *b, const char *family) {
    const struct totals *t = &b->totals;
    bool ok = true;
    puts("| operator | share | put in | equivalent | not run | counted | killed | killed at the "
         "depth of `hone eval` |\n|---|---|---|---|---|---|---|---|");
    for (int i = 0; i < MUTATION_COUNT; i++)
        print_kind(mutation_text[i], mutation_shares[i], &t->of_kind[i], t->all.n);
    print_kind("all", 100, &t->all, t->all.n);
    for (int i = 0; i < MUTATION_COUNT; i++) {
        const struct exception *e = find_exception(family, (enum mutation)i);
        int n = t->of_kind[i].n;
        if (e && !n)
            printf("exception  %s: %s\n", mutation_text[i], e->reason);
        bool is_short = e ? n > 0 : 2 * share(n, t->all.n) < mutation_shares[i];
        if (!is_short || b->wanted < ENOUGH)
            continue;
        ok = false;
        printf("share      %s: %d of %d counted, %s\n", mutation_text[i], n, t->all.n,
               e ? "and it is named an exception" : "less than half of what it should have");
    }
    return ok;
}

static void print_places(const struct bench *b) {
    for (int i = 0; i < b->n_places; i++)
        printf("| %s | %s | %s | %d |\n", b->places[i].problem, mutation_text[b->places[i].kind],
               b->places[i].words, b->places[i].n);
}

static int report(const struct bench *b, const char *family) {
    const struct totals *t = &b->totals;
    const struct by_kind *n = &t->all;
    printf("%s: %d mutants, %d killed (%.1f%%), %d by the first %d outputs (%.1f%%), %d crashed, "
           "%d equivalent left out, %d not run; %d of %d honest kernels accepted\n",
           family, n->n, n->n_killed, share(n->n_killed, n->n), t->n_easy, FIRST,
           share(t->n_easy, n->n), t->n_crashed, n->n_equivalent, t->n_not_run,
           t->n_honest - t->n_rejected, t->n_honest);
    bool has_shares = print_kinds(b, family);
    if (b->n_places)
        puts("| equivalent in | operator | place | times |\n|---|---|---|---|");
    print_places(b);
    bool is_found = 100 * n->n_killed >= 99 * n->n, is_deep = 5 * t->n_easy <= n->n;
    bool is_run = 100 * t->n_not_run <= b->wanted;
    bool ok = n->n >= b->wanted && is_found && is_deep && !t->n_rejected && is_run && has_shares;
    return ok ? 0 : 1;
}

static int run(const char *family, int wanted, uint64_t seed) {
    struct bench *b = calloc(1, sizeof *b);
    struct error err = {0};
    struct lang_file file;
    const char *diagnostics = "";
    size_t len;
    rng_init(&b->rng, seed);
    b->wanted = wanted;
    const char *text = file_read(&b->arena, "tests/mutants/problems.hone", 1 << 20, &len, &err);
    struct lang_source source = {.file = "problems.hone", .text = text, .len = len};
    if (!text || !lang_parse(&b->arena, &source, &file, &diagnostics, &err))
        fail(diagnostics, &err);
    // Two threads, where there are two processors.
    if (!target_read_cpu(&b->arena, 2, "cc", &b->target, &err) &&
        !target_read_cpu(&b->arena, 1, "cc", &b->target, &err))
        fail("target", &err);
    for (int round = 0; round < 40 && b->totals.all.n < wanted; round++)
        for (int i = 0; i < file.n_problems && b->totals.all.n < wanted; i++) {
            b->problem = file.problems[i];
            if (strncmp(b->problem->name, family, strlen(family)) != 0)
                continue;
            open_judge(b);
            one_kernel(b, wanted < 8 * PER_KERNEL ? (wanted + 7) / 8 : PER_KERNEL);
            judge_close(&b->judge);
        }
    int status = report(b, family);
    arena_reset(&b->arena);
    free(b);
    return status;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "_runner") == 0)
        return runner_main();
    if (argc > 1 && strcmp(argv[1], "_compile") == 0)
        return compile_child_main();
    if (argc < 3) {
        fprintf(stderr, "usage: mutants map|row|reduce|gemm NUMBER [SEED]\n");
        return 2;
    }
    return run(argv[1], (int)strtol(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
}
