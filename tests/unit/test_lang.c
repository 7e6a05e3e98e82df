#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "base/str.h"
#include "parsed.h"

static const char *diagnosed(struct arena *a, const char *text, size_t len, struct error *err) {
    struct lang_source source = {.file = "f.hone", .text = text, .len = len};
    struct lang_file file;
    const char *diagnostics;
    *err = (struct error){0};
    cr_assert_not(lang_parse(a, &source, &file, &diagnostics, err));
    cr_assert_eq(err->kind, ERROR_PARSE);
    return diagnostics;
}

static const char *rejected(struct arena *a, const char *text) {
    struct error err;
    return diagnosed(a, text, strlen(text), &err);
}

static const char *formatted(struct arena *a, const char *text) {
    struct lang_source source = {.file = "f.hone", .text = text, .len = strlen(text)};
    const char *out, *diagnostics;
    struct error err = {0};
    cr_assert(lang_format(a, &source, &out, &diagnostics, &err), "%s", err.text);
    return out;
}

Test(lang, shows_place_line_caret_and_hint) {
    struct arena a = {0};
    cr_assert_str_eq(rejected(&a, "problem p\nin x : f32[4]\nout y : f32[4]\n  y = softmx(x)\n"),
                     "f.hone:4:7: no function is named 'softmx'\n"
                     "      y = softmx(x)\n"
                     "          ^\n"
                     "    did you mean 'softmax'?\n");
    arena_reset(&a);
}

Test(lang, keeps_the_caret_in_place_beside_tabs_and_beyond_ascii) {
    struct arena a = {0};
    cr_assert_str_eq(rejected(&a, "problem p\n\ty\t= $ # \xc3\xa9\x01\xff\n"),
                     "f.hone:2:6: this character means nothing here\n"
                     "     y = $ # \xc3\xa9??\n"
                     "         ^\n");
    arena_reset(&a);
}

Test(lang, cuts_a_long_line_around_the_caret) {
    struct arena a = {0};
    struct str text = {0};
    str_puts(&text, "problem p\nin x : f32[4]\nout y : f32[4]\ny = x");
    for (int i = 0; i < 100; i++)
        str_puts(&text, " + x");
    str_puts(&text, " $ x\n");
    const char *report = rejected(&a, str_text(&text));
    const char *line = strchr(report, '\n') + 1, *caret = strchr(line, '\n') + 1;
    cr_assert_eq(strncmp(line, "    ...", 7), 0);
    cr_assert_lt(caret - line, 120);
    cr_assert_eq(line[strchr(caret, '^') - caret], '$');
    str_reset(&text);
    arena_reset(&a);
}

Test(lang, counts_mistakes_in_the_summary) {
    struct arena a = {0};
    struct error err;
    const char *one = "problem p\nin x : f32[4]\nout y : f32[4]\ny = z\n";
    diagnosed(&a, one, strlen(one), &err);
    cr_assert_str_eq(err.text, "f.hone:4:5: nothing is named 'z'");
    const char *two = "problem p\nin x : f33[4]\nout y : f33[4]\n";
    diagnosed(&a, two, strlen(two), &err);
    cr_assert_str_eq(err.text, "2 mistakes in f.hone");
    arena_reset(&a);
}

Test(lang, names_inner_values_after_the_outer_one) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\n"
                                         "in x : f32[4, 8]\n"
                                         "out y : f32[4, 8]\n"
                                         "y = softmax(x) * gelu(x) + softmax(x + 1)\n");
    static const char *const names[] = {"t.1", "t.1.max", "t.1.exp", "t.1.sum", "t.2",
                                        "t.3", "t.4",     "t.5",     "t.5.max", "y"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_geq(graph_find(&p->graph, names[i]), 0, "%s", names[i]);
    const struct node *max = &p->graph.nodes[graph_find(&p->graph, "t.1.max")];
    cr_assert_str_eq(max->composite, "softmax");
    cr_assert_eq(max->at.line, 4);
    cr_assert_eq(max->at.column, 5);
    cr_assert_not(max->is_named);
    arena_reset(&a);
}

Test(lang, applies_sizes_from_outside_before_anything_depends_on_them) {
    struct arena a = {0};
    const char *text =
        "problem p\ndim M = 4, N = 2 * M\nin x : f32[M, N]\nout y : f32[M, N]\ny = x\n";
    struct dim_override overrides[] = {{"M", 6}};
    struct lang_source source = {.file = "f", .text = text, .len = strlen(text)};
    source.overrides = overrides;
    source.n_overrides = 1;
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err));
    cr_assert_eq(file.problems[0]->graph.dims[1].size, 12);
    cr_assert(strstr(file.problems[0]->text, "dim M = 6, N = 12\n"));

    overrides[0] = (struct dim_override){"M", 0};
    cr_assert_not(lang_parse(&a, &source, &file, &diagnostics, &err));
    cr_assert(strstr(err.text, "'M' was set to 0 from outside"));
    arena_reset(&a);
}

Test(lang, gives_one_text_to_one_problem) {
    struct arena a = {0};
    const char *one =
        parsed(&a, "problem p\ndim M = 4\nin x : f32[M]\nout y : f32[M]\ny = x*1.50\n")->text;
    const char *two = parsed(&a, "# c\nproblem   p\nin x : f32[4*1]~normal( 0,1)\ndim M=2+2 # d\n"
                                 "out y:f32[M]\ny = (x\n* 1.5)\n")
                          ->text;
    cr_assert_str_eq(one, "problem p\n"
                          "dim M = 4\n"
                          "in  x : f32[M] ~ normal\n"
                          "out y : f32[M]\n"
                          "y = x * 1.5\n");
    cr_assert_str_neq(one, two);  // a size written out stays written out
    two = parsed(&a, "# c\nproblem   p\ndim M=2+2 # d\nin x : f32[M]~normal( 0,1)\n"
                     "out y:f32[M]\ny = (x\n* 1.5)\n")
              ->text;
    cr_assert_str_eq(one, two);
    arena_reset(&a);
}

Test(lang, reads_kernel_blocks) {
    struct arena a = {0};
    struct lang_file file = parsed_file(&a, "kernel for p on cpu\n"
                                            "stage t.1, y.max : rowwise vec 16 tile 4x8x2 store "
                                            "stream\nstage y : map\n");
    cr_assert_eq(file.n_kernels, 1);
    struct kernel *k = file.kernels[0];
    cr_assert_str_eq(k->problem, "p");
    cr_assert_str_eq(k->target, "cpu");
    cr_assert_eq(k->n_stages, 2);
    struct kernel_stage *s = k->stages[0];
    cr_assert_str_eq(s->values[0], "t.1");
    cr_assert_str_eq(s->values[1], "y.max");
    cr_assert_str_eq(s->family, "rowwise");
    cr_assert_eq(s->at.line, 2);
    cr_assert_eq(s->family_at.column, 20);
    cr_assert_eq(kernel_find_knob(s, "vec")->part[0], 16);
    cr_assert_eq(kernel_find_knob(s, "tile")->n_parts, 3);
    cr_assert_eq(kernel_find_knob(s, "tile")->part[1], 8);
    cr_assert_str_eq(kernel_find_knob(s, "store")->word, "stream");
    cr_assert_null(kernel_find_knob(s, "rows"));
    const char *text = kernel_print(&a, k);
    cr_assert_str_eq(text, "kernel for p on cpu\n"
                           "stage t.1, y.max : rowwise  vec 16  tile 4x8x2  store stream\n"
                           "stage y          : map\n");
    cr_assert_str_eq(kernel_print(&a, parsed_file(&a, text).kernels[0]), text);
    arena_reset(&a);
}

Test(lang, formats) {
    struct arena a = {0};
    cr_assert_str_eq(formatted(&a,
                               "\n\n# head\nproblem p # c\n\n\n\ndim M=4 ,N = 2*(M+1)\n"
                               "in x:f32[M,N]\nparam weight : f32[ N]~normal(0,0.20)#d\n"
                               "out y:f32[M]\nt=-( x+ ( x-x )) .T\n  # e\ny = (x\n"
                               "# inside\n+ ( 1*2 )*3 - (4/(5*6)))\nkernel for p on cpu\n"
                               "stage y:map vec 4 store  stream\nstage t.1 : rowwise vec 4\n\n"),
                     "# head\n"
                     "problem p  # c\n"
                     "\n"
                     "dim M = 4, N = 2 * (M + 1)\n"
                     "in    x      : f32[M, N]\n"
                     "param weight : f32[N] ~ normal(0, 0.20)  #d\n"
                     "out   y      : f32[M]\n"
                     "t = -(x + (x - x)).T\n"
                     "# e\n"
                     "# inside\n"
                     "y = x + 1 * 2 * 3 - 4 / (5 * 6)\n"
                     "\n"
                     "kernel for p on cpu\n"
                     "stage y   : map      vec 4  store stream\n"
                     "stage t.1 : rowwise  vec 4\n");
    cr_assert_str_eq(formatted(&a, ""), "");
    cr_assert_str_eq(formatted(&a, "# only\n"), "# only\n");
    arena_reset(&a);
}

// Formatting and the canonical text keep the graph, over every file that is accepted.
static void check_file_properties(const char *path) {
    struct arena a = {0};
    struct error err = {0};
    size_t len;
    const char *text = file_read(&a, path, 1 << 20, &len, &err);
    cr_assert(text, "%s", err.text);
    struct lang_file before = parsed_file(&a, text);
    const char *once = formatted(&a, text);
    cr_assert_str_eq(once, formatted(&a, once), "%s", path);
    struct lang_file after = parsed_file(&a, once);
    cr_assert_eq(before.n_problems, after.n_problems);
    for (int i = 0; i < before.n_problems; i++) {
        const struct problem *p = before.problems[i], *q = after.problems[i];
        cr_assert_str_eq(graph_print(&a, &p->graph), graph_print(&a, &q->graph), "%s", path);
        cr_assert_str_eq(p->text, q->text, "%s", path);
        const struct problem *again = parsed(&a, p->text);
        cr_assert_str_eq(graph_print(&a, &p->graph), graph_print(&a, &again->graph), "%s", path);
        cr_assert_str_eq(p->text, again->text, "%s", path);
    }
    arena_reset(&a);
}

Test(lang, formatting_and_text_keep_the_graph_of_every_accepted_file) {
    glob_t found;
    int status = glob("tests/lang/accept/*.hone", 0, NULL, &found);
    if (status == GLOB_NOMATCH)
        cr_skip_test("not run from the root of the repository");
    cr_assert_eq(status, 0);
    cr_assert_eq(glob("problems/*.hone", GLOB_APPEND, NULL, &found), 0);
    cr_assert_gt(found.gl_pathc, 8);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file_properties(found.gl_pathv[i]);
    globfree(&found);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// A chain of n statements, each using the one before.
static double seconds_for(int n) {
    struct arena a = {0};
    struct str text = {0};
    str_puts(&text, "problem p\nin x0 : f32[4]\nout y : f32[4]\n");
    for (int i = 1; i <= n; i++)
        str_printf(&text, "x%d = exp(x%d)\n", i, i - 1);
    str_printf(&text, "y = x%d\n", n);
    double start = cpu_seconds();
    parsed(&a, str_text(&text));
    double seconds = cpu_seconds() - start;
    str_reset(&text);
    arena_reset(&a);
    return seconds;
}

// Quadratic time would make it 16 times, whenever it is looked at. What other work on the machine
// adds comes and goes: the shortest of some looks count, until they are enough.
Test(lang, takes_linear_time) {
    double few = seconds_for(5000), many = seconds_for(20000);
    for (int i = 0; i < 50 && many > 10 * few; i++)
        many = fmin(many, seconds_for(20000));
    cr_assert_lt(many, 10 * few);
}

Test(lang, limits_the_size_of_a_problem_and_a_file) {
    struct arena a = {0};
    struct error err;
    struct str text = {0};
    str_puts(&text, "problem p\nin x : f32[4]\nout y : f32[4]\n");
    for (int i = 1; i < 300000; i++)
        str_printf(&text, "x%d = x\n", i);
    const char *report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "more than 1048576 words"), "%.300s", report);
    str_reset(&text);

    str_puts(&text, "problem p\nin x : f32[4]\nout y : f32[4]\n");
    for (int i = 1; i < 90000; i++)
        str_printf(&text, "x%d=x*3\n", i);
    report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "at most 262144 operations"), "%.300s", report);
    str_reset(&text);

    for (int i = 0; i < 60000; i++)
        str_puts(&text, "y = x + 1\n");
    report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "a file begins with"));
    str_reset(&text);

    for (int i = 0; i <= 1000; i++)
        str_printf(&text, "kernel for p on cpu\nstage y : map\n");
    report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "at most 1000 blocks"));
    str_reset(&text);
    arena_reset(&a);
}

Test(lang, limits_lines_and_comments) {
    struct arena a = {0};
    struct error err;
    struct str text = {0};
    str_puts(&text, "problem p\n");
    for (int i = 0; i < 600000; i++)
        str_puts(&text, " ");
    str_puts(&text, "y = 1\nz = q\n");
    const char *report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "f.hone:2:1: this line is too long"));
    cr_assert(strstr(report, "f.hone:3:5: nothing is named 'q'"));
    str_reset(&text);
    str_puts(&text, "problem p # ");
    for (int i = 0; i < 70000; i++)
        str_puts(&text, "c");
    report = diagnosed(&a, str_text(&text), text.len, &err);
    cr_assert(strstr(report, "f.hone:1:11: this comment is too long"));
    str_reset(&text);
    arena_reset(&a);
}

Test(lang, lists_its_functions) {
    bool has_softmax = false;
    for (const char *const *f = lang_function_names(); *f; f++) {
        has_softmax |= strcmp(*f, "softmax") == 0;
        // Each of them can be called: the message is about arguments, not about the name.
        struct arena a = {0};
        const char *text = arena_printf(&a, "problem p\nout y : f32[4]\ny = %s()\n", *f);
        const char *report = rejected(&a, text);
        cr_assert(strstr(report, "() takes ") || strstr(report, "() needs "), "%s", *f);
        arena_reset(&a);
    }
    cr_assert(has_softmax);
}
