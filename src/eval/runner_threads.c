// Design: all state of a step in progress is in one 64-bit ticket, the step's running
// number in its upper bits and the next block in the lower. A thread takes a chunk of
// blocks by compare-and-swap, so one that comes late (its processor was busy) can take
// nothing that belongs to another step, and nobody has to wait for it: a step ends when
// its blocks are done, not when all threads have arrived. The thread that finishes the
// last block of a step opens the next one, or answers the judge.
//
// Waiting for the next step spins for some 30 µs and then sleeps; waiting for the next
// call sleeps at once, because another runner may be timed in the meantime.
#include "eval/runner_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "library/blas.h"

enum {
    SPINS = 1000,
    BLOCK_BITS = 32,  // a plan's grid fits
    CHUNKS_PER_THREAD = 64,
    FILL_BYTES = 256 * 1024,  // of one block of a fill
    STACK_BYTES = 32 << 20,
    STACK_GUARD = 1 << 20,
    ALT_STACK_BYTES = 64 << 10,
    // Of a stack, from where a thread sleeps: its own frames are there, which the judge leaves
    // alone, and what is below these it clears itself.
    OWN_BYTES = 16 << 10,
};

struct runner_threads_step {
    const struct plan_step *step;  // NULL: clear `buffer`
    int index;                     // of `step` in the plan
    int buffer;                    // of a fill or a clearing
    uint64_t word;                 // that it is filled with (plan_fill_word)
    int64_t grid, chunk;
};

struct runner_threads {
    struct control *control;
    const struct runner_threads_plan *plan;
    const struct layout *layout;
    int n_threads;
    struct runner_threads_step steps[CONTROL_STEPS_MAX];
    int n_steps;
    char *stacks;  // of all threads, each with a stack for signals and a guard below it

    _Alignas(64) _Atomic uint64_t ticket;
    _Alignas(64) _Atomic int64_t n_finished;  // blocks of the step in progress
    _Atomic uint32_t phase;                   // number of the step in progress; futex
    _Atomic uint32_t claimed;                 // call that some thread has opened or is opening
    _Atomic uint32_t opened;
    _Atomic uint32_t completed;
    _Atomic uint32_t first_phase;  // of the call in progress
    uint32_t slot;                 // written before the ticket that lets anybody read it
    int64_t step_start_ns;         // of the step in progress; likewise
};

struct runner_threads_member {
    struct runner_threads *crew;
    int index;
    uint64_t busy_ns;
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// The part of the floating point environment that changes results; on x86 that of the old unit
// (long double), too.
static uint32_t fp_control(void) {
#if defined(__x86_64__)
    uint16_t old;
    __asm__ volatile("fnstcw %0" : "=m"(old));
    return (__builtin_ia32_stmxcsr() & 0xffc0) | (uint32_t)old << 16;
#elif defined(__aarch64__)
    uint64_t r;
    __asm__ volatile("mrs %0, fpcr" : "=r"(r));
    return (uint32_t)r;
#else
    return 0;
#endif
}

static void fp_restore(uint32_t control) {
#if defined(__x86_64__)
    uint16_t old = (uint16_t)(control >> 16);
    __asm__ volatile("fldcw %0" : : "m"(old));
    __builtin_ia32_ldmxcsr(control & 0xffff);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control));
#else
    (void)control;
#endif
}

static void *pointer(const struct runner_threads *c, int buffer) {
    uint32_t slot = c->slot;
    return (char *)(uintptr_t)c->control->base[layout_base(c->layout, buffer, (int)slot)] +
           layout_lead(c->layout, buffer, (int)slot);
}

static void fill_block(const struct runner_threads *c, const struct runner_threads_step *s,
                       int64_t block) {
    int64_t from = block * FILL_BYTES, size = c->layout->buffers[s->buffer].size_bytes;
    int64_t to = from + FILL_BYTES < size ? from + FILL_BYTES : size;
    char *bytes = pointer(c, s->buffer);
    if (s->word == 0) {
        memset(bytes + from, 0, (size_t)(to - from));
        return;
    }
    uint64_t *words = (uint64_t *)(void *)bytes;
    for (int64_t i = from / 8; i < to / 8; i++)
        words[i] = s->word;
    memcpy(bytes + to / 8 * 8, &s->word, (size_t)(to % 8));
}

// In the calling conventions of x86-64 and AArch64 a function ignores arguments beyond
// its own, so a few shapes serve every number of them; five pointers go in registers.
#define TYPES4 void *, void *, void *, void *
#define TYPES16 TYPES4, TYPES4, TYPES4, TYPES4
#define TYPES64 TYPES16, TYPES16, TYPES16, TYPES16
#define ARGS4(a, i) (a)[i], (a)[(i) + 1], (a)[(i) + 2], (a)[(i) + 3]
#define ARGS16(a, i) ARGS4(a, i), ARGS4(a, (i) + 4), ARGS4(a, (i) + 8), ARGS4(a, (i) + 12)
#define ARGS64(a, i) ARGS16(a, i), ARGS16(a, (i) + 16), ARGS16(a, (i) + 32), ARGS16(a, (i) + 48)
typedef void (*few_fn)(long, TYPES4, void *);
typedef void (*many_fn)(long, TYPES16, TYPES4, TYPES4);
typedef void (*most_fn)(long, TYPES64, TYPES64, TYPES64, TYPES64, TYPES64, TYPES64, TYPES64,
                        TYPES64, TYPES64, TYPES64);
enum { FEW = 5, MANY = 24 };
_Static_assert(PLAN_ARGS_MAX == 10 * 64, "most_fn takes as many");

// What a function takes, and nothing beyond that up to `n`.
static void collect(const struct runner_threads *c, const struct plan_step *s, void **a, int n) {
    for (int i = 0; i < n; i++)
        a[i] = i < s->n_args ? pointer(c, s->args[i]) : NULL;
}

static void run_few(const struct runner_threads *c, const struct runner_threads_step *s,
                    int64_t from, int64_t to) {
    void *a[FEW];
    few_fn f = (few_fn)c->plan->functions[s->index];
    collect(c, s->step, a, FEW);
    for (int64_t b = from; b < to; b++)
        f((long)b, ARGS4(a, 0), a[4]);
}

static void run_many(const struct runner_threads *c, const struct runner_threads_step *s,
                     int64_t from, int64_t to) {
    void *a[MANY];
    many_fn f = (many_fn)c->plan->functions[s->index];
    collect(c, s->step, a, MANY);
    for (int64_t b = from; b < to; b++)
        f((long)b, ARGS16(a, 0), ARGS4(a, 16), ARGS4(a, 20));
}

static void run_most(const struct runner_threads *c, const struct runner_threads_step *s,
                     int64_t from, int64_t to) {
    void *a[PLAN_ARGS_MAX];
    most_fn f = (most_fn)c->plan->functions[s->index];
    collect(c, s->step, a, PLAN_ARGS_MAX);
    for (int64_t b = from; b < to; b++)
        f((long)b, ARGS64(a, 0), ARGS64(a, 64), ARGS64(a, 128), ARGS64(a, 192), ARGS64(a, 256),
          ARGS64(a, 320), ARGS64(a, 384), ARGS64(a, 448), ARGS64(a, 512), ARGS64(a, 576));
}

static void run_call(const struct runner_threads *c, const struct runner_threads_step *s,
                     int64_t from, int64_t to) {
    void *a[CALL_BUFFERS_MAX];
    collect(c, s->step, a, CALL_BUFFERS_MAX);
    for (int64_t b = from; b < to; b++)
        blas_block(c->plan->blas, s->step->call, c->n_threads, b, a);
}

static void run_blocks(const struct runner_threads *c, const struct runner_threads_step *s,
                       int64_t from, int64_t to) {
    if (!s->step || s->step->kind == STEP_FILL)
        for (int64_t b = from; b < to; b++)
            fill_block(c, s, b);
    else if (s->step->kind == STEP_CALL)
        run_call(c, s, from, to);
    else if (s->step->n_args <= FEW)
        run_few(c, s, from, to);
    else if (s->step->n_args <= MANY)
        run_many(c, s, from, to);
    else
        run_most(c, s, from, to);
}

static void run_checked(struct runner_threads *c, const struct runner_threads_step *s, int64_t from,
                        int64_t to) {
    uint32_t before = fp_control();
    run_blocks(c, s, from, to);
    if (fp_control() == before)
        return;
    c->control->fp_changed = 1;
    fp_restore(before);
}

// Has this call ended (perhaps with later ones after it)?
static bool is_over(const struct runner_threads *c, uint32_t call) {
    return (int32_t)(c->completed - call) >= 0;
}

// The ticket comes last: with it the step can be run to its end by others at once, and
// what is stored after it would come too late.
static void open_step(struct runner_threads *c, uint32_t phase) {
    c->n_finished = 0;
    c->phase = phase;
    c->ticket = (uint64_t)phase << BLOCK_BITS;
    futex_wake_all(&c->phase);
}

static void end_call(struct runner_threads *c, uint32_t call, uint32_t next_phase) {
    c->completed = call;
    c->phase = next_phase;
    futex_wake_all(&c->phase);
    c->control->done = call;
    futex_wake_all(&c->control->done);
}

static void finish_step(struct runner_threads *c, uint32_t phase, uint32_t call) {
    int64_t now_ns = clock_now_ns();
    c->control->step_ns[phase - c->first_phase] = (uint64_t)(now_ns - c->step_start_ns);
    c->step_start_ns = now_ns;
    if (phase - c->first_phase + 1 < (uint32_t)c->n_steps) {
        open_step(c, phase + 1);
        return;
    }
    end_call(c, call, phase + 1);
}

// Blocks of the step in progress until there are none left; how many we ran of which phase.
static int64_t take_blocks(struct runner_threads_member *m, uint32_t call, uint32_t *phase) {
    struct runner_threads *c = m->crew;
    int64_t n_ran = 0;
    uint64_t ticket = c->ticket;
    *phase = (uint32_t)(ticket >> BLOCK_BITS);
    while (!is_over(c, call) && (uint32_t)(ticket >> BLOCK_BITS) == *phase) {
        uint32_t index = *phase - c->first_phase;
        int64_t from = (int64_t)(ticket & UINT32_MAX);
        // An index beyond the steps: the ticket is the last of a call that has just ended.
        const struct runner_threads_step *s = &c->steps[index < (uint32_t)c->n_steps ? index : 0];
        if (index >= (uint32_t)c->n_steps || from >= s->grid)
            break;
        int64_t to = from + s->chunk < s->grid ? from + s->chunk : s->grid;
        if (!atomic_compare_exchange_weak(&c->ticket, &ticket, ticket + (uint64_t)(to - from)))
            continue;
        run_checked(c, s, from, to);
        n_ran += to - from;
        ticket = c->ticket;
    }
    return n_ran;
}

static void wait_for_next_step(struct runner_threads *c, uint32_t phase) {
    for (int i = 0; i < SPINS && c->phase == phase; i++)
        relax();
    while (c->phase == phase)
        futex_wait(&c->phase, phase, -1);
}

static void take_part(struct runner_threads_member *m, uint32_t call) {
    struct runner_threads *c = m->crew;
    while (!is_over(c, call)) {
        uint32_t phase;
        int64_t start_ns = clock_now_ns();
        int64_t n_ran = take_blocks(m, call, &phase);
        if (n_ran > 0)
            m->busy_ns += (uint64_t)(clock_now_ns() - start_ns);
        c->control->busy_ns[m->index] = m->busy_ns;
        int64_t grid = n_ran ? c->steps[phase - c->first_phase].grid : -1;
        if (n_ran > 0 && atomic_fetch_add(&c->n_finished, n_ran) + n_ran == grid)
            finish_step(c, phase, call);
        else if (!is_over(c, call))
            wait_for_next_step(c, phase);
    }
}

// The first thread that sees a call opens it; the others wait that moment.
static void join_call(struct runner_threads_member *m, uint32_t call) {
    struct runner_threads *c = m->crew;
    uint32_t last = call - 1;
    if (atomic_compare_exchange_strong(&c->claimed, &last, call)) {
        c->slot = c->control->slot % (uint32_t)c->layout->n_slots;
        c->first_phase = c->phase;
        c->step_start_ns = clock_now_ns();
        open_step(c, c->first_phase);
        c->opened = call;
    }
    while (c->opened != call && !is_over(c, call))
        sched_yield();
    take_part(m, call);
}

static void pin(int index) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    int n = CPU_COUNT(&allowed), nth = index % (n ? n : 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || nth-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

// What blocks left right below. No call, and nothing kept below the array: the judge may write
// there at the same moment, when this thread had to wait for its processor.
static __attribute__((noinline, no_sanitize("address", "undefined"))) void clear_stack(void) {
    volatile uint64_t below[OWN_BYTES / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
        below[i] = UINT64_MAX;
}

static void *member_main(void *argument) {
    struct runner_threads_member *m = argument;
    struct control *control = m->crew->control;
    pin(m->index);
    char *alt_stack = m->crew->stacks + runner_threads_stack_begin(m->index);
    stack_t alt = {.ss_sp = alt_stack, .ss_size = ALT_STACK_BYTES};
    sigaltstack(&alt, NULL);
    control->rest[m->index] = ((uint64_t)(uintptr_t)__builtin_frame_address(0) - OWN_BYTES) & -64;
    control->tid[m->index] = (int32_t)syscall(SYS_gettid);
    for (uint32_t seen = 0;;) {
        while (control->call == seen)
            futex_wait(&control->call, seen, -1);
        seen = control->call;
        m->busy_ns = 0;
        control->busy_ns[m->index] = 0;
        join_call(m, seen);
        clear_stack();
    }
    return NULL;
}

static void add_step(struct runner_threads *c, struct runner_threads_step s) {
    int64_t chunk = s.grid / (c->n_threads * (int64_t)CHUNKS_PER_THREAD);
    s.chunk = chunk > 1 ? chunk : 1;
    c->steps[c->n_steps++] = s;
}

static int64_t fill_grid(const struct layout *l, int buffer) {
    return (l->buffers[buffer].size_bytes + FILL_BYTES - 1) / FILL_BYTES;
}

static uint64_t fill_word(const struct plan *p, const struct plan_step *s) {
    return plan_fill_word(p->buffers[s->fill_buffer].type, s->fill_value);
}

static void list_steps(struct runner_threads *c) {
    const struct plan *p = c->plan->plan;
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].is_zeroed)
            add_step(c, (struct runner_threads_step){.buffer = i, .grid = fill_grid(c->layout, i)});
    for (int i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        bool is_fill = s->kind == STEP_FILL;
        int64_t grid = is_fill                ? fill_grid(c->layout, s->fill_buffer)
                       : s->kind == STEP_CALL ? blas_blocks(s->call, c->n_threads)
                                              : s->grid;
        add_step(c, (struct runner_threads_step){.step = s,
                                                 .index = i,
                                                 .buffer = s->fill_buffer,
                                                 .word = is_fill ? fill_word(p, s) : 0,
                                                 .grid = grid});
    }
}

int64_t runner_threads_address_bytes(int n_threads) {
    return (int64_t)n_threads * (STACK_GUARD + STACK_BYTES);
}

int64_t runner_threads_stack_begin(int thread) {
    return runner_threads_address_bytes(thread);
}

int64_t runner_threads_stack_end(int thread) {
    return runner_threads_address_bytes(thread + 1);
}

static bool start_member(struct runner_threads *c, int index, struct error *err) {
    char *stack = c->stacks + runner_threads_stack_begin(index) + STACK_GUARD;
    struct runner_threads_member *m = calloc(1, sizeof *m);
    *m = (struct runner_threads_member){.crew = c, .index = index};
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    int why = pthread_attr_setstack(&attr, stack, STACK_BYTES);
    if (!why)
        why = mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) ||
                      mprotect(stack - STACK_GUARD, ALT_STACK_BYTES, PROT_READ | PROT_WRITE)
                  ? errno
                  : 0;
    if (!why)
        why = pthread_create(&thread, &attr, member_main, m);
    pthread_attr_destroy(&attr);
    return !why || error_set(err, ERROR_IO, "start thread %d: %s", index, strerror(why));
}

bool runner_threads_start(struct runner_threads **out, const struct runner_threads_spec *spec,
                          struct error *err) {
    // Lives as long as the process.
    struct runner_threads *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);
    memset(c, 0, sizeof *c);
    c->control = spec->control;
    c->plan = spec->plan;
    c->layout = spec->layout;
    c->n_threads = spec->n_threads;
    list_steps(c);
    c->stacks = mmap(NULL, (size_t)runner_threads_address_bytes(c->n_threads), PROT_NONE,
                     MAP_SHARED | MAP_NORESERVE, spec->stacks, 0);
    if (c->stacks == MAP_FAILED)
        return error_set(err, ERROR_IO, "map stacks: %s", strerror(errno));
    c->control->stacks = (uint64_t)(uintptr_t)c->stacks;
    for (int i = 0; i < c->n_threads; i++)
        if (!start_member(c, i, err))
            return false;
    for (int i = 0; i < c->n_threads; i++)  // each has its stack for signals once it has its number
        while (!*(volatile int32_t *)&c->control->tid[i])
            sched_yield();
    *out = c;
    return true;
}

bool runner_threads_is_stack_overflow(const struct runner_threads *c, const void *address) {
    const char *p = address;
    if (!c || p < c->stacks || p >= c->stacks + (size_t)runner_threads_address_bytes(c->n_threads))
        return false;
    return (size_t)(p - c->stacks) % (STACK_GUARD + STACK_BYTES) < STACK_GUARD;
}
