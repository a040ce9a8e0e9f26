/*
 * live_request.h - the record of a request from its arrival to its end.
 *
 * The cluster takes a record from its pool when a request arrives, fills in the first part, and
 * passes it to an instance. While the request is with an instance, that instance owns the second
 * part. It returns the record through blis_instance_events.ended. No other code keeps a pointer to
 * the record.
 */
#ifndef BLIS_INSTANCE_REQUEST_LIVE_REQUEST_H
#define BLIS_INSTANCE_REQUEST_LIVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/block_chain.h"
#include "workload/request.h"

/* Energy used for a request, and the resulting emissions. */
typedef struct blis_drawn {
  uint64_t nj;
  uint64_t carbon_pg; /* 0 if emissions are not counted */
} blis_drawn;

/* Adds `times` times *drawn to *sum. */
static inline void blis_drawn_add(blis_drawn *sum, const blis_drawn *drawn, uint64_t times) {
  sum->nj += drawn->nj * times;
  sum->carbon_pg += drawn->carbon_pg * times;
}

/* The state of a request. Each request is in exactly one state. */
typedef enum blis_request_state {
  BLIS_REQUEST_ARRIVED, /* not yet routed, or in transit to a wait queue */
  BLIS_REQUEST_QUEUED,
  BLIS_REQUEST_RUNNING,
  BLIS_REQUEST_COMPLETED,
  BLIS_REQUEST_LENGTH_CAPPED, /* completed at the maximum model length */
  BLIS_REQUEST_TIMED_OUT,
  BLIS_REQUEST_UNSERVABLE, /* dropped because it can never fit */
  BLIS_REQUEST_REJECTED,   /* rejected by admission or routing */
  BLIS_REQUEST_FAILED      /* lost with its instance */
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

/* Returns whether the request is completed, including at the maximum model length. */
static inline bool blis_request_is_completed(blis_request_state state) {
  return state == BLIS_REQUEST_COMPLETED || state == BLIS_REQUEST_LENGTH_CAPPED;
}

/* "completed", "still_running", ...; static. */
const char *blis_request_state_name(blis_request_state state);

/*
 * The suffix of an ID, if the stages of a hand-off count as separate requests. Values are in string
 * order of the suffixes.
 */
typedef enum blis_part {
  BLIS_PART_WHOLE,
  BLIS_PART_DECODE, /* "_decode" */
  BLIS_PART_PREFILL /* "_prefill" */
} blis_part;

typedef struct blis_live_request {
  /* Set by the cluster before it passes the request to an instance. */
  int64_t arrival_us;
  int64_t deadline_us; /* absolute; 0 = none */
  int64_t number;      /* number in its ID, "request_<number>"; < 0: a follow-up */
  const char *session; /* session of a follow-up, for its ID; borrowed */
  int32_t round_index; /* round of a follow-up */
  int64_t prompt_tokens;
  int64_t output_tokens;
  int64_t output_budget_tokens; /* 0 = the rest of the model length */
  int64_t max_output_tokens;    /* limit that policies can read; 0 = no limit */
  double priority;              /* higher is more urgent */
  bool holds_kv;                /* keeps its blocks when it is completed (remote_kv.h) */
  char part;                    /* a blis_part */
  uint32_t slot;                /* the cluster's index of its request */
  void *owner;                  /* used only by the cluster, which owns the record */
  uint32_t adapter;             /* number in the configuration, from 1; 0 = no adapter */
  blis_block_chain chain;       /* for the instance's block size */

  /* Set by the instance. */
  blis_request_state state;
  bool has_first_token;
  bool may_draft;        /* it has reached an instance with speculative decoding */
  bool was_counted;      /* it reached a wait queue, or its deadline had passed by then */
  bool had_hit;          /* part of its prompt was cached at its first admission */
  bool was_brought;      /* its KV was loaded since it was last in the batch (kv_source.h) */
  int64_t cached_tokens; /* cached prompt tokens at its first admission */
  /* Tokens to compute before the next output token: the prompt, and output whose KV was lost. */
  int64_t prefill_tokens;
  int64_t progress_tokens; /* tokens computed so far */
  int64_t new_tokens;      /* tokens scheduled in the current step */
  int64_t computed_tokens; /* its progress after the current step of a prefill */
  int64_t ttft_us;         /* last recorded value; -1 = none */
  /* Delay of the last admission (with rules.resumes_preempted: the first one); -1 = none. */
  int64_t scheduling_delay_us;
  int64_t frontend_us; /* time in the front end of its last instance; 0 = none */
  int64_t delivery_us; /* delay of its first token to its client */
  int64_t itl_sum_us;
  int64_t itl_count;
  int64_t drafted_tokens;  /* with may_draft: tokens drafted since it reached the instance */
  int64_t accepted_tokens; /* drafted tokens that were accepted and emitted */
  /*
   * Set when it leaves the batch, if its blocks were reserved and without rules.resumes_preempted;
   * otherwise -1.
   */
  int64_t first_itl_us;
  int64_t e2e_us;           /* -1 until completed */
  void *load;               /* load of its source while its KV is loaded */
  int64_t adapter_asked_us; /* time since which it waits for its adapter; -1 = does not wait */
  int64_t adapter_wait_us;  /* total wait time so far */
  bool is_adapter_counted;  /* it has been admitted with its adapter */
  bool had_adapter;         /* its adapter was loaded at its first use */
  /* Energy for its tokens, on all instances (power.h); 0 if power draw is not computed. */
  blis_drawn drawn;
  bool pins_adapter;     /* it keeps its adapter in its slot */
  const char *rejection; /* reason for a rejection by the instance; static, or NULL */
  void *engine;          /* data of the engine; NULL before and after its time on an instance */
} blis_live_request;

/* The components of a request's ID (blis_request_id_of), for callers that need them after the
   request is gone. */
typedef struct blis_request_name {
  int64_t number;
  const char *session; /* borrowed from the source; may be NULL */
  int32_t round_index;
} blis_request_name;

static inline blis_request_name blis_request_name_of(const blis_live_request *request) {
  return (blis_request_name){request->number, request->session, request->round_index};
}

/* Initializes *live as a request that has just arrived, without chain, session, and priority. */
void blis_live_request_init(blis_live_request *live, const blis_request *request, uint32_t slot);

/*
 * Compares two requests by number: <0, 0, or >0. Follow-ups, which have negative numbers, come
 * after all others, the oldest first. Parts of one request are in the order of their IDs.
 */
int blis_request_compare_numbers(const blis_live_request *a, const blis_live_request *b);

/*
 * Compares two requests by the bytes of their IDs, so that request_10 precedes request_2: <0, 0, or
 * >0. The ID of a follow-up is "session_<session>_round_<round_index>_<-number>". The ID of a part
 * has a suffix.
 */
int blis_request_compare_ids(const blis_live_request *a, const blis_live_request *b);

#endif
