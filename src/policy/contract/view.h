/*
 * view.h - the input of one decision: a request and its candidates.
 *
 * It is a snapshot with a defined freshness (cluster/signals/snapshot.h) and contains no future
 * data. Only oracle experiments include the true output length.
 */
#ifndef BLIS_POLICY_CONTRACT_VIEW_H
#define BLIS_POLICY_CONTRACT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/containers/block_chain.h"
#include "base/containers/extremes.h"
#include "base/containers/intern.h"
#include "base/containers/least_tree.h"
#include "base/error.h"
#include "instance/request/live_request.h"
#include "policy/contract/signals.h"
#include "workload/request.h"

/*
 * Data that a policy stores about one routed request, so that it needs no table. route() writes the
 * ticket. The policy gets it back when the request gets its first token and when it ends.
 */
typedef struct blis_ticket {
  int64_t values[2];
} blis_ticket;

/* Times that are reported to a router about a request that it has sent to an instance. */
typedef struct blis_request_times {
  int64_t now_us;     /* simulation time */
  int64_t end_us;     /* time when the client has the last token, >= now_us; set when the request
                         has ended */
  int64_t ttft_us;    /* time from arrival to the last first token; -1 = none yet */
  int64_t itl_sum_us; /* sum of the times between its tokens; set when it has completed */
  int64_t itl_count;
} blis_request_times;

/* Traffic of the request's tenant, and of all tenants, up to now. */
typedef struct blis_traffic_state {
  int64_t tenant_requests; /* arrived requests, including this one */
  int64_t tenant_active;   /* requests admitted and not ended */
  double tenant_rate;      /* arrivals per second, over the last 10 s */
  double request_rate;     /* sum over all tenants */
  uint32_t slo_class;      /* class of the tenant's last request; index in strings */
  uint32_t tenant_limit;   /* all tenants that have sent requests are below this index */
} blis_traffic_state;

/* The pool of the gateway. */
typedef struct blis_pool_state {
  int64_t gateway_queue_size; /* requests that wait in the gateway queue, without delay */
  double pool_saturation;     /* 1 = full; computed from signals as fresh as the router's */
} blis_pool_state;

struct blis_routing_view;

typedef struct blis_routing_request {
  int64_t number; /* id is "request_<number>" */
  uint32_t slot;  /* unique among live requests */
  int64_t arrival_us;
  int64_t deadline_us;   /* absolute; 0 = none */
  int64_t slo_target_us; /* target time to first token; 0 = not set */
  int64_t prompt_tokens;
  int64_t max_output_tokens;
  int64_t output_tokens; /* -1 unless the experiment is an oracle */
  double priority;       /* higher is more urgent */
  int32_t slo_value;     /* value of its SLO class: higher is more important, negative may be
                            shed */
  int32_t round_index;
  uint32_t tenant; /* index in strings */
  uint32_t slo_class;
  uint32_t model;
  uint32_t session;
  uint32_t client;
  uint32_t adapter;
  uint32_t adapter_number; /* number in the cluster's list of adapters, from 1; 0 = none */
  uint32_t prefix_group;
  uint32_t prefix_tokens;
  /* The start of the prompt; the request's own tokens follow. */
  const blis_segment *segments;
  uint32_t segment_count;
  const blis_call *call; /* call of a program; NULL = none */
  /*
   * With prefill/decode disaggregation: the stage that the candidates serve, one of BLIS_ROLE_*,
   * and the instance of the other stage (-1 = not chosen yet). Without disaggregation, stage is 0.
   */
  uint32_t stage;
  int64_t peer;
  const struct blis_stages *stages; /* NULL without disaggregation; contract/stages.h */
  const blis_intern *strings;
  blis_ticket *ticket;
  /*
   * Returns the ids of the prompt's blocks of block_size_tokens tokens. They are computed at the
   * first call and kept until the decision is complete. NULL = out of memory.
   */
  const blis_block_chain *(*chain)(void *chain_ud, uint32_t block_size_tokens);
  void *chain_ud;
  /* NULL if traffic state is not maintained. */
  blis_traffic_state (*traffic)(void *traffic_ud, uint32_t tenant, int64_t now_us);
  void *traffic_ud;
  /* NULL without a cluster. view is the view of the decision. */
  blis_pool_state (*pool)(void *pool_ud, const struct blis_routing_view *view);
  void *pool_ud;
  bool wants_parts; /* the decision should include its parts and facts */
} blis_routing_request;

typedef struct blis_routing_view {
  size_t count; /* number of candidates; can be 0 only in admission decisions */
  int64_t now_us;
  const uint32_t *instances; /* instance number of each candidate, ascending */
  const char *const *ids;    /* id of each candidate's instance */
  /*
   * Rank of each candidate's id in byte order; the smallest rank is the lowest id. Without plain
   * ids (instance_id.h), this is the order of the instance numbers.
   */
  const uint32_t *id_ranks;
  /* columns[signal][candidate]; NULL if no policy declared the signal. */
  const double *columns[BLIS_SIGNAL_COUNT];
  /*
   * Returns the column of a signal that was not declared. After the call, the column is maintained
   * like a declared one. NULL = out of memory, or a signal of BLIS_SIGNALS_WITH_HISTORY, which must
   * be declared. The function pointer is NULL in views that tests construct.
   */
  const double *(*column)(void *column_ud, blis_signal signal);
  void *column_ud;
  /*
   * Tree of the candidates' effective loads, with ties by id_ranks, maintained for routers that
   * need it. NULL if only the column is available. Always NULL if some instances are not
   * candidates.
   */
  const blis_least_tree *least_load;
  /*
   * Extremes of the column by signal; NULL for signals whose extremes are not needed. The whole
   * array is NULL if some instances are not candidates. If it is set, candidate k is therefore
   * instance k.
   */
  const blis_extremes *const *extremes;
  const blis_extremes *rank_extremes; /* extremes of id_ranks; set if extremes is set */
} blis_routing_view;

/* The input of one call of any policy, and storage for its error. */
typedef struct blis_question {
  void *state; /* state of the policy */
  const blis_routing_request *request;
  const blis_routing_view *view;
  blis_error *error;
} blis_question;

/* Returns the index of the candidate with this instance; view->count if the instance is not a
   candidate. */
size_t blis_routing_view_find(const blis_routing_view *view, uint32_t instance);

/*
 * Sets *shown to the data of the request and its record. The ticket, the prompt, and data of the
 * cluster, such as its strings, are not set. The output length is -1. The result is written in
 * place because *shown is large.
 */
static inline void blis_routing_request_init(blis_routing_request *shown,
                                             const blis_request *request,
                                             const blis_live_request *live) {
  memset(shown, 0, sizeof *shown);
  shown->number = request->number;
  shown->slot = live->slot;
  shown->arrival_us = request->arrival_us;
  shown->deadline_us = request->deadline_us;
  shown->slo_target_us = request->slo_target_us;
  shown->prompt_tokens = request->prompt_tokens;
  shown->max_output_tokens = live->max_output_tokens;
  shown->output_tokens = -1;
  shown->priority = live->priority;
  shown->round_index = request->round_index;
  shown->tenant = request->tenant;
  shown->slo_class = request->slo_class;
  shown->model = request->model;
  shown->session = request->session;
  shown->client = request->client;
  shown->adapter = request->adapter;
  shown->adapter_number = live->adapter;
  shown->prefix_group = request->prefix_group;
  shown->prefix_tokens = request->prefix_tokens;
  shown->segments = request->segments;
  shown->segment_count = request->segment_count;
  shown->call = request->call;
}

/* Returns the state of a pool with this number of waiting requests. */
static inline blis_pool_state blis_pool_state_of(int64_t waiting) {
  return (blis_pool_state){.gateway_queue_size = waiting};
}

#endif
