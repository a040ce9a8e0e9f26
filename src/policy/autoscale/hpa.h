/*
 * hpa.h - the rules of Kubernetes' HorizontalPodAutoscaler (autoscaling/v2):
 * from metrics to a proposal, and from proposals over time to replicas.
 *
 * Source: kubernetes pkg/controller/podautoscaler (horizontal.go, replica_calculator.go), with
 * tolerances per direction. As in the source, values are in thousandths, and divisions are integer
 * divisions.
 */
#ifndef BLIS_POLICY_AUTOSCALE_HPA_H
#define BLIS_POLICY_AUTOSCALE_HPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "policy/autoscale/history.h"

typedef enum blis_hpa_select {
  BLIS_HPA_MAX, /* use the policy that allows the largest change */
  BLIS_HPA_MIN,
  BLIS_HPA_DISABLED
} blis_hpa_select;

/* `behavior` of one direction. A policy with a period of 0 is not set. */
typedef struct blis_hpa_direction {
  double window_s; /* stabilization window */
  uint32_t select; /* blis_hpa_select */
  double pods;
  double pods_period_s;
  double percent;
  double percent_period_s;
  double tolerance;
} blis_hpa_direction;

typedef struct blis_hpa_rules {
  blis_hpa_direction up;
  blis_hpa_direction down;
} blis_hpa_rules;

/* Up: Pods 4 / 15 s and Percent 100 / 15 s. Down: 300 s, Percent 100 / 15 s. */
blis_hpa_rules blis_hpa_default_rules(void);

/* Converts a value to thousandths, rounded to the nearest integer. */
int64_t blis_hpa_milli(double value);

/*
 * The following functions return proposals. replicas is the number in the pool's status, and ready
 * is the number of ready replicas among them. Within the tolerance, a proposal is the current
 * number.
 *
 * External or Object metric, AverageValue: the value is divided among all replicas.
 */
int64_t blis_hpa_average_value(const blis_hpa_rules *rules, int64_t value_milli,
                               int64_t target_milli, int64_t replicas);
/* External or Object metric, Value: the ratio of value and target scales the ready replicas. */
int64_t blis_hpa_value(const blis_hpa_rules *rules, int64_t value_milli, int64_t target_milli,
                       int64_t replicas, int64_t ready);
/*
 * Pods metric, AverageValue: one value for each ready instance that has a value. missing is the
 * number of ready instances without a value; unready is the number of instances that are not ready
 * yet.
 */
int64_t blis_hpa_pods(const blis_hpa_rules *rules, const int64_t *values_milli, size_t count,
                      int64_t missing, int64_t unready, int64_t target_milli, int64_t replicas);

/* The controller's state for one pool. Initialize with {0}. */
typedef struct blis_hpa {
  blis_scale_history proposals; /* proposed numbers of replicas */
  blis_scale_history changes;
  bool has_synced;
} blis_hpa;

void blis_hpa_deinit(blis_hpa *hpa, const blis_alloc *alloc);

/*
 * Executes one sync: computes the replicas after stabilization and rate limits. Times must not
 * decrease. 0 replicas with min > 0 means that scaling is disabled: the number stays 0.
 */
BLIS_MUSTUSE blis_status blis_hpa_sync(blis_hpa *hpa, const blis_alloc *alloc,
                                       const blis_hpa_rules *rules, int64_t now_us,
                                       int64_t replicas, int64_t proposal, int64_t min, int64_t max,
                                       int64_t *target);

#endif
