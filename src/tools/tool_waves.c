// Multiprocessors without work: fewer blocks than there are of them, or a last wave of blocks
// that fills only some.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Below EVEN of the card's time in work there is something to gain. Past MANY waves the last one
// weighs too little, and blocks start and end at different times anyway.
static const double EVEN = 0.85, MANY = 8;

static const struct action more_blocks[] = {
    TURN("split", +1, "split each result over more blocks"),
    TURN("tile", -1, "smaller tiles: more blocks"),
    TURN("rows", -1, "fewer rows per block"),
    TURN("results", -1, "fewer results per block"),
    TURN("items", -1, "less work per thread"),
    TURN("block", -1, "smaller blocks"),
    WORDS("more blocks with less work each; where results are few, several blocks for one, brought "
          "together by a second launch through scratch"),
};

static const struct action other_blocks[] = {
    TURN("tile", -1, "smaller tiles: the last wave weighs less"),
    TURN("rows", -1, "fewer rows per block"),
    TURN("items", -1, "less work per thread"),
    TURN("block", -1, "smaller blocks"),
    TURN("results", -1, "fewer results per block"),
    WORDS("a grid that is a multiple of what the card holds at once, or as many blocks as fit, "
          "each of "
          "which walks over several pieces of work"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double blocks = subject_get(s, METRIC_BLOCKS), per_sm = subject_get(s, METRIC_BLOCKS_PER_SM);
    double sms = s->target->sms;
    if (!(blocks > 0 && per_sm > 0 && sms > 0) || subject_is_near(s))
        return false;
    // A wave is what the card holds at once; with less than one, what counts is how evenly the
    // blocks spread over the multiprocessors.
    double wave = blocks < sms * per_sm ? sms : sms * per_sm;
    double waves = blocks / wave, work = waves / ceil(waves), last = waves - floor(waves);
    bool is_few = blocks < sms;
    if (work >= EVEN || waves > MANY)
        return false;
    f->severity = work < 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = is_few ? "multiprocessors have no work: there are too few blocks"
                      : "multiprocessors wait at the end: the last wave is not full";
    f->evidence =
        is_few ? arena_printf(a, "%.0f block%s for %.0f multiprocessors", blocks,
                              blocks == 1 ? "" : "s", sms)
               : arena_printf(a, "%.0f blocks are %.2f waves of %.0f; the last one is %.0f%% full",
                              blocks, waves, wave, 100 * last);
    f->expected_gain = subject_cap_gain(s, 1 / work);
    if (f->expected_gain < 1.15)
        f->severity = SEVERITY_LOW;
    tool_add_number(f, METRIC_BLOCKS, blocks, is_few ? sms : NAN);
    tool_add_number(f, METRIC_WAVES, waves, NAN);
    if (is_few)
        tool_add_actions(f, s, more_blocks, ARRAY_LEN(more_blocks));
    else
        tool_add_actions(f, s, other_blocks, ARRAY_LEN(other_blocks));
    return true;
}

const struct tool tool_waves = {
    .name = "waves",
    .summary = "multiprocessors without work, at the end or all the time",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 2,
    .needs = {METRIC_BLOCKS, METRIC_BLOCKS_PER_SM},
    .examine = examine,
};
