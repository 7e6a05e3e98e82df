#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lease.h"
#include "scratch.h"

static const char *use_scratch(struct arena *a) {
    const char *dir = scratch_make(a);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    return dir;
}

// A process that has the lease and says so.
static pid_t start_holder(const char *path) {
    int ready[2];
    char byte = 0;
    cr_assert(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lease l;
        lease_open(&l, path);
        lease_take(&l, 1);
        byte = l.is_held ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    cr_assert(read(ready[0], &byte, 1) == 1);
    cr_assert_eq(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

Test(lease, keeps_a_second_process_out_until_the_first_is_dead) {
    struct arena a = {0};
    struct lease l, other;
    const char *dir = use_scratch(&a);
    pid_t pid = start_holder(lease_path(&a, "cpu"));
    lease_open(&l, lease_path(&a, "cpu"));
    lease_take(&l, 0.05);
    cr_expect_not(l.is_held);
    // Another device is another lease.
    lease_open(&other, lease_path(&a, "cuda-0"));
    lease_take(&other, 0);
    cr_expect(other.is_held);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    lease_take(&l, 5);
    cr_expect(l.is_held);
    lease_close(&l);
    lease_close(&other);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(lease, can_be_given_and_taken_again) {
    struct arena a = {0};
    struct lease l, other;
    const char *dir = use_scratch(&a);
    lease_open(&l, lease_path(&a, "cpu"));
    lease_open(&other, lease_path(&a, "cpu"));
    lease_take(&l, 0);
    lease_take(&other, 0);
    cr_expect(l.is_held && !other.is_held);
    lease_release(&l);
    lease_take(&other, 0);
    cr_expect(other.is_held);
    lease_close(&other);
    lease_take(&l, 0);
    cr_expect(l.is_held);
    lease_close(&l);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(lease, without_a_file_nobody_waits) {
    struct lease l;
    setenv("XDG_RUNTIME_DIR", "/dev/null", 1);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    struct arena a = {0};
    lease_open(&l, lease_path(&a, "cpu"));
    cr_expect_eq(l.fd, -1);
    cr_expect_eq(lease_take(&l, 100), 0);
    cr_expect_not(l.is_held);
    lease_close(&l);
    arena_reset(&a);
}
