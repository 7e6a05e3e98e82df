// Key, cache look-up, scan, compiler as a child under limits and Landlock, scan of the object, into
// the cache. A failure is sorted into the candidate's (its first errors are kept), a limit that it
// ran into, and the machine's: a full disk, a compiler that somebody killed.
#include "build/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/landlock.h"
#include "base/process.h"
#include "base/str.h"
#include "base/temporary.h"
#include "build/cache.h"
#include "build/scan.h"
#include "build/text.h"

enum {
    SECONDS_MAX = 60,
    OBJECT_MAX = 64 << 20,
    ARGV_MAX = 96,
    PATHS_MAX = 64,
    MESSAGE_LINES = 14,
    MESSAGE_BYTES = 2000,
};
static const int64_t compile_memory_bytes = (int64_t)4 << 30;

// No crt files: they bring variables of their own, and the object would have code that
// runs on loading. Everything is bound on loading, because later the loader may not work.
const char *const compile_flags[] = {
    "-std=gnu17",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
    "-nostartfiles",
    "-pipe",
    "-Wno-unknown-pragmas",
    "-Werror=implicit-function-declaration",
    "-fmax-errors=5",
    "-fdiagnostics-color=never",
    "-I.",
    "-Wl,-z,now",
    "-Wl,-z,defs",
    "-Wl,-z,noexecstack",
    NULL,
};

static bool is_header(const struct embedded_file *f) {
    size_t len = strlen(f->name);
    return len > 2 && strcmp(f->name + len - 2, ".h") == 0;
}

static void add_number(struct sha256 *h, int64_t value) {
    sha256_add(h, &value, sizeof value);
}

// Everything that decides what the object is. The compiler is known by its file: asking
// it for its version would cost a process each time.
static const char *key(struct arena *a, const struct compile_spec *s, const char *cc) {
    struct sha256 h;
    struct stat st = {0};
    sha256_init(&h);
    sha256_add_text(&h, "object 2");
    sha256_add_text(&h, s->source);
    sha256_add_text(&h, s->machine);
    sha256_add_text(&h, cc);
    if (stat(cc, &st) == 0) {
        add_number(&h, st.st_mtim.tv_sec);
        add_number(&h, st.st_mtim.tv_nsec);
        add_number(&h, st.st_size);
    }
    for (int i = 0; compile_flags[i]; i++)
        sha256_add_text(&h, compile_flags[i]);
    for (int i = 0; i < s->n_dims; i++) {
        sha256_add_text(&h, s->dim_names[i]);
        add_number(&h, s->dim_sizes[i]);
    }
    for (const struct embedded_file *f = embedded_files; f->name; f++)
        if (is_header(f))
            sha256_add_text(&h, f->text);
    char hex[SHA256_HEX];
    sha256_hex(&h, hex);
    return arena_strdup(a, hex);
}

// Scratch files: no need to wait for the disk.
static bool write_plainly(const char *path, const char *text, struct error *err) {
    FILE *f = fopen(path, "we");
    bool ok = f && fputs(text, f) >= 0;
    ok = f && fclose(f) == 0 && ok;
    return ok || error_set(err, ERROR_IO, "write %s: %s", path, strerror(errno));
}

static bool write_sources(struct arena *a, const char *dir, const struct compile_spec *s,
                          struct error *err) {
    const char *path = arena_printf(a, "%s/candidate.c", dir);
    if (!write_plainly(path, s->source, err))
        return false;
    for (const struct embedded_file *f = embedded_files; f->name; f++)
        if (is_header(f) && !write_plainly(arena_printf(a, "%s/%s", dir, f->name), f->text, err))
            return false;
    return true;
}

// The first errors with the lines that belong to them.
static const char *first_errors(struct arena *a, const char *text) {
    const char *from = text;
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        bool is_error = memmem(line, (size_t)(end - line), "error", 5) ||
                        memmem(line, (size_t)(end - line), "undefined", 9);
        if (is_error) {
            from = line;
            break;
        }
        line = *end ? end + 1 : end;
    }
    return text_head(a, from, MESSAGE_LINES, MESSAGE_BYTES);
}

static bool is_home_within(const char *dir) {
    const char *home = getenv("HOME");
    char *real = home ? realpath(home, NULL) : NULL;
    size_t len = strlen(dir);
    bool is_within = real && strncmp(real, dir, len) == 0 && (!real[len] || real[len] == '/');
    free(real);
    return is_within;
}

struct rules {
    struct arena *arena;
    struct landlock_path paths[PATHS_MAX];
    int n;
};

static void add_rule(struct rules *r, const char *path, bool can_write) {
    if (r->n < PATHS_MAX - 1)  // the last one ends the list
        r->paths[r->n++] = (struct landlock_path){path, can_write};
}

// A gcc for, say, x86_64-conda-linux-gnu has its assembler, linker and headers in a directory of
// that name next to lib/gcc/x86_64-conda-linux-gnu.
static void add_targets(struct rules *r, const char *prefix) {
    DIR *d = opendir(arena_printf(r->arena, "%s/lib/gcc", prefix));
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            add_rule(r, arena_printf(r->arena, "%s/%s", prefix, e->d_name), false);
    if (d)
        closedir(d);
}

// What a compiler consists of. Of /opt/gcc/bin/gcc that is bin and some directories next to it, not
// all of /opt/gcc: with ~/bin/gcc that would be somebody's home.
static void add_compiler(struct rules *r, const char *cc) {
    static const char *const parts[] = {"lib",     "lib32",   "lib64", "libx32",
                                        "libexec", "include", "share"};
    char *real = realpath(cc, NULL);
    char *dir = arena_strdup(r->arena, real ? real : cc);
    free(real);
    add_rule(r, arena_strdup(r->arena, dir), false);
    *strrchr(dir, '/') = '\0';
    if (!is_home_within(dir))
        add_rule(r, arena_strdup(r->arena, dir), false);
    if (!str_ends_with(dir, "/bin"))
        return;
    *strrchr(dir, '/') = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_rule(r, arena_printf(r->arena, "%s/%s", dir, parts[i]), false);
    add_targets(r, dir);
}

// The text is somebody else's, and a compiler can be made to read files: it finds its own parts and
// the system's headers, and writes to one directory. -1 where the kernel cannot hold it to that.
static int confine(struct arena *a, const char *cc, const char *dir) {
    static const char *const shared[] = {
        "/usr", "/lib", "/lib32", "/lib64",           "/bin",
        "/opt", "/nix", "/gnu",   "/etc/ld.so.cache", "/etc/alternatives"};
    struct rules r = {.arena = a};
    add_rule(&r, dir, true);
    add_rule(&r, "/dev/null", true);
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        add_rule(&r, shared[i], false);
    add_compiler(&r, cc);
    return landlock_rules(r.paths);
}

// A full disk is not the candidate's fault, whatever its text makes the compiler say.
static bool is_disk_full(const char *dir, const char *words) {
    const uint64_t little_bytes = 16 << 20;
    struct statvfs s;
    return strstr(words, strerror(ENOSPC)) && statvfs(dir, &s) == 0 &&
           (uint64_t)s.f_bavail * s.f_frsize < little_bytes;
}

// The driver tells of a part of it that was killed, as for lack of memory; but a text can make it
// say so, too.
static bool says_killed(const char *words) {
    static const char *const said[] = {
        "fatal error: Killed signal terminated program",      // gcc, of cc1 or as
        "fatal error: Terminated signal terminated program",  //
        "ld terminated with signal 9",                        // collect2
        "unable to execute command: Killed",                  // clang
        "unable to execute command: Terminated",
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(words, said[i]))
            return true;
    return false;
}

// A limit on processor time that is reached ends a process by SIGKILL as well.
static bool is_killed(const struct process_result *p, double seconds) {
    return !p->timed_out && compile_is_foreign_end(p->signal) && seconds < SECONDS_MAX - 1;
}

static const char *explain_failure(struct arena *a, const struct process_result *p) {
    if (p->timed_out || p->signal == SIGXCPU)
        return arena_printf(a, "the compiler took more than %d s", compile_seconds());
    if (compile_is_foreign_end(p->signal))
        return "the compiler was killed from outside, by somebody or for lack of memory";
    const char *words = first_errors(a, p->err);
    if (*words)
        return words;
    return p->signal ? arena_printf(a, "the compiler was ended by signal %d", p->signal)
                     : arena_printf(a, "the compiler failed with status %d", p->exit_status);
}

static bool run_compiler(struct arena *a, const struct compile_spec *s, const char *cc,
                         const char *dir, struct compile_result *result, struct error *err) {
    const char *argv[ARGV_MAX] = {cc};
    int n = 1;
    for (int i = 0; compile_flags[i]; i++)
        argv[n++] = compile_flags[i];
    for (int i = 0; i < s->n_dims; i++)
        argv[n++] = arena_printf(a, "-D%s=%lld", s->dim_names[i], (long long)s->dim_sizes[i]);
    argv[n++] = "candidate.c";
    argv[n++] = "-o";
    argv[n++] = "candidate.so";
    argv[n++] = "-lm";

    struct process_spec spec = {.argv = argv,
                                .cwd = dir,
                                .tmp_dir = dir,
                                .files = confine(a, cc, dir),
                                .timeout_ns = (int64_t)compile_seconds() * 1000000000,
                                .limit_cpu_s = SECONDS_MAX,
                                .limit_memory_bytes = compile_memory_bytes,
                                .limit_file_bytes = OBJECT_MAX};
    struct process_result p;
    int64_t start_ns = clock_now_ns();
    bool ok = process_run(a, &spec, &p, err);
    bool was_killed = ok && p.exit_status != 0 && !p.timed_out && says_killed(p.err);
    if (was_killed)
        ok = process_run(a, &spec, &p, err);
    if (spec.files > 0)
        close(spec.files);
    if (!ok)
        return false;
    if (p.exit_status == 0)
        result->outcome = COMPILE_OK;
    else if (is_killed(&p, (double)(clock_now_ns() - start_ns) * 1e-9))
        result->outcome = COMPILE_KILLED;
    else
        result->outcome = was_killed && says_killed(p.err) ? COMPILE_LIMITS : COMPILE_FAILED;
    if (p.exit_status != 0 && is_disk_full(dir, p.err))
        return error_set(err, ERROR_IO, "write to %s: %s", s->cache, strerror(ENOSPC));
    if (p.exit_status != 0)
        result->message = explain_failure(a, &p);
    return true;
}

// Into the cache in one step, once its bytes are safe on the disk.
static bool place(const char *from, const char *to, struct error *err) {
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0 && rename(from, to) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    return ok || error_set(err, ERROR_IO, "write %s: %s", to, strerror(why));
}

static bool compile_new(struct arena *a, const struct compile_spec *s, const char *cc,
                        struct compile_result *result, struct error *err) {
    int64_t start_ns = clock_now_ns();
    char name[TEMPORARY_MAX];
    temporary_name(name);
    char *dir = arena_printf(a, "%s/%s", s->cache, name);
    if (mkdir(dir, 0700) != 0)
        return error_set(err, ERROR_IO, "make a directory in %s: %s", s->cache, strerror(errno));
    bool ok = write_sources(a, dir, s, err) && run_compiler(a, s, cc, dir, result, err);
    if (ok && result->outcome == COMPILE_OK) {
        ok = place(arena_printf(a, "%s/candidate.so", dir), result->object, err);
        cache_trim(s->cache, CACHE_MAX_BYTES);
    }
    struct error ignored = {0};
    file_remove_tree(dir, &ignored);
    result->seconds = (double)(clock_now_ns() - start_ns) * 1e-9;
    return ok;
}

enum verdict_kind compile_verdict(enum compile_outcome outcome) {
    switch (outcome) {
    case COMPILE_OK:
        return VERDICT_OK;
    case COMPILE_ILLEGAL:
        return VERDICT_ILLEGAL;
    case COMPILE_KILLED:
        return VERDICT_INFRA;
    case COMPILE_LIMITS:
        return VERDICT_LIMITS;
    case COMPILE_FAILED:
        break;
    }
    return VERDICT_NO_COMPILE;
}

bool compile_is_foreign_end(int signal) {
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           signal == SIGQUIT;
}

int compile_seconds(void) {
    const char *text = getenv("HONE_COMPILE_SECONDS");
    long long seconds;
    bool ok = text && str_to_int64(text, &seconds) && seconds > 0 && seconds < SECONDS_MAX;
    return ok ? (int)seconds : SECONDS_MAX;
}

bool compile(struct arena *a, const struct compile_spec *s, struct compile_result *result,
             struct error *err) {
    *result = (struct compile_result){0};
    result->message = s->skip_scans ? NULL : scan_source(a, s->source);
    if (result->message) {
        result->outcome = COMPILE_ILLEGAL;
        return true;
    }
    const char *cc = file_find_program(a, s->cc);
    if (!cc)
        return error_set(err, ERROR_UNSUPPORTED,
                         "no compiler '%s'; install gcc or clang, or set build.cc", s->cc);
    result->object = arena_printf(a, "%s/%s.so", s->cache, key(a, s, cc));
    // A hit is marked as used now. Whatever else stands in its place is replaced.
    bool hit = file_size(result->object) >= 0 && utimensat(AT_FDCWD, result->object, NULL, 0) == 0;
    if (!hit && !compile_new(a, s, cc, result, err))
        return error_wrap(err, "compile");
    if (result->outcome != COMPILE_OK || s->skip_scans)
        return true;

    size_t len;
    const char *bytes = file_read_plain(a, result->object, OBJECT_MAX, &len, err);
    if (!bytes) {
        err->kind = ERROR_IO;  // nobody named this file
        return error_wrap(err, "compile");
    }
    result->message = scan_object(a, bytes, len);
    if (result->message)
        result->outcome = COMPILE_ILLEGAL;
    return true;
}
