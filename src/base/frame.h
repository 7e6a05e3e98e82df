// Messages between hone's own processes: JSON documents, each behind a header of
// four magic bytes "hn1\n" and a length (32 bits, little endian). The version is
// in the magic; the document's kind is its "schema". A message above FRAME_MAX is
// refused unread, and descriptors can ride along (SCM_RIGHTS).
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

enum { FRAME_MAX = 64 << 20, FRAME_MAX_FDS = 64 };

// Send one document. With n_fds > 0 the socket must be a unix socket. ERROR_IO with text "closed"
// when the peer is gone.
bool frame_write(int fd, const json_t *message, const int *fds, int n_fds, struct error *err);

// Is that all that was wrong, that the peer is gone? Then forget it.
bool frame_was_closed(struct error *err);

// Receive one; the caller owns *message and the descriptors in fds (room for FRAME_MAX_FDS;
// NULL: none expected, any that come are closed). ERROR_TIMEOUT when `timeout_ns` passed
// (-1: wait for ever), ERROR_IO with text "closed" when the peer is gone,
// ERROR_INTERRUPTED on Ctrl-C.
bool frame_read(int fd, int64_t timeout_ns, json_t **message, int *fds, int *n_fds,
                struct error *err);
