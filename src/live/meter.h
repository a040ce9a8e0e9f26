/*
 * meter.h - collects the data for the metrics of an instance.
 *
 * A meter takes the events of one instance; metrics.h writes it as a page. Times are simulated
 * seconds; TTFT counts from arrival. Buckets differ between engines, so a meter has a flavor. Each
 * event costs O(buckets).
 */
#ifndef BLIS_LIVE_METER_H
#define BLIS_LIVE_METER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum blis_live_finish {
  BLIS_LIVE_STOP,
  BLIS_LIVE_LENGTH,
  BLIS_LIVE_ABORT,
  BLIS_LIVE_ERROR,
  BLIS_LIVE_FINISH_COUNT
} blis_live_finish;

/* "stop", "length", ...; static. */
const char *blis_live_finish_name(blis_live_finish finish);

/* The engine whose metrics are exported: XX(name, text). */
#define BLIS_LIVE_FLAVOR_MAP(XX)                                                                   \
  XX(VLLM, "vllm") XX(VLLM_0_8, "vllm-0.8") XX(SGLANG, "sglang") XX(TRTLLM, "trtllm")

typedef enum blis_live_flavor {
#define XX(name, text) BLIS_LIVE_##name,
  BLIS_LIVE_FLAVOR_MAP(XX)
#undef XX
      BLIS_LIVE_FLAVOR_COUNT
} blis_live_flavor;

/* Finds a flavor by name. Returns false if no flavor has this name. */
bool blis_live_find_flavor(const char *name, blis_live_flavor *flavor);

/* All histograms. */
typedef enum blis_live_histogram_kind {
  BLIS_LIVE_TTFT,
  BLIS_LIVE_ITL,
  BLIS_LIVE_TPOT, /* mean time per output token of a request, after its first token */
  BLIS_LIVE_E2E,
  BLIS_LIVE_QUEUE_TIME,
  BLIS_LIVE_INFERENCE_TIME,
  BLIS_LIVE_PREFILL_TIME,
  BLIS_LIVE_DECODE_TIME,
  BLIS_LIVE_PROMPT_TOKENS,
  BLIS_LIVE_OUTPUT_TOKENS,
  BLIS_LIVE_MAX_OUTPUT_TOKENS,
  BLIS_LIVE_MAX_TOKENS,      /* the parameter max_tokens */
  BLIS_LIVE_COMPUTED_TOKENS, /* prompt tokens that were neither cached nor loaded */
  BLIS_LIVE_STEP_TOKENS,     /* prompt and output tokens per step */
  BLIS_LIVE_N,
  BLIS_LIVE_PULL_TIME, /* of KV from another engine (cluster/rules/pulls.h) */
  BLIS_LIVE_PULL_BYTES,
  BLIS_LIVE_HISTOGRAM_COUNT
} blis_live_histogram_kind;

enum { BLIS_LIVE_BUCKETS_MAX = 40 };

typedef struct blis_live_histogram {
  uint64_t counts[BLIS_LIVE_BUCKETS_MAX]; /* counts by bucket, not cumulative */
  uint64_t count;
  double sum;
} blis_live_histogram;

/* Upper bounds of buckets, ascending; the last bucket has no bound. */
typedef struct blis_live_bounds {
  const double *values;
  int count;
  bool are_lengths; /* a page contains only buckets up to the maximum model length */
} blis_live_bounds;

blis_live_bounds blis_live_bounds_of(blis_live_flavor flavor, blis_live_histogram_kind kind);

typedef struct blis_live_meter {
  blis_live_flavor flavor;
  blis_live_histogram histograms[BLIS_LIVE_HISTOGRAM_COUNT];
  uint64_t finished[BLIS_LIVE_FINISH_COUNT];
  uint64_t prompt_tokens;
  uint64_t cached_tokens;   /* prompt tokens that were in the cache of the instance */
  uint64_t external_tokens; /* prompt tokens that were loaded from a KV tier or another instance */
  uint64_t generation_tokens;
  /* Output tokens of the current and the previous simulated second. */
  int64_t second;
  uint64_t second_tokens;
  uint64_t last_second_tokens;
} blis_live_meter;

/* Data added at the end of a request. Times are in us; -1 = never. */
typedef struct blis_live_ending {
  blis_live_finish finish;
  int64_t arrival_us;
  int64_t end_us;
  int64_t ttft_us;
  int64_t queued_us; /* time in the wait queue */
  int64_t prompt_tokens;
  int64_t cached_tokens; /* prompt tokens in the cache of the instance */
  int64_t external_tokens;
  int64_t output_tokens;
  int64_t max_tokens;
  int64_t n;
} blis_live_ending;

void blis_live_meter_first_token(blis_live_meter *meter, int64_t at_us, int64_t ttft_us);
void blis_live_meter_token(blis_live_meter *meter, int64_t at_us, int64_t itl_us);
void blis_live_meter_step(blis_live_meter *meter, int64_t tokens);
void blis_live_meter_pull(blis_live_meter *meter, int64_t us, double bytes);
void blis_live_meter_end(blis_live_meter *meter, const blis_live_ending *ending);

/* Returns the output tokens per second during the last complete simulated second before now_us. */
double blis_live_meter_throughput(const blis_live_meter *meter, int64_t now_us);

#endif
