// Key, cache look-up, nvcc as a child, into the cache. One compile takes 40 s of processor time and
// more; on a busy machine it only takes longer, so what ends it is its processor time first.
//
// Why not NVRTC, as for all else: it compiles the kernel alone. What the kernel takes (tensor maps,
// the scheduler's divisors, the epilogue's arguments, in one struct of templates) is made by
// CUTLASS's own host code, which only a C++ compiler with the same headers can make; with one at
// hand nvcc does both, and its object launches what it has.
#include "build/compile_nvcc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/temporary.h"
#include "build/cache.h"
#include "build/text.h"

enum {
    ARGV_MAX = 32,
    CPU_SECONDS = 600,
    WALL_FACTOR = 30,  // of compile_seconds()
    FILE_MAX = 512 << 20,
    MESSAGE_LINES = 14,
    MESSAGE_BYTES = 2000,
};

// Without asserts: one in a kernel is a call, and the assembler then waits for every product.
const char *const nvcc_flags[] = {"-std=c++17",
                                  "-O3",
                                  "-DNDEBUG",
                                  "-w",
                                  "--expt-relaxed-constexpr",
                                  "-Xcompiler",
                                  "-fPIC",
                                  "-Xcompiler",
                                  "-fvisibility=hidden",
                                  "-shared",
                                  "-cudart",
                                  "static",
                                  NULL};

static void add_file(struct sha256 *h, const char *path) {
    struct stat st = {0};
    sha256_add_text(h, path);
    if (stat(path, &st) != 0)
        return;
    sha256_add(h, &st.st_mtim, sizeof st.st_mtim);
    sha256_add(h, &st.st_size, sizeof st.st_size);
}

// CUTLASS is known by its version and by where it is and when it was put there.
static const char *key(struct arena *a, const struct nvcc_spec *s) {
    struct sha256 h;
    char hex[SHA256_HEX];
    sha256_init(&h);
    sha256_add_text(&h, "nvcc 1");
    sha256_add_text(&h, s->text);
    sha256_add_text(&h, s->arch);
    sha256_add_text(&h, s->version);
    add_file(&h, s->nvcc);
    add_file(&h, arena_printf(a, "%s/cutlass/version.h", s->include));
    for (int i = 0; nvcc_flags[i]; i++)
        sha256_add_text(&h, nvcc_flags[i]);
    sha256_hex(&h, hex);
    return arena_strdup(a, hex);
}

static const char *explain(struct arena *a, const struct process_result *p) {
    const char *at = strstr(p->err, "error");
    while (at && at > p->err && at[-1] != '\n')
        at--;
    const char *words = text_head(a, at ? at : p->err, MESSAGE_LINES, MESSAGE_BYTES);
    if (p->timed_out)
        return arena_printf(a, "nvcc took more than %d s", WALL_FACTOR * compile_seconds());
    if (*words)
        return words;
    return p->signal ? arena_printf(a, "nvcc was ended by signal %d", p->signal)
                     : arena_printf(a, "nvcc failed with status %d", p->exit_status);
}

static bool run(struct arena *a, const struct nvcc_spec *s, const char *dir,
                struct compile_result *result, struct error *err) {
    const char *argv[ARGV_MAX] = {s->nvcc};
    int n = 1;
    for (int i = 0; nvcc_flags[i]; i++)
        argv[n++] = nvcc_flags[i];
    // compute_90a of sm_90a
    argv[n++] = "-gencode";
    argv[n++] = arena_printf(a, "arch=compute_%s,code=%s", s->arch + strlen("sm_"), s->arch);
    argv[n++] = arena_printf(a, "-I%s", s->include);
    argv[n++] = "cutlass.cu";
    argv[n++] = "-o";
    argv[n++] = "cutlass.so";
    struct process_spec spec = {.argv = argv,
                                .cwd = dir,
                                .tmp_dir = dir,
                                .timeout_ns = (int64_t)WALL_FACTOR * compile_seconds() * 1000000000,
                                .limit_cpu_s = CPU_SECONDS,
                                .limit_file_bytes = FILE_MAX};
    struct process_result p;
    if (!process_run(a, &spec, &p, err))
        return false;
    if (p.exit_status == 0)
        return true;
    bool was_killed = !p.timed_out && compile_is_foreign_end(p.signal);
    result->outcome = was_killed ? COMPILE_KILLED : COMPILE_FAILED;
    result->message = explain(a, &p);
    return true;
}

static bool compile_new(struct arena *a, const struct nvcc_spec *s, struct compile_result *result,
                        struct error *err) {
    struct error ignored = {0};
    int64_t start_ns = clock_now_ns();
    char name[TEMPORARY_MAX];
    temporary_name(name);
    const char *dir = arena_printf(a, "%s/%s", s->cache, name);
    if (mkdir(dir, 0700) != 0)
        return error_set(err, ERROR_IO, "make a directory in %s: %s", s->cache, strerror(errno));
    const char *made = arena_printf(a, "%s/cutlass.so", dir);
    bool ok = file_keep(arena_printf(a, "%s/cutlass.cu", dir), s->text, strlen(s->text), err) &&
              run(a, s, dir, result, err);
    if (ok && result->outcome == COMPILE_OK) {
        ok = rename(made, result->object) == 0 ||
             error_set(err, ERROR_IO, "nvcc made no object: %s: %s", made, strerror(errno));
        cache_trim(s->cache, CACHE_MAX_BYTES);
    }
    file_remove_tree(dir, &ignored);
    result->seconds = (double)(clock_now_ns() - start_ns) * 1e-9;
    return ok;
}

bool compile_nvcc(struct arena *a, const struct nvcc_spec *s, struct compile_result *result,
                  struct error *err) {
    *result = (struct compile_result){.object = arena_printf(a, "%s/%s.so", s->cache, key(a, s))};
    // A hit is marked as used now.
    return utimensat(AT_FDCWD, result->object, NULL, 0) == 0 || compile_new(a, s, result, err) ||
           error_wrap(err, "compile with nvcc");
}
