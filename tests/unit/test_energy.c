// Energy of a call from a counter: what was recorded on a card (tests/fixtures/energy, by
// tests/gpu/energy_trace.cu), counters that are worse than that one, and the record.
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "eval/energy_windows.h"
#include "record/energy.h"

static struct arena a;

// ---- the trace

enum { ROWS_MAX = 2000, PHASES_MAX = 16 };
struct row {
    double at_s, counter_j, average_w, calls;
};
static struct row rows[ROWS_MAX];
static struct {
    char name[16];
    double at_s;
} phases[PHASES_MAX];
static int n_rows, n_phases;

static void read_trace(void) {
    FILE *f = fopen("tests/fixtures/energy/h200.txt", "r");
    cr_assert(f, "the tests run in the repository");
    char line[256];
    while (fgets(line, sizeof line, f)) {
        double mj, mw, average, now;
        struct row *r = &rows[n_rows];
        if (line[0] == '#' &&
            sscanf(line, "# %15s %lf", phases[n_phases].name, &phases[n_phases].at_s) == 2)
            n_phases++;
        else if (line[0] != '#' && sscanf(line, "%lf %lf %lf %lf %lf %lf", &r->at_s, &mj, &mw,
                                          &average, &now, &r->calls) == 6) {
            r->counter_j = mj / 1e3;
            r->average_w = average / 1e3;
            n_rows++;
        }
    }
    fclose(f);
    cr_assert(n_rows > 700 && n_phases == 9, "%d rows, %d phases", n_rows, n_phases);
}

// A phase up to a moment of it as a series: steps of the counter as they were seen, calls as they
// ended.
static void series_of(int phase, double until_s, struct energy_series *s) {
    double start_s = phases[phase].at_s, end_s = phases[phase + 1].at_s, before = -1;
    energy_series_start(s, start_s);
    for (int i = 1; i < n_rows && rows[i].at_s < fmin(end_s, start_s + until_s); i++) {
        if (rows[i].at_s < start_s)
            continue;
        before = before < 0 ? rows[i - 1].calls : before;
        energy_series_mark(s, rows[i].at_s, rows[i].calls - before);
        if (rows[i].counter_j != rows[i - 1].counter_j)
            energy_series_step(s, rows[i].at_s, 0.005, rows[i].counter_j);
    }
}

enum { COPY = 1, MULTIPLY = 3, WAVE = 5, COPY_AGAIN = 7 };

static void expect_near(double value, double wanted, double share) {
    cr_expect(fabs(value / wanted - 1) < share, "%g, expected %g", value, wanted);
}

static struct energy_series series;

Test(energy, of_recorded_loads_repeats_within_3_percent) {
    struct energy_window w, again, short_one;
    read_trace();
    series_of(COPY, 4, &series);
    cr_assert(energy_series_window(&series, 2, &w));
    expect_near(w.call_j / w.call_s, 567, 0.01);  // what the average power came to
    cr_expect(w.unsure_j < 0.005 * w.call_j);
    // Another load of the same calls, eight seconds later; and 1.3 s of the first.
    series_of(COPY_AGAIN, 2, &series);
    cr_assert(energy_series_window(&series, 1, &again));
    expect_near(again.call_j, w.call_j, 0.015);
    series_of(COPY, 1.45, &series);
    cr_assert(energy_series_window(&series, 1, &short_one));
    expect_near(short_one.call_j, w.call_j, 0.015);
    series_of(MULTIPLY, 2, &series);
    cr_assert(energy_series_window(&series, 1, &w));
    expect_near(w.call_j / w.call_s, 366, 0.01);
    series_of(0, 1.5, &series);
    expect_near(energy_series_power_w(&series), 121.7, 0.01);
}

Test(energy, without_the_rules_would_be_wrong) {
    read_trace();
    series_of(COPY, 0.99, &series);
    struct energy_window w;
    cr_expect(!energy_series_window(&series, 1, &w), "too short");
    // From the load's beginning to its end, as the counter stood: a tenth is missing.
    double from_j = 0, to_j = 0, calls = 0, start_s = phases[COPY].at_s;
    for (int i = 0; i < n_rows && rows[i].at_s < start_s + 0.53; i++) {
        from_j = rows[i].at_s <= start_s ? rows[i].counter_j : from_j;
        to_j = rows[i].counter_j;
        calls = rows[i].calls;
    }
    series_of(COPY, 4, &series);
    cr_assert(energy_series_window(&series, 1, &w));
    cr_expect((to_j - from_j) / calls < 0.92 * w.call_j, "%g of %g", (to_j - from_j) / calls,
              w.call_j);
}

Test(energy, the_recorded_counter_misses_nothing) {
    // Calls for a quarter of a period that drifts past the counter's: above idle they take as much
    // as back to back.
    struct energy_window w;
    read_trace();
    series_of(COPY, 4, &series);
    cr_assert(energy_series_window(&series, 2, &w));
    double idle_w = 123, above_j = w.call_j - idle_w * w.call_s;
    series_of(WAVE, 3, &series);
    int last = series.n_steps - 1;
    double seconds = series.steps[last].at_s - series.steps[0].at_s, calls = 0;
    for (int i = 0; i < series.n_marks; i++)
        if (series.marks[i].at_s == series.steps[0].at_s)
            calls -= series.marks[i].n_calls;
        else if (series.marks[i].at_s == series.steps[last].at_s)
            calls += series.marks[i].n_calls;
    double joules = series.steps[last].counter_j - series.steps[0].counter_j;
    expect_near((joules - idle_w * seconds) / calls, above_j, 0.03);
}

// The recorded power is an average over a second. A counter that sums up that, as some cards have,
// is wrong for as long.
Test(energy, waits_for_a_counter_that_averages) {
    struct energy_window truth, w;
    read_trace();
    series_of(COPY, 4, &series);
    cr_assert(energy_series_window(&series, 2, &truth));
    double start_s = phases[COPY].at_s, sum_j = 0, before = -1;
    energy_series_start(&series, start_s);
    double settled_s = 0;
    for (int i = 1; i < n_rows && rows[i].at_s < phases[COPY + 1].at_s; i++) {
        sum_j += rows[i].average_w * (rows[i].at_s - rows[i - 1].at_s);
        if (rows[i].at_s < start_s)
            continue;
        before = before < 0 ? rows[i - 1].calls : before;
        energy_series_mark(&series, rows[i].at_s, rows[i].calls - before);
        energy_series_step(&series, rows[i].at_s, 0.005, sum_j);
        if (!settled_s && energy_series_window(&series, 1, &w)) {
            settled_s = rows[i].at_s - start_s;
            expect_near(w.call_j, truth.call_j, 0.03);
        }
    }
    cr_expect(settled_s > 1.8 && settled_s < 3, "%g s", settled_s);
}

// ---- made up

Test(energy, of_a_counter_read_slowly_is_its_slope) {
    // 500 W at 1000 calls a second; readings take 4 ms, one of them 40, and steps come unevenly.
    energy_series_start(&series, 10);
    double counter_j = 0, step_s = 10.03;
    for (double t = 10; t < 11.6;) {
        double took_s = t > 10.7 && t < 10.75 ? 0.04 : 0.004;
        while (step_s < t + took_s / 2) {
            counter_j = 500 * (step_s - 10);
            step_s += (int)(step_s * 1000) % 3 ? 0.1 : 0.095;
        }
        energy_series_read(&series, t, t + took_s, counter_j);
        t += took_s + 0.001;
        energy_series_mark(&series, t, 1000 * (t - 10));
    }
    struct energy_window w;
    cr_assert(energy_series_window(&series, 1, &w));
    expect_near(w.call_j, 0.5, 0.005);
    expect_near(w.call_s, 0.001, 1e-6);
    cr_expect(series.n_steps >= 15 && series.n_steps <= 17, "%d", series.n_steps);
}

Test(energy, is_as_sure_as_its_windows_agree) {
    struct energy e = {0};
    struct energy_window w[] = {{0.2, 0.0002, 1e-3, 1, 10}, {0.2, 0.0002, 1e-3, 1, 10}};
    energy_estimate(w, 1, &e);
    cr_expect_float_eq(energy_unsure(&e), 0.01, 0.001);
    w[1].call_j = 0.21;
    energy_estimate(w, 2, &e);
    cr_expect_float_eq(e.call_j, 0.205, 1e-9);
    cr_expect(e.call_low_j < 0.2 && e.call_high_j > 0.21);
}

Test(energy, says_what_it_is) {
    struct energy e = {.present = true,
                       .call_j = 0.0412,
                       .call_low_j = 0.0409,
                       .call_high_j = 0.0415,
                       .confidence = 0.95,
                       .idle_w = 122,
                       .call_s = 1e-4,
                       .n_windows = 1,
                       .window_s = 1.2,
                       .method = "m"};
    cr_expect_str_eq(energy_text(&a, &e),
                     "41.20 mJ a call (40.90 mJ to 41.50 mJ, 95% interval), 29.00 mJ of it above "
                     "the idle power of 122 W, 412 W while it runs; 1 window of 1.20 s, 100 µs a "
                     "call back to back; m");
    struct energy back;
    struct json_reader r = {.where = "test"};
    json_t *json = energy_to_json(&e);
    energy_from_json(&r, &a, json, &back);
    json_decref(json);
    cr_expect(!r.failed && back.call_j == e.call_j && back.idle_w == 122 && back.n_windows == 1);
    cr_expect(back.present && !back.why_not && strcmp(back.method, "m") == 0);
    e = (struct energy){.present = true, .why_not = "no NVML"};
    cr_expect_str_eq(energy_text(&a, &e), "not measured (no NVML)");
    json = energy_to_json(&e);
    energy_from_json(&r, &a, json, &back);
    json_decref(json);
    cr_expect(!r.failed && back.present && strcmp(back.why_not, "no NVML") == 0);
    struct energy none = {0};
    json = energy_to_json(&none);
    cr_expect(json_is_null(json));
    energy_from_json(&r, &a, json, &back);
    cr_expect(!back.present);
    json_decref(json);
}
