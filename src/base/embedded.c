// Finds a text by name in the table that scripts/embed.sh generates.
#include "base/embedded.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *embedded_text(const char *name) {
    for (const struct embedded_file *f = embedded_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->text;
    assert(!"embedded text exists");
    return NULL;
}
