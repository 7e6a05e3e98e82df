// A hash table of a block's names; lists of words that C, C++, CUDA or emitted code would trip
// over.
#include "lang/names.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/lang.h"

// Emitted code carries the problem's names, in C and in CUDA's C++.
static const char *const c_words[] = {
    "alignas",   "alignof",  "and",      "asm",        "auto",     "bool",      "break",
    "case",      "catch",    "char",     "class",      "const",    "constexpr", "continue",
    "decltype",  "default",  "delete",   "do",         "double",   "else",      "enum",
    "explicit",  "export",   "extern",   "false",      "float",    "for",       "friend",
    "goto",      "if",       "inline",   "int",        "long",     "mutable",   "namespace",
    "new",       "noexcept", "not",      "nullptr",    "operator", "or",        "private",
    "protected", "public",   "register", "restrict",   "return",   "short",     "signed",
    "sizeof",    "static",   "struct",   "switch",     "template", "this",      "throw",
    "true",      "try",      "typedef",  "typeid",     "typename", "typeof",    "union",
    "unsigned",  "using",    "virtual",  "void",       "volatile", "while",     "xor",
    "main",      "NULL",     "linux",    "unix",       "errno",    "NAN",       "INFINITY",
    "EOF",       "assert",   "free",     "malloc",     "calloc",   "memcpy",    "memset",
    "abort",     "exit",     "allocate", "is_aligned", NULL};

// Words of the language, and those that plans and emitted functions use: their launches have
// a parameter `block`, their grids are expressions over dims.
static const char *const reserved[] = {
    "block", "ceildiv", "SMS", "problem", "dim",    "in",     "param",     "out", "kernel",
    "stage", "None",    "f16", "bf16",    "f32",    "f64",    "tf32",      "i8",  "i32",
    "i64",   "axis",    "i4",  "u8",      "f8e4m3", "f8e5m2", "precision", NULL};

static bool is_in(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

const char *names_why_not_problem(const char *name) {
    if (is_in(name, c_words))
        return "is a word of C or C++, and emitted code carries the problem's names";
    if (name[0] == '_' || strncasecmp(name, "hone", 4) == 0)
        return "cannot be a name: those beginning with '_' or 'hone' are reserved";
    return NULL;
}

const char *names_why_not(const char *name) {
    if (is_in(name, reserved))
        return "is a word of the language";
    if (is_in(name, lang_reserved_names()))
        return "is a function; choose another name";
    return names_why_not_problem(name);
}

const char *const *names_taken(int list) {
    const char *const *const lists[] = {c_words, reserved, lang_reserved_names(), NULL};
    return lists[list];
}

static uint32_t hash_name(const char *name) {
    uint32_t h = 2166136261u;  // FNV-1a
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

// The slot that holds the name, or the empty one where it belongs.
static struct symbol **slot_of(const struct names *n, const char *name) {
    uint32_t mask = (uint32_t)n->n_slots - 1, i = hash_name(name) & mask;
    while (n->slots[i] && strcmp(n->slots[i]->name, name) != 0)
        i = (i + 1) & mask;
    return &n->slots[i];
}

int names_truth(const char *word) {
    static const char *const words[] = {"false", "true", "False", "True"};
    for (int i = 0; i < 4 && word; i++)
        if (strcmp(word, words[i]) == 0)
            return i % 2;
    return -1;
}

struct symbol *names_find(const struct names *n, const char *name) {
    return n->n_slots ? *slot_of(n, name) : NULL;
}

struct symbol *names_add(struct arena *a, struct names *n, const char *name) {
    if (2 * n->n_symbols >= n->n_slots) {
        struct names bigger = {.n_slots = n->n_slots ? 2 * n->n_slots : 64};
        bigger.slots = arena_array(a, struct symbol *, bigger.n_slots);
        for (int i = 0; i < n->n_slots; i++)
            if (n->slots[i])
                *slot_of(&bigger, n->slots[i]->name) = n->slots[i];
        bigger.n_symbols = n->n_symbols;
        *n = bigger;
    }
    struct symbol *s = arena_new(a, struct symbol);
    s->name = name;
    *slot_of(n, name) = s;
    n->n_symbols++;
    return s;
}

const char *names_nearest(struct arena *a, const struct names *n, const char *word) {
    const char **list = arena_array(a, const char *, n->n_symbols + 1);
    int count = 0;
    for (int i = 0; i < n->n_slots; i++)
        if (n->slots[i] && n->slots[i]->kind < SYMBOL_LOCAL)
            list[count++] = n->slots[i]->name;
    return str_nearest(word, list);
}
