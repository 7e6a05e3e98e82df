#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "record/exchange.h"
#include "record/judgement.h"
#include "store/store.h"

static struct arena a;
static struct error err;
static char dir[64];

static void enter_scratch(void) {
    snprintf(dir, sizeof dir, "/tmp/hone-store-XXXXXX");
    cr_assert(mkdtemp(dir) && chdir(dir) == 0);
    err = (struct error){0};
}

static void leave_scratch(void) {
    struct error ignored;
    cr_assert(chdir("/") == 0);
    file_remove_tree(dir, &ignored);
    arena_reset(&a);
}

TestSuite(store, .init = enter_scratch, .fini = leave_scratch);

static struct run sample_run(void) {
    return (struct run){
        .state = RUN_ACTIVE,
        .problem_name = "softmax",
        .problem_text = "problem softmax\n",
        .problem_hash = "abc",
        .target = "cpu",
        .device = "a CPU",
        .policy = "mcts",
        .proposer = "expert",
        .seed = 0xfedcba9876543210u,
        .max_evals = 10,
        .max_seconds = 60,
        .until = 0.95,
        .started_at = "2026-01-01T00:00:00Z",
        .version = "0",
        .champion = -1,
    };
}

static struct search_node sample_node(int number, int parent) {
    return (struct search_node){
        .number = number,
        .parent = parent,
        .state = NODE_PROPOSED,
        .move = "y: vec 8 -> 16",
        .reason = "because",
        .candidate = {.tier = TIER_K, .source = "int x;", .kernel = "k", .label = "l", .hash = "h"},
        .verdict = {.kind = VERDICT_OK, .evidence = ""},
        .time_s = 0.25,
    };
}

static struct store *open_new(const char *path) {
    struct store *s = NULL;
    cr_assert(store_open(&s, path, true, &err), "%s", err.text);
    return s;
}

Test(store, gives_back_what_was_put_in_after_reopening) {
    struct store *s = open_new("a.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err), "%s", err.text);
    cr_assert_eq(run.id, 1);
    struct search_node n = sample_node(0, -1);
    cr_assert(store_put_node(s, 1, &n, &err), "%s", err.text);
    n.state = NODE_EVALUATED;
    cr_assert(store_put_node(s, 1, &n, &err), "%s", err.text);
    struct search_node child = sample_node(1, 0);
    cr_assert(store_put_node(s, 1, &child, &err), "%s", err.text);
    run.state = RUN_DONE;
    run.stop_reason = "plateau";
    cr_assert(store_update_run(s, &run, &err), "%s", err.text);
    store_close(s);

    cr_assert(store_open(&s, "a.db", false, &err), "%s", err.text);
    struct run back;
    cr_assert(store_get_run(s, &a, 1, &back, &err), "%s", err.text);
    cr_assert_eq(back.id, 1);
    cr_assert_eq(back.state, RUN_DONE);
    cr_assert_eq(back.n_nodes, 2);
    cr_assert_eq(back.seed, 0xfedcba9876543210u);
    cr_assert_str_eq(back.stop_reason, "plateau");
    struct search_node *nodes;
    int n_nodes;
    cr_assert(store_get_nodes(s, &a, 1, &nodes, &n_nodes, &err), "%s", err.text);
    cr_assert_eq(n_nodes, 2);
    cr_assert_eq(nodes[0].state, NODE_EVALUATED);
    cr_assert_eq(nodes[0].time_s, 0.25);
    cr_assert_eq(nodes[1].state, NODE_PROPOSED);
    cr_assert(isnan(nodes[1].time_s));
    cr_assert_str_eq(nodes[1].candidate.source, "int x;");
    store_close(s);
}

Test(store, lists_runs_newest_first) {
    struct store *s = open_new("a.db");
    for (int i = 0; i < 40; i++) {
        struct run run = sample_run();
        cr_assert(store_add_run(s, &run, &err));
    }
    struct run *runs;
    int n;
    cr_assert(store_list_runs(s, &a, 30, &runs, &n, &err), "%s", err.text);
    cr_assert_eq(n, 30);
    cr_assert_eq(runs[0].id, 40);
    cr_assert_eq(runs[29].id, 11);
    store_close(s);
}

Test(store, finds_runs_by_number_and_last) {
    struct store *s = open_new("a.db");
    int64_t id;
    cr_assert(!store_find_run(s, "last", &id, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    for (int i = 0; i < 3; i++) {
        struct run run = sample_run();
        cr_assert(store_add_run(s, &run, &err));
    }
    cr_assert(store_find_run(s, NULL, &id, &err) && id == 3);
    cr_assert(store_find_run(s, "", &id, &err) && id == 3);
    cr_assert(store_find_run(s, "last", &id, &err) && id == 3);
    cr_assert(store_find_run(s, "2", &id, &err) && id == 2);
    static const char *const wrong[] = {"4", "0", "-1", "2x", "first", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert(!store_find_run(s, wrong[i], &id, &err), "%s", wrong[i]);
        cr_assert_eq(err.kind, ERROR_USAGE);
    }
    store_close(s);
}

Test(store, refuses_a_child_without_its_parent) {
    struct store *s = open_new("a.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err));
    struct search_node orphan = sample_node(3, 1);
    cr_assert(!store_put_node(s, 1, &orphan, &err));
    struct search_node root = sample_node(0, -1);
    cr_assert(!store_put_node(s, 99, &root, &err));
    store_close(s);
}

Test(store, is_made_here_and_found_from_below) {
    struct store *s = open_new(NULL);
    store_close(s);
    char *ignore = file_read(&a, ".hone/.gitignore", 100, NULL, &err);
    cr_assert(ignore);
    cr_assert_str_eq(ignore, "*\n");
    cr_assert(mkdir("sub", 0777) == 0 && mkdir("sub/deep", 0777) == 0 && chdir("sub/deep") == 0);
    cr_assert(store_open(&s, NULL, false, &err), "%s", err.text);
    cr_assert_str_eq(store_path(s), arena_printf(&a, "%s/.hone/runs.db", dir));
    store_close(s);
    cr_assert(store_open(&s, NULL, true, &err), "%s", err.text);
    store_close(s);
    cr_assert(!file_exists(".hone"));
}

Test(store, missing_is_a_usage_error_and_makes_nothing) {
    struct store *s = NULL;
    cr_assert(!store_open(&s, NULL, false, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert(!file_exists(".hone"));
    cr_assert(!store_open(&s, "none.db", false, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert(!file_exists("none.db"));
}

Test(store, a_named_directory_holds_it_and_missing_directories_are_made) {
    struct store *s = open_new("new/deeper/a.db");
    store_close(s);
    s = open_new("new");
    cr_assert_str_eq(store_path(s), "new/runs.db");
    store_close(s);
}

static void write_text(const char *path, const char *text) {
    cr_assert(file_write(path, text, strlen(text), &err));
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void expect_refused(const char *path, enum error_kind kind, const char *words) {
    struct store *s = NULL;
    for (int create = 0; create < 2; create++) {
        err = (struct error){0};
        cr_assert(!store_open(&s, path, create, &err), "%s opened", path);
        cr_assert_eq(err.kind, kind, "%s", err.text);
        cr_assert(strstr(err.text, words), "%s", err.text);
        cr_assert(strstr(err.text, path), "%s", err.text);
    }
}

Test(store, refuses_what_is_not_a_store) {
    write_text("text.db", "This is a plain text file, long enough to be looked at as a header, "
                          "and certainly not made by SQLite at all.");
    expect_refused("text.db", ERROR_USAGE, "not a hone store");
    run_sql("other.db", "CREATE TABLE t (x)");
    expect_refused("other.db", ERROR_USAGE, "not a hone store");
    run_sql("other2.db", "CREATE TABLE t (x); PRAGMA user_version = 1; PRAGMA application_id = 5");
    expect_refused("other2.db", ERROR_USAGE, "not a hone store");
}

Test(store, refuses_a_newer_schema_and_names_both_numbers) {
    store_close(open_new("a.db"));
    run_sql("a.db", "PRAGMA user_version = 7");
    expect_refused("a.db", ERROR_UNSUPPORTED, "schema 7 is newer than 3");
}

Test(store, says_that_a_damaged_file_is_damaged) {
    struct store *s = open_new("a.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err));
    store_close(s);
    // Overwrite the pages behind the header's page.
    int fd = open("a.db", O_WRONLY);
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    for (int page = 1; page < 5; page++)
        cr_assert_eq(pwrite(fd, junk, sizeof junk, page * 4096L), (ssize_t)sizeof junk);
    close(fd);
    cr_assert(store_open(&s, "a.db", false, &err), "%s", err.text);
    struct run *runs;
    int n;
    cr_assert(!store_list_runs(s, &a, 10, &runs, &n, &err));
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert(strstr(err.text, "damaged"), "%s", err.text);
    store_close(s);
}

Test(store, says_when_a_record_is_not_readable) {
    struct store *s = open_new("a.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err));
    run_sql("a.db", "UPDATE run SET record = '{'");
    struct run back;
    cr_assert(!store_get_run(s, &a, 1, &back, &err));
    cr_assert(strstr(err.text, "read run 1 of a.db"), "%s", err.text);
    store_close(s);
}

Test(store, a_full_disk_loses_nothing_that_was_acknowledged) {
    struct store *s = open_new("a.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err));
    // A limit on file size fails writes as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {400000, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    char *big = arena_alloc(&a, 20001);
    memset(big, 'x', 20000);
    int n_stored = 0;
    for (; n_stored < 100; n_stored++) {
        struct search_node n = sample_node(n_stored, n_stored - 1);
        n.candidate.source = big;
        if (!store_put_node(s, 1, &n, &err))
            break;
    }
    cr_assert_lt(n_stored, 100);
    cr_assert_gt(n_stored, 2);
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert(strstr(err.text, "is safe"), "%s", err.text);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    store_close(s);

    cr_assert(store_open(&s, "a.db", false, &err), "%s", err.text);
    struct search_node *nodes;
    int n_nodes;
    cr_assert(store_get_nodes(s, &a, 1, &nodes, &n_nodes, &err), "%s", err.text);
    cr_assert_eq(n_nodes, n_stored);
    store_close(s);
}

Test(store, survives_kill_at_any_write) {
    store_close(open_new("a.db"));
    int pipe_fds[2];
    cr_assert_eq(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *s;
        struct run run = sample_run();
        if (!store_open(&s, "a.db", true, &err) || !store_add_run(s, &run, &err))
            _exit(1);
        for (int i = 0;; i++) {
            struct search_node n = sample_node(i, i - 1);
            if (!store_put_node(s, 1, &n, &err) || write(pipe_fds[1], "", 1) != 1)
                _exit(1);
        }
    }
    char byte;
    int n_acknowledged = 0;
    for (; n_acknowledged < 20; n_acknowledged++)
        cr_assert_eq(read(pipe_fds[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipe_fds[1]);
    while (read(pipe_fds[0], &byte, 1) == 1)
        n_acknowledged++;

    struct store *s;
    cr_assert(store_open(&s, "a.db", true, &err), "%s", err.text);
    struct search_node *nodes;
    int n_nodes;
    cr_assert(store_get_nodes(s, &a, 1, &nodes, &n_nodes, &err), "%s", err.text);
    cr_assert_geq(n_nodes, n_acknowledged);
    cr_assert(store_lock_run(s, 1, &err), "%s", err.text);
    store_close(s);
}

Test(store, two_processes_write_in_turn) {
    enum { EACH = 25 };
    pid_t children[2];
    for (int c = 0; c < 2; c++) {
        children[c] = fork();
        if (children[c] == 0) {
            struct store *s;
            struct run run = sample_run();
            bool ok = store_open(&s, "a.db", true, &err) && store_add_run(s, &run, &err);
            for (int i = 0; ok && i < EACH; i++) {
                struct search_node n = sample_node(i, i - 1);
                ok = store_put_node(s, run.id, &n, &err);
            }
            if (!ok)
                fprintf(stderr, "%s\n", err.text);
            _exit(!ok);
        }
    }
    for (int c = 0; c < 2; c++) {
        int status;
        waitpid(children[c], &status, 0);
        cr_assert_eq(status, 0);
    }
    struct store *s = open_new("a.db");
    struct run run;
    for (int id = 1; id <= 2; id++) {
        cr_assert(store_get_run(s, &a, id, &run, &err), "%s", err.text);
        cr_assert_eq(run.n_nodes, EACH);
    }
    store_close(s);
}

Test(store, a_run_belongs_to_one_process_at_a_time) {
    struct store *s = open_new("a.db"), *other = open_new("a.db");
    cr_assert(!store_run_is_locked(other, 1));
    cr_assert(store_lock_run(s, 1, &err), "%s", err.text);
    cr_assert(store_run_is_locked(other, 1));
    cr_assert(!store_lock_run(other, 1, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert(strstr(err.text, "another process"), "%s", err.text);
    cr_assert(store_lock_run(other, 2, &err));
    store_close(s);
    cr_assert(store_lock_run(other, 1, &err), "%s", err.text);
    store_close(other);
}

Test(store, can_be_read_where_nothing_may_be_written) {
    struct store *s = open_new("sub/a ?%23.db");
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err));
    store_close(s);
    cr_assert(chmod("sub", 0555) == 0 && chmod(dir, 0755) == 0);
    // Root may write anywhere: the rest is asked as somebody else.
    pid_t child = fork();
    if (child == 0) {
        bool ok = getuid() != 0 || setuid(65534) == 0;
        ok = ok && store_open(&s, "sub/a ?%23.db", false, &err);
        ok = ok && store_get_run(s, &a, 1, &run, &err);
        ok = ok && !store_open(&s, "sub/b.db", true, &err) && err.kind == ERROR_IO;
        ok = ok && !store_open(&s, "sub/a ?%23.db", true, &err) && err.kind == ERROR_IO;
        if (!ok)
            fprintf(stderr, "%s\n", err.text);
        _exit(!ok);
    }
    int status;
    waitpid(child, &status, 0);
    chmod("sub", 0755);
    cr_assert_eq(status, 0);
}

Test(store, an_older_store_is_brought_up_and_can_be_read_as_it_is) {
    struct store *s;
    struct exchange *exchanges;
    struct judgement *judgements;
    int n = -1;
    char sql[4096];
    snprintf(sql, sizeof sql, "%s; PRAGMA user_version = 1; PRAGMA application_id = %d",
             embedded_text("schema.sql"), 0x686f6e65);
    run_sql("old.db", sql);
    cr_assert(store_open(&s, "old.db", false, &err), "%s", err.text);
    cr_assert(store_get_exchanges(s, &a, 1, &exchanges, &n, &err), "%s", err.text);
    cr_expect_eq(n, 0);
    store_close(s);
    cr_assert(store_open(&s, "old.db", true, &err), "%s", err.text);
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err), "%s", err.text);
    cr_assert(store_get_judgements(s, &a, run.id, &judgements, &n, &err), "%s", err.text);
    cr_expect_eq(n, 0);
    store_close(s);
}

Test(store, writes_several_at_once_or_none) {
    struct store *s;
    struct search_node *nodes;
    int n;
    cr_assert(store_open(&s, "several.db", true, &err), "%s", err.text);
    struct run run = sample_run();
    cr_assert(store_add_run(s, &run, &err), "%s", err.text);
    for (int ok = 0; ok < 2; ok++) {
        cr_assert(store_begin(s, &err), "%s", err.text);
        for (int i = 0; i < 3; i++) {
            struct search_node node = {.number = i, .parent = i - 1, .time_s = NAN};
            cr_assert(store_put_node(s, run.id, &node, &err), "%s", err.text);
        }
        cr_expect_eq(store_end(s, ok, &err), ok);
        cr_assert(store_get_nodes(s, &a, run.id, &nodes, &n, &err), "%s", err.text);
        cr_expect_eq(n, ok ? 3 : 0);
    }
    store_close(s);
}

Test(store, keeps_exchanges_and_judgements_in_order) {
    struct store *s;
    struct run run = sample_run();
    cr_assert(store_open(&s, "a.db", true, &err), "%s", err.text);
    cr_assert(store_add_run(s, &run, &err), "%s", err.text);
    struct exchange e = {.role = "plan",
                         .provider = "exec",
                         .hash = "h",
                         .node = 3,
                         .request = {.tag = "t", .system = "s"},
                         .cost_usd = NAN,
                         .reserved_usd = NAN};
    cr_assert(store_put_exchange(s, run.id, &e, &err), "%s", err.text);
    cr_expect_eq(e.number, 1);
    e.state = EXCHANGE_ANSWERED;
    e.answer = (struct chat_answer){.text = "yes", .usage = chat_usage_unknown()};
    cr_assert(store_put_exchange(s, run.id, &e, &err), "%s", err.text);
    struct exchange second = e;
    second.number = 0;
    cr_assert(store_put_exchange(s, run.id, &second, &err), "%s", err.text);
    cr_expect_eq(second.number, 2);
    struct exchange *exchanges;
    int n;
    cr_assert(store_get_exchanges(s, &a, run.id, &exchanges, &n, &err), "%s", err.text);
    cr_assert_eq(n, 2);
    cr_expect_eq(exchanges[0].state, EXCHANGE_ANSWERED);
    cr_expect_str_eq(exchanges[0].answer.text, "yes");

    struct judgement j = {.subject = "x", .depth = "rank", .verdict = {.evidence = ""}};
    struct judgement *judgements;
    cr_assert(store_add_judgement(s, run.id, &j, &err), "%s", err.text);
    j.subject = "y";
    cr_assert(store_add_judgement(s, run.id, &j, &err), "%s", err.text);
    cr_assert(store_drop_judgements(s, run.id, "x", false, &err), "%s", err.text);
    cr_assert(store_get_judgements(s, &a, run.id, &judgements, &n, &err), "%s", err.text);
    cr_assert_eq(n, 1);
    cr_expect_str_eq(judgements[0].subject, "y");
    cr_expect_eq(judgements[0].number, 2);
    // What a race said may stay where the rest is said anew.
    j.subject = "y";
    j.depth = "race";
    j.screening = (struct screening){.present = true, .against = "x", .speedup = 2, .time_s = 1};
    cr_assert(store_add_judgement(s, run.id, &j, &err), "%s", err.text);
    cr_assert(store_drop_judgements(s, run.id, "y", true, &err), "%s", err.text);
    cr_assert(store_get_judgements(s, &a, run.id, &judgements, &n, &err), "%s", err.text);
    cr_assert_eq(n, 1);
    cr_expect_str_eq(judgements[0].depth, "race");
    cr_expect(judgements[0].screening.present && judgements[0].screening.speedup == 2);
    store_close(s);
}
