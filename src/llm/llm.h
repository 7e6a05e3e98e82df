// A model of any provider: one question in, one answer out.
//
//     anthropic:MODEL          the Messages API           key: ANTHROPIC_API_KEY
//     openai:MODEL             Chat Completions           key: OPENAI_API_KEY
//     vllm:MODEL llamacpp:MODEL ollama:MODEL   the same, on this machine
//     gateway:MODEL@URL        the same, elsewhere        key: HONE_LLM_KEY
//     exec:COMMAND             the question on its standard input, the answer on its output
//     ask:DIR                  questions as files in a folder, answers awaited there
//     replay:FILE              answers from a recording
//
// `@URL` after any MODEL names another server of that kind. Transport only: what is asked and
// what an answer means is decided in mind/; who may spend how much in llm/budget.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/chat.h"

struct arena;
struct error;
struct llm;

typedef void (*llm_note_fn)(void *ctx, const char *words);

struct llm_settings {
    const char *spec;      // as above
    const char *key_file;  // in place of the environment's variable; NULL or "": none
    const char *effort;    // "low" ... "max"; NULL or "": the model's default
    const char *version;   // of Anthropic's API; NULL: the default
    double idle_s;         // a stream without a byte; 0: 120
    double timeout_s;      // one attempt; 0: 900
    int n_retries;         // below 0: 6
    double backoff_s;      // the first wait; below 0: 0.5
    const char *subject;   // replay: hash of the problem that the recording must be of
    llm_note_fn on_note;   // what somebody at a terminal wants to know while it waits; may be NULL
    void *note_ctx;
};

// Open a provider: parse the spec, find key, command, folder or file. Sends nothing.
// ERROR_USAGE: the spec, the folder, the key file or the recording makes no sense;
// ERROR_UNSUPPORTED: no key, no libcurl, no such command.
bool llm_open(struct llm **out, const struct llm_settings *settings, struct error *err);
void llm_close(struct llm *l);

const char *llm_provider(const struct llm *l);    // "anthropic"
const char *llm_model(const struct llm *l);       // "" where the provider has no name for it
const char *llm_place(const struct llm *l);       // URL, command, folder or file
const char *llm_key_origin(const struct llm *l);  // a variable or file; NULL: no key is used
bool llm_is_free(const struct llm *l);            // runs on this machine: nothing is charged

// Ask, with as many attempts as the settings allow. On failure the kind says what to do:
// ERROR_UNSUPPORTED it will not work until somebody changes something (key, model, quota);
// ERROR_USAGE this request was not accepted, another may be (too long, say);
// ERROR_IO or ERROR_TIMEOUT it may work later; ERROR_INTERRUPTED.
// out->usage is filled in either way, as far as it is known.
bool llm_call(struct llm *l, struct arena *a, const struct chat_request *q, struct chat_answer *out,
              struct error *err);

// Overwrite keys within `text` by asterisks: for whatever is to be kept or shown.
void llm_strip(const struct llm *l, char *text);

// Of a replay: how many questions were worded differently when they were recorded.
int llm_n_reworded(const struct llm *l);

// Every provider's name, NULL-terminated.
const char *const *llm_provider_names(void);
