// A queue of numbers behind one lock: those that nobody has taken, then those that are done. A
// compiler's child dies with the thread that started it (base/process.c), so threads are kept.
#include "build/compile_ahead.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "build/compile_cuda.h"

enum { OBJECT_MAX = 64 << 20, CODE_SEED = 1, DAY_S = 86400 };

struct member {
    struct compile_ahead *crew;
    pthread_t thread;
    struct arena lasting;  // of its compiler
    struct cuda_compiler compiler;
};

struct compile_ahead {
    struct ahead_settings settings;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct member members[AHEAD_THREADS_MAX];
    int n_members;
    bool is_closing;
    atomic_bool is_unwanted;  // what is under way
    // The round that is under way.
    const char *const *sources;
    int n;
    int next;       // the first that nobody has taken
    int n_working;  // taken and not done
    struct ahead_result *done;
    int n_done, n_given;
    struct arena arena;  // messages; under the lock
};

static void compile_cpu(struct arena *a, const struct ahead_settings *s, const char *source,
                        struct ahead_result *r) {
    struct compile_spec spec = {.source = source,
                                .cc = s->cc,
                                .machine = s->machine,
                                .cache = s->cache,
                                .dim_names = s->dim_names,
                                .dim_sizes = s->dim_sizes,
                                .n_dims = s->n_dims,
                                .skip_scans = s->skip_scans};
    struct compile_result c;
    size_t len;
    if (!compile(a, &spec, &c, &r->err))
        return;
    r->outcome = c.outcome;
    r->message = c.message;
    r->seconds = c.seconds;
    const char *bytes =
        c.outcome == COMPILE_OK ? file_read(a, c.object, OBJECT_MAX, &len, &r->err) : NULL;
    if (bytes)
        r->code = hash_bytes(bytes, len, CODE_SEED);
}

static void compile_gpu(struct arena *a, struct member *m, const char *source,
                        struct ahead_result *r) {
    const struct ahead_settings *s = &m->crew->settings;
    struct cuda_source spec = {.text = source,
                               .arch = s->arch,
                               .cache = s->cache,
                               .dim_names = s->dim_names,
                               .dim_sizes = s->dim_sizes,
                               .n_dims = s->n_dims,
                               .skip_scans = s->skip_scans,
                               .is_unwanted = &m->crew->is_unwanted};
    struct cubin c;
    if (!cuda_compile(a, &m->compiler, &spec, &c, &r->err))
        return;
    r->outcome = c.outcome;
    r->message = c.message;
    r->seconds = c.seconds;
    if (c.outcome == COMPILE_OK)
        r->code = hash_bytes(c.bytes, c.len, CODE_SEED);
}

// Called with the lock, which is given back meanwhile.
static void work_on(struct member *m, int number) {
    struct compile_ahead *c = m->crew;
    struct arena scratch = {0};
    struct ahead_result r = {.number = number};
    const char *source = c->sources[number];
    c->n_working++;
    pthread_mutex_unlock(&c->lock);
    if (c->settings.arch)
        compile_gpu(&scratch, m, source, &r);
    else
        compile_cpu(&scratch, &c->settings, source, &r);
    pthread_mutex_lock(&c->lock);
    c->n_working--;
    r.message = r.message ? arena_strdup(&c->arena, r.message) : NULL;
    c->done[c->n_done++] = r;
    pthread_cond_broadcast(&c->changed);
    arena_reset(&scratch);
}

static void *member_main(void *ctx) {
    struct member *m = ctx;
    struct compile_ahead *c = m->crew;
    pthread_mutex_lock(&c->lock);
    while (!c->is_closing)
        if (c->next < c->n)
            work_on(m, c->next++);
        else
            pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    cuda_compiler_stop(&m->compiler);
    arena_reset(&m->lasting);
    return NULL;
}

struct compile_ahead *compile_ahead_open(const struct ahead_settings *s) {
    struct compile_ahead *c = calloc(1, sizeof *c);
    pthread_condattr_t monotonic;
    if (!c)
        abort();
    c->settings = *s;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int wanted = s->n_threads < AHEAD_THREADS_MAX ? s->n_threads : AHEAD_THREADS_MAX;
    while (c->n_members < wanted) {
        struct member *m = &c->members[c->n_members];
        m->crew = c;
        m->compiler = (struct cuda_compiler){.process = {.socket = -1}, .arena = &m->lasting};
        if (pthread_create(&m->thread, NULL, member_main, m) != 0)
            break;
        c->n_members++;
    }
    return c;
}

void compile_ahead_close(struct compile_ahead *c) {
    if (!c)
        return;
    compile_ahead_end(c);
    pthread_mutex_lock(&c->lock);
    c->is_closing = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->n_members; i++)
        pthread_join(c->members[i].thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->done);
    free(c);
}

void compile_ahead_begin(struct compile_ahead *c, const char *const *sources, int n) {
    compile_ahead_end(c);
    pthread_mutex_lock(&c->lock);
    c->done = calloc((size_t)n + 1, sizeof *c->done);
    if (!c->done)
        abort();
    c->sources = sources;
    // Without a thread nobody takes them, and nothing is told of any.
    c->n = c->n_members > 0 ? n : 0;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

bool compile_ahead_next(struct compile_ahead *c, double most_s, struct ahead_result *result) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t until_ns = until.tv_nsec + (int64_t)(1e9 * fmax(0, fmin(most_s, DAY_S)));
    until.tv_sec += until_ns / 1000000000;
    until.tv_nsec = until_ns % 1000000000;
    pthread_mutex_lock(&c->lock);
    while (c->n_given == c->n_done && c->n_done < c->n &&
           pthread_cond_timedwait(&c->changed, &c->lock, &until) == 0) {
    }
    bool is_there = c->n_given < c->n_done;
    if (is_there)
        *result = c->done[c->n_given++];
    pthread_mutex_unlock(&c->lock);
    return is_there;
}

void compile_ahead_cut(struct compile_ahead *c) {
    pthread_mutex_lock(&c->lock);
    c->n = c->next;
    pthread_mutex_unlock(&c->lock);
}

void compile_ahead_end(struct compile_ahead *c) {
    pthread_mutex_lock(&c->lock);
    c->n = c->next;  // nobody takes another one
    c->is_unwanted = true;
    while (c->n_working > 0)
        pthread_cond_wait(&c->changed, &c->lock);
    c->is_unwanted = false;
    free(c->done);
    c->done = NULL;
    c->n = c->next = c->n_done = c->n_given = 0;
    arena_reset(&c->arena);
    pthread_mutex_unlock(&c->lock);
}
