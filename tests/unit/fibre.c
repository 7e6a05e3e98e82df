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
    struct fibre_text *now;
    int number;             // of the text
    struct str out;         // the whole program
    struct str text, head;  // of this text: itself, and macros that make its names its own
    struct str tail, undo;  // functions that call its kernels, and the end of its macros
    struct str buffers, steps;
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
    str_printf(&w->tail, "static void hone_run_%d_%d(float *const *arg) {\n    %.*s(", w->number,
               w->n_steps, len, name);
    str_printf(&w->steps, "    {\"%.*s\", hone_run_%d_%d, %s, %s, %s, {", len, name, w->number,
               w->n_steps, clause(w->arena, line, "grid"), clause(w->arena, line, "block"),
               shared ? shared : "0");
    for (; *args; args += strspn(args, ", "), n_args++) {
        size_t word = strcspn(args, ",");
        str_printf(&w->tail, "%sarg[%d]", n_args ? ", " : "", n_args);
        str_printf(&w->steps, "%d, ", find_name(w, args, word));
        args += word;
    }
    str_puts(&w->tail, ");\n}\n");
    str_printf(&w->steps, "}, %d},\n", n_args);
    str_printf(&w->head, "#define %.*s %.*s_%d\n", len, name, len, name, w->number);
    str_printf(&w->undo, "#undef %.*s\n", len, name);
    w->n_steps++;
}

static int add_mutant(struct writer *w, const char *line) {
    cr_assert_lt(w->now->n_mutants, FIBRE_MUTANTS_MAX);
    w->now->mutant[w->now->n_mutants++] = line + strspn(line, " ");
    return w->now->n_mutants;
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

static void write_inputs(struct arena *a, const struct fibre_program *p, int number) {
    struct str bytes = {0};
    const struct fibre_text *t = &p->texts[number];
    for (int i = 0; i < t->n_buffers; i++)
        if (t->buffers[i].data)
            str_append(&bytes, (const char *)t->buffers[i].data,
                       sizeof(float) * (size_t)t->buffers[i].count);
    write_text(a, p->dir, arena_printf(a, "inputs%d", number), bytes.len ? bytes.ptr : "",
               bytes.len);
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
    struct process_spec spec = {.argv = argv, .timeout_ns = 600000000000};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    cr_assert(r.exit_status == 0, "%s", r.err);
}

static void add_text(struct writer *w, struct fibre_text *t, int number) {
    w->now = t;
    w->number = number;
    w->n_names = w->n_steps = t->n_mutants = 0;
    for (int i = 0; i < t->n_buffers; i++) {
        w->names[w->n_names++] = t->buffers[i].name;
        str_printf(&w->buffers, "    {\"%s\", %s, %lld},\n", t->buffers[i].name,
                   t->buffers[i].data ? "HONE_IN" : "HONE_OUT", (long long)t->buffers[i].count);
    }
    for (const char *source = t->source; *source;) {
        const char *line = next_line(w->arena, &source);
        if (strncmp(line, "#pragma hone scratch ", 21) == 0)
            scratch_line(w, line);
        else if (strncmp(line, "#pragma hone launch ", 20) == 0)
            launch_line(w, line);
        else if (strncmp(line, "#define ", 8) == 0)
            str_printf(&w->undo, "#undef %.*s\n", (int)strcspn(line + 8, " "), line + 8);
        copy_line(w, line);
    }
    // Faults name lines of the text as it was emitted.
    str_printf(&w->out, "%s#line 1\n%s%s", str_text(&w->head), str_text(&w->text),
               str_text(&w->tail));
    str_printf(&w->out, "static int hone_main_%d(char **argv) {\n", number);
    str_printf(&w->out, "    static const struct hone_buffer buffers[] = {\n%s    };\n",
               str_text(&w->buffers));
    str_printf(&w->out, "    static const struct hone_step steps[] = {\n%s    };\n",
               str_text(&w->steps));
    str_printf(&w->out, "    return hone_fibre_main(argv, buffers, %d, steps, %d);\n}\n%s",
               w->n_names, w->n_steps, str_text(&w->undo));
    struct str *all[] = {&w->text, &w->head, &w->tail, &w->undo, &w->buffers, &w->steps};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        str_reset(all[i]);
}

static void copy_header(struct arena *a, const struct fibre_program *p, const char *name) {
    write_text(a, p->dir, name, embedded_text(name), strlen(embedded_text(name)));
}

void fibre_build(struct arena *a, const char *cc, struct fibre_program *p) {
    struct writer w = {.arena = a};
    struct error err = {0};
    size_t len;
    p->dir = scratch_make(a);
    str_puts(&w.out, "#include \"fibre_main.h\"\n");
    for (int i = 0; i < p->n_texts; i++) {
        add_text(&w, &p->texts[i], i);
        write_inputs(a, p, i);
    }
    str_puts(&w.out, "int main(int argc, char **argv) {\n"
                     "    static int (*const texts[])(char **) = {");
    for (int i = 0; i < p->n_texts; i++)
        str_printf(&w.out, "hone_main_%d, ", i);
    str_puts(&w.out, "};\n    return argc > 5 ? texts[strtol(argv[5], NULL, 10)](argv) : 2;\n}\n");
    write_text(a, p->dir, "program.c", w.out.ptr, w.out.len);
    str_reset(&w.out);
    copy_header(a, p, "dev.h");
    copy_header(a, p, "dev_cpu.h");
    const char *main_text = file_read(a, "tests/tools/fibre_main.h", 1 << 20, &len, &err);
    cr_assert_not_null(main_text, "%s", err.text);
    write_text(a, p->dir, "fibre_main.h", main_text, len);
    compile(a, cc, p);
}

bool fibre_run(struct arena *a, const struct fibre_program *p, struct fibre_run run,
               float **outputs, const char **fault) {
    struct error err = {0};
    const struct fibre_text *t = &p->texts[run.text];
    const char *out = arena_printf(a, "%s/outputs", p->dir);
    const char *argv[] = {arena_printf(a, "%s/program", p->dir),
                          arena_printf(a, "%s/inputs%d", p->dir, run.text),
                          out,
                          arena_printf(a, "%llu", (unsigned long long)run.seed),
                          arena_printf(a, "%d", run.mutant),
                          arena_printf(a, "%d", run.text),
                          NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = 600000000000};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    *fault = r.signal ? arena_printf(a, "signal %d", r.signal) : r.err;
    if (r.exit_status != 0)
        return false;
    size_t len, want = 0;
    for (int i = 0; i < t->n_buffers; i++)
        want += t->buffers[i].data ? 0 : sizeof(float) * (size_t)t->buffers[i].count;
    *outputs = (float *)file_read(a, out, want, &len, &err);
    cr_assert(*outputs && len == want, "%s", err.text);
    return true;
}

void fibre_remove(const struct fibre_program *p) {
    scratch_remove(p->dir);
}
