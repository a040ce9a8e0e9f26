/*
 * observe.h - sends a list of requests to a real endpoint with the OpenAI API, in an open loop, and
 * measures the responses.
 *
 * A request is sent at its arrival time, regardless of outstanding requests. If a later round of a
 * session has a known think time, it is sent this time after the end of the previous round.
 * Latencies are defined as in vLLM bench: TTFT is the time from sending to the first event with a
 * choice, inter-token latencies are the times between such events, and the end is the last of them.
 * Prompts are token ids, which are derived from the content of the request: equal content has equal
 * ids.
 *
 * Uses one thread. Memory: 100 bytes per request, plus the body of each request in flight.
 */
#ifndef BLIS_OBSERVE_OBSERVE_H
#define BLIS_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/* The observations of one request. Times are in us since the start; -1 = never. */
typedef struct blis_observation {
  int64_t due_us;
  int64_t sent_us;
  int64_t first_us;       /* time of the first event with a choice */
  int64_t last_us;        /* time of the last event with a choice */
  uint32_t events;        /* number of events with a choice */
  uint32_t prompt_tokens; /* as reported by the server; 0 = not reported */
  uint32_t output_tokens; /* as reported by the server; otherwise the number of events */
  uint32_t cached_tokens;
  int status;          /* HTTP status; 0 = no response */
  const char *finish;  /* "stop", "length", ...; "" = none; static, or one of the strings below */
  const char *problem; /* NULL = the response was complete */
  int64_t *event_us;   /* with keeps_events: times of the events */
} blis_observation;

typedef struct blis_observe_config {
  const char *url;   /* "http://host:port", without a trailing slash */
  const char *model; /* NULL = requests contain no model */
  const char *key;   /* sent as a bearer token; NULL = none */
  bool is_chat;      /* sends chats with text instead of completions with token ids */
  bool ignores_eos;
  bool keeps_events;
  uint32_t vocabulary;           /* ids are at least 1000 and below this number */
  double speed;                  /* divides the arrival times of the list */
  size_t most_outstanding;       /* the run fails if this number of requests is outstanding */
  int64_t stall_seconds;         /* seconds without a byte after which a request fails */
  bool (*interrupted)(void *ud); /* returns true to stop sending requests; may be NULL */
  void *interrupted_ud;
} blis_observe_config;

/* All observations, which own their data. */
typedef struct blis_observations {
  blis_alloc alloc;
  blis_observation *items; /* by index in the list */
  size_t count;
  size_t sent; /* number of sent requests */
  int64_t started_unix_us;
  int64_t ended_us;
  bool was_interrupted;
  void *strings;
} blis_observations;

/*
 * Sends the requests. Returns BLIS_ERR_IO if the endpoint refuses connections, responds with 401,
 * 403, or 404, or if too many requests are outstanding. Always free the observations.
 */
BLIS_MUSTUSE blis_status blis_observe(const blis_alloc *alloc, const blis_observe_config *config,
                                      const blis_workload *workload, blis_observations *made,
                                      blis_error *error);
void blis_observations_free(blis_observations *observations);

/* Returns the version of libcurl; NULL = not installed. Static. */
const char *blis_observe_library(void);

#endif
