// Why a runner ended, as a verdict: which signal, which buffer, which system call.
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "build/text.h"
#include "eval/runner_handle.h"

static const char *signal_name(struct arena *a, int signal) {
    const char *name = sigabbrev_np(signal);
    return name ? arena_printf(a, "SIG%s", name) : arena_printf(a, "signal %d", signal);
}

struct touched {
    int buffer;      // -1: none of ours
    bool is_guard;   // beyond its pages
    int64_t offset;  // in bytes from the buffer's first
};

static struct touched find_buffer(const struct runner *r, uint64_t address) {
    for (int slot = 0; slot < r->layout.n_slots; slot++)
        for (int b = 0; b < r->layout.n_buffers; b++) {
            uint64_t base = r->control->base[layout_base(&r->layout, b, slot)];
            uint64_t end = base + (uint64_t)r->layout.buffers[b].span_bytes;
            if (address < base - LAYOUT_GUARD || address >= end + LAYOUT_GUARD)
                continue;
            int64_t lead = layout_lead(&r->layout, b, slot);
            return (struct touched){.buffer = b,
                                    .is_guard = address < base || address >= end,
                                    .offset = (int64_t)(address - base) - lead};
        }
    return (struct touched){.buffer = -1};
}

static void explain_touch(struct arena *a, const struct runner *r, struct touched t,
                          struct verdict *v) {
    const char *name = r->plan->buffers[t.buffer].name;
    int64_t size = r->layout.buffers[t.buffer].size_bytes;
    const char *did = r->control->fault.is_write ? "wrote" : "read";
    if (!t.is_guard) {
        v->rule = "input-mutated";
        v->evidence = arena_printf(a, "wrote to the input '%s' at byte %lld; inputs are read-only",
                                   name, (long long)t.offset);
        return;
    }
    v->rule = "out-of-bounds";
    v->evidence = t.offset < 0 ? arena_printf(a, "%s %lld bytes before the start of '%s'", did,
                                              (long long)-t.offset, name)
                               : arena_printf(a, "%s %lld bytes past the end of '%s'", did,
                                              (long long)(t.offset - size), name);
}

static void explain_syscall(struct arena *a, int number, struct verdict *v) {
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    v->kind = VERDICT_CHEAT;
    v->rule = "forbidden-syscall";
    v->evidence = arena_printf(a, "called %s; a candidate only computes", name ? name : "?");
    free(name);
}

static void explain_fault(struct arena *a, const struct runner *r, struct verdict *v) {
    const struct control *c = r->control;
    struct touched t = {.buffer = -1};
    if (c->fault.signal == SIGSYS) {
        explain_syscall(a, c->fault.syscall, v);
        return;
    }
    if (c->fault.place == FAULT_STACK) {
        v->evidence = "overflowed the stack of 32 MiB";
        return;
    }
    if (c->fault.signal == SIGSEGV || c->fault.signal == SIGBUS)
        t = find_buffer(r, c->fault.address);
    if (t.buffer >= 0)
        explain_touch(a, r, t, v);
    else if (c->fault.signal == SIGSEGV || c->fault.signal == SIGBUS)
        v->evidence =
            arena_printf(a, "%s at address 0x%llx, in no buffer", signal_name(a, c->fault.signal),
                         (unsigned long long)c->fault.address);
    else
        v->evidence = arena_printf(a, "ended by %s", signal_name(a, c->fault.signal));
}

static void explain_end(struct arena *a, const struct runner *r, struct verdict *v) {
    v->kind = VERDICT_CRASH;
    if (r->control->state == CONTROL_FAULT) {
        explain_fault(a, r, v);
    } else if (r->end.signal == SIGSYS) {
        v->kind = VERDICT_CHEAT;
        v->rule = "forbidden-syscall";
        v->evidence = "made a system call; a candidate only computes";
    } else if (r->end.signal == SIGKILL && (r->sandbox_level > 0 || !r->is_loaded)) {
        // The filter lets no candidate send a signal, and before it is loaded there is none; or
        // there is no filter, and what it does while it is loaded is its own loss.
        v->kind = VERDICT_INFRA;
        v->evidence = "the runner was killed from outside, by somebody or for lack of memory";
    } else if (r->end.signal) {
        v->evidence = arena_printf(a, "ended by %s", signal_name(a, r->end.signal));
    } else {
        v->rule = "early-exit";
        v->evidence = arena_printf(a, "ended the process with status %d in the middle of a call",
                                   r->end.exit_status);
    }
}

void runner_explain(struct arena *a, const struct runner *r, enum runner_status status,
                    struct verdict *v) {
    const char *text = text_clean(a, r->control->text, strnlen(r->control->text, CONTROL_TEXT));
    switch (status) {
    case RUNNER_OK:
        return;
    case RUNNER_REFUSED:
        // The loader cannot map the object within the limit on address space.
        v->kind = strstr(text, "map segment") || strstr(text, "zero-fill") ||
                          strstr(text, "allocate memory")
                      ? VERDICT_LIMITS
                      : VERDICT_ILLEGAL;
        v->evidence = text;
        return;
    case RUNNER_BROKEN:
        v->kind = VERDICT_INFRA;
        v->evidence = arena_printf(a, "the runner failed: %s", text);
        return;
    case RUNNER_TIMEOUT:
        v->kind = VERDICT_TIMEOUT;
        v->evidence = "did not end in time";
        return;
    case RUNNER_ENDED:
        explain_end(a, r, v);
        return;
    }
}
