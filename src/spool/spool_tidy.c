// What keeps a spool in order: stale claims, leftovers of the dead, descriptions of machines, and
// waiting for a change.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "spool/spool_private.h"

// Temporary files of other machines, whose owners nobody here can ask after.
enum { TMP_STALE_S = 3600 };

// What time is it where the files are? A file server has its own clock, and only that one is
// comparable with the times of files.
static bool file_system_now(struct spool *s, struct timespec *now, struct error *err) {
    char path[SPOOL_PATH], name[OWNER_MAX + 8];
    struct stat st;
    snprintf(name, sizeof name, "%s.clock", s->owner);
    spool_path(s, path, "tmp", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    bool ok = fd >= 0 && futimens(fd, NULL) == 0 && fstat(fd, &st) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    unlink(path);
    if (!ok && why == ENOENT)
        return error_set(err, ERROR_IO, "spool %s is not there any more", s->dir);
    if (!ok)
        return error_set(err, ERROR_IO, "spool %s: write %s: %s", s->dir, path, strerror(why));
    *now = st.st_mtim;
    return true;
}

static double seconds_between(const struct timespec *from, const struct timespec *to) {
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) * 1e-9;
}

static void tidy_tmp(struct spool *s, const struct timespec *now, const struct spool_list *l) {
    char path[SPOOL_PATH], owner[SPOOL_NAME_MAX];
    for (int i = 0; i < l->n; i++) {
        const struct spool_entry *e = &l->entries[i];
        snprintf(owner, sizeof owner, "%.*s", (int)strcspn(e->name, "."), e->name);
        if (owner_is_dead(owner) || seconds_between(&e->mtime, now) > TMP_STALE_S)
            unlink(spool_path(s, path, "tmp", e->name));
    }
}

// A job is abandoned when somebody dead wanted it and nobody else does.
static bool is_abandoned(const struct spool_list *wanted, const char *id) {
    bool abandoned = false;
    for (int i = 0; i < wanted->n; i++) {
        const char *name = wanted->entries[i].name;
        if (!spool_is_of(name, id))
            continue;
        if (!owner_is_dead(name + strlen(id) + 1))
            return false;
        abandoned = true;
    }
    return abandoned;
}

static void tidy_wanted(struct spool *s, const struct spool_list *l) {
    char path[SPOOL_PATH], id[SPOOL_NAME_MAX];
    for (int i = 0; i < l->n; i++) {
        const char *name = l->entries[i].name;
        const char *dot = strchr(name, '.');
        if (!dot || !owner_is_dead(dot + 1))
            continue;
        snprintf(id, sizeof id, "%.*s", (int)(dot - name), name);
        if (is_abandoned(l, id)) {
            log_info("spool %s: job %s: its client is gone", s->dir, id);
            spool_remove(s, "queue", id);
            spool_remove(s, "claimed", id);
            spool_remove(s, "done", id);
        }
        unlink(spool_path(s, path, "wanted", name));
    }
}

static bool is_answered(const struct spool *s, const char *id) {
    char path[SPOOL_PATH], name[SPOOL_NAME_MAX];
    snprintf(name, sizeof name, "%.*s.json", SPOOL_NAME_MAX - 8, id);
    return file_exists(spool_path(s, path, "done", name));
}

// Back to the queue, with the worker that ended over it counted; whatever else is called as no
// job of ours is goes back as it was.
static void requeue(const struct spool *s, const char *claim, const struct spool_name *n) {
    char from[SPOOL_PATH], to[SPOOL_PATH], name[SPOOL_NAME_MAX];
    spool_path(s, from, "claimed", claim);
    if (is_answered(s, n->id)) {
        unlink(from);
        return;
    }
    int tries = n->tries < SPOOL_TRIES ? n->tries + 1 : SPOOL_TRIES;
    if (n->is_ours)
        snprintf(name, sizeof name, "%.32s.%.32s.%.16s.%d.json", n->id, n->kind, n->machine, tries);
    else
        snprintf(name, sizeof name, "%.*s.json",
                 (int)(strlen(claim) - strlen(n->owner) - strlen("..json")), claim);
    log_info("spool %s: job %s: %s ended over it, back to the queue", s->dir, n->id, n->owner);
    rename(from, spool_path(s, to, "queue", name));
}

static void tidy_claims(struct spool *s, const struct timespec *now, const struct spool_list *l) {
    for (int i = 0; i < l->n; i++) {
        const struct spool_entry *e = &l->entries[i];
        struct spool_name n;
        spool_parse(e->name, true, &n);
        if (strcmp(n.owner, s->owner) == 0 || strlen(e->name) < strlen(n.owner) + strlen("x..json"))
            continue;
        if (owner_is_dead(n.owner) || seconds_between(&e->mtime, now) > SPOOL_STALE_S)
            requeue(s, e->name, &n);
    }
}

bool spool_tidy(struct spool *s, struct error *err) {
    struct timespec now;
    struct spool_list *tmp = NULL, *wanted = NULL, *claimed = NULL;
    bool ok = file_system_now(s, &now, err) && (tmp = spool_list(s, "tmp", true, err)) &&
              (wanted = spool_list(s, "wanted", false, err));
    if (ok) {
        tidy_tmp(s, &now, tmp);
        tidy_wanted(s, wanted);
        ok = (claimed = spool_list(s, "claimed", true, err)) != NULL;
    }
    if (ok)
        tidy_claims(s, &now, claimed);
    free(tmp);
    free(wanted);
    free(claimed);
    return ok;
}

// Changes by other machines are not told over a network file system: the time-out finds them.
static void watch(struct spool *s) {
    char path[SPOOL_PATH];
    s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (s->inotify < 0)
        return;
    inotify_add_watch(s->inotify, spool_path(s, path, "queue", ""), IN_MOVED_TO | IN_CLOSE_WRITE);
    inotify_add_watch(s->inotify, spool_path(s, path, "done", ""), IN_CREATE | IN_MOVED_TO);
    inotify_add_watch(s->inotify, spool_path(s, path, "machines", ""), IN_CREATE | IN_MOVED_TO);
}

bool spool_wait(struct spool *s, int timeout_ms, struct error *err) {
    char events[4096], path[SPOOL_PATH];
    if (s->inotify < 0)
        watch(s);
    struct pollfd p = {.fd = s->inotify, .events = POLLIN};
    if (poll(&p, s->inotify >= 0, timeout_ms) > 0)
        while (read(s->inotify, events, sizeof events) > 0)
            continue;
    return file_exists(spool_path(s, path, "queue", "")) ||
           error_set(err, ERROR_IO, "spool %s is not there any more", s->dir);
}

bool spool_describe(struct spool *s, const char *machine, const char *text, struct error *err) {
    char temporary[SPOOL_PATH], path[SPOOL_PATH], name[32];
    snprintf(name, sizeof name, "%.16s.json", machine);
    return spool_write(s, text, temporary, err) &&
           spool_place(s, temporary, spool_path(s, path, "machines", name), err);
}

bool spool_machines(struct spool *s, struct arena *a, struct spool_machine **list, int *n,
                    struct error *err) {
    struct timespec now;
    char path[SPOOL_PATH];
    *n = 0;
    struct spool_list *l =
        file_system_now(s, &now, err) ? spool_list(s, "machines", true, err) : NULL;
    if (!l)
        return false;
    *list = arena_array(a, struct spool_machine, l->n + 1);
    for (int i = l->n - 1; i >= 0; i--) {
        struct spool_machine *m = &(*list)[*n];
        struct error ignored = {0};
        m->text = file_read_plain(a, spool_path(s, path, "machines", l->entries[i].name),
                                  SPOOL_FILE_MAX, &m->len, &ignored);
        m->age_s = seconds_between(&l->entries[i].mtime, &now);
        m->is_live = m->age_s < SPOOL_STALE_S / 2;
        *n += m->text != NULL;
    }
    free(l);
    return true;
}
