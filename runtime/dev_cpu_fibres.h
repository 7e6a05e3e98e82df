// Part of dev_cpu.h: one fibre per thread, guarded memory, the scheduler that draws who goes on,
// and launches. Nothing here is called by kernels.
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
