/* metrics.h - the metrics that an autoscaler reads, like those of a cluster's monitoring.
 *
 * Counts and samples come from listeners that do not read the clock. Their order does not matter,
 * because an evaluation takes place when all instances have reached the same time, and its metrics
 * are percentiles and sums. An evaluation costs O(instances), O(live requests) for metrics of live
 * requests, and O(samples of the last minute) for each requested metric of samples. Data that the
 * policy does not need is not collected. */
#ifndef BLIS_CLUSTER_SCALING_METRICS_H
#define BLIS_CLUSTER_SCALING_METRICS_H

#include "cluster/scaling/pools.h"
#include "cluster/scaling/scaling.h"
#include "cluster/state.h"

/* A measurement at a time. */
typedef struct blis__scale_sample {
  int64_t time_us;
  double value;
} blis__scale_sample;

typedef BLIS_ARRAY(blis__scale_sample) blis__scale_samples;

typedef struct blis__scale_look {
  const blis_scaling_config *config; /* borrowed */
  blis_scale_needs needs;
  blis__scale_samples ttft_us;
  blis__scale_samples tpot_us;
  blis__scale_samples kept; /* 1 = the request met its targets */
  int64_t arrivals;         /* since the last evaluation, like the following members */
  int64_t prompt_tokens;
  int64_t completed;
  int64_t output_tokens;
  int64_t looked_us;
  BLIS_ARRAY(blis_scale_instance) instances;
  uint32_t *place_of; /* indexed by instance number: index in instances + 1; 0 = not ready */
  blis__scale_engine engine;
} blis__scale_look;

/*
 * Initializes *look and adds its listeners. config must outlive *look. Call blis__scale_look_deinit
 * even after a failure.
 */
BLIS_MUSTUSE blis_status blis__scale_look_init(blis__scale_look *look, blis_cluster *cluster,
                                               const blis_scaling_config *config,
                                               blis_scale_needs needs);
void blis__scale_look_deinit(blis__scale_look *look, const blis_cluster *cluster);

/* Returns whether a request with this outcome met all targets of the configuration. */
bool blis__keeps_scale_targets(const blis_scaling_config *config, const blis_request_end *end);

/* Fills the metrics, instances, and model of *context; valid until the next evaluation. */
void blis__scale_look_take(blis__scale_look *look, blis_cluster *cluster,
                           blis_scale_context *context);

#endif
