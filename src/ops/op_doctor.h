// Is this machine fit for hone? Every part that hone leans on, looked at once.
//
// A part that is absent costs something, which its advice names; one that is broken is
// there and does not work, and its advice says how to fix it. Nothing is installed or left
// behind; what difference the machine can resolve is measured only when asked for.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum part_state { PART_OK, PART_ABSENT, PART_BROKEN, PART_UNSURE, PART_STATE_COUNT };

extern const char *const part_state_names[PART_STATE_COUNT];

struct doctor_part {
    const char *name;
    enum part_state state;
    bool needed;         // without it nothing can be evaluated
    const char *found;   // version, path or what went wrong; never NULL
    const char *advice;  // NULL when the part is ok
};

enum { DOCTOR_MAX_PARTS = 32 };

struct doctor {
    struct doctor_part parts[DOCTOR_MAX_PARTS];
    int n_parts;
    int n_broken;
    int n_needed_absent;
};

struct doctor_request {
    const char *llm;     // a model to ask as well; NULL: none
    const char *target;  // whose resolution; NULL: the default
    double measure_s;    // measure it for durations up to this; 0: tell what was measured before
};

// False only when interrupted; whatever is wrong with the machine is in the parts.
// `llm`: a model that shall be asked whether it answers, which takes a few tokens; NULL: none.
bool op_doctor(struct arena *a, const struct doctor_request *q, struct doctor *d,
               struct error *err);

// As hone.doctor/1.
json_t *doctor_to_json(const struct doctor *d);
