// The table of families and their emitters.
#include <criterion/criterion.h>
#include <string.h>

#include "family/family.h"
#include "lowering.h"

static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a"};

// Every target that there is: the CPU, then the architectures.
static struct target nth_target(int i) {
    struct target t = test_target(32);
    if (i > 0)
        cr_assert(target_of_arch(archs[i - 1], &t));
    return t;
}

static int count_knobs(const struct emitter *e) {
    int n = 0;
    while (e->knobs[n].name)
        n++;
    return n;
}

Test(emitter, rows_are_whole_and_names_tell_them_apart) {
    for (const struct family *f = families; f->name; f++) {
        cr_expect_eq(family_find(f->name), f);
        cr_expect_eq(!f->accepts, !f->emitters[0], "%s", f->name);
        for (int i = 0; f->emitters[i]; i++) {
            const struct emitter *e = f->emitters[i];
            cr_expect(e->name && e->summary && e->defaults && e->is_legal && e->lower &&
                          e->estimate,
                      "%s", f->name);
            cr_expect_leq(count_knobs(e), KNOBS_MAX);
            for (int j = 0; j < i; j++)
                cr_expect_str_neq(e->name, f->emitters[j]->name, "%s", f->name);
        }
    }
}

Test(emitter, a_family_that_has_one_has_one_for_every_target) {
    for (int i = 0; i < 4; i++) {
        struct target t = nth_target(i);
        for (const struct family *f = families; f->name; f++) {
            const struct emitter *e = family_emitter(f, &t);
            cr_expect_eq(!e, !f->accepts, "%s on %s", f->name, target_kernel_name(&t));
            cr_expect(!e || e->runs_on(&t));
        }
    }
}
