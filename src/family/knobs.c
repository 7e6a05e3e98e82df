#include "family/knobs.h"

const int knob_cpu_vec_grid[] = {1, 4, 8, 16, -1};
const char *const knob_store_words[] = {"cached", "stream", NULL};
const char *const knob_divide_words[] = {"exact", "reciprocal", NULL};
const char *const knob_keep_local_words[] = {"reread", "local", NULL};
const char *const knob_keep_shared_words[] = {"reread", "register", "shared", NULL};
