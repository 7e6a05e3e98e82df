// Stages of a kernel block: one line each. What the words mean is decided in family/.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lang/parser.h"

static bool at_word(const struct parser *p, const char *word) {
    return p->token.kind == TOKEN_NAME && span_is(p->token.text, word);
}

static bool at_line_end(const struct parser *p) {
    return p->token.kind == TOKEN_NEWLINE || p->token.kind == TOKEN_END;
}

// value = name ("." (name | digits))*
static const char *stage_value(struct parser *p) {
    const char *start = p->token.at.ptr;
    parser_name(p, "the name of a value");
    const char *end = p->last.text.ptr + p->last.text.len;
    // The parts touch: what stands after a space is a word of its own.
    while (parser_at(p, ".") && p->token.at.ptr == end) {
        parser_advance(p);
        bool is_part =
            p->token.kind == TOKEN_NAME ||
            (p->token.kind == TOKEN_NUMBER && !memchr(p->token.text.ptr, '.', p->token.text.len));
        if (!is_part || p->token.at.ptr != end + 1)
            parser_fail(p, "expected the rest of a value's name, as in y.max or t.1");
        parser_advance(p);
        end = p->last.text.ptr + p->last.text.len;
    }
    return arena_strndup(p->arena, start, (size_t)(end - start));
}

// knob = name (digits ["x" digits ["x" digits]] | name)
static void knob(struct parser *p, struct kernel_stage *s) {
    if (s->n_knobs == KNOBS_MAX)
        parser_fail(p, "a stage has at most %d knobs", KNOBS_MAX);
    struct kernel_knob *k = &s->knobs[s->n_knobs];
    k->at = p->token.at.at;
    struct spot name_at = p->token.at;
    k->name = parser_name(p, "a knob and its value, such as vec 16");
    if (kernel_find_knob(s, k->name))
        mistake_fail(p->mistakes, name_at, NULL, "knob '%s' is given twice", k->name);
    s->n_knobs++;
    if (p->token.kind == TOKEN_NAME) {
        k->word = parser_name(p, "a value");
        return;
    }
    if (p->token.kind != TOKEN_NUMBER && p->token.kind != TOKEN_TILE)
        parser_fail(p, "expected a value for '%s': 16, 64x64x8 or a word", k->name);
    struct spot value_at = p->token.at;
    parser_advance(p);
    const char *text = parser_text(p);
    do {
        char *end;
        long value = strtol(text, &end, 10);
        if (k->n_parts == 3 || (*end && *end != 'x') || value > INT_MAX)
            mistake_fail(p->mistakes, value_at, NULL,
                         "the value of '%s' is not a whole number, nor up to three of them with "
                         "'x' between",
                         k->name);
        k->part[k->n_parts++] = (int)value;
        text = *end ? end + 1 : NULL;
    } while (text);
}

// as = "as" name
static void as(struct parser *p, struct kernel_stage *s) {
    parser_advance(p);
    s->type_at = p->token.at.at;
    s->type = parser_name(p, "a type, such as f16");
}

// layout = "layout" axis ("," axis)*
// axis = name | digits
static void layout(struct parser *p, struct kernel_stage *s) {
    parser_advance(p);
    s->layout_at = p->token.at.at;
    do {
        if (s->n_layout == RANK_MAX)
            parser_fail(p, "no value has more than %d axes", RANK_MAX);
        if (p->token.kind != TOKEN_NAME && p->token.kind != TOKEN_NUMBER)
            parser_fail(p, "expected an axis: the name of a dim, or a number from 0");
        parser_advance(p);
        s->layout[s->n_layout++] = parser_text(p);
    } while (parser_take(p, ","));
}

// combine = "combine" ("atomic" | "twopass" | "lastblock" | "cluster")
static void combine(struct parser *p, struct kernel_stage *s) {
    if (s->combine)
        parser_fail(p, "'combine' is given twice");
    s->combine_at = p->token.at.at;
    parser_advance(p);
    struct spot at = p->token.at;
    const char *word = parser_name(p, "how tiles meet: atomic, twopass, lastblock or cluster");
    for (int i = 0; combine_names[i]; i++)
        if (strcmp(combine_names[i], word) == 0)
            s->combine = COMBINE_ATOMIC + i;
    if (!s->combine)
        mistake_fail(p->mistakes, at, str_nearest(word, combine_names),
                     "tiles do not combine by '%s': it is atomic, twopass, lastblock or cluster",
                     word);
}

// laws = "laws" name ("," name)*
static void laws(struct parser *p, struct kernel_stage *s) {
    if (s->n_laws)
        parser_fail(p, "'laws' is given twice; put commas between laws");
    parser_advance(p);
    do {
        if (s->n_laws == STAGE_LAWS_MAX)
            parser_fail(p, "a stage uses at most %d laws", STAGE_LAWS_MAX);
        struct spot at = p->token.at;
        const char *name = parser_name(p, "a law, such as online_softmax");
        for (int i = 0; i < s->n_laws; i++)
            if (strcmp(s->laws[i], name) == 0)
                mistake_fail(p->mistakes, at, NULL, "law '%s' is named twice", name);
        s->law_at[s->n_laws] = at.at;
        s->laws[s->n_laws++] = name;
    } while (parser_take(p, ","));
}

// option = combine | laws | knob
static void option(struct parser *p, struct kernel_stage *s) {
    if (at_word(p, "as"))
        parser_fail(p, "'as' with an emitter stands behind the family, with a type before ':'");
    if (at_word(p, "layout"))
        parser_fail(p, "'layout' belongs to the values and stands before ':'");
    if (at_word(p, "combine"))
        combine(p, s);
    else if (at_word(p, "laws"))
        laws(p, s);
    else
        knob(p, s);
}

// stage = "stage" value ("," value)* [as] [layout] ":" name ["as" name] option*
struct kernel_stage *parser_stage(struct parser *p, struct spot at) {
    struct kernel_stage *s = arena_new(p->arena, struct kernel_stage);
    s->at = at.at;
    do {
        if (s->n_values == STAGE_VALUES_MAX)
            parser_fail(p, "a stage has at most %d values", STAGE_VALUES_MAX);
        s->value_at[s->n_values] = p->token.at.at;
        s->values[s->n_values++] = stage_value(p);
    } while (parser_take(p, ","));
    if (at_word(p, "as"))
        as(p, s);
    if (at_word(p, "layout"))
        layout(p, s);
    if (at_word(p, "as"))
        parser_fail(p, "'as' stands before 'layout'");
    parser_expect(p, ":");
    s->family_at = p->token.at.at;
    s->family = parser_name(p, "a family: map, rowwise, reduce, gemm or nest");
    if (at_word(p, "as")) {
        parser_advance(p);
        s->emitter_at = p->token.at.at;
        s->emitter = parser_name(p, "an emitter of the family, such as simt");
    }
    while (!at_line_end(p))
        option(p, s);
    return s;
}
