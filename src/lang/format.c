// The canonical form: one statement per line, single spaces, no blank line at either end
// and never two in a row, one before a block that follows another statement. Runs of
// declarations and of stages are aligned, what stands in a loop is indented. A comment keeps
// its line, or stands two spaces after its statement; one from the middle of a statement moves
// to the line before it.
#include "lang/format.h"

#include "base/str.h"
#include "lang/unparse.h"

static bool is_declaration(const struct statement *s) {
    return s->kind == STATEMENT_IN || s->kind == STATEMENT_PARAM || s->kind == STATEMENT_OUT;
}

static void print_comments(struct str *out, const struct statement *s) {
    for (const struct comment *c = s->inside; c; c = c->next)
        str_printf(out, "%s%s\n", s->in_loop ? LOOP_INDENT : "", c->text);
}

static void end_line(struct str *out, const struct statement *s) {
    if (s->comment)
        str_printf(out, "  %s", s->comment);
    str_puts(out, "\n");
}

static const struct statement *print_declarations(struct str *out, const struct statement *s) {
    struct declaration_widths widths = {0};
    const struct statement *end = s;
    for (; end && is_declaration(end); end = end->next)
        print_declaration_measure(end, false, &widths);
    for (; s != end; s = s->next) {
        print_comments(out, s);
        print_declaration(out, s, false, &widths);
        end_line(out, s);
    }
    return end;
}

static const struct statement *print_stages(struct str *out, const struct statement *s) {
    struct stage_widths widths = {0};
    const struct statement *end = s;
    for (; end && end->kind == STATEMENT_STAGE; end = end->next)
        print_stage_measure(end->stage, &widths);
    for (; s != end; s = s->next) {
        print_comments(out, s);
        print_stage(out, s->stage, &widths);
        end_line(out, s);
    }
    return end;
}

// A statement or a run of them; returns the one after.
static const struct statement *print_run(struct str *out, const struct statement *s) {
    if (is_declaration(s))
        return print_declarations(out, s);
    if (s->kind == STATEMENT_STAGE)
        return print_stages(out, s);
    print_comments(out, s);
    if (s->kind == STATEMENT_COMMENT) {
        str_printf(out, "%s%s\n", s->in_loop ? LOOP_INDENT : "", s->comment);
        return s->next;
    }
    if (s->kind == STATEMENT_KERNEL)
        str_printf(out, "kernel for %s on %s", s->name, s->target);
    else
        print_plain(out, s, false);
    end_line(out, s);
    return s->next;
}

const char *format_statements(struct arena *a, const struct statement *statements) {
    struct str out = {0};
    bool blank_pending = false, after_statement = false;
    for (const struct statement *s = statements; s;) {
        if (s->kind == STATEMENT_BLANK) {
            blank_pending = out.len > 0;
            s = s->next;
            continue;
        }
        bool opens = s->kind == STATEMENT_PROBLEM || s->kind == STATEMENT_KERNEL;
        if (blank_pending || (opens && after_statement))
            str_puts(&out, "\n");
        blank_pending = false;
        after_statement = s->kind != STATEMENT_COMMENT;
        s = print_run(&out, s);
    }
    return str_take(a, &out);
}
