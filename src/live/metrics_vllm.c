/* metrics_vllm.c - the metrics of vLLM, and their names in version 0.8 where these differ. */
#include <inttypes.h>
#include <stdio.h>

#include "live/metrics_writer.h"

BLIS__VALUE(running, r->stats.batch_size)
BLIS__VALUE(waiting, r->stats.queue_depth)
BLIS__VALUE(kv_usage, blis__share_of((double)r->stats.used_kv_blocks, (double)r->stats.kv_blocks))
BLIS__VALUE(prompt_tokens, r->meter->prompt_tokens)
BLIS__VALUE(cached_tokens, r->meter->cached_tokens)
BLIS__VALUE(any_cached_tokens, r->meter->cached_tokens + r->meter->external_tokens)
BLIS__VALUE(uncached_tokens, r->meter->prompt_tokens - r->meter->cached_tokens)
BLIS__VALUE(external_tokens, r->meter->external_tokens)
BLIS__VALUE(preemptions, r->stats.preemptions)
BLIS__VALUE(generated, r->meter->generation_tokens)
BLIS__VALUE(drafts, r->drafts.drafts)
BLIS__VALUE(draft_tokens, r->drafts.draft_tokens)
BLIS__VALUE(accepted_tokens, r->drafts.accepted_tokens)

static double nothing(const blis__reading *r) {
  (void)r;
  return 0;
}

void blis__write_vllm_labels(blis_buffer *buffer, const blis__reading *reading) {
  blis_buffer_format(buffer, "engine=\"%" PRIu32 "\",model_name=\"", reading->of->engine);
  blis__metric_text(buffer, reading->page->model);
  blis_buffer_char(buffer, '"');
}

/* Metrics of every version. */
static const blis__single common[] = {
    {"num_requests_running", "gauge", "Number of requests in model execution batches.", running},
    {"num_requests_waiting", "gauge", "Number of requests waiting to be processed.", waiting},
    {"num_preemptions_total", "counter", "Cumulative number of preemption from the engine.",
     preemptions},
    {"prompt_tokens_total", "counter", "Number of prefill tokens processed.", prompt_tokens},
    {"generation_tokens_total", "counter", "Number of generation tokens processed.", generated},
};

static const blis__single old_names[] = {
    {"gpu_cache_usage_perc", "gauge", "GPU KV-cache usage. 1 means 100 percent usage.", kv_usage},
    {"gpu_prefix_cache_queries_total", "counter",
     "GPU prefix cache queries, in terms of number of queried blocks.", prompt_tokens},
    {"gpu_prefix_cache_hits_total", "counter",
     "GPU prefix cache hits, in terms of number of cached blocks.", cached_tokens},
};

static const blis__single new_names[] = {
    {"kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", kv_usage},
    {"prefix_cache_queries_total", "counter",
     "Prefix cache queries, in terms of number of queried tokens.", prompt_tokens},
    {"prefix_cache_hits_total", "counter",
     "Prefix cache hits, in terms of number of cached tokens.", cached_tokens},
    {"external_prefix_cache_queries_total", "counter",
     "External prefix cache queries, in terms of number of queried tokens.", uncached_tokens},
    {"external_prefix_cache_hits_total", "counter",
     "External prefix cache hits, in terms of number of cached tokens.", external_tokens},
    {"mm_cache_queries_total", "counter", "Multi-modal cache queries, in number of items.",
     nothing},
    {"mm_cache_hits_total", "counter", "Multi-modal cache hits, in number of items.", nothing},
    {"prompt_tokens_cached_total", "counter", "Number of cached prompt tokens.", any_cached_tokens},
};

static const blis__single speculation[] = {
    {"spec_decode_num_drafts_total", "counter", "Number of spec decoding drafts.", drafts},
    {"spec_decode_num_draft_tokens_total", "counter", "Number of draft tokens.", draft_tokens},
    {"spec_decode_num_accepted_tokens_total", "counter", "Number of accepted tokens.",
     accepted_tokens},
};

static const blis__distribution common_histograms[] = {
    {"time_to_first_token_seconds", "Histogram of time to first token in seconds.", BLIS_LIVE_TTFT},
    {"e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", BLIS_LIVE_E2E},
    {"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.",
     BLIS_LIVE_QUEUE_TIME},
    {"request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.",
     BLIS_LIVE_INFERENCE_TIME},
    {"request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.",
     BLIS_LIVE_PREFILL_TIME},
    {"request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.",
     BLIS_LIVE_DECODE_TIME},
    {"request_prompt_tokens", "Number of prefill tokens processed.", BLIS_LIVE_PROMPT_TOKENS},
    {"request_generation_tokens", "Number of generation tokens processed.",
     BLIS_LIVE_OUTPUT_TOKENS},
    {"request_max_num_generation_tokens",
     "Histogram of maximum number of requested generation tokens.", BLIS_LIVE_MAX_OUTPUT_TOKENS},
    {"request_params_max_tokens", "Histogram of the max_tokens request parameter.",
     BLIS_LIVE_MAX_TOKENS},
    {"request_params_n", "Histogram of the n request parameter.", BLIS_LIVE_N},
    {"iteration_tokens_total", "Histogram of number of tokens per engine_step.",
     BLIS_LIVE_STEP_TOKENS},
};

static const blis__distribution old_histograms[] = {
    {"time_per_output_token_seconds", "Histogram of time per output token in seconds.",
     BLIS_LIVE_ITL},
};

static const blis__distribution new_histograms[] = {
    {"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", BLIS_LIVE_ITL},
    {"request_time_per_output_token_seconds",
     "Histogram of time per output token in seconds per request.", BLIS_LIVE_TPOT},
    {"request_prefill_kv_computed_tokens",
     "Histogram of new KV tokens computed during prefill, without cached tokens.",
     BLIS_LIVE_COMPUTED_TOKENS},
};

static const blis__distribution pull_histograms[] = {
    {"nixl_xfer_time_seconds", "Histogram of transfer duration for NIXL KV Cache transfers.",
     BLIS_LIVE_PULL_TIME},
    {"nixl_bytes_transferred", "Histogram of bytes transferred per NIXL KV Cache transfers.",
     BLIS_LIVE_PULL_BYTES},
};

/* Writes several lines for each instance. */
typedef void write_lines(const blis__metrics *m, const blis__reading *reading, const char *name);

static void write_each(const blis__metrics *m, const char *name, const char *type, const char *text,
                       write_lines *lines) {
  blis__metric_head(m, name, type, text);
  for (size_t i = 0; i < m->page->count; i++) {
    blis__reading reading;
    blis__read(m->page, i, &reading);
    lines(m, &reading, name);
  }
}

static void reason_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  blis__metric_line(m, r, name, "reason=\"capacity\"", (double)r->stats.queue_depth);
  blis__metric_line(m, r, name, "reason=\"deferred\"", 0);
}

static void finish_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  for (int finish = 0; finish < BLIS_LIVE_FINISH_COUNT; finish++) {
    char more[40];
    snprintf(more, sizeof more, "finished_reason=\"%s\"",
             blis_live_finish_name((blis_live_finish)finish));
    blis__metric_line(m, r, name, more, (double)r->meter->finished[finish]);
  }
}

static void sleep_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  blis__metric_line(m, r, name, "sleep_state=\"awake\"", r->of->sleep_level == 0);
  blis__metric_line(m, r, name, "sleep_state=\"weights_offloaded\"", r->of->sleep_level == 1);
  blis__metric_line(m, r, name, "sleep_state=\"discard_all\"", r->of->sleep_level == 2);
}

static void source_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  blis__metric_line(m, r, name, "source=\"local_compute\"",
                    uncached_tokens(r) - external_tokens(r));
  blis__metric_line(m, r, name, "source=\"local_cache_hit\"", cached_tokens(r));
  blis__metric_line(m, r, name, "source=\"external_kv_transfer\"", external_tokens(r));
}

static void position_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  int64_t count = r->config->speculation == NULL ? 0 : r->config->speculation->tokens;
  for (int64_t i = 0; i < count; i++) {
    char more[40];
    snprintf(more, sizeof more, "position=\"%" PRId64 "\"", i);
    blis__metric_line(m, r, name, more, (double)r->drafts.accepted_at[i]);
  }
}

static void cache_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  blis_buffer_format(m->buffer,
                     "%s%s{block_size=\"%" PRId64
                     "\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"%" PRIu32
                     "\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"%" PRId64 "\"} 1.0\n",
                     m->prefix, name, (int64_t)r->config->block_size_tokens, r->of->engine,
                     (int64_t)r->config->kv_blocks);
}

/* Writes the names of the adapters that have requests, separated by commas. */
static void write_adapters(const blis__metrics *m, const blis__reading *r, bool are_running) {
  bool is_first = true;
  for (uint32_t k = 0; k < m->page->adapter_count; k++) {
    const blis_adapter_state state = blis_instance_adapter(r->of->instance, k + 1);
    if ((are_running ? state.running : state.waiting) > 0) {
      blis_buffer_string(m->buffer, is_first ? "" : ",");
      const blis_live_adapter *adapter = &m->page->adapters[k];
      blis__metric_text(m->buffer, adapter->name[0] != '\0' ? adapter->name : adapter->own_name);
      is_first = false;
    }
  }
}

/* vLLM sets no other labels here, so the instances of a gateway need the label of the engine. */
static void lora_lines(const blis__metrics *m, const blis__reading *r, const char *name) {
  blis_buffer_format(m->buffer, "%s%s{", m->prefix, name);
  if (m->page->is_gateway) {
    blis_buffer_format(m->buffer, "engine=\"%" PRIu32 "\",", r->of->engine);
  }
  blis_buffer_format(m->buffer, "max_lora=\"%" PRId64 "\",running_lora_adapters=\"",
                     r->config->adapters == NULL ? 0 : r->config->adapters->slots);
  write_adapters(m, r, true);
  blis_buffer_string(m->buffer, "\",waiting_lora_adapters=\"");
  write_adapters(m, r, false);
  blis_buffer_string(m->buffer, "\"} ");
  blis__metric_number(m->buffer, m->page->unix_time);
  blis_buffer_char(m->buffer, '\n');
}

static bool has_speculation(const blis_live_page *page) {
  for (size_t i = 0; i < page->count; i++) {
    if (blis_instance_get_config(page->instances[i].instance)->speculation != NULL) {
      return true;
    }
  }
  return false;
}

static void write_present(const blis__metrics *m) {
  blis__metric_singles(m, new_names, BLIS__COUNT(new_names));
  write_each(m, "num_requests_waiting_by_reason", "gauge", "Number of waiting requests by reason.",
             reason_lines);
  write_each(m, "engine_sleep_state", "gauge", "Engine sleep state.", sleep_lines);
  write_each(m, "prompt_tokens_by_source_total", "counter", "Number of prompt tokens by source.",
             source_lines);
  blis__metric_distributions(m, new_histograms, BLIS__COUNT(new_histograms));
}

/* The tiers do not belong to a single instance, so they are reported for the first one. */
static void write_offload(const blis__metrics *m) {
  static const char *const ways[] = {"transfer_type=\"CPU_to_GPU\"",
                                     "transfer_type=\"GPU_to_CPU\""};
  const blis_live_page *page = m->page;
  const struct {
    const char *name;
    const char *text;
    double values[2];
  } counters[] = {
      {"kv_offload_total_bytes_total",
       "Number of bytes offloaded by KV connector",
       {page->tier_loaded_bytes, page->tier_saved_bytes}},
      {"kv_offload_total_time_total",
       "Total time of KV offload transfers, in seconds",
       {page->tier_load_s, page->tier_save_s}},
  };
  blis__reading reading;
  blis__read(page, 0, &reading);
  for (size_t i = 0; i < BLIS__COUNT(counters); i++) {
    blis__metric_head(m, counters[i].name, "counter", counters[i].text);
    for (size_t k = 0; k < 2; k++) {
      blis__metric_line(m, &reading, counters[i].name, ways[k], counters[i].values[k]);
    }
  }
}

void blis__write_vllm(const blis__metrics *m) {
  blis__metric_singles(m, common, BLIS__COUNT(common));
  if (m->page->flavor == BLIS_LIVE_VLLM_0_8) {
    blis__metric_singles(m, old_names, BLIS__COUNT(old_names));
    blis__metric_distributions(m, old_histograms, BLIS__COUNT(old_histograms));
  } else {
    write_present(m);
  }
  if (has_speculation(m->page)) {
    blis__metric_singles(m, speculation, BLIS__COUNT(speculation));
    write_each(m, "spec_decode_num_accepted_tokens_per_pos_total", "counter",
               "Accepted tokens per draft position.", position_lines);
  }
  write_each(m, "request_success_total", "counter", "Count of successfully processed requests.",
             finish_lines);
  write_each(m, "cache_config_info", "gauge", "Information of the LLMEngine CacheConfig",
             cache_lines);
  if (m->page->adapter_count > 0) {
    write_each(m, "lora_requests_info", "gauge", "Running stats on lora requests.", lora_lines);
  }
  blis__metric_distributions(m, common_histograms, BLIS__COUNT(common_histograms));
  if (m->page->has_pulls) {
    blis__metric_distributions(m, pull_histograms, BLIS__COUNT(pull_histograms));
  }
  if (m->page->has_tiers && m->page->count > 0) {
    write_offload(m);
  }
}
