#include "live/metrics.h"

#include "live/metrics_writer.h"

/* Metrics of Dynamo's frontend that its planner and its dashboards read. */

static void write_model(blis_buffer *buffer, const blis__reading *reading) {
  blis_buffer_string(buffer, "model=\"");
  blis__metric_text(buffer, reading->page->model);
  blis_buffer_char(buffer, '"');
}

static void write_sum(const blis__metrics *m, const blis__distribution *one) {
  blis__reading reading = {.page = m->page};
  blis_live_histogram sum = {.count = 0};
  for (size_t i = 0; i < m->page->count; i++) {
    const blis_live_histogram *h = &m->page->instances[i].meter->histograms[one->kind];
    for (int k = 0; k < BLIS_LIVE_BUCKETS_MAX; k++) {
      sum.counts[k] += h->counts[k];
    }
    sum.count += h->count;
    sum.sum += h->sum;
  }
  blis__metric_head(m, one->name, "histogram", one->text);
  blis__metric_histogram(m, &reading, one, &sum);
}

static void write_frontend(const blis__metrics *page) {
  static const blis__distribution list[] = {
      {"time_to_first_token_seconds", "Time to first token in seconds.", BLIS_LIVE_TTFT},
      {"inter_token_latency_seconds", "Inter-token latency in seconds.", BLIS_LIVE_ITL},
      {"request_duration_seconds", "Duration of requests in seconds.", BLIS_LIVE_E2E},
      {"input_sequence_tokens", "Length of prompts in tokens.", BLIS_LIVE_PROMPT_TOKENS},
      {"output_sequence_tokens", "Length of outputs in tokens.", BLIS_LIVE_OUTPUT_TOKENS},
  };
  const blis__metrics m = {.buffer = page->buffer,
                           .page = page->page,
                           .prefix = "dynamo_frontend_",
                           .labels = write_model};
  const blis__reading reading = {.page = m.page};
  uint64_t good = 0;
  uint64_t bad = 0;
  for (size_t i = 0; i < m.page->count; i++) {
    const uint64_t *finished = m.page->instances[i].meter->finished;
    good += finished[BLIS_LIVE_STOP] + finished[BLIS_LIVE_LENGTH];
    bad += finished[BLIS_LIVE_ERROR];
  }
  blis__metric_head(&m, "requests_total", "counter", "Number of requests that have ended.");
  blis__metric_line(&m, &reading, "requests_total", "status=\"success\"", (double)good);
  blis__metric_line(&m, &reading, "requests_total", "status=\"error\"", (double)bad);
  blis__metric_head(&m, "inflight_requests", "gauge", "Number of requests that have not ended.");
  blis__metric_line(&m, &reading, "inflight_requests", "", (double)m.page->in_flight);
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    write_sum(&m, &list[k]);
  }
}

static void write_gauge(blis_buffer *buffer, const char *name, const char *text, double value) {
  blis_buffer_format(buffer, "# HELP blis:%s %s\n# TYPE blis:%s gauge\nblis:%s ", name, text, name,
                     name);
  blis__metric_number(buffer, value);
  blis_buffer_char(buffer, '\n');
}

void blis_live_write_metrics(blis_buffer *buffer, const blis_live_page *page) {
  typedef struct engine {
    const char *prefix;
    void (*write)(const blis__metrics *m);
    void (*labels)(blis_buffer *buffer, const blis__reading *reading);
  } engine;
  static const engine engines[] = {
      [BLIS_LIVE_VLLM] = {"vllm:", blis__write_vllm, blis__write_vllm_labels},
      [BLIS_LIVE_VLLM_0_8] = {"vllm:", blis__write_vllm, blis__write_vllm_labels},
      [BLIS_LIVE_SGLANG] = {"sglang:", blis__write_sglang, blis__write_sglang_labels},
      [BLIS_LIVE_TRTLLM] = {"trtllm_", blis__write_trtllm, blis__write_trtllm_labels},
  };
  const engine *its = &engines[page->flavor];
  const blis__metrics m = {
      .buffer = buffer, .page = page, .prefix = its->prefix, .labels = its->labels};
  its->write(&m);
  if (page->is_gateway) {
    write_frontend(&m);
  }
  write_gauge(buffer, "live_time_scale", "Simulated seconds per second.", page->time_scale);
  write_gauge(buffer, "live_lag_seconds", "How late the last tokens were.", page->lag_seconds);
}
