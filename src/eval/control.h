// The page that judge and runner share, and the futexes on it.
//
// The judge commands a call by writing `slot` and counting `call` up; the runner
// answers by setting `done` to the same number. Nothing else passes between them once
// the candidate is loaded. The candidate runs in the runner's process and may scribble
// here: so the judge believes nothing on this page but "a call has ended", and checks
// that too (outputs, processor time); words and numbers are only for evidence.
//
// Messages from the judge, before the candidate is there:
//     hone.load/1    {"plan": hone.plan/1, "slots": 4, "threads": 2}
//                    with descriptors: control page, inputs (read-only), outputs, scratch, stacks,
//                    and perhaps a pipe that ends when the pages of inputs and outputs are made
//     hone.object/1  {} with the object's descriptor, once it is compiled
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "eval/layout.h"

// Steps: those of a plan, and a clearing of each zeroed scratch before them.
enum {
    THREADS_MAX = 256,
    CONTROL_TEXT = 512,
    CONTROL_STEPS_MAX = PLAN_STEPS_MAX + PLAN_BUFFERS_MAX
};

enum control_state {
    CONTROL_STARTING,
    CONTROL_READY,    // candidate loaded, threads asleep
    CONTROL_REFUSED,  // could not load it; `text` says why
    CONTROL_BROKEN,   // our own preparations failed; `text` says why
    CONTROL_FAULT,    // a signal; `fault` says which
};

enum fault_place { FAULT_ELSEWHERE, FAULT_STACK };

struct control {
    _Atomic uint32_t state;  // enum control_state; futex
    _Atomic uint32_t call;   // futex
    _Atomic uint32_t done;   // futex
    uint32_t slot;
    int32_t sandbox_level;
    int32_t tid[THREADS_MAX];
    uint64_t base[LAYOUT_BASES_MAX];  // where the runner mapped the pages, by layout_base()
    struct {
        int32_t signal, code, syscall;
        uint32_t place;  // enum fault_place
        uint64_t address;
        uint64_t is_write;
    } fault;
    _Atomic uint32_t fp_changed;  // a block left the floating point environment changed
    uint64_t busy_ns[THREADS_MAX];
    uint64_t step_ns[CONTROL_STEPS_MAX];  // of the last call, each from the end of the one before
    char text[CONTROL_TEXT];
    uint64_t rest[THREADS_MAX];  // between calls nothing below this address of a stack is needed
    uint64_t stacks;             // where they begin
};

// Sleep until *word is no longer `value` or the time has passed (-1: no limit); may
// return early. True: somebody has called futex_wake_all.
bool futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns);
void futex_wake_all(_Atomic uint32_t *word);
