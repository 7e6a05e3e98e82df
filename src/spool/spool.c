// Names, listings and atomic renames first; then the client's calls and the worker's. Each step
// leaves a state from which spool_tidy.c can go on, whichever process is killed.
#include "spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "spool/spool_private.h"

// ---- names

const char *spool_path(const struct spool *s, char path[SPOOL_PATH], const char *sub,
                       const char *name) {
    snprintf(path, SPOOL_PATH, "%s/%s%s%s", s->dir, sub, *name ? "/" : "", name);
    return path;
}

// Cut the last part ("." and what follows) off; "" when there is none.
static const char *cut_last(char *text) {
    char *dot = strrchr(text, '.');
    if (!dot)
        return "";
    *dot = '\0';
    return dot + 1;
}

void spool_parse(const char *name, bool is_claim, struct spool_name *n) {
    char text[SPOOL_NAME_MAX];
    *n = (struct spool_name){0};
    snprintf(text, sizeof text, "%s", name);
    cut_last(text);  // "json"
    if (is_claim)
        snprintf(n->owner, sizeof n->owner, "%s", cut_last(text));
    snprintf(n->id, sizeof n->id, "%.*s", (int)strcspn(text, "."), text);
    const char *tries = cut_last(text);
    bool is_number = tries[0] >= '0' && tries[0] <= '9' && !tries[1];
    n->tries = is_number ? tries[0] - '0' : 0;
    snprintf(n->machine, sizeof n->machine, "%s", cut_last(text));
    snprintf(n->kind, sizeof n->kind, "%s", cut_last(text));
    n->is_ours = is_number && n->machine[0] && n->kind[0] && strcmp(text, n->id) == 0 &&
                 strlen(text) == SPOOL_ID - 1 && strspn(text, "0123456789abcdef") == SPOOL_ID - 1;
}

bool spool_is_of(const char *name, const char *id) {
    size_t len = strlen(id);
    return strncmp(name, id, len) == 0 && name[len] == '.';
}

// ---- listings

static int older_first(const void *x, const void *y) {
    const struct spool_entry *a = x, *b = y;
    if (a->mtime.tv_sec != b->mtime.tv_sec)
        return a->mtime.tv_sec < b->mtime.tv_sec ? -1 : 1;
    if (a->mtime.tv_nsec != b->mtime.tv_nsec)
        return a->mtime.tv_nsec < b->mtime.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

// A link or a pipe could lead anywhere or block; a longer name than any of ours is not ours.
static bool is_file(int dir, const struct dirent *d, bool by_age, struct timespec *mtime) {
    struct stat st;
    if (d->d_name[0] == '.' || strlen(d->d_name) >= SPOOL_NAME_MAX)
        return false;
    if (d->d_type == DT_REG && !by_age)
        return true;
    if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    *mtime = st.st_mtim;
    return true;
}

static struct spool_list *grow(struct spool_list *l) {
    int room = l ? 2 * l->room : 16;
    int n = l ? l->n : 0;
    l = realloc(l, sizeof *l + sizeof l->entries[0] * (size_t)room);
    if (!l)
        abort();
    l->n = n;
    l->room = room;
    return l;
}

struct spool_list *spool_list(const struct spool *s, const char *sub, bool by_age,
                              struct error *err) {
    char path[SPOOL_PATH];
    DIR *dir = opendir(spool_path(s, path, sub, ""));
    if (!dir) {
        error_set(err, ERROR_IO, "spool %s is not there any more: %s: %s", s->dir, sub,
                  strerror(errno));
        return NULL;
    }
    struct spool_list *l = grow(NULL);
    const struct dirent *d;
    while ((d = readdir(dir))) {
        struct timespec mtime = {0};
        size_t len = strlen(d->d_name);
        if (!is_file(dirfd(dir), d, by_age, &mtime))
            continue;
        if (l->n == l->room)
            l = grow(l);
        struct spool_entry *e = &l->entries[l->n++];
        memcpy(e->name, d->d_name, len + 1);
        e->mtime = mtime;
    }
    closedir(dir);
    qsort(l->entries, (size_t)l->n, sizeof l->entries[0], older_first);
    return l;
}

// ---- writing

bool spool_write(struct spool *s, const char *text, char path[SPOOL_PATH], struct error *err) {
    char name[OWNER_MAX + 16];
    snprintf(name, sizeof name, "%s.%d", s->owner, s->n_written++);
    return file_create(spool_path(s, path, "tmp", name), text, strlen(text), err) ||
           error_wrap(err, "spool %s", s->dir);
}

bool spool_move(const char *from, const char *to) {
    return rename(from, to) == 0 || (errno == ENOENT && file_exists(to));
}

bool spool_place(const struct spool *s, const char *temporary, const char *path,
                 struct error *err) {
    if (spool_move(temporary, path))
        return true;
    error_set(err, ERROR_IO, "spool %s: write %s: %s", s->dir, path, strerror(errno));
    unlink(temporary);
    return false;
}

// ---- client

static bool note_wanted(const struct spool *s, const char *id, const char *who, struct error *err) {
    char path[SPOOL_PATH], name[SPOOL_NAME_MAX];
    snprintf(name, sizeof name, "%s.%s", id, who);
    int fd = open(spool_path(s, path, "wanted", name), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                  0666);
    if (fd < 0)
        return error_set(err, ERROR_IO, "spool %s: write %s: %s", s->dir, path, strerror(errno));
    close(fd);
    return true;
}

bool spool_put(struct spool *s, const struct spool_address *to, const char *text, bool detached,
               char id[SPOOL_ID], struct error *err) {
    char name[SPOOL_NAME_MAX], temporary[SPOOL_PATH], path[SPOOL_PATH], hex[SHA256_HEX];
    struct sha256 h;
    enum spool_state state;
    sha256_init(&h);
    sha256_add(&h, text, strlen(text));
    sha256_hex(&h, hex);
    snprintf(id, SPOOL_ID, "%.*s", SPOOL_ID - 1, hex);
    // In this order: a job that is there was wanted by somebody.
    if (!note_wanted(s, id, detached ? "detached" : s->owner, err) ||
        !spool_state_of(s, id, &state, err))
        return false;
    if (state != SPOOL_ABSENT)
        return true;
    snprintf(name, sizeof name, "%s.%.32s.%.16s.0.json", id, to->kind,
             to->machine ? to->machine : "any");
    return spool_write(s, text, temporary, err) &&
           spool_place(s, temporary, spool_path(s, path, "queue", name), err);
}

static bool has(const struct spool *s, const char *sub, const char *id, bool *found,
                struct error *err) {
    struct spool_list *l = spool_list(s, sub, false, err);
    *found = false;
    for (int i = 0; l && i < l->n && !*found; i++)
        *found = spool_is_of(l->entries[i].name, id);
    free(l);
    return l != NULL;
}

// In the order in which a job moves, and the queue once more, since a claim can be returned.
bool spool_state_of(struct spool *s, const char *id, enum spool_state *state, struct error *err) {
    static const struct {
        const char *sub;
        enum spool_state state;
    } order[] = {{"done", SPOOL_DONE},
                 {"queue", SPOOL_QUEUED},
                 {"claimed", SPOOL_CLAIMED},
                 {"queue", SPOOL_QUEUED},
                 {"done", SPOOL_DONE}};
    *state = SPOOL_ABSENT;
    for (size_t i = 0; i < sizeof order / sizeof *order && *state == SPOOL_ABSENT; i++) {
        bool found;
        if (!has(s, order[i].sub, id, &found, err))
            return false;
        if (found)
            *state = order[i].state;
    }
    return true;
}

char *spool_peek(struct spool *s, struct arena *a, const char *id, size_t *len, struct error *err) {
    char path[SPOOL_PATH], name[SPOOL_NAME_MAX];
    snprintf(name, sizeof name, "%.*s.json", SPOOL_NAME_MAX - 8, id);
    if (!file_exists(spool_path(s, path, "done", name)))
        return NULL;
    char *text = file_read_plain(a, path, SPOOL_FILE_MAX, len, err);
    if (!text)
        err->kind = ERROR_IO;
    return text;
}

void spool_remove(const struct spool *s, const char *sub, const char *id) {
    struct error ignored = {0};
    char path[SPOOL_PATH];
    struct spool_list *l = spool_list(s, sub, false, &ignored);
    for (int i = 0; l && i < l->n; i++)
        if (spool_is_of(l->entries[i].name, id))
            unlink(spool_path(s, path, sub, l->entries[i].name));
    free(l);
}

// Does somebody else still wait for it? With `remove`, our own note goes, and when it is `answered`
// the one of who is not there.
static bool wanted_by_others(const struct spool *s, const char *id, bool remove, bool answered) {
    struct error ignored = {0};
    char path[SPOOL_PATH];
    bool others = false;
    struct spool_list *l = spool_list(s, "wanted", false, &ignored);
    for (int i = 0; l && i < l->n; i++) {
        const char *name = l->entries[i].name;
        if (!spool_is_of(name, id))
            continue;
        const char *who = name + strlen(id) + 1;
        bool is_settled = strcmp(who, s->owner) == 0 || (answered && strcmp(who, "detached") == 0);
        others = others || !is_settled;
        if (is_settled && remove)
            unlink(spool_path(s, path, "wanted", name));
    }
    free(l);
    return others;
}

// The note last: if we end before, it says what there is left to do.
void spool_drop(struct spool *s, const char *id, bool answered) {
    if (answered || !wanted_by_others(s, id, false, false)) {
        spool_remove(s, "queue", id);
        spool_remove(s, "claimed", id);
        spool_remove(s, "done", id);
    }
    wanted_by_others(s, id, true, answered);
}

// ---- worker

static bool serves(const struct spool_address *us, const struct spool_name *job) {
    if (!job->is_ours)
        return true;  // the reader reports that it is none
    return strcmp(job->kind, us->kind) == 0 &&
           (strcmp(job->machine, "any") == 0 ||
            (us->machine && strncmp(job->machine, us->machine, 16) == 0));
}

// 1: ours; 0: somebody was faster; -1: it cannot be claimed.
static int try_claim(struct spool *s, const char *name, struct spool_claim *c, struct error *err) {
    char from[SPOOL_PATH], claim[SPOOL_NAME_MAX + OWNER_MAX];
    size_t stem = strlen(name) - strlen(".json");
    snprintf(claim, sizeof claim, "%.*s.%s.json", (int)stem, name, s->owner);
    spool_path(s, c->path, "claimed", claim);
    spool_path(s, from, "queue", name);
    // Before it is ours, so that nobody ever sees a fresh claim with an old heartbeat.
    utimensat(AT_FDCWD, from, NULL, AT_SYMLINK_NOFOLLOW);
    if (spool_move(from, c->path))
        return 1;
    if (errno == ENOENT)
        return 0;
    error_set(err, ERROR_IO, "spool %s: claim %s: %s", s->dir, name, strerror(errno));
    return -1;
}

// A name must leave room for an owner.
static bool is_job(const char *name) {
    size_t len = strlen(name);
    return len > 5 && len < SPOOL_NAME_MAX - OWNER_MAX && strcmp(name + len - 5, ".json") == 0;
}

// The next of the jobs as they were listed.
static bool claim_listed(struct spool *s, const struct spool_address *us, struct spool_claim *c,
                         bool *got, struct error *err) {
    *got = false;
    while (s->jobs && s->next < s->jobs->n && !*got) {
        const char *name = s->jobs->entries[s->next++].name;
        struct spool_name parsed;
        spool_parse(name, false, &parsed);
        if (!is_job(name) || !serves(us, &parsed))
            continue;
        *c = (struct spool_claim){.tries = parsed.tries};
        snprintf(c->name, sizeof c->name, "%s", name);
        snprintf(c->id, sizeof c->id, "%s", parsed.id);
        int outcome = try_claim(s, name, c, err);
        if (outcome < 0)
            return false;
        *got = outcome > 0;
    }
    return true;
}

bool spool_claim(struct spool *s, const struct spool_address *us, struct spool_claim *c, bool *got,
                 struct error *err) {
    if (!claim_listed(s, us, c, got, err))
        return false;
    if (*got)
        return true;
    free(s->jobs);
    s->next = 0;
    s->jobs = spool_list(s, "queue", true, err);
    return s->jobs && claim_listed(s, us, c, got, err);
}

char *spool_read(struct arena *a, const struct spool_claim *c, size_t *len, bool *is_whole,
                 struct error *err) {
    char hex[SHA256_HEX];
    struct sha256 h;
    char *text = file_read_plain(a, c->path, SPOOL_FILE_MAX, len, err);
    *is_whole = false;
    if (!text)
        return NULL;
    sha256_init(&h);
    sha256_add(&h, text, *len);
    sha256_hex(&h, hex);
    *is_whole = strlen(c->id) == SPOOL_ID - 1 && strncmp(hex, c->id, SPOOL_ID - 1) == 0;
    return text;
}

// Put the answer where nobody has put one. Some file systems have no links.
static bool place_answer(const char *temporary, const char *path) {
    if (link(temporary, path) == 0 || errno == EEXIST)
        return true;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return false;
    return file_exists(path) || spool_move(temporary, path);
}

// The claim went while the answer came. Either the answer was fetched already, or the job was
// withdrawn, and what we have put there is of no use to anybody. True: the latter.
static bool take_back(const char *temporary, const char *path) {
    struct stat ours, there;
    return stat(temporary, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           unlink(path) == 0;
}

bool spool_answer(struct spool *s, const struct spool_claim *c, const char *text, bool *kept,
                  struct error *err) {
    char temporary[SPOOL_PATH], path[SPOOL_PATH], name[SPOOL_NAME_MAX];
    *kept = file_exists(c->path);
    if (!*kept)
        return true;
    if (!spool_write(s, text, temporary, err))
        return false;
    snprintf(name, sizeof name, "%.*s.json", SPOOL_NAME_MAX - 8, c->id);
    spool_path(s, path, "done", name);
    bool ok = place_answer(temporary, path) ||
              error_set(err, ERROR_IO, "spool %s: write %s: %s", s->dir, path, strerror(errno));
    if (ok && unlink(c->path) != 0 && errno == ENOENT)
        *kept = !take_back(temporary, path);
    unlink(temporary);
    return ok;
}

void spool_return(const struct spool *s, const struct spool_claim *c) {
    char path[SPOOL_PATH];
    if (!spool_move(c->path, spool_path(s, path, "queue", c->name)))
        log_info("spool %s: job %s was taken from us", s->dir, c->id);
}

void spool_heartbeat(const char *dir, const char *machine, const char *claim) {
    char path[SPOOL_PATH];
    snprintf(path, sizeof path, "%s/machines/%.16s.json", dir, machine);
    utimensat(AT_FDCWD, path, NULL, 0);
    if (claim)
        utimensat(AT_FDCWD, claim, NULL, 0);
}
