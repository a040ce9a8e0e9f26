/*
 * metrics.h - what an autoscaler is shown: metrics of a cluster as its
 * monitoring has them.
 *
 * Counts and samples come from listeners that need nothing of the clock; their
 * order does not matter, since a look is taken when all instances have got to
 * the same time and its figures are percentiles and sums. A look costs
 * O(instances), O(live requests) for metrics of these, and O(samples of the
 * last minute) for each metric of these that is asked for. What the policy does
 * not need is neither heard of nor collected.
 */
#ifndef BLIS_CLUSTER_SCALING_METRICS_H
#define BLIS_CLUSTER_SCALING_METRICS_H

#include "cluster/scaling/pools.h"
#include "cluster/scaling/scaling.h"
#include "cluster/state.h"

/* Something measured at a time. */
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
  blis__scale_samples kept; /* 1 = a request kept its targets */
  int64_t arrivals;         /* since the last look, as what follows */
  int64_t prompt_tokens;
  int64_t completed;
  int64_t output_tokens;
  int64_t looked_us;
  BLIS_ARRAY(blis_scale_instance) instances;
  uint32_t *place_of; /* in instances; by number, + 1, 0 = not ready */
  blis__scale_engine engine;
} blis__scale_look;

/* Adds its listeners; config outlives the look. deinit whatever the status. */
BLIS_MUSTUSE blis_status blis__scale_look_init(blis__scale_look *look, blis_cluster *cluster,
                                               const blis_scaling_config *config,
                                               blis_scale_needs needs);
void blis__scale_look_deinit(blis__scale_look *look, const blis_cluster *cluster);

/* A request that ended like this kept all targets of the configuration. */
bool blis__keeps_scale_targets(const blis_scaling_config *config, const blis_request_end *end);

/*
 * Fills what *context says of metrics, instances and the model; valid until the
 * next look.
 */
void blis__scale_look_take(blis__scale_look *look, blis_cluster *cluster,
                           blis_scale_context *context);

#endif
