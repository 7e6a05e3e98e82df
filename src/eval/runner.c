// The runner: the process that a candidate runs in. It maps buffers, makes threads, locks
// itself in, loads the candidate and then only computes. It holds no seed, no expected
// value, no statistic, and does not know which call counts.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/sandbox.h"
#include "eval/eval_job.h"
#include "eval/runner_threads.h"
#include "library/blas.h"

enum { JUDGE = 3, ALT_STACK = 64 << 10 };
enum {
    FD_CONTROL,
    FD_FILES,
    FD_STACKS = FD_FILES + FILE_COUNT,
    FD_COUNT,
    FD_MADE = FD_COUNT,
    FD_MOST
};

struct runner_state {
    struct control *control;
    struct plan plan;
    struct layout layout;
    struct runner_threads_plan runner_threads_plan;
    struct runner_threads *crew;
    struct blas blas;
    int n_threads, n_slots;
    int object;  // descriptor
};

// A signal handler gets no argument, so it finds what it needs here. Written once, before
// the candidate is there.
static struct runner_state *the_runner;

static bool was_write(const void *context) {
#if defined(__x86_64__)
    const ucontext_t *u = context;
    return u->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static void on_fault(int signal, siginfo_t *info, void *context) {
    struct control *c = the_runner->control;
    uint32_t before = CONTROL_READY, starting = CONTROL_STARTING;
    // Only the first of several threads tells its story.
    if (atomic_compare_exchange_strong(&c->state, &before, CONTROL_FAULT) ||
        atomic_compare_exchange_strong(&c->state, &starting, CONTROL_FAULT)) {
        c->fault.signal = signal;
        c->fault.code = info->si_code;
        c->fault.syscall = signal == SIGSYS ? info->si_syscall : -1;
        c->fault.address = signal == SIGSYS ? 0 : (uint64_t)(uintptr_t)info->si_addr;
        c->fault.is_write = signal == SIGSEGV && was_write(context);
        if (signal == SIGSEGV && runner_threads_is_stack_overflow(the_runner->crew, info->si_addr))
            c->fault.place = FAULT_STACK;
        futex_wake_all(&c->done);
        futex_wake_all(&c->state);
    }
    _exit(1);
}

static void catch_faults(void) {
    static char alt_stack[ALT_STACK];
    stack_t alt = {.ss_sp = alt_stack, .ss_size = sizeof alt_stack};
    sigaltstack(&alt, NULL);
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT, SIGTRAP};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &act, NULL);
}

// Map the pages of one buffer of one slot in the middle of unmapped ones.
static bool map_buffer(struct runner_state *r, int buffer, int slot, const int *fds) {
    const struct layout_buffer *b = &r->layout.buffers[buffer];
    size_t size = (size_t)b->span_bytes;
    char *area = mmap(NULL, size + 2 * LAYOUT_GUARD, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return false;
    char *pages = area + LAYOUT_GUARD;
    r->control->base[layout_base(&r->layout, buffer, slot)] = (uint64_t)(uintptr_t)pages;
    return mmap(pages, size, b->file == FILE_INPUTS ? PROT_READ : PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_POPULATE, fds[FD_FILES + b->file],
                layout_offset(&r->layout, buffer, slot)) != MAP_FAILED;
}

static bool map_buffers(struct arena *a, struct runner_state *r, const int *fds,
                        struct error *err) {
    if (r->plan.n_buffers * r->n_slots > LAYOUT_BASES_MAX)
        return error_set(err, ERROR_IO, "map buffers: %d in %d slots are too many",
                         r->plan.n_buffers, r->n_slots);
    layout_make(a, &r->layout, &r->plan, r->n_slots);
    for (int slot = 0; slot < r->n_slots; slot++)
        for (int buffer = 0; buffer < r->plan.n_buffers; buffer++)
            if (!map_buffer(r, buffer, slot, fds))
                return error_set(err, ERROR_IO, "map buffers: %s", strerror(errno));
    return true;
}

static bool receive(struct arena *a, struct runner_state *r, int *fds, struct error *err) {
    json_t *message;
    int received[FRAME_MAX_FDS], n = 0;
    if (!frame_read(JUDGE, -1, &message, received, &n, err))
        return false;
    struct json_reader reader = {.where = "load"};
    json_read_schema(&reader, message, "hone.load/1");
    r->n_slots = (int)json_read_int(&reader, message, "slots");
    r->n_threads = (int)json_read_int(&reader, message, "threads");
    json_t *plan = json_read_object(&reader, message, "plan");
    bool ok = json_reader_done(&reader, err) && plan_from_json(a, plan, &r->plan, err);
    json_decref(message);
    if (ok && (n < FD_COUNT || n > FD_MOST || r->n_slots < SLOTS_MIN || r->n_slots > SLOTS_MAX ||
               r->n_threads < 1 || r->n_threads > THREADS_MAX))
        return error_set(err, ERROR_IO, "load: sizes or descriptors out of range");
    for (int i = 0; ok && i < FD_MOST; i++)
        fds[i] = i < n ? received[i] : -1;
    return ok;
}

static bool receive_object(struct runner_state *r, struct error *err) {
    json_t *message;
    int received[FRAME_MAX_FDS], n = 0;
    if (!frame_read(JUDGE, -1, &message, received, &n, err))
        return false;
    struct json_reader reader = {.where = "object"};
    json_read_schema(&reader, message, "hone.object/1");
    json_decref(message);
    if (!json_reader_done(&reader, err))
        return false;
    if (n != 1)
        return error_set(err, ERROR_IO, "object: %d descriptors", n);
    r->object = received[0];
    return true;
}

static _Noreturn void end_with(struct control *c, enum control_state state, const char *text) {
    snprintf(c->text, sizeof c->text, "%s", text);
    c->state = state;
    futex_wake_all(&c->state);
    _exit(state == CONTROL_BROKEN ? 4 : 1);
}

// Files can be opened until the sandbox is entered.
static bool open_library(struct runner_state *r, struct error *err) {
    for (int i = 0; i < r->plan.n_steps; i++) {
        const struct plan_step *s = &r->plan.steps[i];
        const char *why = s->kind == STEP_CALL ? blas_refusal(s->call) : NULL;
        if (why)
            return error_set(err, ERROR_UNSUPPORTED, "%s: %s", s->function, why);
    }
    r->runner_threads_plan.blas = &r->blas;
    return blas_open(&r->blas, r->n_threads, err);
}

static bool prepare(struct arena *a, struct runner_state *r, int *fds, struct error *err) {
    char nothing;
    while (fds[FD_MADE] >= 0 && read(fds[FD_MADE], &nothing, 1) < 0 && errno == EINTR) {
    }
    if (!map_buffers(a, r, fds, err))
        return false;
    for (int i = 0; i < FD_MOST && fds[i] >= 0; i++)
        if (i != FD_STACKS)
            close(fds[i]);
    if (!receive_object(r, err))
        return false;
    close(JUDGE);
    if (plan_has_calls(&r->plan) && !open_library(r, err))
        end_with(r->control, CONTROL_REFUSED, err->text);
    clearenv();
    r->runner_threads_plan.plan = &r->plan;
    int level = sandbox_enter(runner_threads_address_bytes(r->n_threads));
    struct runner_threads_spec crew = {r->control, &r->runner_threads_plan, &r->layout,
                                       r->n_threads, fds[FD_STACKS]};
    bool ok = runner_threads_start(&r->crew, &crew, err);
    close(fds[FD_STACKS]);
    if (!ok)
        return false;
    struct error unfiltered = {0};
    r->control->sandbox_level = sandbox_filter_loading(&unfiltered) ? (level ? 2 : 1) : 0;
    return true;
}

// dlsym() looks in libraries, too.
static bool is_own(void *object, const void *symbol) {
    Dl_info ignored;
    struct link_map *own = NULL, *found = NULL;
    return dlinfo(object, RTLD_DI_LINKMAP, &own) == 0 &&
           dladdr1(symbol, &ignored, (void **)&found, RTLD_DL_LINKMAP) && own == found;
}

// From here on code of the candidate may run.
static bool load(struct runner_state *r, struct error *err) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->object);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(r->object);
    if (!object)
        return error_set(err, ERROR_IO, "load: %s", dlerror());
    for (int i = 0; i < r->plan.n_steps; i++) {
        const struct plan_step *s = &r->plan.steps[i];
        if (s->kind != STEP_LAUNCH)
            continue;
        void *symbol = dlsym(object, s->function);
        if (!symbol || !is_own(object, symbol))
            return error_set(err, ERROR_IO,
                             "the plan launches '%s', but the source defines no such function "
                             "(or it is static)",
                             s->function);
        memcpy(&r->runner_threads_plan.functions[i], &symbol, sizeof symbol);
    }
    return true;
}

int runner_main(void) {
    struct arena a = {0};
    struct error err = {0};
    struct runner_state r = {0};
    int fds[FD_MOST];
    if (!receive(&a, &r, fds, &err))
        return 4;
    r.control = mmap(NULL, sizeof *r.control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     fds[FD_CONTROL], 0);
    if (r.control == MAP_FAILED)
        return 4;
    the_runner = &r;
    catch_faults();
    if (!prepare(&a, &r, fds, &err))
        end_with(r.control, CONTROL_BROKEN, err.text);
    if (!load(&r, &err))
        end_with(r.control, CONTROL_REFUSED, err.text);
    if (r.control->sandbox_level > 0 && !sandbox_filter_running(&err))
        end_with(r.control, CONTROL_BROKEN, err.text);
    uint32_t starting = CONTROL_STARTING;
    atomic_compare_exchange_strong(&r.control->state, &starting, CONTROL_READY);
    futex_wake_all(&r.control->state);
    for (;;)  // the threads do the work until the judge ends us
        futex_wait(&r.control->state, CONTROL_READY, -1);
}
