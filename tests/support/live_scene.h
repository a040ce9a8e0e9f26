/* live_scene.h - a live desk (live/desk.h) with a cluster and its clients, in virtual time. */
#ifndef BLIS_TESTS_LIVE_SCENE_H
#define BLIS_TESTS_LIVE_SCENE_H

#include "base/time.h"
#include "cluster_fixture.h"
#include "live/desk.h"

static const char *const scene_models[] = {"m"};

/* A desk, its cluster, and its clients. */
typedef struct scene {
  site s; /* only its latency model, records, and instances */
  blis_live_desk *desk;
  blis_request_source source;
  blis_live_ask ask;
  blis_live_choice *choices[BLIS_LIVE_CHOICES_MAX];
  size_t count;
  int64_t changes;
  int64_t over;
} scene;

static inline void scene_changed(void *ud, blis_live_choice *choice) {
  scene *sc = ud;
  CHECK(choice->call == sc);
  sc->changes++;
  sc->over += choice->is_over;
}

/* What differs between scenes. */
typedef struct scene_options {
  uint32_t instances;
  blis_live_flavor flavor;
  blis_live_kv_format kv_format;
  blis_live_kv_publisher publisher;
  int64_t kv_blocks; /* of an instance; 0 = the number of a site */
  double pull_bytes_per_us;
  int64_t pull_latency_us;
} scene_options;

static inline void open_scene_with(scene *sc, const scene_options *options) {
  uint32_t instances = options->instances;
  static const uint32_t lengths[] = {4, 9};
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  *sc = (scene){.count = 0};
  site_init(&sc->s, heap, instances);
  for (uint32_t i = 0; i < instances; i++) {
    sc->s.instances[i].rules = (blis_engine_rules){.leaves_at_step_end = true,
                                                   .resumes_preempted = true,
                                                   .recomputes_last_token = true,
                                                   .drops_last_kv = true};
    if (options->kv_blocks > 0) {
      sc->s.instances[i].kv_blocks = options->kv_blocks;
    }
  }
  const blis_live_desk_config config = {.limits = {.vocabulary = 128256,
                                                   .max_model_len = 5000,
                                                   .models = scene_models,
                                                   .model_count = 1},
                                        .block_tokens = 16,
                                        .seed = 1,
                                        .lengths = lengths,
                                        .length_count = 2,
                                        .instance_count = instances,
                                        .flavor = options->flavor,
                                        .kv_format = options->kv_format,
                                        .pull_bytes_per_us = options->pull_bytes_per_us,
                                        .pull_latency_us = options->pull_latency_us};
  CHECK_OK(blis_live_desk_new(&heap, &config, &sc->desk, &error), &error);
  blis_live_ask_init(&sc->ask, &heap);
  blis_router router = {0};
  blis_policy_context context = site_context(&sc->s);
  CHECK_OK(blis_router_create(&heap, "round-robin", NULL, &context, &router, &error), &error);
  CHECK_OK(site_prepare(&sc->s, &error), &error);
  sc->source = blis_live_desk_source(sc->desk);
  sc->s.config.options[BLIS_FEATURE_TOKENS] = blis_live_desk_sink(sc->desk);
  sc->s.config.options[BLIS_FEATURE_ANNOUNCEMENTS] = blis_live_desk_blocks(sc->desk);
  sc->s.config.options[BLIS_FEATURE_PULLS] = blis_live_desk_pulls(sc->desk);
  sc->s.config.steps = blis_live_desk_steps(sc->desk, NULL);
  CHECK_OK(blis_cluster_new(&heap, &sc->s.config, &router, &sc->source,
                            blis_recorder_sink(sc->s.recorder), &sc->s.itl_us, &sc->s.cluster,
                            &error),
           &error);
  blis_live_desk_open(
      sc->desk, sc->s.cluster,
      &(blis_live_caller){.ud = sc, .changed = scene_changed, .publisher = options->publisher});
}

static inline void open_scene_of(scene *sc, uint32_t instances, blis_live_flavor flavor) {
  open_scene_with(sc, &(scene_options){.instances = instances, .flavor = flavor});
}

static inline void open_scene(scene *sc, uint32_t instances) {
  open_scene_of(sc, instances, BLIS_LIVE_VLLM);
}

static inline void close_scene(scene *sc) {
  site_deinit(&sc->s);
  blis_live_desk_free(sc->desk);
  blis_live_ask_deinit(&sc->ask);
}

static inline void submit(scene *sc, blis_live_api api, const char *body, int64_t instance) {
  blis_error error;
  blis_live_refusal refusal;
  size_t count;
  CHECK(blis_live_ask_read(&sc->ask, api, blis_live_desk_limits(sc->desk), blis_slice_of(body),
                           &refusal));
  const blis_live_submission submission = {.ask = &sc->ask, .call = sc, .instance = instance};
  CHECK_OK(blis_live_desk_submit(sc->desk, &submission, sc->choices + sc->count, &count, &error),
           &error);
  sc->count += count;
}

static inline void advance(scene *sc, int64_t now_us) {
  blis_error error;
  CHECK_OK(blis_live_desk_advance(sc->desk, now_us, &error), &error);
}

static inline void close_all(scene *sc) {
  blis_error error;
  for (size_t i = 0; i < sc->count; i++) {
    CHECK_OK(blis_live_desk_close_choice(sc->desk, sc->choices[i], &error), &error);
  }
  sc->count = 0;
}

#endif
