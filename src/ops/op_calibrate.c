// Target, calibrate/calibrate.h, cache.
#include "ops/op_calibrate.h"

#include "base/arena.h"
#include "base/error.h"
#include "calibrate/calibrate.h"
#include "ops/op_machine.h"

bool op_calibrate(struct arena *a, struct calibration *c, struct error *err) {
    struct error why = {0};
    if (!op_target(a, c->target, &c->measured, err) ||
        !calibrate(a, &c->measured, CALIBRATION_MOST_S, c->progress, c->ctx, err))
        return false;
    // They are worth printing even where they cannot be kept.
    if (!target_save_ceilings(a, &c->measured, &why))
        c->not_kept = arena_strdup(a, why.text);
    return true;
}
