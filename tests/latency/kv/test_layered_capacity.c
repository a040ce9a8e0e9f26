/* KV capacity of layered models against block counts of real engines. */
#include "latency/kv/layered_capacity.h"

#include <math.h>

#include "check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Shapes by the sizes that publishers state. */
typedef struct shape {
  int64_t layers, hidden, kv_heads, head_dim, vocabulary;
  blis_ffn ffn;
  blis_weight_kind experts_kind;
} shape;

static const shape LLAMA_34B = {48,
                                8192,
                                8,
                                128,
                                32000,
                                {.kind = BLIS_FFN_DENSE, .width = 22016, .matrices = 3},
                                BLIS_KIND_MODEL};
static const shape LLAMA_2_70B = {80,
                                  8192,
                                  8,
                                  128,
                                  32000,
                                  {.kind = BLIS_FFN_DENSE, .width = 28672, .matrices = 3},
                                  BLIS_KIND_MODEL};
static const shape LLAMA_8B = {32,
                               4096,
                               8,
                               128,
                               128256,
                               {.kind = BLIS_FFN_DENSE, .width = 14336, .matrices = 3},
                               BLIS_KIND_MODEL};
static const shape LLAMA_70B = {80,
                                8192,
                                8,
                                128,
                                128256,
                                {.kind = BLIS_FFN_DENSE, .width = 28672, .matrices = 3},
                                BLIS_KIND_MODEL};
static const shape MINIMAX = {62,
                              3072,
                              8,
                              128,
                              200064,
                              {.kind = BLIS_FFN_MOE,
                               .matrices = 3,
                               .experts = 256,
                               .experts_per_token = 8,
                               .expert_width = 1536},
                              BLIS_KIND_FP8_BLOCK};
static const shape QWEN_235B = {94,
                                4096,
                                4,
                                128,
                                151936,
                                {.kind = BLIS_FFN_MOE,
                                 .matrices = 3,
                                 .experts = 128,
                                 .experts_per_token = 8,
                                 .expert_width = 1536},
                                BLIS_KIND_FP8_BLOCK};

/* An engine as it was started, what the formula gives by hand, and what the engine reported. */
typedef struct example {
  const shape *model;
  double weight_gb; /* 1e9 bytes, all GPUs */
  double memory_gib, utilization;
  int64_t tp, step_tokens, sequences;
  double kv_bytes;
  double room_gib; /* by hand */
  int64_t blocks;
  int64_t measured; /* blocks of 16 tokens: vLLM logs, or from where requests began to wait */
} example;

/* Sources: logs of vLLM 0.14 and 0.15 (rows 1 to 3), runs of InferenceX and public logs of 2026. */
static const example EXAMPLES[] = {
    {&LLAMA_34B, 67.48, 79.19, 0.9, 2, 2048, 128, 2, 38.84, 26512, 26602},
    {&LLAMA_2_70B, 137.96, 79.19, 0.9, 4, 2048, 128, 2, 38.18, 31278, 31356},
    {&LLAMA_8B, 16.06, 23.52, 0.9, 1, 2048, 256, 2, 5.05, 2583, 2588},
    {&LLAMA_70B, 72.65, 139.81, 0.9, 1, 8192, 64, 1, 55.78, 22848, 22300},
    {&MINIMAX, 230.02, 178.35, 0.95, 2, 8192, 64, 2, 56.61, 29921, 30600},
    {&MINIMAX, 230.02, 178.35, 0.90, 2, 8192, 128, 1, 47.51, 50215, 50000},
    {&QWEN_235B, 236.39, 79.19, 0.9, 4, 8192, 1024, 2, 8.34, 11634, 11180},
};

static blis_layered_capacity capacity_of(const example *e) {
  blis_layer_run run = {.count = e->model->layers,
                        .layer = {.attention = {.kind = BLIS_ATTENTION_FULL,
                                                .heads = 64,
                                                .kv_heads = e->model->kv_heads,
                                                .head_dim = e->model->head_dim},
                                  .ffn = e->model->ffn}};
  run.layer.formats[BLIS_WEIGHT_EXPERTS].kind = e->model->experts_kind;
  blis_layered_capacity_config config = {
      .pages = {.runs = &run,
                .run_count = 1,
                .hidden_size = e->model->hidden,
                .widths = {.kv = e->kv_bytes, .model = 2, .state = 2},
                .tp = e->tp,
                .block_tokens = 16},
      .vocabulary = e->model->vocabulary,
      .weight_bytes = e->weight_gb * 1e9 / (double)e->tp,
      .memory_gib = e->memory_gib,
      .utilization = e->utilization,
      .step_tokens = e->step_tokens,
      .sequences = e->sequences};
  blis_layered_capacity c;
  blis_error error = {0};
  CHECK_OK(blis_layered_capacity_compute(&config, &c, &error), &error);
  return c;
}

static void test_examples(void) {
  for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
    const example *e = &EXAMPLES[i];
    blis_layered_capacity c = capacity_of(e);
    printf("# %zu: %.3f GiB, %lld blocks, by hand %.2f and %lld, measured %lld\n", i + 1,
           c.room_gib, (long long)c.blocks, e->room_gib, (long long)e->blocks,
           (long long)e->measured);
    CHECK(fabs(c.room_gib - e->room_gib) < 0.04);
    CHECK(fabs((double)c.blocks / (double)e->blocks - 1.0) < 0.004);
    CHECK(fabs((double)c.blocks / (double)e->measured - 1.0) < 0.05);
    CHECK_EQ_I64(c.logged_tokens, c.blocks * 16);
  }
}

/* Every term, worked out by hand for the third example. */
static void test_terms(void) {
  blis_layered_capacity c = capacity_of(&EXAMPLES[2]);
  const double gib = 1073741824.0;
  CHECK(fabs(c.memory_gib - 21.168) < 1e-9);
  CHECK(fabs(c.weights_gib - 16.06e9 / gib) < 1e-9);
  CHECK(fabs(c.activations_gib - 2.0 * 2048 * (4.0 * 4096 + 3.0 * 14336) / gib) < 1e-9);
  CHECK(fabs(c.logits_gib - 16.0 * 128256 * 256 / gib) < 1e-9);
  CHECK_EQ_DOUBLE(c.fixed_gib, 0.45);
  CHECK_EQ_DOUBLE(c.room_gib, c.memory_gib - c.weights_gib - c.activations_gib - c.logits_gib -
                                  c.fixed_gib - c.adapters_gib);
  CHECK_EQ_I64(c.pages.block_bytes, 2097152);
  CHECK_EQ_I64(c.blocks, (int64_t)(c.room_gib * gib / 2097152.0));
}

static void test_a_model_that_does_not_fit(void) {
  example e = EXAMPLES[1];
  e.tp = 1;
  blis_layered_capacity c = capacity_of(&e);
  CHECK(c.room_gib < 0.0);
  CHECK_EQ_I64(c.blocks, 0);
  CHECK_EQ_I64(c.logged_tokens, 0);
}

static void test_bad_configurations(void) {
  const blis_layer_run run = {1, {.attention = {.kind = BLIS_ATTENTION_NONE}}};
  const blis_layered_capacity_config valid = {
      .pages = {.runs = &run, .run_count = 1, .hidden_size = 8, .tp = 1, .block_tokens = 16},
      .memory_gib = 80,
      .utilization = 0.9};
  blis_layered_capacity c;
  blis_error error = {0};
  CHECK_OK(blis_layered_capacity_compute(&valid, &c, &error), &error);
  CHECK_EQ_I64(c.blocks, 0); /* nothing is cached */
  blis_layered_capacity_config bad = valid;
  bad.utilization = 1.5;
  CHECK_STATUS(blis_layered_capacity_compute(&bad, &c, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "utilization is 1.5; expected");
  bad = valid;
  bad.memory_gib = NAN;
  CHECK_STATUS(blis_layered_capacity_compute(&bad, &c, &error), BLIS_ERR_INVALID);
  bad = valid;
  bad.pages.block_tokens = 0;
  CHECK_STATUS(blis_layered_capacity_compute(&bad, &c, &error), BLIS_ERR_INVALID);
}

/* Experts of two matrices, beside a dense part, and the widest layer of several. */
static void test_the_widest_layer_counts(void) {
  const blis_ffn experts = {.kind = BLIS_FFN_MOE,
                            .matrices = 2,
                            .experts = 8,
                            .experts_per_token = 2,
                            .expert_width = 100};
  blis_ffn both = experts;
  both.kind = BLIS_FFN_MOE_DENSE;
  both.width = 1000;
  const blis_layer_run runs[] = {{1, {.ffn = experts}}, {1, {.ffn = both}}, {1, {.ffn = {0}}}};
  blis_layered_capacity_config config = {
      .pages = {.runs = runs, .run_count = 1, .hidden_size = 64, .tp = 2, .block_tokens = 16},
      .memory_gib = 80,
      .utilization = 0.9,
      .step_tokens = 1 << 20};
  const double step = 2.0 * (1 << 20) / 1073741824.0;
  blis_layered_capacity c;
  blis_error error = {0};
  CHECK_OK(blis_layered_capacity_compute(&config, &c, &error), &error);
  CHECK(fabs(c.activations_gib - step * (4 * 64 + 2 * (2 * 100 / 2 + 64))) < 1e-9);
  config.pages.run_count = COUNT_OF(runs);
  CHECK_OK(blis_layered_capacity_compute(&config, &c, &error), &error);
  CHECK(fabs(c.activations_gib - step * (4 * 64 + 2 * 1000 / 2)) < 1e-9);
  CHECK_EQ_DOUBLE(c.fixed_gib, 0.7);
}

int main(void) {
  RUN(test_examples);
  RUN(test_terms);
  RUN(test_a_model_that_does_not_fit);
  RUN(test_bad_configurations);
  RUN(test_the_widest_layer_counts);
  return check_done();
}
