/* metrics_sglang.c - the metrics of SGLang. */
#include <inttypes.h>
#include <stdio.h>

#include "live/metrics_writer.h"

BLIS__VALUE(running, r->stats.batch_size)
BLIS__VALUE(waiting, r->stats.queue_depth)
BLIS__VALUE(used_tokens, r->stats.used_kv_blocks * r->config->block_size_tokens)
BLIS__VALUE(most_tokens, r->stats.kv_blocks * r->config->block_size_tokens)
BLIS__VALUE(usage, blis__share_of((double)r->stats.used_kv_blocks, (double)r->stats.kv_blocks))
BLIS__VALUE(throughput, blis_live_meter_throughput(r->meter, r->page->now_us))
BLIS__VALUE(hit_rate, blis__share_of((double)(r->meter->cached_tokens + r->meter->external_tokens),
                                     (double)r->meter->prompt_tokens))
BLIS__VALUE(accept_length, blis__share_of((double)(r->drafts.accepted_tokens + r->drafts.drafts),
                                          (double)r->drafts.drafts))
BLIS__VALUE(accept_rate,
            blis__share_of((double)r->drafts.accepted_tokens, (double)r->drafts.draft_tokens))
BLIS__VALUE(page_size, r->config->block_size_tokens)
BLIS__VALUE(page_count, r->stats.kv_blocks)
BLIS__VALUE(retracted, r->stats.preemptions)
BLIS__VALUE(prompt_tokens, r->meter->prompt_tokens)
BLIS__VALUE(generated, r->meter->generation_tokens)
BLIS__VALUE(cached, r->meter->cached_tokens + r->meter->external_tokens)
BLIS__VALUE(requests, r->meter->finished[BLIS_LIVE_STOP] + r->meter->finished[BLIS_LIVE_LENGTH])
BLIS__VALUE(aborted, r->meter->finished[BLIS_LIVE_ABORT])

static const blis__single singles[] = {
    {"num_running_reqs", "gauge", "The number of running requests.", running},
    {"num_queue_reqs", "gauge", "The number of requests in the waiting queue.", waiting},
    {"num_used_tokens", "gauge", "The number of used tokens.", used_tokens},
    {"token_usage", "gauge", "The token usage.", usage},
    {"max_total_num_tokens", "gauge", "Maximum total number of tokens in the KV cache pool.",
     most_tokens},
    {"gen_throughput", "gauge", "The generation throughput (token/s).", throughput},
    {"cache_hit_rate", "gauge", "The prefix cache hit rate.", hit_rate},
    {"spec_accept_length", "gauge", "The average acceptance length of speculative decoding.",
     accept_length},
    {"spec_accept_rate", "gauge", "The average acceptance rate of speculative decoding.",
     accept_rate},
    {"page_size", "gauge", "Tokens per page of the KV cache.", page_size},
    {"num_pages", "gauge", "Pages of the KV cache.", page_count},
    {"num_retracted_requests_total", "counter", "Number of retracted requests.", retracted},
    {"prompt_tokens_total", "counter", "Number of prefill tokens processed.", prompt_tokens},
    {"generation_tokens_total", "counter", "Number of generation tokens processed.", generated},
    {"cached_tokens_total", "counter", "Number of cached prompt tokens.", cached},
    {"num_requests_total", "counter", "Number of requests processed.", requests},
    {"num_aborted_requests_total", "counter", "Number of requests aborted.", aborted},
};

static const blis__distribution distributions[] = {
    {"time_to_first_token_seconds", "Histogram of time to first token in seconds.", BLIS_LIVE_TTFT},
    {"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", BLIS_LIVE_ITL},
    {"e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds",
     BLIS_LIVE_E2E},
    {"queue_time_seconds", "Histogram of queueing time in seconds.", BLIS_LIVE_QUEUE_TIME},
};

void blis__write_sglang_labels(blis_buffer *buffer, const blis__reading *reading) {
  blis_buffer_string(buffer, "model_name=\"");
  blis__metric_text(buffer, reading->page->model);
  blis_buffer_string(buffer, "\",engine_type=\"unified\",tp_rank=\"0\",pp_rank=\"0\"");
  if (reading->page->is_gateway) {
    blis_buffer_format(buffer, ",dp_rank=\"%" PRIu32 "\"", reading->of->engine);
  }
}

static void write_cache_config(const blis__metrics *m) {
  blis__metric_head(m, "cache_config_info", "gauge", "Information of the cache configuration.");
  for (size_t i = 0; i < m->page->count; i++) {
    char more[100];
    blis__reading reading;
    blis__read(m->page, i, &reading);
    snprintf(more, sizeof more, "page_size=\"%" PRId64 "\",num_pages=\"%" PRId64 "\"",
             (int64_t)reading.config->block_size_tokens, reading.stats.kv_blocks);
    blis__metric_line(m, &reading, "cache_config_info", more, 1);
  }
}

void blis__write_sglang(const blis__metrics *m) {
  blis__metric_singles(m, singles, BLIS__COUNT(singles));
  write_cache_config(m);
  blis__metric_distributions(m, distributions, BLIS__COUNT(distributions));
}
