#include "fibre.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "scratch.h"

// Take the next line off `text`, without its newline.
static const char *next_line(struct arena *a, const char **text) {
    size_t len = strcspn(*text, "\n");
    const char *line = arena_strndup(a, *text, len);
    *text += len + ((*text)[len] == '\n');
    return line;
}

// What stands in `name(...)` on a line, or NULL.
static const char *clause(struct arena *a, const char *line, const char *name) {
    const char *at = strstr(line, arena_printf(a, " %s(", name));
    if (!at)
        return NULL;
    at += strlen(name) + 2;
    int depth = 1;
    size_t len = 0;
    for (; at[len] && depth > 0; len++)
        depth += (at[len] == '(') - (at[len] == ')');
    return arena_strndup(a, at, len - 1);
}

struct writer {
    struct arena *arena;
    struct fibre_program *program;
    struct str text, tail, buffers, steps;
    const char *names[FIBRE_BUFFERS_MAX];
    int n_names, n_steps;
};

static int find_name(const struct writer *w, const char *name, size_t len) {
    for (int i = 0; i < w->n_names; i++)
        if (strlen(w->names[i]) == len && strncmp(w->names[i], name, len) == 0)
            return i;
    cr_assert(false, "the plan names a buffer that is not there: %.*s", (int)len, name);
    return -1;
}

// #pragma hone scratch NAME f32[a, b]
static void scratch_line(struct writer *w, const char *line) {
    const char *name = line + strlen("#pragma hone scratch "), *shape = strchr(name, '[') + 1;
    size_t len = strcspn(name, " ");
    w->names[w->n_names++] = arena_strndup(w->arena, name, len);
    str_printf(&w->buffers, "    {\"%.*s\", HONE_SCRATCH, 1L", (int)len, name);
    for (; *shape && *shape != ']'; shape += strcspn(shape, ",]"), shape += *shape == ',')
        str_printf(&w->buffers, " * (%.*s)", (int)strcspn(shape, ",]"), shape);
    str_puts(&w->buffers, "},\n");
}

// #pragma hone launch NAME grid(e) block(e) [shared(e)] args(...)
static void launch_line(struct writer *w, const char *line) {
    const char *name = line + strlen("#pragma hone launch ");
    int len = (int)strcspn(name, " "), n_args = 0;
    const char *args = clause(w->arena, line, "args"), *shared = clause(w->arena, line, "shared");
    str_printf(&w->tail, "static void hone_run_%d(float *const *arg) {\n    %.*s(", w->n_steps, len,
               name);
    str_printf(&w->steps, "    {\"%.*s\", hone_run_%d, %s, %s, %s, {", len, name, w->n_steps,
               clause(w->arena, line, "grid"), clause(w->arena, line, "block"),
               shared ? shared : "0");
    for (; *args; args += strspn(args, ", "), n_args++) {
        size_t word = strcspn(args, ",");
        str_printf(&w->tail, "%sarg[%d]", n_args ? ", " : "", n_args);
        str_printf(&w->steps, "%d, ", find_name(w, args, word));
        args += word;
    }
    str_puts(&w->tail, ");\n}\n");
    str_printf(&w->steps, "}, %d},\n", n_args);
    w->n_steps++;
}

static int add_mutant(struct writer *w, const char *line) {
    cr_assert_lt(w->program->n_mutants, FIBRE_MUTANTS_MAX);
    w->program->mutant[w->program->n_mutants++] = line + strspn(line, " ");
    return w->program->n_mutants;
}

// Copy a line; a barrier, wait or guard in it becomes one that a mutant leaves out.
static void copy_line(struct writer *w, const char *line) {
    const char *word = line + strspn(line, " ");
    int indent = (int)(word - line);
    size_t len = strlen(line);
    bool stops = strncmp(word, "hone_barrier();", 15) == 0 ||
                 strncmp(word, "hone_async_wait(", 16) == 0 ||
                 strncmp(word, "hone_async_commit();", 20) == 0;
    if (stops) {
        str_printf(&w->text, "%*sif (hone_mutant != %d) %s\n", indent, "", add_mutant(w, line),
                   word);
    } else if (strncmp(word, "if (", 4) == 0 && strcmp(line + len - 3, ") {") == 0) {
        str_printf(&w->text, "%*sif (hone_mutant == %d || (%.*s)) {\n", indent, "",
                   add_mutant(w, line), (int)strlen(word + 4) - 3, word + 4);
    } else {
        str_printf(&w->text, "%s\n", line);
    }
}

static void write_text(struct arena *a, const char *dir, const char *name, const char *text,
                       size_t len) {
    struct error err = {0};
    cr_assert(file_write(arena_printf(a, "%s/%s", dir, name), text, len, &err), "%s", err.text);
}

static void write_inputs(struct arena *a, const char *dir, const struct fibre_buffer *buffers,
                         int n_buffers) {
    struct str bytes = {0};
    for (int i = 0; i < n_buffers; i++)
        if (buffers[i].data)
            str_append(&bytes, (const char *)buffers[i].data,
                       sizeof(float) * (size_t)buffers[i].count);
    write_text(a, dir, "inputs", bytes.len ? bytes.ptr : "", bytes.len);
    str_reset(&bytes);
}

static void compile(struct arena *a, const char *cc, const struct fibre_program *p) {
    struct error err = {0};
    // Variables that are never written read as something that shows.
    const char *argv[] = {file_find_program(a, cc),
                          "-std=gnu17",
                          "-O1",
                          "-w",
                          "-ffp-contract=off",
                          "-ftrivial-auto-var-init=pattern",
                          "-DHONE_DEV_CPU",
                          "-I",
                          p->dir,
                          "-o",
                          arena_printf(a, "%s/program", p->dir),
                          arena_printf(a, "%s/program.c", p->dir),
                          "-lm",
                          NULL};
    cr_assert_not_null(argv[0], "no %s here", cc);
    struct process_spec spec = {.argv = argv, .timeout_ns = 60000000000};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    cr_assert(r.exit_status == 0, "%s", r.err);
}

void fibre_build(struct arena *a, const char *cc, const char *source,
                 const struct fibre_buffer *buffers, int n_buffers, struct fibre_program *p) {
    struct writer w = {.arena = a, .program = p};
    *p = (struct fibre_program){.dir = scratch_make(a)};
    for (int i = 0; i < n_buffers; i++) {
        w.names[w.n_names++] = buffers[i].name;
        str_printf(&w.buffers, "    {\"%s\", %s, %lld},\n", buffers[i].name,
                   buffers[i].data ? "HONE_IN" : "HONE_OUT", (long long)buffers[i].count);
        p->n_outputs_floats += buffers[i].data ? 0 : buffers[i].count;
    }
    str_puts(&w.text, "#include \"fibre_main.h\"\n");
    while (*source) {
        const char *line = next_line(a, &source);
        if (strncmp(line, "#pragma hone scratch ", 21) == 0)
            scratch_line(&w, line);
        else if (strncmp(line, "#pragma hone launch ", 20) == 0)
            launch_line(&w, line);
        copy_line(&w, line);
    }
    str_printf(&w.text, "%sint main(int argc, char **argv) {\n    (void)argc;\n",
               str_text(&w.tail));
    str_printf(&w.text, "    static const struct hone_buffer buffers[] = {\n%s    };\n",
               str_text(&w.buffers));
    str_printf(&w.text, "    static const struct hone_step steps[] = {\n%s    };\n",
               str_text(&w.steps));
    str_printf(&w.text, "    return hone_fibre_main(argv, buffers, %d, steps, %d);\n}\n", w.n_names,
               w.n_steps);
    write_text(a, p->dir, "program.c", w.text.ptr, w.text.len);
    write_text(a, p->dir, "dev.h", embedded_text("dev.h"), strlen(embedded_text("dev.h")));
    write_text(a, p->dir, "dev_cpu.h", embedded_text("dev_cpu.h"),
               strlen(embedded_text("dev_cpu.h")));
    struct error err = {0};
    size_t len;
    const char *main_text = file_read(a, "tests/tools/fibre_main.h", 1 << 20, &len, &err);
    cr_assert_not_null(main_text, "%s", err.text);
    write_text(a, p->dir, "fibre_main.h", main_text, len);
    write_inputs(a, p->dir, buffers, n_buffers);
    str_reset(&w.text), str_reset(&w.tail), str_reset(&w.buffers), str_reset(&w.steps);
    compile(a, cc, p);
}

bool fibre_run(struct arena *a, const struct fibre_program *p, uint64_t seed, int mutant,
               float **outputs, const char **fault) {
    struct error err = {0};
    const char *out = arena_printf(a, "%s/outputs", p->dir);
    const char *argv[] = {arena_printf(a, "%s/program", p->dir),
                          arena_printf(a, "%s/inputs", p->dir),
                          out,
                          arena_printf(a, "%llu", (unsigned long long)seed),
                          arena_printf(a, "%d", mutant),
                          NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = 30000000000};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    *fault = r.signal ? arena_printf(a, "signal %d", r.signal) : r.err;
    if (r.exit_status != 0)
        return false;
    size_t len, want = sizeof(float) * (size_t)p->n_outputs_floats;
    *outputs = (float *)file_read(a, out, want, &len, &err);
    cr_assert(*outputs && len == want, "%s", err.text);
    return true;
}

void fibre_remove(const struct fibre_program *p) {
    scratch_remove(p->dir);
}
