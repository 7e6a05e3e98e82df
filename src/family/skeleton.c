// Source for a problem that no family lowers yet: typed functions with nothing in them, the plan
// that calls them, and the problem as a comment. It compiles, and its verdict is `wrong` until
// somebody fills it in.
#include "family/skeleton.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "ir/problem.h"
#include "model/target.h"

static const struct node *buffer_node(const struct problem *p, int i) {
    return i < p->n_inputs ? &p->graph.nodes[p->inputs[i].node]
                           : &p->graph.nodes[p->outputs[i - p->n_inputs].node];
}

static const char *buffer_name(const struct problem *p, int i) {
    return i < p->n_inputs ? buffer_node(p, i)->name : p->outputs[i - p->n_inputs].name;
}

// Lines of a text behind "// ".
static void comment(struct str *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        str_printf(out, "//%s%.*s\n", n ? " " : "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void list_arguments(struct arena *a, struct str *out, const struct problem *p) {
    str_puts(out, "//\n");
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++) {
        const struct node *n = buffer_node(p, i);
        const char *note = dtype_c_note(n->dtype);
        str_printf(out, "//   %-12s %s  %s%s%s%s\n", buffer_name(p, i),
                   i < p->n_inputs ? "in " : "out", dtype_name(n->dtype),
                   shape_print(a, &p->graph, &n->shape), note ? ": " : "", note ? note : "");
    }
}

static void parameters(struct str *out, const struct problem *p, const char *first) {
    const char *between = first;
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++) {
        str_printf(out, "%s%s%s *__restrict__ %s", between, i < p->n_inputs ? "const " : "",
                   dtype_c_name(buffer_node(p, i)->dtype), buffer_name(p, i));
        between = ", ";
    }
    str_puts(out, ") {\n    // TODO: compute ");
    for (int i = 0; i < p->n_outputs; i++)
        str_printf(out, "%s%s", i ? ", " : "", p->outputs[i].name);
    str_puts(out, "\n");
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++)
        str_printf(out, "    (void)%s;\n", buffer_name(p, i));
}

// A name that no buffer has.
static const char *function_name(struct arena *a, const struct problem *p) {
    const char *name = arena_printf(a, "compute_%s", p->name);
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++)
        if (strcmp(buffer_name(p, i), name) == 0)
            return arena_printf(a, "%s_", name);
    return name;
}

const char *skeleton_print(struct arena *a, const struct problem *p, const struct target *t,
                           const char *contract) {
    struct str out = {0};
    const char *function = function_name(a, p);
    str_puts(&out,
             "// NOT A KERNEL YET: this computes nothing, and `hone eval` calls it wrong. hone "
             "makes\n// none of this problem itself; fill in the function, change the plan.\n"
             "//\n");
    comment(&out, contract);
    list_arguments(a, &out, p);
    str_puts(&out, "//\n");
    comment(&out, p->text);
    str_puts(&out, "\n");
    if (t->is_gpu)
        str_puts(&out, "#include \"dev.h\"\n\n");
    str_printf(&out, "#pragma hone launch %s grid(%s)%s args(", function, t->is_gpu ? "SMS" : "1",
               t->is_gpu ? " block(256)" : "");
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++)
        str_printf(&out, "%s%s", i ? ", " : "", buffer_name(p, i));
    str_puts(&out, ")\n");
    if (t->is_gpu)
        str_printf(&out, "HONE_KERNEL(256) %s", function);
    else
        str_printf(&out, "void %s", function);
    parameters(&out, p, t->is_gpu ? "(" : "(long block, ");
    if (!t->is_gpu)
        str_puts(&out, "    (void)block;\n");
    str_puts(&out, "}\n");
    return str_take(a, &out);
}
