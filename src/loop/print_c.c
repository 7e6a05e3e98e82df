// Functions per kernel over print_text.h; vectors are GCC's vector extensions.
#include "loop/print_c.h"

#include "base/arena.h"
#include "loop/print_text.h"

static void declarations(struct printer *p, const struct text_usage *u) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if ((!u->read[i] && !u->written[i]) || b->space == LOOP_GLOBAL)
            continue;
        text_begin_line(p);
        if (b->space == LOOP_LOCAL) {
            str_printf(&p->out, "_Alignas(64) %s %s[", text_storage(b->dtype), b->name);
            text_count(p, b);
            str_puts(&p->out, "];\n");
            continue;
        }
        str_printf(&p->out, "%s ", text_type(p, b->value, b->lanes));
        for (int64_t j = 0; j < b->count; j++)
            str_printf(&p->out, "%s%s", j ? ", " : "", text_register(p, b, j));
        str_puts(&p->out, ";\n");
    }
}

static void kernel(struct printer *p, const struct loop_kernel *k) {
    struct text_usage u = text_use(p->arena, p->program, k);
    if (k->text)
        str_printf(&p->out, "// %s\n", k->text);
    str_printf(&p->out, "void %s(long block", k->name);
    text_parameters(p, k, "restrict", ", ");
    str_puts(&p->out, ") {\n");
    p->indent = 1;
    p->n_scope = 0;
    text_bind(p, k->block, "block");
    declarations(p, &u);
    text_block(p, &k->body);
    p->indent = 0;
    str_puts(&p->out, "}\n");
}

static void plan(struct printer *p) {
    text_scratch(p);
    for (int i = 0; i < p->program->n_kernels; i++) {
        if (p->program->kernels[i]->call) {
            text_library_call(p, p->program->kernels[i]);
            continue;
        }
        text_grid(p, p->program->kernels[i]);
        text_arguments(p, p->program->kernels[i]);
    }
}

static bool needs_types(struct printer *p) {
    for (int i = 0; i < p->program->n_kernels; i++) {
        struct text_usage u = text_use(p->arena, p->program, p->program->kernels[i]);
        if (u.types || (u.functions && !p->program->libm))
            return true;
    }
    return false;
}

static bool program_uses(struct printer *p, enum loop_op op) {
    for (int i = 0; i < p->program->n_kernels; i++)
        if (text_use(p->arena, p->program, p->program->kernels[i]).op[op])
            return true;
    return false;
}

static void head(struct printer *p) {
    const struct loop_program *program = p->program;
    if (program->about)
        str_puts(&p->out, program->about);
    str_puts(&p->out, program->libm ? "#include <math.h>\n" : "#include \"hone_math.h\"\n");
    if (needs_types(p))
        str_printf(&p->out, "%s#include \"hone_types.h\"\n", program->libm ? "\n" : "");
    str_puts(&p->out, "\n");
    text_dims(p, "_Static_assert");
    for (int smaller = 0; program->libm && smaller < 2; smaller++)
        if (program_uses(p, smaller ? LOOP_MIN : LOOP_MAX))
            str_printf(&p->out,
                       "// The %s of two, NaN when either is.\n"
                       "static inline float %sf(float a, float b) {\n"
                       "    return a != a || a %s b ? a : b;\n}\n\n",
                       smaller ? "smaller" : "larger", smaller ? "min" : "max",
                       smaller ? "<" : ">");
}

const char *print_c(struct arena *a, const struct loop_program *program) {
    struct arena scratch = {0};
    struct printer p = {.arena = &scratch, .program = program};
    head(&p);
    plan(&p);
    for (int i = 0; i < program->n_kernels; i++) {
        if (program->kernels[i]->call)
            continue;
        str_puts(&p.out, "\n");
        kernel(&p, program->kernels[i]);
    }
    const char *text = str_take(a, &p.out);
    arena_reset(&scratch);
    return text;
}
