#include "base/temporary.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"

static void set_age(const char *path, long seconds) {
    struct timespec at = {time(NULL) - seconds, 0}, times[2] = {at, at};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char *make_dir(struct arena *a, const char *dir, const char *name, long age_s) {
    const char *path = arena_printf(a, "%s/%s", dir, name);
    cr_assert_eq(mkdir(path, 0700), 0);
    set_age(path, age_s);
    return path;
}

static const char *make_file(struct arena *a, const char *dir, const char *name, long age_s) {
    struct error err = {0};
    const char *path = arena_printf(a, "%s/%s", dir, name);
    cr_assert(file_create(path, "half", 4, &err), "%s", err.text);
    set_age(path, age_s);
    return path;
}

// A process that is killed in the middle of something leaves a file and a directory with a file.
static void leave_behind(struct arena *a, const char *dir) {
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        char name[TEMPORARY_MAX];
        temporary_name(name);
        make_file(a, dir, name, 0);
        temporary_name(name);
        make_file(a, make_dir(a, dir, name, 0), "inside", 0);
        kill(getpid(), SIGKILL);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status));
}

static int count(struct arena *a, const char *dir) {
    FILE *p = popen(arena_printf(a, "ls -A '%s' | wc -l", dir), "r");
    int n = -1;
    cr_assert_eq(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

Test(stray, of_the_dead_is_removed_and_of_the_living_is_not) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    char name[TEMPORARY_MAX];
    temporary_name(name);
    const char *ours = make_file(&a, dir, name, 0);
    leave_behind(&a, dir);
    cr_assert_eq(count(&a, dir), 3);
    temporary_remove_dead(dir);
    cr_expect_eq(count(&a, dir), 1);
    cr_expect(file_exists(ours));
    temporary_remove_dead("/nonexistent");
    scratch_remove(dir);
    arena_reset(&a);
}

Test(stray, of_other_machines_is_removed_when_it_is_old) {
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    const char *fresh = make_dir(&a, dir, ".new-00000000-1-1-abcdef", 60);
    const char *old = make_dir(&a, dir, ".new-00000000-1-2-abcd09", 7200);
    temporary_remove_dead(dir);
    cr_expect(file_exists(fresh));
    cr_expect_not(file_exists(old));
    scratch_remove(dir);
    arena_reset(&a);
}

Test(stray, leaves_what_is_called_otherwise) {
    static const char *const names[] = {
        ".new-",
        ".new-abcdef",
        ".new-00000000-1-1",
        ".new-00000000-1-1-abcde",
        ".new-00000000-1-1-abcdefg",
        ".new-00000000-1-1-abc.ef",
        ".new-00000000-1-1-abcDef",
        ".new-0000000g-1-1-abcdef",
        ".new-00000000-x-1-abcdef",
        "a.new-00000000-1-1-abcdef",
        ".new-00000000-1-111111111111111111111111111111111111111111-abcdef",
        "problem.hone.tmp",
    };
    enum { N = sizeof names / sizeof names[0] };
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    for (int i = 0; i < N; i++)
        make_file(&a, dir, names[i], 1000000);
    temporary_remove_dead(dir);
    cr_expect_eq(count(&a, dir), N);
    scratch_remove(dir);
    arena_reset(&a);
}

// Whatever a write makes on its way has such a name.
Test(stray, is_what_a_write_would_leave) {
    struct arena a = {0};
    struct error err = {0};
    char owner[OWNER_MAX], events[4096] __attribute__((aligned(8)));
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    owner_self(owner);
    const char *begins = arena_printf(&a, ".new-%s-", owner);
    int watch = inotify_init1(IN_NONBLOCK);
    cr_assert(watch >= 0 && inotify_add_watch(watch, dir, IN_CREATE) >= 0);
    cr_assert(file_write(path, "one", 3, &err) && file_keep(path, "two", 3, &err));
    int n = 0;
    ssize_t len = read(watch, events, sizeof events);
    for (ssize_t at = 0; at < len; n++) {
        const struct inotify_event *e = (const struct inotify_event *)(events + at);
        cr_expect_eq(strncmp(e->name, begins, strlen(begins)), 0, "%s", e->name);
        at += (ssize_t)sizeof *e + e->len;
    }
    cr_expect_eq(n, 2);
    cr_expect_str_eq(file_read(&a, path, 10, NULL, &err), "two");
    // The longest name that a file can have is no obstacle.
    char longest[NAME_MAX + 1] = "";
    memset(longest, 'x', NAME_MAX);
    cr_expect(file_write(arena_printf(&a, "%s/%s", dir, longest), "x", 1, &err), "%s", err.text);
    close(watch);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(stray, goes_when_something_is_written_beside_it) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    leave_behind(&a, dir);
    cr_assert(file_write(arena_printf(&a, "%s/f", dir), "x", 1, &err), "%s", err.text);
    cr_expect_eq(count(&a, dir), 1);
    leave_behind(&a, dir);
    cr_assert(file_write(arena_printf(&a, "%s/f", dir), "y", 1, &err), "%s", err.text);
    cr_expect_eq(count(&a, dir), 1);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(stray, goes_when_a_work_directory_is_opened) {
    struct arena a = {0};
    struct error err = {0};
    const char *cache = scratch_make(&a);
    cr_assert_eq(setenv("XDG_CACHE_HOME", cache, 1), 0);
    const char *dir = file_work_dir(&a, "objects", &err);
    cr_assert_not_null(dir, "%s", err.text);
    leave_behind(&a, dir);
    const char *scratch = file_scratch_dir(&a, &err);
    cr_assert_not_null(scratch, "%s", err.text);
    cr_expect_eq(count(&a, dir), 1);
    struct stat st;
    cr_expect(stat(scratch, &st) == 0 && (st.st_mode & 0777) == 0700);
    scratch_remove(cache);
    arena_reset(&a);
}
