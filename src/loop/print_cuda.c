// Entries per kernel over print_text.h; shared arrays beyond 48 KiB are asked for at launch.
#include "loop/print_cuda.h"

#include "base/arena.h"
#include "loop/print_text.h"

// What an array declared in a kernel may take in all; beyond it the launch has to ask.
enum { STATIC_SHARED_BYTES = 48 << 10 };

// The end of an array that is put behind `offset` bytes of others, and where it begins.
static int64_t array_end(const struct loop_buffer *b, int64_t offset, int64_t *begin) {
    int64_t align = b->align > 16 ? b->align : 16;
    *begin = (offset + align - 1) / align * align;
    return *begin + (dtype_size(b->dtype, b->count) + 15) / 16 * 16;
}

int64_t print_cuda_shared(const struct loop_program *p, const struct loop_kernel *k) {
    struct arena scratch = {0};
    struct text_usage u = text_use(&scratch, p, k);
    int64_t bytes = 0, begin;
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->space == LOOP_SHARED && (u.read[i] || u.written[i]))
            bytes = array_end(p->buffers[i], bytes, &begin);
    arena_reset(&scratch);
    return bytes;
}

// `offset`: in bytes, or -1 where the array is declared by itself. Of floats the macros are
// shorter.
static void shared_array(struct printer *p, const struct loop_buffer *b, int64_t offset) {
    bool is_float = b->dtype == DTYPE_F32;
    str_puts(&p->out, offset < 0 ? "HONE_SHARED" : "HONE_DYNAMIC");
    if (is_float)
        str_printf(&p->out, "(%s, ", b->name);
    else
        str_printf(&p->out, "_OF(%s, %s, ", text_storage(b->dtype), b->name);
    if (offset >= 0)
        str_printf(&p->out, "%lld, ", (long long)(is_float ? offset / 4 : offset));
    text_count(p, b);
    str_puts(&p->out, ");\n");
}

// Arrays that begin at a multiple of more than 16 bytes are laid out by us.
static bool is_dynamic(const struct loop_program *p, const struct loop_kernel *k,
                       const struct text_usage *u) {
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->align > 16 && (u->read[i] || u->written[i]))
            return true;
    return print_cuda_shared(p, k) > STATIC_SHARED_BYTES;
}

static void declarations(struct printer *p, const struct loop_kernel *k,
                         const struct text_usage *u) {
    bool dynamic = is_dynamic(p->program, k, u);
    int64_t offset = 0, begin;
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if ((!u->read[i] && !u->written[i]) || b->space == LOOP_GLOBAL || b->map)
            continue;
        text_begin_line(p);
        if (b->space == LOOP_SHARED) {
            offset = array_end(b, offset, &begin);
            shared_array(p, b, dynamic ? begin : -1);
            continue;
        }
        str_printf(&p->out, "%s %s", text_type(p, b->value, b->lanes), b->name);
        if (b->count > 1)
            str_printf(&p->out, "[%lld]", (long long)b->count);
        str_puts(&p->out, ";\n");
    }
}

static void launch_variable(struct printer *p, const struct loop_var *var, bool is_used) {
    text_bind(p, var, var->name);
    if (!is_used)
        return;
    text_begin_line(p);
    str_printf(&p->out, "const int %s = hone_%s();\n", var->name, var->name);
}

static void kernel(struct printer *p, const struct loop_kernel *k) {
    struct text_usage u = text_use(p->arena, p->program, k);
    p->kernel = k;
    if (k->text)
        str_printf(&p->out, "// %s\n", k->text);
    if (k->min_blocks)
        str_printf(&p->out, "HONE_KERNEL_OF(%d, %d) %s(", k->threads, k->min_blocks, k->name);
    else
        str_printf(&p->out, "HONE_KERNEL(%d) %s(", k->threads, k->name);
    text_parameters(p, k, "__restrict__", "");
    str_puts(&p->out, ") {\n");
    p->indent = 1;
    p->n_scope = 0;
    declarations(p, k, &u);
    launch_variable(p, k->block, u.block);
    launch_variable(p, k->thread, u.thread);
    text_block(p, &k->body);
    p->indent = 0;
    str_puts(&p->out, "}\n");
}

static void launch(struct printer *p, const struct loop_kernel *k) {
    int64_t shared = print_cuda_shared(p->program, k);
    struct text_usage u = text_use(p->arena, p->program, k);
    text_grid(p, k);
    str_printf(&p->out, " block(%d)", k->threads);
    if (is_dynamic(p->program, k, &u))
        str_printf(&p->out, " shared(%lld)", (long long)shared);
    if (k->blocks_per_group > 1 && k->is_cluster)
        str_printf(&p->out, " cluster(%d)", k->blocks_per_group);
    else if (k->blocks_per_group > 1)
        str_puts(&p->out, " cooperative");
    if (k->is_programmatic)
        str_puts(&p->out, " programmatic");
    text_arguments(p, k);
}

const char *print_cuda(struct arena *a, const struct loop_program *program) {
    struct arena scratch = {0};
    struct printer p = {.arena = &scratch, .program = program, .is_cuda = true};
    if (program->about)
        str_puts(&p.out, program->about);
    str_puts(&p.out, "#include \"dev.h\"\n\n");
    text_dims(&p, "HONE_ASSERT");
    text_scratch(&p);
    text_maps(&p);
    for (int i = 0; i < program->n_kernels; i++)
        (program->kernels[i]->call ? text_library_call : launch)(&p, program->kernels[i]);
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
