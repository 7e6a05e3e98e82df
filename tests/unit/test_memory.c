#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "family/block_set.h"
#include "family/lower.h"
#include "memory/advise.h"
#include "memory/kind.h"
#include "memory/learn.h"
#include "memory/memory.h"
#include "memory/transfer.h"
#include "model/bound.h"
#include "parsed.h"
#include "record/advice.h"
#include "table_target.h"

static struct arena a;
static struct error err;
static char dir[64];

static void enter_scratch(void) {
    snprintf(dir, sizeof dir, "/tmp/hone-memory-XXXXXX");
    cr_assert(mkdtemp(dir) && chdir(dir) == 0);
    err = (struct error){0};
}

static void leave_scratch(void) {
    struct error ignored;
    cr_assert(chdir("/") == 0);
    file_remove_tree(dir, &ignored);
    arena_reset(&a);
}

TestSuite(memory, .init = enter_scratch, .fini = leave_scratch);

static struct lesson sample(const char *run, int n_evals, double time_s) {
    struct outcome *o = arena_array(&a, struct outcome, 2);
    static struct lesson_value value[] = {{"y", 6}};
    o[0] = (struct outcome){.move = "vec 8 -> 16",
                            .bottleneck = "memory",
                            .tool = "narrow",
                            .n_tried = 3,
                            .n_timed = 2,
                            .log_sum = 2 * log(1.3),
                            .log_sq = 2 * log(1.3) * log(1.3),
                            .verdicts = {[VERDICT_OK] = 2, [VERDICT_WRONG] = 1}};
    o[0].gains[gain_bin(1.3)] = 2;
    o[1] = (struct outcome){.move = "merge", .bottleneck = "compute", .n_tried = 1};
    return (struct lesson){.run = run,
                           .problem = "softmax",
                           .shape = "M=4 N=8",
                           .kind = {.form = "abc",
                                    .skeleton = "max sum",
                                    .ops = "max sub exp sum div",
                                    .types = "f32 -> f32",
                                    .sizes = {5, 3},
                                    .n_sizes = 2},
                           .target = "cpu",
                           .device = "a CPU",
                           .learned_at = "2026-01-01T00:00:00Z",
                           .version = "0",
                           .n_evals = n_evals,
                           .block = "kernel for softmax on cpu\nstage y : rowwise\n",
                           .values = value,
                           .n_values = 1,
                           .time_s = time_s,
                           .speedup = 1.4,
                           .of_reach = NAN,
                           .outcomes = o,
                           .n_outcomes = 2};
}

static int count(const char *path, const struct memory_filter *filter, struct lesson **lessons) {
    struct memory *m;
    struct lesson *all;
    int n;
    cr_assert(memory_open(&m, path, false, &err), "%s", err.text);
    cr_assert(memory_list(m, &a, filter, &all, &n, &err), "%s", err.text);
    memory_close(m);
    if (lessons)
        *lessons = all;
    return n;
}

static int put(const char *path, const struct lesson *l) {
    struct memory *m;
    int n_new = -1;
    if (!memory_open(&m, path, true, &err))
        return -1;
    if (!memory_put(m, l, 1, &n_new, &err))
        n_new = -1;
    memory_close(m);
    return n_new;
}

Test(memory, gives_back_what_a_run_taught) {
    struct lesson l = sample("r1", 5, 1e-3), *back;
    cr_assert_eq(put("deep/er/m.db", &l), 1, "%s", err.text);
    cr_assert_eq(count("deep/er/m.db", &(struct memory_filter){0}, &back), 1);
    json_t *x = lesson_to_json(&l), *y = lesson_to_json(back);
    cr_assert(json_equal(x, y), "%s\n%s", json_print(&a, x), json_print(&a, y));
    json_decref(x);
    json_decref(y);
    cr_assert_float_eq(outcome_gain(&back->outcomes[0]), 1.3, 1e-9);
    cr_assert_eq(outcome_n_better(&back->outcomes[0]), 2);
    cr_assert(isnan(outcome_gain(&back->outcomes[1])));
    cr_assert_eq(count("deep/er/m.db", &(struct memory_filter){.skeleton = "matmul"}, NULL), 0);
    cr_assert_eq(count("deep/er/m.db", &(struct memory_filter){"max sum", "sm_90a"}, NULL), 0);
    cr_assert_eq(count("deep/er/m.db", &(struct memory_filter){"max sum", "cpu"}, NULL), 1);
}

Test(memory, counts_a_run_once_and_keeps_what_tells_more) {
    struct lesson l = sample("r1", 5, 1e-3), more = sample("r1", 9, 5e-4), *back;
    cr_assert_eq(put("m.db", &l), 1);
    cr_assert_eq(put("m.db", &l), 0);
    cr_assert_eq(put("m.db", &more), 1);
    cr_assert_eq(put("m.db", &l), 0);
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, &back), 1);
    cr_assert_eq(back->n_evals, 9);
}

Test(memory, is_pruned_to_the_newest_and_the_best) {
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct memory *m;
    struct lesson *back;
    int n;
    for (int i = 0; i < 5; i++) {
        struct lesson l = sample(names[i], 5, i == 1 ? 1e-4 : 1e-3);
        l.learned_at = arena_printf(&a, "2026-01-0%dT00:00:00Z", i + 1);
        put("m.db", &l);
    }
    cr_assert(memory_open(&m, "m.db", true, &err) && memory_prune(m, 2, &n, &err));
    memory_close(m);
    cr_assert_eq(n, 2);
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, &back), 3);
    cr_assert_str_eq(back[0].run, "e");
    cr_assert_str_eq(back[1].run, "d");
    cr_assert_str_eq(back[2].run, "b");
}

static void expect_refusal(const char *path, bool create, enum error_kind kind, const char *words) {
    struct memory *m;
    err = (struct error){0};
    cr_assert(!memory_open(&m, path, create, &err));
    cr_assert_eq(err.kind, kind, "%s", err.text);
    cr_assert(strstr(err.text, words) && strstr(err.text, path), "%s", err.text);
}

static void sql(const char *path, const char *text) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

Test(memory, refuses_what_it_is_not_in_one_sentence) {
    struct lesson l = sample("r1", 5, 1e-3);
    const char text[] = "this is no database, but it is long enough to be taken for one.........";
    cr_assert(file_write("text.db", text, sizeof text - 1, &err));
    expect_refusal("text.db", false, ERROR_USAGE, "not a hone memory");
    expect_refusal("text.db", true, ERROR_USAGE, "not a hone memory");
    expect_refusal("none.db", false, ERROR_USAGE, "No such file");
    sql("other.db", "CREATE TABLE t (x)");
    expect_refusal("other.db", true, ERROR_USAGE, "a database, but not a hone memory");
    cr_assert(file_write("empty.db", "", 0, &err));
    expect_refusal("empty.db", false, ERROR_USAGE, "empty");
    cr_assert_eq(put("newer.db", &l), 1);
    sql("newer.db", "PRAGMA user_version = 7");
    expect_refusal("newer.db", true, ERROR_UNSUPPORTED, "schema 7 is newer than 1");
    cr_assert_eq(mkdir("d.db", 0700), 0);
    expect_refusal("d.db", true, ERROR_IO, "cannot be opened");
}

Test(memory, finds_damage_and_leaves_out_lessons_that_cannot_be_read) {
    struct memory *m = NULL;
    struct lesson *all, l = sample("r1", 5, 1e-3), other = sample("r2", 5, 1e-3);
    int n;
    put("m.db", &l);
    put("m.db", &other);
    sql("m.db", "UPDATE lesson SET record = '{\"schema\":\"hone.lesson/9\"}' WHERE run = 'r1'");
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, &all), 1);
    cr_assert_str_eq(all->run, "r2");
    FILE *f = fopen("m.db", "r+");
    fseek(f, 4096, SEEK_SET);
    for (int i = 0; i < 3 * 4096; i++)
        fputc(0xff, f);
    fclose(f);
    bool ok = memory_open(&m, "m.db", false, &err);
    ok = ok && memory_list(m, &a, &(struct memory_filter){0}, &all, &n, &err);
    memory_close(m);
    cr_assert(!ok && strstr(err.text, "damaged"), "%s", err.text);
}

Test(memory, a_full_disk_loses_nothing) {
    struct lesson l = sample("r1", 5, 1e-3), large = sample("r2", 5, 1e-3);
    struct rlimit limit;
    put("m.db", &l);
    char *block = arena_array(&a, char, 200001);
    memset(block, 'x', 200000);
    large.block = block;
    // A limit on file size fails writes as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 60000;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(put("m.db", &large), -1);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
    cr_assert(strstr(err.text, "what was learned before is safe"), "%s", err.text);
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, NULL), 1);
}

// A process that was killed while it wrote leaves a journal, which the next process rolls back,
// also to read.
Test(memory, a_writer_that_was_killed_leaves_what_was_there) {
    struct lesson l = sample("r1", 5, 1e-3);
    struct stat s;
    put("m.db", &l);
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db;
        int code = sqlite3_open("m.db", &db);
        // With a cache of one page the file itself is written before the commit.
        code |= sqlite3_exec(db,
                             "PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
                             "UPDATE lesson SET record = zeroblob(300000) || 'x';",
                             NULL, NULL, NULL);
        _exit(code == SQLITE_OK ? 99 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 99);
    cr_assert(stat("m.db-journal", &s) == 0 && s.st_size > 0, "no journal was left");
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, NULL), 1);
}

Test(memory, two_processes_write_at_once_and_nothing_is_lost) {
    enum { WRITERS = 4, EACH = 8 };
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            int bad = 0;
            for (int i = 0; i < EACH; i++) {
                struct lesson l = sample(arena_printf(&a, "w%d-%d", w, i), 5, 1e-3);
                bad += put("m.db", &l) != 1;
            }
            _exit(bad);
        }
    for (int w = 0, status; w < WRITERS; w++) {
        wait(&status);
        cr_assert_eq(status, 0);
    }
    cr_assert_eq(count("m.db", &(struct memory_filter){0}, NULL), WRITERS * EACH);
}

// ---- kinds

static struct problem_kind kind(const char *text) {
    struct problem_kind k;
    kind_of(&a, parsed(&a, text), &k);
    return k;
}

#define SOFTMAX(name, x, y, m, n, type)                                                \
    "problem " name "\ndim M = " m ", N = " n "\nin " x " : " type "[M, N] ~ normal\n" \
    "out " y " : " type "[M, N]\n" y " = softmax(" x ")\n"

static char skeleton[64];

Test(kind, knows_siblings_by_what_they_compute) {
    struct problem_kind k = kind(SOFTMAX("s", "x", "y", "64", "128", "f32"));
    struct problem_kind named = kind(SOFTMAX("t", "p", "q", "64", "128", "f32"));
    struct problem_kind larger = kind(SOFTMAX("s", "x", "y", "64", "256", "f32"));
    struct problem_kind largest = kind(SOFTMAX("s", "x", "y", "64", "8192", "f32"));
    struct problem_kind half = kind(SOFTMAX("s", "x", "y", "64", "128", "f16"));
    struct problem_kind scaled =
        kind("problem s\ndim M = 64, N = 128\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
             "y = relu(softmax(x))\n");
    struct problem_kind sums =
        kind("problem s\ndim M = 64, N = 128\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
             "y = sum(x, N)\n");
    cr_assert_str_eq(k.skeleton, "max sum");
    cr_assert_eq(kind_distance(&k, &named), 0);
    cr_assert_gt(kind_distance(&k, &larger), 0);
    cr_assert_lt(kind_distance(&k, &larger), kind_distance(&k, &largest));
    cr_assert_lt(kind_distance(&k, &half), 1);
    cr_assert_gt(kind_distance(&k, &half), kind_distance(&k, &larger));
    cr_assert_geq(kind_distance(&k, &scaled), 1);
    cr_assert(isinf(kind_distance(&k, &sums)));
}

// Four times as many rows are nearer than as many elements in rows that are four times as long.
// Of a product every extent counts alike.
Test(kind, rows_of_one_length_are_near) {
    struct problem_kind k = kind(SOFTMAX("s", "x", "y", "512", "1024", "f32"));
    struct problem_kind fewer = kind(SOFTMAX("s", "x", "y", "128", "1024", "f32"));
    struct problem_kind longer = kind(SOFTMAX("s", "x", "y", "128", "4096", "f32"));
    cr_assert_lt(kind_distance(&k, &fewer), kind_distance(&k, &longer));
    cr_assert_eq(kind_distance(&fewer, &k), kind_distance(&k, &fewer));
#define PRODUCT(m, n, k)                                                          \
    "problem p\ndim M = " m ", N = " n ", K = " k "\nin a : f32[M, K] ~ normal\n" \
    "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n"
    struct problem_kind cube = kind(PRODUCT("64", "64", "64"));
    struct problem_kind deep = kind(PRODUCT("64", "64", "256")),
                        tall = kind(PRODUCT("256", "64", "64"));
    cr_assert_gt(kind_distance(&cube, &deep), 0);
    cr_assert_gt(kind_distance(&cube, &tall), kind_distance(&cube, &cube));
    // A lesson of another hone may name operations that there are not here.
    snprintf(skeleton, sizeof skeleton, "none %s", k.skeleton);
    k.skeleton = longer.skeleton = skeleton;
    cr_assert(isfinite(kind_distance(&k, &longer)));
}

// ---- moves

Test(advice, cuts_moves_into_single_changes) {
    static const struct {
        const char *move, *parts[3];
    } cases[] = {
        {"y: vec 8 -> 16", {"vec 8 -> 16"}},
        {"y: vec 8 -> 16, rows 4", {"vec 8 -> 16"}},
        {"y: rows 16 -> 8, unroll 1 -> 8", {"rows 16 -> 8", "unroll 1 -> 8"}},
        {"y: as dot, tile 4x4x4", {"as dot"}},
        {"y: gemm -> gemm as dot", {"gemm -> gemm as dot"}},
        {"merge t into y", {"merge"}},
        {"split y at t", {"split"}},
        {"the first emitters of all stages", {"the first emitters of all stages"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *parts[MOVE_PARTS_MAX];
        int n = move_parts(&a, cases[i].move, parts, MOVE_PARTS_MAX), want = 0;
        for (; want < 3 && cases[i].parts[want]; want++)
            cr_assert(want < n && strcmp(parts[want], cases[i].parts[want]) == 0, "%s",
                      cases[i].move);
        cr_assert_eq(n, want, "%s", cases[i].move);
    }
    arena_reset(&a);
}

// ---- from a run to its lesson

Test(learn, sums_up_trials_by_move_with_races_and_failures) {
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "128", "f32"));
    struct target t = {.name = "cpu", .device = "a CPU"};
    struct bound b = {.reach_s = 1e-3};
    struct search_node nodes[] = {
        {.number = 0,
         .parent = -1,
         .state = NODE_EVALUATED,
         .move = "",
         .time_s = 4e-3,
         .candidate = {.label = "default"}},
        {.number = 1,
         .parent = 0,
         .state = NODE_EVALUATED,
         .move = "y: vec 4 -> 8, rows 1 -> 4",
         .time_s = 1e-3,
         .candidate = {.label = "node 1", .kernel = "kernel for s on cpu\nstage y : rowwise\n"}},
        {.number = 2,
         .parent = 1,
         .state = NODE_SCREENED,
         .move = "y: vec 8 -> 16",
         .time_s = NAN,
         .screening = {.present = true, .against = "node 1", .speedup = 0.5}},
        {.number = 3,
         .parent = 1,
         .state = NODE_EVALUATED,
         .move = "y: vec 8 -> 16",
         .time_s = NAN,
         .tool = "narrow",
         .verdict = {.kind = VERDICT_WRONG}},
        {.number = 4,
         .parent = 0,
         .state = NODE_SCREENED,
         .move = "y: vec 8 -> 16",
         .time_s = NAN,
         .screening = {.present = true, .is_untimed = true}},
    };
    struct run run = {.champion = 1, .ended_at = "2026-01-01T00:00:00Z", .version = "0"};
    struct learn_from from = {p, &t, &b, &run, nodes, 5, "identity"};
    struct lesson l;
    learn(&a, &from, &l);
    cr_assert_eq(l.n_outcomes, 4);  // vec 4 -> 8, rows 1 -> 4, vec 8 -> 16 twice: with a finding
    cr_assert_str_eq(l.outcomes[0].move, "vec 4 -> 8");
    cr_assert_float_eq(outcome_gain(&l.outcomes[0]), 2, 1e-9);  // half of the logarithm of 4
    cr_assert_float_eq(outcome_gain(&l.outcomes[2]), 0.5, 1e-9);
    cr_assert_eq(l.outcomes[3].verdicts[VERDICT_WRONG], 1);
    cr_assert_eq(l.outcomes[3].n_timed, 0);
    cr_assert_eq(l.n_evals, 3);
    cr_assert_eq(l.n_screened, 1);
    cr_assert_float_eq(l.speedup, 4, 1e-9);
    cr_assert_float_eq(l.of_reach, 1, 1e-9);
    cr_assert_str_eq(l.values[l.n_values - 1].name, "y");
    cr_assert_eq(l.n_blocks, 1);  // the others have none
    cr_assert_float_eq(l.blocks[0].time_s, 1e-3, 1e-12);
    run.start.source = "a block that somebody gave";
    learn(&a, &from, &l);
    cr_assert(isnan(l.speedup), "%g over the default kernel", l.speedup);
    arena_reset(&a);
}

// ---- advice

static const struct target cpu = TABLE_TARGET;

// The lesson of a run on a problem whose champion was this block.
static struct lesson taught(const char *text, const char *block) {
    struct problem *p = parsed(&a, text);
    struct bound b = {.reach_s = 1e-3};
    struct search_node *nodes = arena_array(&a, struct search_node, 2);
    nodes[0] = (struct search_node){.parent = -1, .state = NODE_EVALUATED, .time_s = 2e-3};
    nodes[1] = (struct search_node){.number = 1,
                                    .state = NODE_EVALUATED,
                                    .move = "y: vec 4 -> 8",
                                    .time_s = 1e-3,
                                    .candidate = {.kernel = block}};
    struct run run = {.champion = 1, .ended_at = "2026-01-01T00:00:00Z", .version = "0"};
    struct learn_from from = {p, &cpu, &b, &run, nodes, 2, arena_printf(&a, "%p", (void *)nodes)};
    struct lesson l;
    learn(&a, &from, &l);
    return l;
}

#define ROWS(knobs) "kernel for s on cpu\nstage y : rowwise  " knobs "\n"

Test(transfer, takes_a_block_to_other_names_sizes_and_types) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"),
                             ROWS("vec 8  rows 4  unroll 4  keep local"));
    struct problem *named = parsed(&a, SOFTMAX("t", "p", "q", "64", "256", "f32"));
    const char *text = transfer_block(&a, &l, named, &cpu);
    cr_assert(text && strncmp(text, "kernel for t on cpu\nstage q : rowwise", 37) == 0, "%s", text);
    cr_assert(strstr(text, "vec 8  rows 4  unroll 4  keep local"), "%s", text);
    // Rows of 3 hold no vector of 8, unrolled or not: the nearest legal block.
    struct problem *odd = parsed(&a, SOFTMAX("t", "p", "q", "64", "3", "f32"));
    text = transfer_block(&a, &l, odd, &cpu);
    cr_assert(text && strstr(text, "stage q : rowwise"), "%s", text);
    struct problem *half = parsed(&a, SOFTMAX("t", "p", "q", "64", "256", "f16"));
    text = transfer_block(&a, &l, half, &cpu);
    cr_assert(text && strstr(text, "rows 4"), "%s", text);
    arena_reset(&a);
}

Test(transfer, takes_knobs_to_another_epilogue_and_stages_of_the_same_form) {
    static const char gemm[] = "problem g\ndim M = 64, N = 64, K = 64\nin a : f32[M, K] ~ normal\n"
                               "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nt = a @ b\nc = %s\n";
    struct problem *relu = parsed(&a, arena_printf(&a, gemm, "relu(t)"));
    struct kernel k = {0};
    lower_default(&a, relu, &cpu, &k);
    const char *block = kernel_print(&a, &k);
    struct lesson l = taught(arena_printf(&a, gemm, "relu(t)"), block);
    struct problem *other = parsed(&a, arena_printf(&a, gemm, "tanh(t) * 2"));
    const char *text = transfer_block(&a, &l, other, &cpu);
    cr_assert(text && strstr(text, strstr(block, ": gemm")), "%s\n%s", block, text);
    // Two stages stay two where the form is the same.
    l = taught(arena_printf(&a, gemm, "relu(t)"),
               "kernel for g on cpu\nstage t : gemm\nstage c : map  vec 4\n");
    text = transfer_block(&a, &l, relu, &cpu);
    cr_assert(text && strstr(text, "stage t : gemm") && strstr(text, "stage c : map") &&
                  strstr(text, "vec 4  unroll"),
              "%s", text);
    arena_reset(&a);
}

Test(transfer, stays_within_a_table) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("vec 8  rows 4"));
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "256", "f32"));
    struct target table = cpu;
    const char *text = transfer_block(&a, &l, p, &cpu), *at = strstr(text, "rows 4");
    const char *near = arena_printf(&a, "%.*srows 8%s", (int)(at - text), text, at + 6);
    const char *far = arena_printf(&a, "%.*srows 64%s", (int)(at - text), text, at + 6);
    table.blocks = block_set_new(&a);
    cr_assert_null(transfer_block(&a, &l, p, &table));
    block_set_add(table.blocks, far);
    block_set_add(table.blocks, near);
    cr_assert_str_eq(transfer_block(&a, &l, p, &table), near);
    block_set_add(table.blocks, text);
    cr_assert_str_eq(transfer_block(&a, &l, p, &table), text);
    arena_reset(&a);
}

// Times of a sibling's blocks, told with the names of this problem; what is not legal here is told
// too.
Test(advise, tells_what_blocks_took_on_siblings) {
    struct lesson lessons[2] = {
        taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("vec 8  rows 4")),
        taught(SOFTMAX("s", "x", "y", "64", "64", "f32"), ROWS("vec 8  rows 2"))};
    struct problem *p = parsed(&a, SOFTMAX("t", "p", "q", "64", "130", "f32"));
    struct advice d = {.run = "r"}, back;
    lessons[1].blocks[0].kernel = "a block of a hone to come";
    advise(&a, p, &cpu, lessons, 2, &d);
    json_t *json = advice_to_json(&d);
    cr_assert(advice_from_json(&a, json, &back, &err), "%s", err.text);
    cr_assert_eq(back.n_blocks, 1);
    cr_assert(strstr(back.blocks[0].kernel, "stage q : rowwise  vec 8  rows 4"), "%s",
              back.blocks[0].kernel);
    cr_assert_float_eq(back.blocks[0].log_s, log(1e-3), 1e-9);
    cr_assert_eq(back.blocks[0].sibling, 1);
    cr_assert(isfinite(back.blocks[0].prior));
    // Runs of before had none.
    json_object_del(json, "blocks");
    cr_assert(advice_from_json(&a, json, &back, &err) && back.n_blocks == 0, "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

// Where a sibling's champion brought little there and the closed form thinks little of it here, the
// default kernel comes first, and the champion next.
Test(advise, the_default_kernel_comes_before_what_should_be_slower) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("vec 1  rows 1"));
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "256", "f32"));
    struct advice d = {.run = "r"}, back;
    struct kernel k = {0};
    lower_default(&a, p, &cpu, &k);
    l.speedup = 1.02;
    advise(&a, p, &cpu, &l, 1, &d);
    cr_assert_eq(d.n_starts, 2);
    cr_assert(d.starts[0].is_default && !d.starts[1].is_default && !d.is_start_first);
    cr_assert_str_eq(d.starts[0].kernel, kernel_print(&a, &k));
    cr_assert(strstr(d.starts[1].kernel, "vec 1  rows 1 "), "%s", d.starts[1].kernel);
    json_t *json = advice_to_json(&d);
    cr_assert(advice_from_json(&a, json, &back, &err), "%s", err.text);
    cr_assert(back.starts[0].is_default && !back.starts[1].is_default && back.is_weighed);
    json_object_del(json, "weighed");
    cr_assert(advice_from_json(&a, json, &back, &err) && !back.is_weighed, "%s", err.text);
    json_decref(json);
    // What brought much there is tried here, whatever the closed form thinks.
    l.speedup = 40;
    d = (struct advice){.run = "r"};
    advise(&a, p, &cpu, &l, 1, &d);
    cr_assert(d.n_starts == 1 && !d.starts[0].is_default && d.is_start_first);
    json = advice_to_json(&d);
    cr_assert(advice_from_json(&a, json, &back, &err) && back.is_start_first, "%s", err.text);
    json_object_del(json, "start_first");
    cr_assert(advice_from_json(&a, json, &back, &err) && !back.is_start_first, "%s", err.text);
    json_decref(json);
    // By how much it was faster there is not known: nothing to go by.
    l.speedup = NAN;
    d = (struct advice){.run = "r"};
    advise(&a, p, &cpu, &l, 1, &d);
    cr_assert(d.n_starts == 1 && !d.is_start_first);
    arena_reset(&a);
}

// The closed form says by how much a sibling's block should be faster here. Where it errs by more
// than that on most of the sibling's own blocks the default kernel comes first all the same.
Test(advise, the_default_kernel_comes_first_where_the_closed_form_errs_by_more) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("vec 1  rows 1"));
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "256", "f32"));
    struct lesson_block blocks[4] = {l.blocks[0]};
    l.blocks = blocks;
    l.n_blocks = 4;
    l.speedup = 40;
    for (int n_odd = 0; n_odd < 4; n_odd++) {
        struct advice d = {.run = "r"};
        for (int i = 1; i < 4;
             i++)  // half as fast, which is what the closed form says but of odd ones
            blocks[i] = (struct lesson_block){"a block of a hone to come", 2 * blocks[0].time_s,
                                              blocks[0].prior - log(i <= n_odd ? 1e6 : 2)};
        advise(&a, p, &cpu, &l, 1, &d);
        cr_assert_eq(d.n_starts, n_odd > 1 ? 2 : 1);
        cr_assert_eq(d.starts[0].is_default, n_odd > 1);
        cr_assert_eq(d.is_start_first, n_odd <= 1);
    }
    arena_reset(&a);
}

// Of blocks that were as fast there as the champion the one is taken that should be fastest here.
Test(advise, among_equals_the_closed_form_of_this_problem_decides) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("vec 1  rows 4"));
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "256", "f32"));
    struct lesson_block blocks[2] = {l.blocks[0], {ROWS("vec 8  rows 4"), 1.02e-3, 0}};
    blocks[1].prior = blocks[0].prior;
    l.blocks = blocks;
    l.n_blocks = 2;
    for (int is_slower = 0; is_slower < 2; is_slower++) {
        struct advice d = {.run = "r"};
        blocks[1].time_s = is_slower ? 1.1e-3 : 1.02e-3;
        l.speedup = 40;
        advise(&a, p, &cpu, &l, 1, &d);
        cr_assert_eq(d.n_starts, 1);
        cr_assert(strstr(d.starts[0].kernel, is_slower ? "vec 1 " : "vec 8 "), "%s",
                  d.starts[0].kernel);
    }
    arena_reset(&a);
}

// What a move brought where memory was the limit is not what it brought where latency was.
Test(advise, knows_moves_by_the_class_of_the_bottleneck) {
    struct lesson l = taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("rows 2"));
    struct outcome outcomes[3] = {
        {.move = "vec 8 -> 16", .bottleneck = "memory", .n_timed = 4, .log_sum = 4 * log(1.5)},
        {.move = "vec 8 -> 16", .bottleneck = "latency", .n_timed = 4, .log_sum = 4 * log(0.5)},
        {.move = "vec 4 -> 8", .bottleneck = "compute", .n_timed = 1, .log_sum = log(3)}};
    l.outcomes = outcomes;
    l.n_outcomes = 3;
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "128", "f32"));
    struct advice d = {.run = "r"}, back;
    advise(&a, p, &cpu, &l, 1, &d);
    json_t *json = advice_to_json(&d);
    cr_assert(advice_from_json(&a, json, &back, &err), "%s", err.text);
    json_decref(json);
    cr_assert_float_eq(advice_find(&back, "vec up", NULL, "memory")->gain, 1.5, 1e-9);
    cr_assert_float_eq(advice_find(&back, "vec up", "narrow", "latency")->gain, 0.5, 1e-9);
    cr_assert(
        strstr(advice_find(&back, "vec up", NULL, "memory")->words, "where memory limited it"));
    // One trial is no experience: then what is known of all classes.
    double all = exp((4 * log(1.5) + 4 * log(0.5) + log(3)) / 9);
    cr_assert_float_eq(advice_find(&back, "vec up", NULL, "compute")->gain, all, 1e-9);
    cr_assert_float_eq(advice_find(&back, "vec up", NULL, NULL)->gain, all, 1e-9);
    arena_reset(&a);
}

Test(advise, nearer_siblings_count_more_and_come_first) {
    struct lesson lessons[3] = {
        taught(SOFTMAX("s", "x", "y", "64", "8192", "f32"), ROWS("rows 16")),
        taught(SOFTMAX("s", "x", "y", "64", "128", "f32"), ROWS("rows 2")),
        taught("problem s\ndim M = 64, N = 128\nin x : f32[M, N] ~ normal\n"
               "out y : f32[M]\ny = sum(x, N)\n",
               "kernel for s on cpu\nstage y : rowwise\n")};
    lessons[0].outcomes[0].log_sum = log(0.5);
    struct problem *p = parsed(&a, SOFTMAX("s", "x", "y", "64", "130", "f32"));
    struct advice d = {.run = "r"}, back;
    advise(&a, p, &cpu, lessons, 3, &d);
    cr_assert_eq(d.n_lessons, 2);  // a sum is no sibling
    cr_assert_eq(d.n_starts, 2);
    cr_assert(strstr(d.starts[0].kernel, "rows 2 "), "%s", d.starts[0].kernel);
    const struct advice_prior *prior = advice_find(&d, "vec up", "narrow", NULL);
    cr_assert(prior && prior->gain > 1 && prior->gain < 2);  // 2x near, 0.5x far
    cr_assert_eq(prior->n_timed, 2);
    cr_assert_null(advice_find(&d, "merge", NULL, NULL));
    json_t *json = advice_to_json(&d);
    cr_assert(advice_from_json(&a, json, &back, &err), "%s", err.text);
    json_decref(json);
    cr_assert_eq(back.n_priors, d.n_priors);
    cr_assert_str_eq(back.starts[1].kernel, d.starts[1].kernel);
    cr_assert_str_eq(advice_find(&back, "vec up", NULL, NULL)->words, prior->words);
    arena_reset(&a);
}
