/*
 * handoff_scene.h - a cluster in which prefill and decode are apart, for tests.
 */
#ifndef BLIS_HANDOFF_SCENE_H
#define BLIS_HANDOFF_SCENE_H

#include <math.h>

#include "cluster/encode/encode.h"
#include "cluster/handoff/go_blis.h"
#include "cluster/handoff/handoff.h"
#include "cluster_fixture.h"
#include "instance/config/go_blis.h"

typedef struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_disaggregation policy;
  const char *decider;
  const blis_decider_ops *decides; /* NULL: the decider of that name */
  const blis_router *prefill;      /* NULL: as the router of the site */
  blis_encode_stage stage;
} scene;

static const blis_engine_rules real_engine = {.leaves_at_step_end = true,
                                              .resumes_preempted = true,
                                              .counts_prompt_blocks = true,
                                              .recomputes_last_token = true,
                                              .drops_last_kv = true,
                                              .knows_cached_context = true};

/* So many instances of each role, and one transfer of 1,000 bytes/us. */
static inline void begin(scene *s, uint32_t prefills, uint32_t decodes, uint32_t both) {
  uint32_t count = prefills + decodes + both;
  site_init(&s->site, blis_alloc_heap(), count);
  s->decider = "always";
  s->policy = (blis_disaggregation){
      .bytes_per_us = 1000, .fabric_bytes_per_us = (double)INFINITY, .kv_limit = 1};
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].rules = real_engine;
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].kv_bytes_per_token = 100;
    s->facts[i].roles = i < prefills             ? BLIS_ROLE_PREFILL
                        : i < prefills + decodes ? BLIS_ROLE_DECODE
                                                 : BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE;
  }
  s->site.config.facts = s->facts;
}

/* As BLIS (Go) has it. */
static inline void make_go_blis(scene *s) {
  blis_disaggregation *p = &s->policy;
  p->ops = &blis_handoff_go_blis;
  p->on_no_room = BLIS_NO_ROOM_DROP;
  p->on_failure = BLIS_HANDOFF_FAILS;
  p->reserves_first = false;
  p->gives_first_token = false;
  p->moves_missing = false;
  p->overlap_portion = 0;
  p->timeout_us = 0;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].rules = (blis_engine_rules){0};
    s->site.instances[i].defects = blis_instance_go_blis;
  }
}

static inline void open_scene(scene *s) {
  blis_error error;
  blis_policy_context context = site_context(&s->site);
  blis_disaggregation policy = s->policy;
  blis_alloc heap = blis_alloc_heap();
  site_must_open(&s->site);
  if (s->prefill != NULL) {
    policy.prefill = *s->prefill;
  } else {
    CHECK_OK(blis_router_create(&heap, s->site.policy, NULL, &context, &policy.prefill, &error),
             &error);
  }
  if (s->decides != NULL) {
    policy.decider = (blis_decider){.ops = s->decides};
  } else {
    CHECK_OK(blis_decider_create(&heap, s->decider, NULL, &context, &policy.decider, &error),
             &error);
  }
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &policy, &error), &error);
  if (s->stage.rule != BLIS_ENCODES_NOBODY) {
    s->stage.chooses_only = s->policy.ops == &blis_handoff_go_blis;
    CHECK_OK(blis_cluster_set_encode_stage(s->site.cluster, &s->stage, &error), &error);
  }
}

static inline blis_handoff_counts counts_of(const scene *s) {
  blis_handoff_counts counts;
  blis_cluster_get_handoffs(s->site.cluster, &counts);
  return counts;
}

static inline void check_nothing_is_held(const scene *s) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    const blis_instance *instance = blis_cluster_instance(s->site.cluster, i);
    blis_instance_stats stats;
    blis_instance_get_stats(instance, &stats);
    CHECK_EQ_I64(stats.used_kv_blocks, 0);
    CHECK(blis_instance_check(instance));
    CHECK(blis_cluster_signal(s->site.cluster, i, BLIS_SIGNAL_IN_FLIGHT) == 0);
  }
}

static inline void add_equal(scene *s, size_t count, uint32_t prompt, uint32_t output) {
  site_add_requests(&s->site, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->arrival_us = 1000;
    r->prompt_tokens = prompt;
    r->output_tokens = output;
    r->max_output_tokens = output;
  }
}

static inline void add_one(scene *s, uint32_t prompt, uint32_t output) {
  add_equal(s, 1, prompt, output);
}

#endif
