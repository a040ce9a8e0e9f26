#include "live/meter.h"

#include <inttypes.h>
#include <stdio.h>

const char *blis_live_finish_name(blis_live_finish finish) {
  static const char *const names[] = {
      [BLIS_LIVE_STOP] = "stop",
      [BLIS_LIVE_LENGTH] = "length",
      [BLIS_LIVE_ABORT] = "abort",
      [BLIS_LIVE_ERROR] = "error",
  };
  return names[finish];
}

/* Upper bounds, ascending. */
typedef struct bounds {
  const double *values;
  int count;
} bounds;

static const double ttft_bounds[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                     1.0,  2.5,  5.0, 7.5, 10,  20,  40,  80, 160, 640, 2560};
static const double itl_bounds[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                    .75, 1.0,  2.5, 5.0,  7.5, 10,  20, 40, 80};
static const double latency_bounds[] = {.3,   .5,   .8,   1.0,  1.5,   2.0,    2.5,
                                        5.0,  10.0, 15.0, 20.0, 30.0,  40.0,   50.0,
                                        60.0, 120,  240,  480,  960.0, 1920.0, 7680.0};
/* The 1-2-5 series; a page has those up to the maximum model length. */
static const double token_bounds[] = {1,     2,      5,      10,     20,      50,      100,
                                      200,   500,    1000,   2000,   5000,    10000,   20000,
                                      50000, 100000, 200000, 500000, 1000000, 2000000, 5000000};
static const double n_bounds[] = {1, 2, 5, 10, 20};

#define BOUNDS(list) ((bounds){list, (int)(sizeof(list) / sizeof *(list))})

static bounds bounds_of(blis_live_histogram_kind kind) {
  switch (kind) {
  case BLIS_LIVE_time_to_first_token_seconds:
    return BOUNDS(ttft_bounds);
  case BLIS_LIVE_inter_token_latency_seconds:
  case BLIS_LIVE_request_time_per_output_token_seconds:
    return BOUNDS(itl_bounds);
  case BLIS_LIVE_e2e_request_latency_seconds:
  case BLIS_LIVE_request_queue_time_seconds:
  case BLIS_LIVE_request_inference_time_seconds:
  case BLIS_LIVE_request_prefill_time_seconds:
  case BLIS_LIVE_request_decode_time_seconds:
    return BOUNDS(latency_bounds);
  case BLIS_LIVE_request_params_n:
    return BOUNDS(n_bounds);
  default:
    return BOUNDS(token_bounds);
  }
}

static void observe(blis_live_meter *meter, blis_live_histogram_kind kind, double value) {
  const bounds its = bounds_of(kind);
  blis_live_histogram *histogram = &meter->histograms[kind];
  int i = 0;
  while (i < its.count && value > its.values[i]) {
    i++;
  }
  histogram->counts[i]++;
  histogram->count++;
  histogram->sum += value;
}

static double seconds(int64_t us) {
  return (double)us / 1e6;
}

void blis_live_meter_first_token(blis_live_meter *meter, int64_t ttft_us) {
  observe(meter, BLIS_LIVE_time_to_first_token_seconds, seconds(ttft_us));
  meter->generation_tokens++;
}

void blis_live_meter_token(blis_live_meter *meter, int64_t itl_us) {
  observe(meter, BLIS_LIVE_inter_token_latency_seconds, seconds(itl_us));
  meter->generation_tokens++;
}

static void observe_times(blis_live_meter *meter, const blis_live_ending *e) {
  int64_t e2e_us = e->end_us - e->arrival_us;
  observe(meter, BLIS_LIVE_e2e_request_latency_seconds, seconds(e2e_us));
  if (e->ttft_us < 0 || e->queued_us < 0) {
    return;
  }
  int64_t decode_us = e2e_us - e->ttft_us;
  observe(meter, BLIS_LIVE_request_queue_time_seconds, seconds(e->queued_us));
  observe(meter, BLIS_LIVE_request_prefill_time_seconds, seconds(e->ttft_us - e->queued_us));
  observe(meter, BLIS_LIVE_request_decode_time_seconds, seconds(decode_us));
  observe(meter, BLIS_LIVE_request_inference_time_seconds, seconds(e2e_us - e->queued_us));
  if (e->output_tokens > 1) {
    observe(meter, BLIS_LIVE_request_time_per_output_token_seconds,
            seconds(decode_us) / (double)(e->output_tokens - 1));
  }
}

void blis_live_meter_end(blis_live_meter *meter, const blis_live_ending *e) {
  meter->finished[e->finish]++;
  meter->prompt_tokens += (uint64_t)(e->ttft_us >= 0 ? e->prompt_tokens : 0);
  meter->cached_tokens += (uint64_t)(e->ttft_us >= 0 ? e->cached_tokens : 0);
  observe_times(meter, e);
  observe(meter, BLIS_LIVE_request_prompt_tokens, (double)e->prompt_tokens);
  observe(meter, BLIS_LIVE_request_generation_tokens, (double)e->output_tokens);
  observe(meter, BLIS_LIVE_request_max_num_generation_tokens, (double)e->output_tokens);
  observe(meter, BLIS_LIVE_request_params_max_tokens, (double)e->max_tokens);
  observe(meter, BLIS_LIVE_request_params_n, (double)e->n);
}

/* Pages. */

static void head(blis_buffer *buffer, const char *name, const char *type, const char *text) {
  blis_buffer_format(buffer, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, text, name, type);
}

/* A number as Python prints a float. */
static void number(blis_buffer *buffer, double value) {
  blis_buffer_double(buffer, value, BLIS_DOUBLE_DIGITS);
  if (value == (double)(int64_t)value && value < 1e15) {
    blis_buffer_string(buffer, ".0");
  }
}

/* Label values may contain anything but need three escapes. */
static void label(blis_buffer *buffer, const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
    case '\\':
      blis_buffer_string(buffer, "\\\\");
      break;
    case '"':
      blis_buffer_string(buffer, "\\\"");
      break;
    case '\n':
      blis_buffer_string(buffer, "\\n");
      break;
    default:
      blis_buffer_char(buffer, *text);
    }
  }
}

/* vllm:NAME{engine="0",model_name="m" and more: without the closing brace. */
static void begin(blis_buffer *buffer, const char *name, const blis_live_page *page,
                  const blis_live_metered *of) {
  blis_buffer_format(buffer, "vllm:%s{engine=\"%" PRIu32 "\",model_name=\"", name, of->engine);
  label(buffer, page->model);
  blis_buffer_char(buffer, '"');
}

static void end(blis_buffer *buffer, const char *more, double value) {
  blis_buffer_format(buffer, "%s} ", more);
  number(buffer, value);
  blis_buffer_char(buffer, '\n');
}

static void write_histogram(blis_buffer *buffer, const blis_live_page *page,
                            const blis_live_metered *of, blis_live_histogram_kind kind,
                            const char *name) {
  const bounds its = bounds_of(kind);
  const blis_live_histogram *h = &of->meter->histograms[kind];
  bool has_length_bounds = its.values == token_bounds;
  char series[128];
  uint64_t below = 0;
  snprintf(series, sizeof series, "%s_bucket", name);
  for (int i = 0; i < its.count; i++) {
    below += h->counts[i];
    if (has_length_bounds && its.values[i] > (double)page->max_model_len) {
      break;
    }
    begin(buffer, series, page, of);
    blis_buffer_string(buffer, ",le=\"");
    number(buffer, its.values[i]);
    end(buffer, "\"", (double)below);
  }
  begin(buffer, series, page, of);
  end(buffer, ",le=\"+Inf\"", (double)h->count);
  snprintf(series, sizeof series, "%s_sum", name);
  begin(buffer, series, page, of);
  end(buffer, "", h->sum);
  snprintf(series, sizeof series, "%s_count", name);
  begin(buffer, series, page, of);
  end(buffer, "", (double)h->count);
}

static void write_histograms(blis_buffer *buffer, const blis_live_page *page) {
  static const char *const names[] = {
#define XX(name, text) #name,
      BLIS_LIVE_HISTOGRAM_MAP(XX)
#undef XX
  };
  static const char *const texts[] = {
#define XX(name, text) text,
      BLIS_LIVE_HISTOGRAM_MAP(XX)
#undef XX
  };
  for (int kind = 0; kind < BLIS_LIVE_HISTOGRAM_COUNT; kind++) {
    head(buffer, names[kind], "histogram", texts[kind]);
    for (size_t i = 0; i < page->count; i++) {
      write_histogram(buffer, page, &page->instances[i], (blis_live_histogram_kind)kind,
                      names[kind]);
    }
  }
}

/* A metric with one value per instance. */
typedef struct single {
  const char *name;
  const char *type;
  const char *text;
  double (*value)(const blis_live_metered *of, const blis_instance_stats *stats);
} single;

static double running(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)of;
  return (double)stats->batch_size;
}

static double waiting(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)of;
  return (double)stats->queue_depth;
}

static double kv_usage(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)of;
  return stats->kv_blocks == 0 ? 0 : (double)stats->used_kv_blocks / (double)stats->kv_blocks;
}

static double queries(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)stats;
  return (double)of->meter->prompt_tokens;
}

static double hits(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)stats;
  return (double)of->meter->cached_tokens;
}

static double preemptions(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)of;
  return (double)stats->preemptions;
}

static double generated(const blis_live_metered *of, const blis_instance_stats *stats) {
  (void)stats;
  return (double)of->meter->generation_tokens;
}

static const single singles[] = {
    {"num_requests_running", "gauge", "Number of requests in model execution batches.", running},
    {"num_requests_waiting", "gauge", "Number of requests waiting to be processed.", waiting},
    {"kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", kv_usage},
    {"prefix_cache_queries_total", "counter",
     "Prefix cache queries, in terms of number of queried tokens.", queries},
    {"prefix_cache_hits_total", "counter",
     "Prefix cache hits, in terms of number of cached tokens.", hits},
    {"num_preemptions_total", "counter", "Cumulative number of preemption from the engine.",
     preemptions},
    {"prompt_tokens_total", "counter", "Number of prefill tokens processed.", queries},
    {"prompt_tokens_cached_total", "counter", "Number of prompt tokens found in the cache.", hits},
    {"generation_tokens_total", "counter", "Number of generation tokens processed.", generated},
};

static void write_singles(blis_buffer *buffer, const blis_live_page *page) {
  for (size_t k = 0; k < sizeof singles / sizeof *singles; k++) {
    head(buffer, singles[k].name, singles[k].type, singles[k].text);
    for (size_t i = 0; i < page->count; i++) {
      const blis_live_metered *of = &page->instances[i];
      blis_instance_stats stats;
      blis_instance_get_stats(of->instance, &stats);
      begin(buffer, singles[k].name, page, of);
      end(buffer, "", singles[k].value(of, &stats));
    }
  }
}

static void write_waiting_reasons(blis_buffer *buffer, const blis_live_page *page) {
  head(buffer, "num_requests_waiting_by_reason", "gauge", "Number of waiting requests by reason.");
  for (size_t i = 0; i < page->count; i++) {
    const blis_live_metered *of = &page->instances[i];
    begin(buffer, "num_requests_waiting_by_reason", page, of);
    end(buffer, ",reason=\"capacity\"", (double)blis_instance_get_load(of->instance).queue_depth);
    begin(buffer, "num_requests_waiting_by_reason", page, of);
    end(buffer, ",reason=\"deferred\"", 0);
  }
}

static void write_finished(blis_buffer *buffer, const blis_live_page *page) {
  head(buffer, "request_success_total", "counter", "Count of successfully processed requests.");
  for (size_t i = 0; i < page->count; i++) {
    for (int finish = 0; finish < BLIS_LIVE_FINISH_COUNT; finish++) {
      const blis_live_metered *of = &page->instances[i];
      begin(buffer, "request_success_total", page, of);
      blis_buffer_format(buffer, ",finished_reason=\"%s\"",
                         blis_live_finish_name((blis_live_finish)finish));
      end(buffer, "", (double)of->meter->finished[finish]);
    }
  }
}

static void write_sleep(blis_buffer *buffer, const blis_live_page *page) {
  head(buffer, "engine_sleep_state", "gauge", "Engine sleep state.");
  for (size_t i = 0; i < page->count; i++) {
    const blis_live_metered *of = &page->instances[i];
    begin(buffer, "engine_sleep_state", page, of);
    end(buffer, ",sleep_state=\"awake\"", of->sleeps ? 0 : 1);
    begin(buffer, "engine_sleep_state", page, of);
    end(buffer, ",sleep_state=\"weights_offloaded\"", of->sleeps ? 1 : 0);
    begin(buffer, "engine_sleep_state", page, of);
    end(buffer, ",sleep_state=\"discard_all\"", 0);
  }
}

static void write_cache_config(blis_buffer *buffer, const blis_live_page *page) {
  head(buffer, "cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  for (size_t i = 0; i < page->count; i++) {
    const blis_live_metered *of = &page->instances[i];
    const blis_instance_config *config = blis_instance_get_config(of->instance);
    blis_buffer_format(buffer,
                       "vllm:cache_config_info{block_size=\"%" PRId64
                       "\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"%" PRIu32
                       "\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"%" PRId64 "\"} 1.0\n",
                       (int64_t)config->block_size_tokens, of->engine, (int64_t)config->kv_blocks);
  }
}

void blis_live_write_metrics(blis_buffer *buffer, const blis_live_page *page) {
  write_singles(buffer, page);
  write_waiting_reasons(buffer, page);
  write_sleep(buffer, page);
  write_finished(buffer, page);
  write_cache_config(buffer, page);
  write_histograms(buffer, page);
  blis_buffer_string(buffer, "# HELP blis:live_time_scale Simulated seconds per second.\n"
                             "# TYPE blis:live_time_scale gauge\nblis:live_time_scale ");
  number(buffer, page->time_scale);
  blis_buffer_string(buffer, "\n# HELP blis:live_lag_seconds How late the last tokens were.\n"
                             "# TYPE blis:live_lag_seconds gauge\nblis:live_lag_seconds ");
  number(buffer, page->lag_seconds);
  blis_buffer_char(buffer, '\n');
}
