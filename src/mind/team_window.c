// What each role is shown. A window is a list of sections; when it is, with the system's part,
// longer than its tokens allow, sections go in a stated order, the last rank first: distant
// relatives, then leaders and root, then moves that nobody tried, then the emitted source of a
// kernel block, then older attempts. The problem, the bound, the node's own text, the findings and
// the verdict always stay.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "mind/moves_untried.h"
#include "mind/priors.h"
#include "mind/spans.h"
#include "mind/team_private.h"

enum {
    SECTIONS_MAX = 12,
    ATTEMPTS_MAX = 12,
    EVIDENCE_MAX = 6000,
    CHANGE_MAX = 600,
    MOVES_MAX = 60
};

enum rank { KEEP, ATTEMPTS, EMITTED, MOVES, ROOT, LEADERS, RELATIVES };

struct section {
    const char *title, *text;
    enum rank rank;
};

struct window {
    struct arena *a;
    struct section sections[SECTIONS_MAX];
    int n;
};

static void add(struct window *w, enum rank rank, const char *title, struct str *text) {
    if (text->len > 0 && w->n < SECTIONS_MAX)
        w->sections[w->n++] = (struct section){title, str_take(w->a, text), rank};
    str_reset(text);
}

// Marks within a text that others wrote are broken, so that it cannot end the fence around it.
static const char *harmless(struct arena *a, const char *text) {
    struct str out = {0};
    for (const char *at = text; *at;) {
        const char *mark = strstr(at, "<<<");
        size_t len = mark ? (size_t)(mark - at) : strlen(at);
        str_append(&out, at, len);
        at += len;
        if (mark) {
            str_puts(&out, "<< <");
            at += 3;
        }
    }
    return str_take(a, &out);
}

// What was changed to make a node, in a line.
static const char *change_of(struct arena *a, const struct search_node *n) {
    const char *words = n->change ? n->change : n->move ? n->move : "";
    size_t len = strlen(words);
    char *line = arena_strndup(a, words, len < CHANGE_MAX ? len : CHANGE_MAX);
    str_clean(line, strlen(line));
    for (char *c = line; *c; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    return harmless(a, len <= CHANGE_MAX ? line : arena_printf(a, "%s...", line));
}

static void put_data(struct str *out, const char *name, const char *text) {
    struct arena a = {0};
    str_printf(out, "<<<DATA %s>>>\n", name);
    str_puts(out, harmless(&a, text));
    str_puts(out, "\n<<<END DATA>>>\n");
    arena_reset(&a);
}

const char *window_data(struct arena *a, const char *name, const char *text) {
    struct str out = {0};
    put_data(&out, name, text);
    return str_take(a, &out);
}

static const char *numbered(struct arena *a, const char *text) {
    struct str out = {0};
    int line = 1;
    for (const char *at = text; *at; line++) {
        size_t len = strcspn(at, "\n");
        str_printf(&out, "%4d| %.*s\n", line, (int)len, at);
        at += len + (at[len] == '\n');
    }
    return str_take(a, &out);
}

const char *window_base(const struct brief *b, bool source) {
    const struct candidate *c = &b->node->candidate;
    return !source && c->kernel ? c->kernel : c->source;
}

// ---- nodes in words

static void put_outcome(struct str *out, const struct brief *b, const struct search_node *n) {
    const struct measurement *m = &n->measurement;
    struct arena a = {0};
    str_puts(out, n->state == NODE_EVALUATED  ? verdict_kind_name(n->verdict.kind)
                  : n->state == NODE_SCREENED ? "lost a race, not verified"
                                              : "not judged yet");
    if (isfinite(n->time_s)) {
        str_printf(out, ", %s", clock_duration(&a, n->time_s * 1e9));
        if (n->number > 0 && isfinite(b->root->time_s))
            str_printf(out, ", %.2fx over node 0", b->root->time_s / n->time_s);
        if (n->number > 0 && m->present)
            str_printf(out, " (%.2f to %.2f)", m->speedup_low, m->speedup_high);
        if (isfinite(b->bound->reach_s))
            str_printf(out, ", %.0f%% of reach", 100 * b->bound->reach_s / n->time_s);
    }
    arena_reset(&a);
}

// What the time of a node is made of: when it was timed, against what, and how much it scattered.
static void put_timing(struct str *out, struct arena *a, const struct search_node *n) {
    const struct measurement *m = &n->measurement;
    if (!m->present || m->spread.n < 1)
        return;
    str_printf(out, "When it was timed its own median was %s, half of %d samples between %s and %s",
               clock_duration(a, m->median_s * 1e9), m->spread.n,
               clock_duration(a, m->spread.low_s * 1e9), clock_duration(a, m->spread.high_s * 1e9));
    if (n->number > 0)
        str_printf(out, "; node 0 took %s at the same moments",
                   clock_duration(a, m->baseline_median_s * 1e9));
    str_puts(out, ". Findings speak of that median.\n");
}

static const struct search_node *parent_of(const struct brief *b, const struct search_node *n) {
    for (int i = 0; i < b->all.n; i++)
        if (b->all.nodes[i]->number == n->parent)
            return b->all.nodes[i];
    return NULL;
}

// What its planner expected over its parent, and what came of it.
static void put_expected(struct str *out, const struct brief *b, const struct search_node *n) {
    double expected = n->by && strcmp(n->by, "team") == 0 ? n->expected : NAN;
    const struct search_node *parent = parent_of(b, n);
    if (!(expected > 0) || !parent)
        return;
    str_printf(out, " (expected %.2fx over node %d", expected, n->parent);
    if (isfinite(parent->time_s / n->time_s))
        str_printf(out, ", measured %.2fx", parent->time_s / n->time_s);
    str_puts(out, ")");
}

static void put_node(struct str *out, const struct brief *b, const struct search_node *n) {
    str_printf(out, "- node %d: ", n->number);
    put_outcome(out, b, n);
    put_expected(out, b, n);
    struct arena a = {0};
    str_printf(out, ": %s\n", n->number == 0 ? "the default kernel" : change_of(&a, n));
    // One line of it; but the compiler repeats what is in a source, so it is fenced all the same.
    const char *evidence = n->verdict.evidence ? n->verdict.evidence : "";
    if (verdict_is_failure(n->verdict.kind) && *evidence)
        put_data(out, "because", arena_strndup(&a, evidence, strcspn(evidence, "\n")));
    arena_reset(&a);
}

static void put_list(struct str *out, const struct brief *b, const struct node_list *list,
                     bool with_kernels) {
    int first = list->n > ATTEMPTS_MAX ? list->n - ATTEMPTS_MAX : 0;
    if (first > 0 && !with_kernels)
        str_printf(out, "(%d older ones left out)\n", first);
    for (int i = with_kernels ? 0 : first; i < list->n; i++) {
        put_node(out, b, list->nodes[i]);
        if (with_kernels && list->nodes[i]->candidate.kernel)
            put_data(out, "kernel", list->nodes[i]->candidate.kernel);
    }
}

const char *window_bound(struct arena *a, const struct brief *b) {
    // Measured elsewhere, or long ago: the figures behind it are gone.
    if (isfinite(b->bound->reach_s) && !b->target->ceilings.present)
        return arena_printf(
            a, "reach %s, %s-bound; limit %s\n", clock_duration(a, b->bound->reach_s * 1e9),
            bound_side_name(b->bound->side), clock_duration(a, b->bound->limit_s * 1e9));
    return bound_explain(a, b->problem, b->bound, b->target);
}

// ---- sections

static void put_machine(struct str *out, struct arena *a, const struct target *t) {
    str_printf(out, "%s: %s, %s", target_kernel_name(t), t->device, t->isa);
    if (t->is_gpu)
        str_printf(out,
                   ", %d multiprocessors; %s; %lld bytes of shared memory a block and %lld a "
                   "multiprocessor, L2 of %.0f MB\n",
                   t->sms, target_limits(a, t), (long long)t->shared_per_block,
                   (long long)t->shared_per_sm, (double)t->l2_bytes / 1e6);
    else
        str_printf(out,
                   ", %d threads for kernels, vectors of %d bytes, caches of %lld, %lld and "
                   "%lld bytes\n",
                   t->n_threads, t->vector_bytes, (long long)t->l1_bytes, (long long)t->l2_bytes,
                   (long long)t->llc_bytes);
    if (t->compiler)
        str_printf(out, "compiler: %s\n", t->compiler);
}

static void add_problem(struct window *w, const struct brief *b) {
    struct str out = {0};
    put_data(&out, "problem", b->problem->text);
    add(w, KEEP, "The problem", &out);
    put_machine(&out, w->a, b->target);
    str_puts(&out, window_bound(w->a, b));
    if (b->evals_left > 0)
        str_printf(&out, "evaluations left: %d, this one included\n", b->evals_left);
    if (b->batch > 1)
        str_printf(&out,
                   "candidates are judged %d at a time: what is planned together is written before "
                   "anything is known of the others\n",
                   b->batch);
    add(w, KEEP, "The machine and the bound", &out);
}

static void put_findings(struct str *out, const struct search_node *n) {
    if (n->n_findings == 0)
        str_puts(out, "No tool found what limits it.\n");
    for (int i = 0; i < n->n_findings; i++) {
        const struct finding *f = &n->findings[i];
        str_printf(out, "%d. [%s] %s: %s (%s)", i + 1, severity_name(f->severity), f->tool,
                   f->cause, f->evidence);
        if (isfinite(f->expected_gain))
            str_printf(out, "; fixing it may give %.2fx", f->expected_gain);
        str_puts(out, "\n");
        for (int k = 0; k < f->n_actions; k++)
            str_printf(out, "   - %s\n", f->actions[k].words);
    }
}

// Rule: a model is given findings, never counters; `raw` and `none` are there for ablations.
void window_findings(struct str *out, const struct team_settings *s, const struct brief *b,
                     const struct search_node *n) {
    struct str facts = {0};
    if (strcmp(s->feedback, "findings") == 0) {
        put_findings(out, n);
        facts_put(&facts, b, n);
        if (facts.len > 0)
            str_printf(out, "\nMeasured:\n%s", str_text(&facts));
        str_reset(&facts);
    } else if (strcmp(s->feedback, "raw") == 0)
        for (int i = 0; i < METRIC_COUNT; i++)
            if (metrics_has(&n->profile.call, (enum metric_id)i))
                str_printf(out, "%s %.6g\n", metric_table[i].name, n->profile.call.value[i]);
}

static void add_findings(struct window *w, const struct team_settings *s, const struct brief *b) {
    struct str out = {0};
    window_findings(&out, s, b, b->node);
    add(w, KEEP, strcmp(s->feedback, "raw") == 0 ? "Its metrics" : "What limits it", &out);
}

static void add_node(struct window *w, const struct brief *b) {
    struct str out = {0};
    str_printf(&out, "Node %d: ", b->node->number);
    put_outcome(&out, b, b->node);
    str_puts(&out, ".\n");
    put_timing(&out, w->a, b->node);
    if (b->node->candidate.kernel)
        put_data(&out, "kernel", numbered(w->a, b->node->candidate.kernel));
    add(w, KEEP, "The node", &out);
    put_data(&out, "source", numbered(w->a, b->node->candidate.source));
    add(w, b->node->candidate.kernel ? EMITTED : KEEP,
        b->node->candidate.kernel ? "The source that its kernel block becomes" : "Its source",
        &out);
}

static void add_family_tree(struct window *w, const struct brief *b, enum role role) {
    struct str out = {0};
    put_list(&out, b, &b->children, false);
    if (role != ROLE_DEBUG)
        add(w, ATTEMPTS, "What was tried from this node", &out);
    str_reset(&out);
    if (b->node != b->root) {
        put_node(&out, b, b->root);
        if (b->root->candidate.kernel)
            put_data(&out, "kernel", b->root->candidate.kernel);
        add(w, ROOT, "The first node", &out);
    }
    if (role == ROLE_PLAN) {
        put_list(&out, b, &b->leaders, true);
        add(w, LEADERS, "The fastest so far", &out);
    } else {
        put_list(&out, b, role == ROLE_CODE ? &b->cousins : &b->siblings, false);
        add(w, RELATIVES, "Tried nearby", &out);
    }
}

// The expert's next steps: a plan may take several at once, and need not look for them.
static void add_moves(struct window *w, const struct brief *b) {
    struct str out = {0};
    int n = 0;
    struct move *moves = b->kernel ? moves_untried(w->a, b, &n) : NULL;
    for (int i = 0; i < n && i < MOVES_MAX; i++)
        str_printf(&out, "%s%s", i > 0 ? "; " : "", moves[i].words);
    if (n > MOVES_MAX)
        str_printf(&out, "; and %d more", n - MOVES_MAX);
    if (n > 0)
        str_puts(&out, "\n");
    add(w, MOVES, "Single steps that nobody tried", &out);
}

// What memory knows of siblings of the problem.
static void add_learned(struct window *w, const struct brief *b) {
    struct str out = {0};
    if (!b->priors || !b->priors->summary)
        return;
    str_puts(&out, "Speed-ups over the node that a move was made from, by kinds of moves:\n");
    str_puts(&out, b->priors->summary);
    add(w, MOVES, "What earlier runs on sibling problems taught", &out);
}

static void add_task(struct window *w, const struct brief *b, const struct hypothesis *h) {
    struct str out = {0};
    const char *base = harmless(w->a, window_base(b, h->wants_source));
    str_printf(&out, "Cause: %s\nChange: %s\nExpected: %.2fx over node %d, which is: ",
               harmless(w->a, h->cause), harmless(w->a, h->change), h->speedup, b->node->number);
    put_outcome(&out, b, b->node);
    str_puts(&out, ".\n");
    put_timing(&out, w->a, b->node);
    str_printf(&out, "Write %s.\n",
               h->wants_source ? (b->target->is_gpu ? "source in CUDA" : "source in C")
                               : "a kernel block");
    str_puts(&out, h->n_spans > 0 ? "The text, with the spans that you may replace:\n"
                                  : "The text to start from; all of it may change:\n");
    str_puts(&out, "<<<DATA text>>>\n");
    str_puts(&out, h->n_spans > 0 ? spans_mark(w->a, base, h) : base);
    str_puts(&out, "<<<END DATA>>>\n");
    add(w, KEEP, "What to do", &out);
}

// Where nobody has planned yet: what the coder will be told is not known, nor in which form it is
// to write.
static void add_open_task(struct window *w, const struct brief *b) {
    struct str out = {0};
    str_printf(&out,
               "(No plan has been made for node %d: its cause, change, expectation and spans will "
               "stand here, and the text of the form that it asks for: %s.)\n",
               b->node->number,
               !b->kernel          ? "the source above"
               : b->target->is_gpu ? "the kernel block, or the source in CUDA"
                                   : "the kernel block, or the source in C");
    add(w, KEEP, "What to do", &out);
}

static void add_verdict(struct window *w, const struct brief *b) {
    struct str out = {0};
    const struct verdict *v = &b->node->verdict;
    struct str evidence = {.max = EVIDENCE_MAX};
    str_puts(&evidence, v->evidence ? v->evidence : "");
    str_printf(&out, "Node %d, \"%s\": %s%s%s\n", b->node->number, change_of(w->a, b->node),
               verdict_kind_name(v->kind), v->rule ? ", rule " : "", v->rule ? v->rule : "");
    put_data(&out, "evidence", str_text(&evidence));
    add(w, KEEP, "The verdict", &out);
    put_data(&out, "text", window_base(b, false));
    add(w, KEEP, "The candidate's text", &out);
    str_reset(&evidence);
}

// Leave sections out, the highest rank first, until the rest fits.
static const char *print(struct window *w, int64_t max_tokens) {
    int64_t total = 0;
    for (int i = 0; i < w->n; i++)
        total += budget_tokens_of(strlen(w->sections[i].text));
    bool left_out[SECTIONS_MAX] = {false};
    for (int rank = RELATIVES; rank > KEEP; rank--)
        for (int i = 0; i < w->n; i++)
            if (total > max_tokens && (int)w->sections[i].rank == rank) {
                total -= budget_tokens_of(strlen(w->sections[i].text));
                left_out[i] = true;
            }
    struct str out = {0};
    for (int i = 0; i < w->n; i++)
        str_printf(&out, "## %s\n\n%s\n", w->sections[i].title,
                   left_out[i] ? "(left out for length)\n" : w->sections[i].text);
    return str_take(w->a, &out);
}

const char *window_text(struct arena *a, const struct team_settings *s, const struct brief *b,
                        enum role role, const struct hypothesis *h) {
    struct window w = {.a = a};
    add_problem(&w, b);
    if (role == ROLE_DEBUG) {
        add_verdict(&w, b);
    } else if (role == ROLE_PLAN || !h) {
        add_node(&w, b);
        add_findings(&w, s, b);
    }
    if (role == ROLE_CODE && h) {
        add_findings(&w, s, b);
        add_task(&w, b, h);
    } else if (role == ROLE_CODE) {
        add_open_task(&w, b);
    }
    add_family_tree(&w, b, role);
    if (role == ROLE_PLAN) {
        add_moves(&w, b);
        add_learned(&w, b);
    }
    int64_t system = budget_tokens_of(strlen(window_system(a, s, b, role)));
    return print(&w, s->window_tokens - system);
}
