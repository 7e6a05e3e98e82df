// flock() on a file of the user's runtime directory, tried again and again, so that Ctrl-C and the
// deadline are noticed.
#include "base/lease.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

const char *lease_path(struct arena *a, const char *device) {
    struct error err = {0};
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *dir = runtime && *runtime ? arena_printf(a, "%s/hone", runtime) : NULL;
    if (!dir || !file_make_dirs(dir, &err))
        dir = file_cache_dir(a, "leases", &err);
    if (!dir)
        log_info("no lease on %s: %s", device, err.text);
    return dir ? arena_printf(a, "%s/%s.lease", dir, device) : "";
}

void lease_open(struct lease *l, const char *path) {
    int fd = path && *path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    *l = (struct lease){.fd = fd};
}

// A lock that waits would not hear of an interruption, nor of the end of its time.
double lease_take(struct lease *l, double most_s) {
    int64_t start_ns = clock_now_ns();
    double waited_s = 0;
    struct timespec moment = {.tv_nsec = 1000000};
    while (l->fd >= 0 && !l->is_held) {
        l->is_held = flock(l->fd, LOCK_EX | LOCK_NB) == 0;
        waited_s = (double)(clock_now_ns() - start_ns) * 1e-9;
        if (l->is_held || waited_s >= most_s || interrupt_seen())
            break;
        nanosleep(&moment, NULL);
    }
    return waited_s;
}

void lease_release(struct lease *l) {
    if (l->is_held)
        flock(l->fd, LOCK_UN);
    l->is_held = false;
}

void lease_close(struct lease *l) {
    lease_release(l);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}
