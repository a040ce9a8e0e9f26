/*
 * server.h - a live desk (live/desk.h) as HTTP servers, by libevent.
 *
 * One thread and one loop: it runs the simulation up to the present, hands out the tokens that are
 * due, and waits for the next event of the simulation or of a socket. The present of the simulation
 * is the time since the start, times the speed, rounded down to microseconds; it never drifts.
 *
 * A client that disconnects cancels its request. A client that does not read delays no other one:
 * its tokens are only counted, and sent together when it reads again. Limits: 32 MiB per body,
 * 16 KiB per head, 30 s without a byte of a request.
 */
#ifndef BLIS_HTTP_SERVER_H
#define BLIS_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "http/publisher.h"
#include "live/desk.h"

/* An address that is listened on: since the start, or when its instance exists. */
typedef struct blis_http_endpoint {
  const char *address; /* numeric */
  uint16_t port;
  int64_t instance; /* that answers there; -1 = the routing policy decides */
} blis_http_endpoint;

/* A request to /admin, from this machine. */
typedef struct blis_http_control {
  const char *method; /* "GET" or "POST" */
  const char *action; /* the path after /admin/ */
  const char *query;  /* as it was sent; "" = none */
  blis_slice body;
  double speed;      /* the present one; the function may set another one */
  bool is_read_only; /* set if nothing has changed */
} blis_http_control;

typedef struct blis_http_config {
  blis_live_desk *desk;
  const blis_http_endpoint *endpoints; /* all of it borrowed */
  size_t endpoint_count;
  const blis_http_feed *feeds; /* of KV events, by instance; NULL = they are not published */
  size_t feed_count;
  double speed;             /* simulated seconds per second, > 0 */
  const char *version;      /* that /version reports */
  int64_t stall_timeout_us; /* a client that reads nothing for so long is dropped */
  int64_t duration_us;      /* wall clock; it then ends as after an interrupt; 0 = never */
  int64_t grace_us;         /* time for open streams after an interrupt */
  bool splits;              /* kv_transfer_params are obeyed */
  uint32_t block_tokens;
  bool shows_cached;       /* usage has prompt_tokens_details */
  bool echoes_request_ids; /* answers have the X-Request-Id of their request */
  /* Answers a request to /admin: appends JSON and returns the status. May be NULL. */
  int (*control)(void *ud, blis_http_control *request, blis_buffer *text);
  void *control_ud;
  /* Called within 0.1 s after an instance came into service or left it; may be NULL. */
  void (*changed)(void *ud);
  void *changed_ud;
  /* Called when all endpoints listen; may be NULL. */
  void (*ready)(void *ud);
  void *ready_ud;
} blis_http_config;

/* How a server ended. */
typedef struct blis_http_outcome {
  int signal;            /* that ended it */
  int64_t requests;      /* HTTP requests that were answered or begun */
  int64_t interventions; /* calls that changed the cluster, which a replay does not repeat */
  int64_t dropped;       /* clients that did not read */
  int64_t lag_p99_us;    /* how late tokens were handed to the kernel, of the last ones */
  int64_t lag_p50_us;
} blis_http_outcome;

/*
 * Serves until SIGINT or SIGTERM: then listens no more, and ends when no stream is open or the
 * grace period is over; a second signal ends it at once. Fails with BLIS_ERR_IO if an address
 * cannot be listened on, and as the simulation does.
 */
BLIS_MUSTUSE blis_status blis_http_serve(const blis_alloc *alloc, const blis_http_config *config,
                                         blis_http_outcome *outcome, blis_error *error);

/* The version of libevent; static. */
const char *blis_http_library(void);

/* The version of libzmq; static. NULL = KV events cannot be published. */
const char *blis_http_zmq_library(void);

#endif
