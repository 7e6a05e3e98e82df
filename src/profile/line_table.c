// DWARF's line program, version 2 as CUDA writes it: a machine whose instructions move an address
// and a line and now and then append a row. NVIDIA adds an instruction that names, for the rows
// behind it, the row of the call that they were inlined into, counted from 1 within the kernel. An
// address is relocated by the symbol of a kernel, which says whose rows follow.
//
// Whatever is damaged ends the reading; what was read until then stays out of use.
#include "profile/line_table.h"

#include <string.h>

#include "base/arena.h"
#include "profile/cubin.h"

enum {
    SECTION_MAX = 16 << 20,
    FILES_MAX = 256,
    OPERANDS = 16,  // standard instructions whose operands a header may describe
    STANDARD_COPY = 1,
    STANDARD_ADVANCE_ADDRESS = 2,
    STANDARD_ADVANCE_LINE = 3,
    STANDARD_FILE = 4,
    STANDARD_CONST_ADDRESS = 8,
    STANDARD_FIXED_ADDRESS = 9,
    EXTENDED_END = 1,
    EXTENDED_ADDRESS = 2,
    EXTENDED_INLINED = 0x90,
};

struct program {
    struct arena *a;
    const void *cubin;
    size_t cubin_len;
    const unsigned char *section, *at, *end;  // `end` of this unit
    bool is_broken;
    // Of the unit's header.
    int step, line_base, line_range, first_special;
    unsigned char operands[OPERANDS];
    int first_row, first_file;
    // What rows are made of.
    struct line_row now;
    int room;
    struct line_table *out;
};

static uint64_t take(struct program *p, size_t n) {
    uint64_t value = 0;
    if ((size_t)(p->end - p->at) < n) {
        p->is_broken = true;
        p->at = p->end;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)p->at[i] << 8 * i;
    p->at += n;
    return value;
}

// A number of seven bits a byte, the least first.
static int64_t take_leb(struct program *p, bool is_signed) {
    uint64_t value = 0;
    unsigned shift = 0, byte;
    do {
        byte = (unsigned)take(p, 1);
        if (shift < 63)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !p->is_broken);
    if (is_signed && byte & 0x40 && shift < 63)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static const char *take_text(struct program *p) {
    const unsigned char *end = memchr(p->at, 0, (size_t)(p->end - p->at));
    const char *text = (const char *)p->at;
    if (!end) {
        p->is_broken = true;
        return "";
    }
    p->at = end + 1;
    return text;
}

static const char *without_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Length, version, where the program begins, its parameters, directories, files.
static void read_header(struct program *p) {
    const unsigned char *limit = p->end;
    uint64_t length = take(p, 4);
    if (length > (uint64_t)(limit - p->at)) {
        p->is_broken = true;
        return;
    }
    p->end = p->at + length;
    uint64_t version = take(p, 2), header = take(p, 4);
    if (version < 2 || version > 3 || header > (uint64_t)(p->end - p->at)) {
        p->is_broken = true;
        return;
    }
    const unsigned char *code = p->at + header;
    p->step = (int)take(p, 1);
    take(p, 1);  // whether rows are statements
    p->line_base = (int)(int8_t)take(p, 1);
    p->line_range = (int)take(p, 1);
    p->first_special = (int)take(p, 1);
    for (int i = 1; i < p->first_special; i++) {
        unsigned char n = (unsigned char)take(p, 1);
        if (i < OPERANDS)
            p->operands[i] = n;
    }
    while (!p->is_broken && *take_text(p))
        ;
    for (const char *name; !p->is_broken && *(name = take_text(p));) {
        for (int i = 0; i < 3; i++)
            take_leb(p, false);
        if (p->out->n_files < FILES_MAX)
            p->out->files[p->out->n_files++] = arena_strdup(p->a, without_directory(name));
    }
    p->is_broken |= p->line_range == 0 || p->first_special == 0 || code < p->at;
    p->at = p->is_broken ? p->end : code;
}

static void add_row(struct program *p) {
    struct line_table *t = p->out;
    if (t->n_rows == p->room) {
        int room = 2 * p->room + 256;
        struct line_row *more = arena_array(p->a, struct line_row, room);
        if (t->n_rows > 0)
            memcpy(more, t->rows, sizeof *more * (size_t)t->n_rows);
        t->rows = more;
        p->room = room;
    }
    struct line_row row = p->now;
    row.file += p->first_file;
    // Only rows that came before: a chain of callers ends.
    row.caller = row.caller > 0 && p->first_row + row.caller <= t->n_rows
                     ? p->first_row + row.caller - 1
                     : -1;
    t->rows[t->n_rows++] = row;
}

static void begin_sequence(struct program *p) {
    p->first_row = p->out->n_rows;
    p->now = (struct line_row){.file = 0, .line = 1};
}

static void run_extended(struct program *p) {
    uint64_t length = (uint64_t)take_leb(p, false);
    if (length == 0 || length > (uint64_t)(p->end - p->at)) {
        p->is_broken = true;
        return;
    }
    const unsigned char *next = p->at + length;
    switch (take(p, 1)) {
    case EXTENDED_END:
        begin_sequence(p);
        break;
    case EXTENDED_ADDRESS:
        p->now.kernel = cubin_relocated(p->a, p->cubin, p->cubin_len, ".debug_line",
                                        (uint64_t)(p->at - p->section));
        p->now.address = take(p, 8);
        break;
    case EXTENDED_INLINED:
        p->now.caller = (int)take_leb(p, false);
        break;
    }
    p->at = next;
}

static void run_standard(struct program *p, int code) {
    switch (code) {
    case STANDARD_COPY:
        add_row(p);
        return;
    case STANDARD_ADVANCE_ADDRESS:
        p->now.address += (uint64_t)take_leb(p, false) * (uint64_t)p->step;
        return;
    case STANDARD_ADVANCE_LINE:
        p->now.line = (int)((int64_t)p->now.line + take_leb(p, true));
        return;
    case STANDARD_FILE:
        p->now.file = (int)take_leb(p, false) - 1;
        return;
    case STANDARD_CONST_ADDRESS:
        p->now.address += (uint64_t)((255 - p->first_special) / p->line_range * p->step);
        return;
    case STANDARD_FIXED_ADDRESS:
        p->now.address += take(p, 2);
        return;
    default:
        for (int i = 0; i < (code < OPERANDS ? p->operands[code] : 0); i++)
            take_leb(p, false);
    }
}

static void run_unit(struct program *p) {
    p->first_file = p->out->n_files;
    read_header(p);
    begin_sequence(p);
    while (!p->is_broken && p->at < p->end) {
        int code = (int)take(p, 1);
        if (code == 0) {
            run_extended(p);
        } else if (code < p->first_special) {
            run_standard(p, code);
        } else {
            int both = code - p->first_special;
            p->now.address += (uint64_t)(both / p->line_range * p->step);
            p->now.line += p->line_base + both % p->line_range;
            add_row(p);
        }
    }
}

bool line_table_read(struct arena *a, const void *cubin, size_t len, struct line_table *out) {
    const unsigned char *bytes;
    size_t n;
    *out = (struct line_table){.files = arena_array(a, const char *, FILES_MAX)};
    if (!cubin_section(cubin, len, ".debug_line", &bytes, &n) || n > SECTION_MAX)
        return false;
    struct program p = {
        .a = a, .cubin = cubin, .cubin_len = len, .section = bytes, .at = bytes, .out = out};
    while (!p.is_broken && p.at < bytes + n) {
        p.end = bytes + n;
        run_unit(&p);
    }
    return !p.is_broken && out->n_rows > 0;
}

int line_table_find(const struct line_table *t, const char *kernel, uint64_t pc, const char *file) {
    int at = -1;
    for (int i = 0; i < t->n_rows; i++) {
        const struct line_row *r = &t->rows[i];
        bool is_before = r->kernel && r->address <= pc && strcmp(r->kernel, kernel) == 0;
        if (is_before && (at < 0 || r->address >= t->rows[at].address))
            at = i;
    }
    for (; at >= 0; at = t->rows[at].caller) {
        const struct line_row *r = &t->rows[at];
        if (r->file >= 0 && r->file < t->n_files && strcmp(t->files[r->file], file) == 0)
            return r->line;
    }
    return 0;
}

static bool has_file(const struct line_table *t, int row) {
    return t->rows[row].file >= 0 && t->rows[row].file < t->n_files;
}

const char *line_table_lines(const struct line_table *t, const char *kernel, int step, int *lines,
                             int n) {
    const char *file = NULL;
    int line = 0;
    uint64_t from = 0;  // instructions before it have their line
    for (int i = 0; i < t->n_rows; i++) {
        const struct line_row *r = &t->rows[i];
        if (!r->kernel || strcmp(r->kernel, kernel) != 0)
            continue;
        int at = i, outer = i;
        while (t->rows[outer].caller >= 0)
            outer = t->rows[outer].caller;
        if (!file && has_file(t, outer))
            file = t->files[t->rows[outer].file];
        for (; from < r->address / (uint64_t)step && from < (uint64_t)n; from++)
            lines[from] = line;
        while (at >= 0 &&
               !(file && has_file(t, at) && strcmp(t->files[t->rows[at].file], file) == 0))
            at = t->rows[at].caller;
        line = at >= 0 ? t->rows[at].line : 0;
    }
    for (; file && from < (uint64_t)n; from++)
        lines[from] = line;
    return file;
}
