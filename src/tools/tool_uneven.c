// Multiprocessors hold fewer warps than fit, although there are blocks enough: blocks take unequal
// time, or end and start too often.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of what fits. Fewer waves than FEW are tool_waves' business.
static const double HELD = 0.75, FEW = 2, LEVEL = 0.8;

static const struct action even[] = {
    TURN("items", +1, "more work per thread: blocks start less often"),
    TURN("block", -1, "smaller blocks: one that ends late holds less"),
    WORDS(
        "equal work for each block: a queue from which blocks take the next piece, longest pieces "
        "first"),
    WORDS("blocks that live longer: as many as fit, each of which walks over several pieces"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double held = subject_get(s, METRIC_ACHIEVED_OCCUPANCY),
           fits = subject_get(s, METRIC_OCCUPANCY);
    double part = held / fits, waves = subject_get(s, METRIC_WAVES);
    // How long the multiprocessors worked, the mean of that of the one that worked longest.
    double level = subject_get(s, METRIC_SM_ACTIVE_MEAN) / subject_get(s, METRIC_SM_ACTIVE_MAX);
    bool is_tilted = level < LEVEL;
    bool is_busy = fmax(s->measured.memory_busy, s->measured.compute_busy) > 0.8;
    if ((!(part < HELD) || waves < FEW || is_busy) && !is_tilted)
        return false;
    if (waves < 1)
        return false;
    double work = is_tilted ? level : part;
    f->severity = work < 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = is_tilted ? "some multiprocessors work while others have ended: unequal work"
                         : "multiprocessors hold fewer warps than fit: blocks take unequal time, "
                           "or end too soon";
    f->evidence =
        is_tilted
            ? arena_printf(a, "multiprocessors work %.0f%% as long as the longest, on average",
                           100 * level)
            : arena_printf(a, "%.0f%% of the warps are there on average, %.0f%% fit", 100 * held,
                           100 * fits);
    f->expected_gain = subject_cap_gain(s, 1 / work);
    tool_add_number(f, METRIC_ACHIEVED_OCCUPANCY, held, HELD * fits);
    tool_add_number(f, METRIC_OCCUPANCY, fits, NAN);
    tool_add_number(f, METRIC_SM_ACTIVE_MEAN, subject_get(s, METRIC_SM_ACTIVE_MEAN),
                    LEVEL * subject_get(s, METRIC_SM_ACTIVE_MAX));
    tool_add_actions(f, s, even, ARRAY_LEN(even));
    return true;
}

const struct tool tool_uneven = {
    .name = "uneven",
    .summary = "work that is unequal between multiprocessors",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_ACHIEVED_OCCUPANCY, METRIC_OCCUPANCY, METRIC_WAVES},
    .examine = examine,
};
