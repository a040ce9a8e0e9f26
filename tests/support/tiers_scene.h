/*
 * tiers_scene.h - a cluster with KV tiers below its caches, for tests.
 */
#ifndef BLIS_TIERS_SCENE_H
#define BLIS_TIERS_SCENE_H

#include <math.h>

#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster_fixture.h"

enum { BLOCK = 16 };

typedef struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_kv_tier tiers[BLIS_KV_TIERS_MAX];
  blis_kv_tiers config;
  blis_disaggregation pools;
  bool has_pools;
} scene;

static const blis_engine_rules real_engine = {.leaves_at_step_end = true,
                                              .resumes_preempted = true,
                                              .counts_prompt_blocks = true,
                                              .recomputes_last_token = true,
                                              .drops_last_kv = true,
                                              .knows_cached_context = true};

/* A step takes so long, and so long for each token of a prefill; a request is
   in the queue at once. */
static inline void set_model(site *s, double step_us, double us_per_token) {
  blis_alloc heap = blis_alloc_heap();
  const double alpha[] = {0, 0, 0};
  const double beta[] = {step_us, us_per_token, 0};
  const blis_coefficients coefficients = {alpha, 3, beta, 3};
  blis_latency_free(&s->latency);
  CHECK(blis_blackbox_new(&heap, &coefficients, &s->latency, NULL) == BLIS_OK);
}

static inline void begin(scene *s, uint32_t count) {
  site_init(&s->site, blis_alloc_heap(), count);
  set_model(&s->site, 1000, 50);
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].rules = real_engine;
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].kv_bytes_per_token = 1000;
  }
  s->site.config.facts = s->facts;
  s->site.config.options[BLIS_FEATURE_TIERS] = &s->config;
  s->config = (blis_kv_tiers){.tiers = s->tiers,
                              .cache_weight = 1,
                              .network_bytes_per_us = (double)INFINITY,
                              .batch_blocks = 10};
}

static inline blis_kv_tier *add_tier(scene *s, const char *name, int64_t blocks,
                                     blis_tier_scope scope, double gb_per_sec) {
  blis_kv_tier *tier = &s->tiers[s->config.count++];
  *tier = (blis_kv_tier){.name = name,
                         .blocks = blocks,
                         .scope = scope,
                         .instances_per_node = 2,
                         .stage = -1,
                         .read_bytes_per_us = gb_per_sec * 1000,
                         .write_bytes_per_us = (double)INFINITY,
                         .sights_kept = 1000,
                         .promotes = true,
                         .weight = 0.75};
  return tier;
}

/* Request i wants the first so many tokens of a text, and some of its own. */
static inline void ask_for(scene *s, size_t i, int64_t at_us, uint32_t text, uint32_t text_tokens,
                           uint32_t own_tokens) {
  blis_request *r = &s->site.source.requests[i];
  s->site.segments[text].stream = text + 1;
  if (s->site.segments[text].length_tokens < text_tokens) {
    s->site.segments[text].length_tokens = text_tokens;
  }
  r->arrival_us = at_us;
  r->segments = &s->site.segments[text];
  r->segment_count = 1;
  r->shared_tokens = text_tokens;
  r->prompt_tokens = text_tokens + own_tokens;
  r->output_tokens = 1;
  r->max_output_tokens = 1;
}

static inline blis_status forget_caches(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    BLIS_TRY(blis_cluster_instance_lose_cache(cluster, i, error));
  }
  return BLIS_OK;
}

static inline blis_status lose_first(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 0, (blis_loss){0}, error);
}

static inline blis_status lose_second(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 1, (blis_loss){0}, error);
}

static inline void call_at(scene *s, int64_t at_us,
                           blis_status (*fn)(void *ud, blis_cluster *cluster, blis_error *error)) {
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s->site.cluster, at_us, fn, NULL, &error), &error);
}

static inline blis_kv_tiers_counts counts_of(const scene *s) {
  return blis_cluster_kv_tiers(s->site.cluster);
}

static inline blis_kv_tier_counts tier_of(const scene *s, size_t index) {
  return blis_cluster_kv_tier(s->site.cluster, index);
}

static inline const blis_record *record_of(const blis_record *records, int64_t number,
                                           size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (records[i].number == number) {
      return &records[i];
    }
  }
  CHECK(false);
  return NULL;
}

static inline void in_both_engines(void (*test)(blis_engine_kind engine)) {
  test(BLIS_ENGINE_STEPWISE);
  test(BLIS_ENGINE_FAST);
}

static inline void use_engine(scene *s, blis_engine_kind engine) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].engine = engine;
  }
}

#endif
