// A timeline: what ran on the device, when. A kernel's name and shape are written once, its
// launches as a number and two times, so that a million of them stay some tens of megabytes; past
// RECORDS_MAX they are only counted.
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

enum { BUFFER_BYTES = 1 << 20, SHAPES_MAX = 1 << 16, RECORDS_MAX = 4000000, FLUSH_NS = 20000000 };

struct shape {
    char *name;
    int32_t numbers[10];  // grid, block, static, dynamic, local, registers
};

static struct shape shapes[SHAPES_MAX];  // open addressing
static int shape_ids[SHAPES_MAX];
static int n_shapes;
static long n_records, n_left_out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;  // who comes last waits for the other

static void buffer_wanted(uint8_t **buffer, size_t *size, size_t *max_records) {
    *size = BUFFER_BYTES;
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *max_records = 0;
}

static uint64_t hash(const char *name, const int32_t *numbers) {
    uint64_t h = 14695981039346656037u;
    for (const char *at = name; *at; at++)
        h = (h ^ (unsigned char)*at) * 1099511628211u;
    for (int i = 0; i < 10; i++)
        h = (h ^ (uint32_t)numbers[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static void write_shape(int id, const struct shape *s) {
    const int32_t *n = s->numbers;
    out_line("kernel %d %d %d %d %d %d %d %d %d %d %d %s", id, n[0], n[1], n[2], n[3], n[4], n[5],
             n[6], n[7], n[8], n[9], s->name);
}

// The number of a kernel and shape; -1: there are too many.
static int shape_of(const struct cupti_kernel_record *k) {
    const char *name = k->name ? k->name : "?";
    const int32_t numbers[10] = {
        k->grid[0],           k->grid[1],        k->grid[2],
        k->block[0],          k->block[1],       k->block[2],
        k->static_shared,     k->dynamic_shared, (int32_t)k->local_per_thread,
        (int32_t)k->registers};
    uint64_t at = hash(name, numbers) % SHAPES_MAX;
    for (; shapes[at].name; at = (at + 1) % SHAPES_MAX)
        if (memcmp(shapes[at].numbers, numbers, sizeof numbers) == 0 &&
            strcmp(shapes[at].name, name) == 0)
            return shape_ids[at];
    if (n_shapes >= SHAPES_MAX / 2)
        return -1;
    shapes[at].name = strdup(name);
    memcpy(shapes[at].numbers, numbers, sizeof numbers);
    shape_ids[at] = n_shapes++;
    write_shape(shape_ids[at], &shapes[at]);
    return shape_ids[at];
}

static void write_record(const struct cupti_record *r) {
    int id;
    if (n_records++ >= RECORDS_MAX) {
        n_left_out++;
        return;
    }
    if (r->kind == CUPTI_KIND_CONCURRENT || r->kind == CUPTI_KIND_KERNEL) {
        const struct cupti_kernel_record *k = (const struct cupti_kernel_record *)r;
        if ((id = shape_of(k)) < 0)
            n_left_out++;
        else
            out_line("k %d %" PRIu64 " %" PRIu64 " %u %d", id, k->start, k->end, k->stream,
                     k->graph_node != 0);
    } else if (r->kind == CUPTI_KIND_COPY) {
        const struct cupti_copy_record *c = (const struct cupti_copy_record *)r;
        out_line("copy %d %d %d %" PRIu64 " %" PRIu64 " %" PRIu64, c->copy_kind, c->from, c->to,
                 c->bytes, c->start, c->end);
    } else if (r->kind == CUPTI_KIND_SET) {
        const struct cupti_set_record *c = (const struct cupti_set_record *)r;
        out_line("set %" PRIu64 " %" PRIu64 " %" PRIu64, c->bytes, c->start, c->end);
    }
}

static void buffer_done(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid) {
    struct cupti_record *r = NULL;
    size_t dropped = 0;
    (void)size;
    pthread_mutex_lock(&lock);
    while (valid && getpid() == state.pid && cupti.activity_next(buffer, valid, &r) == 0)
        write_record(r);
    if (cupti.activity_dropped(context, stream, &dropped) == 0 && dropped)
        n_left_out += (long)dropped;
    if (getpid() == state.pid)
        fflush(state.out);
    pthread_mutex_unlock(&lock);
    free(buffer);
}

// Every completed record is handed out that often, so that a program that is killed loses little.
// CUPTI's own period hands out full buffers only.
static void *flush_often(void *unused) {
    (void)unused;
    while (!state.is_finished) {
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_NS}, NULL);
        pthread_mutex_lock(&flushing);
        if (!state.is_finished)
            cupti.activity_flush(0);
        pthread_mutex_unlock(&flushing);
    }
    return NULL;
}

void trace_start(void) {
    static const int kinds[] = {CUPTI_KIND_CONCURRENT, CUPTI_KIND_COPY, CUPTI_KIND_SET};
    pthread_t thread;
    int code = CUPTI(activity_callbacks, buffer_wanted, buffer_done);
    for (size_t i = 0; !code && i < sizeof kinds / sizeof kinds[0]; i++)
        code = CUPTI(activity_enable, kinds[i]);
    if (code) {
        out_error("trace", code);
        return;
    }
    // Signals are for other threads: their handler waits for what this one is busy with.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    if (pthread_create(&thread, NULL, flush_often, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void trace_finish(void) {
    pthread_mutex_lock(&flushing);
    cupti.activity_flush(1);
    pthread_mutex_unlock(&flushing);
    if (n_left_out > 0)
        out_line("left_out %ld", n_left_out);
}
