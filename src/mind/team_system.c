// The system's part of a prompt: the role's instructions, the page of the language with the
// families of the target, the contract of source and how the judge judges. The same for every
// call of a run, so that providers can keep it in a cache.
#include <stdio.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "family/family.h"
#include "mind/team_private.h"

enum { PROMPT_MAX = 1 << 20 };

static const char *prompt_file(struct arena *a, const struct team_settings *s, const char *name) {
    struct error ignored = {0};
    const char *path =
        s->prompts && *s->prompts ? arena_printf(a, "%s/%s", s->prompts, name) : NULL;
    const char *text =
        path && file_exists(path) ? file_read(a, path, PROMPT_MAX, NULL, &ignored) : NULL;
    return text ? text : embedded_text(name);
}

static void put_knob(struct str *out, const struct knob *k) {
    str_printf(out, "  - `%s`: %s;", k->name, k->summary);
    for (int i = 0; k->words && k->words[i]; i++)
        str_printf(out, " %s", k->words[i]);
    for (int part = 0; !k->words && part < k->n_parts; part++) {
        str_puts(out, part > 0 ? " x" : "");
        for (int i = 0; k->grid[part][i] != -1; i++)
            str_printf(out, " %d", k->grid[part][i]);
    }
    str_puts(out, "\n");
}

static void put_families(struct str *out, const struct target *t) {
    for (const struct family *f = families; f->name; f++) {
        bool has_many = family_count_emitters(f, t) > 1;
        for (int i = 0; f->emitters[i]; i++) {
            const struct emitter *e = f->emitters[i];
            if (!e->runs_on(t) || family_has(f, FAMILY_NAMED_ONLY) || e->is_named_only)
                continue;
            str_printf(out, "- **%s%s%s**: %s\n", f->name, has_many ? " as " : "",
                       has_many ? e->name : "", e->summary);
            for (const struct knob *k = e->knobs; k->name; k++)
                put_knob(out, k);
        }
    }
}

const char *window_system(struct arena *a, const struct team_settings *s, const struct brief *b,
                          enum role role) {
    struct str out = {0};
    str_puts(&out, prompt_file(a, s, arena_printf(a, "%s.txt", role_names[role])));
    str_puts(&out, "\n");
    str_puts(&out, prompt_file(a, s, "kernel_page.txt"));
    put_families(&out, b->target);
    str_puts(&out, "\n");
    str_puts(&out, prompt_file(a, s, b->target->is_gpu ? "source_cuda.txt" : "source_c.txt"));
    str_puts(&out, "\n");
    str_puts(&out, prompt_file(a, s, "judge.txt"));
    return str_take(a, &out);
}
