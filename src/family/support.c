// One node at a time against what the emitters have; the first that is missing names the reason.
#include "family/support.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "family/nest_steps.h"
#include "family/point.h"
#include "ir/recurrence.h"

static bool has_lowering(const struct node *n) {
    if (op_class_of(n->op)->role == OP_ROLE_ELEMENTWISE)
        return point_has_op(n->op);
    // Every anchor has: by its terms, or along its lines.
    return n->op != OP_RECUR || nest_steps_unsupported(n->detail->recurrence) < 0;
}

bool support_node(const struct problem *p, node_id i, struct error *err) {
    const struct node *n = &p->graph.nodes[i];
    node_id inner = n->op == OP_RECUR ? nest_steps_unsupported(n->detail->recurrence) : -1;
    if (inner >= 0) {
        const struct node *step = &n->detail->recurrence->body->graph.nodes[inner];
        return error_set(err, ERROR_UNSUPPORTED,
                         "'%s' is a %s in a loop, and no kernel is made of that yet", step->name,
                         op_infos[step->op].name);
    }
    return has_lowering(n) ||
           error_set(err, ERROR_UNSUPPORTED, "'%s' is a %s, and no kernel is made of that yet",
                     n->name, op_infos[n->op].name);
}

// All that is missing, so that nobody meets one after the other.
bool support_problem(const struct problem *p, struct error *err) {
    struct str all = {.max = 700};
    for (node_id i = 0; i < p->graph.n_nodes; i++) {
        struct error one = {0};
        if (!support_node(p, i, &one) && !strstr(str_text(&all), one.text))
            str_printf(&all, "%s%s", all.len ? "; " : "", one.text);
    }
    bool ok = all.len == 0;
    if (!ok)
        error_set(err, ERROR_UNSUPPORTED, "problem %s: %s", p->name, str_text(&all));
    str_reset(&all);
    return ok;
}
