#include "ops/op_sol.h"

#include "base/json.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"

bool op_sol(struct arena *a, const char *file, const char *target, const char *dims,
            struct sol *out, struct error *err) {
    struct loaded loaded;
    if (!op_load(a, file, dims, &loaded, err) || !op_target(a, target, &out->target, err))
        return false;
    out->problem = loaded.problem;
    bound_compute(out->problem, &out->target, &out->bound);
    out->words = bound_explain(a, &out->bound, &out->target);
    return true;
}

json_t *op_sol_json(const struct sol *s) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "schema", "hone.sol/1", "problem",
                     s->problem->name, "target", s->target.name, "device", s->target.device,
                     "bound", bound_to_json(&s->bound));
}
