// The list of tools, who of them is asked about what, and the ranking of what they found.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "family/block.h"
#include "lang/lang.h"
#include "tools/confidence.h"
#include "tools/tool.h"
#include "tools/tool_actions.h"
#include "tools/tool_private.h"

// Of equals the earlier ranks first: what names a cause stands before what only says how far.
const struct tool *const tools[] = {
    &tool_scalar,     &tool_width,     &tool_stack,   &tool_gather,
    &tool_stride,     &tool_fused,     &tool_sums,    &tool_moved,
    &tool_tail,       &tool_faults,    &tool_sharing, &tool_idle,
    &tool_copies,     &tool_host,      &tool_spill,   &tool_serial,
    &tool_tensor,     &tool_starved,   &tool_path,    &tool_coalesce,
    &tool_banks,      &tool_atomics,   &tool_fence,   &tool_precision,
    &tool_slow,       &tool_convert,   &tool_waves,   &tool_occupancy,
    &tool_flight,     &tool_narrow,    &tool_reuse,   &tool_barrier,
    &tool_divergence, &tool_uneven,    &tool_chain,   &tool_fetch,
    &tool_constant,   &tool_hits,      &tool_thrash,  &tool_writes,
    &tool_cluster,    &tool_stages,    &tool_layout,  &tool_stall,
    &tool_reread,     &tool_launch,    &tool_gaps,    &tool_clock,
    &tool_disagree,   &tool_saturated, &tool_reach,   NULL};

enum { FOUND_MAX = 64 };

// A launch of less than SMALL of the time yields nothing above low severity, and of less than TINY
// nothing at all.
static const double SMALL = 0.05, TINY = 0.01;
// Nor does what, by a problem's bound, is worth less than this.
static const double WORTH = 1.1;

// The candidate's block, read back from its text. What was lowered was legal, so a mistake means
// that another version's language wrote it: then there is nothing to turn.
static const struct kernel *read_block(struct arena *a, const struct candidate *c) {
    struct lang_file file = {0};
    const char *diagnostics;
    struct error ignored = {0};
    if (!c || !c->kernel)
        return NULL;
    struct lang_source source = {
        .file = "stored kernel", .text = c->kernel, .len = strlen(c->kernel)};
    if (!lang_parse(a, &source, &file, &diagnostics, &ignored) || file.n_kernels != 1) {
        log_info("kernel block of a candidate: %s", ignored.text);
        return NULL;
    }
    return file.kernels[0];
}

bool subject_is_near(const struct tool_subject *s) {
    return 1 / s->gap >= NEAR_REACH;
}

bool subject_is_full(const struct tool_subject *s) {
    static const double FULL = 0.9;
    const struct class_of *c = &s->measured;
    return (c->part == PART_TENSOR || c->part == PART_ARITHMETIC) && c->busy > FULL;
}

// Where threads did wait for their processors that is known. Elsewhere, with so much load for each
// thread, who waits for what is unknown.
bool subject_is_disturbed(const struct tool_subject *s) {
    static const double SHARED = 2, QUIET = 0.25;
    const struct metrics *call = &s->in->profile->call;
    if (metrics_has(call, METRIC_DISTURBED_SHARE))
        return metrics_get(call, METRIC_DISTURBED_SHARE) > QUIET;
    // As long as there are processors for all that runs nobody waits; fmax passes over one that
    // is not known.
    double bearable =
        fmax(SHARED * metrics_get(call, METRIC_THREADS), metrics_get(call, METRIC_PROCESSORS));
    return metrics_get(call, METRIC_MACHINE_LOAD) > bearable;
}

double subject_stalls(const struct tool_subject *s) {
    enum { REASONS = METRIC_STALL_WAIT - METRIC_STALL_BARRIER + 1 };
    double all = subject_get(s, METRIC_WARP_LATENCY), sum = 0;
    int n = 0;
    for (int i = METRIC_STALL_BARRIER; i <= METRIC_STALL_WAIT; i++)
        if (metrics_has(s->metrics, (enum metric_id)i)) {
            sum += subject_get(s, (enum metric_id)i);
            n++;
        }
    // A few of the reasons are not all of the waiting.
    return isfinite(all) ? fmax(all, sum) : sum > 0 && 2 * n > REASONS ? sum : NAN;
}

double subject_waiting(const struct tool_subject *s, enum metric_id id) {
    double all = subject_stalls(s), issuing = 0;
    if (metrics_has(s->metrics, METRIC_STALL_SELECTED))
        issuing += subject_get(s, METRIC_STALL_SELECTED);
    if (metrics_has(s->metrics, METRIC_STALL_NOT_SELECTED))
        issuing += subject_get(s, METRIC_STALL_NOT_SELECTED);
    return all > issuing ? subject_get(s, id) / (all - issuing) : NAN;
}

bool subject_awaits_memory(const struct tool_subject *s) {
    double waits = subject_waiting(s, METRIC_STALL_LONG),
           queue = subject_waiting(s, METRIC_STALL_LG_THROTTLE);
    double drain = subject_waiting(s, METRIC_STALL_DRAIN);
    double share = (isfinite(waits) ? waits : 0) + (isfinite(queue) ? queue : 0) +
                   (isfinite(drain) ? drain : 0);
    return !isfinite(waits) || share > 0.4;
}

double subject_memory_full(const struct tool_subject *s) {
    // Of the peak by the data sheet, on an H200: what a card is taken for that was not measured.
    static const double COPY = 0.89, NEARLY = 0.955;
    const struct target *t = s->target;
    double share = t->ceilings.present && t->peak_bytes_per_s > 0
                       ? ceilings_bandwidth(&t->ceilings, 0.5) / t->peak_bytes_per_s
                       : NAN;
    return NEARLY * (share > 0.5 && share <= 1 ? share : COPY);
}

double subject_cap_gain(const struct tool_subject *s, double gain) {
    double busy = s->measured.memory_busy;
    return busy > 0 ? fmin(gain, 1 / busy) : gain;
}

bool metrics_only_moves(const struct metrics *m) {
    static const enum metric_id kinds[] = {METRIC_HOT_FMA,       METRIC_HOT_ADD_MUL,
                                           METRIC_HOT_F64,       METRIC_HOT_TENSOR,
                                           METRIC_HOT_FUNCTIONS, METRIC_HOT_TENSOR_GROUP,
                                           METRIC_CODE_TENSOR,   METRIC_CODE_TENSOR_GROUP};
    bool is_known = metrics_has(m, METRIC_HOT_FMA) && metrics_has(m, METRIC_HOT_ADD_MUL);
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        if (metrics_get(m, kinds[i]) > 0)
            return false;
    return is_known;
}

// A local access or an atomic may read memory too, and each written sector is filled at most once:
// where there are those, or more is missing than that, something else has read.
double subject_fills(const struct tool_subject *s) {
    enum { SECTOR = 32 };
    // Of what is written; below that it is noise, and no reason to speak of partial writes.
    static const double SMALL_BYTES = 16e6, FILLED = 0.25;
    static const enum metric_id others[] = {METRIC_LOCAL_LOADS, METRIC_ATOMIC_REQUESTS,
                                            METRIC_REDUCTION_REQUESTS};
    double asked = SECTOR * subject_get(s, METRIC_LOAD_SECTORS);
    double written = subject_get(s, METRIC_DRAM_WRITE_BYTES);
    double fills = subject_get(s, METRIC_DRAM_READ_BYTES) - asked;
    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (subject_get(s, others[i]) > 0)
            return NAN;
    return fills > fmax(SMALL_BYTES, FILLED * written) && fills < 1.3 * written ? fills : NAN;
}

// The share of the time that the problem's arithmetic takes by its ceiling, with instructions that
// do 1/times of what they could.
static double arithmetic_share(const struct tool_subject *s, double times) {
    const struct bound *b = s->in->bound;
    double part = b ? times * b->reach_compute_s / subject_get(s, METRIC_TIME) : NAN;
    return part > 0 ? fmin(1, part) : NAN;
}

double subject_arithmetic_gain(const struct tool_subject *s, double times) {
    double part = arithmetic_share(s, times);
    return isfinite(part) ? 1 / (1 - part + part / times) : times;
}

double subject_width_gain(const struct tool_subject *s, double times) {
    return sqrt(times * subject_arithmetic_gain(s, times));
}

// A CPU's kernel that has lost one fault is seldom at reach: searches of many seconds end at 0.7 of
// it (the median of docs/results/cpu-set.md). Near it, half of the way.
static double most_of_one(const struct tool_subject *s) {
    static const double ORDINARY = 0.7;
    return s->target->is_gpu ? s->gap : fmax(ORDINARY * s->gap, sqrt(s->gap));
}

double subject_gain(const struct tool_subject *s, const struct tool *t, double gain) {
    double most = t->is_symptom ? s->gap : most_of_one(s);
    return gain > most ? most : gain;
}

void tool_add_number(struct finding *f, enum metric_id id, double value, double limit) {
    if (f->n_numbers < FINDING_NUMBERS_MAX && isfinite(value))
        f->numbers[f->n_numbers++] = (struct evidence){metric_table[id].name, value, limit};
}

static bool admits(const struct tool *t, const struct tool_subject *s) {
    bool is_known = s->analytic.kind != CLASS_UNKNOWN || s->measured.kind != CLASS_UNKNOWN;
    unsigned bits = CLASS_BIT(s->analytic.kind) | CLASS_BIT(s->measured.kind);
    return t->classes == CLASS_ANY || !is_known || (t->classes & bits);
}

static bool ask(struct arena *a, const struct tool *t, const struct tool_subject *s,
                struct finding *f) {
    unsigned device = s->target->is_gpu ? ON_GPU : ON_CPU;
    bool has_all = true;
    for (int i = 0; i < t->n_needs; i++)
        has_all &= metrics_has(s->metrics, t->needs[i]);
    *f = (struct finding){
        .tool = t->name, .evidence = "", .expected_gain = NAN, .confidence = NAN, .share = NAN};
    if (!has_all || !(t->devices & device) || !admits(t, s) || !t->examine(a, s, f))
        return false;
    // That something is far from what it could be is no fault that a change could repair.
    if (t->is_symptom && f->severity > SEVERITY_MEDIUM)
        f->severity = SEVERITY_MEDIUM;
    if (s->launch)
        f->launch = s->launch;
    if (s->launch && isfinite(s->share)) {
        f->share = s->share;
        // What is gained on a part of the time.
        f->expected_gain = 1 / (1 - s->share + s->share / f->expected_gain);
        if (s->share < SMALL)
            f->severity = SEVERITY_LOW;
    }
    f->expected_gain = subject_gain(s, t, f->expected_gain);
    if (isfinite(s->gap) && f->expected_gain < WORTH)
        f->severity = SEVERITY_LOW;
    f->confidence = finding_confidence(t, s, f);
    return true;
}

struct examination {
    const struct tool_input *in;
    struct classes classes;
    struct tool_subject call;
    // Of each launch: its own metrics, and where it is alone what is known of the call.
    struct metrics *views;
    struct finding found[FOUND_MAX];
    int n;
};

static bool is_kernel(const struct profile_launch *l) {
    return metrics_has(&l->metrics, METRIC_BLOCKS);
}

static void open_views(struct arena *a, struct examination *e) {
    const struct profile *p = e->in->profile;
    int n_kernels = 0;
    e->views = arena_array(a, struct metrics, p->n_launches + 1);
    for (int i = 0; i < p->n_launches; i++)
        n_kernels += is_kernel(&p->launches[i]);
    for (int i = 0; i < p->n_launches; i++) {
        if (n_kernels == 1 && is_kernel(&p->launches[i]))
            e->views[i] = p->call;
        metrics_merge(&e->views[i], &p->launches[i].metrics);
    }
}

static void open(struct arena *a, const struct tool_input *in, struct examination *e) {
    *e = (struct examination){.in = in};
    classify(a, in->profile, in->bound, in->target, &e->classes);
    e->call = (struct tool_subject){
        .in = in,
        .target = in->target,
        .kernel = read_block(a, in->candidate),
        .metrics = &in->profile->call,
        .share = 1,
        .analytic = e->classes.analytic,
        .measured = e->classes.measured,
        .gap = in->bound ? profile_get(in->profile, METRIC_TIME) / in->bound->reach_s : NAN};
    open_views(a, e);
}

static void add(struct examination *e, const struct finding *f) {
    if (e->n < FOUND_MAX)
        e->found[e->n++] = *f;
}

// Of several launches a tool reports the one where there is most to gain.
static bool ask_launches(struct arena *a, const struct tool *t, struct examination *e,
                         struct finding *best) {
    const struct profile *p = e->in->profile;
    bool is_found = false;
    double most = -1;
    for (int i = 0; i < p->n_launches; i++) {
        struct tool_subject s = e->call;
        struct finding f;
        double share = e->classes.shares[i];
        s.metrics = &e->views[i];
        s.launch = p->launches[i].name;
        s.share = share;
        s.measured = e->classes.launches[i];
        if (share < TINY || !ask(a, t, &s, &f))
            continue;
        double weight = (isfinite(share) ? share : 1) * (1 + (double)f.severity);
        if (weight <= most)
            continue;
        most = weight;
        *best = f;
        is_found = true;
    }
    return is_found;
}

static bool ask_tool(struct arena *a, const struct tool *t, struct examination *e,
                     struct finding *f) {
    bool by_launch = t->of_launches && e->in->profile->n_launches > 0;
    return by_launch ? ask_launches(a, t, e, f) : ask(a, t, &e->call, f);
}

bool tool_examine(struct arena *a, const struct tool *t, const struct tool_input *in,
                  struct finding *f) {
    struct examination e;
    struct arena scratch = {0};
    open(&scratch, in, &e);
    bool is_found = ask_tool(a, t, &e, f);
    arena_reset(&scratch);
    return is_found;
}

static bool is_symptom(const struct finding *f) {
    for (const struct tool *const *t = tools; *t; t++)
        if (strcmp((*t)->name, f->tool) == 0)
            return (*t)->is_symptom;
    return false;
}

bool finding_ranks_before(const struct finding *a, const struct finding *b) {
    if (a->severity != b->severity)
        return a->severity > b->severity;
    if (is_symptom(a) != is_symptom(b))
        return is_symptom(b);
    return a->expected_gain > b->expected_gain ||
           (isnan(b->expected_gain) && !isnan(a->expected_gain));
}

// Insertion: stable, and there are few.
static void rank(struct finding *found, int n) {
    for (int i = 1; i < n; i++) {
        struct finding f = found[i];
        int j = i;
        for (; j > 0 && finding_ranks_before(&f, &found[j - 1]); j--)
            found[j] = found[j - 1];
        found[j] = f;
    }
}

static bool has_turns(const struct finding *found, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < found[i].n_actions; k++)
            if (found[i].actions[k].knob)
                return true;
    return false;
}

// The moves of a block are many: they are listed only where some action asks for one.
static void keep_legal(struct arena *a, struct examination *e) {
    if (!e->call.kernel || !e->in->problem || !has_turns(e->found, e->n))
        return;
    struct arena scratch = {0};
    struct mistakes mistakes = {.arena = &scratch, .source = &(struct lang_source){0}};
    int n_moves = 0;
    const struct move *moves = NULL;
    // A block of another version may not be legal here, and then has no moves.
    block_resolve(&scratch, e->in->problem, e->in->target, e->call.kernel, &mistakes);
    if (mistakes.count == 0)
        moves = moves_list(&scratch, e->in->problem, e->in->target, e->call.kernel, &n_moves);
    for (int i = 0; i < e->n; i++)
        actions_keep_legal(a, &e->found[i], moves, n_moves);
    arena_reset(&scratch);
}

int tools_examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    struct examination e;
    struct finding f;
    struct arena scratch = {0};  // a run has many nodes, and a network many launches
    open(&scratch, in, &e);
    for (const struct tool *const *t = tools; *t; t++)
        if (ask_tool(a, *t, &e, &f))
            add(&e, &f);
    for (int i = 0; i < in->profile->n_said; i++)
        add(&e, &in->profile->said[i]);
    rank(e.found, e.n);
    if (e.n > room)
        e.n = room;
    keep_legal(a, &e);
    actions_drop_contradictions(e.found, e.n);
    memcpy(out, e.found, sizeof *out * (size_t)e.n);
    arena_reset(&scratch);
    return e.n;
}
