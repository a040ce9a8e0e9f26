/*
 * meter.h - the metrics of instances as vLLM v1 exports them to Prometheus.
 *
 * Names, types, labels, and buckets follow vllm/v1/metrics/loggers.py and buckets.py. Times are
 * simulated seconds; TTFT counts from arrival. A meter takes the events of one instance. Gauges are
 * read when a page is written. Each event costs O(buckets), a page O(metrics).
 */
#ifndef BLIS_LIVE_METER_H
#define BLIS_LIVE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cluster/cluster.h"

typedef enum blis_live_finish {
  BLIS_LIVE_STOP,
  BLIS_LIVE_LENGTH,
  BLIS_LIVE_ABORT,
  BLIS_LIVE_ERROR,
  BLIS_LIVE_FINISH_COUNT
} blis_live_finish;

/* "stop", "length", ...; static. */
const char *blis_live_finish_name(blis_live_finish finish);

enum { BLIS_LIVE_BUCKETS_MAX = 40 };

typedef struct blis_live_histogram {
  uint64_t counts[BLIS_LIVE_BUCKETS_MAX]; /* by bucket, not cumulative */
  uint64_t count;
  double sum;
} blis_live_histogram;

/* All histograms: XX(name, description). */
#define BLIS_LIVE_HISTOGRAM_MAP(XX)                                                                \
  XX(time_to_first_token_seconds, "Histogram of time to first token in seconds.")                  \
  XX(inter_token_latency_seconds, "Histogram of inter-token latency in seconds.")                  \
  XX(request_time_per_output_token_seconds,                                                        \
     "Histogram of time per output token in seconds per request.")                                 \
  XX(e2e_request_latency_seconds, "Histogram of e2e request latency in seconds.")                  \
  XX(request_queue_time_seconds, "Histogram of time spent in WAITING phase for request.")          \
  XX(request_inference_time_seconds, "Histogram of time spent in RUNNING phase for request.")      \
  XX(request_prefill_time_seconds, "Histogram of time spent in PREFILL phase for request.")        \
  XX(request_decode_time_seconds, "Histogram of time spent in DECODE phase for request.")          \
  XX(request_prompt_tokens, "Number of prefill tokens processed.")                                 \
  XX(request_generation_tokens, "Number of generation tokens processed.")                          \
  XX(request_max_num_generation_tokens,                                                            \
     "Histogram of maximum number of requested generation tokens.")                                \
  XX(request_params_max_tokens, "Histogram of the max_tokens request parameter.")                  \
  XX(request_params_n, "Histogram of the n request parameter.")

typedef enum blis_live_histogram_kind {
#define XX(name, text) BLIS_LIVE_##name,
  BLIS_LIVE_HISTOGRAM_MAP(XX)
#undef XX
      BLIS_LIVE_HISTOGRAM_COUNT
} blis_live_histogram_kind;

typedef struct blis_live_meter {
  blis_live_histogram histograms[BLIS_LIVE_HISTOGRAM_COUNT];
  uint64_t finished[BLIS_LIVE_FINISH_COUNT];
  uint64_t prompt_tokens;
  uint64_t cached_tokens;
  uint64_t generation_tokens;
} blis_live_meter;

/* What the end of a request adds. Times in us; -1 = never. */
typedef struct blis_live_ending {
  blis_live_finish finish;
  int64_t arrival_us;
  int64_t end_us;
  int64_t ttft_us;
  int64_t queued_us; /* time in the wait queue */
  int64_t prompt_tokens;
  int64_t cached_tokens;
  int64_t output_tokens;
  int64_t max_tokens;
  int64_t n;
} blis_live_ending;

void blis_live_meter_first_token(blis_live_meter *meter, int64_t ttft_us);
void blis_live_meter_token(blis_live_meter *meter, int64_t itl_us);
void blis_live_meter_end(blis_live_meter *meter, const blis_live_ending *ending);

/* An instance on a page. */
typedef struct blis_live_metered {
  const blis_live_meter *meter;
  const blis_instance *instance;
  uint32_t engine; /* its label */
  bool sleeps;
} blis_live_metered;

/* What a page is about. */
typedef struct blis_live_page {
  const char *model;
  const blis_live_metered *instances;
  size_t count;
  int64_t max_model_len;
  double time_scale;  /* simulated seconds per second */
  double lag_seconds; /* how far the simulation is behind */
} blis_live_page;

/* Appends the page in text format 0.0.4. A lack of memory is found in the buffer. */
void blis_live_write_metrics(blis_buffer *buffer, const blis_live_page *page);

#endif
