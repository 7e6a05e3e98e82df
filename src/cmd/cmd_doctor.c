// `hone doctor`: a line per part of the machine, over ops/op_doctor.h.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_doctor.h"

struct doctor_options {
    struct doctor_request request;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "measure",
     .type = OPTION_NUMBER,
     .value = "S",
     .summary = "measure what difference is resolved in 1, 5 and 20 s, as far as these are up to S",
     .offset = offsetof(struct doctor_options, request.measure_s)},
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "whose resolution: cpu, cuda or cuda:N (the first GPU, else cpu)",
     .offset = offsetof(struct doctor_options, request.target)},
    {"llm", OPTION_STRING, "PROVIDER",
     "ask this model as well whether it answers; takes a few tokens",
     offsetof(struct doctor_options, request.llm), 0},
    {"json", OPTION_FLAG, NULL, "print one hone.doctor/1 document",
     offsetof(struct doctor_options, json), 0},
    {0},
};

static const struct command_options options = {
    .command = "doctor",
    .arguments = "",
    .summary = "check every part that hone needs on this machine",
    .text =
        "Each part is ok, absent (with what then does not work), broken (with how to fix it), or\n"
        "unsure: measured while the machine was too busy to rely on it.\n"
        "On a CPU --measure 20 is one comparison of 20 s whose stretches are the shorter ones.\n"
        "The exit status is 0 when nothing is broken and everything needed is there, 3 when\n"
        "something needed is absent (a compiler, the model named by --llm), else 1.",
    .rows = rows,
};

static void print_text(const struct doctor *d) {
    struct str text = {0};
    for (int i = 0; i < d->n_parts; i++) {
        const struct doctor_part *p = &d->parts[i];
        str_printf(&text, "%-9s %-7s %s\n", p->name, part_state_names[p->state], p->found);
        if (p->advice)
            str_printf(&text, "%-17s %s\n", "", p->advice);
    }
    narrow_print(stdout, str_text(&text));
    str_reset(&text);
}

// What is wrong has been printed: only the status is left to say.
static bool conclude(const struct doctor *d, struct error *err) {
    if (d->n_needed_absent > 0)
        return error_set(err, ERROR_UNSUPPORTED, "%s", "");
    return d->n_broken == 0 || error_set(err, ERROR_PARSE, "%s", "");
}

static bool run(int argc, char **argv, struct error *err) {
    struct doctor_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct doctor d;
    bool ok = op_doctor(&a, &o.request, &d, err);
    if (ok && o.json) {
        json_t *document = doctor_to_json(&d);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        print_text(&d);
    }
    arena_reset(&a);
    return ok && conclude(&d, err);
}

const struct command cmd_doctor = {GROUP_MACHINE, &options, run};
