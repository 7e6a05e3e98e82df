// The interface of dev.h on a CPU: emitted CUDA compiled as C, run slowly, to find mistakes.
//
// A block is one fibre per thread. A fibre runs until it stops at a barrier, a shuffle or its
// end. Which warp goes on, and in which order its threads do, is drawn from the seed, and so is
// the order of the blocks, so that whatever lacks a barrier computes something else for some
// seeds. Shared memory is NaN when a block begins, and every array of it ends (or, for odd seeds,
// begins) at a page that cannot be touched. Asynchronous copies land as late as they may, when
// their thread waits, or for every fourth seed at once, so that both a missing wait and a
// slot that is filled while it is read show. Operations of a warp (fragments, products) happen when
// all its threads have come. A barrier or shuffle that some threads do not come to, a misaligned
// vector, an access outside shared memory: the process says so and exits with HONE_DEV_FAULT.
// Blocks that can meet (a cluster, or the grid of a cooperative launch) run at the same time;
// others one by one. Of a launch that may begin before those before it have ended, one block (or
// those that meet) goes as far as it can before they begin, and on when they have ended.
//
// For one source that is a program of its own. Needs glibc and gcc 12 or clang; run on x86-64 so
// far.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

// Vectors are only passed between functions here, whatever the machine has.
#pragma GCC diagnostic ignored "-Wpsabi"

enum {
    HONE_DEV_FAULT = 3,
    HONE_DEV_THREADS_MAX = 1024,
    HONE_DEV_FIBRES_MAX = 16384,  // of all blocks that run at the same time
    HONE_DEV_STACK_BYTES = 64 << 10,
    HONE_DEV_ARRAYS_MAX = 1024,
    HONE_DEV_GAPS_MAX = 1024,
    HONE_DEV_GAP = 0x5a,  // large as a float
    HONE_DEV_COPIES_MAX = 256,
    HONE_DEV_PAGE = 4096,
    // What nobody may touch in front of an array and behind it: rows of some thousand elements fit.
    HONE_DEV_GUARD = 16 * HONE_DEV_PAGE,
    HONE_DEV_WARP = 32,
};

enum hone_dev_state {
    HONE_DEV_READY,
    HONE_DEV_AT_BARRIER,
    HONE_DEV_AT_SHUFFLE,
    HONE_DEV_AT_MBARRIER,
    HONE_DEV_AT_MEETING,  // of blocks
    HONE_DEV_AT_LAUNCH,   // waits for the launch before
    HONE_DEV_DONE
};

struct hone_dev_copy {
    void *to;
    const void *from;
    int bytes, valid;  // those beyond `valid` become zeros
    int group;
};

// What a thread offers in a shuffle.
union hone_dev_cell {
    float f32;
    double f64;
    int i32;
    long long i64;
};

struct hone_dev_fibre;
typedef void (*hone_dev_together)(struct hone_dev_fibre *warp);

struct hone_dev_fibre {
    jmp_buf at;
    ucontext_t start;
    int started;
    int thread;
    long block;
    enum hone_dev_state state;
    const void *meeting;  // AT_MEETING: which, and of how many blocks
    int n_meet;
    int line;                     // of the barrier or shuffle it stands at
    int source;                   // lane whose offer it wants
    union hone_dev_cell offered;  // to the other threads of its warp
    hone_dev_together together;   // what the warp does once all have come; NULL: a shuffle
    int is_group;                 // and does not before the other three of its warpgroup have come
    const void *row;              // that it names for the warp
    int word[4], other[2];        // its fragments
    float sum[4];
    struct hone_dev_copy copies[HONE_DEV_COPIES_MAX];
    int n_copies, group;
    const struct hone_dev_mbarrier *waits_for;  // dev_cpu_bulk.h
    int parity;
    const struct hone_dev_product *product;
    const struct hone_dev_bulk *stored;
};

// An array in shared memory, known by the address of its name.
struct hone_dev_array {
    const char *name;
    long block;
    void *data;
    size_t bytes;
};

// Bytes behind an array that nobody writes.
struct hone_dev_gap {
    const unsigned char *at;
    size_t bytes;
};

// A kernel with its arguments bound.
typedef void (*hone_dev_kernel)(void *const *arg);

struct hone_dev_launch {
    const char *name;
    hone_dev_kernel kernel;
    void *const *arg;
    long grid;
    int threads;
    long shared_bytes;
    long together;  // blocks that run at the same time; 0: 1
};

static struct {
    struct hone_dev_fibre *fibres;
    jmp_buf scheduler;
    ucontext_t scheduler_start;
    struct hone_dev_fibre *now;
    const struct hone_dev_launch *launch;
    int n_fibres;  // of the blocks that run now
    int is_early;  // launches before this one have not ended
    uint64_t random;
    int begins_at_page;
    int any_alignment;  // the kernel is compiled with HONE_ANY_ALIGNMENT
    int copies_at_once, finite_poison;
    struct hone_dev_array arrays[HONE_DEV_ARRAYS_MAX];
    int n_arrays;
    struct hone_dev_gap gaps[HONE_DEV_GAPS_MAX];
    int n_gaps;
} hone_dev;

#define HONE_FN static inline __attribute__((unused))
#define HONE_KERNEL(threads) static void
#define HONE_KERNEL_OF(threads, blocks) static void
#define HONE_ASSERT(condition, text) _Static_assert(condition, text)
#define HONE_INFINITY __builtin_inff()
#define HONE_NAN __builtin_nanf("")

// Faults.

__attribute__((noreturn, format(printf, 1, 2))) static void hone_dev_fault(const char *fmt, ...) {
    fputs(hone_dev.launch ? hone_dev.launch->name : "?", stderr);
    if (hone_dev.now)
        fprintf(stderr, ", block %ld, thread %d", hone_dev.now->block, hone_dev.now->thread);
    fputs(": ", stderr);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputs("\n", stderr);
    fflush(stderr);
    _exit(HONE_DEV_FAULT);
}

// Small and good enough to shuffle with: xorshift*.
static unsigned hone_dev_random(unsigned below) {
    hone_dev.random ^= hone_dev.random >> 12;
    hone_dev.random ^= hone_dev.random << 25;
    hone_dev.random ^= hone_dev.random >> 27;
    return (unsigned)((hone_dev.random * 0x2545f4914f6cdd1dull >> 33) % below);
}

// `bytes` that end where a page begins that nobody may touch, less what brings their beginning to a
// multiple of `align`; for odd seeds they begin where one ends.
static void *hone_dev_guarded(size_t bytes, size_t align) {
    size_t pages = (bytes + HONE_DEV_PAGE - 1) / HONE_DEV_PAGE * HONE_DEV_PAGE;
    char *all = mmap(NULL, pages + 2 * HONE_DEV_GUARD, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all, HONE_DEV_GUARD, PROT_NONE) != 0 ||
        mprotect(all + HONE_DEV_GUARD + pages, HONE_DEV_GUARD, PROT_NONE) != 0) {
        perror("mmap");
        exit(4);
    }
    memset(all + HONE_DEV_GUARD, HONE_DEV_GAP, pages);
    size_t at = HONE_DEV_GUARD + (hone_dev.begins_at_page ? 0 : (pages - bytes) / align * align);
    if (hone_dev.n_gaps < HONE_DEV_GAPS_MAX)
        hone_dev.gaps[hone_dev.n_gaps++] = (struct hone_dev_gap){
            (unsigned char *)all + at + bytes, HONE_DEV_GUARD + pages - at - bytes};
    return all + at;
}

// What lies between an array and the page behind it is as it was.
static void hone_dev_check_gaps(void) {
    for (int i = 0; i < hone_dev.n_gaps; i++)
        for (size_t j = 0; j < hone_dev.gaps[i].bytes; j++)
            if (hone_dev.gaps[i].at[j] != HONE_DEV_GAP)
                hone_dev_fault("something was written behind an array");
}

// For every fourth seed a number that is finite in every type, so that a kernel which does
// something else with NaN cannot hide behind it.
static void hone_dev_poison_shared(void *data, size_t bytes) {
    memset(data, hone_dev.finite_poison ? 0x5a : 0xff, bytes);
}

static void hone_dev_poison(void *data, size_t bytes) {
    memset(data, 0xff, bytes);  // a NaN in every type of float
}

// Fibres.

// Jumps from stack to stack. With _FORTIFY_SOURCE, which compilers of some systems set by
// themselves, the headers' longjmp ends a program that jumps to any frame but a caller's; this is
// the one without that check.
__attribute__((noreturn)) extern void hone_dev_jump(jmp_buf to, int value) __asm__("_longjmp");

// Out of line, so that nothing of the caller's is in registers that longjmp forgets.
__attribute__((noinline)) static void hone_dev_resume(jmp_buf from, jmp_buf to) {
    if (_setjmp(from) == 0)
        hone_dev_jump(to, 1);
}

static void hone_dev_stop(enum hone_dev_state state, int line) {
    hone_dev.now->state = state;
    hone_dev.now->line = line;
    hone_dev_resume(hone_dev.now->at, hone_dev.scheduler);
}

static void hone_dev_fibre_main(void) {
    for (;;) {
        hone_dev.launch->kernel(hone_dev.launch->arg);
        hone_dev_stop(HONE_DEV_DONE, 0);
    }
}

__attribute__((noinline)) static void hone_dev_run(struct hone_dev_fibre *f) {
    hone_dev.now = f;
    if (f->started) {
        hone_dev_resume(hone_dev.scheduler, f->at);
    } else if (_setjmp(hone_dev.scheduler) == 0) {
        f->started = 1;
        getcontext(&f->start);
        f->start.uc_stack.ss_sp = malloc(HONE_DEV_STACK_BYTES);
        f->start.uc_stack.ss_size = HONE_DEV_STACK_BYTES;
        f->start.uc_link = NULL;
        makecontext(&f->start, hone_dev_fibre_main, 0);
        setcontext(&f->start);
    }
    hone_dev.now = NULL;
}

// Scheduling.

static int hone_dev_warp_is(int warp, enum hone_dev_state state, int any) {
    int first = warp * HONE_DEV_WARP, n = 0;
    for (int i = 0; i < HONE_DEV_WARP; i++)
        n += hone_dev.fibres[first + i].state == state;
    return any ? n > 0 : n == HONE_DEV_WARP;
}

// Run every ready thread of a warp once, in a random order.
static void hone_dev_run_warp(int warp) {
    int order[HONE_DEV_WARP];
    for (int i = 0; i < HONE_DEV_WARP; i++) {
        int j = (int)hone_dev_random((unsigned)i + 1);
        order[i] = order[j];
        order[j] = warp * HONE_DEV_WARP + i;
    }
    for (int i = 0; i < HONE_DEV_WARP; i++)
        if (hone_dev.fibres[order[i]].state == HONE_DEV_READY)
            hone_dev_run(&hone_dev.fibres[order[i]]);
}

// Has everybody come whom the warp waits for?
static int hone_dev_is_complete(int warp) {
    if (!hone_dev_warp_is(warp, HONE_DEV_AT_SHUFFLE, 0))
        return 0;
    if (!hone_dev.fibres[warp * HONE_DEV_WARP].is_group)
        return 1;
    for (int w = warp / 4 * 4; w < warp / 4 * 4 + 4; w++)
        if (!hone_dev_warp_is(w, HONE_DEV_AT_SHUFFLE, 0) ||
            !hone_dev.fibres[w * HONE_DEV_WARP].is_group)
            return 0;
    return 1;
}

// All threads of the warp stand at the same shuffle: exchange.
static void hone_dev_exchange(int warp) {
    struct hone_dev_fibre *f = &hone_dev.fibres[warp * HONE_DEV_WARP];
    union hone_dev_cell offer[HONE_DEV_WARP];
    for (int i = 0; i < HONE_DEV_WARP; i++) {
        offer[i] = f[i].offered;
        hone_dev.now = &f[i];
        if (f[i].line != f[0].line)
            hone_dev_fault("shuffles at line %d, but thread %d at line %d", f[i].line, f[0].thread,
                           f[0].line);
    }
    if (f[0].together)
        f[0].together(f);
    for (int i = 0; i < HONE_DEV_WARP; i++) {
        if (!f[i].together)
            f[i].offered = offer[f[i].source];
        f[i].state = HONE_DEV_READY;
    }
    hone_dev.now = NULL;
}

static void hone_dev_exchange_all(int warp) {
    int n = hone_dev.fibres[warp * HONE_DEV_WARP].is_group ? 4 : 1;
    for (int i = 0; i < n; i++)
        hone_dev_exchange(warp / n * n + i);
}

// Let the threads of a block that stand at a barrier go on when all do. 0: some are missing.
static int hone_dev_release(struct hone_dev_fibre *first) {
    for (int i = 0; i < hone_dev.launch->threads; i++) {
        struct hone_dev_fibre *f = &first[i];
        if (f->state != HONE_DEV_AT_BARRIER)
            return 0;
        hone_dev.now = f;
        if (f->line != first->line)
            hone_dev_fault("is at the barrier of line %d, but thread 0 at that of line %d", f->line,
                           first->line);
    }
    hone_dev.now = NULL;
    for (int i = 0; i < hone_dev.launch->threads; i++)
        first[i].state = HONE_DEV_READY;
    return 1;
}

// dev_cpu_bulk.h: what goes on by itself.
static void hone_dev_async_begin(void);
static void hone_dev_async_step(void);
static int hone_dev_async_hurry(void);
static void hone_dev_async_end(void);
static void hone_dev_async_prepare(uint64_t seed);
static void *hone_dev_async_set_aside(void);
static void hone_dev_async_take_back(void *aside);

// The same of the blocks that `first` stands waiting for.
static int hone_dev_release_meeting(const struct hone_dev_fibre *first) {
    int n = 0;
    const void *meeting = first->meeting;
    for (int i = 0; i < hone_dev.n_fibres; i++) {
        struct hone_dev_fibre *f = &hone_dev.fibres[i];
        if (f->state != HONE_DEV_AT_MEETING || f->meeting != meeting)
            continue;
        n++;
        hone_dev.now = f;
        if (f->line != first->line)
            hone_dev_fault("meets at line %d, but block %ld at line %d", f->line, first->block,
                           first->line);
    }
    hone_dev.now = NULL;
    if (n != first->n_meet * hone_dev.launch->threads)
        return 0;
    for (int i = 0; i < hone_dev.n_fibres; i++)
        if (hone_dev.fibres[i].state == HONE_DEV_AT_MEETING &&
            hone_dev.fibres[i].meeting == meeting)
            hone_dev.fibres[i].state = HONE_DEV_READY;
    return 1;
}

// Every barrier and meeting that all have come to. 0: there is none.
static int hone_dev_release_all(void) {
    int n = 0;
    for (int i = 0; i < hone_dev.n_fibres; i += hone_dev.launch->threads) {
        struct hone_dev_fibre *first = &hone_dev.fibres[i];
        if (first->state == HONE_DEV_AT_MEETING)
            n += hone_dev_release_meeting(first);
        else
            n += hone_dev_release(first);
    }
    return n;
}

// Nobody can go on: say who stands where.
__attribute__((noreturn)) static void hone_dev_stuck(void) {
    static const char *const where[] = {"ready",        "at a barrier",
                                        "at a shuffle", "at a barrier in shared memory",
                                        "at a meeting", "at the wait for the launch before",
                                        "at its end"};
    struct hone_dev_fibre *a = &hone_dev.fibres[0];
    for (int i = 0; i < hone_dev.n_fibres; i++)
        if (hone_dev.fibres[i].state != HONE_DEV_READY && hone_dev.fibres[i].state != HONE_DEV_DONE)
            a = &hone_dev.fibres[i];
    for (int i = 0; i < hone_dev.n_fibres; i++) {
        struct hone_dev_fibre *b = &hone_dev.fibres[i];
        hone_dev.now = a;
        if (b->state != a->state)
            hone_dev_fault("is %s (line %d) while thread %d is %s", where[a->state], a->line,
                           b->thread, where[b->state]);
    }
    hone_dev_fault("cannot go on");
}

// Begin `n` blocks from number `block` on at the same time.
static void hone_dev_begin_blocks(long block, long n) {
    hone_dev.n_fibres = (int)n * hone_dev.launch->threads;
    for (int i = 0; i < hone_dev.n_arrays; i++)
        hone_dev_poison_shared(hone_dev.arrays[i].data, hone_dev.arrays[i].bytes);
    for (int i = 0; i < hone_dev.n_fibres; i++) {
        hone_dev.fibres[i].thread = i % hone_dev.launch->threads;
        hone_dev.fibres[i].block = block + i / hone_dev.launch->threads;
        hone_dev.fibres[i].state = HONE_DEV_READY;
        hone_dev.fibres[i].n_copies = hone_dev.fibres[i].group = 0;
    }
    hone_dev_async_begin();
}

static int hone_dev_waits_for_launch(void) {
    for (int i = 0; i < hone_dev.n_fibres; i++)
        if (hone_dev.fibres[i].state == HONE_DEV_AT_LAUNCH)
            return 1;
    return 0;
}

// Let them go on, to their end; where launches before this one have not ended, as far as they can.
static void hone_dev_go_on(void) {
    int n_warps = hone_dev.n_fibres / HONE_DEV_WARP, last = -1;
    for (;;) {
        hone_dev_async_step();
        int runnable[HONE_DEV_FIBRES_MAX / HONE_DEV_WARP], n_runnable = 0, done = 0;
        for (int w = 0; w < n_warps; w++) {
            if (hone_dev_is_complete(w))
                hone_dev_exchange_all(w);
            done += hone_dev_warp_is(w, HONE_DEV_DONE, 0);
            if (hone_dev_warp_is(w, HONE_DEV_READY, 1))
                runnable[n_runnable++] = w;
        }
        if (done == n_warps) {
            hone_dev_async_end();
            return;
        }
        // With copies that land at once one warp goes as far ahead of the others as it can.
        for (int i = 0; i < n_runnable && hone_dev.copies_at_once; i++)
            if (runnable[i] == last && hone_dev_random(512)) {
                runnable[0] = last;
                n_runnable = 1;
            }
        if (n_runnable > 0)
            hone_dev_run_warp(last = runnable[hone_dev_random((unsigned)n_runnable)]);
        else if (!hone_dev_release_all() && !hone_dev_async_hurry()) {
            if (hone_dev.is_early && hone_dev_waits_for_launch())
                return;
            hone_dev_stuck();
        }
    }
}

static void hone_dev_run_blocks(long block, long n) {
    hone_dev_begin_blocks(block, n);
    hone_dev_go_on();
}

static void hone_dev_signal(int number) {
    const char *what = number == SIGSEGV || number == SIGBUS ? "touches memory that is not its own"
                       : number == SIGVTALRM                 ? "does not end"
                                                             : "divides by zero or the like";
    hone_dev_fault("%s", what);
}

static void hone_dev_prepare(uint64_t seed) {
    static char signal_stack[64 << 10];
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_handler = hone_dev_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    hone_dev.begins_at_page = seed & 1;
    hone_dev.copies_at_once = seed % 4 == 2;
    hone_dev.finite_poison = seed % 4 == 3;
    hone_dev.random = seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    hone_dev_async_prepare(seed);
    if (!hone_dev.fibres)
        hone_dev.fibres = calloc(HONE_DEV_FIBRES_MAX, sizeof *hone_dev.fibres);
}

// A launch that has begun: the order of its blocks, of which the first ones may be under way.
struct hone_dev_begun {
    const struct hone_dev_launch *launch;
    long *order, n, together;
    int is_early;
    // What is set aside while others run.
    struct hone_dev_fibre *fibres;
    int n_fibres, n_arrays;
    struct hone_dev_array arrays[HONE_DEV_ARRAYS_MAX];
    void *async;
};

static struct hone_dev_begun *hone_dev_begin(const struct hone_dev_launch *launch) {
    struct hone_dev_begun *b = calloc(1, sizeof *b);
    b->launch = launch;
    b->together = launch->together ? launch->together : 1;
    b->n = launch->grid / b->together;
    hone_dev.launch = launch;
    if (launch->threads < HONE_DEV_WARP || launch->threads > HONE_DEV_THREADS_MAX ||
        launch->threads % HONE_DEV_WARP != 0 || launch->grid < 1 ||
        launch->grid % b->together != 0 || b->together * launch->threads > HONE_DEV_FIBRES_MAX)
        hone_dev_fault("cannot be launched with %ld blocks of %d threads, %ld at a time",
                       launch->grid, launch->threads, b->together);
    b->order = malloc((size_t)b->n * sizeof *b->order);
    for (long i = 0; i < b->n; i++) {
        long j = (long)hone_dev_random((unsigned)i + 1);
        b->order[i] = b->order[j];
        b->order[j] = i;
    }
    hone_dev.n_arrays = 0;
    return b;
}

// Run the blocks of a launch, in a random order, those that can meet at the same time.
static void hone_dev_finish(struct hone_dev_begun *b) {
    for (long i = b->is_early ? 1 : 0; i < b->n; i++)
        hone_dev_run_blocks(b->order[i] * b->together, b->together);
    free(b->order);
    free(b);
    hone_dev_check_gaps();
    hone_dev.launch = NULL;
}

// The first blocks of a launch go as far as they can before those before it have begun.
__attribute__((unused)) static struct hone_dev_begun *
hone_dev_launch_early(const struct hone_dev_launch *launch) {
    struct hone_dev_begun *b = hone_dev_begin(launch);
    hone_dev.is_early = b->is_early = 1;
    hone_dev_begin_blocks(b->order[0] * b->together, b->together);
    hone_dev_go_on();
    if (!hone_dev_waits_for_launch())
        hone_dev_fault("ends without waiting for the launch before");
    hone_dev.is_early = 0;
    b->fibres = hone_dev.fibres;
    b->n_fibres = hone_dev.n_fibres;
    b->n_arrays = hone_dev.n_arrays;
    memcpy(b->arrays, hone_dev.arrays, sizeof b->arrays);
    b->async = hone_dev_async_set_aside();
    hone_dev.fibres = calloc(HONE_DEV_FIBRES_MAX, sizeof *hone_dev.fibres);
    hone_dev.launch = NULL;
    return b;
}

// Those before it have ended: on with them, and with all others.
__attribute__((unused)) static void hone_dev_launch_rest(struct hone_dev_begun *b) {
    free(hone_dev.fibres);
    hone_dev.launch = b->launch;
    hone_dev.fibres = b->fibres;
    hone_dev.n_fibres = b->n_fibres;
    hone_dev.n_arrays = b->n_arrays;
    memcpy(hone_dev.arrays, b->arrays, sizeof b->arrays);
    hone_dev_async_take_back(b->async);
    for (int i = 0; i < hone_dev.n_fibres; i++) {
        if (hone_dev.fibres[i].state == HONE_DEV_DONE) {
            hone_dev.now = &hone_dev.fibres[i];
            hone_dev_fault("ends without waiting for the launch before");
        }
        if (hone_dev.fibres[i].state == HONE_DEV_AT_LAUNCH)
            hone_dev.fibres[i].state = HONE_DEV_READY;
    }
    hone_dev_go_on();
    hone_dev_finish(b);
}

__attribute__((unused)) static void hone_dev_launch(const struct hone_dev_launch *launch) {
    hone_dev_finish(hone_dev_begin(launch));
}

// What kernels call.

static void *hone_dev_shared(const char *name, size_t bytes) {
    // Which of the blocks that run at the same time it belongs to.
    long block = hone_dev.now->block % (hone_dev.launch->together ? hone_dev.launch->together : 1);
    for (int i = 0; i < hone_dev.n_arrays; i++)
        if (hone_dev.arrays[i].name == name && hone_dev.arrays[i].block == block)
            return hone_dev.arrays[i].data;
    if (hone_dev.n_arrays == HONE_DEV_ARRAYS_MAX)
        hone_dev_fault("has too many arrays in shared memory");
    struct hone_dev_array *a = &hone_dev.arrays[hone_dev.n_arrays++];
    *a = (struct hone_dev_array){name, block, hone_dev_guarded(bytes, 1), bytes};
    hone_dev_poison_shared(a->data, bytes);
    return a->data;
}

// One literal for each declaration, so that its address tells them apart.
#define HONE_SHARED_OF(type, name, count)    \
    static const char name##_name[] = #name; \
    type *const name = hone_dev_shared(name##_name, sizeof(type) * (size_t)(count))
#define HONE_DYNAMIC_OF(type, name, offset, count) \
    static const char name##_name[] = #name;       \
    type *const name = hone_dev_dynamic(name##_name, offset, (long)sizeof(type) * (count))
#define HONE_SHARED(name, count) HONE_SHARED_OF(float, name, count)
#define HONE_DYNAMIC(name, offset, count) HONE_DYNAMIC_OF(float, name, 4 * (offset), count)

static __attribute__((unused)) void *hone_dev_dynamic(const char *name, long offset, long bytes) {
    if (offset % 16 != 0 || offset + bytes > hone_dev.launch->shared_bytes)
        hone_dev_fault("%s needs %ld bytes of shared memory, the launch gives %ld", name,
                       offset + bytes, hone_dev.launch->shared_bytes);
    return hone_dev_shared(name, (size_t)bytes);
}

HONE_FN int hone_thread(void) {
    return hone_dev.now->thread;
}
HONE_FN int hone_block(void) {
    return (int)hone_dev.now->block;
}

#define hone_barrier() hone_dev_stop(HONE_DEV_AT_BARRIER, __LINE__)

#define hone_launch_wait()                               \
    do {                                                 \
        if (hone_dev.is_early)                           \
            hone_dev_stop(HONE_DEV_AT_LAUNCH, __LINE__); \
    } while (0)
// When the next launch begins is never said: fibres begin it as early as can be.
#define hone_launch_next() ((void)0)
#define hone_renew(p) ((void)0)

static __attribute__((unused)) void hone_dev_gather(const void *meeting, int blocks, int line) {
    hone_dev.now->meeting = meeting;
    hone_dev.now->n_meet = blocks;
    hone_dev_stop(HONE_DEV_AT_MEETING, line);
}
#define hone_cluster_barrier() hone_dev_gather(NULL, (int)hone_dev.launch->together, __LINE__)
// The scheduler counts by itself; what a device counts in must be zeroed all the same.
#define hone_gang_barrier(count, blocks)                             \
    do {                                                             \
        if (*(count) != 0)                                           \
            hone_dev_fault("meets others by a count that is not 0"); \
        hone_dev_gather(count, blocks, __LINE__);                    \
    } while (0)

// Let others go on, now and then: for tests, between statements that no barrier keeps apart.
static __attribute__((unused)) void hone_dev_yield(int line) {
    if (hone_dev_random(4) == 0)
        hone_dev_stop(HONE_DEV_READY, line);
}

static __attribute__((unused)) void hone_dev_exchanged(int source, int line) {
    hone_dev.now->source = source;
    hone_dev.now->together = NULL;
    hone_dev.now->is_group = 0;
    hone_dev_stop(HONE_DEV_AT_SHUFFLE, line);
}
#define HONE_DEV_SHUFFLE(type, t)                                                            \
    static __attribute__((unused)) type hone_dev_shuffle_##t(type v, int source, int line) { \
        hone_dev.now->offered.t = v;                                                         \
        hone_dev_exchanged(source, line);                                                    \
        return hone_dev.now->offered.t;                                                      \
    }
HONE_DEV_SHUFFLE(float, f32)
HONE_DEV_SHUFFLE(double, f64)
HONE_DEV_SHUFFLE(int, i32)
HONE_DEV_SHUFFLE(long long, i64)
#undef HONE_DEV_SHUFFLE
#define HONE_DEV_LANE (hone_dev.now->thread % HONE_DEV_WARP)
#define hone_shuffle_xor(v, mask) hone_dev_shuffle_f32(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_f64(v, mask) hone_dev_shuffle_f64(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_i32(v, mask) hone_dev_shuffle_i32(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_i64(v, mask) hone_dev_shuffle_i64(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_down(v, distance)                                                           \
    hone_dev_shuffle_f32(v,                                                                      \
                         HONE_DEV_LANE + (distance) < HONE_DEV_WARP ? HONE_DEV_LANE + (distance) \
                                                                    : HONE_DEV_LANE,             \
                         __LINE__)
#define HONE_DEV_UP(distance) \
    (HONE_DEV_LANE < (distance) ? HONE_DEV_LANE : HONE_DEV_LANE - (distance))
#define hone_shuffle_up(v, distance) hone_dev_shuffle_f32(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_f64(v, distance) hone_dev_shuffle_f64(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_i32(v, distance) hone_dev_shuffle_i32(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_i64(v, distance) hone_dev_shuffle_i64(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle(v, lane) hone_dev_shuffle_f32(v, lane, __LINE__)
#define hone_shuffle_f64(v, lane) hone_dev_shuffle_f64(v, lane, __LINE__)
#define hone_shuffle_i32(v, lane) hone_dev_shuffle_i32(v, lane, __LINE__)
#define hone_shuffle_i64(v, lane) hone_dev_shuffle_i64(v, lane, __LINE__)
HONE_FN int hone_warp_any(int m) {
    for (int mask = 16; mask > 0; mask /= 2)
        m |= hone_shuffle_xor_i32(m, mask);
    return m != 0;
}
HONE_FN int hone_warp_all(int m) {
    return !hone_warp_any(!m);
}

HONE_FN void hone_atomic_add(float *to, float v) {
    *to += v;
}
HONE_FN void hone_shared_add(float *to, const float *v) {
    *to += *v;
}
// Threads wait for those before them: a shuffle is a meeting of the warp.
#define hone_warp_add(to, v, takes_part)                         \
    do {                                                         \
        for (int hone_i = 0; hone_i < HONE_DEV_WARP; hone_i++) { \
            if (hone_i == HONE_DEV_LANE && (takes_part))         \
                *(to) += *(v);                                   \
            (void)hone_shuffle_xor_i32(0, 1);                    \
        }                                                        \
    } while (0)

typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef int i32x8 __attribute__((vector_size(32)));

#define HONE_X(v) (v)[0]
#define HONE_Y(v) (v)[1]
#define HONE_Z(v) (v)[2]
#define HONE_W(v) (v)[3]
#define HONE_LOW(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define HONE_HIGH(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)

HONE_FN f32x2 hone_pack2(float x, float y) {
    return (f32x2){x, y};
}
HONE_FN f32x4 hone_pack4(float x, float y, float z, float w) {
    return (f32x4){x, y, z, w};
}

HONE_FN i32x2 hone_pack_mask2(int x, int y) {
    return (i32x2){x, y};
}
HONE_FN i32x4 hone_pack_mask4(int x, int y, int z, int w) {
    return (i32x4){x, y, z, w};
}
HONE_FN f32x8 hone_pair8(f32x4 low, f32x4 high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
HONE_FN i32x8 hone_pair_mask8(i32x4 low, i32x4 high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

HONE_FN i32x2 hone_all_mask2(int m) {
    return (i32x2){0} - (m != 0);
}
HONE_FN i32x4 hone_all_mask4(int m) {
    return (i32x4){0} - (m != 0);
}

static __attribute__((unused)) void hone_dev_aligned(const void *p, size_t bytes) {
    if ((uintptr_t)p % bytes != 0 && !hone_dev.any_alignment)
        hone_dev_fault("reads or writes %zu bytes where only %zu are aligned", bytes,
                       (size_t)((uintptr_t)p & -(uintptr_t)p));
}
#define HONE_DEV_ACCESS(n)                              \
    HONE_FN f32x##n hone_load##n(const float *from) {   \
        f32x##n v;                                      \
        hone_dev_aligned(from, sizeof v);               \
        memcpy(&v, from, sizeof v);                     \
        return v;                                       \
    }                                                   \
    HONE_FN f32x##n hone_once##n(const float *from) {   \
        return hone_load##n(from);                      \
    }                                                   \
    HONE_FN void hone_store##n(float *to, f32x##n v) {  \
        hone_dev_aligned(to, sizeof v);                 \
        memcpy(to, &v, sizeof v);                       \
    }                                                   \
    HONE_FN void hone_stream##n(float *to, f32x##n v) { \
        hone_store##n(to, v);                           \
    }
HONE_DEV_ACCESS(2)
HONE_DEV_ACCESS(4)
#undef HONE_DEV_ACCESS
HONE_FN void hone_store2_i32(int *to, i32x2 v) {
    hone_dev_aligned(to, sizeof v);
    memcpy(to, &v, sizeof v);
}
#define HONE_DEV_WORDS(n)                                            \
    HONE_FN void hone_get_words##n(const void *from, unsigned *w) {  \
        hone_dev_aligned(from, 4 * n);                               \
        memcpy(w, from, 4 * n);                                      \
    }                                                                \
    HONE_FN void hone_put_words##n(void *to, const unsigned *w) {    \
        hone_dev_aligned(to, 4 * n);                                 \
        memcpy(to, w, 4 * n);                                        \
    }                                                                \
    HONE_FN void hone_stream_words##n(void *to, const unsigned *w) { \
        hone_put_words##n(to, w);                                    \
    }
HONE_DEV_WORDS(1)
HONE_DEV_WORDS(2)
HONE_DEV_WORDS(4)
#undef HONE_DEV_WORDS
HONE_FN float hone_once1(const float *from) {
    return *from;
}
HONE_FN void hone_stream1(float *to, float v) {
    *to = v;
}
HONE_FN void hone_prefetch(const void *from) {
    (void)from;
}

static void hone_dev_land(const struct hone_dev_copy *c) {
    memcpy(c->to, c->from, (size_t)c->valid);
    memset((char *)c->to + c->valid, 0, (size_t)(c->bytes - c->valid));
}
static __attribute__((unused)) void hone_dev_copy(void *to, const void *from, int bytes,
                                                  int valid) {
    struct hone_dev_fibre *f = hone_dev.now;
    struct hone_dev_copy c = {to, from, bytes, valid, f->group};
    hone_dev_aligned(to, (size_t)bytes);
    hone_dev_aligned(from, (size_t)bytes);
    if (valid < 0 || valid > bytes)
        hone_dev_fault("copies %d of %d bytes", valid, bytes);
    if (f->n_copies == HONE_DEV_COPIES_MAX)
        hone_dev_fault("has more than %d asynchronous copies under way", HONE_DEV_COPIES_MAX);
    if (hone_dev.copies_at_once)
        hone_dev_land(&c);
    else
        f->copies[f->n_copies++] = c;
}
HONE_FN void hone_async1(float *to, const float *from) {
    hone_dev_copy(to, from, 4, 4);
}
HONE_FN void hone_async4(float *to, const float *from) {
    hone_dev_copy(to, from, 16, 16);
}
HONE_FN void hone_async_copy4(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 4, valid);
}
HONE_FN void hone_async_copy8(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 8, valid);
}
HONE_FN void hone_async_copy16(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 16, valid);
}
HONE_FN void hone_async_commit(void) {
    hone_dev.now->group++;
}
// Copies of groups older than the newest `groups` land now; copies not committed never do.
HONE_FN void hone_async_wait(int groups) {
    struct hone_dev_fibre *f = hone_dev.now;
    int kept = 0;
    for (int i = 0; i < f->n_copies; i++) {
        struct hone_dev_copy *c = &f->copies[i];
        if (c->group < f->group - groups)
            hone_dev_land(c);
        else
            f->copies[kept++] = *c;
    }
    f->n_copies = kept;
}

// Fragments and their products: each thread leaves its operands in its fibre, the last one that
// comes does the work for all, and each takes its results.
static __attribute__((unused)) void hone_dev_meet(hone_dev_together together, int line) {
    hone_dev.now->together = together;
    hone_dev.now->is_group = 0;
    hone_dev_stop(HONE_DEV_AT_SHUFFLE, line);
}

static void hone_dev_load_matrices(struct hone_dev_fibre *f, int transposed) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int g = lane / 4, q = lane % 4;
            uint16_t half[2];
            for (int j = 0; j < 2; j++) {
                int row = transposed ? 2 * q + j : g, column = transposed ? g : 2 * q + j;
                memcpy(&half[j], (const char *)f[8 * i + row].row + 2 * column, 2);
            }
            memcpy(&f[lane].word[i], half, 4);
        }
}
static __attribute__((unused)) void hone_dev_rows(struct hone_dev_fibre *f) {
    hone_dev_load_matrices(f, 0);
}
static __attribute__((unused)) void hone_dev_columns(struct hone_dev_fibre *f) {
    hone_dev_load_matrices(f, 1);
}
static __attribute__((unused)) void hone_dev_ldmatrix(int *to, const void *from,
                                                      hone_dev_together how, int line) {
    hone_dev_aligned(from, 16);
    hone_dev.now->row = from;
    hone_dev_meet(how, line);
    memcpy(to, hone_dev.now->word, sizeof hone_dev.now->word);
}
#define hone_ldmatrix(to, from) hone_dev_ldmatrix(to, from, hone_dev_rows, __LINE__)
#define hone_ldmatrix_transposed(to, from) hone_dev_ldmatrix(to, from, hone_dev_columns, __LINE__)

static float hone_from_f16(unsigned short h);
static float hone_from_f8e4m3(unsigned char b);
static float hone_from_f8e5m2(unsigned char b);
static float hone_from_bf16(unsigned short h);
static float hone_dev_from_tf32(int word) {
    float v;
    word &= ~0x1fff;
    memcpy(&v, &word, 4);
    return v;
}
// Element number `half` of a word.
static float hone_dev_half_f16(int word, int half) {
    return hone_from_f16((unsigned short)((unsigned)word >> 16 * half));
}
static float hone_dev_half_bf16(int word, int half) {
    return hone_from_bf16((unsigned short)((unsigned)word >> 16 * half));
}
static float hone_dev_half_e4m3(int word, int half) {
    return hone_from_f8e4m3((unsigned char)((unsigned)word >> 8 * half));
}
static float hone_dev_half_e5m2(int word, int half) {
    return hone_from_f8e5m2((unsigned char)((unsigned)word >> 8 * half));
}
static float hone_dev_half_tf32(int word, int half) {
    (void)half;
    return hone_dev_from_tf32(word);
}
// `per` elements to a word, 8 * per deep.
static void hone_dev_multiply(struct hone_dev_fibre *f, int per, float (*element)(int, int)) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int column = lane % 4 * 2 + i % 2;
            double sum = (double)f[lane].sum[i];
            for (int k = 0; k < 8 * per; k++) {
                int q = k % (4 * per) / per, half = k % per, later = k / (4 * per);
                sum += (double)element(f[lane / 4 * 4 + q].word[i / 2 + 2 * later], half) *
                       (double)element(f[column * 4 + q].other[later], half);
            }
            f[lane].sum[i] = (float)sum;
        }
}
#define HONE_DEV_MMA(t, per)                                                         \
    static __attribute__((unused)) void hone_dev_mma_##t(struct hone_dev_fibre *f) { \
        hone_dev_multiply(f, per, hone_dev_half_##t);                                \
    }
HONE_DEV_MMA(f16, 2)
HONE_DEV_MMA(bf16, 2)
HONE_DEV_MMA(tf32, 1)
HONE_DEV_MMA(e4m3, 4)
HONE_DEV_MMA(e5m2, 4)
#undef HONE_DEV_MMA
// Four whole numbers of 8 bits to a word; the sums' bits stand for themselves.
static __attribute__((unused)) void hone_dev_mma_i8(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int column = lane % 4 * 2 + i % 2;
            unsigned sum;
            memcpy(&sum, &f[lane].sum[i], 4);
            for (int k = 0; k < 32; k++) {
                int q = k % 16 / 4, later = k / 16, shift = k % 4 * 8;
                int x = f[lane / 4 * 4 + q].word[i / 2 + 2 * later] >> shift;
                int y = f[column * 4 + q].other[later] >> shift;
                sum += (unsigned)((int)(signed char)x * (int)(signed char)y);
            }
            memcpy(&f[lane].sum[i], &sum, 4);
        }
}
static __attribute__((unused)) void hone_dev_mma(void *sum, const int *a, const int *b,
                                                 hone_dev_together how, int line) {
    struct hone_dev_fibre *f = hone_dev.now;
    memcpy(f->sum, sum, sizeof f->sum);
    memcpy(f->word, a, sizeof f->word);
    memcpy(f->other, b, sizeof f->other);
    hone_dev_meet(how, line);
    memcpy(sum, f->sum, sizeof f->sum);
}
#define hone_mma_f16(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_f16, __LINE__)
#define hone_mma_bf16(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_bf16, __LINE__)
#define hone_mma_tf32(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_tf32, __LINE__)
#define hone_mma_i8(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_i8, __LINE__)
#define hone_mma_e4m3(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_e4m3, __LINE__)
#define hone_mma_e5m2(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_e5m2, __LINE__)
static __attribute__((unused)) void hone_dev_quad_max(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        const struct hone_dev_fibre *q = &f[lane / 4 * 4];
        f[lane].sum[2] = q->sum[0];
        for (int i = 1; i < 8; i++) {
            float v = q[i / 2].sum[i % 2];
            f[lane].sum[2] = v != v || v > f[lane].sum[2] ? v : f[lane].sum[2];
        }
    }
}
static __attribute__((unused)) void hone_dev_quad_sum(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        f[lane].sum[2] = 0;
        for (int i = 0; i < 8; i++)
            f[lane].sum[2] += f[lane / 4 * 4 + i / 2].sum[i % 2];
    }
}
static __attribute__((unused)) void hone_dev_quad(void *v, hone_dev_together how, int line) {
    struct hone_dev_fibre *f = hone_dev.now;
    memcpy(f->sum, v, 2 * sizeof(float));
    hone_dev_meet(how, line);
    memcpy(v, &f->sum[2], sizeof(float));
    memcpy((float *)v + 1, &f->sum[2], sizeof(float));
}
#define hone_quad_max(v) hone_dev_quad(v, hone_dev_quad_max, __LINE__)
#define hone_quad_sum(v) hone_dev_quad(v, hone_dev_quad_sum, __LINE__)
HONE_FN void hone_take(int *to, void *counter, const int *more) {
    hone_dev_aligned(counter, 4);
    *to = *(int *)counter;
    *(int *)counter = (int)((unsigned)*to + (unsigned)*more);
}
HONE_FN void hone_load_row(int *to, const void *from) {
    hone_dev_aligned(from, 16);
    memcpy(to, from, 16);
}
HONE_FN void hone_load_rows(int *to, const void *first, const void *second) {
    hone_dev_aligned(first, 16);
    hone_dev_aligned(second, 16);
    for (int i = 0; i < 4; i++) {
        memcpy(&to[2 * i], (const char *)first + 4 * i, 4);
        memcpy(&to[2 * i + 1], (const char *)second + 4 * i, 4);
    }
}
HONE_FN void hone_word(int *to, const void *from) {
    hone_dev_aligned(from, 4);
    memcpy(to, from, 4);
}
HONE_FN void hone_words4(int *to, const void *from) {
    hone_dev_aligned(from, 16);
    memcpy(to, from, 16);
}
static unsigned short hone_to_f16(float x);
static unsigned short hone_to_bf16(float x);
// Number `i` of a word of numbers of 4 or 8 bits.
static __attribute__((unused)) float hone_dev_number(int word, int bits, int i) {
    int v = (int)((unsigned)word >> bits * i & ((1u << bits) - 1));
    return (float)(v >= 1 << (bits - 1) ? v - (1 << bits) : v);
}
#define HONE_DEV_WIDEN(bits, t)                                                           \
    HONE_FN void hone_widen_i##bits##_##t(int *to, const int *first, const int *second) { \
        for (int i = 0; i < 32 / bits; i++) {                                             \
            int pair = i / 2, from = i % 2 ? *second : *first;                            \
            int x = bits == 4 ? pair : 2 * pair, y = bits == 4 ? pair + 4 : x + 1;        \
            to[i] = (int)(hone_to_##t(hone_dev_number(from, bits, x)) |                   \
                          (unsigned)hone_to_##t(hone_dev_number(from, bits, y)) << 16);   \
        }                                                                                 \
    }
HONE_DEV_WIDEN(4, f16)
HONE_DEV_WIDEN(4, bf16)
HONE_DEV_WIDEN(8, f16)
HONE_DEV_WIDEN(8, bf16)
#undef HONE_DEV_WIDEN
HONE_FN void hone_deal(int *w) {
    unsigned short v[8];
    memcpy(v, w, sizeof v);
    for (int i = 0; i < 4; i++)
        w[i] = (int)(v[i] | (unsigned)v[i + 4] << 16);
}
HONE_FN int hone_to_tf32(int word) {
    unsigned w = (unsigned)word;
    return (int)((w & 0x7f800000u) == 0x7f800000u ? w : (w + 0x1000u) & ~0x1fffu);
}
HONE_FN void hone_round_tf32(int *word) {
    *word = hone_to_tf32(*word);
}
HONE_FN void hone_split_tf32(int *high, int *low, const int *word) {
    float v, top;
    memcpy(&v, word, 4);
    *high = (int)(((unsigned)*word + 0x1000u) & ~0x1fffu);
    memcpy(&top, high, 4);
    v -= top;
    memcpy(low, &v, 4);
}
HONE_FN void hone_part_tf32(int *high, int *low, const int *word) {
    unsigned w = (unsigned)*word, h = (w + 0x1000u) & ~0x1fffu;
    int is_finite = (w & 0x7f800000u) != 0x7f800000u;
    if ((h & 0x7f800000u) == 0x7f800000u)
        h = w & ~0x1fffu;
    if ((w & 0x7fffffffu) > 0x7f800000u)
        h = 0x7fffe000u;
    float v, top;
    memcpy(&v, &w, 4);
    memcpy(&top, &h, 4);
    v = is_finite ? v - top : 0;
    memcpy(high, &h, 4);
    memcpy(low, &v, 4);
}
HONE_FN void hone_join_tf32(float *to, const int *high, const int *low) {
    float v, top;
    memcpy(&v, low, 4);
    memcpy(&top, high, 4);
    *to = top + v;
}

static unsigned short hone_to_f16(float x);
static unsigned short hone_to_bf16(float x);
HONE_FN void hone_power(void *sums) {
    float v[2];
    memcpy(v, sums, sizeof v);
    for (int i = 0; i < 2; i++) {
        v[i] = exp2f(v[i]);
        v[i] = v[i] < 0x1p-126f ? 0 : v[i];
    }
    memcpy(sums, v, sizeof v);
}
HONE_FN void hone_pair(void *to, const float *v) {
    memcpy(to, v, 2 * sizeof *v);
}
#define HONE_DEV_PACK(t)                                                       \
    static __attribute__((unused)) void hone_pack_##t(int *word, void *sums) { \
        float v[2];                                                            \
        memcpy(v, sums, sizeof v);                                             \
        *word = (int)(hone_to_##t(v[0]) | (unsigned)hone_to_##t(v[1]) << 16);  \
        for (int i = 0; i < 2; i++)                                            \
            v[i] -= hone_dev_half_##t(*word, i);                               \
        memcpy(sums, v, sizeof v);                                             \
    }
HONE_DEV_PACK(f16)
HONE_DEV_PACK(bf16)
#undef HONE_DEV_PACK

#include "dev_cpu_bulk.h"

HONE_FN float hone_max1(float a, float b) {
    return a != a || a > b ? a : b;
}
HONE_FN float hone_min1(float a, float b) {
    return a != a || a < b ? a : b;
}
HONE_FN float hone_rsqrt1(float x) {
    return 1 / sqrtf(x);
}
#define hone_word_f16(x, y) (hone_to_f16(x) | (unsigned)hone_to_f16(y) << 16)
#define hone_word_bf16(x, y) (hone_to_bf16(x) | (unsigned)hone_to_bf16(y) << 16)
