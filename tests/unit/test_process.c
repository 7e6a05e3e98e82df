#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "scratch.h"

// Run a shell script under the rest of `spec`.
static struct process_result run(struct arena *a, const char *script, struct process_spec spec) {
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct process_result r;
    struct error err = {0};
    spec.argv = argv;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    return r;
}

// No child of ours is left, neither running nor as a zombie.
static void assert_no_children(void) {
    cr_assert_lt(waitpid(-1, NULL, WNOHANG), 0);
}

// Nobody holds the other end of this pipe any more: what held it is dead.
static void assert_end_of(int fd) {
    char bytes[64];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
    }
    cr_assert_eq(n, 0);
}

Test(process, collects_both_streams_and_the_status) {
    struct arena a = {0};
    struct process_result r = run(&a, "echo out; echo err >&2; exit 7", (struct process_spec){0});
    cr_assert_str_eq(r.out, "out\n");
    cr_assert_str_eq(r.err, "err\n");
    cr_assert_eq(r.exit_status, 7);
    cr_assert_eq(r.signal, 0);
    cr_assert_not(r.timed_out);
    assert_no_children();
    arena_reset(&a);
}

Test(process, runs_where_few_files_may_be_open) {
    struct arena a = {0};
    struct rlimit few = {40, 40};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    cr_assert_str_eq(run(&a, "echo out", (struct process_spec){0}).out, "out\n");
    arena_reset(&a);
}

Test(process, tells_a_signal_from_an_exit) {
    struct arena a = {0};
    struct process_result r = run(&a, "kill -SEGV $$", (struct process_spec){0});
    cr_assert_eq(r.exit_status, -1);
    cr_assert_eq(r.signal, SIGSEGV);
    arena_reset(&a);
}

Test(process, feeds_input_and_null_otherwise) {
    struct arena a = {0};
    size_t len = 300000;
    char *input = arena_alloc(&a, len);
    memset(input, 'x', len);
    struct process_result r =
        run(&a, "wc -c; cat /dev/stdin", (struct process_spec){.input = input, .input_len = len});
    cr_assert_eq(strncmp(r.out, "300000\n", 7), 0, "%s", r.out);
    r = run(&a, "cat", (struct process_spec){0});
    cr_assert_str_eq(r.out, "");
    r = run(&a, "cat", (struct process_spec){.input = "", .input_len = 0});
    cr_assert_str_eq(r.out, "");
    arena_reset(&a);
}

Test(process, caps_output_without_blocking_the_child) {
    struct arena a = {0};
    const char *script = "yes | head -c 300000; yes | head -c 300000 >&2; exit 3";
    struct process_result r = run(&a, script, (struct process_spec){.max_output = 1000});
    cr_assert_eq(strlen(r.out), 1000);
    cr_assert_eq(strlen(r.err), 1000);
    cr_assert_eq(r.exit_status, 3);
    r = run(&a, script, (struct process_spec){0});
    cr_assert_eq(strlen(r.out), 64 * 1024);
    arena_reset(&a);
}

// One that never stops is ended once nobody would read on, without a clock.
Test(process, ends_a_child_that_says_too_much) {
    struct arena a = {0};
    struct process_result r =
        run(&a, "yes", (struct process_spec){.max_output = 1000, .ends_when_cut = true});
    cr_expect(r.was_cut && !r.timed_out);
    cr_expect_eq(strlen(r.out), 1000);
    r = run(&a, "echo all", (struct process_spec){.max_output = 1000, .ends_when_cut = true});
    cr_expect(!r.was_cut && r.exit_status == 0);
    cr_expect_str_eq(r.out, "all\n");
    // A clock ends it too, however fast it writes.
    r = run(&a, "yes", (struct process_spec){.max_output = 10, .timeout_ns = 100000000});
    cr_expect(r.timed_out && r.was_cut);
    assert_no_children();
    arena_reset(&a);
}

Test(process, output_is_text) {
    struct arena a = {0};
    struct process_result r =
        run(&a, "printf 'a\\000\\377\\303\\244'", (struct process_spec){.max_output = 4});
    cr_assert_str_eq(r.out, "a???", "the last character is cut in two");
    arena_reset(&a);
}

Test(process, timeout_kills_grandchildren) {
    struct arena a = {0};
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    const char *script = arena_printf(&a, "sleep 1000 >&%d & sleep 1000", fd[1]);
    struct process_result r =
        run(&a, script,
            (struct process_spec){.timeout_ns = 50000000, .keep_fds = &fd[1], .n_keep_fds = 1});
    cr_assert(r.timed_out);
    cr_assert_eq(r.signal, SIGKILL);
    assert_no_children();
    close(fd[1]);
    assert_end_of(fd[0]);
    arena_reset(&a);
}

Test(process, does_not_wait_for_what_a_child_leaves_behind) {
    struct arena a = {0};
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    // The sleeper keeps the child's own stdout open; it must neither delay nor survive.
    struct process_result r = run(&a, "sleep 1000 & echo done",
                                  (struct process_spec){.keep_fds = &fd[1], .n_keep_fds = 1});
    cr_assert_str_eq(r.out, "done\n");
    cr_assert_eq(r.exit_status, 0);
    close(fd[1]);
    assert_end_of(fd[0]);
    arena_reset(&a);
}

Test(process, waits_for_a_child_that_closed_its_output) {
    struct arena a = {0};
    struct process_result r =
        run(&a, "exec >&- 2>&-; sleep 0.05; exit 5", (struct process_spec){0});
    cr_assert_eq(r.exit_status, 5);
    arena_reset(&a);
}

static enum error_kind refused(struct process_spec spec, const char *program, struct error *err) {
    struct arena a = {0};
    const char *argv[] = {program, NULL};
    struct process_result r;
    struct process p;
    spec.argv = argv;
    cr_assert_not(process_start(&p, &spec, err));
    cr_assert_eq(p.pid, 0);
    cr_assert_not(process_run(&a, &spec, &r, err));
    assert_no_children();
    arena_reset(&a);
    return err->kind;
}

Test(process, that_cannot_run_is_an_error) {
    struct error err = {0};
    cr_assert_eq(refused((struct process_spec){0}, "/no/such/program", &err), ERROR_UNSUPPORTED);
    cr_assert_str_eq(err.text, "run /no/such/program: No such file or directory");
    cr_assert_eq(refused((struct process_spec){0}, "/", &err), ERROR_UNSUPPORTED);
    cr_assert_eq(refused((struct process_spec){.cwd = "/no/such"}, "/bin/true", &err), ERROR_IO);
    cr_assert_str_eq(err.text, "run /bin/true: change to /no/such: No such file or directory");
    int closed = 1000;
    cr_assert_eq(
        refused((struct process_spec){.keep_fds = &closed, .n_keep_fds = 1}, "/bin/true", &err),
        ERROR_IO);
}

Test(process, runs_where_it_is_told) {
    struct arena a = {0};
    struct process_result r = run(&a, "pwd -P", (struct process_spec){.cwd = "/"});
    cr_assert_str_eq(r.out, "/\n");
    arena_reset(&a);
}

Test(process, temporary_files_go_where_they_are_told) {
    struct arena a = {0};
    setenv("TMPDIR", "/there", 1);
    struct process_result r =
        run(&a, "echo $TMPDIR; env | grep -c TMPDIR=", (struct process_spec){0});
    cr_assert_str_eq(r.out, "/there\n1\n");
    r = run(&a, "echo $TMPDIR; env | grep -c TMPDIR=", (struct process_spec){.tmp_dir = "/here"});
    cr_assert_str_eq(r.out, "/here\n1\n");
    arena_reset(&a);
}

Test(process, environment_is_minimal_unless_kept) {
    struct arena a = {0};
    setenv("HONE_SECRET", "key", 1);
    setenv("LANG", "C", 1);
    struct process_result r = run(&a, "echo ${HONE_SECRET-none} $LANG", (struct process_spec){0});
    cr_assert_str_eq(r.out, "none C\n");
    r = run(&a, "echo ${HONE_SECRET-none}", (struct process_spec){.keep_environment = true});
    cr_assert_str_eq(r.out, "key\n");
    arena_reset(&a);
}

Test(process, inherits_only_the_descriptors_named) {
    struct arena a = {0};
    int other[] = {dup(0), fcntl(0, F_DUPFD, 50), fcntl(0, F_DUPFD, 200)};
    // The shell opens the directory itself while it lists: look for ours by number.
    const char *script = "for f in /proc/self/fd/*; do echo ${f##*/}; done";
    struct process_result r = run(&a, script, (struct process_spec){0});
    for (int i = 0; i < 3; i++)
        cr_assert(other[i] <= 9 || !strstr(r.out, arena_printf(&a, "\n%d\n", other[i])));
    const char *probe =
        arena_printf(&a, "for f in %d %d %d; do test -e /proc/self/fd/$f && echo $f; done",
                     other[0], other[1], other[2]);
    const char *const argv[] = {"/bin/sh", "-c", probe, NULL};
    struct error err = {0};
    cr_assert(process_run(&a, &(struct process_spec){.argv = argv}, &r, &err), "%s", err.text);
    cr_assert_str_eq(r.out, "");
    r = run(&a, probe, (struct process_spec){.keep_fds = &other[1], .n_keep_fds = 1});
    cr_assert_str_eq(r.out, "50\n");
    arena_reset(&a);
}

Test(process, has_default_signals_and_its_own_group) {
    struct arena a = {0};
    interrupt_init();  // ignores SIGPIPE; the child must not
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    struct process_result r =
        run(&a, "grep -E 'Sig(Blk|Ign)' /proc/self/status", (struct process_spec){0});
    unsigned long long blocked, ignored;
    cr_assert_eq(sscanf(r.out, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    cr_assert_eq(blocked, 0);
    // Signals 32 and 33 are the C library's own: nobody else can set them.
    cr_assert_eq(ignored & ~(3ull << 31), 0);
    r = run(&a, "test $$ = $(ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat)",
            (struct process_spec){0});
    cr_assert_eq(r.exit_status, 0);
    arena_reset(&a);
}

Test(process, obeys_limits) {
    struct arena a = {0};
    struct process_result r = run(&a, "ulimit -t; ulimit -v; ulimit -f; ulimit -c",
                                  (struct process_spec){.limit_cpu_s = 11,
                                                        .limit_memory_bytes = (int64_t)1 << 30,
                                                        .limit_file_bytes = 1 << 20});
    cr_assert_str_eq(r.out, "11\n1048576\n2048\n0\n");
    arena_reset(&a);
}

Test(process, keeps_a_lower_limit_that_it_is_under_itself) {
    struct arena a = {0};
    struct rlimit low = {.rlim_cur = 1 << 16, .rlim_max = 1 << 16};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    struct process_result r =
        run(&a, "ulimit -f; ulimit -t",
            (struct process_spec){.limit_cpu_s = 11, .limit_file_bytes = 1 << 20});
    cr_assert_str_eq(r.out, "128\n11\n");
    arena_reset(&a);
}

Test(process, interrupt_kills_the_child) {
    struct arena a = {0};
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    interrupt_init();
    raise(SIGINT);
    const char *argv[] = {"/bin/sleep", "1000", NULL};
    struct process_spec spec = {.argv = argv, .keep_fds = &fd[1], .n_keep_fds = 1};
    struct process_result r;
    struct error err = {0};
    cr_assert_not(process_run(&a, &spec, &r, &err));
    cr_assert_eq(err.kind, ERROR_INTERRUPTED);
    assert_no_children();
    close(fd[1]);
    assert_end_of(fd[0]);
    arena_reset(&a);
}

static struct process start(const char *script, struct process_spec spec) {
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct process p;
    struct error err = {0};
    spec.argv = argv;
    cr_assert(process_start(&p, &spec, &err), "%s", err.text);
    return p;
}

Test(process, companion_talks_over_descriptor_3) {
    struct process p =
        start("read x <&3; echo got $x >&3; echo lost; exit 7", (struct process_spec){0});
    struct process_result r = {0};
    cr_assert_not(process_ended(&p, &r), "it waits for us");
    cr_assert_eq(write(p.socket, "hello\n", 6), 6);
    char answer[64] = {0};
    size_t len = 0;
    for (ssize_t n; (n = read(p.socket, answer + len, sizeof answer - 1 - len)) > 0;)
        len += (size_t)n;
    cr_assert_str_eq(answer, "got hello\n");
    while (!process_ended(&p, &r))
        sched_yield();
    cr_assert_eq(r.exit_status, 7);
    cr_assert_eq(p.pid, 0);
    cr_assert(process_ended(&p, &r), "asked again, it still has ended");
    assert_no_children();
    process_kill(&p);
}

Test(process, kill_ends_the_whole_group_and_may_be_repeated) {
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    struct process p = start("sleep 1000 & sleep 1000",
                             (struct process_spec){.keep_fds = &fd[1], .n_keep_fds = 1});
    process_kill(&p);
    assert_no_children();
    close(fd[1]);
    assert_end_of(fd[0]);
    process_kill(&p);
    struct process never = {0};
    process_kill(&never);
    cr_assert_geq(fcntl(0, F_GETFD), 0, "our own stdin is still open");
}

Test(process, close_lets_a_companion_finish) {
    struct arena a = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/said", dir);
    struct process p = start("cat <&3 >said; echo bye >>said", (struct process_spec){.cwd = dir});
    cr_assert_eq(write(p.socket, "hello\n", 6), 6);
    process_close(&p, (int64_t)60 * 1000000000);
    cr_assert_eq(p.pid, 0);
    assert_no_children();
    struct error err = {0};
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "hello\nbye\n");
    scratch_remove(dir);
    arena_reset(&a);
}

Test(process, close_kills_a_companion_that_stays) {
    struct process p = start("sleep 1000", (struct process_spec){0});
    process_close(&p, 1000000);
    assert_no_children();
    process_close(&p, 0);
}

// A child dies with its parent, even when that is killed.
Test(process, companion_dies_with_us) {
    int fd[2];
    cr_assert_eq(pipe2(fd, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0) {
        start("exec sleep 1000", (struct process_spec){.keep_fds = &fd[1], .n_keep_fds = 1});
        kill(getpid(), SIGKILL);
    }
    close(fd[1]);
    int status;
    cr_assert_eq(waitpid(parent, &status, 0), parent);
    cr_assert(WIFSIGNALED(status));
    assert_end_of(fd[0]);
}

// So does what the child has started: a compiler's parts.
Test(process, all_below_a_program_dies_with_us) {
    int fd[2];
    cr_assert_eq(pipe2(fd, O_CLOEXEC), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct arena a = {0};
        const char *script = "sh -c 'sleep 300; :' & echo >/proc/self/fd/%d; sleep 300";
        run(&a, arena_printf(&a, script, fd[1]),
            (struct process_spec){.keep_fds = &fd[1], .n_keep_fds = 1});
        _exit(0);
    }
    close(fd[1]);
    char byte;
    cr_assert_eq(read(fd[0], &byte, 1), 1, "the program has not started its own");
    cr_assert_eq(kill(parent, SIGKILL), 0);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    // Not for ever, as they would end by themselves at last.
    struct pollfd end = {.fd = fd[0], .events = POLLIN};
    cr_assert_eq(poll(&end, 1, 120000), 1, "somebody is left");
    assert_end_of(fd[0]);
}

Test(process, companion_keeps_stderr_when_debugging) {
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    int saved = dup(2);
    dup2(fd[1], 2);
    struct process quiet = start("echo quiet >&2", (struct process_spec){0});
    process_close(&quiet, (int64_t)60 * 1000000000);
    log_set_level(LOG_DEBUG);
    struct process loud = start("echo loud >&2", (struct process_spec){0});
    process_close(&loud, (int64_t)60 * 1000000000);
    dup2(saved, 2);
    close(fd[1]);
    char text[64] = {0};
    cr_assert_eq(read(fd[0], text, sizeof text - 1), 5);
    cr_assert_str_eq(text, "loud\n");
}

Test(process, runs_while_we_do_other_things) {
    struct error err = {0};
    struct process_pipes p;
    const char *const argv[] = {"/bin/sh", "-c", "echo out; echo err >&2; read line; exit 3", NULL};
    struct process_spec spec = {.argv = argv};
    cr_assert(process_open(&p, &spec, &err), "%s", err.text);
    struct pollfd end = {.fd = p.end, .events = POLLIN};
    while (!process_is_over(&p))
        poll(&end, 1, 10);
    char text[16] = "";
    cr_expect_eq(read(p.out[0], text, sizeof text), 4);
    cr_expect_str_eq(text, "out\n");
    cr_expect_eq(read(p.out[1], text, sizeof text), 4);
    struct process_result result = {0};
    process_finish(&p, &result);
    cr_expect_eq(result.exit_status, 3);
    process_finish(&p, NULL);

    const char *const none[] = {"/nothing/there", NULL};
    spec.argv = none;
    cr_expect_not(process_open(&p, &spec, &err));
    process_finish(&p, NULL);
}
