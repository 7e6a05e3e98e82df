// The same as collect.h by another way: NVIDIA's ncu runs the program once.
#pragma once

#include "profile/collect.h"

// False: there is no ncu, or the program could not be started. What ncu refuses is a note.
bool collect_by_ncu(struct arena *a, const struct collect_request *q, struct collected *out,
                    struct error *err);
