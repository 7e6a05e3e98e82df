// What the files that find forms share.
#pragma once

#include "family/form.h"

// Always false. `first` is what to materialise, or -1.
bool form_refuse(struct form_reject *why, node_id first, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const char *form_noun(enum anchor_kind k);  // "product", "window", ...

// Per node of the region: does it need one of `from`, itself included?
bool *form_mark_after(struct arena *a, const struct region *r, const bool *from);
// Does one of `from` need it, itself included?
bool *form_mark_before(struct arena *a, const struct region *r, const bool *from);

// The epilogue of the one anchor: parts, reduced and spread axes.
bool form_trace_epilogue(struct arena *a, const struct form_request *q, struct form *f,
                         const bool *after, struct form_reject *why);

// Do the tiles meet as the stage says? requires: the epilogue is traced.
bool form_check_tiles(struct arena *a, const struct form_request *q, const struct form *f,
                      struct form_reject *why);

// The forms with several anchors.
bool form_find_rows(struct arena *a, const struct form_request *q, struct form *f,
                    struct form_reject *why);
bool form_find_attention(struct arena *a, const struct form_request *q, struct form *f,
                         struct form_reject *why);
