// The interval of a comparison is that of both times: each was measured against the first block.
#include "search/judging_table.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block_set.h"
#include "record/profile.h"
#include "record/table.h"

static const char METHOD[] = "from a table: measured once, in pairs with its first block";

// NULL: the table lacks it.
static const struct table_row *row_of(const struct judge_table *j, const struct candidate *c) {
    const struct block_entry *e = c->kernel ? block_set_find(j->rows, c->kernel) : NULL;
    if (e)
        return &j->table->rows[e->number];
    bool is_plain = !c->kernel && c->label && strcmp(c->label, "plain") == 0;
    return is_plain && isfinite(j->table->plain.time_s) ? &j->table->plain : NULL;
}

static struct verdict say(struct arena *a, enum verdict_kind kind, const char *rule,
                          const char *evidence) {
    return (struct verdict){.kind = kind,
                            .rule = rule,
                            .evidence = arena_strdup(a, evidence),
                            .error = {NAN, NAN, NAN, NAN, NAN, NAN}};
}

static struct measurement compare(const struct eval_job *job, const struct table_row *subject,
                                  const struct table_row *baseline) {
    double speedup = baseline->time_s / subject->time_s;
    return (struct measurement){
        .present = true,
        .baseline = job->baseline ? job->baseline->label : job->candidate->label,
        .median_s = subject->time_s,
        .baseline_median_s = baseline->time_s,
        .speedup = speedup,
        .speedup_low = speedup * baseline->low / subject->high,
        .speedup_high = speedup * baseline->high / subject->low,
        .confidence = 0.99,
        .method = METHOD,
    };
}

// Its launches move with the result.
static void copy_profile(struct arena *a, const struct profile *from, struct profile *to) {
    *to = (struct profile){.call = from->call};
    profile_reserve(a, to, from->n_launches);
    for (int i = 0; i < from->n_launches; i++)
        *profile_add_launch(a, to, NULL) = from->launches[i];
}

static bool judge(void *ctx, struct arena *a, const struct eval_job *job,
                  struct eval_result *result, struct error *err) {
    const struct judge_table *j = ctx;
    const struct table_row *subject = row_of(j, job->candidate), *baseline = subject;
    (void)err;
    *result = (struct eval_result){0};
    if (!subject) {
        result->verdict = say(a, VERDICT_ILLEGAL, "not-in-table",
                              arena_printf(a, "the table %s does not have this block", j->name));
        return true;
    }
    if (job->baseline && strcmp(job->baseline->hash, job->candidate->hash) != 0)
        baseline = row_of(j, job->baseline);
    if (subject->verdict != VERDICT_OK) {
        result->verdict = say(a, subject->verdict, NULL, "so it is in the table");
    } else if (!baseline || baseline->verdict != VERDICT_OK) {
        result->verdict = say(a, VERDICT_INFRA, "baseline",
                              arena_printf(a, "the table %s has no time of the baseline", j->name));
    } else {
        result->verdict = say(a, VERDICT_OK, NULL, "");
        result->measurement = compare(job, subject, baseline);
        if (subject->profile)
            copy_profile(a, subject->profile, &result->profile);
    }
    return true;
}

// ---- races

// Survivors are no slower than this against the incumbent, as in a race on a device (eval/race.c).
static const double WORTHWHILE = 0.97;

static struct screening screen(struct arena *a, const struct judge_table *j,
                               const struct race_job *job, const struct candidate *c) {
    const struct table_row *row = row_of(j, c), *incumbent = row_of(j, job->incumbent);
    struct screening s = {
        .present = true, .against = job->incumbent->label, .speedup = NAN, .time_s = NAN};
    if (!row || row->verdict != VERDICT_OK) {
        s.fault =
            row ? arena_printf(a, "%s: so it is in the table", verdict_kind_name(row->verdict))
                : arena_printf(a, "illegal: the table %s does not have this block", j->name);
        return s;
    }
    s.n_rounds = s.n_pairs = 1;
    s.time_s = row->time_s;
    if (incumbent && incumbent->verdict == VERDICT_OK)
        s.speedup = incumbent->time_s / row->time_s;
    return s;
}

// The fastest that has not come through yet; of equals the one that was proposed first.
static struct screening *next_fastest(struct screening *screenings, int n) {
    struct screening *fastest = NULL;
    for (int i = 0; i < n; i++)
        if (!screenings[i].survived && isfinite(screenings[i].time_s) &&
            (!fastest || screenings[i].time_s < fastest->time_s))
            fastest = &screenings[i];
    return fastest;
}

// A rough time is the table's own: what a race decides is exact here, and takes no time.
static bool race(void *ctx, struct arena *a, const struct race_job *job,
                 struct screening *screenings, struct error *err) {
    const struct judge_table *j = ctx;
    (void)err;
    for (int i = 0; i < job->n_candidates; i++)
        screenings[i] = screen(a, j, job, &job->candidates[i]);
    for (int k = 0; k < job->n_survivors; k++) {
        struct screening *s = next_fastest(screenings, job->n_candidates);
        if (!s || s->speedup < WORTHWHILE)
            break;
        s->survived = true;
    }
    return true;
}

struct judging judging_of_table(struct arena *a, struct judge_table *j, const struct table *t,
                                const char *name) {
    *j = (struct judge_table){
        .table = t, .name = name, .rows = block_set_new(a), .best_s = INFINITY};
    for (int i = 0; i < t->n_rows; i++) {
        block_set_add(j->rows, t->rows[i].block)->number = i;
        if (t->rows[i].verdict != VERDICT_OK)
            continue;
        j->n_ok++;
        j->best_s = fmin(j->best_s, t->rows[i].time_s);
    }
    return (struct judging){.judge = judge, .ctx = j, .race = race};
}
