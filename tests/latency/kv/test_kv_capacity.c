/* KV capacity of the shipped models, worked out by hand. */
#include "latency/kv/kv_capacity.h"

#include <math.h>

#include "latency_fixture.h"

static blis_alloc heap;
static blis_catalogue *catalogue;

static blis_status compute(const char *model, const char *gpu, int64_t tp,
                           blis_kv_capacity *capacity, blis_error *error) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_kv_capacity_config config = {.model = &spec,
                                    .hardware = &hardware,
                                    .tp = tp,
                                    .dp = 1,
                                    .block_size_tokens = 16,
                                    .memory_utilization = 0.9};
  return blis_kv_capacity_compute(&config, capacity, error);
}

static void test_every_step_of_the_calculation(void) {
  blis_kv_capacity c;
  blis_error error = {0};
  CHECK_OK(compute("llama-3.1-8b-instruct", "H100", 1, &c, &error), &error);
  CHECK_EQ_DOUBLE(c.bytes_per_token, 131072.0);
  CHECK_EQ_I64(c.bytes_per_block, 2097152);
  CHECK_EQ_I64(c.params, 8030261248);
  CHECK_EQ_I64(c.weight_bytes, 16060522496);
  CHECK_EQ_I64(c.allocatable_bytes, 55182247526);
  CHECK_EQ_DOUBLE(c.weights_gib, 14.957527160644531);
  CHECK_EQ_DOUBLE(c.memory_gib, 72.0);
  CHECK_EQ_DOUBLE(c.overhead_gib, 20.60752716064453);
  CHECK_EQ_I64(c.blocks, 26312);
  CHECK_OK(compute("llama-3.1-8b-instruct", "H100", 2, &c, &error), &error);
  CHECK_EQ_DOUBLE(c.bytes_per_token, 65536.0);
  CHECK_EQ_DOUBLE(c.memory_gib, 144.0);
  CHECK_EQ_DOUBLE(c.overhead_gib, 21.65752716064453);
  CHECK_EQ_I64(c.allocatable_bytes, 131364229939);
  CHECK_OK(compute("qwen3-14b", "H100", 1, &c, &error), &error);
  CHECK_EQ_I64(c.weight_bytes, 29536593920);
  CHECK_EQ_DOUBLE(c.overhead_gib, 33.15809669494629);
}

static void test_blocks_of_the_shipped_models(void) {
  static const struct {
    const char *model;
    const char *gpu;
    int64_t blocks[4]; /* TP 1, 2, 4, 8; 0 = does not fit */
  } CASES[] = {
      {"llama-3.1-8b-instruct", "H100", {26312, 125278, 543011, 2255841}},
      {"llama-3.1-8b-instruct", "A100-80", {26312, 125278, 543011, 2255841}},
      {"llama-3.1-8b-instruct", "L40S", {11567, 66296, 307082, 1312122}},
      {"qwen3-14b", "H100", {15909, 89941, 413846, 1763547}},
      {"qwen3-14b", "L40S", {4113, 42755, 225102, 1008572}},
      {"codellama-34b-instruct-hf", "H100", {1193, 50822, 296614, 1373107}},
      {"deepseek-v2-lite", "H100", {74312, 227391, 535491, 1151692}},
      {"llama-2-7b-hf", "H100", {6886, 31935, 136984, 566424}},
      {"llama-3.1-70b-instruct", "H100", {0, 2409, 121801, 711530}},
      {"llama-4-scout-17b-16e-instruct-fp8-dynamic", "H100", {0, 27345, 249660, 1279198}},
      {"mistral-nemo-instruct-2407", "H100", {17512, 93147, 420258, 1776371}},
      {"mixtral-8x7b-v0.1", "H100", {0, 48956, 390367, 1950553}},
      {"qwen2.5-7b-instruct", "H100", {61048, 288159, 1244786, 5163441}},
      {"qwen3-30b-a3b", "H100", {5276, 107423, 604786, 2769330}},
      {"yi-34b", "H100", {626, 40001, 235979, 1095861}},
      {"glm-5.2-fp8", "H100", {0, 0, 0, 0}},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    for (int j = 0; j < 4; j++) {
      blis_kv_capacity c = {0};
      blis_error error = {0};
      blis_status status = compute(CASES[i].model, CASES[i].gpu, INT64_C(1) << j, &c, &error);
      CHECK_STATUS(status, CASES[i].blocks[j] == 0 ? BLIS_ERR_INVALID : BLIS_OK);
      if (status == BLIS_OK) {
        CHECK_EQ_I64(c.blocks, CASES[i].blocks[j]);
      }
    }
  }
}

static void test_what_does_not_fit_says_how_many_gpus_it_needs(void) {
  blis_kv_capacity c;
  blis_error error = {0};
  CHECK_STATUS(compute("glm-5.2-fp8", "H100", 8, &c, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "at least 10 GPUs");
  CHECK_CONTAINS(error.message, "80 GiB per GPU x 0.9 utilization x 8 GPUs");
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec hardware = {.name = "tiny", .memory_gib = 0.5};
  blis_kv_capacity_config config = {.model = &spec,
                                    .hardware = &hardware,
                                    .tp = 1,
                                    .dp = 1,
                                    .block_size_tokens = 16,
                                    .memory_utilization = 0.9};
  CHECK_STATUS(blis_kv_capacity_compute(&config, &c, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "no number of GPUs suffices");
}

static void test_data_parallel_and_reserved_memory(void) {
  blis_model_spec spec = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_kv_capacity_config config = {.model = &spec,
                                    .hardware = &hardware,
                                    .tp = 2,
                                    .dp = 3,
                                    .block_size_tokens = 16,
                                    .memory_utilization = 0.9};
  blis_kv_capacity c;
  blis_error error = {0};
  CHECK_OK(blis_kv_capacity_compute(&config, &c, &error), &error);
  CHECK_EQ_I64(c.blocks, 3 * 48956);
  config.is_per_gpu = true;
  config.dp = 1;
  CHECK_OK(blis_kv_capacity_compute(&config, &c, &error), &error);
  CHECK_EQ_DOUBLE(c.activations_gib, 8.0 + 5.5);
  CHECK_EQ_I64(c.blocks, (48956 - (int64_t)(5.5 * 1024)) / 2);
  config.is_per_gpu = false;
  config.reserved_bytes = INT64_C(1) << 30;
  CHECK_OK(blis_kv_capacity_compute(&config, &c, &error), &error);
  CHECK_EQ_DOUBLE(c.reserved_gib, 1.0);
  CHECK_EQ_I64(c.blocks, 48956 - (1 << 30) / c.bytes_per_block);
}

/* What is left of 72 GiB on each GPU after its share of 27.51 GiB of weights
   and 5.5 GiB of activations, at 160 KiB per token over all of them. */
static void test_one_gpu_by_hand(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  spec.counts_as_built = true;
  for (int64_t tp = 1; tp <= 8; tp *= 2) {
    blis_kv_capacity_config config = {.model = &spec,
                                      .hardware = &hardware,
                                      .tp = tp,
                                      .dp = 1,
                                      .block_size_tokens = 16,
                                      .memory_utilization = 0.9,
                                      .is_per_gpu = true};
    blis_kv_capacity c;
    blis_error error = {0};
    CHECK_OK(blis_kv_capacity_compute(&config, &c, &error), &error);
    double gib = 72.0 - 27.51 / (double)tp - 5.5;
    double tokens = gib * 1024 * 1024 / (160.0 / (double)tp);
    double got = (double)c.blocks * 16.0;
    printf("# TP %" PRId64 ": %.0f tokens, by hand %.0f (%+.1f %%)\n", tp, got, tokens,
           (got / tokens - 1) * 100);
    CHECK(fabs(got / tokens - 1) < 0.03);
  }
}

/* 48 layers with 32 heads of 128 on a hidden size of 2048: 2 * 2048 * 2048
   more weights each than square projections have. */
static void test_projections_as_wide_as_heads(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-30b-a3b");
  int64_t square = 0;
  int64_t wide = 0;
  blis_error error = {0};
  CHECK_OK(blis_model_params(&spec, &square, &error), &error);
  spec.counts_as_built = true;
  CHECK_OK(blis_model_params(&spec, &wide, &error), &error);
  CHECK_EQ_I64(wide - square, INT64_C(48) * 2 * 2048 * 2048);
  CHECK(fabs((double)wide * 2 / 0x1p30 - 56.87) < 0.01);
}

static void test_every_gpu_has_a_kv_head(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-30b-a3b");
  double few = 0;
  double whole = 0;
  blis_error error = {0};
  CHECK_EQ_I64(spec.kv_heads, 4);
  CHECK_OK(blis_kv_bytes_per_token(&spec, 8, &few, &error), &error);
  spec.counts_as_built = true;
  CHECK_OK(blis_kv_bytes_per_token(&spec, 8, &whole, &error), &error);
  CHECK_EQ_DOUBLE(whole, 2 * few);
}

/* Experts of qwen3-30b-a3b: 48 layers * 128 * 3 * 2,048 * 768 * 2 B = 54 GiB,
   of which a replica or rank of four has a quarter. */
static void test_experts_lie_on_all_replicas(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-30b-a3b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_kv_capacity_config config = {.model = &spec,
                                    .hardware = &hardware,
                                    .tp = 1,
                                    .dp = 1,
                                    .block_size_tokens = 16,
                                    .memory_utilization = 0.9,
                                    .is_per_gpu = true};
  blis_kv_capacity alone, rank, replicas, go;
  blis_error error = {0};
  CHECK_OK(blis_kv_capacity_compute(&config, &alone, &error), &error);
  config.ranks = 4;
  CHECK_OK(blis_kv_capacity_compute(&config, &rank, &error), &error);
  CHECK_EQ_DOUBLE(rank.weights_gib, alone.weights_gib - 54.0 * 0.75);
  CHECK(rank.blocks > 5 * alone.blocks);
  config.ranks = 0;
  config.dp = 4;
  CHECK_OK(blis_kv_capacity_compute(&config, &replicas, &error), &error);
  CHECK_EQ_I64(replicas.blocks, 4 * rank.blocks);
  config.is_per_gpu = false;
  CHECK_OK(blis_kv_capacity_compute(&config, &go, &error), &error);
  CHECK_EQ_I64(go.blocks, 4 * alone.blocks);
}

static void check_refused(const blis_kv_capacity_config *config, const char *part) {
  blis_kv_capacity c;
  blis_error error = {0};
  CHECK_STATUS(blis_kv_capacity_compute(config, &c, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, part);
}

static void test_bad_input_is_named(void) {
  blis_model_spec good = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  blis_model_spec model = good;
  blis_hardware_spec hardware = h100;
  const blis_kv_capacity_config valid = {.model = &model,
                                         .hardware = &hardware,
                                         .tp = 1,
                                         .dp = 1,
                                         .block_size_tokens = 16,
                                         .memory_utilization = 0.9};
  blis_kv_capacity_config config = valid;
  config.memory_utilization = 1.5;
  check_refused(&config, "got 1.5");
  config = valid;
  config.block_size_tokens = 0;
  check_refused(&config, "block size");
  config = valid;
  config.tp = 0;
  check_refused(&config, "tp must be");
  config = valid;
  config.tp = 3;
  check_refused(&config, "kv_heads (8)");
  hardware.memory_gib = 0.0;
  check_refused(&valid, "hardware H100: memory_gib");
  hardware = h100;
  model.vocab_size = 0;
  check_refused(&valid, "vocab_size is missing");
  model = good;
  model.experts_unknown = true;
  check_refused(&valid, "--total-kv-blocks");
  model = good;
  (void)snprintf(model.activation, sizeof model.activation, "abs");
  check_refused(&valid, "activation 'abs'");
  model = good;
  model.head_dim = 0;
  model.hidden_size = 5121;
  check_refused(&valid, "hidden_size (5121)");
  model = good;
  model.layers = INT32_MAX;
  model.hidden_size = INT32_MAX;
  check_refused(&valid, "many weights to count");
}

static void test_longest_sequence(void) {
  CHECK_EQ_I64(blis_kv_limit_model_tokens(0, 10, 16), 0);
  CHECK_EQ_I64(blis_kv_limit_model_tokens(160, 10, 16), 160);
  CHECK_EQ_I64(blis_kv_limit_model_tokens(159, 10, 16), 159);
  CHECK_EQ_I64(blis_kv_limit_model_tokens(161, 10, 16), 160);
  CHECK_EQ_I64(blis_kv_limit_model_tokens(INT64_MAX, 10, 16), 160);
}

int main(void) {
  heap = blis_alloc_heap();
  catalogue = fixture_catalogue(&heap);
  RUN(test_every_step_of_the_calculation);
  RUN(test_blocks_of_the_shipped_models);
  RUN(test_what_does_not_fit_says_how_many_gpus_it_needs);
  RUN(test_data_parallel_and_reserved_memory);
  RUN(test_one_gpu_by_hand);
  RUN(test_projections_as_wide_as_heads);
  RUN(test_every_gpu_has_a_kv_head);
  RUN(test_experts_lie_on_all_replicas);
  RUN(test_bad_input_is_named);
  RUN(test_longest_sequence);
  blis_catalogue_free(catalogue);
  return check_done();
}
