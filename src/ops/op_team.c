// Which model, caps and feedback a run has, from the request or from the run that is resumed; opens
// the model and prints the line that says model, price and cap.
#include "ops/op_team.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "ops/op_llm.h"
#include "record/run.h"
#include "store/store.h"

bool op_feedback(const char *word, const char **out, struct error *err) {
    static const struct {
        const char *word, *means;
    } words[] = {{"findings", "findings"}, {"tools", "findings"}, {"raw", "raw"}, {"none", "none"}};
    for (size_t i = 0; word && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0) {
            *out = words[i].means;
            return true;
        }
    return !word || error_set(err, ERROR_USAGE,
                              "unknown feedback '%s'; there are tools, raw and none", word);
}

// Notes go to the function set in the team's settings, once the run has begun.
static void pass_note(void *ctx, const char *words) {
    struct op_team *t = ctx;
    if (t->settings.on_note)
        t->settings.on_note(t->settings.note_ctx, words);
}

static bool open_llm(struct arena *a, const struct llm_config *config, const char *subject,
                     struct op_team *t, struct run *run, struct error *err) {
    struct llm_settings settings = config->settings;
    settings.spec = run->llm.spec;
    settings.subject = subject;
    settings.on_note = pass_note;
    settings.note_ctx = t;
    if (!llm_open(&t->llm, &settings, err))
        return false;
    struct price price = price_free();
    if (!llm_is_free(t->llm) && !prices_find(a, config->prices, llm_model(t->llm), &price, err))
        return false;
    t->settings = (struct team_settings){
        .llm = t->llm,
        .provider = llm_provider(t->llm),
        .model = llm_model(t->llm),
        .prompts = config->prompts,
        .feedback = run->llm.feedback,
        .max_tokens = config->max_tokens,
        .no_tools = config->no_tools,
        .window_tokens = config->window_tokens,
        .budget = {.price = price,
                   .max_usd = run->llm.max_usd,
                   .max_calls = run->llm.max_calls,
                   .max_tokens = run->llm.max_tokens},
    };
    run->llm.price = price_text(a, &price);
    return true;
}

static const char *caps(struct arena *a, const struct op_team *t) {
    const struct budget *b = &t->settings.budget;
    struct str out = {0};
    bool is_priced = !isnan(b->price.in) && !isnan(b->price.out);
    if (is_priced && b->max_usd > 0 && (b->price.in > 0 || b->price.out > 0))
        str_printf(&out, "; cap %g USD", b->max_usd);
    else if (!is_priced && b->max_calls == 0 && b->max_tokens == 0)
        str_printf(&out, ", so that no cap in money can hold; --max-calls and --max-tokens do");
    if (b->max_calls > 0)
        str_printf(&out, "; cap %lld calls", (long long)b->max_calls);
    if (b->max_tokens > 0)
        str_printf(&out, "; cap %lld tokens", (long long)b->max_tokens);
    return str_take(a, &out);
}

static const char *first_line(struct arena *a, const struct op_team *t, const struct run *run) {
    return arena_printf(a, "model     %s; price %s%s", run->llm.spec, run->llm.price, caps(a, t));
}

static bool check_cap(const struct team_request *q, const struct op_team *t, struct error *err) {
    const struct price *p = &t->settings.budget.price;
    if (q->max_usd > 0 && (isnan(p->in) || isnan(p->out)))
        return error_set(err, ERROR_USAGE,
                         "--max-usd cannot hold: the price of %s is not known; add it to the price "
                         "table (docs/llm.md), or use --max-calls or --max-tokens",
                         llm_model(t->llm)[0] ? llm_model(t->llm) : llm_provider(t->llm));
    return true;
}

bool op_team_none(const struct team_request *q, struct error *err) {
    const char *name = q->max_usd > 0      ? "--max-usd"
                       : q->max_calls > 0  ? "--max-calls"
                       : q->max_tokens > 0 ? "--max-tokens"
                                           : NULL;
    return !name ||
           error_set(err, ERROR_USAGE, "%s is about a model, and none is named: --llm", name);
}

static bool begin(struct arena *a, const struct team_request *q, const char *subject,
                  struct op_team *t, struct run *run, const char **words, struct error *err) {
    struct llm_config config;
    if (!op_llm_config(a, &config, err))
        return false;
    if (!run->llm.spec && !*config.provider)
        return op_team_none(q, err);
    if (!run->llm.spec)
        run->llm.spec = config.provider;
    if (run->llm.max_usd == 0)
        run->llm.max_usd = config.max_usd;
    if (!run->llm.feedback)
        run->llm.feedback = "findings";
    if (!open_llm(a, &config, subject, t, run, err) || !check_cap(q, t, err))
        return false;
    *words = first_line(a, t, run);
    return true;
}

static void take(const struct team_request *q, struct run *run) {
    if (q->llm)
        run->llm.spec = q->llm;
    if (q->max_usd > 0)
        run->llm.max_usd = q->max_usd;
    if (q->max_calls > 0)
        run->llm.max_calls = q->max_calls;
    if (q->max_tokens > 0)
        run->llm.max_tokens = q->max_tokens;
}

bool op_team_begin(struct arena *a, const struct team_request *q, const char *subject,
                   struct op_team *t, struct run *run, const char **words, struct error *err) {
    run->llm = (struct run_llm){.feedback = run->feedback};
    take(q, run);
    return begin(a, q, subject, t, run, words, err);
}

bool op_team_resume(struct arena *a, const struct team_request *q, struct op_team *t,
                    struct run *run, const char **words, struct error *err) {
    if (!run->llm.spec && q->llm)
        return error_set(err, ERROR_USAGE,
                         "run %lld was begun without a model; begin a new one with --llm",
                         (long long)run->id);
    if (!op_feedback(q->feedback, &run->feedback, err))
        return false;
    if (!run->llm.spec)
        return op_team_none(q, err);
    take(q, run);
    if (q->feedback)
        run->llm.feedback = run->feedback;
    if (q->llm)
        run->llm.since = run->n_nodes;
    return begin(a, q, run->problem_hash, t, run, words, err);
}

bool op_team_start(struct op_team *t, struct store *store, const struct run *run,
                   llm_note_fn on_note, void *ctx, struct error *err) {
    if (!t->llm)
        return true;
    t->settings.store = store;
    t->settings.run = run->id;
    t->settings.on_note = on_note;
    t->settings.note_ctx = ctx;
    return team_open(&t->team, &t->settings, err);
}

const char *op_team_spent(struct arena *a, const struct op_team *t) {
    const struct budget *b = team_budget(t->team);
    struct str out = {0};
    str_printf(&out, "model     %lld call%s, %s%lld tokens in (%lld from a cache), %lld out",
               (long long)b->n_calls, b->n_calls == 1 ? "" : "s",
               b->n_uncounted > 0 ? "about " : "", (long long)b->in, (long long)b->in_cached,
               (long long)b->out);
    if (b->n_unpriced == 0)
        str_printf(&out, ", %.4g USD", b->usd);
    else if (b->n_unpriced == b->n_calls)
        str_puts(&out, ", cost unknown");
    else
        str_printf(&out, ", %.4g USD and %lld calls of unknown cost", b->usd,
                   (long long)b->n_unpriced);
    return str_take(a, &out);
}

void op_team_close(struct op_team *t) {
    team_close(t->team);
    llm_close(t->llm);
    *t = (struct op_team){0};
}
