#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "ops/op_tools.h"

static struct arena a;

static struct search_node node_of(const char *tool, double expected, double gain) {
    return (struct search_node){.state = NODE_EVALUATED,
                                .tool = tool,
                                .expected = expected,
                                .gain = gain,
                                .findings = {{.tool = "narrow", .confidence = 0.6},
                                             {.tool = "of_tomorrow", .confidence = NAN}},
                                .n_findings = 2};
}

static const struct tool_tally *tally_of(const struct tool_list *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->tallies[i].tool->name, name) == 0)
            return &l->tallies[i];
    cr_assert_fail("%s", name);
    return NULL;
}

Test(op_tools, counts_what_became_of_findings) {
    struct tool_list list;
    struct search_node nodes[] = {
        node_of(NULL, NAN, NAN),        node_of("narrow", 1.5, 1.2),
        node_of("narrow", 2, 0.9),      node_of("narrow", 1.2, 1.2),
        node_of("narrow", NAN, 1.3),    node_of("narrow", 2, NAN),  // did not pass
        node_of("of_tomorrow", 2, 1.5),
    };
    struct tool_samples *s = op_tools_begin(&a, &list);
    op_tools_add(s, nodes, sizeof nodes / sizeof nodes[0]);
    op_tools_settle(s);
    const struct tool_tally *t = tally_of(&list, "narrow");
    cr_expect_eq(t->n_fired, 7);
    cr_expect_eq(t->n_followed, 5);
    cr_expect_eq(t->n_helped, 3);
    cr_expect_eq(t->n_predicted, 3);
    cr_expect_float_eq(t->expected, 1.5, 1e-12);
    cr_expect_float_eq(t->gain, 1.2, 1e-12);
    cr_expect_float_eq(t->error, 0.2, 1e-12, "of 0.2, 0.55 and 0");
    cr_expect(isnan(tally_of(&list, "banks")->error));
    cr_expect_eq(list.n_predicted, 3);
    cr_expect_float_eq(list.error, 0.2, 1e-12, "of all tools");
    list.n_runs = 1;
    const char *text = op_tools_text(&a, &list);
    cr_expect(strstr(text, "narrow      gpu       7         5       3     1.50x   1.20x   20%"),
              "%s", text);
    cr_expect(strstr(text, "\nconfidence 0.5 to 0.8: 3 of 5 moves helped\n"), "%s", text);
    cr_expect_null(strstr(text, "confidence 0.8 to"));
    list.n_runs = -1;
    cr_expect_null(strstr(op_tools_text(&a, &list), "fired"));
}
