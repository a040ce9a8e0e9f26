/*
 * publisher.h - publishes batches of KV events (live/kv_events.h) over ZeroMQ, as vLLM does.
 *
 * Each instance has a PUB socket. A message has three frames: topic, sequence number (8 bytes,
 * big-endian), and payload. An instance may also have a ROUTER socket for subscribers that have
 * missed batches. A request has the frames "" and the sequence number of the first missing batch.
 * The responses have the frames "", sequence number, and payload. The last response has the number
 * -1 and no payload. The last 10,000 batches, up to 32 MiB, are stored for replay.
 *
 * libzmq sends in a separate thread, so a slow subscriber does not delay the server. Batches above
 * the high-water mark (100,000) are dropped, as in vLLM.
 */
#ifndef BLIS_HTTP_PUBLISHER_H
#define BLIS_HTTP_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

/* Addresses at which the events of an instance are published. */
typedef struct blis_http_feed {
  const char *address;        /* numeric */
  const char *replay_address; /* NULL = no replay */
  const char *topic;
  uint16_t port;
  uint16_t replay_port;
} blis_http_feed;

typedef struct blis__publisher blis__publisher;

/*
 * Creates a publisher, which the caller owns. feeds has one item per instance and is borrowed.
 * Returns BLIS_ERR_IO if libzmq is not installed.
 */
BLIS_MUSTUSE blis_status blis__publisher_new(const blis_alloc *alloc, const blis_http_feed *feeds,
                                             size_t count, blis__publisher **made,
                                             blis_error *error);

/* NULL is allowed. */
void blis__publisher_free(blis__publisher *publisher);

/* Binds the sockets of an instance. The message of BLIS_ERR_IO contains the address. */
BLIS_MUSTUSE blis_status blis__publisher_open(blis__publisher *publisher, uint32_t instance,
                                              blis_error *error);

/* Returns the file descriptor that becomes readable when the replay socket of an open instance
   needs blis__publisher_answer; -1 = no replay socket. */
int blis__publisher_descriptor(const blis__publisher *publisher, uint32_t instance);

/* Sends a batch. */
void blis__publisher_send(blis__publisher *publisher, uint32_t instance, uint64_t sequence,
                          blis_slice payload);

/* Responds to all pending replay requests. */
void blis__publisher_answer(blis__publisher *publisher, uint32_t instance);

/* Returns the version of libzmq; NULL = not supported by this build, or not installed. Static. */
const char *blis__publisher_library(void);

#endif
