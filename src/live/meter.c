#include "live/meter.h"

#include <string.h>

enum { SECOND_US = 1000000 };

const char *blis_live_finish_name(blis_live_finish finish) {
  static const char *const names[] = {
      [BLIS_LIVE_STOP] = "stop",
      [BLIS_LIVE_LENGTH] = "length",
      [BLIS_LIVE_ABORT] = "abort",
      [BLIS_LIVE_ERROR] = "error",
  };
  return names[finish];
}

bool blis_live_find_flavor(const char *name, blis_live_flavor *flavor) {
  static const char *const names[] = {
#define XX(name, text) text,
      BLIS_LIVE_FLAVOR_MAP(XX)
#undef XX
  };
  for (int i = 0; i < BLIS_LIVE_FLAVOR_COUNT; i++) {
    if (strcmp(name, names[i]) == 0) {
      *flavor = (blis_live_flavor)i;
      return true;
    }
  }
  return false;
}

/* Buckets. Sources: vllm/v1/metrics/loggers.py and buckets.py,
   tensorrt_llm/metrics/collector.py, and sglang/srt/metrics/collector.py. TensorRT-LLM has the
   same buckets as vLLM, except for prefill. */

static const double ttft[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                              1.0,  2.5,  5.0, 7.5, 10,  20,  40,  80, 160, 640, 2560};
static const double itl[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                             .75, 1.0,  2.5, 5.0,  7.5, 10,  20, 40, 80};
static const double latency[] = {.3, .5, .8, 1.0, 1.5, 2.0, 2.5, 5.0, 10,   15,  20,
                                 30, 40, 50, 60,  120, 240, 480, 960, 1920, 7680};
static const double trtllm_prefill[] = {.001, .005, .01, .025, .05, .1, .25, .5,  1.0,
                                        2.5,  5.0,  10,  20,   40,  80, 160, 640, 2560};
static const double sglang_ttft[] = {.1,  .2, .4, .6, .8, 1.0, 2.0, 4.0, 6.0,
                                     8.0, 10, 20, 40, 60, 80,  100, 200, 400};
static const double sglang_itl[] = {.002, .004, .006, .008, .01, .015, .02, .025,
                                    .03,  .035, .04,  .06,  .08, .1,   .2,  .4,
                                    .6,   .8,   1.0,  2.0,  4.0, 6.0,  8.0};
static const double sglang_e2e[] = {.1, .2, .4, .6, .8, 1.0, 2.0, 4.0, 6.0, 8.0,
                                    10, 20, 40, 60, 80, 100, 200, 400, 800};
/* The 1-2-5 series. */
static const double lengths[] = {1,     2,      5,      10,     20,      50,      100,
                                 200,   500,    1000,   2000,   5000,    10000,   20000,
                                 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000};
static const double step_tokens[] = {1,   8,    16,   32,   64,   128,  256,
                                     512, 1024, 2048, 4096, 8192, 16384};
static const double choices[] = {1, 2, 5, 10, 20};
/* NixlPromMetrics of vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py. */
static const double pull_time[] = {.005, .01, .025, .05, .075, .1, .2, .3, .5, .75, 1.0, 5.0};
static const double pull_bytes[] = {2048,      8192,      32768,      131072,
                                    524288,    2097152,   8388608,    33554432,
                                    134217728, 536870912, 2147483648, 8589934592};

#define BOUNDS(list) ((blis_live_bounds){list, (int)(sizeof(list) / sizeof *(list)), false})

static blis_live_bounds bounds_of_sglang(blis_live_histogram_kind kind) {
  switch (kind) {
  case BLIS_LIVE_TTFT:
    return BOUNDS(sglang_ttft);
  case BLIS_LIVE_ITL:
  case BLIS_LIVE_TPOT:
    return BOUNDS(sglang_itl);
  default:
    return BOUNDS(sglang_e2e);
  }
}

blis_live_bounds blis_live_bounds_of(blis_live_flavor flavor, blis_live_histogram_kind kind) {
  if (flavor == BLIS_LIVE_SGLANG && kind <= BLIS_LIVE_DECODE_TIME) {
    return bounds_of_sglang(kind);
  }
  switch (kind) {
  case BLIS_LIVE_TTFT:
    return BOUNDS(ttft);
  case BLIS_LIVE_ITL:
  case BLIS_LIVE_TPOT:
    return BOUNDS(itl);
  case BLIS_LIVE_PREFILL_TIME:
    return flavor == BLIS_LIVE_TRTLLM ? BOUNDS(trtllm_prefill) : BOUNDS(latency);
  case BLIS_LIVE_E2E:
  case BLIS_LIVE_QUEUE_TIME:
  case BLIS_LIVE_INFERENCE_TIME:
  case BLIS_LIVE_DECODE_TIME:
    return BOUNDS(latency);
  case BLIS_LIVE_STEP_TOKENS:
    return BOUNDS(step_tokens);
  case BLIS_LIVE_N:
    return BOUNDS(choices);
  case BLIS_LIVE_PULL_TIME:
    return BOUNDS(pull_time);
  case BLIS_LIVE_PULL_BYTES:
    return BOUNDS(pull_bytes);
  default:
    return (blis_live_bounds){lengths, sizeof lengths / sizeof *lengths, true};
  }
}

static void observe(blis_live_meter *meter, blis_live_histogram_kind kind, double value) {
  const blis_live_bounds bounds = blis_live_bounds_of(meter->flavor, kind);
  blis_live_histogram *histogram = &meter->histograms[kind];
  int i = 0;
  while (i < bounds.count && value > bounds.values[i]) {
    i++;
  }
  histogram->counts[i]++;
  histogram->count++;
  histogram->sum += value;
}

static double seconds(int64_t us) {
  return (double)us / 1e6;
}

static void count_token(blis_live_meter *meter, int64_t at_us) {
  int64_t second = at_us / SECOND_US;
  if (second != meter->second) {
    meter->last_second_tokens = second == meter->second + 1 ? meter->second_tokens : 0;
    meter->second_tokens = 0;
    meter->second = second;
  }
  meter->second_tokens++;
  meter->generation_tokens++;
}

double blis_live_meter_throughput(const blis_live_meter *meter, int64_t now_us) {
  int64_t passed = now_us / SECOND_US - meter->second;
  return (double)(passed == 0 ? meter->last_second_tokens : passed == 1 ? meter->second_tokens : 0);
}

void blis_live_meter_first_token(blis_live_meter *meter, int64_t at_us, int64_t ttft_us) {
  observe(meter, BLIS_LIVE_TTFT, seconds(ttft_us));
  count_token(meter, at_us);
}

void blis_live_meter_token(blis_live_meter *meter, int64_t at_us, int64_t itl_us) {
  observe(meter, BLIS_LIVE_ITL, seconds(itl_us));
  count_token(meter, at_us);
}

void blis_live_meter_step(blis_live_meter *meter, int64_t tokens) {
  observe(meter, BLIS_LIVE_STEP_TOKENS, (double)tokens);
}

void blis_live_meter_pull(blis_live_meter *meter, int64_t us, double bytes) {
  observe(meter, BLIS_LIVE_PULL_TIME, seconds(us));
  observe(meter, BLIS_LIVE_PULL_BYTES, bytes);
}

static void observe_times(blis_live_meter *meter, const blis_live_ending *e) {
  int64_t e2e_us = e->end_us - e->arrival_us;
  observe(meter, BLIS_LIVE_E2E, seconds(e2e_us));
  if (e->ttft_us < 0 || e->queued_us < 0) {
    return;
  }
  int64_t decode_us = e2e_us - e->ttft_us;
  observe(meter, BLIS_LIVE_QUEUE_TIME, seconds(e->queued_us));
  observe(meter, BLIS_LIVE_PREFILL_TIME, seconds(e->ttft_us - e->queued_us));
  observe(meter, BLIS_LIVE_DECODE_TIME, seconds(decode_us));
  observe(meter, BLIS_LIVE_INFERENCE_TIME, seconds(e2e_us - e->queued_us));
  if (e->output_tokens > 1) {
    observe(meter, BLIS_LIVE_TPOT, seconds(decode_us) / (double)(e->output_tokens - 1));
  }
}

void blis_live_meter_end(blis_live_meter *meter, const blis_live_ending *e) {
  meter->finished[e->finish]++;
  if (e->ttft_us >= 0) {
    meter->prompt_tokens += (uint64_t)e->prompt_tokens;
    meter->cached_tokens += (uint64_t)e->cached_tokens;
    meter->external_tokens += (uint64_t)e->external_tokens;
    observe(meter, BLIS_LIVE_COMPUTED_TOKENS,
            (double)(e->prompt_tokens - e->cached_tokens - e->external_tokens));
  }
  observe_times(meter, e);
  observe(meter, BLIS_LIVE_PROMPT_TOKENS, (double)e->prompt_tokens);
  observe(meter, BLIS_LIVE_OUTPUT_TOKENS, (double)e->output_tokens);
  observe(meter, BLIS_LIVE_MAX_OUTPUT_TOKENS, (double)e->output_tokens);
  observe(meter, BLIS_LIVE_MAX_TOKENS, (double)e->max_tokens);
  observe(meter, BLIS_LIVE_N, (double)e->n);
}
