#include "ops/op_calibrate.h"

#include "base/error.h"
#include "eval/evaluate.h"
#include "ops/op_machine.h"

bool op_calibrate(struct arena *a, const char *target, void (*progress)(const char *, void *),
                  void *ctx, struct target *t, struct error *err) {
    return op_target(a, target, t, err) && calibrate(a, t, progress, ctx, err) &&
           target_save_ceilings(a, t, err);
}
