/* The work of one GPU: shapes of public models by hand, formats, and properties of random layers.
 */
#include "latency/composed/shard.h"

#include <math.h>

#include "base/random.h"
#include "check.h"

static blis_alloc heap;

static blis__step_work work_of(const blis__sharding *sharding) {
  blis__step_work work = {0};
  blis_error error = {0};
  CHECK_OK(blis__work_new(&heap, sharding, &work, &error), &error);
  return work;
}

static blis__sharding sharding_of(const blis_layer_run *runs, size_t count, int64_t hidden,
                                  int64_t vocabulary, int64_t tp) {
  return (blis__sharding){.runs = runs,
                          .run_count = count,
                          .hidden_size = hidden,
                          .vocab_size = vocabulary,
                          .widths = {.kv = 2, .model = 2, .state = 4},
                          .tp = tp,
                          .replicas = 1};
}

static void check_product(const blis__matrix *got, double n, double k, blis_weight_kind kind) {
  CHECK_EQ_DOUBLE(got->n, n);
  CHECK_EQ_DOUBLE(got->k, k);
  CHECK(got->format == kind);
}

/* Qwen3-32B on two GPUs. */
static void test_dense_model(void) {
  const blis_layer_run run = {
      64,
      {.attention = {.kind = BLIS_ATTENTION_FULL, .heads = 64, .kv_heads = 8, .head_dim = 128},
       .ffn = {BLIS_FFN_DENSE, 25600, 3}}};
  blis__sharding sharding = sharding_of(&run, 1, 5120, 151936, 2);
  blis__step_work work = work_of(&sharding);
  const blis__layer_work *w = &work.runs[0];
  CHECK(work.run_count == 1 && w->count == 64 && w->is_sharded && !work.has_experts);
  CHECK(w->attention_count == 2 && w->mlp_count == 2);
  check_product(&w->attention[0], 5120, 5120, BLIS_KIND_MODEL);
  check_product(&w->attention[1], 5120, 4096, BLIS_KIND_MODEL);
  check_product(&w->mlp[0], 25600, 5120, BLIS_KIND_MODEL);
  check_product(&w->mlp[1], 5120, 12800, BLIS_KIND_MODEL);
  CHECK(w->kv_heads == 4 && w->kv_width == 512 && w->kv_bytes == 2048);
  CHECK(w->query_width == 4096 && w->prefill_width == 4096 && w->mlp_width == 12800);
  CHECK(work.head_width == 75968 && work.vocabulary == 151936);
  blis__work_free(&heap, &work);

  /* Sixteen GPUs: a KV head on each. */
  sharding.tp = 16;
  work = work_of(&sharding);
  CHECK(work.runs[0].kv_heads == 1);
  check_product(&work.runs[0].attention[0], 4 * 128 + 2 * 128, 5120, BLIS_KIND_MODEL);
  blis__work_free(&heap, &work);
}

/* MiniMax-M2.5 in block FP8 on four GPUs, by width and by expert. */
static void test_experts(void) {
  const blis_weight_format block = {BLIS_KIND_FP8_BLOCK, 1};
  blis_layer_run run = {
      62,
      {.attention = {.kind = BLIS_ATTENTION_FULL, .heads = 48, .kv_heads = 8, .head_dim = 128},
       .ffn = {.kind = BLIS_FFN_MOE,
               .matrices = 3,
               .experts = 256,
               .experts_per_token = 8,
               .expert_width = 1536},
       .formats = {block, block, {0}, {0}, block, block, block}}};
  blis__sharding sharding = sharding_of(&run, 1, 3072, 200064, 4);
  blis__step_work work = work_of(&sharding);
  const blis__layer_work *w = &work.runs[0];
  check_product(&w->attention[0], 2048, 3072, BLIS_KIND_FP8_BLOCK);
  check_product(&w->attention[1], 3072, 1536, BLIS_KIND_FP8_BLOCK);
  CHECK(w->mlp_count == 0 && w->mlp_width == 0 && work.has_experts);
  CHECK(w->experts.width == 384 && w->experts.local == 256 && w->experts.hidden == 3072);
  CHECK(w->expert_format == BLIS_KIND_FP8_BLOCK);
  CHECK(blis__work_mlp_kind(&work) == BLIS_KIND_FP8_BLOCK);
  CHECK(blis__work_attention_kind(&work) == BLIS_KIND_FP8_BLOCK);
  blis__work_free(&heap, &work);

  sharding.has_expert_parallel = true;
  work = work_of(&sharding);
  CHECK(work.runs[0].experts.width == 1536 && work.runs[0].experts.local == 64);
  blis__work_free(&heap, &work);

  run.layer.ffn.experts_per_token = 0;
  blis_error error = {0};
  CHECK_STATUS(blis__work_new(&heap, &sharding, &work, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "uses 0 of 256 experts; expected 1 to 256");
}

/* DeepSeek-V3 on eight GPUs: latent attention, dense and shared feed-forward layers. */
static void test_latent_attention(void) {
  const blis_attention latent = {.kind = BLIS_ATTENTION_LATENT,
                                 .heads = 128,
                                 .value_head_dim = 128,
                                 .query_rank = 1536,
                                 .kv_rank = 512,
                                 .rope_dim = 64,
                                 .nope_dim = 128};
  const blis_layer_run runs[] = {{3, {.attention = latent, .ffn = {BLIS_FFN_DENSE, 18432, 3}}},
                                 {58,
                                  {.attention = latent,
                                   .ffn = {.kind = BLIS_FFN_MOE,
                                           .matrices = 3,
                                           .experts = 256,
                                           .experts_per_token = 8,
                                           .expert_width = 2048,
                                           .shared_width = 2048}}}};
  blis__sharding sharding = sharding_of(runs, 2, 7168, 129280, 8);
  blis__step_work work = work_of(&sharding);
  const blis__layer_work *w = &work.runs[1];
  CHECK(w->attention_count == 5);
  check_product(&w->attention[0], 1536 + 512 + 64, 7168, BLIS_KIND_MODEL);
  check_product(&w->attention[1], 16 * 192, 1536, BLIS_KIND_MODEL);
  check_product(&w->attention[2], 16 * 512, 128, BLIS_KIND_MODEL);
  check_product(&w->attention[3], 16 * 128, 512, BLIS_KIND_MODEL);
  check_product(&w->attention[4], 7168, 16 * 128, BLIS_KIND_MODEL);
  CHECK(w->kv_bytes == 1152 && w->kv_heads == 8 && w->latent_flops == 2 * 16 * (2 * 512 + 64));
  CHECK(w->prefill_width == 16 * (128 + 64 + 128) / 2.0);
  CHECK(w->mlp_count == 2 && work.runs[0].experts.experts == 0 && work.runs[0].mlp_width == 0);
  check_product(&w->mlp[0], 512, 7168, BLIS_KIND_MODEL);
  check_product(&work.runs[0].mlp[0], 2 * 18432 / 8.0, 7168, BLIS_KIND_MODEL);
  blis__work_free(&heap, &work);
}

/* Windows, chunks, and layers with a state (gpt-oss, Llama 4, Qwen3-Next). */
static void test_other_layers(void) {
  const blis_layer_run runs[] = {
      {18,
       {.attention = {.kind = BLIS_ATTENTION_WINDOW,
                      .span = 128,
                      .heads = 64,
                      .kv_heads = 8,
                      .head_dim = 64}}},
      {36,
       {.attention = {.kind = BLIS_ATTENTION_CHUNK,
                      .span = 8192,
                      .heads = 40,
                      .kv_heads = 8,
                      .head_dim = 128}}},
      {36,
       {.attention = {.kind = BLIS_ATTENTION_GDN,
                      .key_heads = 16,
                      .key_dim = 128,
                      .value_heads = 32,
                      .value_dim = 128,
                      .conv_kernel = 4}}},
      {1, {.attention = {.kind = BLIS_ATTENTION_NONE}}},
  };
  blis__sharding sharding = sharding_of(runs, 4, 2048, 1000, 1);
  blis__step_work work = work_of(&sharding);
  CHECK(work.runs[0].window == 128 && work.runs[0].prefill_width == 4096 * 1.3);
  CHECK(work.runs[1].window == 8192 && work.runs[1].prefill_width == 5120);
  const blis__layer_work *linear = &work.runs[2];
  CHECK(linear->kv_heads == 0 && linear->kv_bytes == 0 && linear->attention_count == 2);
  check_product(&linear->attention[0], 2 * 2048 + 2 * 4096, 2048, BLIS_KIND_MODEL);
  check_product(&linear->attention[1], 2048, 4096, BLIS_KIND_MODEL);
  CHECK(linear->state_bytes == 2 * (3.0 * (2 * 2048 + 4096) * 2 + 4096.0 * 128 * 4));
  CHECK(work.runs[3].attention_count == 0 && work.runs[3].kv_heads == 0);
  blis__work_free(&heap, &work);
}

/* DeepSeek-V3.2: 2048 tokens of the context, and the keys of the indexer for all of it. */
static void test_sparse_attention(void) {
  const blis_layer_run run = {61,
                              {.attention = {.kind = BLIS_ATTENTION_LATENT,
                                             .heads = 128,
                                             .value_head_dim = 128,
                                             .query_rank = 1536,
                                             .kv_rank = 512,
                                             .rope_dim = 64,
                                             .nope_dim = 128,
                                             .index_heads = 64,
                                             .index_dim = 128,
                                             .attended_tokens = 2048}}};
  blis__sharding sharding = sharding_of(&run, 1, 7168, 129280, 8);
  blis__step_work work = work_of(&sharding);
  CHECK(work.runs[0].window == 2048 && work.runs[0].kv_bytes == 1152);
  CHECK(work.runs[0].index_bytes == 128 + 4);
  blis__work_free(&heap, &work);
}

static void test_faults(void) {
  blis__sharding none = sharding_of(NULL, 0, 4096, 1000, 1);
  blis__step_work work = {0};
  blis_error error = {0};
  CHECK_STATUS(blis__work_new(&heap, &none, &work, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "needs layers, a hidden size, and a vocabulary size");
  blis__work_free(&heap, &work);
}

static double product_weights(const blis__layer_work *run) {
  double sum = 3 * run->experts.local * run->experts.width * run->experts.hidden;
  for (size_t i = 0; i < run->attention_count; i++) {
    sum += run->attention[i].n * run->attention[i].k;
  }
  for (size_t i = 0; i < run->mlp_count; i++) {
    sum += run->mlp[i].n * run->mlp[i].k;
  }
  return sum;
}

/* Products of one GPU hold all weights of a layer but the small ones. */
static void test_products_hold_all_weights(void) {
  blis_random random;
  blis_random_init(&random, 20261129);
  for (int i = 0; i < 3000; i++) {
    blis_attention attention = {
        .kind = (blis_attention_kind)blis_random_intn(&random, BLIS_ATTENTION_KIND_COUNT),
        .span = 128,
        .heads = 16,
        .kv_heads = 1 + blis_random_intn(&random, 16),
        .head_dim = 32 * (1 + blis_random_intn(&random, 5)),
        .key_heads = 4,
        .key_dim = 64,
        .value_heads = 8,
        .value_dim = 64,
        .state_size = 16,
        .state_groups = 2,
        .time_rank = 24,
        .conv_kernel = 4,
        .ratio = 4,
        .output_rank = 96,
        .output_groups = 2,
        .query_rank = blis_random_intn(&random, 2) * 256,
        .kv_rank = 192,
        .rope_dim = 64,
        .nope_dim = 128,
        .gate_width = blis_random_intn(&random, 2) * 320};
    blis_ffn ffn = {.kind = (blis_ffn_kind)blis_random_intn(&random, BLIS_FFN_KIND_COUNT),
                    .width = 3000,
                    .matrices = 2 + blis_random_intn(&random, 2),
                    .experts = 32,
                    .experts_per_token = 2,
                    .expert_width = 720,
                    .shared_width = blis_random_intn(&random, 2) * 500};
    bool has_experts = ffn.kind == BLIS_FFN_MOE || ffn.kind == BLIS_FFN_MOE_DENSE;
    ffn.experts = has_experts ? ffn.experts : 0;
    blis_layer_run run = {1, {.attention = attention, .ffn = ffn}};
    blis__sharding sharding = sharding_of(&run, 1, 1100, 1000, 1);
    blis__step_work work = work_of(&sharding);
    blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
    size_t count = blis_layer_matrices(&run.layer, 1100, matrices);
    double expected = 0;
    for (size_t j = 0; j < count; j++) {
      expected +=
          matrices[j].is_small ? 0 : matrices[j].copies * matrices[j].rows * matrices[j].columns;
    }
    CHECK(fabs(product_weights(&work.runs[0]) - expected) <= 1e-9 * expected);
    blis__work_free(&heap, &work);

    /* Two GPUs hold at least as much together, and each has less than one alone. */
    sharding.tp = 2;
    sharding.has_expert_parallel = i % 2 == 0;
    work = work_of(&sharding);
    double of_one = product_weights(&work.runs[0]);
    CHECK(2 * of_one >= expected * (1 - 1e-9) && of_one <= expected);
    blis__work_free(&heap, &work);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_dense_model);
  RUN(test_experts);
  RUN(test_latent_attention);
  RUN(test_other_layers);
  RUN(test_sparse_attention);
  RUN(test_faults);
  RUN(test_products_hold_all_weights);
  return check_done();
}
