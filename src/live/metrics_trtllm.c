/* metrics_trtllm.c - the metrics of trtllm-serve. */
#include <inttypes.h>
#include <stdio.h>

#include "live/metrics_writer.h"

BLIS__VALUE(running, r->stats.batch_size)
BLIS__VALUE(waiting, r->stats.queue_depth)
BLIS__VALUE(completed, r->stats.completed)
BLIS__VALUE(most_active, r->config->max_num_seqs)
BLIS__VALUE(utilization,
            blis__share_of((double)r->stats.used_kv_blocks, (double)r->stats.kv_blocks))
BLIS__VALUE(hit_rate, blis__share_of((double)r->stats.cache_hits,
                                     (double)(r->stats.cache_hits + r->stats.cache_misses)))
BLIS__VALUE(reused_blocks, r->stats.cache_hits)
BLIS__VALUE(missed_blocks, r->stats.cache_misses)
BLIS__VALUE(most_blocks, r->stats.kv_blocks)
BLIS__VALUE(used_blocks, r->stats.used_kv_blocks)
BLIS__VALUE(free_blocks, r->stats.kv_blocks - r->stats.used_kv_blocks)
BLIS__VALUE(block_tokens, r->config->block_size_tokens)
BLIS__VALUE(prompt_tokens, r->meter->prompt_tokens)
BLIS__VALUE(cached_tokens, r->meter->cached_tokens + r->meter->external_tokens)
BLIS__VALUE(generated, r->meter->generation_tokens)
BLIS__VALUE(errors, r->meter->finished[BLIS_LIVE_ERROR])

static const blis__single singles[] = {
    {"num_requests_running", "gauge", "Number of active requests", running},
    {"num_requests_waiting", "gauge", "Number of queued requests", waiting},
    {"num_requests_completed_total", "counter",
     "Total number of completed requests across iterations", completed},
    {"max_num_active_requests", "gauge", "Maximum number of active requests", most_active},
    {"kv_cache_utilization", "gauge", "KV cache utilization", utilization},
    {"kv_cache_hit_rate", "gauge", "KV cache hit rate", hit_rate},
    {"kv_cache_reused_blocks_total", "counter",
     "Cumulative number of KV cache blocks reused (cache hits)", reused_blocks},
    {"kv_cache_missed_blocks_total", "counter",
     "Cumulative number of KV cache blocks missed (cache misses)", missed_blocks},
    {"kv_cache_max_blocks", "gauge", "Maximum number of KV cache blocks", most_blocks},
    {"kv_cache_free_blocks", "gauge", "Number of free KV cache blocks", free_blocks},
    {"kv_cache_used_blocks", "gauge", "Number of used KV cache blocks", used_blocks},
    {"kv_cache_tokens_per_block", "gauge", "Number of tokens per KV cache block", block_tokens},
    {"prompt_tokens_total", "counter", "Cumulative number of prompt (input) tokens processed.",
     prompt_tokens},
    {"generation_tokens_total", "counter",
     "Cumulative number of generation (output) tokens produced.", generated},
    {"prompt_cached_tokens_total", "counter", "Cumulative number of cached prompt tokens.",
     cached_tokens},
    {"request_error_total", "counter", "Count of failed requests.", errors},
};

static const blis__distribution distributions[] = {
    {"e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.",
     BLIS_LIVE_E2E},
    {"time_to_first_token_seconds", "Histogram of time to first token in seconds.", BLIS_LIVE_TTFT},
    {"time_per_output_token_seconds", "Histogram of time per output token in seconds.",
     BLIS_LIVE_TPOT},
    {"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.",
     BLIS_LIVE_QUEUE_TIME},
    {"request_prefill_time_seconds", "Histogram of prefill (context) phase duration in seconds.",
     BLIS_LIVE_PREFILL_TIME},
    {"request_decode_time_seconds", "Histogram of decode (generation) phase duration in seconds.",
     BLIS_LIVE_DECODE_TIME},
    {"request_inference_time_seconds", "Histogram of total inference duration in seconds.",
     BLIS_LIVE_INFERENCE_TIME},
};

void blis__write_trtllm_labels(blis_buffer *buffer, const blis__reading *reading) {
  blis_buffer_string(buffer, "model_name=\"");
  blis__metric_text(buffer, reading->page->model);
  blis_buffer_string(buffer, "\",engine_type=\"trtllm\"");
  if (reading->page->is_gateway) {
    blis_buffer_format(buffer, ",engine=\"%" PRIu32 "\"", reading->of->engine);
  }
}

static void write_finished(const blis__metrics *m) {
  blis__metric_head(m, "request_success_total", "counter",
                    "Count of successfully processed requests.");
  for (size_t i = 0; i < m->page->count; i++) {
    blis__reading reading;
    blis__read(m->page, i, &reading);
    for (int finish = 0; finish < BLIS_LIVE_ABORT; finish++) {
      char more[40];
      snprintf(more, sizeof more, "finished_reason=\"%s\"",
               blis_live_finish_name((blis_live_finish)finish));
      blis__metric_line(m, &reading, "request_success_total", more,
                        (double)reading.meter->finished[finish]);
    }
  }
}

void blis__write_trtllm(const blis__metrics *m) {
  blis__metric_singles(m, singles, BLIS__COUNT(singles));
  write_finished(m);
  blis__metric_distributions(m, distributions, BLIS__COUNT(distributions));
}
