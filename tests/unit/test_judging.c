#include <criterion/criterion.h>

#include "base/arena.h"
#include "base/error.h"
#include "record/judgement.h"
#include "record/run.h"
#include "scratch.h"
#include "search/judging.h"
#include "store/store.h"

static struct judgement said(const char *subject, const char *baseline, const char *depth,
                             double speedup) {
    return (struct judgement){
        .subject = subject,
        .baseline = baseline,
        .depth = depth,
        .verdict = {.kind = VERDICT_OK, .evidence = ""},
        .measurement = {.present = true, .speedup = speedup},
    };
}

// Whether it was ranked is in the record; what would be decided today does not matter.
Test(judging, a_replay_ranks_what_was_ranked) {
    struct arena a = {0};
    struct error err = {0};
    struct candidate x = {.source = "x"}, y = {.source = "y"}, root = {.source = "root"};
    const char *sx = judgement_subject(&a, &x), *sy = judgement_subject(&a, &y);
    const char *r = judgement_subject(&a, &root);
    struct judgement record[] = {said(sx, r, "screen", 0.5), said(sy, r, "screen", 3),
                                 said(sx, r, "rank", 0.6), said(sx, r, "screen", 0.7),
                                 said(sy, sx, "rank", 4)};
    struct judge_replayer replayer;
    struct judging j = judging_replay(&a, &replayer, record, 5);
    struct eval_job of_x = {.candidate = &x, .baseline = &root, .depth = EVAL_SCREEN};
    struct eval_job of_y = {.candidate = &y, .baseline = &root, .depth = EVAL_SCREEN};
    struct eval_result result;
    cr_assert(j.judge(j.ctx, &a, &of_x, &result, &err));
    cr_expect(result.is_final && result.measurement.speedup == 0.6);
    cr_assert(j.judge(j.ctx, &a, &of_y, &result, &err));
    cr_expect(result.is_final && result.measurement.speedup == 3, "that rank has another baseline");
    cr_assert(j.judge(j.ctx, &a, &of_x, &result, &err));
    cr_expect(result.is_final && result.measurement.speedup == 0.7);
    of_y.baseline = &x;
    of_y.depth = EVAL_RANK;
    cr_assert(j.judge(j.ctx, &a, &of_y, &result, &err));
    cr_expect(!result.is_final && result.measurement.speedup == 4);
    cr_assert_eq(replayer.n_missing, 0);
    cr_assert(j.judge(j.ctx, &a, &of_y, &result, &err));
    cr_expect_eq(result.verdict.kind, VERDICT_INFRA);
    cr_expect_eq(replayer.n_missing, 1);
    arena_reset(&a);
}

// What a race said of each, in the order in which it was said; a race is no judgement.
Test(judging, a_replay_races_as_was_recorded) {
    struct arena a = {0};
    struct error err = {0};
    struct candidate both[] = {{.source = "x"}, {.source = "y"}}, root = {.source = "root"};
    const char *sx = judgement_subject(&a, &both[0]), *sy = judgement_subject(&a, &both[1]);
    const char *r = judgement_subject(&a, &root);
    struct judgement record[] = {said(sy, r, "race", 0), said(sx, r, "race", 0),
                                 said(sx, r, "screen", 3), said(sx, r, "race", 0)};
    record[0].screening = (struct screening){.present = true, .speedup = 0.5};
    record[1].screening = (struct screening){.present = true, .speedup = 2, .survived = true};
    record[3].screening = (struct screening){.present = true, .speedup = 4};
    struct judge_replayer replayer;
    struct judging j = judging_replay(&a, &replayer, record, 4);
    struct race_job job = {.candidates = both, .n_candidates = 2, .incumbent = &root};
    struct screening out[2];
    cr_assert(j.race(j.ctx, &a, &job, out, &err));
    cr_expect(out[0].speedup == 2 && out[0].survived && out[1].speedup == 0.5);
    struct eval_job of_x = {.candidate = &both[0], .baseline = &root, .depth = EVAL_SCREEN};
    struct eval_result result;
    cr_assert(j.judge(j.ctx, &a, &of_x, &result, &err));
    cr_expect_eq(result.measurement.speedup, 3);
    cr_assert(j.race(j.ctx, &a, &job, out, &err));
    cr_expect_eq(out[0].speedup, 4);
    cr_expect(out[1].present && out[1].is_untimed, "the record has no more of it");
    cr_expect_eq(replayer.n_missing, 1);
    arena_reset(&a);
}

// A replay takes a bound where the run had measured it, whatever for.
Test(judging, a_bound_is_next_only_where_it_was_measured) {
    struct arena a = {0};
    struct error err = {0};
    struct candidate x = {.source = "x"}, root = {.source = "root"};
    const char *sx = judgement_subject(&a, &x), *r = judgement_subject(&a, &root);
    struct judgement record[] = {said("bound", NULL, "bound", 0), said(sx, r, "screen", 2),
                                 said("bound", NULL, "bound", 0), said(sx, r, "screen", 3),
                                 said("end", NULL, "end", 0),     said("bound", NULL, "bound", 0)};
    record[4].bound = "{\"nodes\": 3, \"reason\": \"evals\"}";
    struct judge_replayer replayer;
    struct judging j = judging_replay(&a, &replayer, record, 6);
    struct eval_job job = {.candidate = &x, .baseline = &root, .depth = EVAL_SCREEN};
    struct eval_result result;
    int n_nodes;
    const char *reason;
    cr_assert_eq(judging_replay_bound(&replayer), &record[0]);
    cr_assert(judging_replay_end(&a, &replayer, &n_nodes, &reason));
    cr_expect_eq(n_nodes, 3);
    cr_expect(!judging_replay_is_bound_next(&replayer), "nothing was judged yet");
    cr_assert(j.judge(j.ctx, &a, &job, &result, &err));
    cr_expect(judging_replay_is_bound_next(&replayer));
    cr_assert_eq(judging_replay_bound(&replayer), &record[2]);
    cr_expect(!judging_replay_is_bound_next(&replayer), "once");
    cr_assert(j.judge(j.ctx, &a, &job, &result, &err));
    cr_expect(!judging_replay_is_bound_next(&replayer), "that one is after the end");
    cr_expect(!judging_replay_end(&a, &replayer, &n_nodes, &reason), "there is no other end");
    cr_expect(judging_replay_is_bound_next(&replayer));
    arena_reset(&a);
}

static int n_asked;

static bool ask(void *ctx, struct arena *a, const struct eval_job *job, struct eval_result *result,
                struct error *err) {
    (void)ctx, (void)a, (void)job, (void)err;
    n_asked++;
    *result = (struct eval_result){.verdict = {.kind = VERDICT_OK, .evidence = ""},
                                   .measurement = {.present = true, .speedup = n_asked}};
    return true;
}

// Killed after the first game of its play-off, a run does not play and record it twice.
Test(judging, a_finale_goes_on_where_it_was_killed) {
    struct arena a = {0};
    struct error err = {0};
    struct store *store;
    struct judgement *all;
    int n;
    const char *dir = scratch_make(&a);
    cr_assert(store_open(&store, arena_printf(&a, "%s/runs.db", dir), true, &err));
    struct run run = {.problem_name = "p", .batch = 1, .champion = -1};
    run.problem_text = run.problem_hash = run.target = run.device = run.policy = run.proposer =
        run.bound = run.started_at = run.version = "";
    cr_assert(store_add_run(store, &run, &err), "%s", err.text);
    struct candidate x = {.source = "x"}, y = {.source = "y"}, root = {.source = "root"};
    struct judge_recorder first = {.inner = {.judge = ask}, .store = store, .run = run.id};
    struct judging j = judging_record(&first);
    struct eval_job ranked = {.candidate = &x, .baseline = &root, .depth = EVAL_RANK};
    struct eval_job game = {.candidate = &y, .baseline = &x, .depth = EVAL_RANK};
    struct eval_result result;
    cr_assert(j.judge(j.ctx, &a, &ranked, &result, &err), "%s", err.text);
    cr_assert(j.judge(j.ctx, &a, &game, &result, &err));
    struct judge_recorder second = {.inner = {.judge = ask}, .store = store, .run = run.id};
    cr_assert(judging_load_finale(&a, &second, &root, &err));
    cr_expect_eq(second.n_recalled, 1, "what nodes were ranked by is no part of it");
    j = judging_record(&second);
    cr_assert(j.judge(j.ctx, &a, &game, &result, &err));
    cr_expect(n_asked == 2 && result.measurement.speedup == 2, "as it was said");
    cr_assert(j.judge(j.ctx, &a, &game, &result, &err));
    cr_expect_eq(n_asked, 3, "once");
    cr_assert(store_get_judgements(store, &a, run.id, &all, &n, &err));
    cr_expect_eq(n, 3);
    store_close(store);
    scratch_remove(dir);
    arena_reset(&a);
}
