#include "text_mutants.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/plain.h"
#include "family/program.h"
#include "loop/passes.h"

enum { SEEDS = 6 };

// Of the card; 0: as many as the architecture's first has.
static int card_sms;

void mutants_card(int sms) {
    card_sms = sms;
}

static struct target card(void) {
    struct target t;
    target_of_arch("sm_90a", &t);
    t.sms = card_sms ? card_sms : t.sms;
    return t;
}

static struct kernel *make_kernel(struct text_subject *s, const struct target *t,
                                  const char *stages) {
    struct error err = {0};
    const char *text = arena_printf(&s->arena, "%s\nkernel for %s on %s\n%s", s->problem->text,
                                    s->problem->name, t->name, stages);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics = "";
    cr_assert(lang_parse(&s->arena, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

void mutants_subject(struct text_subject *s, const struct mutant_kernel *k, uint64_t seed) {
    struct target t;
    struct error err = {0};
    *s = (struct text_subject){0};
    t = card();
    s->problem = problem_from(&s->arena, k->problem);
    text_expect(s, seed);
    if (!k->stages)
        lower_plain(&s->arena, s->problem, &t, &s->candidate);
    else
        cr_assert(lower_kernel(&s->arena, s->problem, &t, make_kernel(s, &t, k->stages),
                               &s->candidate, &err),
                  "%s", err.text);
}

struct loop_program *mutants_loops(struct text_subject *s, const char *stages) {
    struct target t = card();
    struct error err = {0};
    struct loop_program *p;
    if (!stages) {
        p = plain_program(&s->arena, s->problem, &t);
    } else {
        struct kernel *k = make_kernel(s, &t, stages);
        cr_assert(lower_check(&s->arena, s->problem, &t, k, &err), "%s", err.text);
        p = program_lower(&s->arena, s->problem, &t, k);
    }
    pass_prune(p);
    return p;
}

// Conditions on indices that must hold together.
static void count_conditions(const struct loop_expr *e, int *n) {
    if (e->op == LOOP_AND) {
        count_conditions(e->arg[0], n);
        count_conditions(e->arg[1], n);
    }
    n[FIBRE_MASK] += e->op >= LOOP_LT && e->op <= LOOP_NE && e->arg[0]->dtype == LOOP_INDEX;
}

static void count_expr(const struct loop_expr *e, int *n) {
    if (!e)
        return;
    bool chooses = e->op == LOOP_MIN || e->op == LOOP_MAX || e->op == LOOP_SELECT;
    n[FIBRE_MINIMUM] += e->dtype == LOOP_INDEX && chooses ? 2 : 0;
    if (e->op == LOOP_SELECT)
        count_conditions(e->arg[0], n);
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        count_expr(e->arg[i], n);
}

bool mutants_is_order(const struct loop_stmt *s) {
    if (s->kind != LOOP_INTRINSIC)
        return false;
    enum intrinsic_effect e = intrinsic_infos[s->intrinsic].effect;
    return e == EFFECT_COMMITS || e == EFFECT_WAITS || e == EFFECT_ORDERS;
}

static void count_block(const struct loop_block *b, int *n) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        const struct loop_expr *all[] = {s->begin, s->end, s->low, s->high, s->value, s->index};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            count_expr(all[i], n);
        n[FIBRE_GUARD] += s->kind == LOOP_IF;
        n[FIBRE_BARRIER] +=
            s->kind == LOOP_BARRIER || s->kind == LOOP_GROUP_BARRIER || mutants_is_order(s);
        for (int i = 0; i < INTRINSIC_OPERANDS_MAX && s->kind == LOOP_INTRINSIC; i++)
            count_expr(s->operand[i].index, n);
        count_block(&s->body, n);
    }
}

// Were all found in the text that there are in the loops, and nothing else?
static void check_mutants(struct text_subject *s, const struct fibre_text *t, const char *stages) {
    int there[FIBRE_KINDS] = {0}, found[FIBRE_KINDS] = {0};
    struct loop_program *p = mutants_loops(s, stages);
    for (int k = 0; k < p->n_kernels; k++)
        count_block(&p->kernels[k]->body, there);
    for (int m = 0; m < t->n_mutants; m++)
        found[t->mutants[m].kind]++;
    for (int kind = 0; kind < FIBRE_KINDS; kind++)
        cr_assert_eq(found[kind], there[kind], "kind %d: %d of %d\n%s", kind, found[kind],
                     there[kind], t->source);
}

static bool is_kind(const struct loop_stmt *s, enum fibre_kind kind) {
    if (kind == FIBRE_GUARD)
        return s->kind == LOOP_IF;
    return s->kind == LOOP_BARRIER || s->kind == LOOP_GROUP_BARRIER || mutants_is_order(s);
}

// Take guard or barrier number `*n` (in the order of the text) out of the loops.
static bool take_out(struct loop_block *b, enum fibre_kind kind, int *n) {
    struct loop_stmt **at = &b->first, *before = NULL;
    for (struct loop_stmt *s = b->first; s; before = s, at = &s->next, s = s->next) {
        if (is_kind(s, kind) && --*n == 0) {
            struct loop_stmt *last = kind == FIBRE_GUARD ? s->body.last : before;
            if (kind == FIBRE_GUARD)
                s->body.last->next = s->next;
            *at = kind == FIBRE_GUARD ? s->body.first : s->next;
            b->last = s->next ? b->last : last;
            return true;
        }
        if (take_out(&s->body, kind, n))
            return true;
    }
    return false;
}

// Does the interpreter of loops object when guard or barrier number `n` of the text is missing?
static bool races_without(struct text_subject *s, const char *stages, enum fibre_kind kind, int n) {
    char message[1200] = "";
    struct loop_program *p = mutants_loops(s, stages);
    bool found = false;
    for (int j = 0; j < p->n_kernels && !found; j++)
        found = take_out(&p->kernels[j]->body, kind, &n);
    cr_assert(found);
    double error = expect_execute(&s->expected, &s->arena, s->problem, p, message, sizeof message);
    if (kind == FIBRE_GUARD)
        return error < 0 && strstr(message, "is written by two");
    return error < 0 && (strstr(message, "before a barrier after another") ||
                         strstr(message, "before its writer has fenced it") ||
                         strstr(message, "while another block writes it"));
}

// Which of the text's guards or barriers mutant `m` leaves out, from 1; 0: it is neither.
static int number_of(const struct fibre_text *t, int m) {
    enum fibre_kind kind = t->mutants[m - 1].kind;
    int n = 0;
    for (int i = 0; i < m; i++)
        n += t->mutants[i].kind == kind;
    return kind == FIBRE_GUARD || kind == FIBRE_BARRIER ? n : 0;
}

static bool fails_for_some_seed(struct text_subject *s, const struct fibre_program *p, int text,
                                int mutant) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const char *fault;
        if (!text_is_right(s, p, (struct fibre_run){text, seed, mutant}, &fault))
            return true;
    }
    return false;
}

static bool makes_no_difference(const struct mutant_set *set, const struct problem *p,
                                const struct fibre_text *t, const struct fibre_mutant *m) {
    int before = 0;
    for (const struct fibre_mutant *other = t->mutants; other < m; other++)
        before += strcmp(other->what, m->what) == 0;
    for (int i = 0; i < set->n_same; i++)
        if (strcmp(set->same[i].problem, p->name) == 0 && strcmp(set->same[i].what, m->what) == 0 &&
            before >= set->same[i].before)
            return true;
    return false;
}

// A guard by which one thread of many stores what all of them know is not missed by the
// result, which is stored many times then; it is missed by the interpreter of loops, which
// lets no two threads write the same place. So is a barrier before what rarely matters.
static void try_mutant(const struct mutant_set *set, struct text_subject *s,
                       const struct fibre_program *p, struct fibre_run r,
                       struct mutant_tally *tally) {
    const struct fibre_text *t = &p->texts[r.text];
    const struct fibre_mutant *m = &t->mutants[r.mutant - 1];
    int number = number_of(t, r.mutant);
    bool fails = fails_for_some_seed(s, p, r.text, r.mutant);
    if (makes_no_difference(set, s->problem, t, m)) {
        cr_expect(!fails, "it makes a difference: %s\n%s", m->what, t->source);
        tally->same++;
        return;
    }
    tally->all[m->kind]++;
    if (!fails && number > 0 && races_without(s, set->kernels[r.text].stages, m->kind, number)) {
        tally->races++;
        fails = true;
    }
    tally->killed[m->kind] += fails;
    cr_expect(fails, "survives without `%s`:\n%s", m->what, t->source);
}

static void print_tally(const struct mutant_tally *t) {
    static const char *const names[FIBRE_KINDS] = {"barriers", "guards", "sides of minima",
                                                   "masks"};
    int all = 0, killed = 0;
    for (int kind = 0; kind < FIBRE_KINDS; kind++) {
        all += t->all[kind];
        killed += t->killed[kind];
    }
    fprintf(stderr, "mutants: %d of %d killed (", killed, all);
    for (int kind = 0; kind < FIBRE_KINDS; kind++)
        fprintf(stderr, "%s%d of %d %s", kind ? ", " : "", t->killed[kind], t->all[kind],
                names[kind]);
    fprintf(stderr, "), %d of them by the check for races; %d more make no difference\n", t->races,
            t->same);
    cr_assert_eq(killed, all);
}

void mutants_try(const struct mutant_set *set, struct mutant_tally *tally) {
    struct arena a = {0};
    struct text_subject *s = arena_array(&a, struct text_subject, set->n_kernels);
    struct fibre_program *p = arena_new(&a, struct fibre_program);
    *tally = (struct mutant_tally){0};
    for (int i = 0; i < set->n_kernels; i++) {
        mutants_subject(&s[i], &set->kernels[i], (uint64_t)i);
        text_add(p, &s[i]);
    }
    // Clang makes NaN of registers that are read before they are written.
    fibre_build(&a, "clang", p);
    for (int i = 0; i < set->n_kernels; i++) {
        const char *fault;
        check_mutants(&s[i], &p->texts[i], set->kernels[i].stages);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            cr_assert(text_is_right(&s[i], p, (struct fibre_run){i, seed, 0}, &fault), "%s\n%s",
                      s[i].candidate.source, fault);
        for (int m = 1; m <= p->texts[i].n_mutants; m++)
            try_mutant(set, &s[i], p, (struct fibre_run){.text = i, .mutant = m}, tally);
        text_close(&s[i]);
    }
    print_tally(tally);
    fibre_remove(p);
    arena_reset(&a);
}
