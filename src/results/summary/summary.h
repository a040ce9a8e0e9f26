/*
 * summary.h - the metrics of a whole run.
 *
 * Populations follow BLIS (Go). TTFT and scheduling delay cover every request that reached this
 * point, including requests that timed out or never finished. E2E and inter-token latencies cover
 * completed requests. If no request completed, all percentiles are 0.
 */
#ifndef BLIS_RESULTS_SUMMARY_SUMMARY_H
#define BLIS_RESULTS_SUMMARY_SUMMARY_H

#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/watch/cache_belief.h"
#include "results/metrics/figures.h"
#include "results/record/recorder.h"

typedef struct blis_instance_summary {
  BLIS_INSTANCE_FIGURES(BLIS_FIGURE_MEMBER)
  blis_instance_stats stats;
} blis_instance_summary;

/* Predicted and actual cache hits of the routing policy. */
typedef struct blis_belief {
  blis_cache_belief counts;
  BLIS_BELIEF_FIGURES(BLIS_FIGURE_MEMBER)
} blis_belief;

/* Outcomes of hand-offs; all zero without hand-offs. */
typedef struct blis_handoff_summary {
  blis_handoff_counts counts;
  BLIS_HANDOFF_FIGURES(BLIS_FIGURE_MEMBER)
} blis_handoff_summary;

/* A link that carries hand-offs. */
typedef struct blis_link_summary {
  blis_link_counts counts;
  BLIS_LINK_FIGURES(BLIS_FIGURE_MEMBER)
} blis_link_summary;

/* Fills the metrics of a link. Requires index < blis_cluster_link_count(cluster). duration_us is
   the duration of the run. */
void blis_link_summary_fill(blis_link_summary *link, const blis_cluster *cluster, size_t index,
                            int64_t duration_us);

/* Outcomes of requests in the gateway queue; all zero without a queue. */
typedef struct blis_queue_summary {
  blis_gateway_counts counts;
  BLIS_QUEUE_FIGURES(BLIS_FIGURE_MEMBER)
} blis_queue_summary;

/* Outcomes of requests in one band. */
typedef struct blis_queue_band {
  blis_gateway_band_counts counts;
  BLIS_BAND_FIGURES(BLIS_FIGURE_MEMBER)
} blis_queue_band;

/* Fills the metrics of a band. index < blis_cluster_gateway_band_count(cluster), highest
   priority first. */
void blis_queue_band_fill(blis_queue_band *band, const blis_cluster *cluster, size_t index);

/* Metrics of speculative decoding; all zero without it. */
typedef struct blis_speculation_summary {
  blis_draft_stats counts;
  BLIS_SPECULATION_FIGURES(BLIS_FIGURE_MEMBER)
} blis_speculation_summary;

/* Metrics of ranks at their barriers; all zero without ranks. */
typedef struct blis_ranks_summary {
  BLIS_RANKS_FIGURES(BLIS_FIGURE_MEMBER)
} blis_ranks_summary;

void blis_ranks_summary_fill(blis_ranks_summary *summary, const blis_cluster *cluster);

/* Metrics of LoRA adapters; all zero without adapters. */
typedef struct blis_lora_summary {
  blis_adapter_stats counts;
  BLIS_LORA_FIGURES(BLIS_FIGURE_MEMBER)
} blis_lora_summary;

/* Metrics of one adapter. */
typedef struct blis_adapter_summary {
  const char *name; /* owned by the cluster */
  BLIS_ADAPTER_FIGURES(BLIS_FIGURE_MEMBER)
} blis_adapter_summary;

/* Fills the metrics of an adapter, from 1 to blis_cluster_adapter_count(cluster). */
void blis_adapter_summary_fill(blis_adapter_summary *summary, const blis_cluster *cluster,
                               uint32_t adapter);

/* Metrics of regions, over all of them. */
typedef struct blis_regions_summary {
  BLIS_REGIONS_FIGURES(BLIS_FIGURE_MEMBER)
} blis_regions_summary;

/* Metrics of one region. */
typedef struct blis_region_summary {
  BLIS_REGION_FIGURES(BLIS_FIGURE_MEMBER)
} blis_region_summary;

/* Fill the metrics of a cluster with regions; region < blis_cluster_region_count(cluster). */
void blis_regions_summary_fill(blis_regions_summary *summary, const blis_cluster *cluster);
void blis_region_summary_fill(blis_region_summary *summary, const blis_cluster *cluster,
                              uint32_t region);

typedef struct blis_summary {
  blis_state_counts counts;
  BLIS_RESULT_FIGURES(BLIS_FIGURE_MEMBER)
  blis_times times;
  blis_belief cache_belief;
  blis_handoff_summary handoffs;
  blis_queue_summary queue;
  blis_lora_summary lora;
  blis_speculation_summary speculation;
  int64_t uncovered_steps; /* sum over all instances; see blis_instance_stats */
  uint64_t hash;
  uint32_t instance_count;
  blis_instance_summary *instances; /* owned by the summary */
} blis_summary;

/*
 * Summarizes a finished cluster. recorder was the sink of the cluster, and itl_us contains its
 * inter-token latencies. After a failure there is nothing to deinitialize.
 */
BLIS_MUSTUSE blis_status blis_summary_init(blis_summary *summary, const blis_alloc *alloc,
                                           const blis_cluster *cluster,
                                           const blis_recorder *recorder, blis_histogram *itl_us,
                                           blis_error *error);
void blis_summary_deinit(blis_summary *summary, const blis_alloc *alloc);

/*
 * Returns Jain's fairness index (sum x)^2 / (n * sum x^2): 1 if all values are equal, and 1/n if
 * only one value is not 0. Returns 1 if all values are 0, and 0 for an empty list.
 */
double blis_jain_index(const double *values, size_t count);

#endif
