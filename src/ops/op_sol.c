// The bound of the whole problem and of each stage of a block, as text and JSON.
#include "ops/op_sol.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "family/block.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"

static bool find_target(struct arena *a, const char *name, struct target *t, struct error *err) {
    return (name && (target_of_card(name, t) || target_of_arch(name, t))) ||
           op_target(a, name, t, err);
}

static const char *join_values(struct arena *a, const struct kernel_stage *s) {
    struct str out = {0};
    for (int i = 0; i < s->n_values; i++)
        str_printf(&out, "%s%s", i ? ", " : "", s->values[i]);
    return str_take(a, &out);
}

static void bound_stages(struct arena *a, const struct block *block, struct sol *out) {
    out->stages = arena_array(a, struct sol_stage, block->n_stages + 1);
    for (int i = 0; i < block->n_stages; i++) {
        const struct block_stage *s = &block->stages[i];
        struct sol_stage *stage = &out->stages[out->n_stages++];
        struct arena scratch = {0};
        node_id leaves[INPUTS_MAX];
        const struct problem *p = region_problem(&scratch, s->region, leaves);
        *stage = (struct sol_stage){.values = join_values(a, s->text),
                                    .family = s->text->family,
                                    .is_prepare = s->is_prepare,
                                    .present = p != NULL};
        if (p)
            bound_compute(p, &out->target, &stage->bound);
        arena_reset(&scratch);
    }
}

// The first block for this kind of target, which must have no mistake.
static bool find_kernel(struct arena *a, const struct loaded *loaded, struct sol *out,
                        struct error *err) {
    for (int i = 0; i < loaded->n_kernels; i++) {
        const struct kernel *k = loaded->kernels[i];
        if (strcmp(k->target, target_kernel_name(&out->target)) != 0)
            continue;
        struct lang_source source = {.file = k->file, .text = k->text, .len = k->text_len};
        struct mistakes m = {.arena = a, .source = &source};
        const struct block *block = block_resolve(a, out->problem, &out->target, k, &m);
        if (m.count > 0)
            return error_set(err, ERROR_PARSE, "%s", mistakes_print(a, &m));
        out->kernel = k;
        bound_stages(a, block, out);
        return true;
    }
    return true;
}

bool op_sol(struct arena *a, const char *file, const char *target, const char *dims,
            struct sol *out, struct error *err) {
    struct loaded loaded;
    *out = (struct sol){0};
    if (!op_load(a, file, dims, &loaded, err) || !find_target(a, target, &out->target, err))
        return false;
    out->problem = loaded.problem;
    bound_compute(out->problem, &out->target, &out->bound);
    out->words = bound_explain(a, out->problem, &out->bound, &out->target);
    return find_kernel(a, &loaded, out, err);
}

// What a stage comes to: its reach, or the speed of light on a card that is not here, or its limit.
static double stage_s(const struct bound *b) {
    if (!isnan(b->reach_s))
        return b->reach_s;
    return isnan(b->light_s) ? b->limit_s : b->light_s;
}

static const char *stage_figure(const struct bound *b) {
    if (!isnan(b->reach_s))
        return "reach";
    return isnan(b->light_s) ? "limit" : "speed of light";
}

const char *op_sol_stages(struct arena *a, const struct sol *s) {
    struct str out = {0};
    double sum = 0;
    if (!s->kernel)
        return "";
    str_printf(&out, "stages of the kernel block, by %s:\n", stage_figure(&s->bound));
    for (int i = 0; i < s->n_stages; i++) {
        const struct sol_stage *stage = &s->stages[i];
        const struct work *w = &stage->bound.work;
        if (!stage->present) {
            str_printf(&out, "  %-20s %-9s reads too many values to be bounded\n", stage->values,
                       stage->family);
            continue;
        }
        if (!stage->is_prepare)
            sum += stage_s(&stage->bound);
        str_printf(&out, "  %-20s %-9s %9s  %s-bound, %s, %s%s\n", stage->values, stage->family,
                   clock_duration(a, stage_s(&stage->bound) * 1e9),
                   bound_side_name(stage->bound.side),
                   bound_quantity(a, w->bytes_read + w->bytes_again + w->bytes_written, "B"),
                   bound_quantity(a, w->flops, "FLOP"), stage->is_prepare ? "; before timing" : "");
    }
    str_printf(&out, "  together %s, %.3g times the whole problem's\n",
               clock_duration(a, sum * 1e9), sum / stage_s(&s->bound));
    return str_take(a, &out);
}

const char *op_sol_roofline(struct arena *a, const struct sol *s, int columns) {
    return bound_roofline(a, &s->bound, &s->target, columns);
}

static json_t *stages_to_json(const struct sol *s) {
    if (!s->kernel)
        return json_null();
    json_t *stages = json_array();
    for (int i = 0; i < s->n_stages; i++) {
        const struct sol_stage *stage = &s->stages[i];
        json_array_append_new(
            stages, json_pack("{s:s, s:s, s:b, s:o}", "values", stage->values, "family",
                              stage->family, "is_prepare", stage->is_prepare, "bound",
                              stage->present ? bound_to_json(&stage->bound) : json_null()));
    }
    return stages;
}

json_t *op_sol_json(const struct sol *s) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "schema", "hone.sol/1", "problem",
                     s->problem->name, "target", s->target.name, "device", s->target.device,
                     "source", json_optional_text(s->target.source), "bound",
                     bound_to_json(&s->bound), "stages", stages_to_json(s), "words", s->words);
}
