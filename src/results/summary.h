/*
 * summary.h - what a run was like as a whole.
 *
 * Populations are those of BLIS (Go): TTFT and scheduling delay of every
 * request that got that far, also of those that timed out or never finished;
 * E2E and inter-token latencies of completed ones. When nothing was completed
 * all percentiles are 0.
 */
#ifndef BLIS_RESULTS_SUMMARY_H
#define BLIS_RESULTS_SUMMARY_H

#include "results/percentiles.h"
#include "results/recorder.h"

typedef struct blis_instance_summary {
  int64_t requests; /* routed here */
  int64_t end_us;   /* of its last event */
  double cache_hit_rate;
  blis_instance_stats stats;
} blis_instance_summary;

typedef struct blis_summary {
  blis_state_counts counts;
  int64_t duration_us;     /* end of the last instance's last event */
  int64_t prompt_tokens;   /* of every request that an instance accepted */
  int64_t output_tokens;   /* of completed requests: answers, not attempts */
  double requests_per_sec; /* completed; 0 when nothing was */
  double tokens_per_sec;   /* output */
  blis_percentiles ttft;
  blis_percentiles itl; /* over tokens */
  blis_percentiles e2e;
  blis_percentiles scheduling_delay;
  double cache_hit_rate;         /* mean over instances, idle ones as 0 */
  double cache_hit_rate_overall; /* blocks found / blocks looked for */
  int64_t preemptions;
  double preemption_rate; /* per completed request */
  int64_t kv_allocation_failures;
  int64_t steps;
  double balance; /* Jain's index of requests per instance, 1 = even */
  uint64_t hash;
  uint32_t instance_count;
  blis_instance_summary *instances; /* the summary's own */
} blis_summary;

/*
 * Of a finished cluster, whose sink was the recorder and whose inter-token
 * latencies are in itl_us. On failure there is nothing to deinit.
 */
BLIS_MUSTUSE blis_status blis_summary_init(
    blis_summary *summary, const blis_alloc *alloc, const blis_cluster *cluster,
    const blis_recorder *recorder, blis_histogram *itl_us, blis_error *error);
void blis_summary_deinit(blis_summary *summary, const blis_alloc *alloc);

/*
 * Jain's fairness index (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n
 * when one has everything; 1 when all are 0, and 0 of nothing.
 */
double blis_jain_index(const double *values, size_t count);

#endif
