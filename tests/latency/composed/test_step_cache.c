/* The cache of composed models: equal models, distinct hashes, the oldest leaves, no memory. */
#include "check.h"
#include "latency/composed/step_cache.h"

static blis_alloc heap;

static const blis__layer_work LAYER = {
    .count = 32,
    .attention = {{6144, 4096, BLIS_KIND_MODEL}},
    .attention_count = 1,
    .query_width = 4096,
    .kv_width = 1024,
    .kv_heads = 8,
    .kv_bytes = 4096,
    .prefill_width = 4096,
    .mlp = {{28672, 4096, BLIS_KIND_MODEL}},
    .mlp_count = 1,
};

static blis__composed_setup setup_of(const blis__layer_work *run) {
  blis__composed_setup setup = {
      .work = {.runs = run,
               .run_count = 1,
               .hidden = 4096,
               .head_width = 128256,
               .vocabulary = 128256,
               .activation_bytes = 2,
               .replicas = 1},
      .constants = {.bandwidth = 3.35e6,
                    .peak = 989.5e6,
                    .products = {{4.59, 0.8815, 0.8068, 5.152}},
                    .experts = {{26.6, 0.926, 0.5035, 1.455}},
                    .product_speedup = {1},
                    .expert_slowdown = {1},
                    .scales = {1, 1.25},
                    .engine_scale = 1,
                    .elementwise_efficiency = 0.6,
                    .kv_efficiency = 0.8,
                    .latent_efficiency = 0.55,
                    .prefill_efficiency = 0.8},
      .host = {.is_async = true, .fixed_us = 1500},
      .tokens_max = 1024,
      .requests_max = 64,
  };
  return setup;
}

static blis_latency_model model_of(const blis__composed_setup *setup) {
  blis_latency_model model;
  blis_error error = {0};
  CHECK_OK(blis__composed_new(&heap, setup, &model, &error), &error);
  return model;
}

static int64_t step_us(const blis_latency_model *model) {
  const blis_batch_sums sums = {.requests = 5, .decode_requests = 5, .decode_context_tokens = 9000};
  int64_t us = 0;
  CHECK(blis_latency_step_time_from_sums(model, &sums, &us));
  return us;
}

static void test_copies_equal_their_models(void) {
  blis_step_cache *cache = blis_step_cache_new(&heap);
  const blis__composed_setup setup = setup_of(&LAYER);
  uint64_t hash = blis__setup_hash(&setup, 0);
  CHECK(blis__step_cache_find(cache, hash) == NULL);
  blis_latency_model model = model_of(&setup);
  blis__step_cache_keep(cache, hash, &model);
  int64_t us = step_us(&model);
  blis_latency_free(&model);
  blis_latency_model copy;
  blis_error error = {0};
  const void *state = blis__step_cache_find(cache, hash);
  CHECK(state != NULL);
  CHECK_OK(blis__composed_copy(&heap, state, &copy, &error), &error);
  blis_step_cache_free(cache);
  CHECK_EQ_I64(step_us(&copy), us);
  blis_latency_free(&copy);
}

/* Every member that a model follows from changes the hash. */
static void test_hashes_differ(void) {
  uint64_t hashes[16];
  size_t count = 0;
  const blis__composed_setup setup = setup_of(&LAYER);
  hashes[count++] = blis__setup_hash(&setup, 0);
  CHECK(blis__setup_hash(&setup, 0) == hashes[0]);
  hashes[count++] = blis__setup_hash(&setup, 1);
#define CHANGED(member, value)                                                                     \
  do {                                                                                             \
    blis__composed_setup other = setup;                                                            \
    other.member = (value);                                                                        \
    hashes[count++] = blis__setup_hash(&other, 0);                                                 \
  } while (0)
  CHANGED(tokens_max, 2048);
  CHANGED(requests_max, 65);
  CHANGED(host.is_async, false);
  CHANGED(front.first_token.delay_us, 7);
  CHANGED(constants.launch_bound_us, 7);
  CHANGED(constants.products[3].t0_us, 7);
  CHANGED(constants.expert_kind[3], BLIS_KIND_FP8);
  CHANGED(constants.allreduce.count, 2);
  CHANGED(work.has_experts, true);
  blis__layer_work other = LAYER;
  other.mlp[0].format = BLIS_KIND_FP8;
  const blis__composed_setup fp8 = setup_of(&other);
  hashes[count++] = blis__setup_hash(&fp8, 0);
  blis__layer_work window = LAYER;
  window.window = 128;
  const blis__composed_setup windowed = setup_of(&window);
  hashes[count++] = blis__setup_hash(&windowed, 0);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      CHECK(hashes[i] != hashes[j]);
    }
  }
}

static void test_the_oldest_leaves(void) {
  blis_step_cache *cache = blis_step_cache_new(&heap);
  const blis__composed_setup setup = setup_of(&LAYER);
  blis_latency_model model = model_of(&setup);
  for (uint64_t hash = 1; hash <= BLIS__STEP_CACHE_SIZE + 1; hash++) {
    blis__step_cache_keep(cache, hash, &model);
  }
  CHECK(blis__step_cache_find(cache, 1) == NULL);
  CHECK(blis__step_cache_find(cache, 2) != NULL);
  CHECK(blis__step_cache_find(cache, BLIS__STEP_CACHE_SIZE + 1) != NULL);
  blis__step_cache_keep(NULL, 1, &model);
  CHECK(blis__step_cache_find(NULL, 1) == NULL);
  blis_latency_free(&model);
  blis_step_cache_free(cache);
  blis_step_cache_free(NULL);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_copies_equal_their_models);
  RUN(test_hashes_differ);
  RUN(test_the_oldest_leaves);
  return check_done();
}
