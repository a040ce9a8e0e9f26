/*
 * server.h - serves a live desk (live/desk.h) over HTTP, with libevent.
 *
 * The server has one thread and one loop, which runs the simulation up to the current time, sends
 * the tokens that are due, and waits for the next event of the simulation or of a socket. The
 * current simulated time is the time since the start multiplied by the speed, rounded down to
 * microseconds, so it never drifts.
 *
 * A client that disconnects cancels its request. A client that does not read does not delay other
 * clients: its tokens are only counted, and are sent together when it reads again. Limits: 32 MiB
 * per body, 16 KiB per head, and 30 s without receiving a byte of a request.
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

/* An address to listen on, from the start or as soon as its instance exists. */
typedef struct blis_http_endpoint {
  const char *address; /* numeric */
  uint16_t port;
  int64_t instance; /* instance that serves the address; -1 = the routing policy decides */
} blis_http_endpoint;

/* A request to /admin from the local machine. */
typedef struct blis_http_control {
  const char *method; /* "GET" or "POST" */
  const char *action; /* the path after /admin/ */
  const char *query;  /* as received; "" = none */
  blis_slice body;
  double speed;      /* current speed; the function may change it */
  bool is_read_only; /* set if the request changed nothing */
} blis_http_control;

typedef struct blis_http_config {
  blis_live_desk *desk;
  const blis_http_endpoint *endpoints; /* the whole struct is borrowed */
  size_t endpoint_count;
  const blis_http_feed *feeds; /* feeds of KV events, by instance; NULL = not published */
  size_t feed_count;
  double speed;             /* simulated seconds per second, > 0 */
  const char *version;      /* version that /version reports */
  int64_t stall_timeout_us; /* a client that reads nothing for this time is dropped */
  int64_t duration_us;      /* wall-clock time after which the server ends as after an interrupt;
                               0 = never */
  int64_t grace_us;         /* time for open streams after an interrupt */
  bool splits;              /* kv_transfer_params are supported */
  uint32_t block_tokens;
  bool shows_cached;       /* usage has prompt_tokens_details */
  bool echoes_request_ids; /* responses have the X-Request-Id of their request */
  /* Answers a request to /admin: appends JSON and returns the status. May be NULL. */
  int (*control)(void *ud, blis_http_control *request, blis_buffer *text);
  void *control_ud;
  /* Called within 0.1 s after an instance has entered or left service; may be NULL. */
  void (*changed)(void *ud);
  void *changed_ud;
  /* Called when all endpoints listen; may be NULL. */
  void (*ready)(void *ud);
  void *ready_ud;
} blis_http_config;

/* Outcome of a server. */
typedef struct blis_http_outcome {
  int signal;            /* signal that ended the server */
  int64_t requests;      /* number of HTTP requests that were started or answered */
  int64_t interventions; /* number of calls that changed the cluster; a replay does not repeat
                            these */
  int64_t dropped;       /* number of clients that were dropped because they did not read */
  int64_t lag_p99_us;    /* delay until tokens are handed to the kernel, over the most recent
                            ones */
  int64_t lag_p50_us;
} blis_http_outcome;

/*
 * Serves until SIGINT or SIGTERM. Then it stops listening, and ends when no stream is open or the
 * grace period is over. A second signal ends it immediately. Returns BLIS_ERR_IO if it cannot
 * listen on an address, or the error of the simulation.
 */
BLIS_MUSTUSE blis_status blis_http_serve(const blis_alloc *alloc, const blis_http_config *config,
                                         blis_http_outcome *outcome, blis_error *error);

/* Returns the version of libevent; static. */
const char *blis_http_library(void);

/* Returns the version of libzmq; static. NULL = KV events cannot be published. */
const char *blis_http_zmq_library(void);

#endif
