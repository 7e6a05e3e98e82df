// Multiprocessors without work: fewer blocks than there are of them, or a last wave of blocks
// that fills only some.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Below EVEN of the card's time in work there is something to gain. Past MANY waves the last one
// weighs too little, and blocks start and end at different times anyway.
static const double EVEN = 0.85, NEAR = 0.95, MANY = 8;

static const struct action more_blocks[] = {
    {"split each result over more blocks", "split", +1, NULL},
    {"smaller tiles: more blocks", "tile", -1, NULL},
    {"fewer rows per block", "rows", -1, NULL},
    {"fewer results per block", "results", -1, NULL},
    {"less work per thread", "items", -1, NULL},
    {"smaller blocks", "block", -1, NULL},
    {"more blocks with less work each; where results are few, several blocks for one, brought "
     "together by a second launch through scratch",
     NULL, 0, NULL},
};

static const struct action other_blocks[] = {
    {"smaller tiles: the last wave weighs less", "tile", -1, NULL},
    {"fewer rows per block", "rows", -1, NULL},
    {"less work per thread", "items", -1, NULL},
    {"smaller blocks", "block", -1, NULL},
    {"larger tiles: one wave less", "tile", +1, NULL},
    {"fewer results per block", "results", -1, NULL},
    {"a grid that is a multiple of what the card holds at once, or as many blocks as fit, each of "
     "which walks over several pieces of work",
     NULL, 0, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    const struct profile *p = in->profile;
    double blocks = profile_get(p, METRIC_BLOCKS), per_sm = profile_get(p, METRIC_BLOCKS_PER_SM);
    double sms = in->target->sms, gap = profile_get(p, METRIC_TIME) / in->bound->reach_s;
    if (room < 1 || !(blocks > 0 && per_sm > 0 && sms > 0) || 1 / gap >= NEAR)
        return 0;
    // A wave is what the card holds at once; with less than one, what counts is how evenly the
    // blocks spread over the multiprocessors.
    double wave = blocks < sms * per_sm ? sms : sms * per_sm;
    double waves = blocks / wave, work = waves / ceil(waves);
    bool few = blocks < sms;
    if (work >= EVEN || waves > MANY)
        return 0;
    double last = waves - floor(waves), gain = 1 / work;
    *out = (struct finding){
        .tool = "waves",
        .severity = work < 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM,
        .cause = few ? "multiprocessors have no work: there are too few blocks"
                     : "multiprocessors wait at the end: the last wave is not full",
        .evidence = few ? arena_printf(a, "%.0f block%s for %.0f multiprocessors", blocks,
                                       blocks == 1 ? "" : "s", sms)
                        : arena_printf(a,
                                       "%.0f blocks are %.2f waves of %.0f; the last one is %.0f%% "
                                       "full",
                                       blocks, waves, wave, 100 * last),
        .expected_gain = isfinite(gap) ? fmin(gain, gap) : gain,
    };
    if (few)
        tool_add_actions(out, in->candidate, more_blocks, ARRAY_LEN(more_blocks));
    else
        tool_add_actions(out, in->candidate, other_blocks, ARRAY_LEN(other_blocks));
    return 1;
}

const struct tool tool_waves = {
    .name = "waves",
    .summary = "multiprocessors without work, at the end or all the time",
    .examine = examine,
};
