// Which file is what, the target that it is about, then the tools over each kernel.
#include "ops/op_diagnose.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "ops/plugins.h"
#include "profile/cubin.h"
#include "profile/import.h"
#include "profile/injected.h"
#include "profile/sass.h"
#include "profile/source.h"

enum { FILE_MAX = 1 << 30 };
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
    bool is_hone = import_is_hone(bytes, len);
    if (r->has_profile && (is_hone || import_is_ncu(bytes, len)))
        return error_set(err, ERROR_USAGE, "%s: a second profile; give one", path);
    r->has_profile = true;
    return (is_hone ? import_hone(r->a, bytes, len, p, err)
                    : import_ncu(r->a, bytes, len, p, err)) ||
           error_wrap(err, "%s", path);
}

// ---- whose code it is

static void add_code(struct reading *r, struct diagnosis *d) {
    for (int i = 0; i < d->profile.n_launches; i++)
        for (int c = 0; c < r->n_codes; c++)
            for (int k = 0; k < r->codes[c].n_kernels; k++) {
                const struct sass_kernel *code = &r->codes[c].kernels[k];
                if (diagnosis_is_code_of(r->a, d->profile.launches[i].name, code->name))
                    sass_metrics(code, &d->profile.launches[i].metrics);
            }
}

// Cubins alone: every kernel is one of unknown shape.
static void list_code(struct reading *r, struct diagnosis *d) {
    for (int c = 0; c < r->n_codes; c++)
        for (int k = 0; k < r->codes[c].n_kernels; k++) {
            const struct sass_kernel *code = &r->codes[c].kernels[k];
            const char *name = program_demangle(r->a, code->name);
            sass_metrics(code, &profile_add_launch(r->a, &d->profile, name)->metrics);
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
    diagnosis_find_target(d, capability, r->profile.sms);
    return true;
}

// What of a table was left out, since it was cut off or changed by hand.
static void note_left_out(struct reading *r, struct diagnosis *d) {
    const struct imported *p = &r->profile;
    struct str s = {0};
    if (p->n_cut > 0)
        diagnosis_absent(d, arena_printf(r->a, "%d row%s: cut off, the file is not whole", p->n_cut,
                                         p->n_cut == 1 ? "" : "s"));
    if (p->n_wrong == 0)
        return;
    str_printf(&s, "%d value%s out of range: ", p->n_wrong, p->n_wrong == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof p->wrong / sizeof p->wrong[0] && p->wrong[i]; i++)
        str_printf(&s, "%s%s", i > 0 ? ", " : "", p->wrong[i]);
    diagnosis_absent(d, str_take(r->a, &s));
}

// What the files did not say, and what would.
static void note_absent(struct reading *r, struct diagnosis *d) {
    note_left_out(r, d);
    if (!d->has_counters)
        diagnosis_absent(d, "hardware counters; ncu --csv --page raw --set full prints them");
    if (!d->has_code)
        diagnosis_absent(d, r->n_codes > 0
                                ? "machine code: the cubin has no kernel of the profile's"
                                : "machine code; name the cubin as well");
    if (!d->has_times)
        diagnosis_absent(d, "times, so that all kernels look alike; a profile has them");
}

bool op_diagnose(struct arena *a, const struct diagnose_request *q, struct diagnosis *out,
                 struct error *err) {
    struct reading r = {.a = a};
    struct plugins plugins;
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
    diagnosis_examine(a, q->top, out);
    if (r.profile.n_more > 0)
        out->n_left_out += r.profile.n_more - 1;
    plugins_find(a, q->tool, &plugins);
    plugins_run(a, &plugins, out);
    diagnosis_rank(out);
    note_absent(&r, out);
    return true;
}

const char *op_diagnose_text(struct arena *a, const struct diagnosis *d) {
    struct str s = {0};
    int n = d->n_kernels + d->n_left_out;
    str_printf(&s, "%s: ", d->what);
    if (d->n_launches > 0)
        str_printf(&s, "%d launch%s of ", d->n_launches, d->n_launches == 1 ? "" : "es");
    str_printf(&s, "%d kernel%s on %s\n", n, n == 1 ? "" : "s",
               d->device ? d->device : d->target.device);
    diagnosis_put(a, &s, d);
    return str_take(a, &s);
}
