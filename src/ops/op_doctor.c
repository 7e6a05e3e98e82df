// One function per part, called in order; each adds rows with a state and an advice.
#include "ops/op_doctor.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "base/temporary.h"
#include "calibrate/ceilings_cuda.h"
#include "eval/probe.h"
#include "gpu/library.h"
#include "gpu/nvml.h"
#include "gpu/nvrtc.h"
#include "library/blas.h"
#include "llm/curl.h"
#include "model/cutlass_path.h"
#include "ops/op_llm.h"
#include "ops/op_machine.h"
#include "ops/op_resolution.h"
#include "profile/source.h"
#include "store/store.h"

const char *const part_state_names[PART_STATE_COUNT] = {"ok", "absent", "broken", "unsure"};

struct visit {
    struct arena *a;
    const struct config *config;  // NULL when it cannot be read
    struct doctor *d;
};

static const char *setting(const struct visit *v, const char *key, const char *otherwise) {
    return v->config ? config_get(v->config, key) : otherwise;
}

static void add(struct visit *v, struct doctor_part part) {
    assert(v->d->n_parts < DOCTOR_MAX_PARTS && part.found);
    if (part.state == PART_OK)
        part.advice = NULL;
    v->d->parts[v->d->n_parts++] = part;
    v->d->n_broken += part.state == PART_BROKEN;
    v->d->n_needed_absent += part.state == PART_ABSENT && part.needed;
}

static const char *first_line(struct arena *a, const char *text) {
    return arena_strndup(a, text, strcspn(text, "\n"));
}

// Run a program to its end; NULL and why when that fails, else what it printed.
static const char *ask(struct visit *v, struct process_spec spec, const char **why) {
    struct process_result r;
    struct error err = {0};
    spec.timeout_ns = (int64_t)60 * 1000000000;
    if (!process_run(v->a, &spec, &r, &err)) {
        *why = arena_strdup(v->a, err.text);
        return NULL;
    }
    if (r.exit_status == 0)
        return r.out;
    if (r.timed_out)
        *why = "does not end";
    else if (*r.err)
        *why = first_line(v->a, r.err);
    else
        *why = arena_printf(v->a, r.signal ? "signal %d" : "exit status %d",
                            r.signal ? r.signal : r.exit_status);
    return NULL;
}

// Compile a function into a shared object, as evaluation does; NULL: it went well.
static const char *try_compiler(struct visit *v, const char *cc) {
    struct error err = {0};
    const char *dir = file_scratch_dir(v->a, &err);
    if (!dir)
        return arena_strdup(v->a, err.text);
    static const char source[] = "int probe(int x) { return x + 1; }\n";
    const char *object = arena_printf(v->a, "%s/probe.so", dir), *why = NULL;
    const char *const argv[] = {cc, "-x", "c", "-", "-O2", "-shared", "-fPIC", "-o", object, NULL};
    struct process_spec spec = {.argv = argv, .input = source, .input_len = sizeof source - 1};
    if (ask(v, spec, &why) && !file_exists(object))
        why = "it wrote no object";
    if (!file_remove_tree(dir, &err) && !why)
        why = arena_strdup(v->a, err.text);
    return why;
}

static void check_compiler(struct visit *v) {
    const char *name = setting(v, "build.cc", "cc"), *cc = file_find_program(v->a, name);
    struct doctor_part part = {.name = "compiler", .needed = true, .state = PART_BROKEN};
    if (!cc) {
        part.state = PART_ABSENT;
        part.found = arena_printf(v->a, "no %s", name);
        part.advice = "no kernel can be built: install gcc, or name a compiler with build.cc";
        add(v, part);
        return;
    }
    const char *why = NULL,
               *version = ask(
                   v, (struct process_spec){.argv = (const char *const[]){cc, "--version", NULL}},
                   &why);
    if (version)
        why = try_compiler(v, cc);
    if (!why)
        part.state = PART_OK;
    part.found = arena_printf(v->a, "%s: %s", cc, why ? why : first_line(v->a, version));
    part.advice = "it must build a shared object from C: reinstall it, or set build.cc";
    add(v, part);
}

static void check_objdump(struct visit *v) {
    struct doctor_part part = {.name = "objdump", .found = "no objdump", .state = PART_ABSENT};
    part.advice = "profiles have no instruction counts: install binutils";
    const char *program = file_find_program(v->a, "objdump"), *why = NULL;
    if (program) {
        const char *const argv[] = {program, "--version", NULL};
        const char *version = ask(v, (struct process_spec){.argv = argv}, &why);
        part.state = version ? PART_OK : PART_BROKEN;
        part.found =
            arena_printf(v->a, "%s: %s", program, version ? first_line(v->a, version) : why);
    }
    add(v, part);
}

static void check_settings(struct visit *v, const struct error *err) {
    struct doctor_part part = {.name = "settings", .found = "see hone config --origin"};
    if (!v->config) {
        part.state = PART_BROKEN;
        part.found = arena_strdup(v->a, err->text);
        part.advice = "correct that file";
    }
    add(v, part);
}

// The nearest directory upward that exists.
static const char *existing(struct arena *a, const char *path) {
    char *dir = arena_strdup(a, path);
    while (!file_exists(dir)) {
        char *slash = strrchr(dir, '/');
        if (!slash)
            return ".";
        slash[slash == dir] = '\0';
    }
    return dir;
}

// The store in use, or NULL when there is none yet.
static const char *find_store(struct visit *v, const char *named) {
    if (!*named)
        return file_find_upward(v->a, ".hone/runs.db");
    const char *inside = arena_printf(v->a, "%s/runs.db", named);
    if (file_exists(inside))
        return inside;
    return file_exists(arena_printf(v->a, "%s/.", named)) || !file_exists(named) ? NULL : named;
}

static void check_store(struct visit *v) {
    const char *named = setting(v, "store.path", ""), *path = find_store(v, named);
    struct doctor_part part = {.name = "store", .state = PART_BROKEN};
    struct store *s = NULL;
    struct error err = {0};
    if (path && !store_open(&s, path, false, &err)) {
        part.found = arena_strdup(v->a, err.text);
        part.advice = "move it away, or name another with store.path";
        add(v, part);
        return;
    }
    store_close(s);
    const char *where = *named ? named : ".";
    // A store that is there must be writable itself; else the directory that will hold it.
    const char *must = path ? path : arena_printf(v->a, "%s/.", existing(v->a, where));
    if (access(must, W_OK) == 0) {
        part.state = PART_OK;
        part.found =
            path ? path : arena_printf(v->a, "none yet; the first run makes it in %s", where);
    } else {
        part.found = arena_printf(v->a, "%s: %s", must, strerror(errno));
        part.advice = "no run can be kept: make it writable, or set store.path";
    }
    add(v, part);
}

static void check_cache(struct visit *v) {
    struct error err = {0};
    struct doctor_part part = {.name = "cache", .state = PART_BROKEN};
    part.advice = "ceilings and compiled kernels cannot be kept: set XDG_CACHE_HOME";
    const char *dir = file_cache_dir(v->a, "", &err);
    char name[TEMPORARY_MAX];
    temporary_name(name);
    const char *probe = dir ? arena_printf(v->a, "%s%s", dir, name) : NULL;
    if (dir && file_write(probe, "", 0, &err)) {
        unlink(probe);
        part.state = PART_OK;
        part.found = dir;
    } else {
        part.found = arena_strdup(v->a, err.text);
    }
    add(v, part);
}

static void check_sqlite(struct visit *v) {
    add(v, (struct doctor_part){.name = "sqlite", .found = sqlite3_libversion()});
}

static void check_sandbox(struct visit *v) {
    struct doctor_part filter = {.name = "seccomp", .found = "system calls of candidates filtered"};
    unsigned action = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) {
        filter.state = PART_ABSENT;
        filter.found = arena_printf(v->a, "the kernel says: %s", strerror(errno));
        filter.advice = "candidates run with resource limits only; run no untrusted kernel here";
    }
    add(v, filter);

    // landlock_create_ruleset with this flag asks for the version and makes nothing.
    long version = syscall(444, NULL, 0, 1);
    struct doctor_part files = {.name = "landlock"};
    if (version > 0) {
        files.found = arena_printf(v->a, "version %ld: no files for candidates", version);
    } else {
        files.state = PART_ABSENT;
        files.found = arena_printf(v->a, "the kernel says: %s", strerror(errno));
        files.advice = "the file system is kept from candidates by the system-call filter alone";
    }
    add(v, files);
}

static const char *joined(struct arena *a, const char *const *words) {
    struct str out = {0};
    for (int i = 0; words[i]; i++)
        str_printf(&out, "%s%s", i ? ", " : "", words[i]);
    return str_take(a, &out);
}

// What the sandbox really refuses, as a candidate of our own finds out.
static void check_probe(struct visit *v) {
    struct doctor_part part = {.name = "sandbox", .state = PART_ABSENT};
    struct probe p;
    struct error err = {0};
    int n_refused = 0, n_allowed = 0;
    const char *cache = file_cache_dir(v->a, "objects", &err);
    if (!cache || !probe_run(v->a, setting(v, "build.cc", "cc"), cache, &p, &err)) {
        part.found = arena_printf(v->a, "not tried: %s", err.text);
        part.advice = "what candidates are refused is not known";
        add(v, part);
        return;
    }
    while (p.refused[n_refused])
        n_refused++;
    while (p.allowed[n_allowed])
        n_allowed++;
    part.state = n_allowed ? PART_ABSENT : PART_OK;
    part.found = n_allowed ? arena_printf(v->a, "level %d, not refused: %s", p.sandbox_level,
                                          joined(v->a, p.allowed))
                           : arena_printf(v->a, "level %d, all %d refused: %s", p.sandbox_level,
                                          n_refused, joined(v->a, p.refused));
    part.advice = "run no untrusted kernel here";
    add(v, part);
}

static void check_cpu(struct visit *v) {
    struct target t;
    struct error err = {0};
    struct doctor_part cpu = {.name = "cpu", .needed = true, .state = PART_BROKEN};
    if (!op_target(v->a, "cpu", &t, &err)) {
        cpu.found = arena_strdup(v->a, err.text);
        cpu.advice = "nothing can be evaluated: correct the setting that is named";
        add(v, cpu);
        return;
    }
    cpu.state = PART_OK;
    cpu.found = arena_printf(v->a, "%s; %d thread%s for kernels", t.device, t.n_threads,
                             t.n_threads == 1 ? "" : "s");
    add(v, cpu);

    struct doctor_part ceilings = {
        .name = "ceilings", .state = PART_ABSENT, .found = "not measured"};
    ceilings.advice = "a bound has no reach yet: run hone calibrate";
    if (t.ceilings.present) {
        double spread = ceilings_spread(&t.ceilings);
        ceilings.state = ceilings_are_unsure(&t.ceilings) ? PART_UNSURE : PART_OK;
        ceilings.found =
            arena_printf(v->a, "measured %s, spread %.0f%%", t.ceilings.measured_at, 100 * spread);
        ceilings.advice = ceilings_are_unsure(&t.ceilings)
                              ? "reach is as uncertain as that: run hone calibrate when nothing "
                                "else runs"
                              : NULL;
    }
    add(v, ceilings);
}

// How many there are.
static int check_gpu(struct visit *v) {
    struct error err = {0};
    int n = cuda_target_count(&err);
    struct doctor_part part = {.name = "gpu", .found = "no GPU"};
    if (n > 0) {
        part.found = arena_printf(v->a, "%d; hone devices lists them", n);
    } else {
        part.state = PART_ABSENT;
        if (err.text[0])
            part.found = arena_strdup(v->a, err.text);
        part.advice = "everything runs on the CPU target; --target cuda does not";
    }
    add(v, part);
    return n > 0 ? n : 0;
}

// Only blocks that name it need it.
static void check_cutlass(struct visit *v) {
    struct cutlass_path c;
    bool is_there = cutlass_path_find(&c);
    add(v, (struct doctor_part){
               .name = "cutlass",
               .state = is_there ? PART_OK : PART_ABSENT,
               .found = is_there ? arena_printf(v->a, "%s: %s, compiled by %s", c.version,
                                                c.include, c.nvcc)
                                 : arena_strdup(v->a, c.why),
               .advice = "no kernel block has a stage `gemm as cutlass`: let CUTLASS_PATH name a "
                         "copy of CUTLASS 3 or later, and install nvcc"});
}

// Without it a GPU is passed over where no target is named, which no other command says.
static void check_nvrtc(struct visit *v, int n_gpus) {
    struct nvrtc n;
    struct error err = {0};
    struct doctor_part part = {.name = "nvrtc"};
    if (nvrtc_open(&n, &err)) {
        const char *path = library_path(n.handle);
        part.found = arena_printf(v->a, "%d.%d: %s", n.major, n.minor, path ? path : "libnvrtc");
        nvrtc_close(&n);
    } else {
        part.state = PART_ABSENT;
        part.found = arena_strdup(v->a, err.text);
        part.advice =
            n_gpus ? "the GPU is not used: where no target is named the CPU is taken, and --target "
                     "cuda compiles nothing; install NVRTC, or let $CUDA_HOME name its toolkit"
                   : "CUDA cannot be compiled here; only a GPU needs it";
    }
    add(v, part);
}

static void check_nvml(struct visit *v) {
    struct nvml n;
    struct error err = {0};
    struct doctor_part part = {.name = "nvml", .found = "clocks of a card are watched"};
    if (nvml_open(&n, &err)) {
        nvml_close(&n);
    } else {
        part.state = PART_ABSENT;
        part.found = arena_strdup(v->a, err.text);
        part.advice = "a GPU that slows itself down goes unseen; nothing else depends on it";
    }
    add(v, part);
}

// What can be said of a GPU's kernels here, source by source.
static void check_sources(struct visit *v) {
    for (int i = 0; i < n_sources; i++) {
        const char *why = NULL, *found = sources[i].find(v->a, &why);
        add(v, (struct doctor_part){.name = sources[i].name,
                                    .state = found ? PART_OK : PART_ABSENT,
                                    .found = found ? found : why,
                                    .advice = sources[i].without});
    }
}

static void check_curl(struct visit *v) {
    struct error err = {0};
    struct http *http;
    struct doctor_part part = {.name = "libcurl", .found = "not installed"};
    if (http_open(&http, &err)) {
        part.found = arena_strdup(v->a, http_version(http));
        http_close(http);
    } else {
        part.state = PART_ABSENT;
        part.found = arena_strdup(v->a, err.text);
        part.advice = "models over the network cannot be used; exec:, ask: and the expert can";
    }
    add(v, part);
}

// The candidate `library` on a CPU.
static void check_library(struct visit *v) {
    struct blas b;
    struct error err = {0};
    struct doctor_part part = {.name = "library"};
    if (blas_open(&b, 1, &err)) {
        part.found = arena_strdup(v->a, b.name);
    } else {
        part.state = PART_ABSENT;
        part.found = arena_strdup(v->a, err.text);
        part.advice = "products on a CPU cannot be compared with a library's";
    }
    add(v, part);
}

static void check_load(struct visit *v) {
    double load;
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1)
        return;
    add(v,
        (struct doctor_part){
            .name = "load",
            .state = load < (double)n_processors ? PART_OK : PART_UNSURE,
            .found = arena_printf(v->a, "%.1f over the last minute, %ld processor%s", load,
                                  n_processors, n_processors == 1 ? "" : "s"),
            .advice = "other work disturbs what is timed: intervals are wide, little is resolved"});
}

static void check_llm(struct visit *v, const char *spec) {
    struct error err = {0};
    struct doctor_part part = {.name = "llm", .needed = true};
    if (!op_llm_probe(v->a, spec, &part.found, &err)) {
        part.state = err.kind == ERROR_UNSUPPORTED ? PART_ABSENT : PART_BROKEN;
        part.found = arena_strdup(v->a, err.text);
        part.advice = "docs/llm.md has every provider, its key and its settings";
    }
    add(v, part);
}

static bool check_resolution(struct visit *v, const struct doctor_request *q, struct error *err) {
    struct target t;
    struct resolution r;
    struct error why = {0};
    struct doctor_part part = {.name = "resolves", .state = PART_ABSENT, .found = "not measured"};
    part.advice = "what difference is resolved in 1, 5, 20 s: run hone doctor --measure 20";
    // Where the target itself is wrong other parts have said so, unless it was named.
    if (!op_target(v->a, q->target, &t, &why)) {
        if (q->target)
            *err = why;
        return !q->target;
    }
    op_resolution_load(v->a, &t, &r);
    if (q->measure_s > 0 && !op_resolution_measure(v->a, &t, q->measure_s, &r, &why)) {
        part.found = arena_strdup(v->a, why.text);
        part.state = PART_BROKEN;
    }
    if (r.present) {
        part.state = PART_OK;
        part.found =
            arena_printf(v->a, "%s on %s: %s, with calls of %s", r.measured_at, t.name,
                         op_resolution_text(v->a, &r), clock_duration(v->a, r.call_s * 1e9));
    }
    add(v, part);
    return true;
}

bool op_doctor(struct arena *a, const struct doctor_request *q, struct doctor *d,
               struct error *err) {
    struct config config;
    struct error mistake = {0};
    *d = (struct doctor){0};
    struct visit v = {.a = a, .d = d};
    if (config_load(a, &config, &mistake))
        v.config = &config;
    check_settings(&v, &mistake);
    check_compiler(&v);
    check_objdump(&v);
    check_store(&v);
    check_cache(&v);
    check_sqlite(&v);
    check_sandbox(&v);
    check_probe(&v);
    check_cpu(&v);
    check_nvrtc(&v, check_gpu(&v));
    check_cutlass(&v);
    check_nvml(&v);
    check_sources(&v);
    check_curl(&v);
    check_library(&v);
    check_load(&v);
    if (q->llm)
        check_llm(&v, q->llm);
    if (!check_resolution(&v, q, err))
        return false;
    return !interrupt_seen() || error_set(err, ERROR_INTERRUPTED, "interrupted");
}

json_t *doctor_to_json(const struct doctor *d) {
    json_t *parts = json_array();
    for (int i = 0; i < d->n_parts; i++) {
        const struct doctor_part *p = &d->parts[i];
        json_array_append_new(parts, json_pack("{sssssbsoso}", "part", p->name, "state",
                                               part_state_names[p->state], "needed", p->needed,
                                               "found", json_optional_text(p->found), "advice",
                                               json_optional_text(p->advice)));
    }
    return json_pack("{sssssisiso}", "schema", "hone.doctor/1", "version", HONE_VERSION, "broken",
                     d->n_broken, "needed_absent", d->n_needed_absent, "parts", parts);
}
