// What the parts of conv's `mma` emitter share, and what its `wgmma` emitter takes as it does:
// conv_mma.c has rules and estimates and brings a convolution to gemm's loops, conv_layout.c copies
// weights and image as these loops read them.
#pragma once

#include "family/conv_form.h"
#include "family/gemm_mma.h"

// As the operands lie once they are copied; `channels` are those of a group, filled up with zeros
// so that a copy of 16 bytes never leaves its tap.
struct conv_sizes {
    enum dtype storage;
    int64_t channels;
    bool is_direct;   // nothing is copied: both are read where they are
    bool is_rounded;  // to tf32 while they are copied, and kept as words
};
struct conv_sizes conv_read_sizes(const struct form *f);

// What an emitter on tensor cores can multiply: `name` fills products of `rows` out channels, which
// pays from `least` channels of a group on; below that, take `fewer`.
struct conv_products {
    const char *name;
    int rows, least;
    const char *fewer;
};
bool conv_accepts(const struct form *f, const struct conv_products *p, struct objection *why);

// A kernel that copies the image to [batch, padded ..., groups, channels], and one that copies the
// weights of a class to [groups, out, taps, channels]. Both return where to.
struct loop_buffer *conv_copy_image(struct lowering *l, const struct conv_form *f,
                                    const struct conv_sizes *z, const char *name);
struct loop_buffer *conv_copy_weights(struct lowering *l, const struct conv_form *f,
                                      const struct conv_sizes *z, const struct conv_class *c,
                                      const char *name);
