// Energy of a candidate's calls, once its verdict stands: calls back to back in its runner, in
// rotation over the slots, while the judge reads the card's counter about every millisecond and
// finds its steps (energy_windows.h). Before that the card has nothing to do for a while, which
// gives its idle power. Two candidates that are compared take turns, ABBA.
//
// Nothing here changes a verdict. A card without the counter, or without NVML, or a candidate that
// does not stand being called like that, has no energy, and the measurement says why.
//
// Inputs are not drawn again between these calls, so a candidate that keeps results would look
// thrifty. The time of a call shows that: far less than what was timed on new data is refused.
// Where all slots together fit into the caches, the same is only to be expected, and is said.
#include <math.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "eval/device_gpu.h"
#include "eval/energy_windows.h"

static const double window_least_s = 1, window_most_s = 2, idle_s = 0.35;
static const double burst_s = 0.15;      // of calls that the runner is asked for at once
static const double stuck_s = 2;         // a load without a window for so much longer has none
static const double useful = 0.015;      // half width of the interval, against the value
static const double kept_results = 0.5;  // less than this of the time that was measured
enum { WINDOWS_MAX = 16 };

struct meter {
    struct judge *j;
    struct energy_series *series;
    double window_s;
    bool is_cold;         // no slot is in the caches when its turn comes
    const char *why_not;  // NULL: nothing is wrong so far
};

// What is called, how long a call took when it was timed, and where its energy goes.
struct load {
    struct subject *subject;
    double timed_s;
    struct energy *energy;
};

static double now_s(void) {
    return (double)clock_now_ns() * 1e-9;
}

static void read_counter(void *ctx) {
    struct meter *m = ctx;
    const struct gpu_clocks *c = &m->j->gpu->clocks;
    double from_s = now_s(), counter_j = nvml_energy_j(&c->nvml, c->device);
    if (isfinite(counter_j))
        energy_series_read(m->series, from_s, now_s(), counter_j);
}

static const char *find_counter(struct judge *j, struct arena *a) {
    const struct gpu_clocks *c = &j->gpu->clocks;
    struct error err = {0};
    if (!c->nvml.handle)
        return arena_strdup(a, c->why_not);
    return nvml_energy_check(&c->nvml, c->device, &err) ? NULL : arena_strdup(a, err.text);
}

// Nothing to do, until the power of that is known.
static double idle_power(struct meter *m, struct arena *a) {
    double start_s = now_s(), until_s = start_s + energy_settle_s() + idle_s;
    energy_series_start(m->series, start_s);
    while (now_s() < until_s) {
        read_counter(m);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (m->series->n_steps == 0)
        m->why_not = arena_printf(a, "the counter did not move for %.2f s", now_s() - start_s);
    return energy_series_power_w(m->series);
}

// Wait for calls that were asked for; false: they failed, and why.
static bool await_calls(struct meter *m, struct arena *a, struct subject *s,
                        const struct gpu_repeat *repeat) {
    enum runner_status status;
    if (gpu_runner_await(s->gpu->runner, repeat, &status))
        return true;
    struct verdict v = {.evidence = ""};
    gpu_runner_explain(a, s->gpu->runner, status, &v);
    m->why_not = arena_printf(a, "called back to back it fails: %s", v.evidence);
    return false;
}

// One load: calls until there is a window. The next burst is asked for before the one before has
// ended: a reading of the counter takes milliseconds, in which the card must not run dry. False:
// there is none, and why.
static bool measure_load(struct meter *m, struct arena *a, struct subject *s, double call_s,
                         struct energy_window *w) {
    struct judge *j = m->j;
    int64_t n = (int64_t)fmin(20000, fmax(1, burst_s / call_s)), n_calls = 0;
    struct gpu_repeat repeat = {.n_calls = n,
                                .timeout_ns = (int64_t)(1e9 * (2 + 40 * (double)n * call_s)),
                                .meanwhile = read_counter,
                                .ctx = m};
    gpu_check(j, j->gpu->bench.cu.context_synchronize(), "prepare device memory");
    double start_s = now_s(), most_s = energy_settle_s() + m->window_s + stuck_s;
    bool is_there = false;
    energy_series_start(m->series, start_s);
    gpu_runner_repeat(s->gpu->runner, &repeat);
    while (!is_there && now_s() - start_s < most_s) {
        repeat.slot = (int)((n_calls + n) % j->layout.n_slots);
        gpu_runner_repeat(s->gpu->runner, &repeat);
        if (!await_calls(m, a, s, &repeat))
            return false;
        n_calls += n;
        energy_series_mark(m->series, now_s(), (double)n_calls);
        is_there = energy_series_window(m->series, m->window_s, w);
    }
    if (!await_calls(m, a, s, &repeat) || is_there)
        return is_there && !m->why_not;
    m->why_not = m->series->n_steps < 2
                     ? arena_printf(a, "the counter did not move within %.1f s", most_s)
                     : arena_printf(a, "power did not settle within %.1f s", most_s);
    return false;
}

// As layout_slots wants it, which has not always the room.
static bool is_cold(const struct judge *j) {
    int64_t bytes = 0;
    for (int i = 0; i < j->context.n_buffers; i++)
        bytes += j->context.buffers[i].size_bytes;
    return bytes * j->layout.n_slots >= 2 * j->settings.llc_bytes;
}

// What all windows of a subject say. `timed_s`: a call by the judge's measurement.
static void conclude(struct meter *m, struct arena *a, const struct energy_window *windows, int n,
                     double timed_s, struct energy *e) {
    if (n > 0)
        energy_estimate(windows, n, e);
    if (!m->why_not && m->is_cold && e->call_s < kept_results * timed_s)
        m->why_not = arena_printf(
            a, "a call on the same data takes %s, and %s on new data: that is another load",
            clock_duration(a, e->call_s * 1e9), clock_duration(a, timed_s * 1e9));
    e->why_not = m->why_not;
    e->method = m->is_cold ? "slope of NVML's counter at its steps, the first ones left out; calls "
                             "over cold slots"
                           : "slope of NVML's counter at its steps, the first ones left out; calls "
                             "on data that stay in the caches";
}

// Subjects in turns, AB BA AB ..., until all intervals are useful or the time is over.
static void measure_all(struct meter *m, struct arena *a, const struct load *loads, int n_loads,
                        double until_s) {
    struct energy_window windows[2][WINDOWS_MAX];
    double round_s = 0;
    bool is_useful = false;
    for (int n = 0; n < WINDOWS_MAX && !m->why_not; n++) {
        double start_s = now_s();
        // Two that are compared have both had their turn first and last.
        bool is_fair = n_loads == 1 || n % 2 == 0;
        if (n > 0 && is_fair && (is_useful || start_s + n_loads * round_s > until_s))
            break;
        for (int i = 0; i < n_loads && !m->why_not; i++) {
            int k = n % 2 ? n_loads - 1 - i : i;
            measure_load(m, a, loads[k].subject, loads[k].timed_s, &windows[k][n]);
        }
        round_s = now_s() - start_s;
        is_useful = true;
        for (int k = 0; k < n_loads; k++) {
            conclude(m, a, windows[k], m->why_not ? 0 : n + 1, loads[k].timed_s, loads[k].energy);
            is_useful = is_useful && energy_unsure(loads[k].energy) < useful;
        }
    }
    for (int k = 0; k < n_loads; k++)
        loads[k].energy->why_not = m->why_not;
}

void gpu_measure_energy(struct judge *j, struct arena *a, struct subject *s,
                        struct subject *baseline, double seconds, struct measurement *m) {
    double until_s = now_s() + seconds;
    int n = baseline ? 2 : 1, n_loads = baseline ? 4 : 1;
    const struct load loads[] = {{s, m->median_s, &m->energy},
                                 {baseline, m->baseline_median_s, &m->baseline_energy}};
    double window_s = (seconds - idle_s - (n_loads + 1) * energy_settle_s()) / n_loads;
    struct meter meter = {.j = j,
                          .series = arena_new(a, struct energy_series),
                          .window_s = fmin(window_most_s, fmax(window_least_s, window_s)),
                          .is_cold = is_cold(j),
                          .why_not = find_counter(j, a)};
    double idle_w = meter.why_not ? NAN : idle_power(&meter, a);
    for (int k = 0; k < n; k++)
        *loads[k].energy =
            (struct energy){.present = true, .why_not = meter.why_not, .idle_w = idle_w};
    measure_all(&meter, a, loads, n, until_s);
}
