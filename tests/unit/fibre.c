#include "fibre.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/str.h"
#include "dev_headers.h"
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

// Buffers that the text moves vectors from or to are aligned, as those of a device are.
static int alignment(struct writer *w, const char *source, const char *name) {
    static const char *const moves[] = {"hone_load", "hone_store", "hone_stream", "hone_async"};
    const char *what = arena_printf(w->arena, "(&%s[", name);
    for (const char *at = strstr(source, what); at; at = strstr(at + 1, what)) {
        const char *word = at;
        while (word > source && strchr("_abcdefghijklmnopqrstuvwxyz0123456789", word[-1]))
            word--;
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
            if (strncmp(word, moves[i], strlen(moves[i])) == 0)
                return 16;
    }
    return 1;
}

// #pragma hone scratch NAME TYPE[a, b]
static void scratch_line(struct writer *w, const char *line) {
    const char *name = line + strlen("#pragma hone scratch "), *shape = strchr(name, '[') + 1;
    size_t len = strcspn(name, " ");
    const char *type_name = name + len + 1;
    enum dtype type;
    bool known = dtype_find(arena_strndup(w->arena, type_name, strcspn(type_name, "[")), &type);
    cr_assert(known, "%s", line);
    w->names[w->n_names++] = arena_strndup(w->arena, name, len);
    str_printf(&w->buffers, "    {\"%.*s\", %s, 1L", (int)len, name,
               strstr(line, "] = 0") ? "HONE_ZEROED" : "HONE_SCRATCH");
    for (; *shape && *shape != ']'; shape += strcspn(shape, ",]"), shape += *shape == ',')
        str_printf(&w->buffers, " * (%.*s)", (int)strcspn(shape, ",]"), shape);
    str_printf(&w->buffers, ", %d, %d},\n", dtype_infos[type].bits,
               alignment(w, w->now->source, w->names[w->n_names - 1]));
}

// #pragma hone tensormap NAME = BUFFER dims(...) strides(...) box(...) [swizzle(n)]
static void map_line(struct writer *w, const char *line) {
    const char *name = line + strlen("#pragma hone tensormap "), *of = strstr(line, " = ") + 3;
    const char *strides = clause(w->arena, line, "strides"), *at = clause(w->arena, line, "dims");
    const char *swizzle = clause(w->arena, line, "swizzle");
    size_t len = strcspn(name, " ");
    int rank = 1;
    for (; *at; at++)
        rank += *at == ',';
    int buffer = find_name(w, of, strcspn(of, " "));
    w->names[w->n_names++] = arena_strndup(w->arena, name, len);
    str_printf(
        &w->buffers,
        "    {\"%.*s\", HONE_MAPPED, 0, 0, 1, %d, {NULL, %d, 0, %s, {%s}, {0, %s}, {%s}}},\n",
        (int)len, name, buffer, rank, swizzle ? swizzle : "0", clause(w->arena, line, "dims"),
        strides ? strides : "0", clause(w->arena, line, "box"));
}

// #pragma hone launch NAME grid(e) block(e) [shared(e)] [cluster(e) | cooperative] [programmatic]
//     args(...)
static void launch_line(struct writer *w, const char *line) {
    const char *name = line + strlen("#pragma hone launch ");
    int len = (int)strcspn(name, " "), n_args = 0;
    const char *args = clause(w->arena, line, "args"), *shared = clause(w->arena, line, "shared");
    str_printf(&w->tail, "static void hone_run_%d_%d(void *const *arg) {\n    %.*s(", w->number,
               w->n_steps, len, name);
    const char *grid = clause(w->arena, line, "grid");
    const char *together = clause(w->arena, line, "cluster");
    together = strstr(line, " cooperative ") ? grid : together ? together : "1";
    str_printf(&w->steps, "    {\"%.*s\", hone_run_%d_%d, %s, %s, %s, %s, %d, {", len, name,
               w->number, w->n_steps, grid, clause(w->arena, line, "block"), shared ? shared : "0",
               together, strstr(line, " programmatic ") != NULL);
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

static int add_mutant(struct writer *w, enum fibre_kind kind, const char *what) {
    struct fibre_text *t = w->now;
    cr_assert_lt(t->n_mutants, FIBRE_MUTANTS_MAX);
    t->mutants[t->n_mutants++] = (struct fibre_mutant){kind, what};
    return t->n_mutants;
}

static bool starts_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

// Where `what` stands in the text outside of all parentheses, or NULL.
static const char *find_outside(const char *text, const char *what) {
    int depth = 0;
    for (; *text; text++) {
        if (depth == 0 && starts_with(text, what))
            return text;
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
    }
    return NULL;
}

static const char *with_switches(struct writer *w, const char *text);

// `X < Y ? X : Y` or `X > Y ? X : Y` as one of which X or Y alone is left by a mutant, or NULL.
// Values are never printed like that: their minimum is a function, and a `where` has its condition
// computed before.
static const char *switch_minimum(struct writer *w, const char *text) {
    const char *less = find_outside(text, " < "), *then = find_outside(text, " ? ");
    const char *otherwise = then ? find_outside(then + 3, " : ") : NULL;
    less = less ? less : find_outside(text, " > ");
    if (!less || !otherwise || less > then)
        return NULL;
    const char *x = arena_strndup(w->arena, text, (size_t)(less - text));
    const char *y = arena_strndup(w->arena, less + 3, (size_t)(then - less - 3));
    bool is_smaller = starts_with(then + 3, x) && then + 3 + strlen(x) == otherwise &&
                      strcmp(otherwise + 3, y) == 0;
    if (!is_smaller)
        return NULL;
    int m = add_mutant(w, FIBRE_MINIMUM, arena_printf(w->arena, "%s of %s", y, text));
    add_mutant(w, FIBRE_MINIMUM, arena_printf(w->arena, "%s of %s", x, text));
    x = with_switches(w, x);
    y = with_switches(w, y);
    return arena_printf(w->arena,
                        "hone_mutant == %d ? %s : hone_mutant == %d ? %s : %s %c %s ? %s : %s", m,
                        x, m + 1, y, x, less[1], y, x, y);
}

// A whole number, as sizes and offsets of indices are printed; those of values have a suffix.
static bool is_number(const char *text) {
    text += *text == '-';
    return *text && text[strspn(text, "0123456789")] == '\0';
}

// Is it a comparison of an index with a number?
static bool is_condition(struct writer *w, const char *text) {
    static const char *const signs[] = {" <= ", " < ", " == ", " != "};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *at = find_outside(text, signs[i]);
        if (at)
            return is_number(arena_strndup(w->arena, text, (size_t)(at - text))) ||
                   is_number(at + strlen(signs[i]));
    }
    return false;
}

// Conditions that must hold together, each of which a mutant takes for granted.
static const char *switch_conditions(struct writer *w, const char *text) {
    const char *both = find_outside(text, " & ");
    const char *end = *text == '(' ? find_outside(text + 1, ")") : NULL;
    if (both)
        return arena_printf(
            w->arena, "%s & %s",
            switch_conditions(w, arena_strndup(w->arena, text, (size_t)(both - text))),
            switch_conditions(w, both + 3));
    if (end && end[1] == '\0')
        return arena_printf(
            w->arena, "(%s)",
            switch_conditions(w, arena_strndup(w->arena, text + 1, strlen(text) - 2)));
    if (!is_condition(w, text))
        return with_switches(w, text);
    int m = add_mutant(w, FIBRE_MASK, text);
    return arena_printf(w->arena, "(hone_mutant == %d || (%s))", m, with_switches(w, text));
}

// `CONDITIONS ? X : Y`, or NULL.
static const char *switch_mask(struct writer *w, const char *text) {
    const char *then = find_outside(text, " ? ");
    if (!then)
        return NULL;
    const char *mask = arena_strndup(w->arena, text, (size_t)(then - text));
    mask = switch_conditions(w, mask);
    return arena_printf(w->arena, "%s%s", mask, with_switches(w, then));
}

// The text, and whatever is the smaller of two indices in it as something that a mutant changes.
static const char *with_switches(struct writer *w, const char *text) {
    struct str out = {0};
    while (*text) {
        const char *end = *text == '(' ? find_outside(text + 1, ")") : NULL;
        if (end) {
            const char *inner = arena_strndup(w->arena, text + 1, (size_t)(end - text - 1));
            const char *changed = switch_minimum(w, inner);
            changed = changed ? changed : switch_mask(w, inner);
            str_printf(&out, "(%s)", changed ? changed : with_switches(w, inner));
            text = end + 1;
        } else {
            str_append(&out, text++, 1);
        }
    }
    return str_take(w->arena, &out);
}

static bool is_order(const char *word) {
    static const char *const names[] = {
        "hone_barrier(",      "hone_async_wait(", "hone_async_commit(",    "hone_mbarrier_",
        "hone_bulk_stored(",  "hone_warp_sync(",  "hone_wgmma_fence(",     "hone_fence_writes(",
        "hone_wgmma_commit(", "hone_wgmma_wait(", "hone_cluster_barrier(", "hone_group_barrier(",
        "hone_turn_",         "hone_launch_wait("};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts_with(word, names[i]))
            return true;
    return false;
}

// Copy a line; a barrier, wait or guard in it becomes one that a mutant leaves out.
static void copy_line(struct writer *w, const char *line) {
    const char *word = line + strspn(line, " ");
    int indent = (int)(word - line);
    size_t len = strlen(line);
    if (starts_with(word, "#") || starts_with(word, "//")) {
        str_printf(&w->text, "%s\n", line);
    } else if (is_order(word)) {
        str_printf(&w->text, "%*sif (hone_mutant != %d) %s\n", indent, "",
                   add_mutant(w, FIBRE_BARRIER, word), word);
    } else if (starts_with(word, "if (") && strcmp(line + len - 3, ") {") == 0) {
        const char *condition = arena_strndup(w->arena, word + 4, strlen(word + 4) - 3);
        int m = add_mutant(w, FIBRE_GUARD, word);
        str_printf(&w->text, "%*sif (hone_mutant == %d || (%s)) {\n", indent, "", m,
                   with_switches(w, condition));
    } else {
        str_printf(&w->text, "%s", with_switches(w, line));
        // Threads take turns in loops too; in every other run, since it takes its time.
        bool is_loop = starts_with(word, "for (") && line[len - 1] == '{';
        str_puts(&w->text, is_loop ? " if (hone_yields) hone_dev_yield(__LINE__);\n" : "\n");
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
            str_append(&bytes, t->buffers[i].data,
                       (size_t)dtype_size(t->buffers[i].dtype, t->buffers[i].count));
    write_text(a, p->dir, arena_printf(a, "inputs%d", number), bytes.len ? bytes.ptr : "",
               bytes.len);
    str_reset(&bytes);
}

static void compile(struct arena *a, const char *cc, const struct fibre_program *p) {
    struct error err = {0};
    // Variables that are never written read as something that shows.
    const char *argv[] = {file_find_program(a, cc),
                          "-std=gnu17",
                          "-O0",
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
        str_printf(&w->buffers, "    {\"%s\", %s, %lld, %d, %d},\n", t->buffers[i].name,
                   t->buffers[i].data ? "HONE_IN" : "HONE_OUT", (long long)t->buffers[i].count,
                   dtype_infos[t->buffers[i].dtype].bits,
                   alignment(w, t->source, t->buffers[i].name));
    }
    for (const char *source = t->source; *source;) {
        const char *line = next_line(w->arena, &source);
        if (strncmp(line, "#pragma hone scratch ", 21) == 0)
            scratch_line(w, line);
        else if (strncmp(line, "#pragma hone tensormap ", 23) == 0)
            map_line(w, line);
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
    const struct dev_headers h = dev_headers();
    for (int i = 0; i < h.n; i++)
        write_text(a, p->dir, h.names[i], h.texts[i], strlen(h.texts[i]));
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
        if (!t->buffers[i].data)
            want += (size_t)dtype_size(t->buffers[i].dtype, t->buffers[i].count);
    *outputs = (float *)file_read(a, out, want, &len, &err);
    cr_assert(*outputs && len == want, "%s", err.text);
    return true;
}

void fibre_remove(const struct fibre_program *p) {
    scratch_remove(p->dir);
}
