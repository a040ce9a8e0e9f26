/*
 * workload_spec.h - the description of the requests to generate.
 *
 * Clients share an aggregate rate by weight. A cohort is a group of identical clients. Keys,
 * defaults, and meaning match the workload specification, version 2, of BLIS (Go, inference-sim
 * f90a1e3a), with its defects corrected unless `rules` restores them.
 *
 * Everything is borrowed. A zeroed member counts as omitted.
 */
#ifndef BLIS_WORKLOAD_SPEC_WORKLOAD_SPEC_H
#define BLIS_WORKLOAD_SPEC_WORKLOAD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workload/arrival.h"
#include "workload/distribution.h"
#include "workload/goodput.h"
#include "workload/rules.h"

enum {
  /* Default length of a shared prefix. */
  BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS = 50,
  BLIS_WORKLOAD_MAX_POPULATION = 100000
};

/* Default timeout of requests in sessions. */
#define BLIS_WORKLOAD_SESSION_TIMEOUT_US INT64_C(300000000)

/* An interval in which a client is active; start inclusive, end exclusive. */
typedef struct blis_window_spec {
  int64_t start_us;
  int64_t end_us;
  /* Override the values of the client. If any is set, rates vary over time. */
  double trace_rate; /* a weight, or requests/s if there is no aggregate rate */
  bool has_trace_rate;
  bool has_arrival;
  blis_arrival_spec arrival;
  blis_distribution_spec input; /* no type = the distribution of the client */
  blis_distribution_spec output;
} blis_window_spec;

/* Prompts with images, audio, and video: tokens of each item, and number of items. */
typedef struct blis_multimodal_spec {
  blis_distribution_spec text;
  blis_distribution_spec image;
  blis_distribution_spec image_count;
  blis_distribution_spec audio;
  blis_distribution_spec audio_count;
  blis_distribution_spec video;
  blis_distribution_spec video_count;
} blis_multimodal_spec;

/* Conversations. */
typedef struct blis_multi_turn_spec {
  int64_t max_rounds;         /* >= 1 */
  int64_t think_time_us;      /* from the end of a round to the start of the next */
  const char *context_growth; /* accumulate, or empty: rounds are independent */
  bool single_session;
} blis_multi_turn_spec;

typedef enum blis_loop {
  BLIS_LOOP_DEFAULT, /* closed if there are several turns, otherwise open */
  BLIS_LOOP_OPEN,    /* rounds arrive at times that are fixed in advance */
  BLIS_LOOP_CLOSED   /* a round arrives after the previous round has completed */
} blis_loop;

/* One client. NULL strings count as empty. */
typedef struct blis_client_spec {
  const char *id;
  const char *tenant;
  const char *slo_class; /* critical, standard, sheddable, batch, background */
  const char *model;     /* empty = the run's model */
  const char *adapter;   /* LoRA adapter */
  double rate_fraction;  /* weight, > 0; 0 with concurrency */
  /* Number of users, each with one request at a time, instead of a rate. */
  int64_t concurrency;
  int64_t think_time_us; /* think time of these users */
  blis_arrival_spec arrival;
  blis_distribution_spec input; /* own tokens, after the prefix */
  blis_distribution_spec output;
  /*
   * Clients of a group start every prompt with the same tokens. The first client of the group sets
   * their number (0 = BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS). Without a group, prefix_tokens has no
   * effect.
   */
  const char *prefix_group;
  int64_t prefix_tokens;
  bool is_streaming;
  bool has_network; /* network is set, but has no effect */
  /* Intervals in which the client is active; none = always. */
  const blis_window_spec *windows;
  size_t window_count;
  const blis_multimodal_spec *multimodal; /* NULL = text only */
  const blis_multi_turn_spec *multi_turn; /* NULL = single requests */
  blis_distribution_spec reason_ratio;    /* percent; used with several turns */
  int64_t timeout_us;                     /* from arrival to deadline; 0 = the default */
  bool has_no_timeout;                    /* an explicit timeout of 0: no deadline, not even the
                                             default */
  int64_t slo_target_us;                  /* target time to first token; 0 = none */
  blis_loop loop;
  /*
   * Set by expansions of other forms, not by users. fixed_rate is the requests/s of this client,
   * regardless of its weight. Exactly spread_count requests arrive within spread_us, with
   * exponential gaps that are stretched to fill the interval.
   */
  double fixed_rate;
  int64_t spread_count;
  int64_t spread_us;
} blis_client_spec;

/* Clients are active for part of each hour, longest in peak_hour (0 to 23). */
typedef struct blis_diurnal_spec {
  int64_t peak_hour;
  double peak_to_trough_ratio; /* >= 1 */
} blis_diurnal_spec;

typedef struct blis_spike_spec {
  int64_t start_us;
  int64_t duration_us;
  double trace_rate; /* rate of the whole cohort */
  bool has_trace_rate;
} blis_spike_spec;

/* Activity decreases from always to never in ten steps. */
typedef struct blis_drain_spec {
  int64_t start_us;
  int64_t ramp_us;
} blis_drain_spec;

/* Clients "<id>-0", "<id>-1", ... with equal shares of one weight. */
typedef struct blis_cohort_spec {
  blis_client_spec client;          /* without windows and concurrency */
  int64_t population;               /* 1 to BLIS_WORKLOAD_MAX_POPULATION */
  const char *prefix_sharing;       /* shared (default) or per_member */
  const blis_diurnal_spec *diurnal; /* NULL = none; same for the next two members */
  const blis_spike_spec *spike;
  const blis_drain_spec *drain;
} blis_cohort_spec;

typedef struct blis_workload_spec {
  int64_t seed;
  const char *category; /* language, multimodal, or reasoning; only a label */
  /*
   * Total requests per second of all clients with rates. 0 = every window has a trace_rate in
   * requests per second.
   */
  double aggregate_rate;
  int64_t num_requests; /* 0 = unlimited; requires a horizon */
  int64_t horizon_us;   /* arrivals are before this time; 0 = no limit */
  /*
   * Arrivals and lengths come from separate random streams, and no token ids are drawn. This is
   * faster, but produces different values than the default.
   */
  bool lazy_tokens;
  /* Stores token ids for blis_generator_tokens, at 4 bytes each. Has no effect with lazy_tokens. */
  bool keep_tokens;
  /*
   * Set by expansions of other forms, not by users. Requests arrive by one process: that of the
   * first client, at the aggregate rate. The client of each request is drawn by weight. Clients
   * differ in names, prefixes, and weights.
   */
  bool shares_arrivals;
  const blis_workload_rules *rules; /* NULL = all false */
  bool keeps_group_prefixes;        /* overrides rules.cuts_prefixes */
  /*
   * The timeouts of all clients were set for the whole run, so they apply even where BLIS (Go)
   * loses the timeouts of clients.
   */
  bool has_run_timeout;
  const blis_client_spec *clients;
  size_t client_count;
  const blis_cohort_spec *cohorts; /* placed after the clients */
  size_t cohort_count;
  const blis_goodput_target *goodput_targets;
  size_t goodput_target_count;
} blis_workload_spec;

enum { BLIS_CLIENT_LABEL_SIZE = 96 };

/*
 * Writes the name of a client for messages, counted from 1: client 2 ("chat"). Cohorts follow the
 * clients: index client_count is cohort 1 ("users"). Returns label.
 */
const char *blis_client_label(const blis_workload_spec *spec, size_t index,
                              char label[BLIS_CLIENT_LABEL_SIZE]);

/* Returns the client with this index, or the common members of a cohort. */
const blis_client_spec *blis_workload_spec_client(const blis_workload_spec *spec, size_t index);

/* Returns whether a client's sessions wait for responses. */
bool blis_client_is_closed_loop(const blis_client_spec *client);

/* Returns whether any requests wait for the responses to others. */
bool blis_workload_spec_has_follow_ups(const blis_workload_spec *spec);

/* The subject of an error, for callers that can find its place in the file. */
typedef struct blis_spec_fault {
  const void *member; /* invalid member; NULL = something is missing */
  const void *whole;  /* specification, client, cohort, or part that contains it */
} blis_spec_fault;

/*
 * Checks everything except the parameters of distributions, which blis_distribution_init checks.
 * The message of BLIS_ERR_INVALID contains the client or cohort, the key, the value, and the
 * allowed values. Errors also set *fault unless it is NULL.
 */
BLIS_MUSTUSE blis_status blis_workload_spec_check(const blis_workload_spec *spec,
                                                  blis_spec_fault *fault, blis_error *error);

#endif
