// Starts `hone _runner`, hands over plan, memory and object, then commands calls through the
// control page and waits on its futex. Besides the time of a call it watches what the kernel says
// of the runner's threads: who waited for a processor, and who ran when all should sleep.
#include "eval/runner_handle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/parallel.h"
#include "base/str.h"
#include "base/uncached.h"
#include "eval/runner_threads.h"

enum { GRACE_MOST = 9 };  // times what a call may take

// Only for what never ends: starting a process takes long where there is other work.
static const int64_t load_timeout_ns = 30000000000;
static const int64_t tick_ns = 20000000;  // how long a death can go unnoticed
// A thread that has answered needs microseconds to wait for the next call; on a machine with much
// other work it waits for its processor first.
static const int64_t away_most_ns = 2000000000;

static bool fail_errno(struct error *err, const char *what) {
    return error_set(err, ERROR_IO, "%s: %s", what, strerror(errno));
}

static void *map_file(int fd, int64_t size) {
    void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

// A copy in memory: the sandbox has no file system to load from.
static int open_object(const char *path) {
    int from = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    int to = from < 0 || fstat(from, &s) != 0 ? -1 : memory_fd("object", 0);
    for (off_t done = 0; to >= 0 && done < s.st_size;) {
        ssize_t n = sendfile(to, from, &done, (size_t)(s.st_size - done));
        if (n > 0)
            continue;
        close(to);
        to = -1;
    }
    if (from >= 0)
        close(from);
    return to;
}

bool runner_is_alive(struct runner *r) {
    return r->process.pid > 0 && !process_ended(&r->process, &r->end);
}

static bool send_plan(struct runner *r, const struct runner_spec *spec, struct error *err) {
    int fds[] = {r->control_fd,     spec->inputs->read_only_fd,
                 spec->outputs->fd, r->scratch.fd,
                 r->stacks.fd,      spec->made_fd};
    json_t *message =
        json_pack("{s:s, s:o, s:i, s:i}", "schema", "hone.load/1", "plan", plan_to_json(spec->plan),
                  "slots", spec->n_slots, "threads", spec->n_threads);
    bool ok = frame_write(r->process.socket, message, fds, spec->made_fd < 0 ? 5 : 6, err);
    json_decref(message);
    // Killed before it heard a word: that is found out like any other end of a runner.
    return ok || frame_was_closed(err);
}

static bool send_object(struct runner *r, const char *path, struct error *err) {
    int object = open_object(path);
    if (object < 0)
        return fail_errno(err, "read the object");
    json_t *message = json_pack("{s:s}", "schema", "hone.object/1");
    bool ok = frame_write(r->process.socket, message, &object, 1, err);
    json_decref(message);
    close(object);
    return ok || frame_was_closed(err);
}

static enum runner_status wait_until_loaded(struct runner *r) {
    int64_t deadline_ns = clock_now_ns() + load_timeout_ns;
    while (r->control->state == CONTROL_STARTING && runner_is_alive(r)) {
        if (clock_now_ns() > deadline_ns || interrupt_seen())
            return RUNNER_TIMEOUT;
        futex_wait(&r->control->state, CONTROL_STARTING, tick_ns);
    }
    switch ((enum control_state)r->control->state) {
    case CONTROL_READY:
        return RUNNER_OK;
    case CONTROL_REFUSED:
        return RUNNER_REFUSED;
    case CONTROL_BROKEN:
        return RUNNER_BROKEN;
    default:
        return RUNNER_ENDED;
    }
}

// All threads, the first one last. The kernel says which there are: on the page a candidate might
// have put others.
static void watch_threads(struct runner *r) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)r->process.pid);
    DIR *tasks = opendir(path);
    int n = 0;
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        long long tid;
        bool is_first = str_to_int64(e->d_name, &tid) && tid == r->process.pid;
        if (!str_to_int64(e->d_name, &tid) || (!is_first && n == r->n_threads))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%lld/schedstat", (int)r->process.pid, tid);
        int at = is_first ? r->n_threads : n++;
        r->stat_fds[at] = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof path, "/proc/%d/task/%lld/stat", (int)r->process.pid, tid);
        r->state_fds[at] = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof path, "/proc/%d/task/%lld/syscall", (int)r->process.pid, tid);
        r->place_fds[at] = open(path, O_RDONLY | O_CLOEXEC);
        perf_open((pid_t)tid, perf_events, PERF_EVENTS_MAX, &r->counters[at]);
        cpu_set_t allowed;
        if (is_first)
            continue;
        r->n_pinned += sched_getaffinity((pid_t)tid, sizeof allowed, &allowed) == 0 &&
                       CPU_COUNT(&allowed) == 1;
    }
    if (tasks)
        closedir(tasks);
}

// "202 0x7f.. 0x0 ..": the wait that a thread sleeps in, but for the value that it waits to change.
// False: it runs, or sleeps in something else.
static bool read_place(int fd, struct thread_place *p) {
    char text[192];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%llu %llx %llx %*x %llx %*x %*x %llx %llx", &p->call, &p->word,
                  &p->operation, &p->timeout, &p->stack, &p->code) == 6;
}

// Where its threads wait before there was a call. Unknown where the system does not say.
static void note_places(struct runner *r) {
    enum { LOOKS_MOST = 1000 };
    struct timespec moment = {.tv_nsec = 20000};
    for (int i = 0; i <= r->n_threads; i++)
        for (int k = 0; k < LOOKS_MOST && r->place_fds[i] >= 0; k++) {
            if (read_place(r->place_fds[i], &r->places[i]))
                break;
            r->places[i] = (struct thread_place){0};
            nanosleep(&moment, NULL);
        }
}

// Keep what must not be read again from a page that the candidate can write.
static void note_facts(struct runner *r) {
    r->sandbox_level = r->control->sandbox_level;
    r->loaded = malloc(sizeof *r->loaded);
    if (!r->loaded)
        abort();
    memcpy(r->loaded, r->control, sizeof *r->loaded);
    watch_threads(r);
    note_places(r);
}

bool runner_begin(struct runner *r, const struct runner_spec *spec, struct error *err) {
    *r = (struct runner){.plan = spec->plan,
                         .faults_a_call = NAN,
                         .n_threads = spec->n_threads,
                         .bypasses_caches = spec->bypasses_caches,
                         .outputs = spec->outputs,
                         .process = {.socket = -1},
                         .control_fd = -1};
    for (int i = 0; i <= THREADS_MAX; i++)
        r->stat_fds[i] = r->state_fds[i] = r->place_fds[i] = -1;
    for (int i = 0; i < PERF_EVENTS_MAX; i++)
        r->counts_a_call[i] = r->counted[i] = NAN;
    struct arena a = {0};
    const char *self = file_self(&a, err);
    layout_make(&r->arena, &r->layout, spec->plan, spec->n_slots);
    r->control_fd = memory_fd("control", sizeof *r->control);
    bool ok = self != NULL;
    if (ok && r->control_fd < 0)
        ok = fail_errno(err, "make a memory file");
    if (ok) {
        r->control = map_file(r->control_fd, sizeof *r->control);
        ok = r->control || fail_errno(err, "map the control page");
    }
    ok = ok && memory_file_open(&r->scratch, r->layout.file_bytes[FILE_SCRATCH], err) &&
         memory_file_open(&r->stacks, runner_threads_address_bytes(r->n_threads), err);
    const char *argv[] = {self, "_runner", NULL};
    ok = ok && process_start(&r->process, &(struct process_spec){.argv = argv}, err) &&
         send_plan(r, spec, err);
    arena_reset(&a);
    return ok || error_wrap(err, "start a runner");
}

bool runner_load(struct runner *r, const char *object, enum runner_status *status,
                 struct error *err) {
    if (!send_object(r, object, err))
        return error_wrap(err, "load into a runner");
    *status = wait_until_loaded(r);
    // No code of the candidate's runs while it is loaded: the scans see to that.
    if (*status == RUNNER_TIMEOUT) {
        *status = RUNNER_BROKEN;
        snprintf(r->control->text, sizeof r->control->text, "not ready within %d s",
                 (int)(load_timeout_ns / 1000000000));
    }
    r->is_loaded = *status == RUNNER_OK;
    if (r->is_loaded)
        note_facts(r);
    return true;
}

void runner_kill(struct runner *r) {
    if (r->process.pid > 0)
        kill(-r->process.pid, SIGKILL);
}

void runner_close(struct runner *r) {
    process_kill(&r->process);
    for (int i = 0; i <= THREADS_MAX; i++) {
        if (r->stat_fds[i] > 0)
            close(r->stat_fds[i]);
        if (r->state_fds[i] > 0)
            close(r->state_fds[i]);
        if (r->place_fds[i] > 0)
            close(r->place_fds[i]);
        perf_close(&r->counters[i]);
    }
    if (r->control)
        munmap(r->control, sizeof *r->control);
    if (r->control_fd > 0)
        close(r->control_fd);
    memory_file_close(&r->scratch);
    memory_file_close(&r->stacks);
    free(r->loaded);
    arena_reset(&r->arena);
    *r = (struct runner){.process = {.socket = -1}, .control_fd = -1};
}

// Nanoseconds that each thread has run and waited for a processor so far; the first thread last.
struct thread_times {
    int64_t ran_ns[THREADS_MAX + 1], waited_ns[THREADS_MAX + 1];
};

static void read_times(const struct runner *r, struct thread_times *t) {
    for (int i = 0; i <= r->n_threads; i++) {
        char text[96];
        long long ran = 0, waited = 0;
        ssize_t n = r->stat_fds[i] < 0 ? -1 : pread(r->stat_fds[i], text, sizeof text - 1, 0);
        if (n > 0) {
            text[n] = '\0';
            if (sscanf(text, "%lld %lld", &ran, &waited) != 2)
                ran = waited = 0;
        }
        t->ran_ns[i] = ran;
        t->waited_ns[i] = waited;
    }
}

// Does a thread sleep? "123 (name) S ...": the name may hold anything.
static bool is_asleep(int fd) {
    char text[128];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(text, ')');
    return n <= 0 || !end || end[1] != ' ' || end[2] == 'S';
}

// Do all threads wait for a call, as they did before there was a candidate: in the same place of
// our own code, without a time limit, on the same stack?
static bool all_wait(const struct runner *r) {
    for (int i = 0; i <= r->n_threads; i++) {
        struct thread_place now = {0};
        const struct thread_place *first = &r->places[i];
        bool is_known = first->code != 0;
        if (is_known ? !read_place(r->place_fds[i], &now) || memcmp(&now, first, sizeof now) != 0
                     : !is_asleep(r->state_fds[i]))
            return false;
    }
    return true;
}

static bool wait_until_all_wait(struct runner *r) {
    struct timespec moment = {.tv_nsec = 20000};
    int64_t deadline_ns = clock_now_ns() + away_most_ns;
    while (!all_wait(r)) {
        if (clock_now_ns() > deadline_ns || interrupt_seen())
            return false;
        if (!runner_is_alive(r))
            return true;  // found out by the next call
        nanosleep(&moment, NULL);
    }
    return true;
}

void runner_pause(struct runner *r) {
    siginfo_t info;
    if (r->is_paused || r->process.pid <= 0 || kill(r->process.pid, SIGSTOP) != 0)
        return;
    r->is_paused = true;
    while (waitid(P_PID, (id_t)r->process.pid, &info, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
}

// Its threads wake up and go to sleep again, which takes each some 50 us of a processor.
void runner_resume(struct runner *r) {
    if (!r->is_paused)
        return;
    kill(r->process.pid, SIGCONT);
    r->is_paused = false;
    wait_until_all_wait(r);
}

// A sleeping thread's time is known exactly. The first one has nothing to do in a call.
bool runner_settle(struct runner *r, const struct call_result *call, int64_t *lingered_ns) {
    struct thread_times now;
    if (!wait_until_all_wait(r))
        return false;
    read_times(r, &now);
    *lingered_ns = 0;
    for (int i = 0; i <= r->n_threads; i++) {
        int64_t allowed = i < r->n_threads ? (int64_t)(1e9 * call->time_s) : 0;
        int64_t ran = now.ran_ns[i] - r->ran_ns[i] - allowed;
        *lingered_ns = ran > *lingered_ns ? ran : *lingered_ns;
    }
    return true;
}

// Nothing of a call is there for the next one: stacks hold no number below what sleeping threads
// need, and the page is as it was once the candidate was loaded. Pages that were touched stay, so
// that a call does not find fewer of them than the one before.
static void wipe(const struct runner *r) {
    size_t kept = offsetof(struct control, sandbox_level), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t used = sizeof *r->control, end = (used + page - 1) / page * page;
    char *bytes = (char *)r->control;
    if (r->control->state != CONTROL_READY)
        return;  // what it says of a fault is needed
    // Writing would take these lines away from the threads that read them.
    if (memcmp(bytes + kept, (char *)r->loaded + kept, used - kept) != 0)
        memcpy(bytes + kept, (char *)r->loaded + kept, used - kept);
    for (size_t i = used; i < end; i++)
        if (bytes[i])
            bytes[i] = 0;
    for (int i = 0; i < r->n_threads; i++) {
        int64_t end_of_use = (int64_t)(r->loaded->rest[i] - r->loaded->stacks);
        int64_t at = runner_threads_stack_begin(i);
        if (end_of_use <= at || end_of_use > runner_threads_stack_end(i))
            continue;
        while ((at = lseek(r->stacks.fd, at, SEEK_DATA)) >= 0 && at < end_of_use) {
            int64_t hole = lseek(r->stacks.fd, at, SEEK_HOLE);
            hole = hole < 0 || hole > end_of_use ? end_of_use : hole;
            memset(r->stacks.bytes + at, 0xff, (size_t)(hole - at));
            at = hole;
        }
    }
}

// A call that is waited for.
struct pending_call {
    uint32_t call;
    int64_t start_ns, timeout_ns;
    const struct thread_times *before;
};

// How long one of its threads has waited for a processor.
static int64_t grace_ns(const struct runner *r, const struct pending_call *w) {
    struct thread_times now;
    int64_t most = 0;
    read_times(r, &now);
    for (int i = 0; i < r->n_threads; i++)
        most = now.waited_ns[i] - w->before->waited_ns[i] > most
                   ? now.waited_ns[i] - w->before->waited_ns[i]
                   : most;
    return most < GRACE_MOST * w->timeout_ns ? most : GRACE_MOST * w->timeout_ns;
}

// Did none of them run for most of the time? Then it waits for something, or the whole machine did.
static bool was_idle(const struct runner *r, const struct pending_call *w,
                     const struct thread_times *after) {
    for (int i = 0; i < r->n_threads; i++)
        if (after->ran_ns[i] - w->before->ran_ns[i] > w->timeout_ns / 2)
            return false;
    return true;
}

// A candidate that wakes the judge before there is an answer has it at hand when the answer comes,
// and is spared the time that waking takes.
//
// Time in which its threads waited for a processor is not its own: it gets that again, though not
// for ever.
static enum runner_status wait_until_done(struct runner *r, const struct pending_call *w,
                                          struct call_result *result) {
    struct control *c = r->control;
    int64_t deadline_ns = w->start_ns + w->timeout_ns;
    for (;;) {
        uint32_t done = c->done;
        if (done == w->call)
            return RUNNER_OK;
        if (c->state == CONTROL_FAULT || !runner_is_alive(r))
            return RUNNER_ENDED;
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (left_ns <= 0) {
            deadline_ns = w->start_ns + w->timeout_ns + grace_ns(r, w);
            left_ns = deadline_ns - clock_now_ns();
        }
        if (left_ns <= 0 || interrupt_seen())
            return RUNNER_TIMEOUT;
        bool was_woken = futex_wait(&c->done, done, left_ns < tick_ns ? left_ns : tick_ns);
        // Nobody but the call's end changes the word, and that to the call's number.
        result->was_nudged |=
            (was_woken || c->done != done) && c->done != w->call && c->state != CONTROL_FAULT;
    }
}

// Steps of a call: clearings first, then the plan's.
static int count_steps(const struct plan *p) {
    int n = p->n_steps;
    for (int i = 0; i < p->n_buffers; i++)
        n += p->buffers[i].is_zeroed;
    return n;
}

// What was told of earlier calls fades: the first ones are slower, and of other data.
static void note_steps(struct runner *r) {
    enum { MEMORY = 16 };
    double ns[CONTROL_STEPS_MAX], total = 0;
    int n = count_steps(r->plan);
    for (int i = 0; i < n; i++)
        total += ns[i] = (double)r->control->step_ns[i];
    for (int i = 0; i < n && total > 0; i++) {
        double share = ns[i] / total;
        r->step_share[i] += r->has_shares ? (share - r->step_share[i]) / MEMORY : share;
    }
    r->has_shares |= total > 0;
}

// "123 (name) S 1 2 3 4 5 6 MINOR 8 MAJOR": the name may hold anything.
static int64_t count_faults(const struct runner *r) {
    int64_t sum = 0;
    for (int i = 0; i <= r->n_threads; i++) {
        char text[256];
        long long minor = 0, major = 0;
        ssize_t n = r->state_fds[i] < 0 ? -1 : pread(r->state_fds[i], text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *end = strrchr(text, ')');
        if (!end ||
            sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %lld %*u %lld", &minor, &major) != 2)
            return 0;
        sum += minor + major;
    }
    return sum;
}

// Between calls its threads sleep. First calls find pages that nobody had touched: the fewest are
// what every call has.
static void note_faults(struct runner *r) {
    int64_t now = count_faults(r);
    double more = (double)(now - r->faults);
    if (now > 0 && r->faults > 0 && !(r->faults_a_call <= more))
        r->faults_a_call = more;
    r->faults = now;
}

// What all threads did since the call before: between calls they sleep.
static void note_counters(struct runner *r, bool is_call) {
    double sum[PERF_EVENTS_MAX] = {0};
    for (int i = 0; i < r->n_threads; i++) {
        double one[PERF_EVENTS_MAX] = {NAN, NAN, NAN, NAN};
        if (!perf_read(&r->counters[i], one))
            return;
        for (int k = 0; k < PERF_EVENTS_MAX; k++)
            sum[k] += one[k];
    }
    bool is_least =
        is_call && isfinite(r->counted[0]) && !(r->counts_a_call[0] <= sum[0] - r->counted[0]);
    for (int k = 0; k < PERF_EVENTS_MAX; k++) {
        if (is_least)
            r->counts_a_call[k] = sum[k] - r->counted[k];
        r->counted[k] = sum[k];
    }
}

void runner_call(struct runner *r, int slot, int64_t timeout_ns, struct call_result *result) {
    struct control *c = r->control;
    struct thread_times before, after;
    *result = (struct call_result){0};
    runner_resume(r);
    wipe(r);
    read_times(r, &before);
    memcpy(r->ran_ns, before.ran_ns, sizeof r->ran_ns);
    c->slot = (uint32_t)slot;
    c->fp_changed = 0;
    uint32_t call = c->call + 1;

    int64_t start_ns = clock_now_ns();
    c->call = call;
    futex_wake_all(&c->call);
    struct pending_call w = {call, start_ns, timeout_ns, &before};
    result->status = wait_until_done(r, &w, result);
    int64_t end_ns = clock_now_ns();

    read_times(r, &after);
    result->was_idle = result->status == RUNNER_TIMEOUT && was_idle(r, &w, &after);
    result->time_s = (double)(end_ns - start_ns) * 1e-9;
    result->fp_changed = c->fp_changed;
    double busy_ns = 0;
    for (int i = 0; i < r->n_threads; i++) {
        busy_ns += (double)c->busy_ns[i];
        int64_t waited = after.waited_ns[i] - before.waited_ns[i];
        if (waited > result->delayed_ns)
            result->delayed_ns = waited;
    }
    result->thread_busy = busy_ns / ((double)(end_ns - start_ns) * r->n_threads);
    if (result->status == RUNNER_OK)
        note_steps(r);
    note_faults(r);
    note_counters(r, result->status == RUNNER_OK);
}

// The pages of an output or scratch buffer of one slot.
static char *pages(const struct runner *r, int buffer, int slot) {
    bool is_output = r->layout.buffers[buffer].file == FILE_OUTPUTS;
    return (is_output ? r->outputs->bytes : r->scratch.bytes) +
           layout_offset(&r->layout, buffer, slot);
}

char *runner_bytes(const struct runner *r, int buffer, int slot) {
    return pages(r, buffer, slot) + layout_lead(&r->layout, buffer, slot);
}

// A buffer of one slot on its way to be poisoned.
struct filling {
    const struct layout *layout;
    int buffer;
    char *bytes;
    uint32_t poison;
    bool bypasses_caches;
};

// Whole pages, past the caches, since what lies there and is not in memory yet would be written by
// the next call, in its time. All pages of an output are the same.
static void fill_pages(void *ctx, int64_t begin, int64_t end) {
    const struct filling *f = ctx;
    _Alignas(64) uint32_t page[LAYOUT_PAGE / 4];
    bool is_same = f->layout->buffers[f->buffer].file != FILE_SCRATCH;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * LAYOUT_PAGE;
        for (int k = 0; k < LAYOUT_PAGE / 4 && !(is_same && i > begin); k++)
            page[k] = layout_poison(f->layout, f->buffer, at + 4 * k, f->poison);
        if (f->bypasses_caches)
            copy_past_caches(f->bytes + at, page, LAYOUT_PAGE);
        else
            memcpy(f->bytes + at, page, LAYOUT_PAGE);
    }
}

void runner_poison(const struct runner *r, enum layout_file file, int slot, uint32_t poison) {
    enum { GRAIN = 256 };
    for (int b = 0; b < r->layout.n_buffers; b++) {
        const struct layout_buffer *l = &r->layout.buffers[b];
        struct filling f = {&r->layout, b, pages(r, b, slot), poison, r->bypasses_caches};
        if (l->file == file)
            parallel_for(r->n_threads, l->span_bytes / LAYOUT_PAGE, GRAIN, fill_pages, &f);
    }
}

// Bytes [from, to) of a buffer's pages.
static bool holds_poison(const struct filling *f, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        uint32_t word = layout_poison(f->layout, f->buffer, i & -4, f->poison);
        if (f->bytes[i] != (char)(word >> (8 * (i % 4))))
            return false;
    }
    return true;
}

int runner_find_overrun(const struct runner *r, int slot, uint32_t poison) {
    for (int b = 0; b < r->layout.n_buffers; b++) {
        const struct layout_buffer *l = &r->layout.buffers[b];
        if (l->file == FILE_INPUTS)
            continue;
        struct filling f = {&r->layout, b, pages(r, b, slot), poison, false};
        int64_t lead = layout_lead(&r->layout, b, slot);
        if (!holds_poison(&f, 0, lead) || !holds_poison(&f, lead + l->size_bytes, l->span_bytes))
            return b;
    }
    return -1;
}
