// A step of a program that a library computes, called by the host in the place of a kernel.
#pragma once

#include "ir/library_call.h"
#include "loop/loop.h"

struct loop_call {
    struct call call;
    const struct loop_buffer *args[CALL_BUFFERS_MAX];
    int n_args;
};

// Add it at the end; `call` is copied.
void loop_call_new(struct loop_program *p, const char *name, const struct loop_call *call);
