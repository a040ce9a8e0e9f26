/*
 * metrics.h - writes the metrics of instances as their engine exports them to Prometheus.
 *
 * Names, types, labels, and buckets follow the flavor:
 *
 *   vllm      vllm/v1/metrics/loggers.py
 *   vllm-0.8  the same for version 0.8, whose metric names routers of 2025 read
 *   sglang    sglang/srt/metrics/collector.py
 *   trtllm    tensorrt_llm/metrics/collector.py
 *
 * The page of a gateway contains all instances, with the label "engine" ("dp_rank" in SGLang). It
 * also contains the metrics of Dynamo's frontend, which Dynamo's planner reads. A page costs
 * O(metrics * instances).
 */
#ifndef BLIS_LIVE_METRICS_H
#define BLIS_LIVE_METRICS_H

#include "base/buffer.h"
#include "cluster/cluster.h"
#include "live/ask.h"
#include "live/meter.h"

/* An instance on a page. */
typedef struct blis_live_metered {
  const blis_live_meter *meter;
  const blis_instance *instance;
  uint32_t engine; /* its label */
  int sleep_level; /* 0 = awake, 1 = weights are offloaded, 2 = weights are discarded */
} blis_live_metered;

/* The content of a page. Everything is borrowed. */
typedef struct blis_live_page {
  blis_live_flavor flavor;
  const char *model;
  const blis_live_metered *instances;
  size_t count;
  const blis_live_adapter *adapters; /* in the order of the cluster */
  uint32_t adapter_count;
  bool is_gateway;
  int64_t max_model_len;
  int64_t in_flight;  /* requests that are not over */
  int64_t now_us;     /* simulated */
  double unix_time;   /* seconds; the value of lora_requests_info */
  double time_scale;  /* simulated seconds per second */
  double lag_seconds; /* delay of the most recent tokens */
  bool has_pulls;     /* instances may load KV from other engines */
  /* KV tiers of the cluster, if the page contains all instances. */
  bool has_tiers;
  double tier_loaded_bytes;
  double tier_saved_bytes;
  double tier_load_s;
  double tier_save_s;
} blis_live_page;

/* Appends the page in text format 0.0.4. The buffer records out-of-memory failures. */
void blis_live_write_metrics(blis_buffer *buffer, const blis_live_page *page);

#endif
