// Rebuilds the brief of a stored node and has mind/team.h print what a role would be asked.
#include "ops/op_prompt.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "mind/team.h"
#include "ops/op_llm.h"
#include "ops/op_machine.h"
#include "ops/op_memory.h"
#include "ops/op_runs.h"
#include "record/advice.h"
#include "search/decide.h"
#include "search/progress.h"
#include "store/store.h"

static bool stored_bound(const struct run *run, struct bound *b, struct error *err) {
    const char *text = run->bound ? run->bound : "";
    json_t *json = json_parse(text, strlen(text), err);
    bool ok = json && bound_from_json(json, b, err);
    json_decref(json);
    return ok;
}

bool op_prompt(struct arena *a, const char *store, const char *name, const char *role,
               struct str *out, struct error *err) {
    struct run_view v;
    struct store *s;
    struct target target;
    struct bound bound;
    struct problem *problem;
    struct llm_config config;
    struct exchange *exchanges;
    int node, n_exchanges;
    if (!op_show(a, store, name, &v, &node, err) || !op_llm_config(a, &config, err))
        return false;
    if (node < 0)
        return error_set(err, ERROR_USAGE, "show: --prompt needs a node, like %lld.0",
                         (long long)v.run.id);
    if (!op_open_store(a, store, false, &s, err))
        return false;
    bool found;
    bool ok = op_stored_target(a, s, &v.run, &target, &found, err) &&
              (found || op_target(a, v.run.target, &target, err)) &&
              store_get_exchanges(s, a, v.run.id, &exchanges, &n_exchanges, err);
    store_close(s);
    if (!ok || !op_stored_problem(a, &v.run, &problem, err) || !stored_bound(&v.run, &bound, err))
        return false;
    struct advice advice;
    if (!op_memory_advice(a, &v.run, &advice, err))
        return false;
    struct priors priors = op_memory_priors(a, &advice);
    struct search_context c = {.problem = problem,
                               .target = &target,
                               .bound = &bound,
                               .nodes = v.nodes,
                               .n_nodes = v.n_nodes,
                               .seconds_left = INFINITY,
                               .batch = v.run.batch,
                               .evals_left =
                                   progress_evals_left(v.nodes, v.n_nodes, v.run.max_evals),
                               .priors = advice.n_priors > 0 ? &priors : NULL,
                               .scratch = a};
    struct brief brief;
    struct team_settings settings = {
        .prompts = config.prompts,
        .feedback = v.run.llm.feedback ? v.run.llm.feedback : "findings",
        .max_tokens = config.max_tokens,
        .window_tokens = config.window_tokens,
        .recorded = exchanges,
        .n_recorded = n_exchanges,
    };
    struct search_state state = {0};
    state_follow(&c, &state);
    ok = (decide_brief(&c, &state, node, &brief) ||
          error_set(err, ERROR_USAGE, "node %d cannot be read by this hone", node)) &&
         team_prompt(a, &settings, &brief, role, out, err);
    state_reset(&state);
    return ok;
}
