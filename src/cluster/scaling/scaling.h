/* scaling.h - an autoscaler of a cluster.
 *
 * It is evaluated at fixed intervals, after all other events of that time. Its target is clamped to
 * the bounds. The cluster then maintains the target. It starts instances, including replacements
 * for permanently failed ones, and drains instances. Requests without an available instance wait
 * instead of being rejected. */
#ifndef BLIS_CLUSTER_SCALING_SCALING_H
#define BLIS_CLUSTER_SCALING_SCALING_H

#include "cluster/instances/life_cycle.h"
#include "policy/autoscale/autoscaler.h"

/* Order of scale-down, after instances that have not started yet. */
typedef enum blis_scale_victim {
  BLIS_VICTIM_NEWEST,
  BLIS_VICTIM_OLDEST,
  BLIS_VICTIM_LEAST_LOADED, /* fewest requests; the newest on a tie */
  BLIS_VICTIM_COUNT
} blis_scale_victim;

typedef struct blis_scaling_config {
  /*
   * The scaled instances. BOTH: instances without a role; otherwise, instances that perform only
   * this stage.
   */
  blis_scale_role role;
  uint32_t min;
  uint32_t max; /* >= 1 */
  blis_cold_start cold_start;
  blis_delay actuation; /* from a decision to its effect */
  blis_stop stop;
  int64_t grace_us; /* BLIS_TIME_NEVER_US = no limit */
  blis_scale_victim victim;
  /* A change counts as an oscillation if it reverses the previous change within this time. */
  int64_t oscillation_us;
  /* Latency targets of requests, for slo_attainment; 0 = none. */
  int64_t ttft_target_us;
  int64_t tpot_target_us;
  int64_t e2e_target_us;
  /* Evaluations between the intervals, see triggers.h; 0 = none. */
  int64_t trigger_queue_depth; /* number of waiting requests that triggers an evaluation */
  /* SLO attainment in the last minute below which an evaluation is triggered */
  double trigger_slo_attainment;
  int64_t trigger_gap_us;          /* minimum time since the last evaluation */
  const blis_scale_future *future; /* borrowed; NULL = unused */
  bool initial_ones_load;          /* initial instances are not ready at the start */
  int64_t seed;                    /* seed of random times */
} blis_scaling_config;

/* A decision that changed something or exceeded the bounds. */
typedef struct blis_scale_event {
  int64_t time_us;
  uint32_t from;
  uint32_t to;
  int64_t proposed; /* target before clamping */
  bool is_oscillation;
  blis_scale_cause cause; /* cause of the evaluation */
  const char *reason;     /* owned by the cluster */
} blis_scale_event;

/* Numbers of instances from a time. */
typedef struct blis_scale_level {
  int64_t time_us;
  uint32_t wanted;
  uint32_t ready;
  uint32_t paid; /* billed instances, from request to removal */
} blis_scale_level;

/* The scaling of one pool. */
typedef struct blis_scaling_report {
  blis_scale_role role;
  const blis_scale_event *events; /* borrowed, like levels */
  size_t event_count;
  const blis_scale_level *levels;
  size_t level_count;
  /* End of the billed time: the end of the last request, or a later change of an instance. */
  int64_t end_us;
  int64_t checks;
  int64_t triggered; /* subset of checks: not caused by the interval */
  int64_t scale_ups;
  int64_t scale_downs;
  int64_t clamped;
  int64_t oscillations;
  int64_t started;       /* instances started during the run */
  int64_t failed_starts; /* failed starts; an instance counts once per failure */
  int64_t waited;        /* requests that had to wait for an instance */
  int64_t waited_us;     /* total wait of these requests */
  int64_t longest_us;    /* maximum wait of a request */
  int64_t most_waiting;
  const char *off; /* why it does not scale, see blis_scale_decision; NULL = it scales */
} blis_scaling_report;

/*
 * Takes ownership of *autoscaler, even on failure. Call it before the first event, once in total or
 * once per prefill and decode pool. Unless the policy decides otherwise, new instances copy the
 * cheapest initial instance, and the most expensive instances are removed first. BLIS_ERR_INVALID
 * names the value that is out of range, such as an initial number of instances outside the bounds.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_autoscaler(blis_cluster *cluster,
                                                     blis_autoscaler *autoscaler,
                                                     const blis_scaling_config *config,
                                                     blis_error *error);

/* Stores the scaling of the pool with index `pool`, in the order in which autoscalers were set.
   Returns false if there are no more pools. */
bool blis_cluster_get_scaling(const blis_cluster *cluster, size_t pool,
                              blis_scaling_report *report);

/* The data of BLIS__SCALE_DECIDED, borrowed during the call. */
typedef struct blis__scale_decided {
  const blis_scale_context *context;
  const blis_scale_decision *decision; /* within bounds */
  int64_t proposed;                    /* target before clamping */
} blis__scale_decided;

#endif
