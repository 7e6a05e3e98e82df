// What is asked for (inject.h has the form).
#pragma once

#include <stdbool.h>

// Fill `state` and open its output; false: nothing is asked of this process.
bool ask_read(void);
// The same once more: other launches; the output begins anew.
bool ask_again(void);
