#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "report/report.h"
#include "report/report_live.h"
#include "report/report_private.h"

static struct arena a;

static const char bound_text[] =
    "{\"schema\": \"hone.bound/1\", \"work\": {\"bytes_read\": 1e6, \"bytes_written\": 1e6, "
    "\"flops\": 1e6, \"contract_flops\": 0.0}, \"limit\": {\"seconds\": 1e-4, \"memory_s\": 1e-4, "
    "\"compute_s\": 1e-5}, \"reach\": {\"seconds\": 5e-4, \"fixed_s\": 1e-6, \"memory_s\": "
    "4.99e-4, "
    "\"compute_s\": 1e-5}, \"side\": \"memory\"}";

static double samples[2] = {1e-3, 2e-3};

static struct search_node sample_node(int number, int parent, double time_s) {
    return (struct search_node){
        .number = number,
        .parent = parent,
        .state = NODE_EVALUATED,
        .move = number ? "y: vec 8 -> 16" : "",
        .reason = "reach: memory-bound, at 25% of what this machine reaches; load and store wider "
                  "vectors than before, which is a long reason that has to be wrapped",
        .candidate = {.tier = TIER_K,
                      .source = "int source;\n",
                      .kernel = "kernel for p on cpu\nstage y : map  vec 16\n",
                      .label = "l",
                      .hash = "h"},
        .verdict = {.kind = VERDICT_OK,
                    .evidence = "",
                    .error = {.rms = 0.5, .max = 2, .limit_rms = 2, .limit_max = 8}},
        .measurement = {.present = true,
                        .baseline = "default",
                        .n_pairs = 1,
                        .subject_s = samples,
                        .baseline_s = samples + 1,
                        .median_s = time_s,
                        .baseline_median_s = 2e-3,
                        .speedup = 2e-3 / time_s,
                        .speedup_low = 1.9e-3 / time_s,
                        .speedup_high = 2.1e-3 / time_s,
                        .confidence = 0.99,
                        .method = "table"},
        .time_s = time_s,
    };
}

static struct run_view sample_view(void) {
    static struct search_node nodes[4];
    nodes[0] = sample_node(0, -1, 2e-3);
    nodes[1] = sample_node(1, 0, 1e-3);
    nodes[1].tool = "narrow";
    nodes[1].expected = 1.5;
    nodes[1].gain = 2;
    nodes[2] = sample_node(2, 1, NAN);
    nodes[2].verdict.kind = VERDICT_NO_COMPILE;
    nodes[2].measurement.present = false;
    nodes[3] = sample_node(3, 0, NAN);
    nodes[3].state = NODE_PROPOSED;
    nodes[1].findings[0] = (struct finding){.tool = "reach",
                                            .severity = SEVERITY_HIGH,
                                            .cause = "memory-bound",
                                            .evidence = "numbers",
                                            .expected_gain = 2,
                                            .confidence = 0.9,
                                            .n_actions = 1,
                                            .actions = {{.words = "try harder"}}};
    nodes[1].n_findings = 1;
    return (struct run_view){
        .run = {.id = 7,
                .state = RUN_DONE,
                .problem_name = "p",
                .problem_text = "problem p\n",
                .problem_hash = "h",
                .target = "cpu",
                .device = "a CPU",
                .policy = "mcts",
                .proposer = "expert",
                .max_seconds = 600,
                .until = 0.95,
                .bound = bound_text,
                .started_at = "2026-01-01T00:00:00Z",
                .stop_reason = "plateau",
                .version = "0.1",
                .n_nodes = 4,
                .champion = 1,
                .baseline = {.label = "plain", .source = "s", .hash = "h"},
                .confirm_verdict = nodes[1].verdict,
                .confirm = {.present = true,
                            .baseline = "plain",
                            .n_pairs = 1,
                            .subject_s = samples,
                            .baseline_s = samples + 1,
                            .median_s = 1e-3,
                            .baseline_median_s = 3e-3,
                            .speedup = 3,
                            .speedup_low = 2.9,
                            .speedup_high = 3.1,
                            .confidence = 0.99,
                            .method = "table"}},
        .nodes = nodes,
        .n_nodes = 4,
        .store = "s.db",
    };
}

static void expect_in(const struct str *text, const char *words) {
    cr_assert(strstr(str_text(text), words), "no '%s' in:\n%s", words, str_text(text));
}

static void expect_narrow(const struct str *text) {
    for (const char *line = str_text(text); *line;) {
        size_t len = strcspn(line, "\n");
        cr_assert_leq(len, 80, "%.*s", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

Test(report, says_champion_baseline_interval_and_reach) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_result(&out, &v);
    expect_in(&out, "champion  7.1: 1 ms, 3.00x over plain (2.90 to 3.10, 99% interval)\n");
    expect_in(&out, "50% of reach; confirmed on fresh data");
    expect_in(&out, "stopped   plateau: no significant gain in 16 evaluations, six screened ones");
    expect_in(&out, "hone export 7 -o p-kernel");
    expect_narrow(&out);
    str_reset(&out);
}

// A speed-up whose interval holds 1 is no speed-up, wherever it is told.
Test(report, says_where_a_speedup_is_not_resolved) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_runs(&out, &v, 1);
    cr_expect_null(strstr(str_text(&out), "?"), "%s", str_text(&out));
    v.run.confirm.speedup_low = 0.3;
    report_result(&out, &v);
    report_runs(&out, &v, 1);
    report_run(&out, &v);
    expect_in(&out, "3.00x over plain (not resolved: 0.30 to 3.10, 99% interval)\n");
    expect_in(&out, "3.00x over plain?");
    expect_in(&out, "note      that the champion is faster than the baseline is not resolved");
    expect_in(&out, "?: not resolved, the interval holds 1");
    expect_in(&out,
              "Node 7.1 takes 1 ms. Whether that is faster than plain (3 ms) is not resolved:");
    expect_in(&out, "What it does otherwise");
    cr_expect_null(strstr(str_text(&out), "times faster"), "%s", str_text(&out));
    str_reset(&out);
}

Test(report, says_that_the_machine_was_another_when_it_confirmed) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_result(&out, &v);
    cr_expect_null(strstr(str_text(&out), "note "), "%s", str_text(&out));
    v.run.confirm.median_s = 2e-3;
    report_result(&out, &v);
    expect_in(&out, "note      the champion took 1 ms when it was judged, and 2 ms when it was\n"
                    "          confirmed: other work had the machine in between.");
    expect_narrow(&out);
    str_reset(&out);
}

// What was not verified never stands among what was.
Test(report, says_what_was_not_judged_for_want_of_time) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.max_seconds = 40;
    v.run.stop_reason = "seconds";
    v.nodes[3].state = NODE_PROPOSED;
    report_result(&out, &v);
    expect_in(&out, "1 that was proposed was not judged, as the time was over;");
    expect_in(&out, "--seconds 120");
    str_reset(&out);
    v.nodes[3].state = NODE_EVALUATED;
    report_result(&out, &v);
    cr_expect_null(strstr(str_text(&out), "not judged"));
    str_reset(&out);
}

Test(report, shows_what_was_only_screened_apart) {
    struct run_view v = sample_view();
    v.nodes[3].state = NODE_SCREENED;
    v.nodes[3].screening = (struct screening){.present = true,
                                              .against = "default",
                                              .n_rounds = 1,
                                              .n_pairs = 2,
                                              .speedup = 0.5,
                                              .time_s = 4e-3};
    struct str out = {0};
    report_tree(&out, &v);
    const char *apart = strstr(str_text(&out), "\nscreened: lost a race, timed roughly");
    cr_assert(apart, "%s", str_text(&out));
    cr_expect(
        strstr(apart,
               "  node  from         fastest  move\n     3  0               4 ms  y: vec 8 -> 16"),
        "%s", apart);
    cr_expect(strstr(apart, "about 0.50x over default by 2 pairs, 1 round\n"), "%s", apart);
    cr_expect_not(strstr(apart, "\n  2"), "judged ones stand before: %s", apart);
    expect_narrow(&out);
    str_reset(&out);
    // Those that had no turn are one line.
    v.nodes[2].state = NODE_SCREENED;
    v.nodes[2].screening = v.nodes[3].screening;
    v.nodes[2].screening.is_untimed = v.nodes[3].screening.is_untimed = true;
    report_tree(&out, &v);
    cr_expect(
        strstr(str_text(&out), "\nnot timed: the race was over before the turn of 2: 2 to 3\n"),
        "%s", str_text(&out));
    cr_expect_not(strstr(str_text(&out), "\nscreened: "));
    str_reset(&out);
    v = sample_view();
    v.nodes[3].state = NODE_SCREENED;
    v.nodes[3].screening = (struct screening){.present = true,
                                              .against = "default",
                                              .n_rounds = 1,
                                              .n_pairs = 2,
                                              .speedup = 0.5,
                                              .time_s = 4e-3};
    report_result(&out, &v);
    expect_in(&out, "1 more screened,");
    str_reset(&out);
    report_node(&out, &v, 3, false);
    expect_in(&out, "verdict   none: it lost a race and was not verified");
    str_reset(&out);
    report_run(&out, &v);
    expect_in(&out, "  screened           1 more: lost a race");
    str_reset(&out);
    json_t *json = report_result_json(&v);
    cr_expect_eq(json_integer_value(json_object_get(json, "evals")), 3);
    cr_expect_eq(json_integer_value(json_object_get(json, "screened")), 1);
    json_decref(json);
}

Test(report, says_that_and_why_a_speedup_is_unknown) {
    struct run_view v = sample_view();
    v.run.speedup_unknown =
        "the baseline 'plain' cannot be timed: timeout: a call took more than 2 s";
    v.run.confirm.speedup = v.run.confirm.speedup_low = v.run.confirm.speedup_high = NAN;
    struct str out = {0};
    report_result(&out, &v);
    report_run(&out, &v);
    report_runs(&out, &v, 1);
    const char *text = str_take(&a, &out);
    cr_expect(strstr(text, "speed-up unknown: the baseline 'plain'"), "%s", text);
    cr_expect(strstr(text, "Its speed-up is unknown"), "%s", text);
    cr_expect(strstr(text, " unknown "), "%s", text);
    cr_expect_not(strstr(text, "nan"), "%s", text);
    json_t *json = report_result_json(&v);
    cr_expect(json_is_null(json_object_get(json, "speedup")));
    cr_expect_str_eq(json_string_value(json_object_get(json, "speedup_unknown")),
                     v.run.speedup_unknown);
    cr_expect(json_is_object(json_object_get(json, "champion")));
    json_decref(json);
    json = run_to_json(&v.run);
    struct run back;
    struct error err = {0};
    cr_assert(run_from_json(&a, json, &back, &err), "%s", err.text);
    cr_expect_str_eq(back.speedup_unknown, v.run.speedup_unknown);
    cr_expect(back.confirm.present && isnan(back.confirm.speedup));
    json_decref(json);
}

Test(report, offers_export_of_a_gpu_kernel_too) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.target = "cuda:0";
    report_result(&out, &v);
    expect_in(&out, "next      hone export 7 -o p-kernel\n");
    str_reset(&out);
}

Test(report, without_a_champion_says_so_and_how_to_go_on) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.champion = -1;
    v.run.confirm.present = false;
    report_result(&out, &v);
    expect_in(&out, "champion  none");
    str_reset(&out);
    v.run.state = RUN_INTERRUPTED;
    v.run.stop_reason = "interrupted";
    report_result(&out, &v);
    expect_in(&out, "hone optimize --resume 7");
    expect_in(&out, "hone export 7 -o p-kernel: the fastest so far, not confirmed");
    str_reset(&out);
    v.n_nodes = 0;
    report_result(&out, &v);
    cr_assert_null(strstr(str_text(&out), "hone export"));
    str_reset(&out);
}

Test(report, shows_the_tree_indented_with_the_champion_marked) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_tree(&out, &v);
    expect_in(&out, "\n0 ");
    expect_in(&out, "\n  1* ");
    expect_in(&out, "\n    2                no-compile");
    expect_in(&out, "\n  3                  proposed");
    str_reset(&out);
}

Test(report, shows_what_a_model_expected_beside_what_came_of_it) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_tree(&out, &v);
    cr_assert_null(strstr(str_text(&out), "expected"), "nobody expected anything");
    str_reset(&out);
    struct search_node *nodes = (struct search_node *)v.nodes;
    nodes[1].by = nodes[2].by = "team";
    nodes[1].expected = 3.2;
    nodes[2].expected = 5;
    nodes[0].time_s = 2e-3;
    nodes[1].time_s = 1e-3;
    nodes[2].time_s = NAN;
    report_tree(&out, &v);
    expect_in(&out, "\nexpected  measured  over the node that it was proposed for\n");
    expect_in(&out, "   3.20x     2.00x  1 over 0\n");
    expect_in(&out, "   5.00x         -  2 over 1: no-compile\n");
    expect_narrow(&out);
    str_reset(&out);
}

// One that excludes 1 and says little else is told as what it is.
Test(report, says_that_a_resolved_interval_is_wide) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.confirm.speedup_low = 1.17;
    v.run.confirm.speedup_high = 2000;
    report_result(&out, &v);
    report_run(&out, &v);
    report_page(&out, &v, NULL);
    expect_in(&out, "plain (1.17 to 2000.00, 99% interval: uncertain\n"
                    "          by a factor of 1709)\n");
    expect_in(&out, "99% confidence, from 1 pairs: uncertain by a factor of 1709.");
    expect_in(&out, "1.17 to 2000.00 at 99%: uncertain by a factor of 1709<");
    str_reset(&out);
}

// Findings are of the candidate as it was judged; the result above them of the confirmation.
Test(report, says_which_time_its_findings_go_by) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.confirm.median_s = 1.5e-3;
    report_run(&out, &v);
    expect_in(&out, "Node 7.1 takes 1.5 ms");
    expect_in(&out, "\nBy its profile when it was judged, with 1 ms a call:\n- reach (high)");
    str_reset(&out);
}

Test(report, shows_a_node_with_findings_and_source) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_node(&out, &v, 1, true);
    expect_in(&out, "node      7.1, from 7.0 by y: vec 8 -> 16 (champion)");
    expect_in(&out, "speed-up  2.000x (1.900 to 2.100, 99% interval)");
    expect_in(&out, "\ntime      ");
    expect_in(&out, ", to compare with other nodes: the root's by their paired ratio\nconfirmed ");
    expect_in(&out, " on fresh data: the time to state\nmeasured  ");
    expect_in(&out, "- try harder");
    expect_in(&out, "\ngain      2.00x over 7.0; 1.50x was expected of the tool narrow\n");
    expect_in(&out, "stage y : map  vec 16");
    expect_in(&out, "int source;");
    expect_narrow(&out);
    str_reset(&out);
    report_node(&out, &v, 3, false);
    expect_in(&out, "not evaluated yet");
    str_reset(&out);
}

Test(report, tells_the_whole_story_within_80_columns) {
    struct run_view v = sample_view();
    struct str out = {0};
    report_run(&out, &v);
    expect_in(&out, "3.00 times faster than plain");
    expect_in(&out, "memory-bound");
    expect_in(&out, "How it was found");
    expect_in(&out, "3: 2 ok 1 no-compile");
    expect_narrow(&out);
    str_reset(&out);
}

Test(report, an_active_run_that_nobody_works_on_was_killed) {
    struct run_view v = sample_view();
    struct str out = {0};
    v.run.state = RUN_ACTIVE;
    report_runs(&out, &v, 1);
    expect_in(&out, "killed");
    str_reset(&out);
    v.is_running = true;
    report_runs(&out, &v, 1);
    expect_in(&out, "active");
    str_reset(&out);
}

Test(report, documents_name_baseline_speedup_and_reach) {
    struct run_view v = sample_view();
    json_t *json = report_result_json(&v);
    cr_assert_str_eq(json_string_value(json_object_get(json, "baseline")), "plain");
    json_t *speedup = json_object_get(json, "speedup");
    cr_assert_eq(json_real_value(json_object_get(speedup, "low")), 2.9);
    json_t *reach = json_object_get(json, "reach");
    cr_assert_eq(json_real_value(json_object_get(reach, "fraction")), 0.5);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(json, "champion"), "node")), 1);
    json_decref(json);

    v.run.champion = -1;
    v.run.bound = NULL;
    json = report_result_json(&v);
    cr_assert(json_is_null(json_object_get(json, "champion")));
    cr_assert(json_is_null(json_object_get(json, "speedup")));
    cr_assert(json_is_null(json_object_get(json, "reach")));
    json_decref(json);
    json = report_runs_json(&v, 1);
    cr_assert(json);
    json_decref(json);
    arena_reset(&a);
}

Test(report, events_in_words_and_as_json) {
    struct run_view v = sample_view();
    struct event e = {.run = &v.run,
                      .node = &v.nodes[1],
                      .n_evals = 2,
                      .best = 1,
                      .best_s = 1e-3,
                      .reach_s = 5e-4,
                      .elapsed_s = 3};
    for (int k = EVENT_STARTED; k < EVENT_COUNT; k++) {
        struct str out = {0};
        e.kind = (enum event_kind)k;
        e.words = k == EVENT_RACED || k == EVENT_RACING
                      ? "12 raced against 7.0: 10 screened, 7.4 and 7.9 go on"
                      : NULL;
        report_event(&out, &e);
        expect_narrow(&out);
        if (k == EVENT_EVALUATED)
            expect_in(&out, "7.1* ok              1 ms       50%     2.00x  y: vec 8 -> 16");
        str_reset(&out);
        json_t *json = event_to_json(&e);
        cr_assert(json);
        cr_assert_str_eq(json_string_value(json_object_get(json, "event")),
                         event_kind_name(e.kind));
        json_decref(json);
    }
}

// Every line fits the terminal, and says what it must, wide or narrow.
Test(report, a_live_view_fits_40_columns_and_80) {
    struct run_view v = sample_view();
    struct event e = {.kind = EVENT_PROPOSED,
                      .run = &v.run,
                      .node = &v.nodes[1],
                      .n_evals = 12,
                      .n_screened = 48,
                      .best = 1,
                      .best_node = &v.nodes[1],
                      .best_s = 345e-6,
                      .reach_s = 5e-4,
                      .elapsed_s = 3};
    v.run.max_seconds = 60;
    static const int widths[] = {1, 40, 80};
    for (int w = 0; w < 3; w++) {
        struct live_style style = {.columns = widths[w], .is_plain = true};
        struct str out = {0};
        report_live(&out, &e, &style);
        if (w > 0) {
            expect_in(&out, "12 verified");
            expect_in(&out, "345 \u00b5s, 145% of reach");
            expect_in(&out, "7.1 y: vec 8 -> 16");
            expect_in(&out, "3 s, at most 57 s left");
            style.is_stopping = true;
            report_live_time(&out, 3, 60, &style);
            expect_in(&out, "3 s, stopping: Ctrl-C again");
        }
        for (const char *line = str_text(&out); *line; line += strcspn(line, "\n") + 1) {
            int width = 0;
            for (const char *c = line; *c != '\n'; c++)
                width += ((unsigned char)*c & 0xc0) != 0x80;
            cr_expect_lt(width, widths[w] < 20 ? 20 : widths[w], "%.*s", 60, line);
        }
        cr_expect_null(strchr(str_text(&out), '\033'));
        str_reset(&out);
        style.is_plain = false;
        report_live(&out, &e, &style);
        expect_in(&out, "\033[2m");
        str_reset(&out);
    }
}

Test(report, a_number_stays_with_its_unit) {
    struct str out = {0};
    report_wrap(&out, "(23 evaluations, 62 s) and so on", REPORT_COLUMNS - 20, 2);
    cr_expect_str_eq(str_text(&out), " (23 evaluations,\n  62 s) and so on\n");
    str_reset(&out);
    report_wrap(&out, "of 8", 0, 0);
    cr_expect_str_eq(str_text(&out), "of 8\n");
    str_reset(&out);
}

// What the clock said of a node when the machine was busy is not what the table shows.
Test(report, times_of_a_table_agree_with_its_speed_ups) {
    struct run_view v = sample_view();
    v.nodes[1].measurement.median_s = 9e-3;
    struct str s = {0};
    report_tree(&s, &v);
    cr_assert(strstr(str_text(&s), "1 ms    2.00x"), "%s", str_text(&s));
    str_reset(&s);
}

Test(report, says_why_a_row_that_looks_faster_is_no_champion) {
    struct run_view v = sample_view();
    struct str s = {0};
    v.run.champion = 0;
    v.nodes[1].measurement.speedup_low = 0.8;
    v.nodes[1].measurement.n_pairs = 30;
    v.nodes[1].measurement.n_dropped = 10;
    report_result(&s, &v);
    cr_assert(strstr(str_text(&s), "note      7.1 looks faster than the champion (2.00x over the"),
              "%s", str_text(&s));
    cr_assert(strstr(str_text(&s), "0.80x to 1.05x") || strstr(str_text(&s), "0.80x to 2.10x"),
              "%s", str_text(&s));
    cr_assert(strstr(str_text(&s), "24% of the pairs were"), "%s", str_text(&s));
    cr_assert(strstr(str_text(&s), "--seconds 1800"), "%s", str_text(&s));
    str_reset(&s);
    // Half a percent is nothing to look for.
    double time_s = v.nodes[1].time_s;
    v.nodes[1].time_s = 0.995 * v.nodes[0].time_s;
    report_result(&s, &v);
    cr_assert(!strstr(str_text(&s), "looks faster"), "%s", str_text(&s));
    str_reset(&s);
    v.nodes[1].time_s = time_s;
    // What ended it is what it would need more of, in the store that was named.
    const char *stop_reason = v.run.stop_reason;
    v.run.stop_reason = "evals";
    v.run.max_evals = 4;
    v.store_option = " --store s";
    report_result(&s, &v);
    cr_assert(strstr(str_text(&s), "--evals 12."), "%s", str_text(&s));
    str_reset(&s);
    v.run.stop_reason = stop_reason;
    v.store_option = NULL;
    // Slower ones are no reason to wait longer.
    v.nodes[1].time_s = 3e-3;
    v.nodes[1].measurement.speedup = 0.66;
    report_result(&s, &v);
    cr_assert(strstr(str_text(&s), "(2) is known to be faster"), "%s", str_text(&s));
    str_reset(&s);
    v.run.champion = 1;
    v.nodes[1].time_s = 1e-3;
    v.run.start = (struct candidate){.source = "s", .label = "mine.c"};
    report_tree(&s, &v);
    cr_assert(strstr(str_text(&s), "; speed-ups over mine.c\n"), "%s", str_text(&s));
    str_reset(&s);
    report_result(&s, &v);
    cr_assert(!strstr(str_text(&s), "note "), "%s", str_text(&s));
    str_reset(&s);
}

Test(report, says_what_the_champion_does_otherwise) {
    struct run_view v = sample_view();
    struct str s = {0};
    v.run.baseline.source =
        "#pragma hone scratch t f32[M]\n#pragma hone launch a grid(1) args(x, t)\n"
        "#pragma hone launch b grid(1) args(t, y)\n";
    v.nodes[1].candidate.source = "#pragma hone launch a grid(1) args(x, y)\nf32x8 v; f32x16 w;\n"
                                  "hone_stream16(y, w);\n";
    report_run(&s, &v);
    const char *text = str_text(&s);
    cr_assert(strstr(text, "Why it is faster"), "%s", text);
    cr_assert(strstr(text, "launches, passes over the data       2            1\n"), "%s", text);
    cr_assert(strstr(text, "arrays between launches, in memory   1            0\n"), "%s", text);
    cr_assert(strstr(text, "(1: the compiler's) 1            16\n"), "%s", text);
    cr_assert(strstr(text, "writes results past the caches       no           yes\n"), "%s", text);
    cr_assert(strstr(text, "the least traffic, at GB/s           0.667        2\n"), "%s", text);
    cr_assert(!strstr(text, "asks for data ahead"), "%s", text);
    str_reset(&s);
}
