/*
 * series.h - a run over time: one row of metrics per interval.
 *
 * Rows are taken at 0, interval_us, 2 * interval_us, ... while requests are in flight or yet to
 * arrive. A row follows the other cluster events of its time and precedes the work of instances at
 * that time. The effects of a step count from its start, as in all metrics. Taking rows does not
 * affect the run: the records and their hash equal those of a run without a series. Instances must
 * stop for each row, so short intervals cost time.
 */
#ifndef BLIS_RESULTS_LOG_SERIES_H
#define BLIS_RESULTS_LOG_SERIES_H

#include "base/array.h"
#include "cluster/cluster.h"

/* XX(constant, name): counts of the whole cluster since the start. */
#define BLIS_SERIES_COUNT_MAP(XX)                                                                  \
  XX(ARRIVED, "arrived")                                                                           \
  XX(COMPLETED, "completed")                                                                       \
  XX(REJECTED, "rejected")                                                                         \
  XX(TIMED_OUT, "timed_out")                                                                       \
  XX(PROMPT_TOKENS, "prompt_tokens") /* prompt tokens accepted by instances */                     \
  XX(OUTPUT_TOKENS, "output_tokens") /* output tokens of completed requests */                     \
  XX(PREEMPTIONS, "preemptions")

typedef enum blis_series_count {
#define XX(constant, name) BLIS_SERIES_##constant,
  BLIS_SERIES_COUNT_MAP(XX)
#undef XX
      BLIS_SERIES_COUNT_COUNT
} blis_series_count;

/* Limit on rows; a run that needs more fails. Its interval was probably given in the wrong unit. */
enum { BLIS_SERIES_ROWS_MAX = 1000000 };

/* Static storage. */
const char *blis_series_count_name(blis_series_count count);

/* State of an instance at the time of a row. */
typedef struct blis_series_instance {
  uint32_t queue_depth;
  uint32_t batch_size;
  double kv_utilization;
} blis_series_instance;

/* A band of the gateway queue at the time of a row. */
typedef struct blis_series_band {
  int64_t priority;
  int64_t waiting;
} blis_series_band;

/* KV hand-offs at the time of a row. */
typedef struct blis_series_handoffs {
  int64_t moving;      /* transfers in flight */
  int64_t waiting;     /* transfers that wait for space at their destination */
  int64_t on_one_link; /* transfers on the link with the most transfers */
  double moved_bytes;  /* bytes of transfers started since the start of the run */
} blis_series_handoffs;

/* Use of a link from the start of the run to the time of a row. */
typedef struct blis_series_link {
  double busy_us;     /* time with at least one transfer */
  double transfer_us; /* sum of the durations of its transfers */
} blis_series_link;

/* A KV tier at the time of a row; counts are since the start. */
typedef struct blis_series_tier {
  const char *name; /* borrowed from the cluster */
  int64_t used_blocks;
  int64_t loaded_blocks;
  int64_t saved_blocks;
} blis_series_tier;

/* The LoRA adapters of all instances at the time of a row. An adapter on two instances counts
   twice. */
typedef struct blis_series_adapters {
  int64_t loaded;
  int64_t loading;
  int64_t running;    /* adapters with requests in a batch */
  int64_t waiting;    /* adapters with requests in a wait queue */
  int64_t free_slots; /* slots without a loaded or loading adapter */
  int64_t loads;      /* number of loads started since the start of the run */
} blis_series_adapters;

typedef struct blis_series {
  blis_alloc alloc;
  int64_t interval_us;
  uint32_t instance_count; /* number of instances in the last row */
  size_t rows;
  BLIS_ARRAY(int64_t) counts;                 /* BLIS_SERIES_COUNT_COUNT per row */
  BLIS_ARRAY(blis_series_instance) instances; /* one per row and existing instance */
  BLIS_ARRAY(size_t) row_ends;                /* ends of rows in instances */
  /* Saturation of the gateway queue: one per row; empty without such a queue. */
  BLIS_ARRAY(double) saturations;
  BLIS_ARRAY(blis_series_band) bands;        /* bands that exist at the row */
  BLIS_ARRAY(size_t) band_ends;              /* ends of rows in bands */
  BLIS_ARRAY(blis_series_handoffs) handoffs; /* empty without pools */
  size_t link_count;                         /* number of links of blis_cluster_link */
  BLIS_ARRAY(blis_series_link) links;        /* link_count per row */
  size_t tier_count;
  BLIS_ARRAY(blis_series_tier) tiers;        /* tier_count per row */
  BLIS_ARRAY(blis_series_adapters) adapters; /* empty without adapters */
} blis_series;

/*
 * Starts the series with a new cluster. The series must outlive the cluster. interval_us >= 1. Call
 * blis_series_deinit for any status.
 */
BLIS_MUSTUSE blis_status blis_series_init(blis_series *series, const blis_alloc *alloc,
                                          blis_cluster *cluster, int64_t interval_us,
                                          blis_error *error);

/* Use of a link between the previous row and this row. */
typedef struct blis_series_link_use {
  double utilization; /* fraction of the time with a transfer */
  double mean_depth;  /* mean number of transfers on it; 0 without transfers */
} blis_series_link_use;

blis_series_link_use blis_series_link_at(const blis_series *series, size_t row, size_t link);

/* Idempotent; an all-zero series is allowed. */
void blis_series_deinit(blis_series *series);

int64_t blis_series_at(const blis_series *series, size_t row, blis_series_count count);

/* Returns the state of an instance; all zero before the instance existed. */
const blis_series_instance *blis_series_instance_at(const blis_series *series, size_t row,
                                                    uint32_t instance);

/* Returns the number of requests that waited in a band of the gateway queue; 0 before the band
   existed. */
int64_t blis_series_waiting(const blis_series *series, size_t row, int64_t priority);

#endif
