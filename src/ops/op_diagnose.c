// Which file is what, the target that it is about, then the tools over each kernel.
#include "ops/op_diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "profile/cubin.h"
#include "profile/occupancy.h"
#include "profile/sass.h"
#include "profile/source.h"
#include "tools/tool.h"

enum { FILE_MAX = 1 << 30, ACTIONS_SHOWN = 3 };
static const int64_t ncu_timeout_ns = 120000000000;

struct reading {
    struct arena *a;
    struct imported profile;
    bool has_profile;
    struct sass codes[16];
    int n_codes;
};

// ---- files

// A report of ncu's own form: ncu itself prints it.
static bool read_report(struct reading *r, const char *path, struct error *err) {
    const char *ncu = source_find_program(r->a, "ncu");
    if (!ncu)
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s needs ncu, which is not here; where it is: ncu --import %s --csv "
                         "--page raw > report.csv",
                         path, path);
    const char *const argv[] = {ncu, "--import", path, "--csv", "--page", "raw", NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = ncu_timeout_ns, .max_output = FILE_MAX};
    struct process_result p;
    if (!process_run(r->a, &spec, &p, err))
        return false;
    if (p.exit_status != 0)
        return error_set(err, ERROR_USAGE, "%s: ncu does not read it: %.200s", path,
                         *p.err ? p.err : p.out);
    r->has_profile = true;
    return import_ncu(r->a, p.out, strlen(p.out), &r->profile, err) || error_wrap(err, "%s", path);
}

static bool read_file(struct reading *r, const char *path, struct error *err) {
    size_t len;
    struct imported *p = &r->profile;
    if (import_is_nsys(path)) {
        if (r->has_profile)
            return error_set(err, ERROR_USAGE, "%s: a second profile; give one", path);
        r->has_profile = true;
        return import_nsys(r->a, path, p, err) || error_wrap(err, "%s", path);
    }
    if (str_ends_with(path, ".ncu-rep"))
        return read_report(r, path, err);
    const char *bytes = file_read(r->a, path, FILE_MAX, &len, err);
    if (!bytes)
        return false;
    if (cubin_is(bytes, len)) {
        if (r->n_codes == sizeof r->codes / sizeof r->codes[0])
            return error_set(err, ERROR_USAGE, "%s: more than %d cubins", path, r->n_codes);
        return sass_read(r->a, bytes, len, &r->codes[r->n_codes++], err) ||
               error_wrap(err, "%s", path);
    }
    if (r->has_profile && import_is_ncu(bytes, len))
        return error_set(err, ERROR_USAGE, "%s: a second profile; give one", path);
    r->has_profile = true;
    return import_ncu(r->a, bytes, len, p, err) || error_wrap(err, "%s", path);
}

// ---- whose code it is

// Is the kernel "void k<int>(float *)" the function `code`, plain or mangled?
static bool is_code_of(struct arena *a, const char *kernel, const char *code) {
    size_t len = strcspn(kernel, "<(");
    const char *begin = kernel;
    for (const char *at = kernel; at < kernel + len; at++)
        if (*at == ' ' || *at == ':')
            begin = at + 1;
    const char *base = arena_strndup(a, begin, (size_t)(kernel + len - begin));
    return strcmp(kernel, code) == 0 || strcmp(base, code) == 0 ||
           (*base && strncmp(code, "_Z", 2) == 0 &&
            strstr(code, arena_printf(a, "%zu%s", strlen(base), base)));
}

static void add_code(struct reading *r, struct diagnosis *d) {
    for (int i = 0; i < d->profile.n_launches; i++)
        for (int c = 0; c < r->n_codes; c++)
            for (int k = 0; k < r->codes[c].n_kernels; k++) {
                const struct sass_kernel *code = &r->codes[c].kernels[k];
                if (is_code_of(r->a, d->profile.launches[i].name, code->name))
                    sass_metrics(code, &d->profile.launches[i].metrics);
            }
}

// Cubins alone: every kernel is one of unknown shape.
static void list_code(struct reading *r, struct diagnosis *d) {
    for (int c = 0; c < r->n_codes; c++)
        for (int k = 0; k < r->codes[c].n_kernels; k++) {
            const struct sass_kernel *code = &r->codes[c].kernels[k];
            sass_metrics(code, &profile_add_launch(r->a, &d->profile, code->name)->metrics);
        }
    d->what = "machine code";
    d->n_launches = 0;
}

// ---- the target

static bool find_target(const struct diagnose_request *q, const struct reading *r,
                        struct diagnosis *d, struct error *err) {
    int capability = r->has_profile ? r->profile.capability : 0;
    if (capability == 0 && r->n_codes > 0)
        capability = r->codes[0].capability;
    if (q->target)
        return target_of_card(q->target, &d->target) || target_of_arch(q->target, &d->target) ||
               error_set(err, ERROR_USAGE, "unknown card '%s'", q->target);
    if (d->device && target_of_device(d->device, &d->target))
        return true;
    char name[16];
    snprintf(name, sizeof name, "sm_%d%s", capability, capability >= 90 ? "a" : "");
    if (!target_of_arch(name, &d->target))
        d->target = (struct target){.name = "gpu", .device = "a GPU", .isa = "", .is_gpu = true};
    if (r->profile.sms > 0)
        d->target.sms = r->profile.sms;
    return true;
}

// ---- kernel by kernel

static int compare_share(const void *x, const void *y) {
    const struct diagnosed_kernel *a = x, *b = y;
    double p = isfinite(a->share) ? a->share : 0, q = isfinite(b->share) ? b->share : 0;
    return p > q ? -1 : p < q;
}

static void note_sources(struct diagnosis *d, const struct metrics *m) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (!metrics_has(m, (enum metric_id)i))
            continue;
        d->has_counters |= metric_table[i].source == SOURCE_COUNTER;
        d->has_code |= metric_table[i].source == SOURCE_SASS;
        d->has_times |= i == METRIC_TIME;
    }
}

static void examine(struct arena *a, const struct diagnosis *d, struct diagnosed_kernel *k) {
    struct profile alone = {
        .launches = (struct profile_launch *)k->launch, .n_launches = 1, .room = 1};
    struct tool_input in = {.target = &d->target, .profile = &alone};
    k->n_findings = tools_examine(a, &in, k->findings, NODE_FINDINGS_MAX);
    k->measured = classify_launch(&k->launch->metrics, &d->target);
}

static void examine_kernels(struct arena *a, const struct diagnose_request *q,
                            struct diagnosis *d) {
    int n = d->profile.n_launches;
    double total_s = 0;
    d->kernels = arena_array(a, struct diagnosed_kernel, n + 1);
    for (int i = 0; i < n; i++) {
        struct profile_launch *l = &d->profile.launches[i];
        double calls = launch_get(l, METRIC_CALLS);
        double time_s = launch_get(l, METRIC_TIME) * (isfinite(calls) ? calls : 1);
        occupancy_complete(&d->target, &l->metrics);
        note_sources(d, &l->metrics);
        d->kernels[i] = (struct diagnosed_kernel){.name = l->name, .launch = l, .share = time_s};
        total_s += isfinite(time_s) ? time_s : 0;
    }
    for (int i = 0; i < n; i++)
        d->kernels[i].share = total_s > 0 ? d->kernels[i].share / total_s : NAN;
    qsort(d->kernels, (size_t)n, sizeof *d->kernels, compare_share);
    d->n_kernels = q->top > 0 && q->top < n ? q->top : n;
    d->n_left_out = n - d->n_kernels;
    for (int i = 0; i < d->n_kernels; i++)
        examine(a, d, &d->kernels[i]);
}

// What is known of the whole and not of a kernel.
static void examine_whole(struct arena *a, struct diagnosis *d) {
    struct profile whole = {.call = d->profile.call};
    struct tool_input in = {.target = &d->target, .profile = &whole};
    if (metrics_count(&whole.call) > 0)
        d->n_findings = tools_examine(a, &in, d->findings, NODE_FINDINGS_MAX);
}

bool op_diagnose(struct arena *a, const struct diagnose_request *q, struct diagnosis *out,
                 struct error *err) {
    struct reading r = {.a = a};
    *out = (struct diagnosis){0};
    for (int i = 0; i < q->n_files; i++)
        if (!read_file(&r, q->files[i], err))
            return false;
    if (r.has_profile) {
        out->what = r.profile.what;
        out->device = r.profile.device;
        out->n_launches = r.profile.n_launches;
        out->profile = r.profile.profile;
        add_code(&r, out);
    } else {
        list_code(&r, out);
    }
    if (!find_target(q, &r, out, err))
        return false;
    if (out->profile.n_launches == 0)
        return error_set(err, ERROR_USAGE, "%s: there is no kernel in it", q->files[0]);
    examine_kernels(a, q, out);
    examine_whole(a, out);
    return true;
}

// ---- for people

static void put_findings(struct str *s, const struct finding *found, int n) {
    for (int i = 0; i < n; i++) {
        const struct finding *f = &found[i];
        str_printf(s, "  %-9s %s (%s): %s", i == 0 ? "findings" : "", f->tool,
                   severity_name(f->severity), f->cause);
        if (f->expected_gain > 1.005)
            str_printf(s, "; worth up to %.2fx", f->expected_gain);
        str_printf(s, "\n%*s%s\n", 12, "", f->evidence);
        for (int k = 0; k < f->n_actions && k < ACTIONS_SHOWN; k++)
            str_printf(s, "%*s- %s\n", 12, "", f->actions[k].words);
    }
}

static void put_launch(struct arena *a, struct str *s, const struct diagnosed_kernel *k) {
    static const struct {
        enum metric_id id;
        const char *words;
    } rows[] = {{METRIC_BLOCKS, "blocks"},
                {METRIC_BLOCK_THREADS, "threads each"},
                {METRIC_REGISTERS, "registers"},
                {METRIC_SHARED_BYTES, "bytes shared"}};
    double calls = launch_get(k->launch, METRIC_CALLS), time_s = launch_get(k->launch, METRIC_TIME);
    const char *between = "  launch    ";
    if (isfinite(time_s)) {
        str_printf(s, "  time      %s", clock_duration(a, time_s * 1e9));
        if (calls > 1)
            str_printf(s, " each, %.0f launches", calls);
        str_printf(s, "; %.0f%% of the time of all kernels\n", 100 * k->share);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!metrics_has(&k->launch->metrics, rows[i].id))
            continue;
        str_printf(s, "%s%.0f %s", between, launch_get(k->launch, rows[i].id), rows[i].words);
        between = ", ";
    }
    if (metrics_has(&k->launch->metrics, METRIC_OCCUPANCY))
        str_printf(s, "%soccupancy %.0f%%", between, 100 * launch_get(k->launch, METRIC_OCCUPANCY));
    str_puts(s, "\n");
}

// What the files did not say, and what would.
static void put_absent(struct str *s, const struct diagnosis *d) {
    if (!d->has_counters)
        str_puts(s, "absent: hardware counters; ncu --csv --page raw --set full prints them\n");
    if (!d->has_code)
        str_puts(s, "absent: machine code; name the cubin as well\n");
    if (!d->has_times)
        str_puts(s, "absent: times, so that all kernels look alike; a profile has them\n");
}

const char *op_diagnose_text(struct arena *a, const struct diagnosis *d) {
    struct str s = {0};
    int n = d->n_kernels + d->n_left_out;
    str_printf(&s, "%s: ", d->what);
    if (d->n_launches > 0)
        str_printf(&s, "%d launch%s of ", d->n_launches, d->n_launches == 1 ? "" : "es");
    str_printf(&s, "%d kernel%s on %s\n", n, n == 1 ? "" : "s",
               d->device ? d->device : d->target.device);
    put_findings(&s, d->findings, d->n_findings);
    for (int i = 0; i < d->n_kernels; i++) {
        const struct diagnosed_kernel *k = &d->kernels[i];
        str_printf(&s, "\n%s\n", k->name);
        put_launch(a, &s, k);
        if (k->measured.kind != CLASS_UNKNOWN)
            str_printf(&s, "  class     %s\n", class_text(a, &k->measured));
        put_findings(&s, k->findings, k->n_findings);
        if (k->n_findings == 0)
            str_puts(&s, "  findings  none\n");
    }
    if (d->n_left_out > 0)
        str_printf(&s, "\n%d more kernel%s; --top 0 shows all\n", d->n_left_out,
                   d->n_left_out == 1 ? "" : "s");
    str_puts(&s, "\n");
    put_absent(&s, d);
    return str_take(a, &s);
}

// ---- for programs

static json_t *findings_to_json(const struct finding *found, int n) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, finding_to_json(&found[i]));
    return array;
}

static json_t *kernel_to_json(const struct diagnosed_kernel *k) {
    json_t *metrics = json_object();
    for (int i = 0; i < METRIC_COUNT; i++)
        if (metrics_has(&k->launch->metrics, (enum metric_id)i))
            json_object_set_new(metrics, metric_table[i].name,
                                json_real(k->launch->metrics.value[i]));
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "name", json_optional_text(k->name),
                     "share", json_optional_real(k->share), "class", class_name(k->measured.kind),
                     "part", json_optional_text(class_part_name(k->measured.part)), "busy",
                     json_optional_real(k->measured.busy), "metrics", metrics, "findings",
                     findings_to_json(k->findings, k->n_findings));
}

json_t *op_diagnose_json(const struct diagnosis *d) {
    json_t *kernels = json_array();
    for (int i = 0; i < d->n_kernels; i++)
        json_array_append_new(kernels, kernel_to_json(&d->kernels[i]));
    return json_pack("{s:s, s:s, s:o, s:s, s:i, s:i, s:o, s:o}", "schema", "hone.diagnosis/1",
                     "what", d->what, "device", json_optional_text(d->device), "target",
                     d->target.name, "launches", d->n_launches, "left_out", d->n_left_out,
                     "findings", findings_to_json(d->findings, d->n_findings), "kernels", kernels);
}
