// Compiles runtime/probe.c, calls each of its functions in a runner of its own and reads errno or
// the signal. Answers are cached under what they may depend on: kernel, user, our own binary.
#include "eval/probe.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "build/compile.h"
#include "eval/runner_handle.h"

static const int64_t timeout_ns = 2000000000;
enum { KNOWN_MAX = 64 << 10 };

// Functions of runtime/probe.c, and in words.
static const struct attempt {
    const char *function, *words;
} attempts[] = {
    {"probe_process", "start a process or thread"},
    {"probe_exec", "become another program"},
    {"probe_socket", "open a socket"},
    {"probe_ptrace", "trace a process"},
    {"probe_memory_of_others", "read another process's memory"},
    {"probe_signal", "signal another process"},
    {"probe_open", "open a file"},
    {"probe_open_loading", "open a file while loaded"},
    {"probe_remove", "remove a file"},
    {"probe_write", "write output"},
    {"probe_close", "close a descriptor"},
    {"probe_map", "map memory"},
    {"probe_handler", "handle a signal"},
    {"probe_filter", "change its own filter"},
    {"probe_namespace", "leave its namespace"},
    {"probe_counters", "read hardware counters"},
    {"probe_input", "write to an input"},
    {"probe_beyond", "write beyond a buffer"},
};
enum { N_ATTEMPTS = sizeof attempts / sizeof attempts[0] };

struct trial {
    struct arena *a;
    const char *object;
    struct plan plan;
    struct layout layout;
    struct memory_file inputs, outputs;
};

// An error that says "you may not", and not "this makes no sense".
static bool is_refusal(float answer) {
    return answer == -EPERM || answer == -EACCES || answer == -ENOMEM;
}

// Whatever ended the runner did so instead of the deed; but for a kill from outside, after which
// nothing is known.
static bool call(struct trial *t, struct runner *r, bool *refused, struct error *err) {
    struct call_result result;
    struct verdict v = {.evidence = ""};
    float answer = 0;
    runner_poison(r, FILE_OUTPUTS, 0, 0);
    runner_call(r, 0, timeout_ns, &result);
    runner_explain(t->a, r, result.status, &v);
    if (v.kind == VERDICT_INFRA)
        return error_set(err, ERROR_IO, "the probe failed: %s", v.evidence);
    if (result.status == RUNNER_OK)
        memcpy(&answer, runner_bytes(r, 1, 0), sizeof answer);
    *refused = result.status != RUNNER_OK || is_refusal(answer);
    return true;
}

static bool try(struct trial *t, const struct attempt *attempt, struct probe *p, bool *refused,
                struct error *err) {
    struct runner r;
    enum runner_status status;
    struct runner_spec spec = {.plan = &t->plan,
                               .n_slots = SLOTS_MIN,
                               .n_threads = 1,
                               .inputs = &t->inputs,
                               .outputs = &t->outputs,
                               .made_fd = -1};
    t->plan.steps[0].function = attempt->function;
    bool ok = runner_begin(&r, &spec, err) && runner_load(&r, t->object, &status, err);
    struct verdict v = {.evidence = ""};
    if (ok)
        runner_explain(t->a, &r, status, &v);
    if (ok && status != RUNNER_OK)
        ok = error_set(err, ERROR_IO, "the probe cannot be loaded: %s", v.evidence);
    if (ok) {
        p->sandbox_level = r.sandbox_level;
        ok = call(t, &r, refused, err);
    }
    runner_close(&r);
    return ok;
}

static bool try_all(struct trial *t, struct probe *p, struct error *err) {
    int n_refused = 0, n_allowed = 0;
    for (int i = 0; i < N_ATTEMPTS; i++) {
        bool refused = false;
        if (!try(t, &attempts[i], p, &refused, err))
            return false;
        if (refused)
            p->refused[n_refused++] = attempts[i].words;
        else
            p->allowed[n_allowed++] = attempts[i].words;
    }
    return true;
}

bool probe_run(struct arena *a, const char *cc, const char *cache, struct probe *p,
               struct error *err) {
    *p = (struct probe){0};
    struct compile_spec spec = {.source = embedded_text("probe.c"),
                                .cc = cc,
                                .machine = "",
                                .cache = cache,
                                .skip_scans = true};
    struct compile_result c;
    if (!compile(a, &spec, &c, err))
        return false;
    if (c.outcome != COMPILE_OK)
        return error_set(err, ERROR_IO, "the probe does not compile: %s", c.message);
    struct plan_buffer buffers[] = {{.name = "x", .role = BUFFER_INPUT, .size_bytes = 64},
                                    {.name = "y", .role = BUFFER_OUTPUT, .size_bytes = 64}};
    int args[] = {0, 1};
    struct plan_step step = {.kind = STEP_LAUNCH, .grid = 1, .args = args, .n_args = 2};
    struct trial t = {.a = a,
                      .object = c.object,
                      .plan = {.buffers = buffers, .n_buffers = 2, .steps = &step, .n_steps = 1},
                      .inputs = {.fd = -1, .read_only_fd = -1},
                      .outputs = {.fd = -1, .read_only_fd = -1}};
    layout_make(a, &t.layout, &t.plan, SLOTS_MIN);
    bool ok = memory_file_open(&t.inputs, t.layout.file_bytes[FILE_INPUTS], err) &&
              memory_file_open(&t.outputs, t.layout.file_bytes[FILE_OUTPUTS], err) &&
              try_all(&t, p, err);
    memory_file_close(&t.inputs);
    memory_file_close(&t.outputs);
    return ok;
}

// Anything that a new answer may depend on: the kernel as started, who we are, our own program.
static const char *path_of(struct arena *a, const char *cache, struct error *err) {
    const char *self = file_self(a, err);
    struct stat st = {0};
    if (!self)
        return NULL;
    stat(self, &st);
    struct error ignored = {0};
    const char *boot = file_read(a, "/proc/sys/kernel/random/boot_id", 64, NULL, &ignored);
    struct sha256 h;
    char hex[SHA256_HEX];
    sha256_init(&h);
    sha256_add_text(&h, boot ? boot : "");
    sha256_add_text(&h, embedded_text("probe.c"));
    int64_t facts[] = {getuid(), st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_size};
    sha256_add(&h, facts, sizeof facts);
    sha256_hex(&h, hex);
    return arena_printf(a, "%s/%s.json", cache, hex);
}

static json_t *to_array(const char *const *words) {
    json_t *list = json_array();
    for (; *words; words++)
        json_array_append_new(list, json_string(*words));
    return list;
}

static void from_array(struct arena *a, const json_t *list, const char **words) {
    for (size_t i = 0; i < json_array_size(list) && i < PROBE_MAX; i++)
        *words++ = arena_strdup(a, json_string_value(json_array_get(list, i)));
    *words = NULL;
}

static bool read_known(struct arena *a, const char *path, struct probe *p) {
    struct error ignored = {0};
    size_t len;
    const char *text = file_read_plain(a, path, KNOWN_MAX, &len, &ignored);
    json_t *json = text ? json_loadb(text, len, 0, NULL) : NULL;
    struct json_reader r = {.where = "probe"};
    if (!json)
        return false;
    *p = (struct probe){0};
    json_read_schema(&r, json, "hone.sandbox/1");
    p->sandbox_level = (int)json_read_int(&r, json, "level");
    from_array(a, json_read_array(&r, json, "refused"), p->refused);
    from_array(a, json_read_array(&r, json, "allowed"), p->allowed);
    json_decref(json);
    return json_reader_done(&r, &ignored);
}

bool probe_known(struct arena *a, const char *cc, const char *cache, struct probe *p,
                 struct error *err) {
    const char *path = path_of(a, cache, err);
    if (!path)
        return false;
    if (read_known(a, path, p))
        return true;
    if (!probe_run(a, cc, cache, p, err))
        return false;
    json_t *json =
        json_pack("{s:s, s:i, s:o, s:o}", "schema", "hone.sandbox/1", "level", p->sandbox_level,
                  "refused", to_array(p->refused), "allowed", to_array(p->allowed));
    char *text = json_dumps(json, JSON_INDENT(2));
    struct error ignored = {0};  // then it is tried again next time
    if (text)
        file_keep(path, text, strlen(text), &ignored);
    free(text);
    json_decref(json);
    return true;
}
