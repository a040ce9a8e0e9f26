/*
 * publisher.h - publishes batches of KV events (live/kv_events.h) over ZeroMQ, as vLLM does.
 *
 * Each instance has a PUB socket. A message has three frames: topic, sequence number (8 bytes, big
 * endian), payload. An instance may have a ROUTER socket, too, for subscribers that have missed
 * batches: a request has the frames "" and the sequence number of the first missing batch, and the
 * answers have the frames "", sequence number, and payload. The last answer has the number -1 and
 * no payload. The last 10,000 batches, of at most 32 MiB, are kept for that.
 *
 * libzmq sends in a thread of its own, so a slow subscriber does not delay the server; batches
 * above its high-water mark (100,000) are dropped, as in vLLM.
 */
#ifndef BLIS_HTTP_PUBLISHER_H
#define BLIS_HTTP_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

/* Where the events of an instance are published. */
typedef struct blis_http_feed {
  const char *address;        /* numeric */
  const char *replay_address; /* NULL = no replay */
  const char *topic;
  uint16_t port;
  uint16_t replay_port;
} blis_http_feed;

typedef struct blis__publisher blis__publisher;

/*
 * feeds has an item per instance and is borrowed. BLIS_ERR_IO: libzmq is not installed. The caller
 * owns *made.
 */
BLIS_MUSTUSE blis_status blis__publisher_new(const blis_alloc *alloc, const blis_http_feed *feeds,
                                             size_t count, blis__publisher **made,
                                             blis_error *error);

/* NULL is allowed. */
void blis__publisher_free(blis__publisher *publisher);

/* Binds the sockets of an instance. BLIS_ERR_IO names the address. */
BLIS_MUSTUSE blis_status blis__publisher_open(blis__publisher *publisher, uint32_t instance,
                                              blis_error *error);

/* The file descriptor that is readable when the replay socket of an open instance needs
   blis__publisher_answer; -1 = it has none. */
int blis__publisher_descriptor(const blis__publisher *publisher, uint32_t instance);

/* Sends a batch. */
void blis__publisher_send(blis__publisher *publisher, uint32_t instance, uint64_t sequence,
                          blis_slice payload);

/* Answers all requests for replay that have come. */
void blis__publisher_answer(blis__publisher *publisher, uint32_t instance);

/* The version of libzmq, static; NULL = this build has none, or it is not installed. */
const char *blis__publisher_library(void);

#endif
