// Launches are the work: several where fewer would do, or one whose fixed cost is most of the
// time.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double WORTH = 0.1, MOST = 0.5;

static const struct action fewer[] = {
    {"merge stages: fewer launches", "merge", 0, NULL},
    {"do not split results: no second kernel brings them together", "split", -1, NULL},
    {"do in one launch what is done in several", NULL, 0, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    double launches = profile_get(in->profile, METRIC_LAUNCHES);
    double time_s = profile_get(in->profile, METRIC_TIME);
    double each_s = in->target->ceilings.present ? in->target->ceilings.launch_s : NAN;
    double spare_s = (launches - 1) * each_s;
    bool several = spare_s > WORTH * time_s, alone = launches == 1 && each_s > MOST * time_s;
    if (room < 1 || !(several || alone))
        return 0;
    *out = (struct finding){
        .tool = "launch",
        .severity = !several                  ? SEVERITY_LOW
                    : spare_s > MOST * time_s ? SEVERITY_HIGH
                                              : SEVERITY_MEDIUM,
        .cause = several ? "launching takes a good part of the time"
                         : "the launch itself is most of the time",
        .evidence = arena_printf(a, "%.0f launch%s of about %.3g us in %.3g us", launches,
                                 launches == 1 ? "" : "es", each_s * 1e6, time_s * 1e6),
        .expected_gain = several ? fmin(time_s / fmax(time_s - spare_s, each_s), launches) : NAN,
    };
    if (several)
        tool_add_actions(out, in->candidate, fewer, ARRAY_LEN(fewer));
    else
        out->actions[out->n_actions++] = (struct action){
            .words = "nothing in this kernel: fuse the problem with what comes before or after"};
    return 1;
}

const struct tool tool_launch = {
    .name = "launch",
    .summary = "time that goes into launching",
    .examine = examine,
};
