// Rules. A part that is busy for BUSY of what it can sustain is in the way; ncu's own rules draw
// the line at the same place. Traffic to memory passes through L2 and L1, whose shares then are as
// high or higher (a plain copy: memory 89%, L2 94%), so the farthest part that is busy is the one
// in the way, unless a nearer one is clearly busier.
#include "profile/classify.h"

#include <math.h>

#include "base/arena.h"

static const double BUSY = 0.6, CLEARLY = 1.25, EQUAL = 1.15;
// A launch that is this much of its time in the cost of launching does little else.
static const double LAUNCHING = 0.5;
// Where shared memory's passes are this much of those of L1, it is what L1 is busy with.
static const double MOSTLY = 0.5;

static const char *const kind_names[CLASS_KINDS] = {"unknown", "compute", "memory", "latency",
                                                    "mixed"};
static const char *const part_names[CLASS_PARTS] = {
    [PART_NONE] = "",
    [PART_TENSOR] = "matrix units",
    [PART_ARITHMETIC] = "arithmetic",
    [PART_ISSUE] = "instruction issue",
    [PART_DRAM] = "memory",
    [PART_L2] = "L2 cache",
    [PART_SHARED] = "shared memory",
    [PART_LSU] = "L1 cache",
    [PART_LAUNCH] = "launch",
};

const char *class_name(enum class_kind k) {
    return kind_names[k];
}

const char *class_part_name(enum class_part p) {
    return part_names[p];
}

static struct class_of unknown(void) {
    return (struct class_of){
        .kind = CLASS_UNKNOWN, .busy = NAN, .compute_busy = NAN, .memory_busy = NAN};
}

struct class_of classify_bound(const struct bound *b) {
    struct class_of c = unknown();
    if (!b || (isnan(b->reach_s) && isnan(b->light_s) && isnan(b->limit_s)))
        return c;
    enum pipe pipe = bound_pipe(b);
    switch (b->side) {
    case BOUND_MEMORY:
        c.kind = CLASS_MEMORY, c.part = PART_DRAM;
        break;
    case BOUND_COMPUTE:
        c.kind = CLASS_COMPUTE;
        c.part = pipe == PIPE_F32 || pipe == PIPE_F64 || pipe == PIPE_FUNCTION ? PART_ARITHMETIC
                                                                               : PART_TENSOR;
        break;
    case BOUND_LAUNCH:
        c.kind = CLASS_LATENCY, c.part = PART_LAUNCH;
        break;
    case BOUND_CHAIN:
        c.kind = CLASS_LATENCY;
        break;
    }
    return c;
}

struct candidate_part {
    enum class_part part;
    double busy;
};

static struct candidate_part busier(struct candidate_part a, enum class_part part, double busy) {
    return isfinite(busy) && !(a.busy >= busy) ? (struct candidate_part){part, busy} : a;
}

// Memory's throughput, of its measured ceiling where there is one.
static double dram_busy(const struct metrics *m, const struct target *t) {
    double of_peak = metrics_get(m, METRIC_DRAM_BUSY);
    double read = metrics_get(m, METRIC_DRAM_READ_BYTES);
    double written = metrics_get(m, METRIC_DRAM_WRITE_BYTES);
    double ceiling =
        t && t->ceilings.present ? ceilings_bandwidth(&t->ceilings, read / (read + written)) : NAN;
    double of_ceiling = (read + written) / metrics_get(m, METRIC_TIME) / ceiling;
    return isfinite(of_ceiling) ? fmin(1, of_ceiling) : of_peak;
}

static enum class_part near_part(const struct metrics *m) {
    double shared = metrics_get(m, METRIC_SHARED_WAVEFRONTS);
    double conflicts = metrics_get(m, METRIC_SHARED_LOAD_CONFLICTS) +
                       metrics_get(m, METRIC_SHARED_STORE_CONFLICTS);
    double sectors = metrics_get(m, METRIC_LOAD_SECTORS) + metrics_get(m, METRIC_STORE_SECTORS);
    // A pass moves 128 bytes, four sectors.
    bool is_shared = shared > MOSTLY * (shared + sectors / 4) || conflicts > MOSTLY * shared;
    return is_shared ? PART_SHARED : PART_LSU;
}

static struct candidate_part memory_side(const struct metrics *m, const struct target *t) {
    struct candidate_part far =
        busier((struct candidate_part){PART_NONE, NAN}, PART_DRAM, dram_busy(m, t));
    double l2 = metrics_get(m, METRIC_L2_BUSY), l1 = metrics_get(m, METRIC_L1_BUSY);
    if (!(far.busy >= BUSY) || l2 > CLEARLY * far.busy)
        far = busier(far, PART_L2, l2);
    if (!(far.busy >= BUSY) || l1 > CLEARLY * far.busy)
        far = busier(far, near_part(m), l1);
    return far;
}

static struct candidate_part compute_side(const struct metrics *m) {
    struct candidate_part c = {PART_NONE, NAN};
    c = busier(c, PART_ARITHMETIC, metrics_get(m, METRIC_PIPE_FMA_BUSY));
    c = busier(c, PART_ARITHMETIC, metrics_get(m, METRIC_PIPE_ALU_BUSY));
    c = busier(c, PART_ARITHMETIC, metrics_get(m, METRIC_PIPE_FP64_BUSY));
    c = busier(c, PART_ARITHMETIC, metrics_get(m, METRIC_PIPE_XU_BUSY));
    double pipe = c.busy;
    c = busier(c, PART_TENSOR, metrics_get(m, METRIC_PIPE_TENSOR_BUSY));
    // A pipe that is busy keeps the issue busy too.
    double issue = metrics_get(m, METRIC_ISSUE_BUSY);
    if (!(c.busy >= BUSY) || issue > CLEARLY * pipe)
        c = busier(c, PART_ISSUE, issue);
    return c;
}

static bool is_launching(const struct metrics *m, const struct target *t) {
    double cost_s = t && t->ceilings.present ? t->ceilings.launch_s : NAN;
    return cost_s > LAUNCHING * metrics_get(m, METRIC_TIME);
}

struct class_of classify_launch(const struct metrics *m, const struct target *t) {
    struct class_of c = unknown();
    struct candidate_part memory = memory_side(m, t), compute = compute_side(m);
    if (isnan(memory.busy) || isnan(compute.busy))
        return c;
    c.memory_busy = memory.busy;
    c.compute_busy = compute.busy;
    struct candidate_part most = memory.busy >= compute.busy ? memory : compute;
    struct candidate_part least = memory.busy >= compute.busy ? compute : memory;
    c.busy = most.busy;
    c.part = most.part;
    if (most.busy < BUSY) {
        c.kind = CLASS_LATENCY;
        c.part = is_launching(m, t) ? PART_LAUNCH : PART_NONE;
    } else if (least.busy >= BUSY && most.busy < EQUAL * least.busy)
        c.kind = CLASS_MIXED;
    else
        c.kind = memory.busy >= compute.busy ? CLASS_MEMORY : CLASS_COMPUTE;
    return c;
}

// The class that most of the time is spent in, and the launch of it that takes longest.
static void weigh(const struct profile *p, const double *shares, struct classes *out) {
    double share[CLASS_KINDS] = {0}, longest = -1;
    for (int i = 0; i < p->n_launches; i++)
        share[out->launches[i].kind] += isfinite(shares[i]) ? shares[i] : 0;
    enum class_kind most = CLASS_UNKNOWN;
    for (int k = CLASS_UNKNOWN + 1; k < CLASS_KINDS; k++)
        if (share[k] > (most == CLASS_UNKNOWN ? 0 : share[most]))
            most = (enum class_kind)k;
    for (int i = 0; most != CLASS_UNKNOWN && i < p->n_launches; i++) {
        if (out->launches[i].kind != most || !(shares[i] > longest))
            continue;
        longest = shares[i];
        out->measured = out->launches[i];
    }
    out->measured_share = most == CLASS_UNKNOWN ? NAN : share[most];
}

void classify(struct arena *a, const struct profile *p, const struct bound *b,
              const struct target *t, struct classes *out) {
    *out = (struct classes){.analytic = classify_bound(b), .measured = unknown()};
    out->launches = arena_array(a, struct class_of, p->n_launches + 1);
    for (int i = 0; i < p->n_launches; i++)
        out->launches[i] = classify_launch(&p->launches[i].metrics, t);
    out->shares = arena_array(a, double, p->n_launches + 1);
    profile_shares(p, out->shares);
    if (p->n_launches == 1)
        out->shares[0] = 1;
    weigh(p, out->shares, out);
}

bool classes_disagree(const struct class_of *x, const struct class_of *y) {
    bool is_known = x->kind != CLASS_UNKNOWN && y->kind != CLASS_UNKNOWN;
    bool is_mixed = x->kind == CLASS_MIXED || y->kind == CLASS_MIXED;
    bool is_wait = x->kind == CLASS_LATENCY || y->kind == CLASS_LATENCY;
    return is_known && x->kind != y->kind && !(is_mixed && !is_wait);
}

const char *class_text(struct arena *a, const struct class_of *c) {
    if (c->kind == CLASS_UNKNOWN)
        return "class unknown";
    const char *head = arena_printf(a, "%s-bound", class_name(c->kind));
    if (c->kind == CLASS_MIXED)
        head = "bound by arithmetic and memory alike";
    if (isnan(c->busy))
        return c->part ? arena_printf(a, "%s (%s)", head, class_part_name(c->part)) : head;
    if (c->kind == CLASS_LATENCY)
        return arena_printf(a, "%s (%snothing is busier than %.0f%%)", head,
                            c->part == PART_LAUNCH ? "mostly launching; " : "", 100 * c->busy);
    return arena_printf(a, "%s (%s %.0f%% busy; arithmetic side %.0f%%, memory side %.0f%%)", head,
                        class_part_name(c->part), 100 * c->busy, 100 * c->compute_busy,
                        100 * c->memory_busy);
}

const char *class_of_node(const struct profile *p, const struct bound *b, const struct target *t) {
    struct arena scratch = {0};
    struct classes c;
    classify(&scratch, p, b, t, &c);
    enum class_kind kind = c.measured.kind != CLASS_UNKNOWN ? c.measured.kind : c.analytic.kind;
    arena_reset(&scratch);
    return class_name(kind);
}
