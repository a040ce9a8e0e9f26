/*
 * live_request.h - a request between its arrival and its end.
 *
 * The cluster takes a record from its pool when a request arrives, fills in the
 * first part, and passes it to an instance. The instance owns the second part while
 * the request is with it, and returns the record through
 * blis_instance_events.ended. Nothing else keeps a pointer to it.
 */
#ifndef BLIS_INSTANCE_REQUEST_LIVE_REQUEST_H
#define BLIS_INSTANCE_REQUEST_LIVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/block_chain.h"
#include "workload/request.h"

/* Energy that was drawn for a request, and its emissions. */
typedef struct blis_drawn {
  uint64_t nj;
  uint64_t carbon_pg; /* 0 where steps do not count it */
} blis_drawn;

/* Adds a multiple of drawn. */
static inline void blis_drawn_add(blis_drawn *sum, const blis_drawn *drawn, uint64_t times) {
  sum->nj += drawn->nj * times;
  sum->carbon_pg += drawn->carbon_pg * times;
}

/* Where a request is; each request is in exactly one state. */
typedef enum blis_request_state {
  BLIS_REQUEST_ARRIVED, /* not yet routed, or in transit to a wait queue */
  BLIS_REQUEST_QUEUED,
  BLIS_REQUEST_RUNNING,
  BLIS_REQUEST_COMPLETED,
  BLIS_REQUEST_LENGTH_CAPPED, /* completed at the maximum model length */
  BLIS_REQUEST_TIMED_OUT,
  BLIS_REQUEST_UNSERVABLE, /* dropped: can never fit */
  BLIS_REQUEST_REJECTED,   /* refused by admission or routing */
  BLIS_REQUEST_FAILED      /* lost with the instance it was at */
} blis_request_state;

enum { BLIS_REQUEST_STATE_COUNT = BLIS_REQUEST_FAILED + 1 };

/*
 * Names of the states in results, in the order of reports: XX(state, name,
 * preferred direction, description of the metric).
 */
#define BLIS_REQUEST_STATE_MAP(XX)                                                                 \
  XX(COMPLETED, completed, MORE, "requests that were answered, length_capped ones included")       \
  XX(LENGTH_CAPPED, length_capped, NEUTRAL,                                                        \
     "part of completed: requests that stopped at the model's maximum "                            \
     "sequence length")                                                                            \
  XX(REJECTED, rejected, LESS, "requests that admission or routing refused")                       \
  XX(TIMED_OUT, timed_out, LESS, "requests that were not answered before their deadline")          \
  XX(UNSERVABLE, unservable, LESS,                                                                 \
     "requests that were dropped because they are too long for the instance")                      \
  XX(FAILED, failed, LESS, "requests that were lost with an instance")                             \
  XX(RUNNING, still_running, NEUTRAL, "requests in a batch at the end of the run")                 \
  XX(QUEUED, still_queued, NEUTRAL, "requests in a wait queue at the end of the run")              \
  XX(ARRIVED, still_arriving, NEUTRAL,                                                             \
     "requests that were in no wait queue yet at the end of the run")

/* Also at the maximum model length. */
static inline bool blis_request_is_completed(blis_request_state state) {
  return state == BLIS_REQUEST_COMPLETED || state == BLIS_REQUEST_LENGTH_CAPPED;
}

/* "completed", "still_running", ...; static. */
const char *blis_request_state_name(blis_request_state state);

/* The end of an id, if the stages of a hand-off count as requests; in string order. */
typedef enum blis_part {
  BLIS_PART_WHOLE,
  BLIS_PART_DECODE, /* "_decode" */
  BLIS_PART_PREFILL /* "_prefill" */
} blis_part;

typedef struct blis_live_request {
  /* Set by the cluster before the instance sees it. */
  int64_t arrival_us;
  int64_t deadline_us; /* absolute; 0 = none */
  int64_t number;      /* of its id, "request_<number>"; < 0: a follow-up */
  const char *session; /* of a follow-up, for its id; borrowed */
  int32_t round_index; /* of a follow-up */
  int64_t prompt_tokens;
  int64_t output_tokens;
  int64_t output_budget_tokens; /* 0 = the rest of the model length */
  int64_t max_output_tokens;    /* as seen by policies; 0 = no limit */
  double priority;              /* higher is more urgent */
  bool holds_kv;                /* keeps its blocks when it is completed (remote_kv.h) */
  char part;                    /* a blis_part */
  uint32_t slot;                /* the cluster's index of its request */
  void *owner;                  /* owner of the record, used only by the cluster */
  uint32_t adapter;             /* of the configuration, from 1; 0 = it needs none */
  blis_block_chain chain;       /* for the instance's block size */

  /* Kept by the instance. */
  blis_request_state state;
  bool has_first_token;
  bool may_draft;              /* has come to an instance with speculative decoding */
  bool was_counted;            /* reached a wait queue or was late for it */
  bool had_hit;                /* some of its prompt was cached when it was first admitted */
  bool was_brought;            /* its KV, since it was last in the batch (kv_source.h) */
  int64_t cached_tokens;       /* of its prompt, when it was first admitted */
  int64_t prefill_tokens;      /* to compute before the next token comes: the
                                  prompt, and output that was lost */
  int64_t progress_tokens;     /* tokens computed so far */
  int64_t new_tokens;          /* scheduled in the current step */
  int64_t computed_tokens;     /* what progress becomes while prefilling */
  int64_t ttft_us;             /* last recorded; -1 = never */
  int64_t scheduling_delay_us; /* of the last admission (first one, with
                                  rules.resumes_preempted); -1 = never */
  int64_t frontend_us;         /* in the front end of its last instance; 0 = none */
  int64_t delivery_us;         /* from its first token to its client */
  int64_t itl_sum_us;
  int64_t itl_count;
  int64_t drafted_tokens;   /* with may_draft, since it reached the instance, */
  int64_t accepted_tokens;  /* number of these that were emitted */
  int64_t first_itl_us;     /* once out of the batch, reserved for, and not
                                  rules.resumes_preempted; else -1 */
  int64_t e2e_us;           /* -1 until completed */
  void *load;               /* of its source, while KV is brought for it */
  int64_t adapter_asked_us; /* waits for its adapter since; -1 = does not */
  int64_t adapter_wait_us;  /* total so far */
  bool is_adapter_counted;  /* it has been admitted with its adapter */
  bool had_adapter;         /* its adapter was loaded at its first use */
  blis_drawn drawn;         /* for its tokens, on any instance (power.h); 0 if power is not
                               needed */
  bool pins_adapter;        /* it keeps its adapter in its slot */
  const char *rejection;    /* why the instance has; static, NULL elsewhere */
  void *engine;             /* engine data of the request; NULL at both ends */
} blis_live_request;

/* The components of a request's id (blis_request_id_of), for callers that need them longer than
   the request exists. */
typedef struct blis_request_name {
  int64_t number;
  const char *session; /* borrowed from the source; may be NULL */
  int32_t round_index;
} blis_request_name;

static inline blis_request_name blis_request_name_of(const blis_live_request *request) {
  return (blis_request_name){request->number, request->session, request->round_index};
}

/* Sets *live to a request that has just arrived: without chain, session, and priority. */
void blis_live_request_init(blis_live_request *live, const blis_request *request, uint32_t slot);

/*
 * The order of two requests by number: <0, 0, or >0. Follow-ups, whose numbers are negative, come
 * after all others, the oldest one first; parts of one request are in the order of their ids.
 */
int blis_request_compare_numbers(const blis_live_request *a, const blis_live_request *b);

/*
 * Byte order of two ids, so that request_10 is before request_2: <0, 0 or >0. The id of a
 * follow-up is "session_<session>_round_<round_index>_<-number>"; the id of a part has a suffix.
 */
int blis_request_compare_ids(const blis_live_request *a, const blis_live_request *b);

#endif
