// Roles: parts of a kernel that run at the same time (loop_open_role). Each has a thread of this
// process, of which one at a time goes on; it hands over where it arrives somewhere or has to wait.
// When all of them wait and nothing has happened, what is under way lands; when nothing is, they
// wait for ever, which is an error.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/execute_machine.h"

enum { ROLES_MAX = 8 };

struct role {
    struct machine *machine;
    const struct loop_stmt *stmt;
    bool *active;  // threads of the block that come by
    pthread_t thread;
    bool is_done;
    int64_t stuck_at;  // events when it had to wait; -1: it had not
};

struct roles {
    pthread_mutex_t lock;
    pthread_cond_t handed_over;
    int n, turn;
    struct role role[ROLES_MAX];
};

static bool all_are_stuck(const struct roles *r, int64_t events) {
    for (int i = 0; i < r->n; i++)
        if (!r->role[i].is_done && r->role[i].stuck_at != events)
            return false;
    return true;
}

// requires: the lock.
static void hand_over(struct roles *r) {
    for (int i = 1; i <= r->n; i++) {
        int next = (r->turn + i) % r->n;
        if (!r->role[next].is_done) {
            r->turn = next;
            break;
        }
    }
    pthread_cond_broadcast(&r->handed_over);
}

static void await_turn(struct roles *r, int me) {
    while (r->turn != me)
        pthread_cond_wait(&r->handed_over, &r->lock);
}

void roles_yield(struct machine *m, bool is_stuck) {
    struct roles *r = m->roles;
    if (!r) {
        if (is_stuck && !async_land(m) && !m->failed)
            m->failed = !error_set(m->err, ERROR_PARSE, "a thread waits for ever");
        return;
    }
    int me = r->turn;
    r->role[me].stuck_at = is_stuck ? async_events(m) : -1;
    if (all_are_stuck(r, async_events(m)) && !async_land(m) && !m->failed)
        m->failed = !error_set(m->err, ERROR_PARSE, "all roles of a kernel wait for ever");
    pthread_mutex_lock(&r->lock);
    hand_over(r);
    await_turn(r, me);
    pthread_mutex_unlock(&r->lock);
}

static void *role_main(void *arg) {
    struct role *role = arg;
    struct machine *m = role->machine;
    struct roles *r = m->roles;
    int me = (int)(role - r->role);
    struct loop_stmt plain = *role->stmt;
    plain.is_role = false;
    pthread_mutex_lock(&r->lock);
    await_turn(r, me);
    pthread_mutex_unlock(&r->lock);
    if (!m->failed)
        machine_run(m, &plain, role->active);
    pthread_mutex_lock(&r->lock);
    role->is_done = true;
    hand_over(r);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

const struct loop_stmt *roles_run(struct machine *m, const struct loop_stmt *s,
                                  const bool *active) {
    struct roles r = {.lock = PTHREAD_MUTEX_INITIALIZER, .handed_over = PTHREAD_COND_INITIALIZER};
    bool *copy = malloc((size_t)m->n_threads);
    assert(copy && !m->roles);
    memcpy(copy, active, (size_t)m->n_threads);
    const struct loop_stmt *last = s;
    for (; s && s->is_role; last = s, s = s->next) {
        assert(r.n < ROLES_MAX);
        r.role[r.n++] = (struct role){.machine = m, .stmt = s, .active = copy, .stuck_at = -1};
    }
    m->roles = &r;
    for (int i = 0; i < r.n; i++) {
        int status = pthread_create(&r.role[i].thread, NULL, role_main, &r.role[i]);
        assert(status == 0);
    }
    for (int i = 0; i < r.n; i++)
        pthread_join(r.role[i].thread, NULL);
    m->roles = NULL;
    free(copy);
    return last;
}
