// The texts around a loop program: head comment with problem and block, the program printed for its
// target, the scaffold with no body.
#include "family/lower.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/block_set.h"
#include "family/plain.h"
#include "family/program.h"
#include "family/skeleton.h"
#include "family/support.h"
#include "loop/passes.h"
#include "loop/print_c.h"
#include "loop/print_cuda.h"

// Every line of `text` as a comment.
static void comment(struct str *out, const char *text) {
    while (*text) {
        size_t len = strcspn(text, "\n");
        str_puts(out, len ? "// " : "//");
        str_append(out, text, len);
        str_puts(out, "\n");
        text += len + (text[len] == '\n');
    }
}

static const char *about(struct arena *a, const struct problem *p, const char *how) {
    struct str out = {0};
    str_printf(&out, "// %s, by hone %s.\n", p->name, HONE_VERSION);
    comment(&out, how);
    return str_take(a, &out);
}

static const char *print(struct arena *a, const struct target *t, struct loop_program *program) {
    struct error err;
    pass_unroll(program);
    pass_prune(program);
    bool ok = pass_verify(program, &err);
    assert(ok);
    return t->is_gpu ? print_cuda(a, program) : print_c(a, program);
}

static bool lower(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *k, struct candidate *c, struct error *err) {
    struct kernel checked = *k;
    if (!lower_check(a, p, t, &checked, err))
        return false;
    const char *text = kernel_print(a, &checked);
    struct loop_program *program = program_lower(a, p, t, &checked);
    program->about = about(a, p, text);
    *c = (struct candidate){.tier = TIER_K, .source = print(a, t, program), .kernel = text};
    c->label = "kernel";
    candidate_seal(a, c);
    return true;
}

// Of a bounded space: lowered once, then known.
static bool lower_of_set(struct arena *a, const struct problem *p, const struct target *t,
                         const struct kernel *k, struct candidate *c, struct error *err) {
    struct block_entry *e = block_set_find(t->blocks, kernel_print(a, k));
    if (!e)
        return error_set(err, ERROR_PARSE, "this block is not in the table");
    if (!e->candidate) {
        struct candidate *kept = arena_new(block_set_arena(t->blocks), struct candidate);
        if (!lower(block_set_arena(t->blocks), p, t, k, kept, err))
            return false;
        e->candidate = kept;
    }
    *c = *e->candidate;
    return true;
}

bool lower_kernel(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *k, struct candidate *c, struct error *err) {
    return t->blocks ? lower_of_set(a, p, t, k, c, err) : lower(a, p, t, k, c, err);
}

void lower_plain(struct arena *a, const struct problem *p, const struct target *t,
                 struct candidate *c) {
    struct loop_program *program = plain_program(a, p, t);
    program->about = about(
        a, p,
        t->is_gpu ? "plain: one straightforward kernel per value, a thread for each element,\n"
                    "no vectors. The baseline that speed-ups are stated against.\n"
                  : "plain: one straightforward loop nest per named value, no vectors, the C\n"
                    "library's functions. The baseline that speed-ups are stated against.\n");
    *c = (struct candidate){
        .tier = t->is_gpu ? TIER_D : TIER_C, .source = print(a, t, program), .label = "plain"};
    candidate_seal(a, c);
}

static const char contract[] =
    "A candidate of tier C. Edit the functions, keep or change the plan, then `hone eval`.\n"
    "\n"
    "The plan is in the #pragma hone lines. `launch F grid(e) args(...)` names\n"
    "    void F(long block, <a pointer per argument>)\n"
    "which hone's own threads call once for every block in [0, e), in any order and at the\n"
    "same time; launches run in order, each to its end before the next begins. `scratch\n"
    "NAME f32[shape]` gives a buffer that holds nothing you can rely on, `fill NAME 1.5` fills "
    "one\n"
    "(types: f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i8 u8 i4 bool). Buffers begin at\n"
    "multiples of 64 bytes and never overlap. No threads, no writable globals, no system calls.\n";

static const char gpu_contract[] =
    "A candidate of tier D. Edit the kernels, keep or change the plan, then `hone eval`.\n"
    "\n"
    "The plan is in the #pragma hone lines. `launch K grid(x, y, z) block(x, y, z) args(...)`\n"
    "launches the kernel K, which is extern \"C\" and takes a pointer per argument; "
    "`shared(bytes)`,\n"
    "`cluster(x, y, z)`, `cooperative` and `programmatic` may stand there too. Launches run in\n"
    "order, each to its end before the next begins unless that is programmatic: it then waits by\n"
    "hone_launch_wait() itself. Sizes may use the problem's dims and SMS. `scratch NAME\n"
    "f32[shape]` gives a buffer that holds nothing you can rely on (`= 0`: zeros). Buffers begin "
    "at\n"
    "multiples of 256 bytes and never overlap. dev.h is the only header; tables go into\n"
    "__constant__; no variables in device memory, no printf, no malloc.\n";

const char *lower_scaffold(struct arena *a, const struct problem *p, const struct target *t) {
    struct error none;
    if (!support_problem(p, &none))
        return skeleton_print(a, p, t, t->is_gpu ? gpu_contract : contract);
    struct loop_program *program = plain_program(a, p, t);
    program->about = about(a, p, t->is_gpu ? gpu_contract : contract);
    return print(a, t, program);
}
