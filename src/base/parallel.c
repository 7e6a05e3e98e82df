// Threads take pieces off a shared counter; the caller works as well.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256 };

struct loop {
    _Atomic int64_t next;  // first index that nobody has taken
    int64_t n, grain;
    parallel_fn fn;
    void *ctx;
};

static void *work(void *arg) {
    struct loop *l = arg;
    for (;;) {
        int64_t begin = atomic_fetch_add(&l->next, l->grain);
        if (begin >= l->n)
            return NULL;
        l->fn(l->ctx, begin, l->n - begin < l->grain ? l->n : begin + l->grain);
    }
}

void parallel_for(int n_threads, int64_t n, int64_t grain, parallel_fn fn, void *ctx) {
    struct loop l = {.n = n, .grain = grain, .fn = fn, .ctx = ctx};
    pthread_t threads[THREADS_MAX];
    int64_t n_pieces = (n + grain - 1) / grain;
    int wanted = n_threads < n_pieces ? n_threads : (int)n_pieces, n_started = 0;
    wanted = wanted < THREADS_MAX ? wanted : THREADS_MAX;
    while (n_started < wanted - 1 && pthread_create(&threads[n_started], NULL, work, &l) == 0)
        n_started++;
    work(&l);
    for (int i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
}
