// The parent's side: key, cache look-up, scan, a question to the child. The limit counts the
// child's processor time, since on a busy machine a compile only takes longer; a child that was
// killed from outside is not the source's fault.
#include "build/compile_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "build/cache.h"
#include "build/scan.h"
#include "build/text.h"
#include "gpu/library.h"
#include "record/metrics.h"

enum {
    CPU_SECONDS = 60,
    READY_SECONDS = 120,
    WALL_FACTOR = 10,  // how much longer than its limit it may take where there is other work
    LOOK_MS = 100,
    JOBS_MAX = 200,  // then a new child: whatever has piled up in it goes
    MESSAGE_LINES = 14,
    MESSAGE_BYTES = 2000,
    LOG_MAX = 1 << 20,
};
#if defined(__SANITIZE_ADDRESS__)
static const int64_t memory_max_bytes = 0;  // its shadow takes terabytes of addresses
#else
static const int64_t memory_max_bytes = (int64_t)8 << 30;
#endif
static const int64_t second_ns = 1000000000;

// Fused multiply-adds are the hardware's own and more precise; flushing and approximate division
// are not f32.
const char *const cuda_compile_flags[] = {"--fmad=true", "--ftz=false", "--prec-div=true",
                                          "--prec-sqrt=true", NULL};

static const char LINES_FLAG[] = "--generate-line-info";

bool cuda_compiler_start(struct cuda_compiler *c, struct arena *a, struct error *err) {
    struct arena scratch = {0};
    const char *self = file_self(&scratch, err);
    const char *argv[] = {self, "_compile", NULL};
    struct process_spec spec = {.argv = argv,
                                .limit_cpu_s = (int64_t)JOBS_MAX * CPU_SECONDS,
                                .limit_memory_bytes = memory_max_bytes};
    *c = (struct cuda_compiler){.process = {.socket = -1}, .arena = a};
    bool ok = self && process_start(&c->process, &spec, err);
    arena_reset(&scratch);
    return ok || error_wrap(err, "start the compiler");
}

void cuda_compiler_stop(struct cuda_compiler *c) {
    process_kill(&c->process);
    c->version = NULL;
    c->n_jobs = 0;
}

// Wait until the child has told its version.
static bool wait_until_ready(struct cuda_compiler *c, struct error *err) {
    json_t *message = NULL;
    if (c->version)
        return true;
    if (!frame_read(c->process.socket, READY_SECONDS * second_ns, &message, NULL, NULL, err))
        return error_wrap(err, "the compiler does not start");
    struct json_reader r = {.where = "compiler"};
    json_read_schema(&r, message, "hone.compiler/1");
    const char *version = json_read_string(&r, c->arena, message, "version");
    const char *refused = json_read_optional_string(&r, c->arena, message, "error");
    int kind = (int)json_read_int(&r, message, "kind");
    json_decref(message);
    if (!json_reader_done(&r, err))
        return false;
    if (refused)
        return error_set(err, (enum error_kind)kind, "no CUDA compiler: %s", refused);
    c->version = version;
    return true;
}

static bool prepare(struct cuda_compiler *c, struct error *err) {
    if (c->n_jobs >= JOBS_MAX)
        cuda_compiler_stop(c);
    if (c->process.pid == 0 && !cuda_compiler_start(c, c->arena, err))
        return false;
    if (wait_until_ready(c, err))
        return true;
    cuda_compiler_stop(c);
    return false;
}

// What is known of a source before it is compiled.
struct job {
    const struct cuda_source *source;
    const char *headers;  // directory of the toolkit's, when it includes one of them; else NULL
    int fd;               // memory for the cubin
    int n_broken;         // children that ended while they worked on it
};

// The toolkit's headers are known by where they are and when they were put there.
static void add_headers(struct sha256 *h, const char *dir) {
    struct stat s = {0};
    if (!dir || stat(dir, &s) != 0)
        return;
    sha256_add_text(h, dir);
    sha256_add(h, &s.st_mtim, sizeof s.st_mtim);
}

// What a candidate may include is part of the key; so is the compiler's version.
static const char *key(struct arena *a, const struct job *job, const char *version) {
    const struct cuda_source *s = job->source;
    struct sha256 h;
    char hex[SHA256_HEX];
    sha256_init(&h);
    sha256_add_text(&h, "cubin 1");
    sha256_add_text(&h, s->text);
    sha256_add_text(&h, s->arch);
    sha256_add_text(&h, version);
    for (int i = 0; cuda_compile_flags[i]; i++)
        sha256_add_text(&h, cuda_compile_flags[i]);
    if (s->has_lines)
        sha256_add_text(&h, LINES_FLAG);
    for (int i = 0; i < s->n_dims; i++) {
        sha256_add_text(&h, s->dim_names[i]);
        sha256_add(&h, &s->dim_sizes[i], sizeof s->dim_sizes[i]);
    }
    for (const struct embedded_file *f = embedded_files; f->name; f++)
        sha256_add_text(&h, f->text);
    add_headers(&h, job->headers);
    sha256_hex(&h, hex);
    return arena_strdup(a, hex);
}

// Sizes become macros behind the headers of the toolkit, which use names like N themselves, and
// never by options: NVRTC's own header, which comes before everything, has templates over T. Lines
// keep their numbers.
static const char *with_sizes(struct arena *a, const struct cuda_source *s) {
    const char *behind = scan_behind_toolkit(s->text);
    struct str text = {0};
    int line = 1;
    for (const char *c = s->text; c < behind; c++)
        line += *c == '\n';
    str_append(&text, s->text, (size_t)(behind - s->text));
    for (int i = 0; i < s->n_dims; i++)
        str_printf(&text, "#define %s %lld\n", s->dim_names[i], (long long)s->dim_sizes[i]);
    str_printf(&text, "#line %d \"" CUDA_SOURCE_NAME "\"\n%s", line, behind);
    return str_take(a, &text);
}

static json_t *job_message(struct arena *a, const struct job *job) {
    const struct cuda_source *s = job->source;
    json_t *options = json_array();
    if (job->headers) {
        json_array_append_new(options, json_string(arena_printf(a, "-I%s", job->headers)));
        json_array_append_new(options, json_string(arena_printf(a, "-I%s/cccl", job->headers)));
    }
    for (int i = 0; cuda_compile_flags[i]; i++)
        json_array_append_new(options, json_string(cuda_compile_flags[i]));
    if (s->has_lines)
        json_array_append_new(options, json_string(LINES_FLAG));
    return json_pack("{s:s, s:s, s:s, s:o}", "schema", "hone.compile/1", "source", with_sizes(a, s),
                     "arch", s->arch, "options", options);
}

// The first errors with the lines that belong to them.
static const char *first_errors(struct arena *a, const char *log) {
    const char *at = strstr(log, "error");
    while (at && at > log && at[-1] != '\n')
        at--;
    return text_head(a, at ? at : log, MESSAGE_LINES, MESSAGE_BYTES);
}

// The child's answer as a result; what it could not do is charged to the source.
static bool read_answer(struct arena *a, const json_t *message, int fd, struct cubin *result,
                        struct error *err) {
    struct json_reader r = {.where = "compiled"};
    json_read_schema(&r, message, "hone.compiled/1");
    bool compiled = json_read_bool(&r, message, "compiled");
    int64_t len = json_read_int(&r, message, "bytes");
    const char *refused = json_read_optional_string(&r, a, message, "error");
    result->log = json_read_string(&r, a, message, "log");
    if (!json_reader_done(&r, err))
        return false;
    result->outcome = compiled ? COMPILE_OK : COMPILE_FAILED;
    if (!compiled) {
        result->message = refused ? text_head(a, refused, MESSAGE_LINES, MESSAGE_BYTES)
                                  : first_errors(a, result->log);
        return true;
    }
    if (len <= 0 || len > CUBIN_MAX)
        return error_set(err, ERROR_IO, "the compiler gave a cubin of %lld bytes", (long long)len);
    char *bytes = arena_alloc(a, (size_t)len);
    result->bytes = bytes;
    result->len = (size_t)len;
    return pread(fd, bytes, (size_t)len, 0) == len ||
           error_set(err, ERROR_IO, "read the cubin: %s", strerror(errno));
}

// Processor time of the child; 0 where nobody tells.
static int64_t cpu_ns(const struct cuda_compiler *c) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(c->process.pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * second_ns + t.tv_nsec;
}

// Until there is an answer, or its end. What counts is the processor time that it took: a machine
// with other work only takes longer.
static bool wait_for_answer(const struct cuda_compiler *c, const atomic_bool *is_unwanted,
                            struct error *err) {
    int64_t limit_ns = compile_seconds() * second_ns, start_ns = clock_now_ns();
    int64_t before_ns = cpu_ns(c);
    struct pollfd p = {.fd = c->process.socket, .events = POLLIN};
    while (poll(&p, 1, LOOK_MS) <= 0) {
        if (interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (is_unwanted && *is_unwanted)
            return error_set(err, ERROR_INTERRUPTED, "nobody waits for it any more");
        if (cpu_ns(c) - before_ns > limit_ns || clock_now_ns() - start_ns > WALL_FACTOR * limit_ns)
            return error_set(err, ERROR_TIMEOUT, "no answer");
    }
    return true;
}

// It has hung up: why? Its end may take a moment longer.
static bool was_killed(struct cuda_compiler *c) {
    struct process_result end = {0};
    for (int i = 0; i < 1000 && !process_ended(&c->process, &end); i++) {
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return compile_is_foreign_end(end.signal);
}

static bool ask(struct arena *a, struct cuda_compiler *c, struct job *job, struct cubin *result,
                struct error *err) {
    json_t *message = job_message(a, job), *told = NULL;
    bool ok = frame_write(c->process.socket, message, &job->fd, 1, err);
    json_decref(message);
    c->n_jobs++;
    if (ok && job->source->meanwhile && job->n_broken == 0)
        job->source->meanwhile(job->source->ctx);
    ok = ok && wait_for_answer(c, job->source->is_unwanted, err) &&
         frame_read(c->process.socket, READY_SECONDS * second_ns, &told, NULL, NULL, err);
    if (ok) {
        ok = read_answer(a, told, job->fd, result, err);
        json_decref(told);
        return ok;
    }
    bool is_killed = err->kind == ERROR_IO && was_killed(c);
    cuda_compiler_stop(c);
    if (err->kind == ERROR_INTERRUPTED)
        return false;
    job->n_broken += err->kind != ERROR_TIMEOUT;
    result->outcome = is_killed ? COMPILE_KILLED : COMPILE_FAILED;
    result->message =
        is_killed ? "the compiler was killed from outside, by somebody or for lack of memory"
        : err->kind == ERROR_TIMEOUT
            ? arena_printf(a, "the compiler took more than %d s", compile_seconds())
            : "the compiler broke down on this source, or ran out of memory";
    *err = (struct error){0};
    return true;
}

static bool compile_new(struct arena *a, struct cuda_compiler *c, struct job *job,
                        struct cubin *result, struct error *err) {
    int64_t start_ns = clock_now_ns();
    job->fd = memfd_create("cubin", MFD_CLOEXEC);
    if (job->fd < 0 || ftruncate(job->fd, CUBIN_MAX) != 0) {
        error_set(err, ERROR_IO, "make a memory file: %s", strerror(errno));
        if (job->fd >= 0)
            close(job->fd);
        return false;
    }
    bool ok = ask(a, c, job, result, err);
    // Somebody may have killed it; what a source does to a compiler it does twice.
    if (ok && job->n_broken == 1)
        ok = prepare(c, err) && ask(a, c, job, result, err);
    close(job->fd);
    result->seconds = (double)(clock_now_ns() - start_ns) * 1e-9;
    return ok;
}

// The log goes first: a cubin that is there has one.
static bool keep(struct arena *a, const char *path, const char *cache, const struct cubin *r,
                 struct error *err) {
    if (!file_write(arena_printf(a, "%s.log", path), r->log, strlen(r->log), err) ||
        !file_write(arena_printf(a, "%s.cubin", path), r->bytes, r->len, err))
        return false;
    cache_trim(cache, CACHE_MAX_BYTES);
    return true;
}

static bool read_cache(struct arena *a, const char *path, struct cubin *r) {
    struct error missing = {0};
    const char *cubin = arena_printf(a, "%s.cubin", path), *log = arena_printf(a, "%s.log", path);
    // A hit is marked as used now.
    if (utimensat(AT_FDCWD, cubin, NULL, 0) != 0 || utimensat(AT_FDCWD, log, NULL, 0) != 0)
        return false;
    r->log = file_read_plain(a, log, LOG_MAX, NULL, &missing);
    r->bytes = r->log ? file_read_plain(a, cubin, CUBIN_MAX, &r->len, &missing) : NULL;
    return r->bytes != NULL;
}

// NULL when the source may be compiled, else why not.
static const char *look_at(struct arena *a, const char *text, struct job *job) {
    char headers[1024];
    bool uses_toolkit;
    const char *why = scan_cuda_source(a, text, &uses_toolkit);
    if (why || !uses_toolkit)
        return why;
    if (!library_find_headers(headers, sizeof headers))
        return "it includes headers of CUDA's toolkit, and there is none here: install it, or let "
               "$CUDA_HOME name it";
    job->headers = arena_strdup(a, headers);
    return NULL;
}

bool cuda_compile(struct arena *a, struct cuda_compiler *c, const struct cuda_source *s,
                  struct cubin *result, struct error *err) {
    *result = (struct cubin){.log = ""};
    struct job job = {.source = s};
    bool scans = !s->is_ours && !s->skip_scans;
    const char *refused = s->is_ours ? NULL : look_at(a, s->text, &job);
    result->message = scans ? refused : NULL;
    if (result->message) {
        result->outcome = COMPILE_ILLEGAL;
        return true;
    }
    if (!prepare(c, err))
        return false;
    const char *path = arena_printf(a, "%s/%s", s->cache, key(a, &job, c->version));
    if (!read_cache(a, path, result)) {
        if (!compile_new(a, c, &job, result, err))
            return error_wrap(err, "compile");
        if (result->outcome == COMPILE_OK && !keep(a, path, s->cache, result, err))
            return error_wrap(err, "compile");
    }
    if (result->outcome != COMPILE_OK || !scans)
        return true;
    result->message = scan_cubin(a, result->bytes, result->len, job.headers);
    if (result->message) {
        result->outcome = COMPILE_ILLEGAL;
        result->rule = "global-state";
    }
    return true;
}

// The number in front of `words` within one line, -1 when they are not there.
static double number_before(const char *line, size_t len, const char *words) {
    const char *at = memmem(line, len, words, strlen(words));
    const char *start = at;
    while (start && start > line && strchr("0123456789", start[-1]))
        start--;
    return start && start < at ? strtod(start, NULL) : -1;
}

static void keep_largest(struct metrics *m, enum metric_id id, double value) {
    if (value >= 0 && !(metrics_get(m, id) >= value))
        metrics_set(m, id, value);
}

// Does a line say that what follows is about another kernel?
static bool begins_kernel(const char *line, size_t len, const char *kernel, bool *is_it) {
    static const char words[] = "Compiling entry function '";
    const char *at = memmem(line, len, words, strlen(words));
    if (!at)
        return false;
    at += strlen(words);
    *is_it = strncmp(at, kernel, strlen(kernel)) == 0 && at[strlen(kernel)] == '\'';
    return true;
}

// "(C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in
// the function 'k'": C7510 to C7516, a code for each reason. They come before what is said of
// resources.
static bool is_serialized(const char *line, size_t len, const char *kernel) {
    static const char code[] = "(C751", words[] = "wgmma.mma_async instructions are serialized";
    const char *at = memmem(line, len, code, strlen(code));
    if (!at || !memmem(line, len, words, strlen(words)))
        return false;
    for (size_t n = kernel ? strlen(kernel) : 0; kernel && at < line + len - n; at++)
        if (at[0] == '\'' && strncmp(at + 1, kernel, n) == 0 && at[n + 1] == '\'')
            return true;
    return !kernel;
}

void cuda_read_resources(const char *log, const char *kernel, struct metrics *m) {
    bool is_it = kernel == NULL;
    int n_serialized = 0;
    for (const char *line = log; *line;) {
        size_t len = strcspn(line, "\n");
        bool begins = kernel && begins_kernel(line, len, kernel, &is_it);
        n_serialized += is_serialized(line, len, kernel);
        if (is_it && !begins) {
            keep_largest(m, METRIC_REGISTERS, number_before(line, len, " registers"));
            keep_largest(m, METRIC_STATIC_SHARED_BYTES, number_before(line, len, " bytes smem"));
            keep_largest(m, METRIC_STACK_BYTES, number_before(line, len, " bytes stack frame"));
            keep_largest(m, METRIC_SPILL_BYTES, number_before(line, len, " bytes spill stores"));
        }
        line += len + (line[len] == '\n');
    }
    if (n_serialized > 0)
        keep_largest(m, METRIC_SERIALIZED, n_serialized);
}
