/*
 * observe.h - sends a list of requests to a real endpoint with the OpenAI API, open loop, and
 * measures the answers.
 *
 * A request is sent at its time, whatever is outstanding. A later round of a session whose think
 * time is known is sent that long after the end of the round before. Latencies are those of vLLM
 * bench: TTFT is the time from sending to the first event with a choice, inter-token latencies are
 * the times between such events, and the end is the last of them. Prompts are token ids, which
 * follow from the content of the request: equal content has equal ids.
 *
 * One thread. Memory: 100 bytes per request, and the body of each request in flight.
 */
#ifndef BLIS_OBSERVE_OBSERVE_H
#define BLIS_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/* What a client has seen of one request. Times in us since the start; -1 = never. */
typedef struct blis_observation {
  int64_t due_us;
  int64_t sent_us;
  int64_t first_us;       /* the first event with a choice */
  int64_t last_us;        /* the last one */
  uint32_t events;        /* with a choice */
  uint32_t prompt_tokens; /* as the server reports; 0 = it does not */
  uint32_t output_tokens; /* as the server reports; the number of events without that */
  uint32_t cached_tokens;
  int status;          /* of HTTP; 0 = there was no answer */
  const char *finish;  /* "stop", "length", ...; "" = none; static or of the strings below */
  const char *problem; /* NULL = it was answered to the end */
  int64_t *event_us;   /* with keeps_events: the times of the events */
} blis_observation;

typedef struct blis_observe_config {
  const char *url;   /* "http://host:port", without a slash at its end */
  const char *model; /* NULL = requests name none */
  const char *key;   /* sent as a bearer token; NULL = none */
  bool is_chat;      /* chats with texts, not completions of token ids */
  bool ignores_eos;
  bool keeps_events;
  uint32_t vocabulary;           /* ids are from 1000 to below it */
  double speed;                  /* seconds of the list per second */
  size_t most_outstanding;       /* reaching it fails */
  int64_t stall_seconds;         /* without a byte, after which a request has failed */
  bool (*interrupted)(void *ud); /* true: no more requests are sent; may be NULL */
  void *interrupted_ud;
} blis_observe_config;

/* What was observed; all of it belongs to the observations. */
typedef struct blis_observations {
  blis_alloc alloc;
  blis_observation *items; /* by place in the list */
  size_t count;
  size_t sent; /* requests that were sent */
  int64_t started_unix_us;
  int64_t ended_us;
  bool was_interrupted;
  void *strings;
} blis_observations;

/*
 * Sends the requests. BLIS_ERR_IO: the endpoint refuses connections, answers 401, 403, or 404, or
 * too many requests are outstanding. Free the observations in any case.
 */
BLIS_MUSTUSE blis_status blis_observe(const blis_alloc *alloc, const blis_observe_config *config,
                                      const blis_workload *workload, blis_observations *made,
                                      blis_error *error);
void blis_observations_free(blis_observations *observations);

/* The version of the library that sends them; NULL = it is not installed. Static. */
const char *blis_observe_library(void);

#endif
