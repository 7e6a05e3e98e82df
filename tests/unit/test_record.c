#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "record/move_kind.h"
#include "record/run.h"

static double samples[] = {1e-3, 2e-3, 1.5e-3};

static struct measurement example_measurement(void) {
    return (struct measurement){.present = true,
                                .baseline = "plain",
                                .n_pairs = 3,
                                .subject_s = samples,
                                .baseline_s = samples,
                                .median_s = 1.5e-3,
                                .baseline_median_s = 3e-3,
                                .speedup = 2,
                                .speedup_low = 1.9,
                                .speedup_high = 2.1,
                                .confidence = 0.99,
                                .method = "ABBA"};
}

Test(record, verdict_survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct verdict v = {.kind = VERDICT_WRONG,
                        .rule = "partial",
                        .evidence = "3 of 4 elements",
                        .error = {.rms = INFINITY, .max = NAN, .honest_rms = 0.5},
                        .n_sets = 2,
                        .n_calls = 4,
                        .timed_calls_checked = true,
                        .sandbox_level = 2,
                        .null_kernel = "writing zeros"};
    json_t *json = verdict_to_json(&v);
    struct verdict w;
    cr_assert(verdict_from_json(&a, json, &w, &err), "%s", err.text);
    json_decref(json);
    cr_expect_eq(w.kind, VERDICT_WRONG);
    cr_expect_str_eq(w.rule, "partial");
    cr_expect(w.error.rms > 1e300);
    cr_expect(isnan(w.error.max));
    cr_expect_eq(w.error.honest_rms, 0.5);
    cr_expect(w.timed_calls_checked);
    cr_expect_eq(w.sandbox_level, 2);
    cr_expect_str_eq(w.null_kernel, "writing zeros");
    cr_expect(verdict_is_of_calls(&w));
    v = (struct verdict){.kind = VERDICT_NO_COMPILE, .evidence = ""};
    json = verdict_to_json(&v);
    cr_assert(verdict_from_json(&a, json, &w, &err), "%s", err.text);
    cr_expect(!w.null_kernel && !verdict_is_of_calls(&w));
    json_decref(json);
    arena_reset(&a);
}

Test(record, every_verdict_has_a_name_that_reads_back) {
    for (int k = 0; k < VERDICT_COUNT; k++) {
        enum verdict_kind back;
        cr_expect(verdict_kind_parse(verdict_kind_name((enum verdict_kind)k), &back));
        cr_expect_eq(back, (enum verdict_kind)k);
    }
    enum verdict_kind unused;
    cr_expect(!verdict_kind_parse("fine", &unused));
    cr_expect(verdict_is_failure(VERDICT_WRONG));
    cr_expect(!verdict_is_failure(VERDICT_OK));
    cr_expect(!verdict_is_failure(VERDICT_SUSPECT));
    cr_expect(!verdict_is_failure(VERDICT_INFRA));
}

Test(record, measurement_survives_its_json_form_and_absent_is_null) {
    struct arena a = {0};
    struct error err = {0};
    struct measurement m = example_measurement(), n;
    json_t *json = measurement_to_json(&m);
    cr_assert(measurement_from_json(&a, json, &n, &err), "%s", err.text);
    cr_expect_eq(n.n_pairs, 3);
    cr_expect_eq(n.subject_s[1], 2e-3);
    cr_expect_eq(n.speedup_low, 1.9);
    // How much they scatter stays where samples are left out.
    cr_expect_eq(n.spread.n, 3);
    n.n_pairs = 0;
    json_t *bare = measurement_to_json(&n);
    struct measurement back;
    cr_assert(measurement_from_json(&a, bare, &back, &err), "%s", err.text);
    cr_expect(back.n_pairs == 0 && back.spread.n == 3 && back.spread.low_s == n.spread.low_s &&
              back.spread.high_s == n.spread.high_s && back.spread.low_s <= back.spread.high_s);
    json_object_set_new(bare, "spread", json_object());
    cr_expect(!measurement_from_json(&a, bare, &back, &err));
    json_decref(bare);
    // As it was written once.
    const char *const names[][2] = {
        {"baseline", "rival"}, {"baseline_s", "rival_s"}, {"baseline_median_s", "rival_median_s"}};
    json_t *old = json_copy(json);
    for (int i = 0; i < 3; i++) {
        json_object_set(old, names[i][1], json_object_get(json, names[i][0]));
        json_object_del(old, names[i][0]);
    }
    cr_assert(measurement_from_json(&a, old, &back, &err), "%s", err.text);
    cr_expect_str_eq(back.baseline, "plain");
    cr_expect_eq(back.baseline_median_s, m.baseline_median_s);
    json_decref(old);
    json_array_clear(json_object_get(json, "baseline_s"));
    cr_expect(!measurement_from_json(&a, json, &n, &err));
    cr_expect(strstr(err.text, "baseline_s has 0 samples"), "%s", err.text);
    json_decref(json);

    // Looks are there where somebody asked for them.
    cr_expect_eq(n.n_trials, 0);
    struct measurement_trial trials[] = {{1, 2, 1.1, 0.9, 1.2}, {0.1, 4, 0.8, 0.7, 0.95}};
    m.trials = trials;
    m.n_trials = 2;
    json = measurement_to_json(&m);
    cr_assert(measurement_from_json(&a, json, &n, &err), "%s", err.text);
    cr_expect_eq(n.n_trials, 2);
    cr_expect_eq(n.trials[1].seconds, 0.1);
    cr_expect_eq(n.trials[1].n_pairs, 4);
    cr_expect_eq(n.trials[0].high, 1.2);
    json_object_set_new(json, "trials", json_pack("[{s:i}]", "seconds", 1));
    cr_expect(!measurement_from_json(&a, json, &n, &err));
    json_object_set_new(json, "trials", json_string("none"));
    cr_expect(!measurement_from_json(&a, json, &n, &err));
    json_decref(json);

    m.present = false;
    json = measurement_to_json(&m);
    cr_expect(json_is_null(json));
    cr_expect(measurement_from_json(&a, json, &n, &err));
    cr_expect(!n.present);
    json_decref(json);
    arena_reset(&a);
}

// What is not resolved says enough; below the factor of two an interval speaks for itself.
Test(record, a_wide_interval_has_a_word_of_warning) {
    struct arena a = {0};
    cr_expect_null(measurement_width_text(&a, 0.3, 20));
    cr_expect_null(measurement_width_text(&a, 1.1, 2.1));
    cr_expect_str_eq(measurement_width_text(&a, 1.17, 2000), "uncertain by a factor of 1709");
    cr_expect_str_eq(measurement_width_text(&a, 2, 5), "uncertain by a factor of 2.5");
    cr_expect_str_eq(measurement_width_text(&a, 0.1, 0.4), "uncertain by a factor of 4.0");
    cr_expect_str_eq(measurement_width_text(&a, 0, 0.4), "uncertain by any factor");
    cr_expect_str_eq(measurement_ratio_text(&a, 1.1751), "1.18x");
    cr_expect_str_eq(measurement_ratio_text(&a, 2000.4), "2000x");
    arena_reset(&a);
}

Test(record, all_pairs_survive_the_json_form_of_a_measurement) {
    struct arena a = {0};
    struct error err = {0};
    struct measurement m = example_measurement(), n;
    double subject_s[] = {5, 6}, baseline_s[] = {7, 8};
    json_t *json = measurement_to_json(&m);
    cr_expect_null(json_object_get(json, "raw"), "where nobody asked");
    json_decref(json);
    m.n_dropped = 2;
    m.raw = (struct measurement_raw){".xd.s", subject_s, baseline_s};
    json = measurement_to_json(&m);
    cr_assert(measurement_from_json(&a, json, &n, &err), "%s", err.text);
    cr_expect_str_eq(n.raw.marks, ".xd.s");
    cr_expect(n.raw.subject_s[1] == 6 && n.raw.baseline_s[0] == 7);

    // There is a time for each of the marks.
    static const struct {
        const char *marks, *words;
    } cases[] = {
        {".xd.s.", "has 6 pairs, 2 of them left out; expected 5 and 2"},
        {".xdxs", "has 5 pairs, 3 of them left out; expected 5 and 2"},
        {".xd.", "has 4 pairs, 1 of them left out; expected 5 and 2"},
        {".xd?s", "raw.marks[3] is '?', expected one of . d x s"},
    };
    json_t *raw = json_object_get(json, "raw");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_object_set_new(raw, "marks", json_string(cases[i].marks));
        cr_expect(!measurement_from_json(&a, json, &n, &err), "%s", cases[i].marks);
        cr_expect(strstr(err.text, cases[i].words), "%s", err.text);
    }
    json_object_set_new(raw, "marks", json_string(".xd.s"));
    json_array_clear(json_object_get(raw, "baseline_s"));
    cr_expect(!measurement_from_json(&a, json, &n, &err));
    json_object_set_new(json, "raw", json_integer(1));
    cr_expect(!measurement_from_json(&a, json, &n, &err));
    json_decref(json);
    arena_reset(&a);
}

Test(record, a_difference_counts_only_beyond_the_margin) {
    struct measurement m = example_measurement();
    cr_expect_eq(measurement_compare(&m), 1);
    m.speedup_low = 1.004;
    cr_expect_eq(measurement_compare(&m), 0);
    m.speedup_low = 0.8, m.speedup_high = 0.9;
    cr_expect_eq(measurement_compare(&m), -1);
    m.speedup_high = 0.997;
    cr_expect_eq(measurement_compare(&m), 0);
    m.speedup_low = NAN, m.speedup_high = NAN;
    cr_expect_eq(measurement_compare(&m), 0);
    m = example_measurement();
    m.present = false;
    cr_expect_eq(measurement_compare(&m), 0);
}

Test(record, profile_keeps_what_is_present) {
    struct arena a = {0};
    struct error err = {0};
    struct profile p = {0}, q;
    profile_set(&p, METRIC_TIME, 1);
    profile_set(&p, METRIC_TIME, 2);
    profile_set(&p, METRIC_THREAD_BUSY, NAN);
    cr_expect_eq(profile_get(&p, METRIC_TIME), 2);
    cr_expect(isnan(profile_get(&p, METRIC_BLOCKS)));
    json_t *json = profile_to_json(&p);
    cr_assert(profile_from_json(&a, json, &q, &err));
    cr_expect_eq(metrics_count(&q.call), 1);
    cr_expect_eq(q.n_launches, 0);
    json_object_set_new(json_object_get(json, "metrics"), "of_tomorrow", json_real(1));
    cr_assert(profile_from_json(&a, json, &q, &err), "a metric that is not known is left out");
    cr_expect_eq(metrics_count(&q.call), 1);
    json_object_set_new(json_object_get(json, "metrics"), "bad", json_string("x"));
    cr_expect(!profile_from_json(&a, json, &q, &err));
    json_decref(json);
    arena_reset(&a);
}

Test(record, profile_has_launches_one_by_one) {
    struct arena a = {0};
    struct error err = {0};
    struct profile p = {0}, q;
    struct profile_launch *l = profile_add_launch(&a, &p, "sums");
    metrics_set(&l->metrics, METRIC_TIME, 3e-6);
    metrics_set(&l->metrics, METRIC_REGISTERS, 40);
    metrics_set(&l->metrics, METRIC_BLOCK_THREADS, 96);
    cr_expect_str_eq(profile_launch_text(&a, &p), "", "of one there is nothing to say");
    profile_add_launch(&a, &p, "scale");
    cr_expect(isnan(profile_share(&p, 0)));
    cr_expect_str_eq(profile_launch_text(&a, &p), "", "nobody timed the second");
    metrics_set(&p.launches[1].metrics, METRIC_TIME, 1e-6);
    cr_expect_float_eq(profile_share(&p, 0), 0.75, 1e-12);
    cr_expect_str_eq(profile_launch_text(&a, &p), "sums 3 µs (75%), scale 1 µs (25%)");
    p.lines = &(struct profile_line){"first", 7, 30, "waiting"};
    p.n_lines = 1;
    json_t *json = profile_to_json(&p);
    cr_assert(profile_from_json(&a, json, &q, &err), "%s", err.text);
    cr_assert_eq(q.n_lines, 1);
    cr_expect(q.lines[0].line == 7 && q.lines[0].samples == 30);
    cr_expect_str_eq(q.lines[0].reason, "waiting");
    cr_expect_eq(q.n_launches, 2);
    cr_expect_str_eq(q.launches[1].name, "scale");
    cr_expect_eq(launch_get(&q.launches[0], METRIC_REGISTERS), 40);
    cr_expect_eq(launch_get(&q.launches[0], METRIC_BLOCK_THREADS), 96);
    cr_expect(isnan(launch_get(&q.launches[0], METRIC_OCCUPANCY)));
    json_array_append_new(json_object_get(json, "launches"), json_pack("{s:f}", "time_s", 1.0));
    cr_expect(!profile_from_json(&a, json, &q, &err), "a launch without a name");
    json_object_set_new(json, "launches", json_string("none"));
    cr_expect(!profile_from_json(&a, json, &q, &err));
    json_decref(json);
    for (int i = p.n_launches; i < 5000; i++)
        metrics_set(&profile_add_launch(&a, &p, "more")->metrics, METRIC_BLOCKS, i);
    cr_expect_eq(launch_get(&p.launches[0], METRIC_REGISTERS), 40);
    cr_expect_eq(launch_get(&p.launches[4999], METRIC_BLOCKS), 4999);
    arena_reset(&a);
}

Test(record, a_launch_of_an_earlier_version_has_threads_of_a_block) {
    struct arena a = {0};
    struct error err = {0};
    struct profile p;
    json_t *json = json_pack("{s:s, s:{s:f}, s:[{s:s, s:f}]}", "schema", "hone.profile/1",
                             "metrics", "threads", 2.0, "launches", "name", "k", "threads", 256.0);
    cr_assert(profile_from_json(&a, json, &p, &err), "%s", err.text);
    cr_expect_eq(profile_get(&p, METRIC_THREADS), 2);
    cr_expect_eq(launch_get(&p.launches[0], METRIC_BLOCK_THREADS), 256);
    cr_expect(isnan(launch_get(&p.launches[0], METRIC_THREADS)));
    json_decref(json);
    arena_reset(&a);
}

Test(metrics, have_each_name_once) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        enum metric_id id;
        int rank;
        cr_assert(metric_find(metric_table[i].name, &id) && (int)id == i, "%s",
                  metric_table[i].name);
        for (const char *at = metric_table[i].counter; at && *at;) {
            char counter[128];
            size_t len = strcspn(at, "|");
            cr_assert_lt(len, sizeof counter);
            memcpy(counter, at, len);
            counter[len] = '\0';
            cr_expect(metric_find_counter(counter, &id, &rank) && (int)id == i, "%s", counter);
            at += len + (at[len] == '|');
        }
    }
    enum metric_id id;
    int rank;
    cr_expect(!metric_find("", &id) && !metric_find_counter("", &id, &rank));
    cr_expect(
        metric_find_counter("dram__throughput.avg.pct_of_peak_sustained_elapsed", &id, &rank));
    cr_expect(id == METRIC_DRAM_BUSY && rank == 1);
}

Test(metrics, are_present_or_absent) {
    struct metrics m = {0}, n = {0};
    cr_expect(isnan(metrics_get(&m, METRIC_TIME)));
    metrics_set(&m, METRIC_TIME, 0);
    metrics_set(&m, METRIC_STALL_WAIT, 3);
    metrics_set(&m, METRIC_STALL_WAIT, NAN);
    cr_expect(metrics_has(&m, METRIC_TIME) && metrics_get(&m, METRIC_TIME) == 0);
    cr_expect_eq(metrics_get(&m, METRIC_STALL_WAIT), 3);
    metrics_set(&n, METRIC_TIME, 5);
    metrics_merge(&n, &m);
    cr_expect(metrics_count(&n) == 2 && metrics_get(&n, METRIC_TIME) == 0);
    metrics_clear(&n, METRIC_TIME);
    cr_expect_eq(metrics_count(&n), 1);
}

// A comment at the head names the block; what is compiled begins behind it.
Test(record, candidates_of_the_same_code_are_known_whatever_their_head_says) {
    struct candidate x = {.source = "// by hone\n// stage y : map  vec 8\nint f(void);\n"};
    struct candidate y = {.source = "// by hone\n// stage y : map  vec 4\nint f(void);\n"};
    struct candidate z = {.source = "// by hone\n// stage y : map  vec 8\nint g(void);\n"};
    cr_expect_eq(candidate_code(&x), candidate_code(&y));
    cr_expect_neq(candidate_code(&x), candidate_code(&z));
    cr_expect_eq(candidate_code(&(struct candidate){.source = "// only this"}),
                 candidate_code(&(struct candidate){.source = ""}));
}

Test(record, candidate_is_sealed_by_its_source) {
    struct arena a = {0};
    struct error err = {0};
    struct candidate c = {.tier = TIER_K, .source = "int x;", .kernel = "kernel", .label = "l"}, d;
    candidate_seal(&a, &c);
    cr_expect_eq(strlen(c.hash), 64);
    json_t *json = candidate_to_json(&c);
    cr_assert(candidate_from_json(&a, json, &d, &err), "%s", err.text);
    cr_expect_str_eq(d.hash, c.hash);
    cr_expect_str_eq(d.kernel, "kernel");
    json_object_set_new(json, "tier", json_string("Q"));
    cr_expect(!candidate_from_json(&a, json, &d, &err));
    cr_expect(strstr(err.text, "unknown tier 'Q'"), "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

Test(record, node_with_findings_survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct search_node n = {.number = 3, .parent = 1, .state = NODE_EVALUATED, .move = "vec 8"}, m;
    n.change = "vec 8, and all that comes with it";
    n.candidate = (struct candidate){.tier = TIER_C, .source = "x", .label = "f.c"};
    candidate_seal(&a, &n.candidate);
    n.verdict = (struct verdict){.kind = VERDICT_OK, .evidence = "fine"};
    n.measurement = example_measurement();
    profile_set(&n.profile, METRIC_BLOCKS, 7);
    n.findings[0] = (struct finding){
        .tool = "reach",
        .severity = SEVERITY_HIGH,
        .cause = "far",
        .evidence = "3x",
        .expected_gain = NAN,
        .confidence = 0.54,
        .actions = {{.words = "wider", .knob = "vec", .direction = 1, .move = "y: vec 8 -> 16"}},
        .n_actions = 1,
        .numbers = {{"time_s", 2e-3, 1e-3}, {"blocks", 7, NAN}},
        .n_numbers = 2,
        .launch = "rows",
        .share = 0.25};
    n.tool = "reach";
    n.expected = 1.5;
    n.gain = 1.25;
    n.n_findings = 1;
    n.time_s = 2e-3;
    json_t *json = search_node_to_json(&n);
    cr_assert(search_node_from_json(&a, json, &m, &err), "%s", err.text);
    json_decref(json);
    cr_expect_eq(m.number, 3);
    cr_expect_eq(m.state, NODE_EVALUATED);
    cr_expect_str_eq(m.findings[0].actions[0].knob, "vec");
    cr_expect(!m.findings[0].actions[0].word);
    cr_expect_str_eq(m.findings[0].actions[0].move, "y: vec 8 -> 16");
    cr_expect(isnan(m.findings[0].expected_gain) && m.findings[0].confidence == 0.54);
    cr_expect_eq(m.findings[0].n_numbers, 2);
    cr_expect_str_eq(m.findings[0].numbers[1].metric, "blocks");
    cr_expect(m.findings[0].numbers[0].limit == 1e-3 && isnan(m.findings[0].numbers[1].limit));
    cr_expect(strcmp(m.findings[0].launch, "rows") == 0 && m.findings[0].share == 0.25);
    cr_expect_str_eq(m.tool, "reach");
    cr_expect(m.expected == 1.5 && m.gain == 1.25);
    cr_expect_eq(m.measurement.n_pairs, 3);
    cr_expect_str_eq(m.change, n.change);
    cr_expect_eq(profile_get(&m.profile, METRIC_BLOCKS), 7);

    // A model's expectation once stood in its words alone.
    n.by = "team";
    n.expected = n.gain = NAN;
    n.reason = search_node_reason(&a, "x; expected 9x, y", 1.75, 0.7);
    json = search_node_to_json(&n);
    cr_assert(search_node_from_json(&a, json, &m, &err), "%s", err.text);
    json_decref(json);
    cr_expect(m.expected == 1.75 && isnan(m.gain));

    n.state = NODE_PROPOSED;
    json = search_node_to_json(&n);
    cr_assert(search_node_from_json(&a, json, &m, &err), "%s", err.text);
    cr_expect_eq(m.state, NODE_PROPOSED);
    cr_expect(isnan(m.time_s));
    json_decref(json);
    arena_reset(&a);
}

Test(record, a_screened_node_survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct search_node n = {.number = 3, .parent = 0, .state = NODE_SCREENED, .time_s = NAN}, m;
    n.candidate = (struct candidate){.tier = TIER_K, .source = "x", .label = "node 3"};
    candidate_seal(&a, &n.candidate);
    n.screening = (struct screening){.present = true,
                                     .against = "default",
                                     .n_rounds = 2,
                                     .n_pairs = 6,
                                     .speedup = 0.75,
                                     .time_s = 4e-3};
    json_t *json = search_node_to_json(&n);
    cr_assert(search_node_from_json(&a, json, &m, &err), "%s", err.text);
    cr_expect_eq(m.state, NODE_SCREENED);
    cr_expect(!m.measurement.present && isnan(m.time_s), "it is not measured");
    cr_expect(json_is_null(json_object_get(json, "verdict")), "and has no verdict");
    cr_expect(m.screening.present && !m.screening.survived && !m.screening.is_untimed);
    cr_expect(m.screening.speedup == 0.75 && m.screening.time_s == 4e-3);
    cr_expect_str_eq(screening_text(&a, &m.screening),
                     "about 0.75x over default by 6 pairs, 2 rounds");
    json_object_set_new(json, "state", json_string("lost"));
    cr_expect(!search_node_from_json(&a, json, &m, &err));
    json_decref(json);

    n.screening = (struct screening){.present = true,
                                     .against = "default",
                                     .speedup = NAN,
                                     .time_s = NAN,
                                     .is_untimed = true,
                                     .same_as = "node 1"};
    json = search_node_to_json(&n);
    cr_assert(search_node_from_json(&a, json, &m, &err), "%s", err.text);
    cr_expect(search_node_is_untimed(&m) && isnan(m.screening.speedup));
    cr_expect_str_eq(m.screening.same_as, "node 1");
    json_decref(json);
    arena_reset(&a);
}

Test(record, run_survives_its_json_form) {
    struct arena a = {0};
    struct error err = {0};
    struct run r = {.id = 12,
                    .state = RUN_DONE,
                    .problem_name = "softmax",
                    .problem_text = "problem softmax",
                    .problem_hash = "abc",
                    .target = "cpu",
                    .device = "some CPU",
                    .policy = "mcts",
                    .proposer = "expert",
                    .seed = UINT64_C(0xfedcba9876543210),
                    .max_evals = 10,
                    .race = 24,
                    .max_seconds = 60,
                    .until = 0.95,
                    .bound = "{\"limit_s\":0.001}",
                    .started_at = "2026-01-01T00:00:00Z",
                    .version = "0.1.0",
                    .n_nodes = 3,
                    .champion = -1,
                    .elapsed_s = 1.5},
               s;
    json_t *json = run_to_json(&r);
    cr_assert_not_null(json);
    cr_assert(run_from_json(&a, json, &s, &err), "%s", err.text);
    json_decref(json);
    cr_expect_eq(s.id, 12);
    cr_expect_eq(s.seed, r.seed);
    cr_expect_eq(s.race, 24);
    cr_expect_str_eq(s.bound, r.bound);
    cr_expect(!s.ended_at && !s.null_kernel);
    cr_expect_eq(s.champion, -1);
    cr_expect(!s.confirm.present);

    r.confirm = example_measurement();
    r.confirm_verdict = (struct verdict){.kind = VERDICT_OK, .evidence = ""};
    r.baseline = (struct candidate){.source = "x", .label = "plain", .hash = "h"};
    r.ended_at = "2026-01-01T00:01:00Z";
    r.null_kernel = "copying an input";
    json = run_to_json(&r);
    cr_assert(run_from_json(&a, json, &s, &err), "%s", err.text);
    cr_expect_str_eq(s.null_kernel, "copying an input");
    cr_expect(s.confirm.present);
    cr_expect_str_eq(s.baseline.label, "plain");
    json_object_set_new(json, "state", json_string("lost"));
    cr_expect(!run_from_json(&a, json, &s, &err));
    cr_expect(strstr(err.text, "unknown state 'lost'"), "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

Test(candidate, tier_follows_the_name_of_a_file) {
    cr_expect_eq(tier_of_file("a.cu"), TIER_D);
    cr_expect_eq(tier_of_file(".cu"), TIER_C);
    cr_expect_eq(tier_of_file("dir.cu/a.c"), TIER_C);
    cr_expect_str_eq(tier_language(TIER_D), "CUDA");
    cr_expect_str_eq(tier_language(TIER_C), "C");
}

Test(move_kind, is_what_moves_of_different_problems_share) {
    struct arena a = {0};
    static const struct {
        const char *words, *kind;
    } rows[] = {
        {"y: vec 8 -> 16", "vec up"},
        {"y: tile 128x64x32 -> 64x64x32, stages 2", "tile down"},
        {"y: store plain -> stream, rows 4", "store stream"},
        {"y: gemm as simt -> gemm as dot", "emitter gemm as dot"},
        {"y: map -> nest", "emitter nest"},
        {"y: as mma, tile 128x64x32", "emitter mma"},
        {"y: rows 64 -> 16, keep reread -> local", "several"},
        {"merge t into y", "merge"},
        {"split y at t", "split"},
        {"lay out v.1 for y", "layout"},
        {"cross with 7: y: vec 8 -> 16", "cross"},
        {"the first emitters of all stages", NULL},
        {"use shared memory: halve the tile", NULL},
        {"y: -> 3", NULL},
        {"y: ", NULL},
        {": vec 8 -> 16", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *kind = move_kind(&a, rows[i].words);
        if (rows[i].kind)
            cr_expect_str_eq(kind ? kind : "none", rows[i].kind, "%s", rows[i].words);
        else
            cr_expect_null(kind, "%s: %s", rows[i].words, kind);
    }
    arena_reset(&a);
}
