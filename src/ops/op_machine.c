// Names of targets, the default one, and the compiler that serves each.
#include "ops/op_machine.h"

#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "calibrate/ceilings_cuda.h"
#include "gpu/library.h"
#include "gpu/nvrtc.h"

// "cuda" is GPU 0, "cuda:N" the N-th. False: not a GPU's name.
static bool parse_gpu_name(const char *name, int *ordinal) {
    long long number;
    *ordinal = 0;
    if (strcmp(name, "cuda") == 0)
        return true;
    if (strncmp(name, "cuda:", 5) != 0 || !str_to_int64(name + 5, &number) || number < 0 ||
        number > 1024)
        return false;
    *ordinal = (int)number;
    return true;
}

// The one list of names: what runs here, architectures, cards.
static bool unknown_target(struct arena *a, const char *name, struct error *err) {
    const char *near = strcmp(name, "gpu") == 0 ? "cuda" : str_nearest(name, target_names);
    near = near ? near : str_nearest(name, card_names);
    if (near)
        return error_set(err, ERROR_USAGE, "unknown target '%s'; did you mean '%s'?", name, near);
    struct str cards = {0};
    for (int i = 0; card_names[i]; i++)
        str_printf(&cards, "%s%s", i ? ", " : "", card_names[i]);
    return error_set(err, ERROR_USAGE,
                     "unknown target '%s'; there are cpu, cuda, the architectures sm_80, sm_90a, "
                     "sm_100a, and the cards %s",
                     name, str_take(a, &cards));
}

static bool read_cpu(struct arena *a, struct target *t, struct error *err) {
    struct config config;
    long long threads;
    if (!config_load(a, &config, err))
        return false;
    const char *text = config_get(&config, "run.threads");
    if (!str_to_int64(text, &threads) || threads < 0 || threads > 4096)
        return error_set(err, ERROR_USAGE, "setting run.threads is '%s', not a number of threads",
                         text);
    return target_read_cpu(a, (int)threads, config_get(&config, "build.cc"), t, err);
}

// What the settings say, else the first GPU, if kernels can be compiled for it, else the CPU.
static bool default_name(struct arena *a, const char **name, struct error *err) {
    struct config config;
    struct nvrtc n;
    struct error why = {0};
    if (!config_load(a, &config, err))
        return false;
    *name = config_get(&config, "run.target");
    if (**name)
        return true;
    bool has_gpu = cuda_target_count(&why) > 0 && nvrtc_open(&n, &why);
    if (has_gpu)
        nvrtc_close(&n);
    *name = has_gpu ? "cuda" : "cpu";
    return true;
}

bool op_target(struct arena *a, const char *name, struct target *t, struct error *err) {
    int ordinal;
    if (!name && !default_name(a, &name, err))
        return false;
    if (strcmp(name, "cpu") == 0) {
        if (!read_cpu(a, t, err))
            return false;
    } else if (parse_gpu_name(name, &ordinal)) {
        if (!cuda_target_read(a, ordinal, t, err))
            return error_wrap(err, "target %s", name);
    } else if (target_of_arch(name, t)) {
        return error_set(err, ERROR_USAGE,
                         "target %s is an architecture, which can be emitted for; to run on a GPU "
                         "name it: cuda",
                         name);
    } else if (target_of_card(name, t)) {
        return error_set(
            err, ERROR_USAGE,
            "target %s is a card by name, which hone sol and hone emit take; to run on a GPU of "
            "this machine name it: cuda",
            name);
    } else {
        return unknown_target(a, name, err);
    }
    target_load_ceilings(a, t);
    return true;
}

bool op_target_usable(struct arena *a, const struct target *t, struct error *err) {
    return t->is_gpu || file_find_program(a, t->cc) ||
           error_set(err, ERROR_UNSUPPORTED,
                     "the compiler '%s' is not there; install one or set build.cc", t->cc);
}

static const char *ask_compiler(struct arena *a, const char *cc) {
    const char *path = file_find_program(a, cc);
    const char *const argv[] = {path, "--version", NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = (int64_t)5e9};
    struct process_result result;
    struct error ignored;
    if (!path || !process_run(a, &spec, &result, &ignored) || result.exit_status != 0)
        return NULL;
    return arena_strndup(a, result.out, strcspn(result.out, "\n"));
}

static const char *ask_nvrtc(struct arena *a) {
    struct nvrtc n;
    struct error ignored;
    if (!nvrtc_open(&n, &ignored))
        return NULL;
    const char *version = arena_printf(a, "NVRTC %d.%d", n.major, n.minor);
    nvrtc_close(&n);
    return version;
}

const char *op_compiler(struct arena *a, const struct target *t) {
    return t->is_gpu ? ask_nvrtc(a) : ask_compiler(a, t->cc);
}

const char *op_compiler_and_headers(struct arena *a, const struct target *t) {
    const char *words = op_compiler(a, t);
    char dir[1024];
    if (!t->is_gpu || !words)
        return words;
    return arena_printf(a, "%s; the device headers of CUDA's toolkit are %s", words,
                        library_find_headers(dir, sizeof dir) ? "installed" : "not installed");
}

bool op_code_target(struct arena *a, const char *name, struct target *t, struct error *err) {
    if (!name && !default_name(a, &name, err))
        return false;
    struct target arch;
    if (target_of_card(name, t) && !target_of_arch(t->isa, &arch))
        return error_set(err, ERROR_UNSUPPORTED,
                         "no kernels are emitted for %s (%s); there are sm_80, sm_90a, sm_100a",
                         name, t->isa);
    if (target_of_arch(name, t) || target_of_card(name, t) || op_target(a, name, t, err))
        return true;
    if (err->kind != ERROR_UNSUPPORTED)
        return false;
    return error_set(err, ERROR_UNSUPPORTED,
                     "%s; for a card that is not here name its architecture: sm_80, sm_90a or "
                     "sm_100a",
                     arena_printf(a, "%s", err->text));
}

bool op_all_targets(struct arena *a, struct target **targets, int *n_targets, struct error *err) {
    struct error why = {0};
    int n_gpus = cuda_target_count(&why);
    *targets = arena_array(a, struct target, n_gpus + 1);
    *n_targets = n_gpus + 1;
    if (!op_target(a, "cpu", &(*targets)[0], err))
        return false;
    for (int i = 0; i < n_gpus; i++)
        if (!op_target(a, arena_printf(a, "cuda:%d", i), &(*targets)[i + 1], err))
            return false;
    return true;
}

static bool is_alike(const struct target *x, const struct target *y) {
    return strcmp(x->device, y->device) == 0 && strcmp(x->isa, y->isa) == 0 &&
           x->memory_bytes == y->memory_bytes && x->sms == y->sms;
}

bool op_alike_targets(struct arena *a, const struct target *home, int most,
                      const struct target ***targets, int *n_targets, struct error *err) {
    struct target *all;
    int n_all, n = 0;
    if (!op_all_targets(a, &all, &n_all, err))
        return false;
    *targets = arena_array(a, const struct target *, n_all + 1);
    (*targets)[n++] = home;
    for (int i = 0; i < n_all && n < most; i++)
        if (all[i].is_gpu && all[i].ordinal != home->ordinal && is_alike(&all[i], home))
            (*targets)[n++] = &all[i];
    *n_targets = n;
    return true;
}

json_t *op_devices(const struct target *targets, int n_targets) {
    json_t *devices = json_array();
    for (int i = 0; i < n_targets; i++)
        json_array_append_new(devices, target_to_json(&targets[i]));
    return json_pack("{s:s, s:o}", "schema", "hone.devices/1", "devices", devices);
}
