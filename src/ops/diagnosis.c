// The tools over each kernel, and the words for it.
#include "ops/diagnosis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "profile/occupancy.h"
#include "tools/tool.h"

enum { ACTIONS_SHOWN = 3, SPOTS_SHOWN = 3 };
// A kernel of less than this share of the time has nothing of importance.
static const double SMALL = 0.05;
// A finding that cannot say what it is worth.
static const double UNKNOWN_GAIN = 1.02;

bool diagnosis_is_code_of(struct arena *a, const char *kernel, const char *code) {
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

static void examine_kernels(struct arena *a, int top, struct diagnosis *d) {
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
    d->n_kernels = top > 0 && top < n ? top : n;
    d->n_left_out = n - d->n_kernels;
    for (int i = 0; i < d->n_kernels; i++)
        examine(a, d, &d->kernels[i]);
}

void diagnosis_find_target(struct diagnosis *d, int capability, int sms) {
    char name[16];
    if (d->device && target_of_device(d->device, &d->target))
        return;
    snprintf(name, sizeof name, "sm_%d%s", capability, capability >= 90 ? "a" : "");
    if (!target_of_arch(name, &d->target))
        d->target = (struct target){.name = "gpu", .device = "a GPU", .isa = "", .is_gpu = true};
    if (sms > 0)
        d->target.sms = sms;
}

// What is known of the whole and not of a kernel.
static void examine_whole(struct arena *a, struct diagnosis *d) {
    struct profile whole = {.call = d->profile.call};
    struct tool_input in = {.target = &d->target, .profile = &whole};
    if (metrics_count(&whole.call) > 0)
        d->n_findings = tools_examine(a, &in, d->findings, NODE_FINDINGS_MAX);
}

// What kernels are to one another.
static void examine_several(struct arena *a, struct diagnosis *d) {
    struct profile all = {.launches = d->profile.launches, .n_launches = d->profile.n_launches};
    struct tool_input in = {.target = &d->target, .profile = &all};
    struct finding f;
    for (const struct tool *const *t = tools; *t; t++) {
        if (!(*t)->of_several || all.n_launches < 2 || !tool_examine(a, *t, &in, &f))
            continue;
        int at = d->n_findings < NODE_FINDINGS_MAX ? d->n_findings++ : NODE_FINDINGS_MAX - 1;
        for (; at > 0 && finding_ranks_before(&f, &d->findings[at - 1]); at--)
            d->findings[at] = d->findings[at - 1];
        d->findings[at] = f;
    }
}

void diagnosis_examine(struct arena *a, int top, struct diagnosis *d) {
    examine_kernels(a, top, d);
    examine_whole(a, d);
    examine_several(a, d);
}

// ---- what to do first

static double on_the_whole(double gain, double share) {
    gain = isfinite(gain) && gain >= 1 ? gain : UNKNOWN_GAIN;
    return 1 / (1 - share + share / gain);
}

void diagnosis_rank(struct diagnosis *d) {
    double busy = profile_get(&d->profile, METRIC_DEVICE_BUSY);
    struct finding best = {0};
    d->first = (struct diagnosis_first){0};
    for (int i = -1; i < d->n_kernels; i++) {
        const struct finding *found = i < 0 ? d->findings : d->kernels[i].findings;
        int n = i < 0 ? d->n_findings : d->kernels[i].n_findings;
        double share = i < 0 ? 1 : d->kernels[i].share * (isfinite(busy) ? busy : 1);
        for (int k = 0; k < n; k++) {
            struct finding f = found[k];
            f.expected_gain = on_the_whole(f.expected_gain, isfinite(share) ? share : 1);
            f.severity = share < SMALL ? SEVERITY_LOW : f.severity;
            if (d->first.finding && !finding_ranks_before(&f, &best))
                continue;
            best = f;
            d->first = (struct diagnosis_first){&found[k], i < 0 ? NULL : d->kernels[i].name,
                                                f.expected_gain};
        }
    }
}

// ---- for people

static void put_first(struct str *s, const struct diagnosis *d) {
    const struct finding *f = d->first.finding;
    if (!f)
        return;
    str_printf(s, "  first     %s%s%s: %s", f->tool, d->first.kernel ? " in " : "",
               d->first.kernel ? d->first.kernel : "", f->cause);
    if (d->first.gain > 1.005 && isfinite(f->expected_gain))
        str_printf(s, "; worth up to %.2fx of the whole", d->first.gain);
    str_puts(s, "\n");
}

static void put_findings(struct arena *a, struct str *s, const struct finding *found, int n) {
    for (int i = 0; i < n; i++) {
        const struct finding *f = &found[i];
        str_printf(s, "  %-9s %s (%s): %s", i == 0 ? "findings" : "", f->tool, finding_weight(a, f),
                   f->cause);
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
    static const char head[] = "  launch    ";
    const char *between = head;
    if (isfinite(time_s)) {
        str_printf(s, "  time      %s", clock_duration(a, time_s * 1e9));
        if (calls > 1)
            str_printf(s, " each, %.0f launches", calls);
        if (isfinite(k->share))
            str_printf(s,
                       k->share < 0.005 ? "; less than 1%% of the time of all kernels"
                                        : "; %.0f%% of the time of all kernels",
                       100 * k->share);
        str_puts(s, "\n");
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!metrics_has(&k->launch->metrics, rows[i].id))
            continue;
        str_printf(s, "%s%.0f %s", between, launch_get(k->launch, rows[i].id), rows[i].words);
        between = ", ";
    }
    if (metrics_has(&k->launch->metrics, METRIC_OCCUPANCY)) {
        str_printf(s, "%soccupancy %.0f%%", between, 100 * launch_get(k->launch, METRIC_OCCUPANCY));
        between = ", ";
    }
    if (between != head)
        str_puts(s, "\n");
}

// Two digits, and never an exponent: "0.38", "206".
static const char *intensity(struct arena *a, double flop_per_byte) {
    return arena_printf(a, flop_per_byte < 10 ? "%.2g" : "%.0f", flop_per_byte);
}

// Where on the roofline: traffic against the peak of memory, arithmetic against that of its units,
// and on which side of the ridge, where both peaks are reached together. A unit that is busy may do
// something else than multiply-adds, so that its rate is an upper bound.
static void put_roofline(struct arena *a, struct str *s, const struct target *t,
                         const struct diagnosed_kernel *k) {
    double time_s = launch_get(k->launch, METRIC_TIME), peak = t->peak_bytes_per_s;
    double bytes_per_s = (launch_get(k->launch, METRIC_DRAM_READ_BYTES) +
                          launch_get(k->launch, METRIC_DRAM_WRITE_BYTES)) /
                         time_s;
    double units = launch_get(k->launch, METRIC_PIPE_FMA_BUSY);
    double matrix = launch_get(k->launch, METRIC_PIPE_TENSOR_BUSY);
    if (!isfinite(bytes_per_s) || !isfinite(units) || !(peak > 0) || !(t->peak_per_s[PIPE_F32] > 0))
        return;
    bool is_matrix = matrix * t->peak_per_s[PIPE_F16] > units * t->peak_per_s[PIPE_F32];
    double most = t->peak_per_s[is_matrix ? PIPE_F16 : PIPE_F32];
    double rate = (is_matrix ? matrix : units) * most;
    str_printf(s, "  roofline  memory %s/s of %s/s (%.0f%%), ", bound_quantity(a, bytes_per_s, "B"),
               bound_quantity(a, peak, "B"), 100 * bytes_per_s / peak);
    str_printf(s, "%s %s/s of %s/s (%.0f%%)", is_matrix ? "matrix units" : "f32 units",
               bound_quantity(a, rate, "FLOP"), bound_quantity(a, most, "FLOP"), 100 * rate / most);
    str_printf(s, ": %s FLOP a byte at most, the ridge is at %s\n",
               intensity(a, rate / bytes_per_s), intensity(a, most / peak));
}

static void put_spots(struct str *s, const struct diagnosed_kernel *k) {
    for (int i = 0; i < k->n_spots && i < SPOTS_SHOWN; i++) {
        const struct diagnosed_spot *p = &k->spots[i];
        str_printf(s, "  %-9s %.0f%% of the waiting at ", i == 0 ? "where" : "", 100 * p->share);
        if (p->file) {
            const char *slash = strrchr(p->file, '/');
            str_printf(s, "%s:%d, ", slash ? slash + 1 : p->file, p->line);
        }
        str_printf(s, "%s%s0x%llx: %s\n", p->code ? p->code : "", p->code ? " at " : "",
                   (unsigned long long)p->pc, p->reason);
    }
}

void diagnosis_absent(struct diagnosis *d, const char *what) {
    if (d->n_absent < DIAGNOSIS_ABSENT_MAX)
        d->absent[d->n_absent++] = what;
}

void diagnosis_put(struct arena *a, struct str *s, const struct diagnosis *d) {
    put_first(s, d);
    put_findings(a, s, d->findings, d->n_findings);
    for (int i = 0; i < d->n_kernels; i++) {
        const struct diagnosed_kernel *k = &d->kernels[i];
        str_printf(s, "\n%s\n", k->name);
        put_launch(a, s, k);
        if (k->measured.kind != CLASS_UNKNOWN)
            str_printf(s, "  class     %s\n", class_text(a, &k->measured));
        put_roofline(a, s, &d->target, k);
        put_spots(s, k);
        put_findings(a, s, k->findings, k->n_findings);
        if (k->n_findings == 0)
            str_puts(s, "  findings  none\n");
    }
    if (d->n_left_out > 0)
        str_printf(s, "\n%d more kernel%s; --top 0 shows all\n", d->n_left_out,
                   d->n_left_out == 1 ? "" : "s");
    str_puts(s, "\n");
    for (int i = 0; i < d->n_absent; i++)
        str_printf(s, "absent: %s\n", d->absent[i]);
}

// ---- for programs

static json_t *findings_to_json(const struct finding *found, int n) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, finding_to_json(&found[i]));
    return array;
}

static json_t *spots_to_json(const struct diagnosed_kernel *k) {
    json_t *array = json_array();
    for (int i = 0; i < k->n_spots; i++) {
        const struct diagnosed_spot *p = &k->spots[i];
        json_array_append_new(array,
                              json_pack("{s:I, s:o, s:o, s:i, s:f, s:s}", "pc", (json_int_t)p->pc,
                                        "code", p->code ? json_string(p->code) : json_null(),
                                        "file", p->file ? json_optional_text(p->file) : json_null(),
                                        "line", p->line, "share", p->share, "reason", p->reason));
    }
    return array;
}

static json_t *metrics_to_json(const struct metrics *m) {
    json_t *object = json_object();
    for (int i = 0; i < METRIC_COUNT; i++)
        if (metrics_has(m, (enum metric_id)i))
            json_object_set_new(object, metric_table[i].name, json_real(m->value[i]));
    return object;
}

static json_t *kernel_to_json(const struct diagnosed_kernel *k) {
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "name", json_optional_text(k->name), "share",
        json_optional_real(k->share), "class", class_name(k->measured.kind), "part",
        json_optional_text(class_part_name(k->measured.part)), "busy",
        json_optional_real(k->measured.busy), "metrics", metrics_to_json(&k->launch->metrics),
        "findings", findings_to_json(k->findings, k->n_findings), "spots", spots_to_json(k));
}

json_t *diagnosis_first_to_json(const struct diagnosis *d) {
    const struct diagnosis_first *f = &d->first;
    if (!f->finding)
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:f}", "tool", f->finding->tool, "severity",
                     severity_name(f->finding->severity), "kernel",
                     f->kernel ? json_optional_text(f->kernel) : json_null(), "gain", f->gain);
}

json_t *diagnosis_to_json(const struct diagnosis *d) {
    json_t *kernels = json_array();
    for (int i = 0; i < d->n_kernels; i++)
        json_array_append_new(kernels, kernel_to_json(&d->kernels[i]));
    json_t *absent = json_array();
    for (int i = 0; i < d->n_absent; i++)
        json_array_append_new(absent, json_optional_text(d->absent[i]));
    return json_pack("{s:s, s:s, s:o, s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "schema",
                     "hone.diagnosis/1", "what", d->what, "device", json_optional_text(d->device),
                     "target", d->target.name, "launches", d->n_launches, "left_out", d->n_left_out,
                     "first", diagnosis_first_to_json(d), "findings",
                     findings_to_json(d->findings, d->n_findings), "kernels", kernels, "absent",
                     absent, "call", metrics_to_json(&d->profile.call));
}
