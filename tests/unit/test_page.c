#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "report/page.h"

static const char bound_text[] =
    "{\"schema\": \"hone.bound/1\", \"work\": {\"bytes_read\": 1e6, \"bytes_written\": 1e6, "
    "\"flops\": 1e6, \"contract_flops\": 0.0}, \"limit\": {\"seconds\": 1e-4, \"memory_s\": 1e-4, "
    "\"compute_s\": 1e-5}, \"reach\": {\"seconds\": 5e-4, \"fixed_s\": 1e-6, \"memory_s\": "
    "4.99e-4, \"compute_s\": 1e-5}, \"side\": \"memory\"}";

// What a model, a compiler or a file's name may hold.
static const char hostile[] = "<script>alert(\"1\")</script> & 'x' \xf0\x9f\x94\xa5 \x01 \xff";

static struct search_node node_of(int number, int parent) {
    return (struct search_node){
        .number = number,
        .parent = parent,
        .state = number % 3 == 2 ? NODE_SCREENED : NODE_EVALUATED,
        .move = number ? hostile : "",
        .reason = hostile,
        .tool = hostile,
        .expected = NAN,
        .gain = NAN,
        .candidate = {.source =
                          "// <b>\nint main(void) { return 1 < 2 && \"for\\\"<\"; } /* a\nb */\n",
                      .kernel = number % 2 ? "kernel for p on cpu\nstage y : map  vec 16  rows 4\n"
                                           : "kernel for p on cpu\nstage y : map  vec 8  rows 4\n",
                      .label = hostile,
                      .hash = "h"},
        .verdict = {.kind = number % 7 == 3 ? VERDICT_WRONG : VERDICT_OK, .evidence = hostile},
        .measurement = {.present = true,
                        .baseline = "default",
                        .n_pairs = 9,
                        .median_s = 1e-3,
                        .baseline_median_s = 2e-3,
                        .speedup = 2,
                        .speedup_low = 1.9,
                        .speedup_high = 2.1,
                        .confidence = 0.99},
        .screening = {.present = true, .speedup = 0.8, .time_s = 2e-3},
        .findings = {{.tool = hostile,
                      .cause = hostile,
                      .evidence = hostile,
                      .expected_gain = 1.5,
                      .n_actions = 1,
                      .actions = {{.words = hostile}}}},
        .n_findings = number < 300,
        .time_s = 1e-3,
    };
}

// A run of so many nodes; each third one is a child of the root, the others on the one before.
static struct run_view view_of(struct search_node *nodes, int n_nodes, int champion) {
    for (int i = 0; i < n_nodes; i++)
        nodes[i] = node_of(i, i % 3 ? i - 1 : i ? 0 : -1);
    struct run_view v = {.nodes = nodes, .n_nodes = n_nodes, .store = hostile};
    v.run = (struct run){.id = 7,
                         .state = RUN_DONE,
                         .problem_name = hostile,
                         .problem_text = hostile,
                         .target = "cpu",
                         .device = hostile,
                         .policy = "mcts",
                         .proposer = "expert",
                         .bound = bound_text,
                         .started_at = "2026",
                         .version = "0.1",
                         .champion = champion};
    if (champion >= 0) {
        v.run.confirm_verdict = nodes[champion].verdict;
        v.run.confirm = nodes[champion].measurement;
        v.run.confirm.baseline = hostile;
        v.run.confirm.method = hostile;
    }
    return v;
}

// Every mark is closed in order, every attribute quoted, and every '&' begins an entity: what an
// XML parser would ask for.
static void expect_well_formed(const char *page) {
    static const char *open[400];
    static size_t lengths[400];
    int depth = 0;
    cr_assert_eq(strncmp(page, "<!DOCTYPE html>", 15), 0);
    for (const char *p = page + 15; *p;) {
        if (*p == '&')
            cr_assert(strncmp(p, "&lt;", 4) == 0 || strncmp(p, "&gt;", 4) == 0 ||
                          strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&quot;", 6) == 0 ||
                          strncmp(p, "&#39;", 5) == 0,
                      "%.40s", p);
        cr_assert(*p == '\n' || *p == '\t' || (unsigned char)*p >= ' ', "%d", *p);
        if (*p != '<') {
            p++;
            continue;
        }
        bool is_end = p[1] == '/';
        const char *name = p + 1 + is_end;
        size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
        cr_assert_gt(len, 0, "%.40s", p);
        const char *end = name + len;
        for (bool in_quotes = false; *end && (in_quotes || *end != '>'); end++) {
            in_quotes ^= *end == '"';
            cr_assert_neq(*end, '<', "%.60s", p);
        }
        cr_assert_eq(*end, '>');
        if (is_end) {
            cr_assert_gt(depth, 0);
            depth--;
            cr_assert(len == lengths[depth] && strncmp(name, open[depth], len) == 0,
                      "%.40s closes %.40s", p, open[depth]);
        } else if (end[-1] != '/') {
            cr_assert_lt(depth, 400);
            open[depth] = name;
            lengths[depth++] = len;
        }
        p = end + 1;
    }
    cr_assert_eq(depth, 0);
}

// One file, no network: references lead to its own nodes only, and no text became a mark.
static void expect_closed(const char *page) {
    cr_assert_null(strstr(page, "<script>alert"));
    cr_assert_null(strstr(page, "src="));
    cr_assert_null(strstr(page, "url("));
    cr_assert_null(strstr(page, "@import"));
    cr_assert_null(strstr(page, "://"));
    for (const char *p = page; (p = strstr(p, "href=")) != NULL; p++)
        cr_assert(strncmp(p, "href=\"#n", 8) == 0 || strncmp(p, "href=\"run-", 10) == 0, "%.40s",
                  p);
    cr_assert_eq(str_valid_utf8(page, strlen(page)), strlen(page));
}

static size_t check_page(int n_nodes, int champion, const char *words) {
    struct search_node *nodes = calloc((size_t)n_nodes + 1, sizeof *nodes);
    struct run_view v = view_of(nodes, n_nodes, champion);
    struct str page = {0};
    report_page(&page, &v, hostile);
    expect_well_formed(page.ptr);
    expect_closed(page.ptr);
    cr_assert(strstr(page.ptr, words), "no '%s'", words);
    size_t len = page.len;
    str_reset(&page);
    free(nodes);
    return len;
}

Test(page, is_one_closed_well_formed_file) {
    check_page(40, 4, "The way to the champion");
    check_page(1, 0, "where the search began");
    check_page(1, -1, "No champion has been confirmed");
    check_page(0, -1, "No champion has been confirmed");
    check_page(2, -1, "Every candidate");
}

Test(page, an_index_leads_to_every_run) {
    static struct search_node nodes[5];
    struct run_view views[2] = {view_of(nodes, 5, 1), view_of(nodes, 5, -1)};
    struct str page = {0};
    views[1].run.id = 6;
    report_index(&page, views, 2);
    expect_well_formed(page.ptr);
    expect_closed(page.ptr);
    cr_assert(strstr(page.ptr, "href=\"run-7.html\"") && strstr(page.ptr, "href=\"run-6.html\""));
    cr_assert(strstr(page.ptr, "<td data-v=\"2\">2.00x over "));
    page.len = 0;
    report_index(&page, NULL, 0);
    expect_well_formed(page.ptr);
    str_reset(&page);
}

Test(page, has_its_charts_and_what_changed) {
    check_page(40, 4, "<svg viewBox");
    check_page(40, 4, "class=\"roof\"");
    check_page(40, 4, "class=\"best\"");
    check_page(40, 4, "vec <del>8</del>  <ins>16</ins>  rows");
    check_page(40, 4, "<a href=\"#n4\"><circle class=\"champion\"");
    check_page(40, 4,
               "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; "
               "\xf0\x9f\x94\xa5 ? ?");
}

// A number whose interval holds 1 is not shown as a gain.
Test(page, an_open_result_is_no_gain) {
    struct search_node nodes[41] = {0};
    struct run_view v = view_of(nodes, 40, 4);
    struct str page = {0};
    v.run.confirm.baseline = "plain";
    report_page(&page, &v, hostile);
    cr_expect(strstr(page.ptr, "<div class=\"cards\">") && strstr(page.ptr, "faster than plain;"));
    str_reset(&page);
    v.run.confirm.speedup_low = 0.5;
    report_page(&page, &v, hostile);
    cr_expect(strstr(page.ptr, "<div class=\"cards unresolved\">"));
    cr_expect(strstr(page.ptr, "over plain: not resolved; 0.50 to"));
    str_reset(&page);
}

// A loop's turns, and what stands in it: the exponential in the longest one is hottest.
static const char two_launches[] = "#define N 1024\n"                            // 1
                                   "void first(long block, const float *x) {\n"  // 2
                                   "    for (long row = block * 8; row < block * 8 + 8; row++) {\n"
                                   "        for (long j = 0; j < N; j += 8) {\n"
                                   "            a += hone_exp8(x[j]);\n"  // 5
                                   "        }\n"
                                   "        b = a + 1;\n"  // 7
                                   "    }\n"
                                   "}\n"
                                   "void second(long block, const float *x) {\n"
                                   "    for (int i = 0; i < unknown; i++)\n"
                                   "        y[i] = x[i];\n"  // 12
                                   "    z = 1; // + + + + + + + + + +\n"
                                   "}\n";

Test(page, marks_the_lines_that_have_the_time) {
    struct arena a = {0};
    struct profile p = {0};
    int n;
    double *one = page_hot_lines(two_launches, &p, &n), all = 0;
    cr_assert_eq(n, 14);
    for (int i = 0; i < n; i++)
        all += one[i];
    cr_expect_float_eq(all, 1, 1e-9, "nobody told of launches: the text is one");
    cr_expect_gt(one[4], 0.8);
    free(one);
    metrics_set(&profile_add_launch(&a, &p, "first")->metrics, METRIC_TIME, 1e-3);
    metrics_set(&profile_add_launch(&a, &p, "second")->metrics, METRIC_TIME, 3e-3);
    double *two = page_hot_lines(two_launches, &p, &n);
    double first = 0, second = 0;
    for (int i = 0; i < n; i++)
        *(i < 9 ? &first : &second) += two[i];
    cr_expect_float_eq(first, 0.25, 1e-9, "%g", first);
    cr_expect_float_eq(second, 0.75, 1e-9, "%g", second);
    cr_expect(two[4] > 100 * two[6] && two[6] > 0, "1024 turns of 8 rows and one of 8");
    cr_expect(two[11] > two[12] && two[12] == 0, "a comment costs nothing");
    free(two);
    // Samples are better than any estimate; a launch has the time that was measured.
    struct profile_line lines[] = {{"first", 7, 30, "waiting"},
                                   {"first", 5, 10, NULL},
                                   {"second", 12, 500, NULL},
                                   {"second", 99, 0, NULL}};
    p.lines = lines;
    p.n_lines = 4;
    double *sampled = page_hot_lines(two_launches, &p, &n);
    cr_expect_float_eq(sampled[6], 0.25 * 0.75, 1e-9);
    cr_expect_float_eq(sampled[4], 0.25 * 0.25, 1e-9);
    cr_expect_float_eq(sampled[11], 0.75, 1e-9);
    cr_expect_eq(sampled[2], 0);
    free(sampled);
    p.n_lines = 0;
    free(page_hot_lines(NULL, &p, &n));
    cr_expect_eq(n, 0);
    free(page_hot_lines("for (;;) { }}}} ((\n#define\n#define X\nfor (i = 0; i < ", NULL, &n));
    arena_reset(&a);
}

// Its chart of the search is of all of it.
Test(page, what_it_shows_of_a_large_run_is_spread_over_it) {
    enum { N = 40000, PARTS = 8 };
    struct search_node *nodes = calloc(N, sizeof *nodes);
    struct run_view v = view_of(nodes, N, 5);
    int n_left_out, n = 0, parts[PARTS] = {0};
    bool *is_shown = page_choose(&v, &n_left_out);
    for (int i = 0; i < N; i++)
        if (is_shown[i]) {
            parts[i / (N / PARTS)]++;
            n++;
        }
    cr_expect(is_shown[5] && n + n_left_out == N);
    cr_expect(n > PAGE_NODES_MAX * 9 / 10 && n <= PAGE_NODES_MAX, "%d", n);
    for (int i = 0; i < PARTS; i++)
        cr_expect_gt(parts[i], n / PARTS / 2, "part %d: %d of %d", i, parts[i], n);
    free(is_shown);
    v.n_nodes = 100;
    is_shown = page_choose(&v, &n_left_out);
    cr_expect_eq(n_left_out, 0);
    free(is_shown);
    free(nodes);
}

Test(page, stays_small_however_many_nodes_there_are) {
    cr_assert_lt(check_page(1000, 4, "node 4"), 2000000);
    cr_assert_lt(check_page(100000, 99999 - 2, "more nodes are in the store"), 4000000);
}

Test(page, a_long_difference_leaves_out_what_is_the_same) {
    struct str before = {0}, after = {0}, out = {0};
    for (int i = 0; i < 60; i++) {
        str_printf(&before, "line %d\n", i);
        str_printf(&after, i == 30 ? "other\n" : "line %d\n", i);
    }
    page_diff(&out, before.ptr, after.ptr, true);
    cr_assert(strstr(out.ptr, "<em>… 27 lines\n</em>line 27\nline 28\nline 29\n"
                              "<del>line 30</del>\n<ins>other</ins>\nline 31"),
              "%s", out.ptr);
    str_reset(&before);
    str_reset(&after);
    str_reset(&out);
}
