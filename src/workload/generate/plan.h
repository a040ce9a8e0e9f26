/*
 * plan.h - the immutable part of a generator; for generator files only.
 *
 * A kind is a single client, or the common properties of the members of a cohort. Clients are
 * listed in the order of kinds.
 */
#ifndef BLIS_WORKLOAD_GENERATE_PLAN_H
#define BLIS_WORKLOAD_GENERATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/intern.h"
#include "base/error.h"
#include "base/random.h"
#include "workload/arrival.h"
#include "workload/distribution.h"
#include "workload/generate/modalities.h"
#include "workload/generate/sessions.h"
#include "workload/request.h"
#include "workload/spec/workload_spec.h"

/* An interval in which clients are active; start inclusive, end exclusive. */
typedef struct blis__window {
  int64_t start_us;
  int64_t end_us;
  double trace_rate; /* rate of one member */
  bool has_trace_rate;
  bool has_arrival;
  blis_arrival_spec arrival_spec; /* used only during construction of the plan */
  /* The members below are used if rates vary over time. */
  blis_arrival arrival;
  int64_t requests;        /* number of requests planned for one member */
  blis_distribution input; /* unset unless has_input */
  blis_distribution output;
  bool has_input;
  bool has_output;
} blis__window;

typedef struct blis__kind {
  uint32_t first_client;
  uint32_t client_count;
  double fraction;    /* weight of one member */
  double rate_per_us; /* rate of one member; 0 = no spontaneous arrivals */
  blis_arrival arrival;
  blis_distribution input;
  blis_distribution output;
  blis__modalities modalities;
  blis_distribution reason_ratio; /* percent */
  blis__window *windows;
  size_t window_count;
  size_t window_capacity;
  int64_t last_end_us; /* end of the last window */
  uint32_t tenant;
  uint32_t slo_class;
  uint32_t model;
  uint32_t adapter;
  int64_t timeout_us; /* 0 = no deadline */
  int64_t slo_target_us;
  int64_t max_rounds;
  int64_t think_us;
  int64_t spread_count;
  int64_t spread_us;
  int64_t own_prefix_tokens; /* explicit length, regardless of its group; 0 = none */
  uint32_t concurrency;
  bool has_fixed_rate; /* the rate does not depend on the fraction */
  bool is_streaming;
  bool is_multimodal; /* input is not used */
  bool is_multi_turn;
  bool is_single_session;
  bool is_closed_loop;
  bool accumulates;
  bool has_reason_ratio;
  bool has_zero_reason_ratio; /* the constant 0, which the sampler raises to 1 */
} blis__kind;

typedef struct blis__client_plan {
  uint32_t kind;
  uint32_t id;
  uint32_t prefix_group;
  blis_segment prefix;  /* length 0 without a group */
  uint64_t prefix_draw; /* number of draws before the draws of the prefix */
} blis__client_plan;

/* One generated request. */
typedef struct blis__drawn {
  int64_t arrival_us;
  uint64_t sequence; /* order of generation, which breaks ties of equal arrivals */
  union {
    uint32_t modal_tokens[BLIS__MODALITIES];
    struct {
      int64_t session_id;      /* -1 = none */
      uint32_t context_tokens; /* tokens of the conversation before the input */
      int32_t round;
    };
  };
  uint32_t client;
  uint32_t input_tokens; /* new tokens, without prefix and context */
  uint32_t output_tokens;
  uint32_t session; /* number of its name in the string table */
  uint8_t reason_percent;
} blis__drawn;

typedef BLIS_ARRAY(blis__drawn) blis__drawn_array;
typedef BLIS_ARRAY(blis__session_start) blis__session_start_array;
typedef BLIS_ARRAY(int32_t) blis__token_array;
typedef BLIS_ARRAY(size_t) blis__place_array;

/*
 * All requests of a workload whose requests cannot be generated one at a time: workloads with
 * sessions, users, rates that vary over time, or other modalities.
 */
typedef struct blis__layout {
  blis__drawn_array requests;         /* in order of arrival */
  uint64_t drawn_count;               /* used during construction */
  blis_segment (*segments)[2];        /* prefix and context; NULL if no conversation grows */
  blis__session_start_array sessions; /* sessions with follow-ups */
  blis__session_rule *rules;          /* by kind */
  int64_t follow_ups;                 /* maximum number; INT64_MAX = unlimited */
  blis__place_array token_starts;     /* by sequence, if tokens are stored */
  blis__token_array tokens;
  int32_t *prefix_tokens; /* tokens of the prefixes of all groups, if tokens are stored */
} blis__layout;

typedef struct blis__plan {
  blis_alloc alloc;
  blis_intern *strings;
  blis__kind *kinds;
  uint32_t kind_count;
  blis__client_plan *clients;
  uint32_t client_count;
  uint32_t process_count; /* number of arrival processes: one per client, or one for all */
  double *shares;         /* cumulative weights of the clients; NULL = one process per client */
  int64_t seed;
  uint64_t prefix_draws; /* number of draws for all prefixes */
  int64_t num_requests;  /* INT64_MAX = unlimited */
  int64_t horizon_us;
  bool is_lazy;
  bool keeps_tokens;
  blis_workload_rules rules;
  bool cuts_prefixes;   /* truncates the prefixes of later rounds to the lengths of their clients */
  bool has_run_timeout; /* see blis_workload_spec */
  bool is_varying;      /* windows have their own rates, arrivals, or lengths */
  bool has_end;         /* a horizon or windows exist, so fewer than num_requests may arrive */
  bool has_layout;      /* blis__plan_lay_out must fill the layout */
  blis__layout layout;
} blis__plan;

/* Checks a specification and copies the necessary parts; the caller owns the plan. */
BLIS_MUSTUSE blis_status blis__plan_new(const blis_alloc *alloc, const blis_workload_spec *spec,
                                        blis__plan **plan, blis_error *error);

void blis__plan_free(blis__plan *plan);

static inline const blis__kind *blis__plan_kind_of(const blis__plan *plan, uint32_t client) {
  return &plan->kinds[plan->clients[client].kind];
}

/*
 * Initializes the random stream of prefixes and client seeds, positioned after the draws of
 * prefixes. Lazy workloads have no prefix draws.
 */
void blis__plan_seed_stream(const blis__plan *plan, blis_random *random);

/*
 * Returns the client of the next request of a process: its owner, or for a shared process, a client
 * drawn by weight.
 */
uint32_t blis__plan_draw_client(const blis__plan *plan, uint32_t process, blis_random *random);

/*
 * Makes the draws that a process takes from a new stream before its first arrival. In BLIS (Go) the
 * stages of inference-perf draw a separate seed, which is unused.
 */
void blis__plan_begin_arrivals(const blis__plan *plan, uint32_t process, blis_random *random);

/* Writes the name of a client for messages: client 2 ("users-1"). */
void blis__plan_label(const blis__plan *plan, uint32_t client, char label[BLIS_CLIENT_LABEL_SIZE]);

/* Draws a length of a client. It must be at most BLIS_WORKLOAD_MAX_TOKENS. */
BLIS_MUSTUSE blis_status blis__plan_draw_length(const blis__plan *plan, uint32_t client,
                                                const blis_distribution *distribution,
                                                const char *what, blis_random *random,
                                                uint32_t *tokens, blis_error *error);

#endif
