// Too few warps on a multiprocessor to hide what each of them waits for, and what keeps more
// from fitting: registers, shared memory, or the number of blocks that it holds.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "profile/occupancy.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Streams from memory want half of the threads; arithmetic in registers hides its own latency
// with a quarter, and so do matrix units.
static const double MEMORY_ENOUGH = 0.5, COMPUTE_ENOUGH = 0.25;
// Where memory is so busy that less than this is left to gain, more warps only wait with the
// others.
static const double WORTH = 1.1;

static const struct action fewer_registers[] = {
    TURN("minblocks", +1, "let the compiler use fewer registers"),
    TURN("items", -1, "fewer values per thread"),
    TURN("micro", -1, "a smaller tile per thread"),
    TURN("vec", -1, "narrower vectors"),
    TURN("threads", +1, "share a row among more threads"),
    TURN("block", -1, "smaller blocks, which fit more evenly"),
    WORDS("hold fewer values per thread, or bound the registers (__launch_bounds__(threads, "
          "blocks))"),
};
static const struct action less_shared[] = {
    WORD("keep", "register", "keep the row in registers instead of shared memory"),
    TURN("tile", -1, "smaller tiles in shared memory"),
    TURN("stages", -1, "fewer slices in shared memory"),
    TURN("rows", -1, "fewer rows per block"),
    WORDS("less shared memory a block: smaller tiles, fewer of them, or registers"),
};
static const struct action larger_blocks[] = {
    TURN("block", +1, "larger blocks: only so many fit at a time"),
    TURN("rows", +1, "more rows per block"),
    TURN("results", +1, "more results per block"),
    TURN("threads", +1, "more threads per row"),
    TURN("tile", +1, "larger tiles"),
    WORDS("more threads a block"),
};

// A block has at most half of the threads, so that its size alone is in the way only where larger
// ones would fit worse still.
static const struct {
    const char *subject;  // of the sentence, with its verb
    const struct action *actions;
    int n_actions;
} limiters[LIMIT_COUNT] = {
    [LIMIT_REGISTERS] = {"registers keep", fewer_registers, ARRAY_LEN(fewer_registers)},
    [LIMIT_SHARED] = {"shared memory keeps", less_shared, ARRAY_LEN(less_shared)},
    [LIMIT_BLOCKS] = {"the number of blocks that fit keeps", larger_blocks,
                      ARRAY_LEN(larger_blocks)},
    [LIMIT_THREADS] = {"the size of a block keeps", NULL, 0},
};

// Half or twice as many rows of a block are half or twice its threads and its shared memory: does a
// multiprocessor then hold more threads? What only deals them out in other portions is not offered,
// unless there are so few blocks that none loads while the others wait at a barrier.
static bool is_of_use(const struct tool_subject *s, const struct action *action) {
    static const double MORE = 1.1, IN_TURNS = 4;
    bool is_portion =
        action->knob && (strcmp(action->knob, "rows") == 0 || strcmp(action->knob, "block") == 0 ||
                         strcmp(action->knob, "results") == 0);
    struct metrics then = *s->metrics;
    double times = action->direction > 0 ? 2 : 0.5;
    bool is_smaller = action->direction < 0 && subject_get(s, METRIC_BLOCKS_PER_SM) < IN_TURNS;
    if (!is_portion || is_smaller)
        return true;
    metrics_set(&then, METRIC_BLOCK_THREADS, times * subject_get(s, METRIC_BLOCK_THREADS));
    metrics_set(&then, METRIC_SHARED_BYTES, times * subject_get(s, METRIC_SHARED_BYTES));
    return !(occupancy_of(s->target, &then).share < MORE * subject_get(s, METRIC_OCCUPANCY));
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    const struct metrics *m = s->metrics;
    double occupancy = metrics_get(m, METRIC_OCCUPANCY);
    double per_sm = metrics_get(m, METRIC_BLOCKS_PER_SM);
    bool has_products =
        metrics_get(m, METRIC_CODE_TENSOR) > 0 || metrics_get(m, METRIC_CODE_TENSOR_GROUP) > 0;
    double enough =
        s->analytic.kind == CLASS_COMPUTE || has_products ? COMPUTE_ENOUGH : MEMORY_ENOUGH;
    // Where the grid does not even fill what fits, more fitting is of no use.
    bool is_filled = metrics_get(m, METRIC_BLOCKS) > per_sm * s->target->sms;
    // What issues most of the time, or waits for nothing, needs no more warps.
    bool is_busy = metrics_get(m, METRIC_ISSUE_BUSY) > 0.7;
    if (!(occupancy < enough) || !is_filled || subject_is_near(s) || is_busy || subject_is_full(s))
        return false;
    f->expected_gain = subject_cap_gain(s, enough / occupancy);
    if (f->expected_gain < WORTH)
        return false;
    enum occupancy_limit by = occupancy_of(s->target, m).by;
    f->severity = occupancy < enough / 2 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause =
        arena_printf(a, "%s a multiprocessor from holding more threads", limiters[by].subject);
    f->evidence = arena_printf(
        a,
        "occupancy %.0f%%: %.0f block%s of %.0f threads at a time; %.0f registers a "
        "thread, %.0f bytes of shared memory a block",
        100 * occupancy, per_sm, per_sm == 1 ? "" : "s", metrics_get(m, METRIC_BLOCK_THREADS),
        metrics_get(m, METRIC_REGISTERS), metrics_get(m, METRIC_SHARED_BYTES));
    tool_add_number(f, METRIC_OCCUPANCY, occupancy, enough);
    tool_add_number(f, METRIC_REGISTERS, metrics_get(m, METRIC_REGISTERS), NAN);
    tool_add_number(f, METRIC_SHARED_BYTES, metrics_get(m, METRIC_SHARED_BYTES), NAN);
    tool_add_number(f, METRIC_BLOCKS_PER_SM, per_sm, NAN);
    for (int i = 0; i < limiters[by].n_actions; i++)
        if (is_of_use(s, &limiters[by].actions[i]))
            tool_add_actions(f, s, &limiters[by].actions[i], 1);
    return true;
}

const struct tool tool_occupancy = {
    .name = "occupancy",
    .summary = "what keeps a multiprocessor from holding enough threads",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 6,
    .needs = {METRIC_OCCUPANCY, METRIC_BLOCKS_PER_SM, METRIC_BLOCKS, METRIC_BLOCK_THREADS,
              METRIC_REGISTERS, METRIC_SHARED_BYTES},
    .examine = examine,
};
