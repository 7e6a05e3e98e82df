// The three steps: parse, check, report.
#include "lang/lang.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/check.h"
#include "lang/format.h"
#include "lang/syntax.h"

// False and the report when there are mistakes.
static bool report(struct arena *a, struct mistakes *m, const char **diagnostics,
                   struct error *err) {
    *diagnostics = "";
    if (m->count == 0)
        return true;
    *diagnostics = mistakes_print(a, m);
    if (m->count == 1)
        return error_set(err, ERROR_PARSE, "%s", mistake_headline(a, m, &m->items[0]));
    return error_set(err, ERROR_PARSE, "%s%d mistakes in %s", m->stopped ? "more than " : "",
                     m->count, m->source->file);
}

bool lang_parse(struct arena *a, const struct lang_source *source, struct lang_file *file,
                const char **diagnostics, struct error *err) {
    struct mistakes m = {.arena = a, .source = source};
    *file = (struct lang_file){0};
    struct statement *statements = parse_file(a, &m);
    if (!m.stopped)
        check_file(a, &m, statements, file);
    return report(a, &m, diagnostics, err);
}

bool lang_format(struct arena *a, const struct lang_source *source, const char **formatted,
                 const char **diagnostics, struct error *err) {
    struct mistakes m = {.arena = a, .source = source};
    struct statement *statements = parse_file(a, &m);
    if (!report(a, &m, diagnostics, err))
        return false;
    *formatted = format_statements(a, statements);
    return true;
}
