// Launches are the work: several where fewer would do, or one whose fixed cost is most of the
// time.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double WORTH = 0.1, MOST = 0.5;

static const struct action fewer[] = {
    MERGE("merge stages: fewer launches"),
    TURN("split", -1, "do not split results: no second kernel brings them together"),
    WORDS("do in one launch what is done in several"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double launches = subject_get(s, METRIC_LAUNCHES), time_s = subject_get(s, METRIC_TIME);
    double each_s = s->target->ceilings.present ? s->target->ceilings.launch_s : NAN;
    double spare_s = (launches - 1) * each_s;
    bool several = spare_s > WORTH * time_s, alone = launches == 1 && each_s > MOST * time_s;
    if (!several && !alone)
        return false;
    f->severity = !several                  ? SEVERITY_LOW
                  : spare_s > MOST * time_s ? SEVERITY_HIGH
                                            : SEVERITY_MEDIUM;
    f->cause = several ? "launching takes a good part of the time"
                       : "the launch itself is most of the time";
    f->evidence = arena_printf(a, "%.0f launch%s of about %.3g us in %.3g us", launches,
                               launches == 1 ? "" : "es", each_s * 1e6, time_s * 1e6);
    f->expected_gain = several ? fmin(time_s / fmax(time_s - spare_s, each_s), launches) : NAN;
    tool_add_number(f, METRIC_LAUNCHES, launches, 1);
    tool_add_number(f, METRIC_TIME, time_s, NAN);
    if (several)
        tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    else
        f->actions[f->n_actions++] = (struct action){
            .words = "nothing in this kernel: fuse the problem with what comes before or after"};
    return true;
}

const struct tool tool_launch = {
    .name = "launch",
    .summary = "time that goes into launching",
    .devices = ON_GPU,
    .n_needs = 2,
    .needs = {METRIC_LAUNCHES, METRIC_TIME},
    .examine = examine,
};
