// SYMBOL.py and test_SYMBOL.py of an exported directory: the texts of bridge/export with what
// is between @ signs replaced.
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/str.h"
#include "ops/export_text.h"

struct replacement {
    const char *name, *text;
};

static const char *replace(struct arena *a, const char *text, const struct replacement *rows) {
    struct str out = {0};
    while (*text) {
        const struct replacement *r = rows;
        while (r->name && strncmp(text, r->name, strlen(r->name)) != 0)
            r++;
        if (r->name) {
            str_puts(&out, r->text);
            text += strlen(r->name);
        } else {
            size_t len = 1 + strcspn(text + 1, "@");
            str_printf(&out, "%.*s", (int)len, text);
            text += len;
        }
    }
    return str_take(a, &out);
}

static const struct node *node_of(const struct problem *p, int i, bool is_output) {
    return &p->graph.nodes[is_output ? p->outputs[i].node : p->inputs[i].node];
}

static const char *name_of(const struct problem *p, int i, bool is_output) {
    return is_output ? p->outputs[i].name : node_of(p, i, false)->name;
}

// [("x", "f32", (4, 8)), ...]
static const char *rows(struct arena *a, const struct problem *p, bool is_output) {
    struct str out = {0};
    int n = is_output ? p->n_outputs : p->n_inputs;
    for (int i = 0; i < n; i++) {
        const struct node *node = node_of(p, i, is_output);
        str_printf(&out, "%s(\"%s\", \"%s\", (", i ? ",\n    " : "[", name_of(p, i, is_output),
                   dtype_name(node->dtype));
        for (int k = 0; k < node->shape.rank; k++)
            str_printf(&out, "%s%lld", k ? ", " : "", (long long)node->shape.size[k]);
        str_puts(&out, node->shape.rank == 1 ? ",))" : "))");
    }
    str_puts(&out, "]");
    return str_take(a, &out);
}

static bool is_word_of_python(const char *name) {
    static const char *const words[] = {
        "False",    "None",   "True",    "and",      "as",     "assert",    "async",
        "await",    "break",  "class",   "def",      "del",    "elif",      "except",
        "finally",  "from",   "global",  "import",   "in",     "is",        "lambda",
        "nonlocal", "not",    "or",      "pass",     "raise",  "try",       "with",
        "yield",    "inputs", "outputs", "pointers", "stream", "workspace", NULL};
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static const char *parameter(struct arena *a, const struct problem *p, int i, bool is_output) {
    const char *name = name_of(p, i, is_output);
    return is_word_of_python(name) ? arena_printf(a, "%s_", name) : name;
}

static const char *list(struct arena *a, const struct problem *p, bool is_output,
                        const char *suffix) {
    struct str out = {0};
    int n = is_output ? p->n_outputs : p->n_inputs;
    for (int i = 0; i < n; i++)
        str_printf(&out, "%s%s%s", i ? ", " : "", parameter(a, p, i, is_output), suffix);
    return str_take(a, &out);
}

static const char *fill_in(struct arena *a, const struct export_view *e, const char *template) {
    const struct problem *p = e->problem;
    bool is_gpu = e->target->is_gpu;
    const char *inputs = list(a, p, false, ""), *outputs = list(a, p, true, "");
    const struct replacement replacements[] = {
        {"@NAME@", p->name},
        {"@SYMBOL@", e->symbol},
        {"@EXAMPLE@", arena_printf(a, "%s = %s(%s)", outputs, e->symbol, inputs)},
        {"@DEVICE_TEXT@",
         is_gpu ? "Arrays of torch, CuPy or whatever has __cuda_array_interface__ or __dlpack__,\n"
                  "in the memory of the GPU; the work is put on the current stream."
                : "Arrays of NumPy, torch (on the CPU) or whatever has __array_interface__ or "
                  "__dlpack__."},
        {"@IS_GPU@", is_gpu ? "True" : "False"},
        {"@INPUTS@", rows(a, p, false)},
        {"@OUTPUTS@", rows(a, p, true)},
        {"@PARAMETERS@", arena_printf(a, "%s, %s%s", inputs, list(a, p, true, "=None"),
                                      is_gpu ? ", stream=None, workspace=None" : "")},
        {"@INPUT_LIST@", inputs},
        {"@OUTPUT_LIST@", outputs},
        {0}};
    return replace(a, template, replacements);
}

const char *export_python(struct arena *a, const struct export_view *e) {
    return fill_in(a, e, embedded_text("export_call.py"));
}

const char *export_python_test(struct arena *a, const struct export_view *e) {
    return fill_in(a, e, embedded_text("export_test.py"));
}
