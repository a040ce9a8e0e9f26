/*
 * server_priv.h - the state of a server; for http files only.
 *
 * The module has several files: server.c contains the loop and the listening addresses, routes.c
 * the paths, and calls.c the requests for tokens.
 */
#ifndef BLIS_HTTP_SERVER_PRIV_H
#define BLIS_HTTP_SERVER_PRIV_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "http/server.h"
#include "live/answer.h"

enum {
  BLIS__BODY_MAX = 32 << 20,
  BLIS__HEAD_MAX = 16 << 10,
  BLIS__IDLE_SECONDS = 30,
  /* Unsent bytes of a stream above which its tokens are only counted. An event of 200 bytes
     takes 1 KiB of a buffer of libevent. */
  BLIS__OUTPUT_MAX = 2 << 10,
  BLIS__INPUT_MAX = 8 << 10, /* limit on input of later requests while a response is being sent */
  /* Limit on the time between the receipt of a request and its arrival in the simulation. */
  BLIS__ARRIVAL_AGE_MAX_US = 50000,
  BLIS__LAGS = 4096 /* number of recent wake-ups in the summary */
};

typedef struct blis__http blis__http;

/* A listening address. */
typedef struct blis__door {
  blis__http *server;
  struct evhttp *http;
  struct evhttp_bound_socket *socket; /* NULL = no longer listening */
  int64_t instance;
  uint16_t port;
} blis__door;

/* The replay socket of an instance. */
typedef struct blis__replay {
  blis__http *server;
  struct event *readable;
  uint32_t instance;
} blis__replay;

/* A request for tokens that has not been answered yet. */
typedef struct blis__call {
  blis__http *server;
  blis__door *door;
  struct evhttp_request *request;
  struct evhttp_connection *connection;
  blis_live_answer answer;
  blis_live_choice **choices; /* all of them, in order; NULL while another instance prefills */
  blis_live_choice *prefill;  /* choice of the sidecar's first request; NULL = none */
  uint32_t *sent;             /* number of sent tokens, by choice */
  bool *is_told;              /* by choice: whether its end was sent */
  size_t count;
  size_t open;              /* number of choices that are not over or whose end was not sent */
  int64_t blocked_since_us; /* wall-clock time; -1 = the client reads */
  bool streams;
  bool keeps_kv;  /* keeps the KV for another engine: kv_transfer_params */
  bool has_begun; /* the head of the response was sent */
  struct blis__call *previous;
  struct blis__call *next;
} blis__call;

struct blis__http {
  blis_alloc alloc;
  const blis_http_config *config;
  blis_live_desk *desk;
  struct event_base *base;
  struct event *timer; /* fires at the next event of the simulation */
  struct event *retry; /* active while clients are blocked */
  struct event *looks; /* checks for changes of the instances */
  uint32_t known_instances;
  uint64_t services; /* hash of the states of the instances */
  struct event *signals[2];
  blis__door *doors;
  blis__publisher *publisher; /* NULL = no KV events */
  blis__replay *replays;      /* by instance */
  blis__call *calls;
  blis_live_ask ask;
  blis_buffer text; /* buffer for text to send */
  struct evbuffer *out;
  int64_t started_ns;
  /* The simulated time was speed_us at speed_ns; since then it has advanced at this speed. */
  double speed;
  int64_t speed_ns;
  int64_t speed_us;
  int64_t deadline_us; /* wall-clock time of the next stage of shutdown; INT64_MAX = none */
  int64_t blocked;     /* number of blocked calls */
  uint64_t next_id;
  uint64_t id_seed;
  blis_http_outcome outcome;
  int64_t lags_us[BLIS__LAGS];
  uint64_t lag_count;
  int signal_count;
  blis_status status; /* status of the simulation; a failure ends the server */
  blis_error error;
};

/* Returns the wall-clock microseconds since the server started. */
int64_t blis__http_wall_us(const blis__http *server);

/* Changes the speed from the current time on. */
void blis__http_set_speed(blis__http *server, double speed);

/* Advances the simulation to the current time. A failure stops the loop. */
void blis__http_advance(blis__http *server);

/* Advances the simulation to the time at which the loop received the request that it handles now,
   unless the simulation is already later. Parsing then does not delay the arrival. */
void blis__http_advance_to_arrival(blis__http *server);

/* Routes (routes.c): handles every request of a door. */
void blis__http_on_request(struct evhttp_request *request, void *door);

/* Calls (calls.c). */

/* Handles a request for tokens; the response can be sent later. */
void blis__call_begin(blis__door *door, struct evhttp_request *request, blis_live_api api);

/* Callback of the desk. */
void blis__call_changed(void *server, blis_live_choice *choice);

/* Retries sending to blocked clients, and drops clients that have not read for too long. */
void blis__calls_retry(blis__http *server);

/* Drops all calls, with their choices. */
void blis__calls_drop(blis__http *server);

/* Sends server->text; NULL type = application/json. */
void blis__http_send_text(blis__http *server, struct evhttp_request *request, int status,
                          const char *type);
void blis__http_refuse(blis__http *server, struct evhttp_request *request,
                       const blis_live_refusal *refusal);

/* Returns a header of a request. Returns an empty slice if the header is missing, contains
   control characters, or is longer than `most` bytes. Valid as long as the request. */
blis_slice blis__http_header(struct evhttp_request *request, const char *name, size_t most);

/* Returns the whole body, valid as long as the request. */
blis_slice blis__http_body(struct evhttp_request *request);

#endif
