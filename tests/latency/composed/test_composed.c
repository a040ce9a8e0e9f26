/* Steps of the composed model: worked examples, sums against items, monotony, and decode runs. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "latency/composed/composed.h"
#include "latency/composed/knots.h"

static blis_alloc heap;

static const double TP2[] = {4.27, 4.25, 4.23, 4.22, 4.35, 4.36, 4.41, 4.41, 4.52, 4.75,
                             5.16, 6.29, 8.3,  12.4, 20.2, 45.5, 82.3, 158,  247,  465};
static const double TP4[] = {4.58, 4.51, 4.52, 4.53, 4.65, 4.77, 4.86, 4.85, 5.23, 5.83,
                             7.12, 11.2, 12.6, 18.5, 30.4, 53.2, 98.8, 174,  325,  616};

static blis__allreduce measured(const double *times_us) {
  blis__allreduce reduce = {.count = 20};
  memcpy(reduce.times_us, times_us, 20 * sizeof *times_us);
  return reduce;
}

static const blis__composed_constants HOPPER = {
    .bandwidth = 3.35e6,
    .peak = 989.5e6,
    .products = {{4.59, 0.8815, 0.8068, 5.152},
                 {5.82, 0.9012, 0.6310, 1.707},
                 {15.59, 0.8069, 0.5111, 20}},
    .experts = {{26.6, 0.926, 0.5035, 1.455},
                {31.3, 0.921, 0.5227, 1.115},
                {43.62, 0.9216, 0.2723, 1.5115},
                [BLIS_KIND_MXFP4] = {63.44, 0.6475, 0.6396, 1}},
    .product_speedup = {1, 2, 2, 1, 1, 4, 1, 1},
    .expert_slowdown = {1, 1, 1, 1, 1, 1, 1, 1},
    .expert_kind = {0, 1, 2, 3, 4, 5, 6, 7},
    .scales = {1.003, 1.257},
    .engine_scale = 1,
    .layer_us = 3.395,
    .expert_layer_us = 10.16,
    .reduce_us = 0.84,
    .step_us = 645,
    .sampling_reads = 8.79,
    .router_share = 0.6,
    .expert_balance = 0.10,
    .elementwise_efficiency = 0.6,
    .attention_us = 9,
    .attention_head_us = 0.019,
    .kv_efficiency = 0.7718,
    .latent_efficiency = 0.55,
    .prefill_layer_us = 10.7,
    .prefill_bytes = 9.2,
    .prefill_efficiency = 0.7997,
};

static const blis__layer_work LLAMA_8B = {
    .count = 32,
    .attention = {{6144, 4096, BLIS_KIND_MODEL}, {4096, 4096, BLIS_KIND_MODEL}},
    .attention_count = 2,
    .query_width = 4096,
    .kv_width = 1024,
    .kv_heads = 8,
    .kv_bytes = 4096,
    .prefill_width = 4096,
    .mlp = {{28672, 4096, BLIS_KIND_MODEL}, {4096, 14336, BLIS_KIND_MODEL}},
    .mlp_count = 2,
    .mlp_width = 14336,
};

static const blis__layer_work QWEN_32B_TP2 = {
    .count = 64,
    .attention = {{5120, 5120, BLIS_KIND_MODEL}, {5120, 4096, BLIS_KIND_MODEL}},
    .attention_count = 2,
    .query_width = 4096,
    .kv_width = 512,
    .kv_heads = 4,
    .kv_bytes = 2048,
    .prefill_width = 4096,
    .mlp = {{25600, 5120, BLIS_KIND_MODEL}, {5120, 12800, BLIS_KIND_MODEL}},
    .mlp_count = 2,
    .mlp_width = 12800,
    .is_sharded = true,
};

static const blis__layer_work LLAMA_70B_FP8_TP4 = {
    .count = 80,
    .attention = {{2560, 8192, BLIS_KIND_FP8}, {8192, 2048, BLIS_KIND_FP8}},
    .attention_count = 2,
    .query_width = 2048,
    .kv_width = 256,
    .kv_heads = 2,
    .kv_bytes = 512,
    .prefill_width = 2048,
    .mlp = {{14336, 8192, BLIS_KIND_FP8}, {8192, 7168, BLIS_KIND_FP8}},
    .mlp_count = 2,
    .mlp_width = 7168,
    .is_sharded = true,
};

static const blis__layer_work MINIMAX_TP4 = {
    .count = 62,
    .attention = {{2048, 3072, BLIS_KIND_FP8_BLOCK}, {3072, 1536, BLIS_KIND_FP8_BLOCK}},
    .attention_count = 2,
    .query_width = 1536,
    .kv_width = 256,
    .kv_heads = 2,
    .kv_bytes = 1024,
    .prefill_width = 1536,
    .experts = {256, 8, 3072, 384, 256},
    .expert_format = BLIS_KIND_FP8_BLOCK,
    .is_sharded = true,
};

static const blis__layer_work GPT_OSS[2] = {
    {
        .count = 18,
        .attention = {{5120, 2880, BLIS_KIND_MODEL}, {2880, 4096, BLIS_KIND_MODEL}},
        .attention_count = 2,
        .query_width = 4096,
        .kv_width = 512,
        .kv_heads = 8,
        .kv_bytes = 2048,
        .prefill_width = 4096 * 1.3,
        .experts = {128, 4, 2880, 2880, 128},
        .expert_format = BLIS_KIND_MXFP4,
    },
    {
        .count = 18,
        .attention = {{5120, 2880, BLIS_KIND_MODEL}, {2880, 4096, BLIS_KIND_MODEL}},
        .attention_count = 2,
        .query_width = 4096,
        .kv_width = 512,
        .kv_heads = 8,
        .kv_bytes = 2048,
        .prefill_width = 4096 * 1.3,
        .window = 128,
        .experts = {128, 4, 2880, 2880, 128},
        .expert_format = BLIS_KIND_MXFP4,
    },
};

static blis__composed_setup setup_of(const blis__layer_work *runs, size_t count, double hidden,
                                     double vocabulary, double tp) {
  return (blis__composed_setup){
      .work = {.runs = runs,
               .run_count = count,
               .hidden = hidden,
               .head_width = vocabulary / tp,
               .vocabulary = vocabulary,
               .activation_bytes = 2,
               .replicas = 1,
               .has_experts = runs->experts.experts > 0},
      .constants = HOPPER,
      .host = {.is_async = true, .fixed_us = 1500, .request_us = 10},
      .tokens_max = 16384,
      .requests_max = 1024,
  };
}

static blis_latency_model model_of(const blis__composed_setup *setup) {
  blis_latency_model model = {0};
  blis_error error = {0};
  CHECK_OK(blis__composed_new(&heap, setup, &model, &error), &error);
  return model;
}

/* So many decodes with these contexts together, and one prompt of new tokens where there are any.
 */
static blis_batch_sums batch(int64_t decodes, int64_t context, int64_t prompt) {
  blis_batch_sums sums = {
      .requests = decodes, .decode_requests = decodes, .decode_context_tokens = context};
  if (prompt > 0) {
    blis_batch_item item = {.new_tokens = prompt, .prompt_tokens = prompt};
    blis_batch_sums_add(&sums, &item);
  }
  return sums;
}

static void check_near(const char *what, double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance * expected)) {
    check_fail(__FILE__, __LINE__, "%s: got %.6g, expected %.6g", what, got, expected);
  }
}

typedef struct expected_step {
  blis_batch_sums sums;
  double layers, head, decode, prefill, sampling, total;
} expected_step;

static void check_step(const blis__composed_setup *setup, const expected_step *expected) {
  blis_latency_model model = model_of(setup);
  blis__step_breakdown parts = blis__composed_parts(&model, &expected->sums);
  check_near("layers", parts.layers_us, expected->layers, 0.005);
  check_near("head", parts.head_us, expected->head, 0.005);
  check_near("decode attention", parts.decode_attention_us, expected->decode, 0.005);
  check_near("prefill attention", parts.prefill_attention_us, expected->prefill, 0.005);
  CHECK(fabs(parts.sampling_us - expected->sampling) <= 0.55);
  check_near("step", parts.total_us, expected->total, 0.005);
  blis_latency_free(&model);
}

static void test_worked_bf16_steps(void) {
  blis__composed_setup llama = setup_of(&LLAMA_8B, 1, 4096, 128256, 1);
  check_step(&llama, &(expected_step){batch(16, 11200, 0), 5509, 362, 934, 0, 22, 7471});
  check_step(&llama, &(expected_step){batch(0, 0, 2048), 53109, 360, 0, 2469, 1, 56585});
  check_step(&llama, &(expected_step){batch(16, 11200, 2032), 53109, 362, 934, 2442, 23, 57514});

  blis__composed_setup qwen = setup_of(&QWEN_32B_TP2, 1, 5120, 151936, 2);
  qwen.constants.allreduce = measured(TP2);
  check_step(&qwen, &(expected_step){batch(32, 49152, 0), 13088, 270, 3223, 0, 51, 17277});
  qwen.host = (blis__host){.is_async = false, .fixed_us = 1540, .request_us = 20.76};
  check_step(&qwen, &(expected_step){batch(32, 49152, 0), 13088, 270, 3223, 0, 51, 19481});
}

static void test_worked_quantised_steps(void) {
  blis__composed_setup llama = setup_of(&LLAMA_70B_FP8_TP4, 1, 8192, 128256, 4);
  llama.constants.bandwidth = 4.8e6;
  llama.constants.scales = (blis__scales){1.023, 1.045};
  llama.constants.layer_us = 14.25;
  llama.constants.kv_efficiency = 0.4165;
  llama.constants.allreduce = measured(TP4);
  check_step(&llama, &(expected_step){batch(32, 147200, 0), 9489, 129, 3833, 0, 30, 14127});
  check_step(&llama, &(expected_step){batch(0, 0, 8192), 386718, 129, 0, 31218, 1, 418711});

  blis__composed_setup minimax = setup_of(&MINIMAX_TP4, 1, 3072, 200064, 4);
  minimax.constants.bandwidth = 4.8e6;
  minimax.constants.scales = (blis__scales){0.8786, 1.644};
  minimax.constants.layer_us = 14.25;
  minimax.constants.allreduce = measured(TP4);
  check_step(&minimax, &(expected_step){batch(64, 96000, 0), 17269, 79, 2354, 0, 94, 20441});
  check_step(&minimax, &(expected_step){batch(0, 0, 8192), 224123, 77, 0, 18312, 1, 243159});

  blis__composed_setup gpt_oss = setup_of(GPT_OSS, 2, 2880, 201088, 1);
  gpt_oss.constants.bandwidth = 4.8e6;
  gpt_oss.constants.scales = (blis__scales){0.7067, 1.674};
  check_step(&gpt_oss, &(expected_step){batch(32, 48000, 0), 13518, 281, 1017, 0, 47, 15510});
}

static blis_random random_stream;

static int64_t draw(int32_t least, int32_t most) {
  return least + blis_random_intn(&random_stream, most - least + 1);
}

/* The three ways to ask for a step's time agree to the microsecond. */
static void test_sums_items_and_runs_agree(void) {
  blis__composed_setup setups[] = {setup_of(&LLAMA_8B, 1, 4096, 128256, 1),
                                   setup_of(GPT_OSS, 2, 2880, 201088, 1)};
  for (int i = 0; i < CASES(4000); i++) {
    blis__composed_setup *setup = &setups[i % 2];
    setup->host.is_async = draw(0, 1) == 1;
    blis_latency_model model = model_of(setup);
    blis_batch_item items[40];
    size_t count = (size_t)draw(1, 40);
    for (size_t j = 0; j < count; j++) {
      int64_t prompt = draw(1, 3000);
      items[j] = draw(0, 3) == 0
                     ? (blis_batch_item){draw(0, (int32_t)prompt - 1), draw(1, 600), prompt, 0}
                     : (blis_batch_item){prompt + draw(0, 500), 1, prompt, draw(1, 50)};
    }
    blis_batch_sums sums = blis_batch_sums_of(items, count);
    blis_error error = {0};
    int64_t from_items = 0;
    int64_t from_sums = 0;
    CHECK_OK(blis_latency_step_time(&model, items, count, &from_items, &error), &error);
    CHECK(blis_latency_step_time_from_sums(&model, &sums, &from_sums));
    CHECK_EQ_I64(from_sums, from_items);

    int64_t times[64];
    blis_batch_sums decode = batch(draw(1, 300), draw(1, 400000), 0);
    size_t known = blis_latency_decode_times(&model, decode.decode_requests,
                                             decode.decode_context_tokens, 64, times);
    CHECK(known > 0);
    for (size_t j = 0; j < known; j++) {
      CHECK(blis_latency_step_time_from_sums(&model, &decode, &from_sums));
      CHECK_EQ_I64(times[j], from_sums);
      decode.decode_context_tokens += decode.decode_requests;
    }
    blis_latency_free(&model);
  }
}

/* More decodes, context or new tokens never make a step shorter, beyond the last knot either. */
static void test_steps_are_monotone(void) {
  blis__composed_setup setup = setup_of(&MINIMAX_TP4, 1, 3072, 200064, 4);
  setup.constants.allreduce = measured(TP4);
  blis_latency_model model = model_of(&setup);
  for (int i = 0; i < CASES(20000); i++) {
    blis_batch_sums sums = batch(draw(1, 2000), draw(0, 1000000), draw(0, 40000));
    int64_t time = 0;
    int64_t more = 0;
    CHECK(blis_latency_step_time_from_sums(&model, &sums, &time));
    blis_batch_sums larger =
        batch(sums.decode_requests + draw(0, 9), sums.decode_context_tokens + draw(0, 999),
              sums.prefill_tokens + draw(0, 99));
    CHECK(blis_latency_step_time_from_sums(&model, &larger, &more));
    CHECK(more >= time);
  }
  blis_latency_free(&model);
}

static double square(void *ud, double n) {
  (void)ud;
  return n * n;
}

static double falling(void *ud, double n) {
  (void)ud;
  return 100 - n;
}

static void test_knots(void) {
  blis__knots knots;
  blis__knots_fill(&knots, 8192, square, NULL);
  for (int64_t n = 0; n <= 32; n++) {
    CHECK(blis__knots_read(&knots, n) == (double)(n * n));
  }
  for (size_t i = 0; i < knots.count; i++) {
    CHECK(blis__knots_read(&knots, knots.at[i]) == knots.value[i]);
  }
  for (int64_t n = 33; n <= 8192; n++) {
    check_near("knots", blis__knots_read(&knots, n), (double)(n * n), 0.005);
  }
  CHECK(knots.at[knots.count - 1] >= 8192);
  CHECK(blis__knots_read(&knots, 1 << 20) > blis__knots_read(&knots, 1 << 19));
  blis__knots_fill(&knots, 1, falling, NULL);
  CHECK(blis__knots_read(&knots, 0) == 0);
  CHECK(blis__knots_read(&knots, 7) == 99);
  CHECK(blis__knots_read(&knots, 1000000) == 99);
}

static void test_empty_and_saturated_batches(void) {
  blis__composed_setup setup = setup_of(&LLAMA_8B, 1, 4096, 128256, 1);
  blis_latency_model model = model_of(&setup);
  blis_batch_sums none = {0};
  int64_t us = 0;
  CHECK(blis_latency_step_time_from_sums(&model, &none, &us));
  CHECK_EQ_I64(us, 1);
  blis_batch_sums full = {.requests = 1, .prefill_tokens = 1, .prefill_pairs = INT64_MAX};
  CHECK(!blis_latency_step_time_from_sums(&model, &full, &us));
  int64_t times[64];
  CHECK(blis_latency_decode_times(&model, 1, INT64_MAX / 2, 64, times) <= 64);
  blis_latency_free(&model);
}

static void test_too_many_windows(void) {
  blis__layer_work runs[5];
  for (int i = 0; i < 5; i++) {
    runs[i] = LLAMA_8B;
    runs[i].window = 100 + i;
  }
  blis__composed_setup setup = setup_of(runs, 5, 4096, 128256, 1);
  blis_latency_model model = {0};
  blis_error error = {0};
  CHECK_STATUS(blis__composed_new(&heap, &setup, &model, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "more than 4 different attention windows");
}

int main(void) {
  heap = blis_alloc_heap();
  blis_random_init(&random_stream, 20261128);
  RUN(test_worked_bf16_steps);
  RUN(test_worked_quantised_steps);
  RUN(test_sums_items_and_runs_agree);
  RUN(test_steps_are_monotone);
  RUN(test_knots);
  RUN(test_empty_and_saturated_batches);
  RUN(test_too_many_windows);
  return check_done();
}
