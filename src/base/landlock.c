// The three Landlock system calls; older headers lack wrappers for them.
#include "base/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    // What the first version knows: files cannot be opened, made or removed.
    ALL = (1 << 13) - 1,
    READ_FILE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE,
    READ_DIR = READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    WRITE_FILE = READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
    HIGH = 64,  // so that putting other descriptors in their places does not overwrite it
};

static void add_path(int rules, const struct landlock_path *p) {
    struct stat s;
    struct landlock_path_beneath_attr beneath = {.parent_fd = open(p->path, O_PATH | O_CLOEXEC)};
    if (beneath.parent_fd < 0)
        return;
    bool is_dir = fstat(beneath.parent_fd, &s) == 0 && S_ISDIR(s.st_mode);
    beneath.allowed_access =
        p->can_write ? (is_dir ? ALL : WRITE_FILE) : (is_dir ? READ_DIR : READ_FILE);
    // A rule that cannot be added takes away a right, and the call that needs it fails.
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    close(beneath.parent_fd);
}

int landlock_rules(const struct landlock_path *paths) {
    struct landlock_ruleset_attr all = {.handled_access_fs = ALL};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (fd < 0)
        return -1;
    for (; paths->path; paths++)
        add_path(fd, paths);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    close(fd);
    return high;
}

bool landlock_enter(int rules) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}
