#include <criterion/criterion.h>

#include "base/str.h"
#include "ops/op_aa.h"

// Every pair is kept, in the order taken, with a word behind those that are no ordinary ones.
Test(aa, keeps_every_pair_and_says_which_did_not_count) {
    double subject_s[] = {0.001, 0.002, 0.003}, baseline_s[] = {0.0011, 0.0012, 0.0013};
    double others_s[] = {0.25, 0.5}, other_baselines_s[] = {0.125, 1};
    struct measurement m = {.present = true,
                            .n_pairs = 3,
                            .subject_s = subject_s,
                            .baseline_s = baseline_s,
                            .n_dropped = 2,
                            .raw = {".xd.s", others_s, other_baselines_s}};
    struct str s = {0};
    op_aa_put_pairs(&s, 4, &m);
    cr_expect_str_eq(str_text(&s),
                     "# trial 4: 3 pairs, 2 left out; seconds of subject and baseline\n"
                     "0.001 0.0011\n"
                     "0.25 0.125 left-out\n"
                     "0.002 0.0012 disturbed\n"
                     "0.003 0.0013\n"
                     "0.5 1 slowed\n");
    str_reset(&s);
    // A worker that does not know of this answers without them.
    m.raw.marks = NULL;
    op_aa_put_pairs(&s, 1, &m);
    cr_expect_str_eq(str_text(&s),
                     "# trial 1: 3 pairs, 2 left out; seconds of subject and baseline\n"
                     "0.001 0.0011\n0.002 0.0012\n0.003 0.0013\n");
    str_reset(&s);
}
