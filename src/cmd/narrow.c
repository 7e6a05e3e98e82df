// A line is an indent, a label, a gap of two spaces or more (or a word with a colon and one), and
// the rest; what goes on in the next line begins below the rest. Cells of a table lose their gaps
// where a row does not fit. A stage of a kernel block is code, to be copied: from 80 columns on it
// stays in one line.
#include "cmd/narrow.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

enum { WIDE = 80, LEAST = 20 };

struct line {
    const char *at;
    size_t len;
    int width;   // columns: letters, not bytes
    int indent;  // of its first word
    int hang;    // where the rest begins: behind a gap, or a word with a colon; else the indent
};

static int width_of(const char *text, size_t len) {
    int width = 0;
    for (size_t i = 0; i < len; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static struct line line_at(const char *text) {
    struct line l = {.at = text, .len = strcspn(text, "\n")};
    size_t indent = strspn(text, " "), i = indent;
    l.width = width_of(text, l.len);
    l.indent = l.hang = (int)indent;
    while (i + 1 < l.len && !(text[i] == ' ' && text[i + 1] == ' '))
        i++;
    size_t rest = i + strspn(text + i, " "), word = indent + strcspn(text + indent, " \n");
    if (i + 1 < l.len && rest < l.len)
        l.hang = width_of(text, rest);
    else if (word > indent && word < l.len && text[word - 1] == ':')
        l.hang = width_of(text, word + 1);
    return l;
}

static bool is_code(const struct line *l) {
    static const char stage[] = "stage ";
    return l->len > sizeof stage && strncmp(l->at + l->indent, stage, sizeof stage - 1) == 0;
}

// Was the first line wrapped, and is this what came into the second?
static bool goes_on(const struct line *first, const struct line *last, const struct line *next) {
    bool is_below = next->indent == first->hang ||
                    (first->hang == first->indent && next->indent == first->indent + 2);
    int word = width_of(next->at + next->indent, strcspn(next->at + next->indent, " \n"));
    return next->len > 0 && is_below && last->width + 1 + word > WIDE;
}

static void put_spaces(struct str *out, int n) {
    for (int i = 0; i < n; i++)
        str_puts(out, " ");
}

struct folding {
    struct str *out;
    int columns, column;
    int hang;      // where lines after the first begin
    int keeps_to;  // gaps that begin before this column are kept
    int gap_most;  // so much of them
    bool is_begun;
};

static void put_words(struct folding *f, const char *text, size_t len) {
    for (size_t i = 0; i < len;) {
        size_t gap = strspn(text + i, " ");
        size_t end = i + gap + strcspn(text + i + gap, " \n");
        int width = width_of(text + i + gap, end - i - gap);
        int before = (int)gap;
        if (f->is_begun && f->column >= f->keeps_to)
            before = 1;
        else if (before > f->gap_most)
            before = f->gap_most;
        if (end > len || width == 0)
            return;
        if (f->is_begun && f->column + before + width > f->columns) {
            str_puts(f->out, "\n");
            put_spaces(f->out, f->hang);
            f->column = f->hang;
            f->keeps_to = before = 0;
        }
        put_spaces(f->out, before);
        str_append(f->out, text + i + gap, end - i - gap);
        f->column += before + width;
        f->is_begun = true;
        i = end;
    }
}

void narrow_text(struct str *out, const char *text, int columns) {
    int most = columns / 3;
    while (*text) {
        struct line first = line_at(text), last = first;
        text += first.len + (text[first.len] == '\n');
        if (first.width <= columns || (columns >= WIDE && is_code(&first))) {
            str_append(out, first.at, first.len);
            str_puts(out, "\n");
            continue;
        }
        // What begins far to the right begins nearer.
        int hang = first.hang == first.indent ? first.indent + 2 : first.hang;
        struct folding f = {.out = out, .columns = columns, .keeps_to = first.hang};
        f.gap_most = first.hang <= most ? most : first.indent <= most / 2 ? first.indent : most / 2;
        f.gap_most = f.gap_most < 2 ? 2 : f.gap_most;
        f.hang = hang < most ? hang : most;
        put_words(&f, first.at, first.len);
        for (struct line next; *text; last = next) {
            next = line_at(text);
            if (!goes_on(&first, &last, &next))
                break;
            put_words(&f, next.at + next.indent, next.len - (size_t)next.indent);
            text += next.len + (text[next.len] == '\n');
        }
        str_puts(out, "\n");
    }
}

// 0 where it is no terminal, or does not say.
static int terminal_columns(FILE *to) {
    struct winsize size;
    bool is_known = isatty(fileno(to)) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0;
    return !is_known || size.ws_col == 0 ? 0 : size.ws_col < LEAST ? LEAST : size.ws_col;
}

int narrow_columns(FILE *to) {
    int columns = terminal_columns(to);
    return columns > 0 ? columns : WIDE;
}

void narrow_for(FILE *to, struct str *text) {
    struct str folded = {0};
    int columns = terminal_columns(to);
    if (columns == 0)
        return;
    narrow_text(&folded, str_text(text), columns);
    str_reset(text);
    *text = folded;
}

void narrow_print(FILE *to, const char *text) {
    struct str copy = {0};
    str_puts(&copy, text);
    narrow_for(to, &copy);
    fputs(str_text(&copy), to);
    str_reset(&copy);
}
