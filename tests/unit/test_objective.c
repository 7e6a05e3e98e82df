// Champions by energy (search/finale_energy.c), on a table (loop_table.h) in which candidates take
// nearly the same time and quite different energy.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "loop_table.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/progress.h"

TestSuite(objective, .init = loop_set_up, .fini = loop_tear_down);

static void start(struct setting *s, struct table *t, enum run_objective objective) {
    *s = usual;
    *t = plain_table;
    t->objective = objective;
    t->is_lucky = t->has_energy = true;
    t->doubt = 0.03;
}

static int n_with_energy(const struct search_node *nodes, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += nodes[i].measurement.energy.present;
    return count;
}

static void expect_thriftiest(const struct setting *s, const struct run *run, bool times_time) {
    struct search_node *nodes;
    int n = nodes_of(s->db, &nodes), best = run->fastest;
    int n_finalists = 0;
    for (int i = 0; i < n; i++) {
        const struct search_node *x = &nodes[i];
        if (!x->measurement.energy.present)
            continue;
        n_finalists++;
        double mine = x->measurement.energy.call_j, his = nodes[best].measurement.energy.call_j;
        struct table t = {.is_lucky = true};
        if (times_time) {
            mine *= table_time(&t, &x->candidate);
            his *= table_time(&t, &nodes[best].candidate);
        }
        if (mine < his)
            best = i;
    }
    cr_expect_geq(n_finalists, 3);
    cr_expect_eq(run->champion, best, "%d, expected %d", run->champion, best);
}

Test(objective, energy_prefers_less_of_it_among_those_as_fast) {
    struct setting s;
    struct table t;
    struct run run, again;
    start(&s, &t, OBJECTIVE_ENERGY);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_gt(t.n_energy, 1);
    cr_expect_neq(run.champion, run.fastest, "the table has a thriftier one");
    cr_expect_gt(t.confirm_energy_s, 2);
    cr_expect(run.confirm.energy.present);
    expect_thriftiest(&s, &run, false);
    cr_expect(strstr(t.notes, "energy: node "), "%s", t.notes);
    // What was settled stays so, and is read back as it was.
    int n_calls = t.n_calls;
    cr_assert(go(&s, &t, &again), "%s", err.text);
    cr_expect_eq(t.n_calls, n_calls);
    cr_expect(again.champion == run.champion && again.fastest == run.fastest);
    cr_expect_eq(again.objective, OBJECTIVE_ENERGY);
}

Test(objective, edp_prefers_the_least_product) {
    struct setting s;
    struct table t;
    struct run run;
    start(&s, &t, OBJECTIVE_EDP);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    expect_thriftiest(&s, &run, true);
}

Test(objective, time_compares_no_energy_but_measures_the_champions) {
    struct setting s;
    struct table t;
    struct run run;
    start(&s, &t, OBJECTIVE_TIME);
    cr_assert(go(&s, &t, &run), "%s", err.text);
    struct search_node *nodes;
    int n = nodes_of(s.db, &nodes);
    cr_expect_eq(n_with_energy(nodes, n), 0);
    cr_expect_eq(t.n_energy, 0);
    cr_expect(run.confirm.energy.present && run.champion == run.fastest);
    cr_expect_eq(run.champion, progress_champion(nodes, n));
}

Test(objective, without_a_counter_the_fastest_is_champion) {
    struct setting s;
    struct table t;
    struct run run;
    start(&s, &t, OBJECTIVE_ENERGY);
    t.why_no_energy = "no counter";
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect_eq(t.n_energy, 1, "asked once");
    cr_expect_eq(run.champion, run.fastest);
    cr_expect(strstr(t.notes, "not measured (no counter): the fastest is the champion"), "%s",
              t.notes);
    cr_expect_str_eq(run.confirm.energy.why_not, "no counter");
    // On a CPU nobody is asked.
    s.db = "cpu.db";
    t.has_energy = false;
    t.n_energy = 0;
    t.notes[0] = 0;
    cr_assert(go(&s, &t, &run), "%s", err.text);
    cr_expect(t.n_energy == 0 && t.confirm_energy_s == 0);
    cr_expect(strstr(t.notes, "not measured (only a GPU has a counter)"), "%s", t.notes);
}

Test(objective, finalists_are_few_and_not_slower) {
    struct search_node nodes[6];
    int finalists[FINALISTS_MAX];
    static const double speedups[] = {1, 2, 1.99, 1.7, 1.995, 1.98};
    for (int i = 0; i < 6; i++)
        nodes[i] = (struct search_node){.number = i,
                                        .time_s = 1 / speedups[i],
                                        .verdict = {.kind = VERDICT_OK},
                                        .measurement = {.present = true,
                                                        .speedup = speedups[i],
                                                        .speedup_low = speedups[i] - 0.01,
                                                        .speedup_high = speedups[i] + 0.01}};
    nodes[5].verdict.kind = VERDICT_SUSPECT;
    cr_assert_eq(finale_finalists(nodes, 6, 1, OBJECTIVE_ENERGY, finalists), 2);
    cr_expect(finalists[0] == 4 && finalists[1] == 2);
    cr_assert_eq(finale_finalists(nodes, 6, 1, OBJECTIVE_EDP, finalists), 3);
    cr_expect(finalists[2] == 3);
}
